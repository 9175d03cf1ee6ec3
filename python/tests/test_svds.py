"""svds compared with SciPy and LAPACK."""

import io
import mmap
import os
import types

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import gdsvd
from gdsvd import _csrstream, _places, _svds
from gdsvd._input import ingest
from gdsvd._program import run


def made(rows=80, cols=50, density=0.2, dtype="f8", seed=1):
    r = np.random.default_rng(seed)
    a = sp.random(rows, cols, density, "csr", random_state=r)
    a.data = np.rint(a.data * 100 + 1).astype("f8") if dtype != "?" else np.ones(a.nnz)
    return a.astype(dtype)


def holds(a, u, s, vt, k, rtol=1e-12):
    """Checks that these are the k leading triplets of a dense matrix."""
    want = np.linalg.svd(a, compute_uv=False)[:k]
    assert u.shape == (a.shape[0], k) and s.shape == (k,) and vt.shape == (k, a.shape[1])
    np.testing.assert_allclose(s, want, rtol=rtol, atol=rtol * max(want[0], 1e-300))
    tol = 1e-7 * want[0] + 1e-300
    np.testing.assert_allclose(a @ vt.T, u * s, atol=tol)
    np.testing.assert_allclose(a.T @ u, vt.T * s, atol=tol)
    np.testing.assert_allclose(u.T @ u, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(vt @ vt.T, np.eye(k), atol=1e-9)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("of", [sp.csr_matrix, sp.csr_array])
def test_formats(form, of):
    a = of(made(30, 20)).asformat(form)
    holds(a.toarray(), *gdsvd.svds(a, 4), 4)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
def test_types(dtype, shape):
    a = made(*shape, dtype=dtype)
    u, s, vt = gdsvd.svds(a, 5)
    assert u.dtype == s.dtype == vt.dtype == np.float64
    holds(a.toarray().astype("f8"), u, s, vt, 5)
    assert u.flags.writeable and type(u) is np.ndarray


def test_dense():
    a = made(30, 20).toarray()
    holds(a, *gdsvd.svds(a, 3), 3)
    holds(a, *gdsvd.svds(np.asfortranarray(a), 3), 3)
    holds(a[:, :2], *gdsvd.svds(a[:, :2].tolist(), 2), 2)
    for dtype in (">f8", ">i4", "f2", "?"):
        b = np.asarray(a > 0 if dtype == "?" else a, dtype)
        holds(b.astype("f8"), *gdsvd.svds(b, 3), 3)


def test_all_triplets():
    a = made(20, 12)
    holds(a.toarray(), *gdsvd.svds(a, 12), 12)


def test_beside_scipy():
    a = made(200, 150, 0.05)
    u, s, vt, info = gdsvd.svds(a, k=6, return_info=True)
    us, ss, vts = scipy.sparse.linalg.svds(a, k=6)
    assert (u.shape, s.shape, vt.shape) == (us.shape, ss.shape, vts.shape)
    np.testing.assert_allclose(s, np.sort(ss)[::-1], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(vt * vts[np.argsort(ss)[::-1]], axis=1)), 1, atol=1e-6)
    assert info["status"] == "converged" and max(info["residual"]) <= 1e-8
    np.testing.assert_allclose(info["energy"], np.sum(s**2) / np.sum(a.data**2))


