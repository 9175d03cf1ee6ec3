"""Principal components of cells compared with those of scanpy, in memory and in files."""

import functools
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import gdsvd
from gdsvd import _hdf5

h5py = pytest.importorskip("h5py")
sys.path.insert(0, os.path.dirname(__file__))
import cells

anndata = pytest.importorskip("anndata")
CELLS = "single-cell"
REAL = pathlib.Path(os.environ.get("GDSVD_DATA", "none")) / "10x" / "v3.matrix.mtx.gz"


@functools.cache
def counts():
    """Counts as float64: the data set of 10x if its file exists, else random counts."""
    if REAL.exists():
        return scipy.io.mmread(gzip.open(REAL)).T.tocsr().astype(float)
    return sp.vstack(list(cells.blocks(400, 300, molecules=200))).tocsr().astype(float)


@functools.cache
def reference(k=50, mask=False):
    """The components that scanpy computes of the normalised counts, in float64."""
    sc = pytest.importorskip("scanpy")
    a = annotated(mask)
    sc.pp.normalize_total(a)
    sc.pp.log1p(a)
    sc.pp.pca(a, n_comps=k, dtype="float64")
    return a


@functools.cache
def raw(k=4):
    """The components that scanpy computes of the raw counts, in float64."""
    sc = pytest.importorskip("scanpy")
    a = annotated()
    sc.pp.pca(a, n_comps=k, dtype="float64")
    return a


def annotated(mask=False, dtype=float):
    a = anndata.AnnData(counts().astype(dtype))
    a.obs_names = [f"c{i}" for i in range(a.n_obs)][::-1]
    a.var_names = ["same", "same", *[f"g{i}" for i in range(a.n_vars - 2)]]  # names of genes need not be unique
    if mask:
        a.var["highly_variable"] = np.arange(a.n_vars) % 3 != 1
    return a


def same(got, want, to):
    """Checks that results are equal up to signs: scores relative to the largest score, loadings absolutely, variances relatively."""
    signs = np.sign(np.sum(np.asarray(got.varm["PCs"]) * want.varm["PCs"], axis=0))
    x = want.obsm["X_pca"] * signs
    assert np.abs(got.obsm["X_pca"] - x).max() <= to * np.abs(x).max()
    assert np.abs(got.varm["PCs"] - want.varm["PCs"] * signs).max() <= to
    for name in ("variance", "variance_ratio"):
        np.testing.assert_allclose(got.uns["pca"][name], want.uns["pca"][name], rtol=to)
    for name, value in want.uns["pca"]["params"].items():
        assert got.uns["pca"]["params"].get(name) == value, name  # None is not written to a file


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("dtype, to", [("float64", 1e-10), ("float32", 1e-6)])
@pytest.mark.parametrize("place", ["memory", "file", "backed"])
def test_counts_as_scanpy(tmp_path, mask, dtype, to, place):
    a = annotated(mask)
    if place == "memory":
        assert gdsvd.pp.pca(a, view=CELLS, dtype=dtype) is None
    else:
        a.write_h5ad(tmp_path / "a.h5ad")
        a = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
        if place == "backed":
            gdsvd.pp.pca(a, view=CELLS, dtype=dtype)
        else:
            a.file.close()
            assert gdsvd.pp.pca(tmp_path / "a.h5ad", view=CELLS, dtype=dtype) is None
            a = anndata.read_h5ad(tmp_path / "a.h5ad")
            np.testing.assert_array_equal(a.X.toarray(), counts().toarray())
            assert [p.name for p in tmp_path.iterdir()] == ["a.h5ad"]
    assert a.obsm["X_pca"].dtype == dtype
    same(a, reference(mask=mask), to)
    assert max(a.uns["pca"]["residual"]) <= (1e-10 if dtype == "float32" else 1e-12)
    assert a.uns["pca"]["params"]["view"].endswith("center=columns")


