"""Reading of matrices in AnnData files (h5py or zarr) and 10x files in blocks of rows, never whole, and writing of results into AnnData files."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _zarr
from ._csrstream import value_type

ENTRIES = 1 << 22  # entries of a block that is read at a time


class Matrix(NamedTuple):
    """A matrix in a file: its shape, its blocks of rows, and the names of its rows and columns."""

    shape: tuple[int, int]
    blocks: Iterator[Any]
    rows: list[str]
    cols: list[str]
    titles: list[str] | None  # titles of columns; None: there are none


def h5ad(file: Any, layer: str | None) -> Matrix:
    """Return the matrix ``X``, or a layer, of an open AnnData file.

    Raises
    ------
    ValueError
        If there is no such matrix, or its shape does not match the names.
    """
    shape, blocks = values(file, layer)
    sides = [index(file, side) for side in ("obs", "var")]
    if shape != tuple(map(len, sides)):
        raise ValueError(f"{where(file)}: {layer or 'X'} is {shape}, but there are {len(sides[0])} names of obs and {len(sides[1])} of var")
    return Matrix(shape, blocks, sides[0], sides[1], None)


def values(file: Any, layer: str | None) -> tuple[tuple[int, int], Iterator[Any]]:
    """Return the shape and the blocks of rows of the matrix ``X``, or of a layer, of an open AnnData file.

    Raises
    ------
    ValueError
        If there is no such matrix.
    """
    name = f"layers/{layer}" if layer else "X"
    if name not in file:
        there = [f"layers/{n}" for n in file["layers"]] if "layers" in file else []
        raise ValueError(f"{where(file)} has no {name}: it has {', '.join([*file, *there])}")
    return matrix(file[name])


def matrix(x: Any) -> tuple[tuple[int, int], Iterator[Any]]:
    """Return the shape and the blocks of rows of an array, or of a group that holds a sparse matrix as AnnData writes it.

    Raises
    ------
    ValueError
        If `x` is neither, or does not have two dimensions.
    """
    if hasattr(x, "dtype"):
        shape, blocks = x.shape, _dense(x)
    else:
        kind = _text(x.attrs.get("encoding-type", x.attrs.get("h5sparse_format", "")))
        rows, cols = (int(n) for n in x.attrs.get("shape", x.attrs.get("h5sparse_shape", (0, 0))))
        shape = rows, cols
        if kind.startswith("csr"):
            blocks = _csr(x, shape)
        elif kind.startswith("csc"):
            blocks = _csc(x, shape)
        else:
            raise ValueError(f"{where(x)}: {x.name} is of type {kind!r}, not an array, csr_matrix or csc_matrix")
    if len(shape) != 2:
        raise ValueError(f"{where(x)}: {x.name} is {shape}, not a matrix")
    return shape, blocks


def where(x: Any) -> str:
    """Return the name of the file or zarr folder that contains an array or group, for error messages."""
    file = getattr(x, "file", None)
    return str(file.filename if file is not None else getattr(x, "store_path", x))


def tenx(file: Any, genome: str | None) -> Matrix:
    """Return the matrix of an open Cell Ranger file, barcodes × features.

    Raises
    ------
    ValueError
        If the file has no such matrix, or has several genomes and `genome` is None.
    """
    if "matrix" in file:
        group = file["matrix"]
        ids, names = group["features/id"], group["features/name"]
        if genome:
            raise ValueError(f"{where(file)} has one matrix for all genomes: leave genome out")
    else:
        genomes = [name for name, g in file.items() if hasattr(g, "keys") and "indptr" in g]
        if genome is None and len(genomes) > 1:
            raise ValueError(f"{where(file)} has several genomes: say genome={' or genome='.join(map(repr, genomes))}")
        if not genomes or genome not in (None, *genomes):
            raise ValueError(f"{where(file)} has no matrix" + (f" of the genome {genome!r}, but {', '.join(genomes)}" if genomes else " of 10x"))
        group = file[genome or genomes[0]]
        ids, names = group["genes"], group["gene_names"]
    cols, rows = (int(n) for n in group["shape"][:])
    return Matrix((rows, cols), _csr(group, (rows, cols)), _texts(group["barcodes"]), _texts(ids), _texts(names))


def _text(v: Any) -> str:
    return v.decode() if isinstance(v, bytes) else str(v)


def _texts(d: Any) -> list[str]:
    """Return the texts of an element of AnnData: an array of texts, a group with categories and codes, or a group with values and a mask."""
    if not hasattr(d, "keys"):
        return [_text(v) for v in d[:]]
    if "codes" in d:
        names, at = _texts(d["categories"]), np.asarray(d["codes"][:])
    elif "mask" in d:
        names, at = _texts(d["values"]), np.where(d["mask"][:], -1, np.arange(d["values"].shape[0]))
    else:
        raise ValueError(f"{where(d)}: {d.name} is of type {_text(d.attrs.get('encoding-type', ''))!r}, not of texts")
    if len(at) and at.min() < 0:
        raise ValueError(f"{where(d)}: {d.name} has missing values")
    return [names[i] for i in at]


def _values(d: Any, *at: slice) -> np.ndarray:
    """Return a part of an array in a type that scipy.sparse supports."""
    return np.asarray(d[at], value_type(d.dtype))


def index(file: Any, side: str) -> list[str]:
    """Return the names of obs or var, as `side` says."""
    frame = file[side]
    if hasattr(frame, "dtype"):  # before AnnData 0.7
        if not frame.dtype.names:
            raise ValueError(f"{where(file)}: {side} is no table")
        name = "index" if "index" in frame.dtype.names else frame.dtype.names[0]
        return [_text(v) for v in frame[name]]
    return _texts(frame[_text(frame.attrs["_index"])])


def _dense(x: Any) -> Iterator[Any]:
    step = max(1, ENTRIES // max(1, x.shape[1]))
    for i in range(0, x.shape[0], step):
        yield sp.csr_matrix(_values(x, slice(i, i + step)))


def _pointers(group: Any, n: int) -> np.ndarray:
    ptr = np.asarray(group["indptr"][:], np.int64)
    if len(ptr) != n + 1 or ptr[0] != 0 or (np.diff(ptr) < 0).any() or ptr[-1] != group["data"].shape[0] or ptr[-1] != group["indices"].shape[0]:
        raise ValueError(f"{where(group)}: indptr of {group.name} does not fit its data: the file is damaged")
    return ptr


def _indices(group: Any, at: int, end: int, n: int) -> np.ndarray:
    idx = np.asarray(group["indices"][at:end])
    if len(idx) and (idx.min() < 0 or idx.max() >= n):
        raise ValueError(f"{where(group)}: indices of {group.name} go beyond {n}: the file is damaged")
    return idx


def _csr(group: Any, shape: tuple[int, int]) -> Iterator[Any]:
    ptr = _pointers(group, shape[0])
    row = 0
    while row < shape[0]:
        # A block has at least one row, even if that row has more than ENTRIES entries.
        end = max(row + 1, int(np.searchsorted(ptr, ptr[row] + ENTRIES, "right")) - 1)
        at, stop = int(ptr[row]), int(ptr[end])
        yield sp.csr_matrix((_values(group["data"], slice(at, stop)), _indices(group, at, stop, shape[1]), ptr[row : end + 1] - at), shape=(end - row, shape[1]))
        row = end


def _csc(group: Any, shape: tuple[int, int]) -> Iterator[Any]:
    """Yield blocks of rows of a CSC matrix. The indices are read once to count the entries of rows, and the whole matrix once for each block."""
    ptr = _pointers(group, shape[1])
    pieces = range(0, int(ptr[-1]), ENTRIES)
    counts = np.zeros(shape[0], np.int64)
    for at in pieces:
        counts += np.bincount(_indices(group, at, at + ENTRIES, shape[0]), minlength=shape[0])
    ends = np.concatenate([[0], np.cumsum(counts)])
    row = 0
    while row < shape[0]:
        end = max(row + 1, int(np.searchsorted(ends, ends[row] + 2 * ENTRIES, "right")) - 1)
        n, filled, index = int(ends[end] - ends[row]), 0, np.int32 if max(shape) < 1 << 31 else np.int64
        data, rows, cols = np.empty(n, value_type(group["data"].dtype)), np.empty(n, index), np.empty(n, index)
        for at in pieces:
            idx = _indices(group, at, at + ENTRIES, shape[0])
            here = np.flatnonzero((idx >= row) & (idx < end))
            part = slice(filled, filled + len(here))
            data[part] = _values(group["data"], slice(at, at + ENTRIES))[here]
            rows[part], cols[part] = idx[here] - row, np.searchsorted(ptr, at + here, "right") - 1
            filled += len(here)
        # Conversion from CSC does not sum duplicates, whose sums may overflow the type of the values; conversion from COO does.
        block = sp.csc_matrix((data, rows, np.searchsorted(cols, np.arange(shape[1] + 1, dtype=index))), shape=(end - row, shape[1])).tocsr()
        del data, rows, cols
        yield block
        row = end


def opened(path: str | os.PathLike[str]) -> Any:
    """Open an HDF5 file or a zarr folder for reading, as a context manager.

    Raises
    ------
    ImportError
        If h5py, or zarr, is not installed.
    OSError
        If the file does not exist, or is not an HDF5 file. For a folder that is not one of zarr it is a ValueError.
    """
    if _zarr.is_zarr(path):
        return contextlib.nullcontext(_zarr.opened(path))
    try:
        import h5py
    except ImportError:
        raise ImportError("files of HDF5 are read by h5py: pip install h5py") from None
    try:
        return h5py.File(path, "r")
    except FileNotFoundError:
        raise
    except OSError as err:
        if os.path.isdir(path):
            raise ValueError(f"{os.fspath(path)} is a folder, but none of zarr") from None
        raise OSError(f"{os.fspath(path)} cannot be read as HDF5: {err}") from None


def column(file: Any, side: str, name: str) -> np.ndarray | None:
    """Return a column of numbers or bool of the table obs or var, or None if the table has no column of this name."""
    frame = file[side]
    if hasattr(frame, "dtype"):  # before AnnData 0.7
        return np.asarray(frame[name]) if name in (frame.dtype.names or ()) else None
    if name not in frame:
        return None
    c = frame[name]
    if not hasattr(c, "keys"):
        return np.asarray(c[:])
    if set(c) != {"values", "mask"}:
        raise ValueError(f"{where(file)}: the column {name!r} of {side} is of type {_text(c.attrs.get('encoding-type', ''))!r}, not of numbers or bool")
    if c["mask"][:].any():
        raise ValueError(f"{where(file)}: the column {name!r} of {side} has missing values")
    return np.asarray(c["values"][:])


def labels(file: Any, side: str, name: str) -> np.ndarray:
    """Return a column of texts, categories or numbers of the table obs or var.

    Raises
    ------
    ValueError
        If there is no such column, or it has missing values.
    """
    frame = file[side]
    if hasattr(frame, "dtype") or name not in frame:
        raise ValueError(f"{where(file)}: {side} has no column {name!r}")
    c = frame[name]
    if hasattr(c, "keys") and "codes" in c and not hasattr(c["categories"], "keys") and c["categories"].dtype.kind in "biuf":
        at = np.asarray(c["codes"][:])
        if (at < 0).any():
            raise ValueError(f"{where(file)}: the column {name!r} of {side} has missing values")
        return np.asarray(np.asarray(c["categories"][:])[at])
    if hasattr(c, "keys") and "mask" in c or not hasattr(c, "keys") and c.dtype.kind in "biuf":
        found = column(file, side, name)
        assert found is not None
        return found
    return np.asarray(_texts(c))


def _kind(h: Any, kind: str, version: str = "0.2.0") -> Any:
    h.attrs["encoding-type"], h.attrs["encoding-version"] = kind, version
    return h


def group(parent: Any, name: str) -> Any:
    """Return the subgroup of this name, which is created as an AnnData dict if it is missing.

    Raises
    ------
    ValueError
        If the name is that of an array or a table.
    """
    if name not in parent:
        return _kind(parent.create_group(name), "dict", "0.1.0")
    if hasattr(parent[name], "dtype"):
        raise ValueError(f"{where(parent)}: {name} is a table, as before AnnData 0.7: write the file anew with anndata.read_h5ad(…).write_h5ad(…)")
    return parent[name]


def array(parent: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """Create an array in a group for the caller to fill. An element of the same name is deleted."""
    if name in parent:
        del parent[name]
    return _kind(parent.create_dataset(name, shape, dtype), "array")


def put(parent: Any, name: str, value: Any) -> None:
    """Write an array, text, number, or dict of these as AnnData does. An element of the same name is replaced; None is not written."""
    if isinstance(value, dict):
        if name in parent:
            del parent[name]
        for key, v in value.items():
            put(group(parent, name), key, v)
    elif isinstance(value, np.ndarray):
        array(parent, name, value.shape, value.dtype)[...] = value
    elif value is not None:
        if name in parent:
            del parent[name]
        parent[name] = value
        _kind(parent[name], "string" if isinstance(value, str) else "numeric-scalar")


@contextlib.contextmanager
def replaced(path: pathlib.Path, out: pathlib.Path, folder: pathlib.Path) -> Iterator[Any]:
    """Open a copy of the file `path` for writing. When the block ends without an error, the copy replaces `out` in one step.

    Parameters
    ----------
    path, out : path
        The original and the result, which may be the same file.
    folder : path
        A folder for the copy, in the file system of `out`.
    """
    import h5py

    copy = folder / "copy.h5ad"
    shutil.copy2(path, copy)
    if out != path:  # the original may be read-only
        os.chmod(copy, os.stat(copy).st_mode | 0o200)
    with h5py.File(copy, "r+") as h:
        yield h
    with open(copy, "rb+") as f:
        os.fsync(f.fileno())
    os.replace(copy, out)
    if os.name == "posix":
        fd = os.open(out.parent, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
