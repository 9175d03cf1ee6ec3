"""Ingestion of Dask collections: each worker writes its partitions as csr-streams, and the streams are joined into one store."""

from __future__ import annotations

import os
import pathlib
import shutil
import uuid
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ._csrstream import Writer, value_type
from ._input import chunk, memory_flags
from ._lazy import beside
from ._program import run


class Partitions(NamedTuple):
    """Partitions of rows that are not computed yet: their delayed blocks, and the type in which all values are written."""

    blocks: list[Any]
    dtype: np.dtype[Any]


class Part(NamedTuple):
    """A partition that has been written. The number of columns is 0 if it has no blocks."""

    path: str
    rows: int
    cols: int
    entries: int


def partitions(a: Any) -> Partitions | None:
    """Return the partitions of a Dask array or of a Dask bag of CSR blocks, and None for anything else."""
    if not hasattr(a, "__dask_graph__") or not hasattr(a, "to_delayed"):
        return None
    if hasattr(a, "chunks"):
        if a.ndim != 2:
            raise ValueError(f"A has {a.ndim} dimensions: it must have 2")
        wide = value_type(a.dtype)
        return Partitions([list(row) for row in a.to_delayed()], np.dtype("<f4" if wide.kind == "f" and wide.itemsize == 4 else "<f8"))
    if hasattr(a, "npartitions") and not hasattr(a, "columns"):
        return Partitions(list(a.to_delayed()), np.dtype("<f8"))
    return None


def write(blocks: Any, across: bool, path: str, dtype: np.dtype[Any]) -> Part:
    """Write the blocks of a partition, which are joined side by side if `across`, else one below the other. The file appears when it is complete."""
    at = f"{path}.{uuid.uuid4().hex}"
    w = None
    try:
        with open(at, "wb") as out:
            for i, block in enumerate([beside(blocks)] if across else blocks):
                m = chunk(block, f"block {i} of {os.path.basename(path)}")
                w = w or Writer(out, (0, m.shape[1]), dtype, m.shape[1] > 1 << 31, sums=True)
                if m.shape[1] != w.shape[1]:
                    raise ValueError(f"block {i} of {os.path.basename(path)} has {m.shape[1]} columns, but those before have {w.shape[1]}")
                if not np.can_cast(value_type(m.dtype), dtype):
                    raise ValueError(f"block {i} of {os.path.basename(path)} has values of type {m.dtype}, but the matrix has {dtype}")
                try:
                    w.block(m)
                except ValueError as err:
                    raise ValueError(f"{os.path.basename(path)}: {err}") from None  # rows are counted from the first one of the partition
            if w is not None:
                w.reshape((w.rows, w.shape[1]))
                w.end()
        os.replace(at, path)
    finally:
        if os.path.exists(at):
            os.remove(at)
    return Part(path, w.rows, w.shape[1], w.entries) if w else Part(path, 0, 0, 0)


def ingest(parts: Partitions, client: Any, folder: pathlib.Path, store: pathlib.Path, memory: str | int, progress: bool | None) -> None:
    """Make a store from partitions. Its bytes are the same as those of a store of the same matrix in memory.

    Raises
    ------
    ValueError
        If the partitions differ in their number of columns, or a value is not a finite real number.
    """
    from dask.delayed import delayed

    folder.mkdir()
    task: Any = delayed(write, pure=False)
    tasks = [task(block, isinstance(block, list), os.fspath(folder / f"partition {i}"), parts.dtype) for i, block in enumerate(parts.blocks)]
    written = [p for p in client.gather(client.compute(tasks, retries=2)) if p.cols]
    if not written:
        raise ValueError("there are no blocks of rows: the number of columns is not known")
    for p in written:
        if p.cols != written[0].cols:
            raise ValueError(f"{os.path.basename(p.path)} has {p.cols} columns, but {os.path.basename(written[0].path)} has {written[0].cols}")
    flags = [*memory_flags(memory), "--format=csr-stream", "-o", os.fspath(store), "--", "-"]
    run("ingest", *flags, feed=lambda out: join(written, parts.dtype, out), progress=progress)
    shutil.rmtree(folder)


def join(parts: list[Part], dtype: np.dtype[Any], out: BinaryIO) -> None:
    """Write partitions one after the other as a single csr-stream without checksums, for a pipe. The checksums of the files are verified.

    Raises
    ------
    ValueError
        If a file is damaged.
    """
    cols = parts[0].cols
    w = Writer(out, (sum(p.rows for p in parts), cols), dtype, cols > 1 << 31)
    for p in parts:
        with open(p.path, "rb") as f:
            w.splice(f, p.path)
    w.end()