@pytest.mark.parametrize("kind", ["csr", "csc", "dense"])
@pytest.mark.parametrize("view", [None, "center=columns", "pca"])
def test_normalised_already(tmp_path, kind, view):
    """A layer of normalised values, dense or sparse, in memory and in a file, with the mask as an array, has scanpy's components."""
    a, want = annotated(), reference(12)
    x = want.X.toarray() if kind == "dense" else want.X.asformat(kind)
    a.layers["normal"] = x
    a.write_h5ad(tmp_path / "a.h5ad")
    gdsvd.pp.pca(a, 12, view, layer="normal", dtype="float64")
    same(a, want, 1e-10)
    gdsvd.pp.pca(tmp_path / "a.h5ad", 12, view, layer="normal", dtype="float64", output=tmp_path / "b.h5ad", key_added="new")
    b = anndata.read_h5ad(tmp_path / "b.h5ad")
    np.testing.assert_allclose(b.obsm["new"], a.obsm["X_pca"], atol=1e-9)
    np.testing.assert_array_equal(b.layers["normal"].toarray() if kind != "dense" else b.layers["normal"], want.X.toarray())
    assert b.uns["new"]["params"]["layer"] == "normal" and "pca" not in b.uns
    assert not anndata.read_h5ad(tmp_path / "a.h5ad").obsm


@pytest.mark.parametrize("place", ["memory", "backed", "file"])
@pytest.mark.parametrize("kind", ["counts", "counts in a layer", "counts in a layer beside logarithms", "logged", "negative", "fractions", "zeros"])
def test_values_as_they_are(tmp_path, place, kind):
    """Without a view the components are those that scanpy computes from the same values. Only raw counts cause a warning."""
    a, layer, want = annotated(), None, raw()
    if kind.startswith("counts in"):
        a.layers["c"], layer = a.X, "c"
        a.X = a.X * (0.5 if kind.endswith("logarithms") else 1)
        a.uns |= {"log1p": {"base": None}} if kind.endswith("logarithms") else {}
    elif kind == "logged":
        a.uns["log1p"] = {"base": None}  # no warning, although the values are integers
    elif kind in ("negative", "fractions"):
        a.X = (-a.X if kind == "negative" else a.X * 0.5).tocsr()
    elif kind == "zeros":
        a.X = sp.csr_matrix(a.X.shape)
    if place == "memory":
        data = a
    else:
        a.write_h5ad(tmp_path / "a.h5ad")
        data = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r") if place == "backed" else tmp_path / "a.h5ad"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gdsvd.pp.pca(data, 4, layer=layer, dtype="float64")
    said = [w for w in said if "raw counts" in str(w.message)]
    assert len(said) == ("counts" in kind) and all(w.filename == __file__ and "\n" not in str(w.message) for w in said)
    if kind == "zeros":
        return
    got = anndata.read_h5ad(data) if place == "file" else data
    scale = {"negative": -1, "fractions": 0.5}.get(kind, 1)
    signs = np.sign(np.sum(np.asarray(got.varm["PCs"]) * want.varm["PCs"], axis=0))
    np.testing.assert_allclose(got.varm["PCs"], want.varm["PCs"] * signs, atol=1e-8)
    np.testing.assert_allclose(got.uns["pca"]["variance"], want.uns["pca"]["variance"] * scale**2, rtol=1e-8)
    np.testing.assert_allclose(got.obsm["X_pca"], want.obsm["X_pca"] * signs * scale, atol=1e-8 * np.abs(want.obsm["X_pca"]).max())


def test_masks(tmp_path):
    (tmp_path := tmp_path / "Ann, 2020").mkdir()
    a = annotated(True)
    mask = a.var["highly_variable"].to_numpy()
    a.var["flag"] = a.var["highly_variable"].astype("boolean")
    a.var["number"] = 1.5
    a.write_h5ad(tmp_path / "a.h5ad")
    want = reference(mask=True).uns["pca"]["variance"]
    for given in ({}, {"mask_var": "highly_variable"}, {"mask_var": "flag"}, {"mask_var": mask}, {"mask_var": mask.astype(object)}, {"use_highly_variable": True}):
        gdsvd.pp.pca(a, view=CELLS, **given)
        gdsvd.pp.pca(tmp_path / "a.h5ad", view=CELLS, **given)
        b = anndata.read_h5ad(tmp_path / "a.h5ad")
        for got in (a, b):
            np.testing.assert_allclose(got.uns["pca"]["variance"], want)
            assert not got.varm["PCs"][~mask].any()
            said = got.uns["pca"]["params"]
            named = given.get("mask_var", "highly_variable")
            np.testing.assert_array_equal(said["mask_var"], named)
            assert said["use_highly_variable"] == (isinstance(named, str) and named == "highly_variable")
    for given in ({"mask_var": None}, {"use_highly_variable": False}):
        gdsvd.pp.pca(a, view=CELLS, **given)
        np.testing.assert_allclose(a.uns["pca"]["variance"], reference().uns["pca"]["variance"])
    for wrong, match in (("none", "no column"), ("number", "must be bool"), (mask[:5], "must be bool"), (mask & False, "no gene")):
        for data in (a, tmp_path / "a.h5ad"):
            with pytest.raises(ValueError, match=match):
                gdsvd.pp.pca(data, mask_var=wrong)


