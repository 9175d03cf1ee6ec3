"""Checks of the matrices that callers give, and ingestion of them into stores."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any, BinaryIO, TypeGuard

import numpy as np
import scipy.sparse as sp

from ._csrstream import Writer, canonical, dense_blocks, narrowest, of_dense, value_type
from ._errors import CorruptError, GdsvdError
from ._lazy import in_memory, lazy, refuse_folder
from ._places import workplace
from ._program import run
from ._tables import refuse


def is_path(a: Any) -> bool:
    """Report whether `a` is a str or path, and so names a file or a folder."""
    return isinstance(a, (str, os.PathLike))


def paths(files: Any) -> list[str | os.PathLike[str]]:
    """The paths of one file or of several.

    Raises
    ------
    TypeError
        If a caller gives what the files have, or else no paths.
    """
    several = isinstance(files, Iterable) and not is_path(files) and not hasattr(files, "read")
    refuse(files, "files", "gdsvd.Store.from_table(files, path, ")
    listed = list(files) if several else [files]
    if not all(map(is_path, listed)):
        raise TypeError(f"files is of type {type(files).__module__}.{type(files).__qualname__}: it must be a path, or a list of paths")
    return listed


def in_bucket(path: Any) -> TypeGuard[str]:
    """Report whether a path is the URL of a bucket, ``s3://…``, which only the gdsvd program reads."""
    return isinstance(path, str) and path.startswith("s3://")


def path_of(a: Any) -> str | os.PathLike[str] | None:
    """Return `a` if it is a path, its attribute `path` if it is a `Store`, and None for anything else, such as a table with a column "path"."""
    path = getattr(a, "path", None)
    return a if is_path(a) else path if isinstance(path, pathlib.PurePath) or in_bucket(path) else None


