"""Sparse matrices as a csr-stream, the format in which the gdsvd program reads matrices from a pipe.

``ingest/format/csrstream/FORMAT.md`` defines the format. Indices and values of the type of the stream are written without a copy.
"""

from __future__ import annotations

import copy
import struct
import zlib
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

PAYLOAD = 262_112  # largest number of bytes of the payload of a frame
ENTRIES = 32_768  # largest number of entries of a frame
AHEAD = 16 << 20  # bytes that are prepared before the first write, while the program starts
STEP = 1 << 16  # values that are compared at a time
TILE = 1 << 17  # elements of a dense matrix that are converted at a time
NONE = b"\0\0\0\0"
BARE = 1  # flag of the header: payloads have no checksums


def _type(dtype: np.dtype) -> bytes:
    return dtype.str[1:].encode().ljust(4, b"\0")


def value_type(dtype: np.dtype) -> np.dtype:
    """Return the type in which the stream holds values of the given type.

    Raises
    ------
    ValueError
        If the type is not one of real numbers or bool.
    """
    if dtype.kind == "c":
        raise ValueError(f"values are complex ({dtype}): gdsvd factorises real matrices; take A.real and A.imag apart")
    if dtype.kind not in "biuf":
        raise ValueError(f"values are of type {dtype}: they must be numbers or bool, as A.astype(float) makes them")
    if dtype.kind == "f":
        return np.dtype("<f4" if dtype.itemsize <= 4 else "<f8")
    return dtype.newbyteorder("<")


def narrowest(values: np.ndarray) -> np.dtype:
    """Return the narrowest of a few types that holds all values exactly. It saves bytes in the pipe; the store is the same with any of them."""
    wide = value_type(values.dtype)
    for t in map(np.dtype, ("u1", "<u2", "<f4" if wide.kind == "f" else "<i4")):
        if t.itemsize < wide.itemsize and all(_fits(values[i : i + STEP], t) for i in range(0, len(values), STEP)):
            return t
    return wide


def _fits(values: np.ndarray, t: np.dtype) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        return bool((values.astype(t) == values).all())