def test_wrong_parameters(tmp_path):
    a = annotated()
    a.write_h5ad(tmp_path / "a.h5ad")
    before = (tmp_path / "a.h5ad").read_bytes()
    (tmp_path / "there").write_text("")
    wrong = [
        ({"n_comps": 0}, ValueError, "n_comps"),
        ({"n_comps": np.nan}, ValueError, "n_comps"),
        ({"n_comps": 508 if REAL.exists() else 301}, ValueError, "n_comps"),
        ({"view": "no-such-step"}, gdsvd.UsageError, "no-such-step"),
        ({"dtype": int}, ValueError, "floating"),
        ({"layer": "none"}, ValueError, "has no layers/none"),
        ({"use_highly_variable": True, "mask_var": None}, ValueError, "one of them"),
        ({"output": tmp_path / "there"}, (ValueError, FileExistsError), "output"),
    ]
    for options, kind, match in wrong:
        for data in (a, tmp_path / "a.h5ad"):
            with pytest.raises(kind, match=match):
                gdsvd.pp.pca(data, **options)
    (tmp_path / "log").write_text("log1p")
    with pytest.raises(ValueError, match="does not centre"):
        gdsvd.pp.pca(a, view=f"@{tmp_path}/log")
    with pytest.raises(gdsvd.NotConverged, match="[^;]*$") as err:
        gdsvd.pp.pca(tmp_path / "a.h5ad", view=CELLS, tol=1e-17)
    assert "result" not in str(err.value) and err.value.factorization is None
    assert (tmp_path / "a.h5ad").read_bytes() == before and not a.obsm and not a.uns
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.h5ad", "log", "there"]


def test_rows_may_be_centred_where_columns_are_not():
    x = sp.random(30, 12, 0.5, "csr", random_state=1)
    scores, components, ratio, variance = gdsvd.pp.pca(x, 4, zero_center=False, view="center=rows", dtype="float64", return_info=True)
    b = x.toarray() - x.toarray().mean(axis=1)[:, None]
    np.testing.assert_allclose(scores, b @ components.T, atol=1e-9)
    np.testing.assert_allclose(np.sqrt((scores**2).sum(axis=0)), np.linalg.svd(b, compute_uv=False)[:4])
    np.testing.assert_allclose(variance, scores.var(axis=0))
    np.testing.assert_allclose(ratio, variance / b.var(axis=0).sum())


@pytest.mark.parametrize("data", [np.ones(4), {"X": 1}, None])
def test_what_is_no_anndata(data):
    with pytest.raises(TypeError, match="must be an AnnData, the path of one, or a matrix"):
        gdsvd.pp.pca(data, 2)


def test_an_anndata_without_x(tmp_path):
    a = anndata.AnnData(shape=(9, 5), layers={"counts": np.eye(9, 5)})
    for call in (lambda **layer: gdsvd.pp.pca(a, 2, **layer), lambda **layer: gdsvd.Store.from_anndata(a, tmp_path / "a.csr", **layer)):
        with pytest.raises(ValueError, match="^data has no X: name a layer$"):
            call()
        with pytest.raises(ValueError, match="^data has no layers/none: it has layers/counts$"):
            call(layer="none")
    gdsvd.pp.pca(a, 2, layer="counts")
    assert a.obsm["X_pca"].shape == (9, 2)


def test_a_number_of_rows_that_dask_does_not_know():
    x = pytest.importorskip("dask.array").from_array(np.eye(9, 5), chunks=(3, 5))
    x = x[x.sum(axis=1) > 0]
    with pytest.raises(ValueError, match=r"shape \(nan, 5\), in which Dask does not know a number: call data.compute_chunk_sizes\(\) before"):
        gdsvd.pp.pca(x, 2)
    assert gdsvd.pp.pca(x.compute_chunk_sizes(), 2).shape == (5, 2)


def test_what_is_no_hdf5(tmp_path):
    (tmp_path / "a.h5ad").write_text("text")
    with pytest.raises(OSError, match="a.h5ad cannot be read as HDF5"):
        gdsvd.pp.pca(tmp_path / "a.h5ad", 2)
    with pytest.raises(FileNotFoundError, match="none.h5ad"):
        gdsvd.pp.pca(tmp_path / "none.h5ad", 2)
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5ad"]


