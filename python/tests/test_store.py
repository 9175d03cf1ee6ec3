"""Stores and factorizations compared with SciPy and NumPy."""

import html.parser
import json
import shutil

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _factorization, _hdf5

CSV = "user,item,rating\nu1,i1,3\nu1,i2,4\nu2,i1,1\nu3,i3,2\nu4,i2,5\nu4,i3,1\n"


def made(rows=70, cols=30, seed=1, density=0.3):
    a = sp.random(rows, cols, density, "csr", random_state=seed)
    a.data = np.rint(a.data * 20 + 1)
    return a


@pytest.fixture
def ratings(tmp_path):
    (tmp_path / "r.csv").write_text(CSV)
    return gdsvd.Store.from_csv(tmp_path / "r.csv", tmp_path / "r.csr")


def test_csv(ratings, tmp_path):
    assert (ratings.shape, ratings.nnz) == ((4, 3), 6)
    assert ratings.head(2) == {"u1": {"i1": 3, "i2": 4}, "u2": {"i1": 1}}
    assert ratings.head(1, view="binary") == {"u1": {"i1": 1, "i2": 1}}
    assert "4 × 3, 6 entries" in repr(ratings)
    again = gdsvd.Store.from_csv([tmp_path / "r.csv"], tmp_path / "x.csr", columns="user,item", value="count", min_per_row=2)
    assert again.nnz == 4 and again.head(1) == {"u1": {"i1": 1, "i2": 1}}
    with pytest.raises(gdsvd.GdsvdError, match="exists"):
        gdsvd.Store.from_csv(tmp_path / "r.csv", ratings.path)
    assert gdsvd.Store.from_csv(tmp_path / "r.csv", ratings.path, force=True).fingerprint == ratings.fingerprint
    with pytest.raises(gdsvd.UsageError, match="no option no_such_flag"):
        gdsvd.Store.from_csv(tmp_path / "r.csv", tmp_path / "y.csr", no_such_flag=1)
    with pytest.raises(gdsvd.GdsvdError, match="none"):
        gdsvd.Store(tmp_path / "none")


def test_another_working_folder(tmp_path, monkeypatch):
    a = sp.random(9, 6, 0.5, "csr", random_state=1)
    monkeypatch.chdir(tmp_path)
    store = gdsvd.Store.from_scipy(a, "a.csr")
    f = store.svd(2, "a.svd")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    assert store.head(1) and f.check(store)["ok"]
    np.testing.assert_allclose(f.project(a), f.U * f.s)
    np.testing.assert_array_equal(gdsvd.svds(store, 2, tol=1e-8)[1], f.s)


def test_damaged_results(tmp_path):
    store = gdsvd.Store.from_scipy(sp.random(9, 6, 0.5, "csr", random_state=1), tmp_path / "a.csr", cols_ids=list("abcdef"))
    out = store.svd(2, tmp_path / "a.svd").path
    for name in ("sigma.npy", "U.npy", "result.json"):
        whole = (out / name).read_bytes()
        for part in (b"", whole[:20], b"{}"):
            (out / name).write_bytes(part)
            with pytest.raises(gdsvd.CorruptError, match="a.svd is damaged: [^\n]*$"):
                gdsvd.Factorization(out)
        (out / name).write_bytes(whole)
    (out / "sigma.npy").unlink()
    with pytest.raises(gdsvd.CorruptError, match="sigma.npy"):
        gdsvd.Factorization(out)
    with pytest.raises(ValueError, match="is no result"):
        gdsvd.Factorization(out / "U.npy")
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        gdsvd.Factorization(tmp_path / "none")


def test_append(ratings, tmp_path):
    (tmp_path / "more.csv").write_text("user,item,rating\nu9,i1,2\n")
    both = gdsvd.Store.from_csv([tmp_path / "r.csv", tmp_path / "more.csv"], tmp_path / "both.csr")
    before = ratings.fingerprint
    assert ratings.append(tmp_path / "more.csv") is ratings
    assert ratings.fingerprint == both.fingerprint != before and ratings.nnz == 7
    fixed = gdsvd.Store.from_scipy(sp.eye(3), tmp_path / "f.csr")
    with pytest.raises(gdsvd.UsageError, match="declared shape"):
        fixed.append(tmp_path / "more.csv")


