"""Tables of pandas, polars and Arrow: the caller names the roles of columns, or the table is refused with an explanation of both readings."""

import io

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _tables
from gdsvd._program import run

USERS, ITEMS, RATINGS = ["bob", "ann", 'say "no", eve', "bob", "ann", "joe"], [10, 9, 9, 9, 200, 10], [5.0, 0.1, 3.0, 1e-3, 4.0, 2.5]
ROLES = {"rows": "user", "cols": "item", "values": "rating"}


def tables():
    """The same table as an object of each package that is installed."""
    data = {"user": USERS, "item": ITEMS, "rating": RATINGS}
    found = []
    for name, make in {
        "pandas": lambda m: m.DataFrame(data),
        "polars": lambda m: m.DataFrame(data),
        "pyarrow": lambda m: m.table(data),
    }.items():
        try:
            found.append(pytest.param(make(__import__(name)), id=name))
        except ImportError:
            pass
    return found


def matrix():
    """The dense matrix of the entries, built by hand."""
    rows, cols = sorted(set(USERS)), sorted(set(ITEMS))
    a = np.zeros((len(rows), len(cols)))
    for u, i, r in zip(USERS, ITEMS, RATINGS):
        a[rows.index(u), cols.index(i)] += r
    return rows, cols, a


@pytest.mark.parametrize("table", tables())
def test_refused_with_both_readings(tmp_path, table):
    calls = [
        (lambda: gdsvd.svds(table, 2), r"gdsvd\.svds\(A"),
        (lambda: gdsvd.Store.from_scipy(table, tmp_path / "a"), r"from_table\(A, path"),
        (lambda: gdsvd.Store.from_chunks(table, tmp_path / "a"), r"from_table\(chunks, path"),
        (lambda: gdsvd.Store.from_chunks([table], tmp_path / "a"), r"block 0 is .* gdsvd\.Store\.from_table\(A, path"),
        (lambda: gdsvd.svds(iter([table]), 2), "block 0 is"),
    ]
    for call, says in calls:
        with pytest.raises(ValueError, match=rf"(?s)(?=.*{says}).*columns user, item, rating.*two ways.*One entry a line.*row='user'.*dense matrix"):
            call()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("table", tables())
def test_roles(tmp_path, table):
    rows, cols, want = matrix()
    u, s, vt, info = gdsvd.svds(table, 3, return_info=True, **ROLES)
    np.testing.assert_allclose(u * s @ vt, want, atol=1e-7)
    assert info["rows_ids"].tolist() == rows and info["cols_ids"].tolist() == cols
    store = gdsvd.Store.from_table(table, tmp_path / "a.csr", **ROLES)
    assert store.head(9) == {r: {c: want[i, j] for j, c in enumerate(cols) if want[i, j]} for i, r in enumerate(rows)}
    parts = gdsvd.Store.from_table((table[i : i + 2] for i in (0, 2, 4)), tmp_path / "b.csr", **ROLES)
    assert parts.fingerprint == store.fingerprint
    with pytest.raises(gdsvd.NotConverged) as err:
        gdsvd.svds(table, 2, tol=1e-17, **ROLES)
    assert err.value.info["rows_ids"].tolist() == rows and err.value.info["cols_ids"].tolist() == cols
    ones = gdsvd.Store.from_table(table, tmp_path / "c.csr", rows="user", cols="item")
    assert ones.head(1) == {"ann": {9: 1.0, 200: 1.0}}


def test_streams_of_arrow(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"user": USERS, "item": ITEMS, "rating": RATINGS})
    reader = lambda: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))

    class Relation:
        """Like a relation of DuckDB, but it only provides a stream of Arrow."""

        def __arrow_c_stream__(self, requested_schema=None):
            return reader().__arrow_c_stream__(requested_schema)

    want = gdsvd.Store.from_table(table, tmp_path / "a.csr", **ROLES).fingerprint
    for i, given in enumerate((reader(), Relation(), table.to_batches(max_chunksize=1))):
        assert gdsvd.Store.from_table(given, tmp_path / str(i), **ROLES).fingerprint == want
    for given in (reader(), Relation()):
        with pytest.raises(ValueError, match="two ways"):
            gdsvd.svds(given, 2)
        with pytest.raises(ValueError, match="two ways"):
            gdsvd.Store.from_chunks(given, tmp_path / "none")
    np.testing.assert_allclose(gdsvd.svds(reader(), 2, **ROLES)[1], np.linalg.svd(matrix()[2])[1][:2])


@pytest.mark.parametrize("table", tables())
def test_less_of_a_table_is_none(tmp_path, table):
    """A truncated table, as a caller that fails or is killed leaves it, makes no store."""
    whole, more = io.BytesIO(), ["--max-bad-lines=9", "-o", tmp_path / "a.csr", "--", "-"]
    _tables.hand_over(table, tuple(ROLES.values()), whole)
    for cut in range(0, whole.tell(), 7):
        with pytest.raises(gdsvd.GdsvdError, match="end early|empty|truncated"):
            run("ingest", *_tables.FLAGS, *more, feed=lambda out: out.write(whole.getvalue()[:cut]))
        assert not list(tmp_path.iterdir())


