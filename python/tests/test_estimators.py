"""TruncatedSVD and PCA compared with those of scikit-learn."""

import pickle
import subprocess
import sys

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _svds
from gdsvd._input import ingest

sklearn = pytest.importorskip("sklearn")
import sklearn.decomposition
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks


def made(rows=90, cols=40, seed=1):
    a = sp.random(rows, cols, 0.3, "csr", random_state=seed)
    a.data = np.rint(a.data * 20 + 1)
    return a


@parametrize_with_checks([gdsvd.TruncatedSVD(), gdsvd.PCA(), gdsvd.PCA(whiten=True), gdsvd.TruncatedSVD(view="multiply=2"), gdsvd.PCA(view=["multiply=2", "pca"])])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def same(ours, theirs, x, names):
    for name in names:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-8, err_msg=name)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.components_, theirs.components_ * signs[:, None], atol=1e-7)
    np.testing.assert_allclose(ours.transform(x), theirs.transform(x) * signs, atol=1e-6)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(x)), theirs.inverse_transform(theirs.transform(x)), atol=1e-6)


NAMES = ["explained_variance_", "explained_variance_ratio_", "singular_values_"]


@pytest.mark.parametrize("dense", [False, True])
def test_truncated_svd(dense):
    x = made().toarray() if dense else made()
    theirs = sklearn.decomposition.TruncatedSVD(5, algorithm="arpack").fit(x)
    ours = gdsvd.TruncatedSVD(5)
    scores = ours.fit_transform(x)
    same(ours, theirs, x, NAMES)
    np.testing.assert_allclose(scores, ours.transform(x), atol=1e-7)
    assert (ours.n_features_in_, ours.n_samples_) == (40, 90)
    x = (x.toarray() if not dense else x) + 1e6 * (np.arange(40) % 3)  # means far above the deviations
    for dtype in (float, "f4"):
        fitted = gdsvd.TruncatedSVD(5).fit(x.astype(dtype) if dense else sp.csr_matrix(x.astype(dtype)))
        np.testing.assert_allclose(fitted.explained_variance_ratio_, fitted.explained_variance_ / x.astype(dtype).astype(float).var(axis=0).sum(), rtol=1e-9)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n", [5, None, 0.6])
def test_pca(whiten, n):
    x = made()
    theirs = sklearn.decomposition.PCA(n, whiten=whiten, svd_solver="full").fit(x.toarray())
    ours = gdsvd.PCA(n, whiten=whiten)
    scores = ours.fit_transform(x)
    same(ours, theirs, x.toarray(), [*NAMES, "mean_", "n_components_", "noise_variance_"])
    np.testing.assert_allclose(scores, ours.transform(x), atol=1e-7)
    np.testing.assert_allclose(ours.transform(x.toarray()), ours.transform(x), atol=1e-12)


def test_what_is_not_in_memory(tmp_path):
    x = made()
    ingest(x, tmp_path / "store")
    want = gdsvd.PCA(4).fit(x)
    blocks = lambda: (x[i : i + 13] for i in range(0, 90, 13))
    for given in (tmp_path / "store", str(tmp_path / "store"), blocks()):
        got = gdsvd.PCA(4).fit(given)
        np.testing.assert_allclose(got.components_, want.components_, atol=1e-12)
        np.testing.assert_allclose(got.mean_, want.mean_)
        assert got.n_features_in_ == 40
    np.testing.assert_allclose(want.transform(blocks()), want.transform(x))
    with pytest.raises(TypeError, match="fit_transform"):
        want.transform(tmp_path / "store")
    with pytest.raises(ValueError, match="n_components"):
        gdsvd.PCA().fit(tmp_path / "store")
    assert not hasattr(gdsvd.TruncatedSVD(2).fit(blocks()), "explained_variance_ratio_")


@pytest.mark.parametrize("given", ["matrix", "store", "path", "blocks"])
def test_a_share_is_reached_wherever_the_matrix_is(tmp_path, monkeypatch, given):
    """Memory is planned for a few components at first; the run is repeated for more if the share is not reached."""
    monkeypatch.setattr(_svds, "MOST", 4)
    x = made()
    want = sklearn.decomposition.PCA(0.8, svd_solver="full").fit(x.toarray())
    assert 16 < want.n_components_ < 40
    store = gdsvd.Store.from_scipy(x, tmp_path / "a.csr")
    for share, n in ((0.8, want.n_components_), (1 - 1e-15, 40), (0.03, 1)):
        data = {"matrix": x, "store": store, "path": tmp_path / "a.csr", "blocks": iter([x[:50], x[50:]])}[given]
        assert gdsvd.PCA(share).fit(data).n_components_ == n