def test_parquet(tmp_path, ratings):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.read_csv(tmp_path / "r.csv").to_parquet(tmp_path / "r.parquet")
    assert gdsvd.Store.from_parquet(tmp_path / "r.parquet", tmp_path / "p.csr").fingerprint == ratings.fingerprint


@pytest.mark.parametrize("shape", [None, (70, 30)])
@pytest.mark.parametrize("sizes", [[70], [1, 0, 40, 29], [30, 40]])
def test_chunks(tmp_path, shape, sizes):
    a = made()
    ends = np.cumsum([0, *sizes])
    want = gdsvd.Store.from_scipy(a, tmp_path / "a.csr")
    chunks = (a[i:j].asformat(f) for i, j, f in zip(ends, ends[1:], ["csr", "coo", "csc", "csr"]))
    got = gdsvd.Store.from_chunks(chunks, tmp_path / "b.csr", shape=shape)
    assert got.fingerprint == want.fingerprint
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csr", "b.csr"]


@pytest.mark.parametrize("dtype", [">f8", ">i4", "f2", "g", "u2"])
@pytest.mark.parametrize("form", [sp.csr_matrix, np.asarray])
def test_chunks_of_types(tmp_path, dtype, form):
    a = made()
    want = gdsvd.Store.from_scipy(a, tmp_path / "a.csr")
    chunks = [form(a[:9].toarray() if form is np.asarray else a[:9]), form(a[9:].toarray() if form is np.asarray else a[9:])]
    for i, c in enumerate(chunks):
        if form is np.asarray:
            chunks[i] = c.astype(dtype)
        else:
            c.data = c.data.astype(dtype)
    assert gdsvd.Store.from_chunks(chunks, tmp_path / "b.csr").fingerprint == want.fingerprint


def test_shapes_of_chunks(tmp_path):
    a = made()
    for i, shape in enumerate([[70, 30], np.array([70, 30]), (70.0, np.uint8(30))]):
        assert gdsvd.Store.from_chunks([a], tmp_path / str(i), shape=shape).shape == (70, 30)
    for shape in [(70,), (70, 30, 1), (-1, 30), (70, None), (70.5, 30), 70, ("70", "30")]:
        with pytest.raises(ValueError, match="must be the number of rows"):
            gdsvd.Store.from_chunks([a], tmp_path / "wrong", shape=shape)


def test_no_chunks(tmp_path):
    assert gdsvd.Store.from_chunks([], tmp_path / "a.csr", shape=(0, 5)).shape == (0, 5)
    with pytest.raises(ValueError, match="0 rows were given of a matrix of 4"):
        gdsvd.Store.from_chunks([], tmp_path / "b.csr", shape=(4, 5))


def test_chunks_that_do_not_fit(tmp_path):
    a = made()
    wrong = [
        ([], None, "no blocks"),
        ([a, a[:, :20]], None, "block 1 has 20 columns"),
        ([a, a], (100, 30), "block 1 ends at row 140 of a matrix of 100"),
        ([a], (100, 30), "70 rows were given of a matrix of 100"),
        ([a.astype("f4"), a], None, "block 1 has values of type float64"),
        ([a, a * np.nan], None, r"A\[7\d, \d+\] is nan"),
        ([a, a[0].toarray()[0]], None, "block 1: A has 1 dim"),
    ]
    for chunks, shape, match in wrong:
        with pytest.raises(ValueError, match=match):
            gdsvd.Store.from_chunks(chunks, tmp_path / "b.csr", shape=shape)
    assert not list(tmp_path.iterdir())


