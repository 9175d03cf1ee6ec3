"""Vectors are compared with their checksums when they are first used, with and without the package google-crc32c."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd


@pytest.fixture(params=["google_crc32c", "the program"])
def by(request, monkeypatch):
    if request.param == "the program":
        monkeypatch.setitem(sys.modules, "google_crc32c", None)
    else:
        pytest.importorskip("google_crc32c")
    return request.param


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The path of a result whose U has several pieces with checksums."""
    folder = tmp_path_factory.mktemp("made")
    a = sp.random(70_000, 20, 0.05, "csr", random_state=1)
    return gdsvd.Store.from_scipy(a, folder / "a.csr").svd(3, folder / "a.svd", tol=1e-4).path


def flipped(file, at):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("at", [200, (1 << 20) - 1, 1 << 20, -1])
def test_damage_of_vectors(made, by, at):
    flipped(made / "U.npy", at)
    try:
        f = gdsvd.Factorization(made)
        with pytest.raises(gdsvd.CorruptError, match="U.npy"):
            f.U
        with pytest.raises(gdsvd.CorruptError, match="U.npy"):  # a second use fails as well
            f.rows_table()
        gdsvd.Factorization(made, verify=False).U
    finally:
        flipped(made / "U.npy", at)
    assert gdsvd.Factorization(made).U.shape == (70_000, 3)


def test_other_bytes_and_sizes(made, by):
    whole = (made / "V.npy").read_bytes()
    for damaged in (whole + b"\0", whole[:-8]):
        (made / "V.npy").write_bytes(damaged)
        with pytest.raises(gdsvd.CorruptError, match="V.npy|damaged"):
            gdsvd.Factorization(made).V
    (made / "V.npy").write_bytes(whole)


def test_each_file_is_read_once(made, by, monkeypatch):
    f, calls = gdsvd.Factorization(made), []
    from gdsvd import _factorization

    real = _factorization.verify
    monkeypatch.setattr(_factorization, "verify", lambda *args: calls.append(args[2]) or real(*args))
    for _ in range(3):
        np.testing.assert_allclose(f.U.T @ f.U, np.eye(3), atol=1e-9)
        assert f.V.shape == (20, 3)
    assert calls == (["U.npy", "V.npy"] if by == "google_crc32c" else ["U.npy"])


def test_results_that_did_not_converge(tmp_path, by):
    store = gdsvd.Store.from_scipy(sp.random(60, 40, 0.2, "csr", random_state=1), tmp_path / "a.csr")
    with pytest.raises(gdsvd.NotConverged) as err:
        store.svd(3, tmp_path / "o", tol=1e-17)
    assert err.value.factorization.U.shape == (60, 3)