def test_a_share_of_a_wide_matrix():
    """Memory is not planned for all components that the matrix could have."""
    r = np.random.default_rng(1)
    x = sp.csr_matrix((np.ones(40_000), (r.integers(0, 20_000, 40_000), r.integers(0, 10_000, 40_000))), shape=(20_000, 10_000))
    x = sp.hstack([x, sp.csr_matrix(100.0 * (np.arange(20_000)[:, None] % 2))]).tocsr()
    assert gdsvd.PCA(0.3, memory="300MiB").fit(x).n_components_ == 1
    with pytest.raises(ValueError, match="n_components = 1.0: it may be one component, .* or all of the variance"):
        gdsvd.PCA(1.0).fit(x)


def test_pipeline_names_pickle_clone():
    x = made()
    t = make_pipeline(TfidfTransformer(), gdsvd.TruncatedSVD(3))
    scores = t.fit_transform(x)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(t)).transform(x), t.transform(x))
    assert scores.shape == (90, 3)
    assert t.get_feature_names_out().tolist() == ["truncatedsvd0", "truncatedsvd1", "truncatedsvd2"]
    want = {"n_components": 3, "view": "lsi", "whiten": True, "tol": 1e-8, "memory": "auto", "random_state": None, "progress": None}
    said = clone(gdsvd.PCA(3, view="lsi", whiten=True)).get_params()
    assert {name: said[name] for name in want} == want
    pd = pytest.importorskip("pandas")
    frame = gdsvd.PCA(2).set_output(transform="pandas").fit_transform(pd.DataFrame(x.toarray()))
    assert frame.columns.tolist() == ["pca0", "pca1"]


def test_a_column_named_path():
    """A table with a column named path is not taken for a store."""
    pd = pytest.importorskip("pandas")
    x = made(rows=9, cols=3).toarray()
    table = pd.DataFrame(x, columns=["a", "path", "b"])
    want = gdsvd.PCA(2).fit(x)
    for got in (gdsvd.PCA(2).fit(table), gdsvd.PCA(2, view="multiply=1").fit(table)):
        np.testing.assert_allclose(got.transform(table), want.transform(x), atol=1e-9)
    with pytest.raises(ValueError, match="columns a, path, b"):
        gdsvd.svds(table, 2)
    assert gdsvd.TruncatedSVD(2).fit(table).feature_names_in_.tolist() == ["a", "path", "b"]


LOG = FunctionTransformer(np.log1p, accept_sparse=True)
DENSE = FunctionTransformer(lambda x: x.toarray() if sp.issparse(x) else np.asarray(x), accept_sparse=True)
theirs_svd = sklearn.decomposition.TruncatedSVD(4, algorithm="arpack")
VIEWS = [
    (gdsvd.TruncatedSVD(4, view="lsi"), [TfidfTransformer(), theirs_svd]),
    (gdsvd.TruncatedSVD(4, view=["log1p", "normalize=rows"]), [LOG, Normalizer(), theirs_svd]),
    (gdsvd.PCA(4, view="log1p"), [LOG, DENSE, sklearn.decomposition.PCA(4)]),
    (gdsvd.PCA(4, view="log1p | center=columns", whiten=True), [LOG, DENSE, sklearn.decomposition.PCA(4, whiten=True)]),
    (gdsvd.PCA(0.6, view="pca-scaled"), [DENSE, StandardScaler(), sklearn.decomposition.PCA(0.6)]),
    (gdsvd.TruncatedSVD(4, view="pca"), [DENSE, sklearn.decomposition.PCA(4)]),
]


@pytest.mark.parametrize("view", [None, "multiply=2"])
@pytest.mark.parametrize("form", ["csr", "array"])
def test_blocks_without_rows(view, form):
    """fit and transform skip blocks that have no rows, such as those of a Dask array whose rows were selected; other shapes are refused."""
    x = made()
    blocks = [b.toarray() if form == "array" else b for b in (x[:0], x[:50], x[50:50], x[50:])]
    fitted = gdsvd.PCA(3, view=view).fit(iter(blocks))
    np.testing.assert_allclose(fitted.transform(iter(blocks)), fitted.transform(x), atol=1e-12)
    assert fitted.transform(iter(blocks[:1])).shape == (0, 3)
    with pytest.raises(ValueError):
        fitted.transform(iter([blocks[1], blocks[0][:, :5]]))