def test_ids(tmp_path):
    a = made(5, 4, density=0.8)
    rows, cols = ["e", "d", "ü", "b c", "a"], [40, 7, 30, 1]
    s = gdsvd.Store.from_scipy(a, tmp_path / "a.csr", rows_ids=rows, cols_ids=cols)
    dense = a.toarray()
    want = {r: {c: dense[i, j] for j, c in enumerate(cols) if dense[i, j]} for i, r in enumerate(rows)}
    assert s.head(5) == want
    f = s.svd(3, tmp_path / "a.svd")
    assert list(f.rows) == rows and list(f.cols) == cols
    np.testing.assert_allclose(np.abs(f.U), np.abs(np.linalg.svd(dense)[0][:, :3]), atol=1e-9)
    np.testing.assert_allclose(f.U * f.s, f.project(dense), atol=1e-7)
    assert s.head(2) == {r: want[r] for r in rows[:2]}
    with pytest.raises(ValueError, match="line break"):
        gdsvd.Store.from_scipy(a, tmp_path / "b.csr", cols_ids=["a", "b", "c\n", "d"])
    with pytest.raises(gdsvd.GdsvdError):
        gdsvd.Store.from_scipy(a, tmp_path / "b.csr", cols_ids=["a", "b"])
    with pytest.raises(gdsvd.GdsvdError):
        gdsvd.Store.from_scipy(a, tmp_path / "b.csr", cols_ids=["a", "b", "a", "d"])
    with pytest.raises(gdsvd.GdsvdError, match="that another has"):
        gdsvd.Store.from_scipy(a, tmp_path / "b.csr", rows_ids=[3, 1, 2, 1, 0])


@pytest.mark.parametrize("way", ["scipy", "chunks", "h5ad"])
def test_order_of_ids(tmp_path, way):
    """Ids that would sort otherwise (d0, d1, d10, …) keep the order of the matrix in all uses of the result."""
    a = made(30, 20, density=0.5)
    rows, cols = [f"d{i}" for i in range(30)], [int(j) for j in np.random.default_rng(3).permutation(20) * 7 - 40]
    ids = {"rows_ids": rows, "cols_ids": cols}
    if way == "scipy":
        s = gdsvd.Store.from_scipy(a, tmp_path / "a.csr", **ids)
    elif way == "chunks":
        s = gdsvd.Store.from_chunks((a[i : i + 7] for i in range(0, 30, 7)), tmp_path / "a.csr", **ids)
    else:
        h5py = pytest.importorskip("h5py")
        cols = [f"g{j}" for j in cols]
        with h5py.File(tmp_path / "a.h5ad", "w") as h:
            for side, names in (("obs", rows), ("var", cols)):
                h[f"{side}/names"] = names
                h[side].attrs["_index"] = "names"
            h["X"] = a.toarray()
        s = gdsvd.Store.from_h5ad(tmp_path / "a.h5ad", tmp_path / "a.csr")
    f = s.svd(3, tmp_path / "a.svd")
    assert f.check(s)["ok"] and f.rows.tolist() == rows and f.cols.tolist() == cols
    np.testing.assert_allclose(f.U * f.s, f.project(a), atol=1e-7)
    np.testing.assert_allclose(f.U * f.s, f.project(s), atol=1e-7)
    np.testing.assert_allclose(np.abs(f.U), np.abs(gdsvd.svds(a, 3)[0]), atol=1e-7)
    shuffled = np.random.default_rng(4).permutation(20)
    other = gdsvd.Store.from_scipy(a[:, shuffled][5:9], tmp_path / "b.csr", cols_ids=[cols[j] for j in shuffled])
    np.testing.assert_allclose(f.project(other), (f.U * f.s)[5:9], atol=1e-7)
    # Rows, columns, and the start vectors of a run are matched by ids.
    scores = np.where(a.toarray() != 0, -np.inf, (f.U * f.s) @ f.V.T)
    for i in (10, 2, 29):
        assert [b["id"] for b in f.recommend(s, [rows[i]], 3)[rows[i]]] == [cols[j] for j in np.argsort(-scores[i])[:3]]
    x = f.V * f.s / np.linalg.norm(f.V * f.s, axis=1)[:, None]
    cos = x @ x[4] - 9 * (np.arange(20) == 4)
    assert f.similar(cols=[cols[4]], n=2)[cols[4]][1]["id"] == cols[np.argsort(-cos)[1]]
    again = gdsvd.Store.from_scipy(a[:, shuffled], tmp_path / "c.csr", rows_ids=rows, cols_ids=[cols[j] for j in shuffled])
    with pytest.raises(gdsvd.NotConverged) as err:  # after so few passes it is not proven that no larger value is missing
        again.svd(3, tmp_path / "c.svd", init=f.path, method="gd", max_passes=3)
    assert max(err.value.factorization.info["residual"]) < 1e-7  # without the start vectors it is 1.5
    kept = s.svd(2, tmp_path / "k.svd", view="center=columns", force=True)
    np.testing.assert_allclose(kept.s, np.linalg.svd(a.toarray() - a.toarray().mean(0))[1][:2], rtol=1e-9)


