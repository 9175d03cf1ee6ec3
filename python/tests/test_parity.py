"""The package has the functions of the command, with pandas tables and NumPy arrays as results, which are compared with those of NumPy."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import gdsvd

pd = pytest.importorskip("pandas")
R = np.random.default_rng(1)


@pytest.fixture
def table():
    """Ratings of 30 users for 12 items: a full matrix of rank 2 with one dominant singular value, and a table of 60 % of its entries."""
    full = 1 + 4 * np.outer(R.random(30), R.random(12))
    at = np.argwhere(R.random((30, 12)) < 0.6)
    return full, pd.DataFrame({"user": [f"u{i:02}" for i, _ in at], "item": at[:, 1], "rating": full[tuple(at.T)]})


@pytest.fixture
def store(table, tmp_path):
    return gdsvd.Store.from_table(table[1], tmp_path / "r.csr", row="user", col="item", value="rating")


def dense(table):
    return table[1].pivot(index="user", columns="item", values="rating").fillna(0)


def test_topics(store, table, tmp_path):
    f = store.svd(2, tmp_path / "f")
    t = f.topics(3)
    assert list(t.columns) == ["component", "sigma", "axis", "sign", "id", "score"]
    first = t[(t.component == 1) & (t.axis == "columns")]
    v = f.V[:, 0]
    assert first.id.tolist() == f.cols[np.argsort(-np.abs(v))[:3]].tolist() and (first.sign == np.sign(v.sum())).all()
    right = store.svd(2, tmp_path / "r", vectors="right").topics(3)
    assert right.values.tolist() == t[t.axis == "columns"].values.tolist()


def test_query(tmp_path):
    words = pd.DataFrame([(f"d{i}", w) for i, text in enumerate(["cat dog", "cat mouse dog", "bond stock", "stock share"]) for w in text.split()], columns=["d", "w"])
    f = gdsvd.Store.from_table(words, tmp_path / "w.csr", row="d", col="w").svd(2, tmp_path / "w.svd")
    assert set(f.query("cat dog", n=2).id) == set(f.query(["cat", "dog"], n=2).id) == {"d0", "d1"}
    assert f.query("stock", n=1).score[0] == pytest.approx(1)
    assert f.query("cat dog " * 20_000).values.tolist() == f.query("cat dog").values.tolist()  # longer than an argument of a program


def test_long_ids(tmp_path):
    long = ["x" * 200_000, "y" * 200_000]
    store = gdsvd.Store.from_scipy(sp.csr_matrix([[3.0, 1, 0], [1, 0, 2], [0, 1, 1]]), tmp_path / "l.csr", cols_ids=[*long, "z"])
    found = store.svd(2, tmp_path / "l.svd").recommend(store, n=3, exclude_seen=False)
    assert all({best["id"] for best in row} == {*long, "z"} for row in found.values())
    assert store.stats("cols").index.tolist() == [*long, "z"]


def test_export(store, tmp_path):
    f = store.svd(2, tmp_path / "f")
    t = pd.read_csv(f.export(tmp_path / "u.csv", "US"), index_col="id", float_precision="round_trip")
    np.testing.assert_array_equal(t.to_numpy(), f.U * f.s)
    with pytest.raises(FileExistsError):
        f.export(tmp_path / "u.csv")
    np.testing.assert_array_equal(np.load(f.export(tmp_path / "v.npy", "V")), f.V)
    t, whole = pd.read_csv(store.export(tmp_path / "m.csv", view="multiply=2")), store.view(n=1000, entries=1000)
    assert list(t.columns) == ["row", "column", "value"] and len(t) == len(whole) == store.info["nnz"] and t.value.sum() == 2 * whole.value.sum()


def test_align(store, tmp_path):
    f = store.svd(2, tmp_path / "f")
    x, r, angles, info = f.align(f, "U")
    np.testing.assert_allclose(r, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(x, f.U, atol=1e-12)
    assert angles.max() < 1e-6 and info["common"] == 30
    other = gdsvd.Store.from_scipy(sp.csr_matrix(R.random((30, 12))), tmp_path / "o.csr", rows_ids=f.rows).svd(2, tmp_path / "o")
    turned = other.align(f, "U")
    np.testing.assert_allclose(np.sort(turned.angles), np.sort(scipy.linalg.subspace_angles(other.U, f.U)), atol=1e-9)
    np.testing.assert_allclose(turned.R, scipy.linalg.orthogonal_procrustes(other.U, f.U)[0], atol=1e-9)
    np.testing.assert_allclose(turned.X, other.U @ turned.R, atol=1e-12)
    flat = gdsvd.Store.from_scipy(sp.csr_matrix(np.ones((6, 4))), tmp_path / "flat.csr").svd(2, tmp_path / "flat")
    assert flat.align(flat, "VS").angles.shape == (0,)  # a value of 0: a space of one dimension has no two angles
    np.testing.assert_array_equal(f.align(f.path, "U", tmp_path / "x").X, np.load(tmp_path / "x" / "X.npy"))


def test_stats(store, table):
    a = dense(table)
    for axis, of in (("rows", a.T), ("cols", a)):
        t = store.stats(axis)
        assert t.index.tolist() == of.columns.tolist() and t.index.name == "id"
        np.testing.assert_array_equal(t["count"], (of != 0).sum())
        np.testing.assert_allclose(t["sum"], of.sum())
        np.testing.assert_allclose(t["mean"], of.mean())
        np.testing.assert_allclose(t["variance"], of.var(ddof=0))
    assert store.stats("cols", view="binary")["sum"].tolist() == (a != 0).sum().tolist()
    with pytest.raises(ValueError, match="axis = 'x'"):
        store.stats("x")
    bare = gdsvd.Store.from_scipy(sp.eye(3, format="csr"), store.path.parent / "bare.csr")
    assert bare.stats().index.tolist() == [0, 1, 2]


def test_view(store, table):
    a = dense(table)
    t = store.view("log1p", n=2, entries=50)
    want = np.log1p(a.iloc[:2].stack())
    want = want[want != 0]
    assert list(zip(t.row, t.col)) == want.index.tolist()
    np.testing.assert_allclose(t.value, want)
    assert set(store.view(row="u07").row) == {"u07"}


def test_evaluate(table, tmp_path):
    path = tmp_path / "r.csv"
    table[1].to_csv(path, index=False)
    train = gdsvd.Store.from_csv(path, tmp_path / "t.csr", holdout="random:0.2")
    t = train.evaluate(views="none", k=[1, 2], metrics=["rmse", "recall@3"])
    assert list(t.columns) == ["model", "view", "k", "baseline", "metric", "value", "low", "high"]
    assert set(t.metric) == {"rmse", "recall@3"} and set(t.k[~t.baseline]) == {1, 2} and (t.dropna().low <= t.dropna().high).all()
    assert t.equals(train.evaluate(gdsvd.Store(str(train.path) + ".test"), views=["none"], k=(1, 2), metrics="rmse,recall@3"))
    f = train.svd(2, tmp_path / "f")
    judged = train.evaluate(results=[f], metrics=["rmse", "recall@3"])
    assert f"{f.path}, k = 2" in set(judged.model) and "recsys, k = 2" not in set(judged.model)
    assert judged[~judged.baseline].value.tolist() == t[t.k == 2].value.tolist()
    again = train.svd(2, tmp_path / 'again, and "commas"')
    both = train.evaluate(results=[f, again], metrics=["rmse", "recall@3"])
    assert both[~both.baseline].value.tolist() == 2 * t[t.k == 2].value.tolist()
    with pytest.raises(FileNotFoundError):
        train.evaluate(tmp_path / "none", k=1)


def test_complete(store, table, tmp_path):
    full = table[0]
    f = store.complete(2, tmp_path / "c", lambda_=0.05, biases=True)
    found = f.predict([f"u{i:02}" for i in range(30) for _ in range(12)], list(range(12)) * 30).reshape(30, 12)
    about = f.info["completion"]
    b, c = (np.load(f.path / f"{side}-biases.npy") for side in ("row", "col"))
    np.testing.assert_allclose(found, about["mean"] + b[:, None] + c + (f.U * f.s) @ f.V.T)
    assert np.sqrt(np.mean((found - full) ** 2)) < 0.2 * full.std()  # over all entries, including the 40 % that are missing
    with pytest.raises(ValueError, match="'zz' is no id of the rows"):
        f.predict(["zz"], [0])
    with pytest.raises(ValueError, match="is no completion"):
        store.svd(1, tmp_path / "f").predict(["u00"], [0])


def test_eigs(tmp_path):
    m = R.standard_normal((20, 20))
    m += m.T
    f = gdsvd.Store.from_scipy(m, tmp_path / "m.csr").eigs(3, tmp_path / "m.eig", which="LA")
    w, v = np.linalg.eigh(m)
    np.testing.assert_allclose(f.s, w[::-1][:3])
    np.testing.assert_allclose(np.abs(np.sum(f.V * v[:, ::-1][:, :3], axis=0)), 1, atol=1e-7)