@pytest.mark.parametrize("ours, steps", VIEWS)
@pytest.mark.parametrize("given", ["sparse", "dense", "store", "blocks"])
def test_views(tmp_path, ours, steps, given):
    """fit and transform apply the steps of the view with the statistics that fit measured, as a pipeline of scikit-learn does."""
    x, new = made(), made(7, seed=9)
    theirs = make_pipeline(*steps)
    want = theirs.fit_transform(x)
    if given == "store":
        gdsvd.Store.from_scipy(x, tmp_path / "a.csr", cols_ids=[f"c{j:02}" for j in range(40)])
    fitted = clone(ours)
    scores = fitted.fit_transform({"sparse": x, "dense": x.toarray(), "store": tmp_path / "a.csr", "blocks": iter([x[:50], x[50:]])}[given])
    svd = theirs[-1]
    signs = np.sign(np.sum(fitted.components_ * svd.components_, axis=1))
    np.testing.assert_allclose(scores, want * signs, atol=1e-6)
    np.testing.assert_allclose(fitted.components_, svd.components_ * signs[:, None], atol=1e-7)
    for again in (fitted, pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_allclose(again.transform(new), theirs.transform(new) * signs, atol=1e-6)
        np.testing.assert_allclose(again.transform(new.toarray()), theirs.transform(new) * signs, atol=1e-6)
    np.testing.assert_allclose(fitted.explained_variance_, svd.explained_variance_ if isinstance(ours, gdsvd.PCA) else np.var(want, axis=0))
    if isinstance(ours, gdsvd.PCA):
        np.testing.assert_allclose(fitted.explained_variance_ratio_, svd.explained_variance_ratio_)
        np.testing.assert_allclose(fitted.inverse_transform(scores), svd.inverse_transform(want), atol=1e-6)
    else:
        assert hasattr(fitted, "explained_variance_ratio_") == (ours.view == "pca")
    with pytest.raises(ValueError, match="features"):
        fitted.transform(new[:, :5])


@pytest.mark.parametrize("after", ["multiply=2", "center=rows", "scale=columns", "center=rows | multiply=-3"])
def test_the_mean_is_added_to_rows_that_it_was_taken_off_last(after):
    x = made(30, 12)
    steps = {
        "multiply=2": lambda b: 2 * b,
        "multiply=-3": lambda b: -3 * b,
        "center=rows": lambda b: b - b.mean(axis=1)[:, None],
        "scale=columns": lambda b: b / b.std(axis=0),
    }
    made_of = x.toarray() - x.toarray().mean(axis=0)
    for step in after.split(" | "):
        made_of = steps[step](made_of)
    p = gdsvd.PCA(12, view=f"center=columns | {after}")
    np.testing.assert_allclose(p.inverse_transform(p.fit_transform(x)), made_of, atol=1e-6)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20)])
@pytest.mark.parametrize(
    "view, columns",
    [("center=rows", False), ("center=rows | scale=columns", False), ("center=both | keep=rows,{}", False), ("center=both", True), ("pca-scaled", True)],
)
def test_variances_are_those_of_columns(tmp_path, shape, view, columns):
    """The explained variances of a view that centres only rows are those of rows, and not used as shares of the variance of features."""
    (tmp_path / "some").write_text("1\n2\n5\n7\n")
    view = view.format(tmp_path / "some")
    fitted = gdsvd.TruncatedSVD(3, view=view).fit(made(*shape))
    assert hasattr(fitted, "explained_variance_ratio_") == columns
    if columns:
        np.testing.assert_allclose(fitted.explained_variance_ratio_, fitted.explained_variance_ * shape[0] / fitted.info_["view"]["norm"] ** 2)
    (tmp_path / "view").write_text(view)
    if columns:
        assert gdsvd.PCA(3, view=f"@{tmp_path}/view").fit(made(*shape)).mean_.shape == (shape[1],)
    else:
        with pytest.raises(ValueError, match="does not centre columns"):
            gdsvd.PCA(3, view=f"@{tmp_path}/view").fit(made(*shape))


def test_genotypes():
    """The step patterson subtracts the means itself, so no second centring is appended."""
    r = np.random.default_rng(3)
    x = r.binomial(2, 0.1 + 0.8 * r.random(30), (50, 30)).astype(float)
    p = x.mean(axis=0) / 2
    made_of = (x - 2 * p) / np.sqrt(2 * p * (1 - p))
    for view in ("patterson", ["patterson"]):
        ours = gdsvd.PCA(3, view=view)
        scores = ours.fit_transform(sp.csr_matrix(x))
        theirs = sklearn.decomposition.PCA(3).fit(made_of)
        signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
        np.testing.assert_allclose(scores, theirs.transform(made_of) * signs, atol=1e-6)
        np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
        np.testing.assert_allclose(ours.mean_, x.mean(axis=0))
        np.testing.assert_allclose(ours.inverse_transform(scores), theirs.inverse_transform(scores * signs), atol=1e-6)