def test_ids_that_ascend_make_the_same_store(tmp_path):
    a = made(30, 20)
    ids = {"rows_ids": [f"d{i:02}" for i in range(30)], "cols_ids": list(range(3, 23))}
    prints = {gdsvd.Store.from_scipy(a, tmp_path / str(keep), keep_order=keep, **ids).fingerprint for keep in (True, False)}
    assert len(prints) == 1
    assert list(gdsvd.Store.from_scipy(a, tmp_path / "n", rows_ids=[0, *range(28, 0, -1), 29]).svd(1, tmp_path / "n.svd").rows)[:3] == [0, 28, 27]


def test_svd(tmp_path):
    a = made()
    s = gdsvd.Store.from_scipy(a, tmp_path / "a.csr")
    f = s.svd(4, tmp_path / "a.svd")
    u, sigma, vt = gdsvd.svds(s, 4)
    np.testing.assert_array_equal(f.U, u)
    np.testing.assert_array_equal(f.V, vt.T)
    np.testing.assert_array_equal(f.s, sigma)
    assert isinstance(f.U, np.memmap) and list(f.rows) == list(range(70))
    assert s.svd(0.5, tmp_path / "b.svd", vectors="right").U is None
    assert f.check()["ok"] and max(f.check(s)["measured"]["residual"]) < 1e-8
    with pytest.raises(gdsvd.NotConverged, match="pass limit") as err:
        s.svd(4, tmp_path / "c.svd", max_passes=4)
    assert err.value.factorization.info["status"] == "pass-limit"
    again = s.svd(4, tmp_path / "c.svd", resume=True)
    np.testing.assert_array_equal(again.U, f.U)
    with pytest.raises(ValueError, match="no result"):
        gdsvd.Factorization(s.path)
    data = bytearray((tmp_path / "a.svd" / "U.npy").read_bytes())
    data[-1] ^= 1
    (tmp_path / "a.svd" / "U.npy").write_bytes(data)
    with pytest.raises(gdsvd.CorruptError):
        f.check()


def test_project_says_how_scores_shrink(tmp_path):
    """Missing columns are replaced by their means; shrinkage is the share of the squares of each component in the columns that exist."""
    a = sp.csr_matrix(np.random.default_rng(3).integers(0, 3, (30, 8)).astype(float))
    f = gdsvd.Store.from_scipy(a, tmp_path / "a.csr", cols_ids=list("abcdefgh")).svd(2, tmp_path / "f", view="patterson")
    few = gdsvd.Store.from_scipy(a[:9, :5], tmp_path / "few.csr", cols_ids=list("abcde"))
    x, info = f.project(few, return_info=True)
    np.testing.assert_array_equal(x, f.project(few))
    np.testing.assert_allclose(info["shrinkage"], (f.V[:5] ** 2).sum(0))
    assert (info["rows"], info["known"], info["unknown"]) == (9, 5, 0)
    assert "shrinkage" not in f.project(tmp_path / "a.csr", return_info=True)[1]