class Writer:
    """Writes one matrix of a known shape, in blocks of rows.

    Parameters
    ----------
    out : file
        The file that the stream is written to.
    shape : tuple of int
        Shape of the whole matrix.
    dtype : dtype
        Type of the values in the stream, one that `value_type` returns.
    wide : bool
        Whether column indices are int64 instead of int32.
    ahead : bool
        Whether to prepare the first `AHEAD` bytes before any is written. The arrays that they refer to stay referenced until then.
    sums : bool
        Whether payloads have checksums, as they should in a file. For a pipe to the program, computing them takes longer than the transfer.
    """

    def __init__(self, out: BinaryIO, shape: tuple[int, int], dtype: np.dtype, wide: bool, ahead: bool = False, sums: bool = False) -> None:
        self.out, self.shape, self.dtype, self.sums = out, shape, dtype, sums
        self.keys = np.dtype("<i8" if wide else "<i4")
        self.rows = self.entries = 0
        self.ready: list[Any] | None = [] if ahead else None
        self.ahead = 0
        self._put(self._head())

    def _put(self, *parts: Any) -> None:
        """Write parts, or collect them until `AHEAD` bytes are ready."""
        if self.ready is None:
            for part in parts:
                self.out.write(part)
            return
        self.ready += parts
        self.ahead += sum(map(len, parts))
        if self.ahead >= AHEAD:
            self._flush()

    def _flush(self) -> None:
        parts, self.ready = self.ready or [], None
        self._put(*parts)

    def _head(self) -> bytes:
        head = b"\x89CSR\r\n\x1a\n" + struct.pack("<I4s4s4sQQI", 1, NONE, _type(self.keys), _type(self.dtype), *self.shape, 0 if self.sums else BARE)
        return head + struct.pack("<I", zlib.crc32(head))

    def block(self, m: Any) -> None:
        """Write the next rows, a canonical CSR matrix.

        Raises
        ------
        ValueError
            If a value is NaN or infinite; the message names its row and column.
        """
        ptr, n = m.indptr, m.shape[0]
        size = self.keys.itemsize + self.dtype.itemsize
        # The number of rows that fill a frame if each has the average number of entries.
        room = min(max(1, int(PAYLOAD / (4 + size * int(ptr[-1]) / max(n, 1)))), PAYLOAD // 8)
        most = min(ENTRIES, (PAYLOAD - 4 * room) // size)
        row, at = 0, int(ptr[0])
        while row < n:
            # A bound of the type of ptr, and a search in the rows of one frame: otherwise NumPy converts, or searches, all pointers each time.
            until = ptr.dtype.type(min(at + most, int(ptr[-1])))
            end = row + int(np.searchsorted(ptr[row : row + room + 1], until, "right")) - 1
            stop, after = (int(ptr[end]), end) if end > row else (at + most, row)
            end = max(end, row + 1)
            lens = np.diff(np.clip(ptr[row : end + 1], at, stop)).astype("<u4")
            self._frame(row, lens, np.ascontiguousarray(m.indices[at:stop], self.keys), np.ascontiguousarray(m.data[at:stop], self.dtype))
            row, at = after, stop
        self.rows += n

    def _frame(self, row: int, lens: np.ndarray, indices: np.ndarray, data: np.ndarray) -> None:
        if data.dtype.kind == "f" and not np.isfinite(data).all():
            i = int(np.argmin(np.isfinite(data)))
            at = self.rows + row + int(np.searchsorted(np.cumsum(lens), i, "right"))
            raise ValueError(f"A[{at}, {indices[i]}] is {data[i]}: values must be finite")
        parts = [a.data.cast("B") for a in (lens, indices, data) if a.size]
        rest = struct.pack("<IIQII", sum(map(len, parts)), len(lens), self.rows + row, len(data), 0)
        crc = zlib.crc32(rest)
        for part in parts if self.sums else ():
            crc = zlib.crc32(part, crc)
        self._put(b"ROWS" + struct.pack("<I", crc) + rest, *parts)
        self.entries += len(data)

    def splice(self, f: BinaryIO, name: str) -> None:
        """Append the rows of the stream `f` of the same types, called `name` in errors. It must have checksums, which are verified.

        Raises
        ------
        ValueError
            If the stream is damaged, or its types or its number of columns differ.
        """
        head = f.read(48)
        sound = len(head) == 48 and struct.pack("<I", zlib.crc32(head[:44])) == head[44:]
        if not sound or head[12:24] + head[32:40] != NONE + _type(self.keys) + _type(self.dtype) + struct.pack("<Q", self.shape[1]):
            raise ValueError(f"{name} is not the stream that was written there")
        while True:
            frame = f.read(32)
            size, rows, first, entries, _ = struct.unpack("<IIQII", frame[8:]) if len(frame) == 32 else (0,) * 5
            payload = f.read(min(size, PAYLOAD))
            if frame[:4] not in (b"ROWS", b"DONE") or len(frame) < 32 or len(payload) < size or zlib.crc32(payload, zlib.crc32(frame[8:])) != struct.unpack("<I", frame[4:8])[0]:
                raise ValueError(f"{name} is damaged before byte {f.tell()}")
            if frame[:4] == b"DONE":
                break
            rest = struct.pack("<IIQII", size, rows, self.rows + first, entries, 0)
            self._put(b"ROWS" + struct.pack("<I", zlib.crc32(rest)) + rest, payload)
            self.entries += entries
        self.rows += struct.unpack("<Q", head[24:32])[0]

    def reshape(self, shape: tuple[int, int]) -> None:
        """Rewrite the header with the final shape. The file must be seekable."""
        self.shape = shape
        self.out.seek(0)
        self.out.write(self._head())
        self.out.seek(0, 2)

    def end(self) -> None:
        """Write the end frame, without which the program refuses the stream. A ValueError reports a wrong number of rows."""
        if self.rows != self.shape[0]:
            raise ValueError(f"{self.rows} rows were given of a matrix of {self.shape[0]}")
        rest = struct.pack("<IIQII", 0, 0, self.entries, 0, 0)
        self._put(b"DONE" + struct.pack("<I", zlib.crc32(rest)) + rest)
        self._flush()
        self.out.flush()


def canonical(m: Any) -> Any:
    """Return a sparse matrix as CSR with ascending columns and duplicates summed. The caller's matrix is not changed.

    Raises
    ------
    ValueError
        If the pointers of a compressed format go beyond its entries, or row indices beyond the shape.
    """
    if m.format in ("csr", "csc", "bsr"):  # SciPy does not check bounds: a read beyond the arrays can crash the process
        ptr = m.indptr
        if ptr[0] != 0 or ptr[-1] > min(len(m.indices), len(m.data)) or (ptr[1:] < ptr[:-1]).any():
            raise ValueError(f"A.indptr does not fit A.indices and A.data: it must ascend from 0 to {len(m.indices)}, the number of entries")
    if m.format in ("csc", "coo"):  # a write beyond the arrays can crash it, too
        rows = m.row if m.format == "coo" else m.indices[: m.indptr[-1]]
        if len(rows) and (rows.min() < 0 or rows.max() >= m.shape[0]):
            raise ValueError(f"A has entries in rows {rows.min()} … {rows.max()}, but its rows are 0 … {m.shape[0] - 1}")
    given = m.dtype
    if given.kind in "iu" and given.itemsize < 8 and not getattr(m, "has_canonical_format", True):
        m = copy.copy(m)
        m.data = m.data.astype(np.int64)  # sums of duplicates may overflow the narrow type. Not m.astype: in older SciPy it sums first, in place
    c = m.tocsr()
    if not c.has_canonical_format:
        if c is m or np.shares_memory(c.data, m.data):
            c = c.copy()
        c.sum_duplicates()
    return c if c.dtype == given or not _fits(c.data, given) else c.astype(given)


def dense_blocks(a: np.ndarray, entries: int = 1 << 20) -> Iterable[Any]:
    """Yield a dense matrix as CSR blocks of rows of about `entries` elements each, without the zeros."""
    step = max(1, entries // max(1, a.shape[1]))
    for i in range(0, a.shape[0], step):
        yield of_dense(a[i : i + step])


def of_dense(a: np.ndarray) -> Any:
    """Return a dense matrix as CSR, without zeros. Tiles of rows stay in the cache; SciPy's conversion reads the whole matrix several times."""
    n, t = a.shape[1], value_type(a.dtype)
    step = max(1, TILE // max(1, n))
    data, cols, lens = [np.empty(0, t)], [np.empty(0, np.int32 if n < 1 << 31 else np.int64)], [np.zeros(1, np.int64)]
    for i in range(0, a.shape[0] if n else 0, step):
        tile = np.asarray(a[i : i + step], t).ravel()
        at = np.flatnonzero(tile != 0)
        data.append(tile[at])
        rows, at = np.divmod(at, n)
        cols.append(at.astype(cols[0].dtype))
        lens.append(np.bincount(rows, minlength=len(tile) // n))
    ptr = np.concatenate([*lens, np.zeros(0 if n else a.shape[0], np.int64)]).cumsum()
    return sp.csr_matrix((np.concatenate(data), np.concatenate(cols), ptr), shape=a.shape)
