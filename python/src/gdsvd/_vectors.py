"""Vectors of a result: verification of their checksums, tables of Arrow, and export to Arrow and zarr."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import CorruptError, NotConverged
from ._program import run
from ._zarr import zarr

if TYPE_CHECKING:
    import pyarrow


def vector_table(ids: Any, vectors: np.ndarray | None, side: str) -> pyarrow.Table:
    """Return a table of ids and vectors. The vectors are lists of a fixed size that share the memory of a contiguous array.

    Raises
    ------
    ValueError
        If `vectors` is None, or an id has bytes that are not UTF-8.
    ImportError
        If pyarrow is not installed.
    """
    if vectors is None:
        raise ValueError(f"the result has no {side} vectors")
    try:
        import pyarrow
    except ImportError:
        raise ImportError("tables of Arrow need pyarrow: pip install pyarrow") from None
    flat = pyarrow.array(np.ascontiguousarray(vectors).ravel())
    with _utf8():
        names = pyarrow.array(np.asarray(ids))
    return pyarrow.table({"id": names, "vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})


@contextlib.contextmanager
def _utf8() -> Iterator[None]:
    """Raise a ValueError that says what to do if an id in the block has bytes that are not UTF-8."""
    try:
        yield
    except UnicodeEncodeError as err:
        raise ValueError(f"the id {err.object!r} has bytes that are not UTF-8, which texts of Arrow and zarr do not have: export to .csv keeps them") from None


def write_vectors(out: pathlib.Path, what: str, ids: Any, vectors: np.ndarray | None, scale: np.ndarray) -> None:
    """Write ids and vectors, times the scale of each component, to an Arrow file or a zarr folder, in blocks of rows.

    Raises
    ------
    ValueError
        If `vectors` is None, or an id has bytes that are not UTF-8.
    """
    if vectors is None:
        raise ValueError(f"the result has no vectors to export as {what}")
    blocks = ((i, np.asarray(vectors[i : i + BLOCK]) * scale) for i in range(0, len(vectors), BLOCK))
    if out.suffix == ".arrow":
        first = vector_table(ids[:1], vectors[:1], what)
        import pyarrow

        with pyarrow.ipc.new_file(os.fspath(out), first.schema) as file:
            for i, block in blocks:
                file.write_table(vector_table(ids[i : i + len(block)], block, what))
        return
    group, step, names = zarr().create_group(os.fspath(out)), min(BLOCK, len(vectors)), np.asarray(ids)
    array = group.create_array(what, shape=vectors.shape, dtype=np.float64, chunks=(step, vectors.shape[1]), dimension_names=("id", "component"))
    for i, block in blocks:
        array[i : i + len(block)] = block
    dtype = names.dtype if names.dtype.kind in "iu" else str
    with _utf8():
        group.create_array("id", shape=names.shape, dtype=dtype, chunks=(step,), dimension_names=("id",))[:] = names


BLOCK = 1 << 14  # rows of vectors at a time
PIECE = 1 << 20  # bytes of the pieces of a file that have a checksum each


def verify(folder: pathlib.Path, files: list[dict[str, Any]], name: str) -> set[str]:
    """Compare a file of a result with the CRC-32C of each MiB of it in ``result.json``.

    This process does it if the package google-crc32c is installed in its compiled form, else the program, which checks all files.

    Returns
    -------
    set of str
        The names of the files that have been checked.

    Raises
    ------
    CorruptError
        If a file is damaged; the message names the file and the bytes.
    """
    crc = _crc32c()
    if crc is None:
        try:
            run("check", "--", folder)
        except NotConverged:  # the files are sound; result.json records that the run did not converge
            pass
        except CorruptError as err:
            info: dict[str, Any] = getattr(err, "info", {})
            err.args = ("; ".join(info.get("problems", [])) or str(err),)
            raise
        return {f["name"] for f in files}
    said = next((f for f in files if f["name"] == name), None)
    if said is None:
        raise CorruptError(f"{folder / name} is damaged: result.json has no checksum of it")
    sums = said.get("pieces", "")
    with open(folder / name, "rb") as f:
        at = 0
        while piece := f.read(PIECE):
            i = at // PIECE * 8
            if f"{crc(piece):08x}" != sums[i : i + 8]:
                raise CorruptError(f"{folder / name} is damaged: bytes {at} to {at + len(piece) - 1} have another checksum than result.json says")
            at += len(piece)
    if at != said["size"]:
        raise CorruptError(f"{folder / name} is damaged: it has {at} bytes, result.json says {said['size']}")
    return {name}


def _crc32c() -> Any:
    """Return the CRC-32C function of google-crc32c, or None if the package is missing or has only its slow Python implementation."""
    try:
        import google_crc32c
    except ImportError:
        return None
    return google_crc32c.value if google_crc32c.implementation == "c" else None