@pytest.mark.parametrize("view", [None, "log1p | center=columns"])
def test_project(tmp_path, view):
    a, ids = made(), [f"c{j:02}" for j in np.random.default_rng(1).permutation(30)]
    f = gdsvd.Store.from_scipy(a, tmp_path / "a.csr", cols_ids=ids).svd(4, tmp_path / "a.svd", view=view)
    assert list(f.cols) == ids
    inorder = a
    np.testing.assert_allclose(f.project(inorder), f.U * f.s, atol=1e-7)
    np.testing.assert_allclose(f.project(inorder.toarray()[:3]), f.U[:3] * f.s, atol=1e-7)
    np.testing.assert_allclose(f.project(tmp_path / "a.csr"), f.U * f.s, atol=1e-7)
    scale = f.s / np.sqrt(69) if view else f.s
    np.testing.assert_allclose(f.project(inorder, whiten=True), f.U * f.s / scale, atol=1e-7)
    with pytest.raises(ValueError, match="30 columns"):
        f.project(a[:, :4])
    pd = pytest.importorskip("pandas")
    rows = inorder.toarray()[:3]
    for given in (rows.tolist(), pd.DataFrame(rows), pd.DataFrame(rows).rename(columns={4: "path"})):
        np.testing.assert_allclose(f.project(given), f.U[:3] * f.s, atol=1e-7)


def test_recommend_and_similar(tmp_path):
    a = made()
    s = gdsvd.Store.from_scipy(a, tmp_path / "a.csr")
    f = s.svd(4, tmp_path / "a.svd")
    scores = (f.U * f.s) @ f.V.T
    for seen in (True, False):
        masked = np.where((a.toarray() != 0) & seen, -np.inf, scores)
        got = f.recommend(s, [3, 41], 3, exclude_seen=seen)
        for row in (3, 41):
            want = np.argsort(-masked[row])[:3]
            assert [b["id"] for b in got[row]] == want.tolist()
            np.testing.assert_allclose([b["score"] for b in got[row]], masked[row, want], rtol=1e-5)
    assert len(f.recommend(s, n=2)) == np.count_nonzero(np.diff(a.indptr))
    for side, vectors in (("rows", f.U), ("cols", f.V)):
        x = vectors * f.s
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        cos = x[5] @ x.T
        cos[5] = -2
        best = f.similar(**{side: [5]}, n=2)[5]
        assert [b["id"] for b in best] == np.argsort(-cos)[:2].tolist()
        np.testing.assert_allclose([b["score"] for b in best], np.sort(cos)[::-1][:2], rtol=1e-5)
    with pytest.raises(ValueError, match="either"):
        f.similar()
    with pytest.raises(gdsvd.GdsvdError, match="999"):
        f.similar(rows=[999])