def test_random_state_none():
    one, two = annotated(), annotated()
    gdsvd.pp.pca(one, 3, CELLS, random_state=None)
    gdsvd.pp.pca(two, 3, CELLS)
    np.testing.assert_array_equal(one.obsm["X_pca"], two.obsm["X_pca"])


def test_what_is_written_replaces_what_was_there(tmp_path):
    """The file keeps its mode, a link stays a link, and earlier results and other elements of the same names are replaced."""
    a = annotated()
    a.obsm["X_pca"], a.varm["PCs"], a.uns["pca"], a.uns["more"] = np.zeros((a.n_obs, 3)), np.zeros((a.n_vars, 3)), {"params": {"old": 1}}, "kept"
    a.write_h5ad(tmp_path / "a.h5ad")
    (tmp_path / "a.h5ad").chmod(0o640)
    (tmp_path / "link.h5ad").symlink_to("a.h5ad")
    gdsvd.pp.pca(str(tmp_path / "link.h5ad"), 4, CELLS, dtype="float64")
    assert (tmp_path / "link.h5ad").is_symlink() and (tmp_path / "a.h5ad").stat().st_mode & 0o777 == 0o640
    b = anndata.read_h5ad(tmp_path / "a.h5ad")
    same(b, reference(4), 1e-10)
    assert b.uns["more"] == "kept" and "old" not in b.uns["pca"]["params"]


def test_a_failure_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    """The file is unchanged after any write has failed: one write later in each run, until a run succeeds."""
    a = annotated()
    a.write_h5ad(tmp_path / "a.h5ad")
    before = (tmp_path / "a.h5ad").read_bytes()
    array, replace, copy2 = _hdf5.array, os.replace, shutil.copy2
    failures = 0
    for fails in range(20):
        left = iter(range(fails))

        def failing(call):
            def called(*args):
                if next(left, None) is None:
                    raise OSError("no space left")
                return call(*args)

            return called

        monkeypatch.setattr(_hdf5, "array", failing(array))
        monkeypatch.setattr(_hdf5.os, "replace", failing(replace))
        monkeypatch.setattr(_hdf5.shutil, "copy2", failing(copy2))
        try:
            gdsvd.pp.pca(tmp_path / "a.h5ad", 3, CELLS)
        except OSError as err:
            assert str(err) == "no space left"
            failures += 1
        else:
            break
        assert (tmp_path / "a.h5ad").read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["a.h5ad"]
    assert failures == 7  # of the copy, five arrays and the final rename
    assert "X_pca" in anndata.read_h5ad(tmp_path / "a.h5ad").obsm


def test_a_file_that_changes_meanwhile(tmp_path, monkeypatch):
    annotated().write_h5ad(tmp_path / "a.h5ad")
    copy2 = shutil.copy2

    def changed(path, copy):
        copy2(path, copy)
        with open(path, "ab") as f:
            f.write(b"x")

    monkeypatch.setattr(_hdf5.shutil, "copy2", changed)
    with pytest.raises(OSError, match="has been changed"):
        gdsvd.pp.pca(tmp_path / "a.h5ad", 3, CELLS)


def test_older_files(tmp_path):
    annotated().write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "r+") as h:
        for side in ("obsm", "varm"):
            del h[side]
    gdsvd.pp.pca(tmp_path / "a.h5ad", 4, CELLS, dtype="float64")
    same(anndata.read_h5ad(tmp_path / "a.h5ad"), reference(4), 1e-10)
    with h5py.File(tmp_path / "a.h5ad", "r+") as h:
        del h["obsm"]
        h["obsm"] = np.zeros(counts().shape[0], [("X_pca", "f4", 3)])
    with pytest.raises(ValueError, match="obsm is a table"):
        gdsvd.pp.pca(tmp_path / "a.h5ad", 4, CELLS)


KILLED = """
import sys, os, signal, gdsvd
from gdsvd import _hdf5
put = _hdf5.put
def last(parent, name, value):
    put(parent, name, value)
    parent.file.flush()
    if name == "pca": os.kill(os.getpid(), signal.SIGKILL)
_hdf5.put = last
gdsvd.pp.pca(sys.argv[1], 3, "single-cell")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_kill_leaves_the_file_as_it_was(tmp_path):
    annotated().write_h5ad(tmp_path / "a.h5ad")
    before = (tmp_path / "a.h5ad").read_bytes()
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.h5ad"]).returncode == -signal.SIGKILL
    assert (tmp_path / "a.h5ad").read_bytes() == before