def test_duplicates_are_summed_and_the_matrix_is_left_alone():
    ptr, idx, val = np.array([0, 3, 3, 5]), np.array([2, 0, 2, 1, 1]), np.array([1.0, 2, 3, 4, 5])
    a = sp.csr_matrix((val.copy(), idx.copy(), ptr.copy()), shape=(3, 3))
    holds(a.toarray(), *gdsvd.svds(a, 2), 2)
    np.testing.assert_array_equal(a.indices, idx)
    np.testing.assert_array_equal(a.data, val)
    coo = sp.coo_matrix(([1.0, 2, 3], ([0, 0, 1], [1, 1, 0])), shape=(4, 3))
    holds(coo.toarray(), *gdsvd.svds(coo, 2), 2)
    assert coo.nnz == 3
    csc = sp.csc_matrix((val, idx, ptr), shape=(3, 3))
    holds(csc.toarray(), *gdsvd.svds(csc, 2), 2)


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4"])
def test_sums_beyond_the_type(form, dtype):
    """Sums of duplicates may exceed the narrow type of the entries, as in counts of events."""
    n, one = 300, np.iinfo(dtype).max // 100
    at = np.zeros(n, int)
    if form == "coo":
        a = sp.coo_matrix((np.full(n, one, dtype), (at, at)), shape=(3, 3))
    else:
        a = getattr(sp, form + "_matrix")((np.full(n, one, dtype), at, [0, n, n, n]), shape=(3, 3))
    assert gdsvd.svds(a, 1)[1] == n * one
    assert a.dtype == dtype and a.nnz == n
    assert gdsvd.svds(iter([sp.csr_matrix((2, 3), dtype="i8"), a]), 1)[1] == n * one
    with pytest.raises(ValueError, match="block 1 has values of type int64"):
        gdsvd.svds(iter([sp.csr_matrix((2, 3), dtype=dtype), a]), 1)


def test_masked_arrays():
    a = np.ma.array([[1.0, 2], [3, 999]], mask=[[0, 0], [0, 1]])
    with pytest.raises(ValueError, match="masked"):
        gdsvd.svds(a, 1)
    holds(a.filled(0), *gdsvd.svds(a.filled(0), 1), 1)
    holds(a.data, *gdsvd.svds(np.ma.array(a.data), 1), 1)


def test_explicit_zeros_and_empty():
    a = sp.csr_matrix(([0.0, 0, 3], ([0, 1, 2], [0, 1, 2])), shape=(5, 4))
    _, s, _ = gdsvd.svds(a, 2)
    np.testing.assert_allclose(s, [3, 0], atol=1e-15)
    u, s, _ = gdsvd.svds(sp.csr_matrix((6, 5)), 2)
    assert s.tolist() == [0, 0]
    np.testing.assert_allclose(u.T @ u, np.eye(2), atol=1e-12)
    for shape in [(0, 3), (3, 0), (0, 0)]:
        with pytest.raises(ValueError, match="min"):
            gdsvd.svds(sp.csr_matrix(shape), 1)


@pytest.mark.parametrize("k", [0, -1, 21, 2.5, "3", np.inf, np.nan])
def test_k_out_of_range(k):
    a = made(30, 20)
    with pytest.raises((ValueError, OverflowError)):
        scipy.sparse.linalg.svds(a, k=k)
    with pytest.raises(ValueError, match="k = "):
        gdsvd.svds(a, k=k)


def test_kinds_of_k(tmp_path):
    a = made(30, 20)
    want = gdsvd.svds(a, 3)[1]
    for k in (3.0, np.int32(3), np.float64(3)):
        np.testing.assert_array_equal(gdsvd.svds(a, k)[1], want)
    np.testing.assert_array_equal(gdsvd.svds((a[i : i + 7] for i in range(0, 30, 7)), 3)[1], want)
    store = gdsvd.Store.from_scipy(a, tmp_path / "s")
    for given in (store, store.path, str(store.path)):
        np.testing.assert_array_equal(gdsvd.svds(given, 3)[1], want)
        with pytest.raises(ValueError, match="k = 0.5"):
            gdsvd.svds(given, 0.5)


def test_refused():
    a = made(6, 5)
    with pytest.raises(ValueError, match="complex"):
        gdsvd.svds(a.astype(complex), 1)
    with pytest.raises(ValueError, match="numbers"):
        gdsvd.svds(np.array([["a", "b"], ["c", "d"]]), 1)
    with pytest.raises(ValueError, match="2"):
        gdsvd.svds(np.ones(3), 1)
    with pytest.raises(TypeError, match="LinearOperator"):
        gdsvd.svds(scipy.sparse.linalg.aslinearoperator(a), 1)
    for tol in (0, 1, -1, "x"):
        with pytest.raises(ValueError, match="tol"):
            gdsvd.svds(a, 1, tol=tol)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_not_finite_says_where(value, dtype):
    a = made(300, 200, 0.9, dtype).tolil()
    a[237, 111] = value
    with pytest.raises(ValueError, match=r"A\[237, 111\] is -?(nan|inf)"):
        gdsvd.svds(a.tocsr(), 1)
    with pytest.raises(ValueError, match=r"A\[237, 111\] is -?(nan|inf)"):
        gdsvd.svds(a.toarray(), 1)