def test_ids_that_are_not_utf8(tmp_path, monkeypatch):
    """Ids that are not UTF-8 stay distinct, and returned ids can be given to methods again."""
    text = "user,item,rating\nJosé,tea,5\nAnn,thé,3\nJosè,thé,2\nJosè,thè,5\nBob,tea,1\nBob,jam,4\n"
    (tmp_path / "a.csv").write_text(text, encoding="latin-1")
    s = gdsvd.Store.from_csv(tmp_path / "a.csv", tmp_path / "a.csr")
    f = s.svd(2, tmp_path / "a.svd")
    back = lambda i: i.encode(errors="surrogateescape").decode("latin-1")
    assert [*map(back, f.rows)] == ["Ann", "Bob", "Josè", "José"] and [*map(back, f.cols)] == ["jam", "tea", "thè", "thé"]
    ann, bob, grave, acute = f.rows
    assert s.head() == {ann: {f.cols[3]: 3.0}, bob: {"tea": 1.0, "jam": 4.0}, grave: {f.cols[3]: 2.0, f.cols[2]: 5.0}, acute: {"tea": 5.0}}
    assert s.view(row=grave)[["row", "col", "value"]].values.tolist() == [[grave, f.cols[2], 5.0], [grave, f.cols[3], 2.0]]
    best = f.recommend(s, n=1)
    assert list(best) == list(f.rows) and all(b["id"] in f.cols for found in best.values() for b in found)
    assert f.recommend(s, [f.rows[3]], n=1) == {f.rows[3]: best[f.rows[3]]} == f.recommend(s, ["José".encode("latin-1")], n=1)
    near = f.similar(cols=f.cols, n=1)
    assert list(near) == list(f.cols) and all(b["id"] in f.cols for found in near.values() for b in found)
    np.testing.assert_allclose(f.project(np.eye(4)), f.V, atol=1e-12)
    t = gdsvd.TruncatedSVD(2, view="multiply=1").fit(s)
    np.testing.assert_allclose(np.abs(t.transform(np.eye(4))), np.abs(f.V), atol=1e-7)

    pd = pytest.importorskip("pandas")
    with pd.option_context("future.infer_string", True):  # the string type of pandas 3
        assert list(s.stats().index) == list(f.rows) and set(s.view().row) == set(f.rows)
        topics = f.topics(4)
        assert set(topics.id) == {*f.rows, *f.cols} and topics.component.dtype == int and list(f.query("tea", n=4).columns) == ["id", "score"]

    class Arrow:
        """A stand-in for pandas 3, whose type of texts is that of Arrow."""

        def Index(ids, dtype=None):
            return np.array(ids, dtype=object) if dtype else [i.encode() for i in ids]

    monkeypatch.setattr(_factorization, "_pandas", lambda: Arrow)
    assert list(gdsvd.Factorization(f.path).rows) == list(f.rows)


def test_ids_as_bytes(tmp_path):
    """Ids may be bytes, as h5py reads texts."""
    f = gdsvd.Store.from_scipy(made(3, 3, density=1), tmp_path / "a.csr", rows_ids=[b"a", np.bytes_(b"c"), "b"]).svd(2, tmp_path / "a.svd")
    assert list(f.rows) == ["a", "c", "b"] and list(f.similar(rows=[b"c"], n=1)) == ["c"]


@pytest.mark.parametrize("side, other", [("left", "cols"), ("right", "rows")])
def test_ids_of_a_side_without_vectors(tmp_path, ratings, side, other):
    f = ratings.svd(2, tmp_path / "a.svd", vectors=side)
    assert getattr(f, other) is None and len({"left": f.rows, "right": f.cols}[side]) == {"left": 4, "right": 3}[side]
    none = ratings.svd(2, tmp_path / "n.svd", vectors="none")
    assert none.rows is None and none.cols is None and len(none.s) == 2


