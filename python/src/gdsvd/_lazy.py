"""Matrices that are not in memory as one: arrays of Dask and on the disk (zarr, h5py, backed AnnData), as blocks of rows; and what is none."""

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
    """Blocks of rows of a matrix, in order: an iterator that knows its shape, if that is known before.

    Attributes
    ----------
    shape : tuple of int, or None
    """

    def __init__(self, blocks: Iterator[Any], shape: tuple[int, int] | None) -> None:
        self._blocks, self.shape = blocks, shape

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._blocks)


def lazy(a: Any) -> Blocks | None:
    """The blocks of rows of a matrix that is computed or read in parts; None for anything else.

    Raises
    ------
    TypeError
        If something that holds data has none to hand over before it is told to; the text says how.
    ValueError
        If it has not two dimensions.
    """
    package, _, module = type(a[0] if isinstance(a, (list, tuple)) and a else a).__module__.partition(".")
    if package == "dask" and module.startswith("delayed"):  # it has any attribute that is asked for
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
    """Its blocks of rows, as of `lazy`, or what it is; a table of which NumPy makes no array is refused."""
    blocks = lazy(X)
    if blocks is None and not hasattr(X, "__array__"):
        refuse(X, "X", "gdsvd.Store.from_table(X, path, ")
    return blocks or X


def _two(a: Any) -> None:
    if a.ndim != 2:
        raise ValueError(f"A has {a.ndim} dimensions: it must have 2")


def in_memory(a: Any) -> Any:
    """A sparse array of another package, such as ``sparse``, as one of SciPy; anything else as it is."""
    for method in ("to_scipy_sparse", "tocsr"):
        if not sp.issparse(a) and hasattr(a, method):
            return getattr(a, method)()
    return a


def beside(parts: Iterable[Any]) -> Any:
    """Blocks of the same rows as one: sparse if one of them is, else dense, and not copied if it is alone."""
    parts = [in_memory(p) for p in parts]
    if any(sp.issparse(p) for p in parts):
        return sp.hstack([sp.csr_matrix(p) for p in parts], format="csr")
    return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]


def _of_dask(a: Any) -> Iterator[Any]:
    """One block of rows after the other, each of which is computed alone."""
    for i in range(a.numblocks[0]):
        yield beside(a.blocks[i, j].compute() for j in range(a.numblocks[1]))


def refuse_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a folder of zarr, which the program does not read.

    Raises
    ------
    ValueError
        If it is one; the text says what reads it.
    """
    if is_zarr(path):
        raise ValueError(
            f"{os.fspath(path)} is a folder of zarr: of an AnnData, gdsvd.pp.pca and gdsvd.Store.from_anndata read it; "
            f"of an array, give zarr.open({os.fspath(path)!r})"
        )