@pytest.mark.skipif(os.name != "posix", reason="nothing is mapped there")
@pytest.mark.parametrize("least", [0, 1 << 62])
def test_results_are_plain_arrays(monkeypatch, least):
    """Results are no memmaps: joblib would pass a memmap to other processes as the name of its file, which is removed."""
    monkeypatch.setattr(_svds, "MAPPED", least)
    a = made()
    *arrays, info = gdsvd.svds(a, 3, view="center=columns", return_info=True)
    for x in [*arrays, info["view"]["statistics"][0]["array"]]:
        assert type(x) is np.ndarray and x.flags.writeable
        while x is not None:
            assert not isinstance(x, (np.memmap, mmap.mmap))
            x = getattr(x, "base", None)
    holds(a.toarray() - a.toarray().mean(0), *arrays, 3, 1e-10)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors in /proc")
def test_results_hold_no_descriptors():
    a = made(9, 6)
    before = len(os.listdir("/proc/self/fd"))
    kept = [gdsvd.svds(a, 2) for _ in range(3)], gdsvd.PCA(2).fit(a)
    assert len(os.listdir("/proc/self/fd")) == before, kept


def test_same_bits_and_seed():
    a = made()
    one, two, other = (gdsvd.svds(a, 3, seed=s, tol=1e-3) for s in (1, 1, 2))
    for x, y in zip(one, two):
        np.testing.assert_array_equal(x, y)
    assert not np.array_equal(one[0], other[0])


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("at, value", [(0, 2), (0, -1), (3, 10**6), (3, 0), (-1, 10**6)])
def test_pointers_that_do_not_fit(form, at, value, tmp_path):
    a = made(30, 20).asformat(form)
    a.indptr = a.indptr.copy()
    a.indptr[at] = value
    for call in (lambda: gdsvd.svds(a, 2), lambda: gdsvd.svds(iter([a]), 2), lambda: gdsvd.Store.from_scipy(a, tmp_path / "s")):
        with pytest.raises(ValueError, match="indptr does not fit"):
            call()


@pytest.mark.parametrize("form", ["csc", "coo"])
@pytest.mark.parametrize("at", [-1, 30, 10**9])
def test_rows_beyond_the_shape(form, at):
    a = made(30, 20).asformat(form)
    (a.row if form == "coo" else a.indices)[3] = at
    for given in (a, iter([a])):
        with pytest.raises(ValueError, match="but its rows are 0 … 29"):
            gdsvd.svds(given, 2)
    if form == "csc":  # entries beyond the last column are not read
        b = made(30, 20).tocsc()
        b.indices, b.data = np.append(b.indices, np.int32(at)), np.append(b.data, 1.0)
        holds(b.toarray(), *gdsvd.svds(b, 2), 2)


def test_view():
    a = made()
    dense = a.toarray()
    centred = dense - dense.mean(0)
    u, s, vt, info = gdsvd.svds(a, 4, view="center=columns", return_info=True)
    holds(centred, u, s, vt, 4, 1e-10)
    np.testing.assert_allclose(info["view"]["explained_variance"], s**2 / 79)
    logged = np.log1p(dense)
    holds(logged - logged.mean(0), *gdsvd.svds(a, 4, view=["log1p", "center=columns"]), 4, 1e-10)
    with pytest.raises(gdsvd.UsageError, match="nonsense"):
        gdsvd.svds(a, 4, view="nonsense")