class Seen(html.parser.HTMLParser):
    """Parses a page, and records its tags and those that are not closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.asked = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.asked += [v for k, v in attrs if k in ("src", "href") and not v.startswith("#")]
        if tag not in ("meta", "br", "path", "circle", "rect", "line", "use", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_report(tmp_path, ratings):
    f = ratings.svd(2, tmp_path / "a.svd")
    page = f.report()
    assert page.html.startswith("<!DOCTYPE html>") and str(len(page.html)) in repr(page)
    part = page._repr_html_()
    seen = Seen(part)
    assert not seen.open and not seen.asked and {"svg", "table", "style"} <= set(seen.tags)
    assert not {"script", "iframe", "html", "head", "body", "meta", "link"} & set(seen.tags)
    style = part.partition("<style>")[2].partition("</style>")[0]
    assert style.startswith(".gdsvd-report{") and style.endswith("}") and style.count("{") == style.count("}")
    assert "body{" not in style and ":root" not in style and "&{" in style
    assert "How many rows have how many entries" in part and "How many rows have how many entries" not in f.report(no_store=True).html
    assert f.report(ratings, components=1).html != page.html
    shutil.move(ratings.path, tmp_path / "moved.csr")
    assert f.report(tmp_path / "moved.csr").html.count("<svg") == page.html.count("<svg")
    with pytest.raises(gdsvd.UsageError, match="components=0"):
        f.report(components=0)


def annotated(h5py, path, x, kind):
    with h5py.File(path, "w") as h:
        for side, n in (("obs", x.shape[0]), ("var", x.shape[1])):
            g = h.create_group(side)
            g.attrs["_index"] = "names"
            g["names"] = np.array([f"{side}{i:03}" for i in range(n)], dtype=object)
        if kind == "dense":
            h["X"] = x.toarray()
            return
        m = x.asformat(kind[:3])
        for name in ("X", "layers/more"):
            g = h.create_group(name)
            g.attrs["encoding-type"] = kind
            g.attrs["shape"] = x.shape
            for part, factor in (("data", 1 if name == "X" else 2), ("indices", 1), ("indptr", 1)):
                g[part] = getattr(m, part) * factor


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "dense"])
@pytest.mark.parametrize("entries", [1 << 22, 50, 1])
def test_h5ad(tmp_path, monkeypatch, kind, entries):
    h5py = pytest.importorskip("h5py")
    monkeypatch.setattr(_hdf5, "ENTRIES", entries)
    x = made(20, 9)
    annotated(h5py, tmp_path / "x.h5ad", x, kind)
    ids = {"rows_ids": [f"obs{i:03}" for i in range(20)], "cols_ids": [f"var{i:03}" for i in range(9)]}
    got = gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "x.csr")
    assert got.fingerprint == gdsvd.Store.from_scipy(x, tmp_path / "y.csr", **ids).fingerprint
    if kind != "dense":
        more = gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "m.csr", layer="more")
        assert more.fingerprint == gdsvd.Store.from_scipy(2 * x, tmp_path / "z.csr", **ids).fingerprint
    with pytest.raises(ValueError, match="layers/none"):
        gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "n.csr", layer="none")


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix", "dense"])
@pytest.mark.parametrize("dtype", [">f8", "f2", "?", "u8"])
def test_types_of_h5ad(tmp_path, kind, dtype):
    h5py = pytest.importorskip("h5py")
    x = made(20, 9)
    x.data[:] = 1 if dtype == "?" else x.data
    annotated(h5py, tmp_path / "x.h5ad", x, kind)
    want = gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "x.csr")
    with h5py.File(tmp_path / "x.h5ad", "r+") as h:
        name = "X" if kind == "dense" else "X/data"
        data = h[name][:].astype(dtype)
        del h[name]
        h[name] = data
    assert gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "y.csr").fingerprint == want.fingerprint
    if kind == "dense":
        return
    with h5py.File(tmp_path / "x.h5ad", "r+") as h:  # duplicates whose sums overflow their type
        arrays = {part: h[f"layers/more/{part}"][:] for part in ("data", "indices", "indptr")}
        del h["X/data"], h["X/indices"], h["X/indptr"]
        h["X/data"], h["X/indices"], h["X/indptr"] = arrays["data"].astype("u1").repeat(30), arrays["indices"].repeat(30), arrays["indptr"] * 30
        h["layers/more/data"][:] *= 30
    sums = [gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / f"{name}.csr", layer=name).fingerprint for name in (None, "more")]
    assert sums[0] == sums[1] != want.fingerprint


@pytest.mark.parametrize("how", ["categories", "mask"])
def test_names_of_h5ad_in_groups(tmp_path, how):
    """Names may be groups, as AnnData writes an index of categories or of pandas' string type."""
    h5py = pytest.importorskip("h5py")
    annotated(h5py, tmp_path / "x.h5ad", made(20, 9), "dense")
    want = gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "x.csr")
    with h5py.File(tmp_path / "x.h5ad", "r+") as h:
        names = h["obs/names"][:]
        del h["obs/names"]
        g = h.create_group("obs/names")
        if how == "mask":
            g["values"], g["mask"] = names, np.zeros(20, bool)
        else:
            g["categories"], g["codes"] = names[::-1], np.arange(20, dtype="i1")[::-1]
    assert gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "y.csr").fingerprint == want.fingerprint
    with h5py.File(tmp_path / "x.h5ad", "r+") as h:
        part = h["obs/names"]["mask" if how == "mask" else "codes"]
        part[3] = True if how == "mask" else -1
    with pytest.raises(ValueError, match="obs/names has missing values"):
        gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "z.csr")
    with h5py.File(tmp_path / "x.h5ad", "r+") as h:
        del h["obs/names"]
        h.create_group("obs/names")
    with pytest.raises(ValueError, match="not of texts"):
        gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "z.csr")


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("part, at, value", [("indices", 3, 99), ("indices", 3, -1), ("indptr", -1, 7), ("indptr", 2, 1000), ("indptr", 0, 1)])
def test_damaged_h5ad(tmp_path, kind, part, at, value):
    h5py = pytest.importorskip("h5py")
    annotated(h5py, tmp_path / "x.h5ad", made(20, 9), kind)
    with h5py.File(tmp_path / "x.h5ad", "r+") as h:
        n = h[f"X/{part}"].shape[0]
        h[f"X/{part}"][at % n] = value
    with pytest.raises(ValueError, match="damaged"):
        gdsvd.Store.from_h5ad(tmp_path / "x.h5ad", tmp_path / "x.csr")
    assert not (tmp_path / "x.csr").exists()