@pytest.mark.parametrize("view", ["log1p\ncenter = columns\n", "log1p # of counts", "log1p\n", "log1p # before center\n# pca", ["log1p # counts", "center=columns"]])
def test_lines_and_comments_of_views(view):
    """Columns are centred once, wherever a view has blanks, line breaks and comments."""
    assert gdsvd.PCA(2, view=view).fit(made()).info_["view"]["pipeline"] == "log1p · center=columns"


def test_views_that_are_wrong(tmp_path):
    with pytest.raises(gdsvd.UsageError, match="no-such-step"):
        gdsvd.TruncatedSVD(2, view="no-such-step").fit(made())
    (tmp_path / "log").write_text("log1p")
    with pytest.raises(ValueError, match="does not centre"):
        gdsvd.PCA(2, view=f"@{tmp_path}/log").fit(made())


@pytest.mark.parametrize("k", [0, -1, 41, 1.5, "mle", True, np.nan, np.inf, [3]])
def test_wrong_number_of_components(k):
    for estimator in (gdsvd.TruncatedSVD, gdsvd.PCA):
        with pytest.raises(ValueError, match="n_components"):
            estimator(k).fit(made())


@pytest.mark.parametrize("ours", [gdsvd.PCA, gdsvd.TruncatedSVD])
def test_inverse_of_what(ours):
    X = made().toarray()
    m = ours(3).fit(X)
    scores = m.transform(X)
    want = m.inverse_transform(scores)
    np.testing.assert_allclose(m.inverse_transform(sp.csr_matrix(scores)), want, rtol=1e-12)
    np.testing.assert_allclose(m.inverse_transform(scores[0]), want[0], rtol=1e-12)
    for wrong in (scores[:, :2], X, 1.0):
        with pytest.raises(ValueError, match="has 3 components"):
            m.inverse_transform(wrong)


def test_variances_are_float():
    m = gdsvd.PCA(1).fit(sp.csr_matrix([[1.0, 2]]))
    assert m.explained_variance_.dtype == m.explained_variance_ratio_.dtype == np.float64


def test_what_has_not_converged_is_a_warning():
    with pytest.warns(gdsvd.ConvergenceWarning, match="stagnated"):
        t = gdsvd.TruncatedSVD(3, tol=1e-17).fit(made())
    np.testing.assert_allclose(t.singular_values_, gdsvd.TruncatedSVD(3).fit(made()).singular_values_)


def test_random_state():
    one, two, three = (gdsvd.TruncatedSVD(3, tol=1e-2, random_state=s).fit(made()).components_ for s in (None, 0, np.random.RandomState(5)))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, three)


WITHOUT = """
import sys
class No:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("sklearn", "pandas", "h5py", "tqdm"): raise ImportError(name)
sys.meta_path.insert(0, No())
import warnings

import numpy as np, scipy.sparse as sp, gdsvd
x = sp.csr_matrix(np.random.default_rng(1).random((9, 6)))
p = gdsvd.PCA(6).fit(x)
np.testing.assert_allclose(p.inverse_transform(p.transform(x)), x.toarray())
for form in ("lil", "dok", "dia", "coo", "bsr"):
    np.testing.assert_allclose(gdsvd.PCA(6).fit(x.asformat(form)).transform(x.asformat(form)), p.transform(x), atol=1e-12)
for bad in (lambda: p.transform(x[:, :2]), lambda: gdsvd.PCA(2).transform(x), lambda: gdsvd.PCA(2).fit(np.full((3, 3), np.nan))):
    try: bad()
    except ValueError: pass
    else: raise AssertionError(bad)
assert "sklearn" not in sys.modules
"""


def test_without_scikit_learn():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)


def test_import_is_light():
    subprocess.run([sys.executable, "-c", "import sys, gdsvd; assert not {'numpy', 'sklearn', 'pandas', 'h5py', 'tqdm'} & set(sys.modules)"], check=True)


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: gdsvd.TruncatedSVD(2, algorithm="arpack", n_iter=7), "algorithm='arpack', n_iter=7"),
        (lambda: gdsvd.PCA(2, svd_solver="full", iterated_power=3, copy=False), "svd_solver='full', iterated_power=3"),
    ],
)
def test_parameters_that_choose_nothing(make, named):
    """One warning names all of them; defaults get none, and results are the same."""
    a = sp.random(30, 20, 0.5, "csr", random_state=1)
    with pytest.warns(UserWarning) as seen:
        found = make().fit(a)
    assert [str(w.message) for w in seen] == [f"{named}: there is one solver, which goes on until tol is met; ignored"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(type(found)(2).fit(a).components_, found.components_)
