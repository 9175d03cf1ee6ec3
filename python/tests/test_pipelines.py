"""Estimators, stores and results used inside objects of other packages."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

ESTIMATORS = [gdsvd.TruncatedSVD(3), gdsvd.PCA(3), gdsvd.PCA(3, whiten=True)]


def made():
    a = sp.random(80, 30, 0.3, "csr", random_state=1)
    return a, np.asarray(a[:, :5].sum(axis=1)).ravel() > 0.8


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_clone_and_pickle(estimator):
    x, _ = made()
    again = clone(estimator)
    assert again.get_params() == estimator.get_params() and not hasattr(again, "components_")
    again.set_params(n_components=2).fit(x)
    unpickled = pickle.loads(pickle.dumps(again))
    np.testing.assert_array_equal(unpickled.transform(x), again.transform(x))
    np.testing.assert_array_equal(unpickled.components_, again.components_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("container", ["pandas", "polars", "default"])
def test_set_output(estimator, container):
    x, _ = made()
    t = clone(estimator).set_output(transform=container)
    want = clone(estimator).fit_transform(x)
    if container == "default":
        assert type(t.fit_transform(x)) is np.ndarray
        return
    frames = pytest.importorskip(container)
    given = frames.DataFrame(x.toarray(), **{"columns" if container == "pandas" else "schema": [f"g{i}" for i in range(30)]})
    frame = t.fit_transform(given)
    assert isinstance(frame, frames.DataFrame)
    name = type(estimator).__name__.lower()
    assert list(frame.columns) == list(t.get_feature_names_out()) == [f"{name}{i}" for i in range(3)]
    np.testing.assert_allclose(frame.to_numpy(), want, atol=1e-9)
    assert t.feature_names_in_.tolist() == [f"g{i}" for i in range(30)]
    with pytest.raises(ValueError, match="feature names should match"):
        t.transform(given.rename(columns={"g0": "other"}) if container == "pandas" else given.rename({"g0": "other"}))


def test_pipeline_and_search():
    x, y = made()
    p = make_pipeline(StandardScaler(with_mean=False), gdsvd.TruncatedSVD(), LogisticRegression())
    search = GridSearchCV(p, {"truncatedsvd__n_components": [2, 8]}, cv=3, n_jobs=2).fit(x, y)
    assert search.best_params_["truncatedsvd__n_components"] in (2, 8) and np.isfinite(search.best_score_)
    assert p.set_params(truncatedsvd__n_components=4).fit(x, y)[:-1].get_feature_names_out().tolist() == [f"truncatedsvd{i}" for i in range(4)]


def test_union_and_columns():
    x, _ = made()
    u = make_union(gdsvd.TruncatedSVD(2), gdsvd.PCA(3))
    assert u.fit_transform(x).shape == (80, 5)
    assert u.get_feature_names_out().tolist() == ["truncatedsvd__truncatedsvd0", "truncatedsvd__truncatedsvd1", "pca__pca0", "pca__pca1", "pca__pca2"]
    c = ColumnTransformer([("few", gdsvd.PCA(2), slice(0, 10)), ("rest", "passthrough", slice(10, 12))])
    got = c.fit_transform(x.toarray())
    np.testing.assert_allclose(got[:, :2], gdsvd.PCA(2).fit_transform(x[:, :10]), atol=1e-12)
    np.testing.assert_array_equal(got[:, 2:], x[:, 10:12].toarray())


def test_stores_and_results_pickle_as_their_paths(tmp_path):
    x, _ = made()
    store = gdsvd.Store.from_scipy(x, tmp_path / "x.csr")
    f = store.svd(3, tmp_path / "x.svd")
    same = pickle.loads(pickle.dumps(store))
    assert (same.path, same.shape, same.fingerprint) == (store.path, store.shape, store.fingerprint)
    data = pickle.dumps(f)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert isinstance(again.U, np.memmap)
    np.testing.assert_array_equal(again.U, f.U)
    assert list(again.cols) == list(f.cols)
