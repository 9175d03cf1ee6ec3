"""Matrices that are not whole in memory are read block by block. The errors for objects that cannot be read say what to do."""

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd

A = sp.random(50, 30, 0.3, "csr", random_state=1)
WANT = np.linalg.svd(A.toarray())[1][:3]




def test_dask(tmp_path):
    da = pytest.importorskip("dask.array")
    seen = []

    def part(block, sparse):
        seen.append(block.shape)
        return sp.csr_matrix(block) if sparse else block

    for sparse in (False, True):
        x = da.from_array(A.toarray(), chunks=(20, 12)).map_blocks(part, sparse, dtype=float, meta=sp.csr_matrix((0, 0)) if sparse else np.empty((0, 0)))
        np.testing.assert_allclose(gdsvd.svds(x, 3)[1], WANT)
        seen.clear()
        store = gdsvd.Store.from_scipy(x, tmp_path / f"{sparse}.csr")
        assert store.fingerprint == gdsvd.Store.from_scipy(A, tmp_path / f"{sparse}-whole.csr").fingerprint
        assert max(n for n, _ in seen) == 20 and len(seen) == 9
    pca = gdsvd.PCA(3).fit(x)
    np.testing.assert_allclose(pca.components_, gdsvd.PCA(3).fit(A).components_, atol=1e-7)
    np.testing.assert_allclose(pca.transform(x), gdsvd.PCA(3).fit(A).transform(A), atol=1e-7)
    unknown = da.from_array(A.toarray(), chunks=(20, 30))
    unknown = unknown[unknown.sum(axis=1) > -1]  # Dask does not know the number of rows
    np.testing.assert_allclose(gdsvd.svds(unknown, 3)[1], WANT)


def test_masked_blocks():
    """Masked entries are refused in every division of the array into blocks, and are not read as values."""
    da = pytest.importorskip("dask.array")
    dense = A.toarray()
    for chunks in ((20, 30), (20, 12)):
        x = da.from_array(np.ma.masked_array(dense, mask=dense > 0), chunks=chunks)
        with pytest.raises(ValueError, match="A has masked entries"):
            gdsvd.svds(x, 3)
    mixed = x.map_blocks(lambda b, block_id: sp.csr_matrix(b.shape) if block_id[1] else b, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="A has masked entries"):
        gdsvd.svds(mixed, 3)


def test_delayed():
    dask = pytest.importorskip("dask")
    parts = [dask.delayed(lambda i: A[i : i + 10])(i) for i in range(0, 50, 10)]
    with pytest.raises(TypeError, match="A is a Delayed of Dask.*compute"):
        gdsvd.svds(parts[0], 3)
    with pytest.raises(TypeError, match="A is a Delayed of Dask.*an iterator of Delayed"):
        gdsvd.svds(parts, 3)
    np.testing.assert_allclose(gdsvd.svds(iter(parts), 3)[1], WANT)
    for table in (parts[0], parts):
        with pytest.raises(TypeError, match=r"a Delayed of Dask is no table.*compute\(\) for part in parts"):
            gdsvd.Store.from_table(table, "a.csr", row="u", col="i", value="v")


def test_arrays_on_the_disk(tmp_path):
    h5py, zarr = pytest.importorskip("h5py"), pytest.importorskip("zarr", "3")
    with h5py.File(tmp_path / "a.h5", "w") as h:
        np.testing.assert_allclose(gdsvd.svds(h.create_dataset("a", data=A.toarray()), 3)[1], WANT)
        with pytest.raises(TypeError, match="a group of h5py"):
            gdsvd.svds(h, 3)
    z = zarr.create_array(tmp_path / "a.zarr", data=A.toarray(), chunks=(20, 20))
    np.testing.assert_allclose(gdsvd.svds(z, 3)[1], WANT)
    for folder in (tmp_path / "a.zarr", str(tmp_path / "a.zarr")):
        with pytest.raises(ValueError, match=r"a folder of zarr: .*from_anndata.*zarr\.open"):
            gdsvd.svds(folder, 3)


def test_arrays_of_other_packages():
    class Coo:
        """Like ``sparse.COO``, it refuses the implicit conversion to a NumPy array."""

        def __array__(self, *_, **__):
            raise RuntimeError("cannot convert a sparse array to dense automatically")

        def to_scipy_sparse(self):
            return A.tocoo()

    np.testing.assert_allclose(gdsvd.svds(Coo(), 3)[1], WANT)


class Cells:
    """Looks like an AnnData."""

    X, obsm = A, {}


class Stream:
    """Provides a table as a stream of Arrow, and fails if it is read."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("it has been read")


def test_estimators_say_what_to_do():
    for call in (gdsvd.PCA(2).fit, gdsvd.TruncatedSVD(2).fit(A).transform):
        with pytest.raises(ValueError, match=r"X is a table with named columns, which can be read in two ways.*Store.from_table"):
            call(Stream())
        with pytest.raises(TypeError, match="A is an AnnData: give its X, or the whole to gdsvd.pp.pca"):
            call(Cells())
    with pytest.raises(TypeError, match="A is an AnnData"):
        gdsvd.svds(Cells(), 2)


@pytest.mark.parametrize("thing", [object(), {"a": 1}, lambda: A])
def test_what_is_no_matrix(thing):
    with pytest.raises(TypeError, match="A is of type .*: it must be a sparse matrix"):
        gdsvd.svds(thing, 2)
