"""AnnData in zarr folders, backed by files, and with arrays of Dask: reading in blocks, and writing results back."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd._program import program

anndata, zarr = pytest.importorskip("anndata"), pytest.importorskip("zarr", "3")

X = sp.random(90, 40, 0.3, "csr", random_state=1, dtype=np.float32)


def cells(x=X):
    data = anndata.AnnData(x.copy(), layers={"half": x / 2})
    data.obs_names = [f"cell{i}" for i in range(x.shape[0])]
    data.var_names = [f"gene{j}" for j in range(x.shape[1])]
    data.var["some"] = np.arange(x.shape[1]) % 3 > 0
    data.obsm["before"] = np.ones((x.shape[0], 2))
    return data


KINDS = {"csr": lambda: X, "csc": lambda: X.tocsc(), "dense": lambda: X.toarray()}


@pytest.fixture(params=[2, 3])
def folder(request, tmp_path):
    """A function that writes an AnnData in one of the formats of zarr."""

    def write(data, name="a.zarr"):
        with anndata.settings.override(zarr_write_format=request.param):
            data.write_zarr(tmp_path / name)
        return tmp_path / name

    return write


def results(data, like):
    """Checks that the results are the same as those of an AnnData in memory."""
    np.testing.assert_allclose(data.obsm["X_pca"], like.obsm["X_pca"], atol=1e-6)
    np.testing.assert_allclose(data.varm["PCs"], like.varm["PCs"], atol=1e-9)
    for name in ("variance", "variance_ratio", "residual"):
        np.testing.assert_allclose(data.uns["pca"][name], like.uns["pca"][name], atol=1e-9)
    assert {k: v for k, v in like.uns["pca"]["params"].items() if v is not None}.items() <= {**data.uns["pca"]["params"]}.items()


@pytest.mark.parametrize("kind", KINDS)
def test_zarr(folder, kind, tmp_path):
    data = cells(KINDS[kind]())
    path = folder(data)
    want = gdsvd.Store.from_scipy(X, tmp_path / "want.csr", rows_ids=data.obs_names, cols_ids=data.var_names)
    assert gdsvd.Store.from_anndata(path, tmp_path / "a.csr").fingerprint == want.fingerprint
    assert gdsvd.Store.from_anndata(data, tmp_path / "b.csr").fingerprint == want.fingerprint
    assert gdsvd.Store.from_anndata(path, tmp_path / "h.csr", layer="half").view(n=1)["value"].sum() == pytest.approx(X[0].sum() / 2)
    files = {name: os.stat(name).st_mtime_ns for name in sorted(str(p) for p in (path / "X").rglob("*") if p.is_file())}
    for mask in (None, "some"):
        gdsvd.pp.pca(path, 3, mask_var=mask)
        gdsvd.pp.pca(data, 3, mask_var=mask)
        results(anndata.read_zarr(path), data)
    assert {name: os.stat(name).st_mtime_ns for name in files} == files
    assert (anndata.read_zarr(path).obsm["before"] == 1).all()
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_sharded(tmp_path):
    data = cells()
    with anndata.settings.override(zarr_write_format=3):
        data.write_zarr(tmp_path / "a.zarr")
    group = zarr.open_group(str(tmp_path / "a.zarr"), use_consolidated=False)
    for name in ("data", "indices"):
        values = group[f"X/{name}"][:]
        del group[f"X/{name}"]
        group["X"].create_array(name, data=values, chunks=(64,), shards=(256,))
    assert group["X/data"].shards == (256,)
    zarr.consolidate_metadata(str(tmp_path / "a.zarr"))
    gdsvd.pp.pca(tmp_path / "a.zarr", 3)
    gdsvd.pp.pca(data, 3)
    results(anndata.read_zarr(tmp_path / "a.zarr"), data)


@pytest.mark.parametrize("consolidated", [True, False])
def test_groups_that_are_missing(folder, consolidated):
    """obsm, varm and uns are made where a program has left them out."""
    path, data = folder(cells()), cells()
    for side in ("obsm", "varm", "uns"):
        shutil.rmtree(path / side)
    if consolidated:
        zarr.consolidate_metadata(str(path))
    gdsvd.pp.pca(path, 3)
    gdsvd.pp.pca(data, 3)
    results(anndata.read_zarr(path), data)


def test_output_and_what_is_in_the_way(folder, tmp_path):
    path, data = folder(cells()), cells()
    gdsvd.pp.pca(path, 3, output=tmp_path / "b.zarr")
    gdsvd.pp.pca(data, 3)
    results(anndata.read_zarr(tmp_path / "b.zarr"), data)
    assert "X_pca" not in anndata.read_zarr(path).obsm
    with pytest.raises(FileExistsError):
        gdsvd.pp.pca(path, 3, output=tmp_path / "b.zarr")
    with pytest.raises(ValueError, match="has no layers/none: it has .*layers/half"):
        gdsvd.pp.pca(path, 3, layer="none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="a folder, but none of zarr"):
        gdsvd.pp.pca(tmp_path / "empty", 3)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")
@pytest.mark.parametrize("kind", ["a.h5ad", "a.zarr"])
def test_data_that_is_read_only(kind):
    """A user who may only read the data can write results to a copy. Without `output` the data is refused. No folder is left behind."""
    work = pathlib.Path(tempfile.mkdtemp())  # the folders of pytest are closed to other users
    path, out = work / kind, work / f"out-{kind}"
    try:
        cells().write_h5ad(path) if kind == "a.h5ad" else cells().write_zarr(path)
        work.chmod(0o777)
        for at in (path, *path.rglob("*")):
            at.chmod(0o555 if at.is_dir() else 0o444)
        child = os.fork() if os.geteuid() == 0 else None  # root may write everywhere: another user makes the calls
        if child:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code == 77:
                pytest.skip("another user cannot run the program, or reach the folder")
            assert code == 0
        else:
            code = 1
            try:
                if child == 0:
                    os.setuid(65534)
                    code = 0 if os.access(program(), os.X_OK) and os.access(work, os.W_OK) else 77
                if code != 77:
                    code = 1
                    with pytest.raises(PermissionError, match=f"{kind} cannot be written to: give the path of a copy as output"):
                        gdsvd.pp.pca(path, 3)
                    gdsvd.pp.pca(path, 3, output=out)
                    code = 0
            finally:
                if child == 0:
                    os._exit(code)
        assert sorted(p.name for p in work.iterdir()) == sorted([kind, out.name])
        data = cells()
        gdsvd.pp.pca(data, 3)
        results(anndata.read_h5ad(out) if kind == "a.h5ad" else anndata.read_zarr(out), data)
    finally:
        for at in (path, *path.rglob("*")):
            at.chmod(0o700)
        shutil.rmtree(work)


def test_nothing_is_half_written(folder, monkeypatch):
    """If a rename fails, the elements that were renamed before it are undone."""
    path = folder(cells())
    gdsvd.pp.pca(path, 3)
    before, rename, calls = anndata.read_zarr(path), os.rename, []

    def failing(a, b):
        if os.path.basename(b) == "pca":
            calls.append(b)
            if len(calls) == 1:
                raise OSError("the disk is full")
        rename(a, b)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="the disk is full"):
        gdsvd.pp.pca(path, 5)
    monkeypatch.undo()
    after = anndata.read_zarr(path)
    assert after.obsm["X_pca"].shape == (90, 3) and after.uns["pca"]["variance"].shape == (3,)
    np.testing.assert_array_equal(after.obsm["X_pca"], before.obsm["X_pca"])


def test_backed_and_dask(tmp_path):
    data = cells()
    data.write_h5ad(tmp_path / "a.h5ad")
    gdsvd.pp.pca(data, 3)
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    want = gdsvd.Store.from_anndata(data, tmp_path / "want.csr").fingerprint
    assert gdsvd.Store.from_anndata(backed, tmp_path / "a.csr").fingerprint == want
    gdsvd.pp.pca(backed, 3)
    results(backed, data)
    da = pytest.importorskip("dask.array")
    lazy = cells()
    lazy.X = da.from_array(X.toarray(), chunks=(20, 40)).map_blocks(sp.csr_matrix)
    assert gdsvd.Store.from_anndata(lazy, tmp_path / "b.csr").fingerprint == want
    gdsvd.pp.pca(lazy, 3)
    results(lazy, data)


def test_keywords_of_scanpy():
    data, one = cells(), cells()
    gdsvd.pp.pca(one, 3)
    with pytest.warns(UserWarning, match="^svd_solver='arpack', chunked=True, chunk_size=9: there is one solver") as seen:
        assert gdsvd.pp.pca(data, 3, svd_solver="arpack", chunked=True, chunk_size=9) is None
    assert len(seen) == 1
    results(data, one)
    fresh = cells()
    copy = gdsvd.pp.pca(fresh, 3, copy=True)
    results(copy, one)
    assert "X_pca" not in fresh.obsm
    np.testing.assert_array_equal(gdsvd.pp.pca(X, 3), one.obsm["X_pca"])
    assert gdsvd.pp.pca(X).shape == (90, 39)  # without n_comps one less than the smaller side, if that is at most 50
    scores, components, ratio, variance = gdsvd.pp.pca(X, 3, return_info=True, dtype="float64")
    assert scores.dtype == np.float64
    np.testing.assert_allclose(components.T, one.varm["PCs"], atol=1e-9)
    np.testing.assert_allclose(ratio, one.uns["pca"]["variance_ratio"])
    np.testing.assert_allclose(variance, one.uns["pca"]["variance"])


def test_zero_center(tmp_path):
    """zero_center=False has the results of scikit-learn's TruncatedSVD, which scanpy uses."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    data = cells()
    gdsvd.pp.pca(data, 3, zero_center=False, dtype="float64")
    svd = decomposition.TruncatedSVD(3, algorithm="arpack").fit(X.astype(float))
    signs = np.sign(np.sum(svd.components_.T * data.varm["PCs"], axis=0))
    np.testing.assert_allclose(data.obsm["X_pca"], svd.transform(X.astype(float)) * signs, atol=1e-7)
    np.testing.assert_allclose(data.uns["pca"]["variance"], svd.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(data.uns["pca"]["variance_ratio"], svd.explained_variance_ratio_, rtol=1e-6)
    assert data.uns["pca"]["params"]["zero_center"] is False
    x, mask = np.outer(range(9), range(30)) + 1e6, np.arange(30) % 3 == 0
    scores, parts, _, variances = gdsvd.pp.pca(x, 4, mask_var=mask, zero_center=False, return_info=True, dtype=float)
    assert not parts[:, ~mask].any()
    np.testing.assert_allclose(parts @ parts.T, np.eye(4), atol=1e-9)  # components without variance are orthonormal, too
    np.testing.assert_allclose(variances, scores.var(axis=0), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="zero_center = False, but the view .* centres columns"):
        gdsvd.pp.pca(data, 3, view="pca", zero_center=False)


PEAK = """
import sys, gdsvd, zarr, numpy as np, scipy.sparse as sp
from gdsvd import _hdf5
_hdf5.ENTRIES = 1 << 16
def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024
def write(path, rows):
    g = zarr.open_group(path, mode="w")
    for side, n in (("obs", rows), ("var", 4000)):
        s = g.create_group(side)
        s.attrs["_index"] = "_index"
        s.create_array("_index", data=np.array([f"{side}{i}" for i in range(n)]))
    x = g.create_group("X")
    x.attrs.update({"encoding-type": "csr_matrix", "shape": [rows, 4000]})
    r = np.random.default_rng(1)
    x.create_array("indices", data=(np.arange(400, dtype="i4") * 10 + r.integers(0, 10, (rows, 400), "i4")).ravel(), chunks=(1 << 14,))
    x.create_array("data", data=r.integers(1, 9, rows * 400).astype("f4"), chunks=(1 << 14,))
    x.create_array("indptr", data=np.arange(0, rows * 400 + 1, 400))
if sys.argv[2] == "write":
    write(sys.argv[1] + "/small", 10)
    write(sys.argv[1] + "/large", 5000)
else:
    gdsvd.Store.from_anndata(sys.argv[1] + "/small", sys.argv[1] + "/s.csr")
    before = peak()
    gdsvd.Store.from_anndata(sys.argv[1] + "/large", sys.argv[1] + "/l.csr")
    print((peak() - before) / (5000 * 400 * 8))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory in /proc")
def test_no_matrix_is_in_memory(tmp_path):
    """The peak memory of the process grows by less than half of the size of the matrix in the folder."""
    out = None
    for what in ("write", "read"):
        out = subprocess.run([sys.executable, "-c", PEAK, tmp_path, what], capture_output=True, text=True)
    assert float(out.stdout) < 0.5, out