def store_at(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the output of ``gdsvd info --json`` for the store at a path, or None if there is no store."""
    if in_bucket(path):
        try:
            said = run("info", "--", path)
        except GdsvdError as err:  # an object, and a pattern of some, may be what is ingested
            if isinstance(err, CorruptError) or not re.search("neither a store nor a result|404 Not Found", str(err)):
                raise
            return None
        return said if said.get("format") == "gdsvd-store" else None
    return run("info", "--", path) if (pathlib.Path(path) / "MANIFEST.json").is_file() else None


def checked(a: Any) -> Any:
    """Return a matrix in memory unchanged if it is a SciPy sparse matrix, else converted to one of SciPy or to a dense array.

    Raises
    ------
    TypeError
        If `a` is not a matrix.
    ValueError
        If it does not have two dimensions, has masked entries, or has values that are not real numbers.
    """
    if callable(getattr(a, "matvec", None)) and not hasattr(a, "__array__"):
        raise TypeError("A is a LinearOperator: gdsvd needs its entries, as a sparse matrix, an array or a path")
    a = in_memory(a)
    if not sp.issparse(a):
        if np.ma.is_masked(a):
            raise ValueError("A has masked entries: A.filled(0) makes zeros of them")
        given, a = a, np.asarray(a)
        if a.dtype == object and a.ndim == 0:
            kind = f"{type(given).__module__}.{type(given).__qualname__}"
            raise TypeError(f"A is of type {kind}: it must be a sparse matrix, an array, a Store, a path or an iterator of CSR blocks")
    if a.ndim != 2:
        raise ValueError(f"A has {a.ndim} dimensions: it must have 2")
    value_type(a.dtype)
    return a


def given(a: Any, call: str) -> Any:
    """A matrix in memory as of `checked`, or its blocks of rows; a table is refused, and `call` is how it is given instead.

    Raises
    ------
    TypeError, ValueError
        If it is no real matrix.
    """
    a = lazy(a) or a
    refuse(a, "A", call)
    return a if hasattr(a, "__next__") else checked(a)


def is_number(k: Any) -> bool:
    """Report whether `k` is a single finite real number. A text that looks like a number is not one."""
    return np.ndim(k) == 0 and np.asarray(k).dtype.kind in "iuf" and bool(np.isfinite(k))


def check_k(k: Any, shape: tuple[int, int] | None) -> int:
    """Return k as an int. A number that is no count of triplets of the matrix raises the type of error that SciPy raises."""
    if np.ndim(k):
        raise TypeError(f"int() argument must be a number, not {k!r}: k is an integer from 1 to min(A.shape)")
    if not is_number(k) or k < 1 or k != int(k):
        raise ValueError(f"k = {k!r} must be an integer from 1 to min(A.shape)")
    if shape and len(shape) == 2 and k > min(shape):
        raise ValueError(f"k = {k!r} must be an integer from 1 to min(A.shape) = {min(shape)}, for A is {shape[0]} × {shape[1]}")
    return int(k)


def hand_over(a: Any, out: BinaryIO) -> None:
    """Write a matrix in memory as a csr-stream."""
    sparse = sp.issparse(a)
    if sparse:
        a = canonical(a)
    blocks = [a] if sparse else dense_blocks(a)
    w = Writer(out, a.shape, narrowest(a.data) if sparse else value_type(a.dtype), sparse and a.indices.dtype.itemsize > 4 or a.shape[1] > 1 << 31, sparse)
    for block in blocks:
        w.block(block)
    w.end()


def chunk(c: Any, what: str) -> Any:
    """Return a caller's block of rows as canonical CSR. `what` names it in errors."""
    if hasattr(c, "__dask_graph__") and hasattr(c, "compute"):
        c = c.compute()
    refuse(c, what, "gdsvd.Store.from_table(A, path, ")
    try:
        c = checked(c)
    except ValueError as err:
        raise ValueError(f"{what}: {err}") from None
    return canonical(c if sp.issparse(c) else of_dense(c))


def hand_over_chunks(chunks: Iterable[Any], out: BinaryIO, shape: tuple[int, int] | None) -> None:
    """Write blocks of rows as a csr-stream. `out` must be seekable if `shape` is None.

    All blocks must have as many columns as the first, and values of a type that casts safely to the type of the first.
    """
    w = None
    for i, c in enumerate(chunks):
        c = chunk(c, f"block {i}")
        if w is None:
            w = Writer(out, shape or (0, c.shape[1]), value_type(c.dtype), c.indices.dtype.itemsize > 4, sums=not shape)
        if c.shape[1] != w.shape[1]:
            raise ValueError(f"block {i} has {c.shape[1]} columns, but the matrix has {w.shape[1]}")
        if not np.can_cast(value_type(c.dtype), w.dtype):
            raise ValueError(f"block {i} has values of type {c.dtype}, those before have {w.dtype}: give all blocks one type, as with block.astype(float)")
        if shape and w.rows + c.shape[0] > shape[0]:
            raise ValueError(f"block {i} ends at row {w.rows + c.shape[0]} of a matrix of {shape[0]}")
        w.block(c)
    if w is None:
        if not shape:
            raise ValueError("there are no blocks of rows: the number of columns is not known")
        w = Writer(out, shape, np.dtype("<f8"), False)
    if not shape:
        w.reshape((w.rows, w.shape[1]))
    w.end()


def size(a: Any) -> int:
    """Estimate the bytes of the csr-stream of a matrix in memory from above, without the headers of frames."""
    entries, index = (a.nnz, 8) if sp.issparse(a) else (a.size, 4)
    return int(entries * (index + value_type(a.dtype).itemsize) + 4 * a.shape[0])


def memory_flags(memory: str | int | None) -> list[str]:
    """Return the flags for a memory budget; none for None and "auto", the default of the program."""
    return [] if memory in (None, "auto") else ["--memory", str(memory)]


def flags(options: dict[str, Any]) -> list[str]:
    """Convert keyword arguments to flags: ``min_per_row=5`` to ``--min-per-row=5``. Lists are joined by commas, and items with commas quoted."""

    def item(value: Any) -> str:
        t = text(value)
        return '"' + t.replace('"', '""') + '"' if "," in t or '"' in t else t

    def text(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return ",".join(map(item, value))
        return str(value).lower() if isinstance(value, bool) else os.fsdecode(path_of(value) or str(value))

    return [f"--{name.replace('_', '-')}={text(value)}" for name, value in options.items() if value is not None]


def ingest(
    a: Any,
    store: str | os.PathLike[str],
    memory: str | int = "auto",
    flags: Iterable[str] = (),
    shape: tuple[int, int] | None = None,
    progress: bool | None = False,
) -> dict[str, Any]:
    """Make a store of a matrix in memory, of an iterator of its blocks of rows, or of a file that the program reads.

    If the shape of an iterator's matrix is not known, the blocks are first written to a temporary file beside the store.

    Returns
    -------
    dict
        Output of ``gdsvd ingest --json``: ``fingerprint``, ``rows``, ``cols``, ``nnz`` and more.
    """
    flags = [*memory_flags(memory), *flags]
    if is_path(a):
        refuse_folder(a)
        return run("ingest", *flags, "-o", store, "--", a, progress=progress)
    flags += ["--format", "csr-stream", "-o", os.fspath(store), "--"]
    blocks = lazy(a)
    if blocks is not None:
        a, shape = blocks, blocks.shape
    if not hasattr(a, "__next__"):
        return run("ingest", *flags, "-", feed=lambda out: hand_over(a, out), progress=progress)
    shape = shape or getattr(a, "shape", None)
    if shape:
        return run("ingest", *flags, "-", feed=lambda out: hand_over_chunks(a, out, shape), progress=progress)
    with workplace(beside=store) as tmp:
        stream = tmp / "stream"
        with open(stream, "wb") as out:
            hand_over_chunks(a, out, None)
        return run("ingest", *flags, stream, progress=progress)