def test_paths(tmp_path):
    a = made(40, 30)
    sp.save_npz(tmp_path / "a.npz", a)
    holds(a.toarray(), *gdsvd.svds(tmp_path / "a.npz", 3), 3)
    ingest(a, tmp_path / "store")
    holds(a.toarray(), *gdsvd.svds(str(tmp_path / "store"), 3), 3)
    with pytest.raises(gdsvd.GdsvdError, match="none.npz"):
        gdsvd.svds(tmp_path / "none.npz", 3)
    with pytest.raises(ValueError, match="only 30 singular"):
        gdsvd.svds(tmp_path / "store", 31)


# Short and long rows, rows longer than a frame, runs of empty rows, wide indices. The store must equal that of a file written by SciPy.
SHAPES = [(1, 1, 1.0), (3, 90_000, 0.9), (90_000, 3, 0.5), (70_000, 40, 0.001), (2000, 300, 0.3), (1, 40_000, 1.0), (32_768, 1, 1.0), (5000, 7, 1.0)]


@pytest.mark.parametrize("rows, cols, density", SHAPES)
@pytest.mark.parametrize("dtype, index", [("f8", "i4"), ("u1", "i8"), ("?", "i4")])
def test_hand_over_is_an_ingest_of_npz(tmp_path, rows, cols, density, dtype, index):
    r = np.random.default_rng(3)
    a = sp.random(rows, cols, density, "csr", random_state=r)
    a.data[:] = r.integers(1, 100, a.nnz) / 8 if dtype == "f8" else 1
    a = a.astype(dtype)
    sp.save_npz(tmp_path / "a.npz", a, compressed=False)
    a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
    said = ingest(a, tmp_path / "stream")
    want = run("ingest", tmp_path / "a.npz", "-o", tmp_path / "npz")
    assert (said["rows"], said["cols"], said["nnz"]) == (rows, cols, a.nnz)
    assert said["fingerprint"] == want["fingerprint"]


@pytest.mark.parametrize("index", ["i4", "i8"])
def test_frames_look_at_their_own_rows_only(monkeypatch, index):
    """The searches for the ends of frames together cover about as many pointers as the matrix has rows, not as many for each frame."""
    a = sp.csr_matrix((np.ones(600_000), np.zeros(600_000, "i4"), np.arange(0, 600_001, 3, dtype=index)), shape=(200_000, 1))
    a.indptr = a.indptr.astype(index)
    looked, search = [], np.searchsorted

    def counted(ptr, at, side):
        assert np.asarray(at).dtype == ptr.dtype == index  # otherwise NumPy converts all pointers
        looked.append(len(ptr))
        return search(ptr, at, side)

    monkeypatch.setattr(_csrstream.np, "searchsorted", counted)
    out = io.BytesIO()
    w = _csrstream.Writer(out, a.shape, a.dtype, False)
    w.block(a)
    w.end()
    assert len(looked) > 20 and sum(looked) < 1.1 * a.shape[0]
    assert len(out.getvalue()) > 12 * a.nnz


def test_hand_over_of_a_dense_matrix(tmp_path):
    a = made(700, 2000, 0.5)
    assert ingest(a.toarray(), tmp_path / "d")["fingerprint"] == ingest(a, tmp_path / "s")["fingerprint"]


@pytest.mark.parametrize(
    "needed, free, available, there",
    [(0, 1 << 40, 1 << 40, True), (1 << 30, 1 << 31, 1 << 40, False), (1 << 30, 1 << 40, 1 << 31, False), (None, 1 << 40, 1 << 40, False)],
)
def test_where_files_go(monkeypatch, tmp_path, needed, free, available, there):
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(_places.sys, "platform", "linux")
    monkeypatch.setattr(_places.os, "access", lambda *_: True)
    monkeypatch.setattr(_places.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=free))
    monkeypatch.setattr("builtins.open", lambda *_: io.StringIO(f"MemTotal: 9 kB\nMemAvailable: {available >> 10} kB\n"))
    assert _places._fits("/dev/shm", needed) is there
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert not _places._fits("/dev/shm", needed)
