"""TileDB-SOMA experiments: reading in blocks, and writing results back."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _soma

anndata = pytest.importorskip("anndata")
tiledbsoma = pytest.importorskip("tiledbsoma")
import tiledbsoma.io

X = sp.random(90, 40, 0.3, "csr", random_state=1, dtype=np.float32)
SOME = np.arange(40) % 3 > 0


@pytest.fixture
def uri(tmp_path):
    data = anndata.AnnData(X.copy())
    data.obs_names, data.var_names = [f"cell{i}" for i in range(90)], [f"gene{j}" for j in range(40)]
    data.obs["kind"], data.var["some"] = ["ab"[i % 2] for i in range(90)], SOME
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tiledbsoma.io.from_anndata(str(tmp_path / "e"), data, measurement_name="RNA")
    return str(tmp_path / "e")


def test_read(uri, tmp_path, monkeypatch):
    monkeypatch.setattr(_soma, "ROWS", 16)
    names = [f"cell{i}" for i in range(90)], [f"gene{j}" for j in range(40)]
    want = gdsvd.Store.from_scipy(X, tmp_path / "w.csr", rows_ids=names[0], cols_ids=names[1])
    assert gdsvd.Store.from_soma(uri, tmp_path / "a.csr").fingerprint == want.fingerprint
    part = gdsvd.Store.from_scipy(X[::2][:, SOME], tmp_path / "p.csr", rows_ids=names[0][::2], cols_ids=np.array(names[1])[SOME])
    found = gdsvd.Store.from_soma(uri, tmp_path / "b.csr", obs_query="kind == 'a'", var_query="some == True")
    assert found.fingerprint == part.fingerprint


def test_write(uri, tmp_path):
    f = gdsvd.Store.from_soma(uri, tmp_path / "a.csr", obs_query="kind == 'b'").svd(3, tmp_path / "a.svd")
    f.to_soma(uri, obsm="scores", varm="loadings")
    with tiledbsoma.Experiment.open(uri) as e:
        ms = e.ms["RNA"]
        scores = ms.obsm["scores"].read().coos().concat().to_scipy().toarray()
        loadings = ms.varm["loadings"].read().coos().concat().to_scipy().toarray()
    np.testing.assert_array_equal(scores[1::2], f.U * f.s)
    assert scores.shape == (90, 3) and not scores[::2].any()
    np.testing.assert_array_equal(loadings, f.V)
    with pytest.raises(FileExistsError, match="obsm/scores"):
        f.to_soma(uri, obsm="scores")
    f.to_soma(uri, obsm="more", varm=None)


def test_wrong(uri, tmp_path):
    with pytest.raises(FileNotFoundError):
        gdsvd.Store.from_soma(str(tmp_path / "none"), tmp_path / "a.csr")
    for how, says in (
        ({"measurement": "ATAC"}, "no measurement 'ATAC': it has RNA"),
        ({"layer": "counts"}, "no X/counts in RNA: it has data"),
        ({"obs_query": "kind == 'c'"}, "leave 0 rows and 40 columns"),
    ):
        with pytest.raises(ValueError, match=says):
            gdsvd.Store.from_soma(uri, tmp_path / "a.csr", **how)
    other = gdsvd.Store.from_scipy(X, tmp_path / "o.csr").svd(2, tmp_path / "o.svd")
    with pytest.raises(ValueError, match="'0' is no obs_id"):
        other.to_soma(uri)