@pytest.mark.parametrize("version", [2, 3])
def test_10x(tmp_path, version):
    h5py = pytest.importorskip("h5py")
    x = made(12, 7, density=0.6)
    ids = [f"ENSG{j}" for j in range(7)]
    with h5py.File(tmp_path / "x.h5", "w") as h:
        for genome in ["matrix"] if version == 3 else ["hg19", "mm10"]:
            g = h.create_group(genome)
            g["barcodes"] = np.array([b"AC%02d-1" % i for i in range(12)])
            g["features/id" if version == 3 else "genes"] = np.array(ids, dtype="S")
            g["features/name" if version == 3 else "gene_names"] = np.array(["same" if j < 2 else f'"N" {j}, x' for j in range(7)], dtype="S")
            g["data"], g["indices"], g["indptr"] = x.data.astype("i4") * (2 if genome == "mm10" else 1), x.indices, x.indptr
            g["shape"] = np.array([7, 12])
    if version == 2:
        with pytest.raises(ValueError, match="genome='hg19' or genome='mm10'"):
            gdsvd.Store.from_10x_h5(tmp_path / "x.h5", tmp_path / "x.csr")
    got = gdsvd.Store.from_10x_h5(tmp_path / "x.h5", tmp_path / "x.csr", genome="mm10" if version == 2 else None)
    want = gdsvd.Store.from_scipy(x * (4 - version if version == 2 else 1), tmp_path / "y.csr", rows_ids=[f"AC{i:02}-1" for i in range(12)], cols_ids=ids)
    assert got.head(20) == want.head(20)
    f = got.svd(3, tmp_path / "x.svd")
    best = f.similar(cols=["ENSG0"], n=6)["ENSG0"]
    assert {b["id"]: b["title"] for b in best} == {i: "same" if j < 2 else f'"N" {j}, x' for j, i in enumerate(ids) if j}


def test_ids_with_line_breaks(tmp_path):
    """Ids from JSON files may have line breaks, which are escaped in the files of results."""
    ids = sorted(["a\nb", "a\\nb", "\\", "\0\r", "\0\\", "\\\n", "a\tb"])
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"u": u, "i": i, "v": 1 + (u == i)}) + "\n" for u in ids for i in ids))
    store = gdsvd.Store.from_csv(tmp_path / "a.jsonl", tmp_path / "a.csr", format="jsonl", columns="u,i,v")
    f = store.svd(2, tmp_path / "a.svd")
    assert list(f.rows) == list(f.cols) == list(store.head(9)) == list(store.stats().index) == ids
