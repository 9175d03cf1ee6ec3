"""Types of values in a csr-stream."""

import io
import zlib

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd._csrstream import STEP, narrowest
from gdsvd._input import hand_over_chunks

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("values", "dtype", "want"),
    [
        ([0, 1, 255], float, "u1"),
        ([-0.0, 5], float, "u1"),
        ([256], float, "<u2"),
        ([65535], float, "<u2"),
        ([65536], float, "<f4"),
        ([-1], float, "<f4"),
        ([0.5, 3], float, "<f4"),
        ([2**24 + 1], float, "<f8"),
        ([0.1], float, "<f8"),
        ([1e300], float, "<f8"),
        ([5e-324], float, "<f8"),
        ([INF], float, "<f4"),
        ([NAN], float, "<f8"),
        ([0.1], np.float32, "<f4"),
        ([3], np.float32, "u1"),
        ([3], np.float16, "u1"),
        ([3], ">f8", "u1"),
        ([3], np.int64, "u1"),
        ([-3], np.int64, "<i4"),
        ([2**31], np.int64, "<i8"),
        ([2**53 + 1], np.int64, "<i8"),
        ([2**64 - 1], np.uint64, "<u8"),
        ([-3], np.int16, "<i2"),
        ([True], bool, "b1"),
        ([], float, "u1"),
        ([1] * STEP + [1e300], float, "<f8"),
    ],
)
def test_narrowest(values, dtype, want):
    assert narrowest(np.array(values, dtype)) == np.dtype(want)


@pytest.mark.parametrize("values", [[1, 2, 255], [300, 2, 7], [-1.5, 2, 3e38], [0.1, -0.0, 1e300], [-5, 2**24 + 1, 3]])
@pytest.mark.parametrize("dtype", [float, np.float32, np.int64])
def test_same_store(tmp_path, values, dtype):
    with np.errstate(invalid="ignore", over="ignore"):
        data = np.array(values).astype(dtype)
    if not np.isfinite(data).all():
        data[~np.isfinite(data)] = 1
    a = sp.csr_matrix((data, ([0, 0, 2], [1, 3, 2])), shape=(4, 5))
    one = gdsvd.Store.from_scipy(a, tmp_path / "one.csr")
    assert one.fingerprint == gdsvd.Store.from_chunks([a], tmp_path / "other.csr").fingerprint  # from_chunks keeps the type of the block


@pytest.mark.parametrize(("shape", "flag"), [((2, 3), 1), (None, 0)])
def test_payloads_have_sums_in_files(shape, flag):
    """A stream for a pipe has no checksums of payloads; a file that is written because the shape is not known has them."""
    out = io.BytesIO()
    hand_over_chunks(iter([sp.csr_matrix([[1.0, 0, 2], [0, 0, 0.5]])]), out, shape)
    head, frame = out.getvalue()[:48], out.getvalue()[48:]
    assert head[40] == flag
    summed = frame[8:32] if flag else frame[8 : 32 + int.from_bytes(frame[8:12], "little")]
    assert int.from_bytes(frame[4:8], "little") == zlib.crc32(summed)
