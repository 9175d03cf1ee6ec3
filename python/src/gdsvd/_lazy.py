"""Matrices that are not whole in memory, as blocks of rows: arrays of Dask, and arrays on the disk (zarr, h5py, backed AnnData)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _hdf5
from ._tables import refuse
from ._zarr import is_zarr


class Blocks:
    """An iterator over the blocks of rows of a matrix, in order.

    Attributes
    ----------
    shape : tuple of int, or None
        Shape of the whole matrix; None: not known before the blocks have been read.
    """

    def __init__(self, blocks: Iterator[Any], shape: tuple[int, int] | None) -> None:
        self._blocks, self.shape = blocks, shape

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._blocks)


def lazy(a: Any) -> Blocks | None:
    """Return the blocks of rows of a matrix that is computed or read in parts, and None for anything else.

    Raises
    ------
    TypeError
        If `a` is a Delayed, an AnnData or a group of arrays, which are no matrices; the message says what to give instead.
    ValueError
        If the matrix does not have two dimensions.
    """
    package, _, module = type(a[0] if isinstance(a, (list, tuple)) and a else a).__module__.partition(".")
    if package == "dask" and module.startswith("delayed"):  # comes first: a Delayed claims to have every attribute
        raise TypeError("A is a Delayed of Dask: give what its compute() returns, or an iterator of Delayed, one for each block of rows")
    if hasattr(a, "obsm") and hasattr(a, "X"):
        raise TypeError("A is an AnnData: give its X, or the whole to gdsvd.pp.pca")
    if hasattr(a, "__dask_graph__") and hasattr(a, "chunks"):
        _two(a)
        return Blocks(_of_dask(a), None if any(np.isnan(n) for n in a.shape) else (int(a.shape[0]), int(a.shape[1])))
    if hasattr(a, "to_memory") and hasattr(a, "group"):  # the sparse datasets of a backed AnnData
        shape, blocks = _hdf5.matrix(a.group)
        return Blocks(blocks, shape)
    if package in ("zarr", "h5py"):
        if not hasattr(a, "ndim"):
            raise TypeError(f"A is a group of {package}: give one of its arrays, or gdsvd.Store.from_anndata the path of an AnnData")
        _two(a)
        shape, blocks = _hdf5.matrix(a)
        return Blocks(blocks, shape)
    return None


def matrix_of(X: Any) -> Any:
    """Return the blocks of rows of X as `lazy` does, else X itself. A table that NumPy cannot convert to an array raises a ValueError."""
    blocks = lazy(X)
    if blocks is None and not hasattr(X, "__array__"):
        refuse(X, "X", "gdsvd.Store.from_table(X, path, ")
    return blocks or X


def _two(a: Any) -> None:
    if a.ndim != 2:
        raise ValueError(f"A has {a.ndim} dimensions: it must have 2")


def in_memory(a: Any) -> Any:
    """Return a sparse array of another package, such as ``sparse``, as one of SciPy, and anything else unchanged."""
    for method in ("to_scipy_sparse", "tocsr"):
        if not sp.issparse(a) and hasattr(a, method):
            return getattr(a, method)()
    return a


def beside(parts: Iterable[Any]) -> Any:
    """Join blocks of the same rows side by side: sparse if one of them is sparse, else dense. A single dense block is not copied.

    Raises
    ------
    ValueError
        If a block has masked entries, which NumPy and SciPy would join as values.
    """
    parts = [in_memory(p) for p in parts]
    if any(map(np.ma.is_masked, parts)):
        raise ValueError("A has masked entries: dask.array.ma.filled(A, 0) makes zeros of them")
    if any(sp.issparse(p) for p in parts):
        return sp.hstack([sp.csr_matrix(p) for p in parts], format="csr")
    return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]


def _of_dask(a: Any) -> Iterator[Any]:
    """Yield the blocks of rows of a Dask array, and compute each of them when it is asked for."""
    for i in range(a.numblocks[0]):
        yield beside(a.blocks[i, j].compute() for j in range(a.numblocks[1]))


def refuse_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a zarr folder, which the gdsvd program does not read.

    Raises
    ------
    ValueError
        If the path is that of a zarr folder; the message names the functions that read it.
    """
    if is_zarr(path):
        raise ValueError(
            f"{os.fspath(path)} is a folder of zarr: of an AnnData, gdsvd.pp.pca and gdsvd.Store.from_anndata read it; "
            f"of an array, give zarr.open({os.fspath(path)!r})"
        )