def test_arrays_stay_dense():
    pd = pytest.importorskip("pandas")
    a = pd.DataFrame({"user": [1, 2, 3, 4], "item": [5, 1, 1, 2], "rating": [5, 4, 3, 1]}).to_numpy()
    np.testing.assert_allclose(gdsvd.svds(a, 2)[1], np.linalg.svd(a)[1][:2])


def test_entries_at_one_place(tmp_path):
    """svds sums duplicate entries, as SciPy does. A store refuses them unless an option says what to do."""
    pd = pytest.importorskip("pandas")
    twice = pd.DataFrame({"u": ["a", "a"], "i": ["x", "x"], "r": [1, 2]})
    roles = {"rows": "u", "cols": "i", "values": "r"}
    np.testing.assert_allclose(gdsvd.svds(twice, 1, **roles)[1], [3])
    with pytest.raises(gdsvd.GdsvdError, match="duplicate"):
        gdsvd.Store.from_table(twice, tmp_path / "a.csr", **roles)
    assert gdsvd.Store.from_table(twice, tmp_path / "a.csr", duplicates="max", **roles).head() == {"a": {"x": 2.0}}


def test_ids_are_as_they_are(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"num_rows": ["NaT", "nan"], "column_names": ["None", "b"], "slice": [1, 2]}, dtype=object)
    store = gdsvd.Store.from_table(table, tmp_path / "names.csr", row="num_rows", col="column_names", value="slice")
    assert store.head() == {"NaT": {"None": 1}, "nan": {"b": 2}}
    ids = ["# a", " a", "a", "a ", "\ufeffa", "% a", " ", "\ta", "a,b", '"a"', "'a"]  # unquoted, some would be comments, others lose blanks
    for first in (0, 4):
        given = ids[first:] + ids[:first]
        table = pandas.DataFrame({"user": given, "item": given[::-1], "rating": range(1, 12)})
        a = gdsvd.Store.from_table(table, tmp_path / f"{first}.csr", **ROLES)
        want = {u: {i: float(r)} for u, i, r in zip(given, given[::-1], range(1, 12))}
        assert a.head(99) == {u: want[u] for u in sorted(ids)}
        f = a.svd(11, tmp_path / f"{first}.svd")
        for u in ids:
            assert list(f.recommend(a, [u], n=1)) == list(f.similar(rows=[u], n=1)) == [u]
            assert a.view(row=u).row.tolist() == [u]
        info = gdsvd.svds(table, 3, return_info=True, **ROLES).info
        assert info["rows_ids"].tolist() == info["cols_ids"].tolist() == sorted(ids)


def test_wrong_tables(tmp_path):
    pd = pytest.importorskip("pandas")
    good = pd.DataFrame({"user": USERS, "item": ITEMS, "rating": RATINGS})
    missing, broken = good.copy(), good.copy()
    missing.loc[3, "rating"] = np.nan
    broken.loc[2, "user"] = "a\nb"
    none = good.copy()
    none.loc[4, "user"] = None
    half, huge = good.astype({"user": object}), good.astype({"rating": object})
    half.loc[1, "user"], huge.loc[5, "rating"] = "\ud800", 10**400
    wrong = [
        (good, {**ROLES, "cols": "movie"}, ValueError, "col = 'movie': the table has no such column, but 'user', 'item', 'rating'"),
        (good, {"rows": "user"}, ValueError, "give both"),
        (good, {**ROLES, "cols": "user"}, ValueError, "row = 'user', col = 'user': one column is named twice"),
        (good, {**ROLES, "values": "user"}, ValueError, "row 0 of the table, column 'user': 'bob' is no finite number"),
        (missing, ROLES, ValueError, "row 3 of the table, column 'rating': nan is no finite number"),
        (broken, ROLES, ValueError, "row 2 .* line break"),
        (none, ROLES, ValueError, "row 4 of the table, column 'user': .* is no id"),
        (half, ROLES, ValueError, "row 1 of the table: an id has half of a character in it"),
        (huge, ROLES, ValueError, "row 5 of the table, column 'rating': 10.* is no finite number"),
        (np.ones((3, 3)), ROLES, TypeError, "not of an object of type ndarray"),
        (sp.eye(3), ROLES, TypeError, "not of an object of type dia_"),
        ("r.csv", ROLES, TypeError, "not of an object of type str"),
        ([np.ones((3, 3))], ROLES, TypeError, "of type ndarray is no table"),
    ]
    for table, roles, kind, match in wrong:
        with pytest.raises(kind, match=match):
            gdsvd.svds(table, 1, **roles)
    with pytest.raises(ValueError, match="row 3"):
        gdsvd.Store.from_table(missing, tmp_path / "a.csr", **ROLES)
    assert not list(tmp_path.iterdir())
