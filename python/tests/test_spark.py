"""Spark DataFrames: the results have the ids of the input and the values of NumPy. Runs if pyspark is installed."""

import numpy as np
import pytest

import gdsvd

sql = pytest.importorskip("pyspark.sql")
spark_svd = pytest.importorskip("gdsvd.spark")

RNG = np.random.default_rng(5)
PLACES = RNG.choice(60 * 20, 500, replace=False)
LINES = [(f"u{p // 20:02}", int(p % 20) * 7, float(v)) for p, v in zip(PLACES, RNG.integers(1, 6, 500), strict=True)]


@pytest.fixture(scope="module")
def spark():
    session = sql.SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_ids_in_and_out(spark, tmp_path):
    df = spark.createDataFrame([*LINES[:-1], (*LINES[-1][:2], LINES[-1][2] - 1), (*LINES[-1][:2], 1.0)], "user string, item int, rating double")
    found = spark_svd.svd(df.repartition(3), row="user", col="item", value="rating", k=4, shared=tmp_path)
    users, items = sorted({u for u, _, _ in LINES}), sorted({i for _, i, _ in LINES})
    A = np.zeros((len(users), len(items)))
    for u, i, v in LINES:
        A[users.index(u), items.index(i)] = v
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    assert np.allclose(found.s, S[:4], rtol=1e-12)
    left, right = {r[0]: list(r[1:]) for r in found.U.collect()}, {r[0]: list(r[1:]) for r in found.V.collect()}
    assert found.U.columns == ["id", "c1", "c2", "c3", "c4"] and sorted(left) == users and sorted(right) == items
    u, v = np.array([left[i] for i in users]), np.array([right[i] for i in items])
    assert np.allclose(u * found.s @ v.T, U[:, :4] * S[:4] @ Vt[:4], atol=1e-6)
    assert found.info["engine"]["tasks"] > 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [found.folder.name]
    u, s, vt = gdsvd.svds(gdsvd.Store.from_scipy(A, tmp_path / "a.csr"), k=4, client=spark, shared=tmp_path)
    assert np.allclose(s, S[:4], rtol=1e-12)


def test_without_values(spark, tmp_path):
    found = spark_svd.svd(spark.createDataFrame([(1, 5), (2, 5), (3, 6)], "a long, b long"), row="a", col="b", k=2, shared=tmp_path)
    assert np.allclose(found.s, [2**0.5, 1])


def test_partition_without_lines_and_names_with_dots(spark, tmp_path):
    lines = spark.sparkContext.parallelize(range(4), 4).filter(lambda i: i > 0).map(lambda i: (i, 5 + i // 3))
    found = spark_svd.svd(spark.createDataFrame(lines, "`user.id` long, `a``b` long"), row="user.id", col="a`b", k=2, shared=tmp_path)
    assert np.allclose(found.s, [2**0.5, 1])


def test_folder_whose_name_a_url_escapes(spark, tmp_path):
    """Nothing is written beside it."""
    shared = tmp_path / "a b é %20"
    shared.mkdir()
    found = spark_svd.svd(spark.createDataFrame([(1, 5), (2, 5), (3, 6)], "a long, b long"), row="a", col="b", k=2, shared=shared)
    assert np.allclose(found.s, [2**0.5, 1]) and found.U.count() == 3
    assert list(tmp_path.iterdir()) == [shared] and list(shared.iterdir()) == [found.folder]


def test_as_a_table(spark):
    df = spark.createDataFrame(LINES, "user string, item int, rating double")
    if not hasattr(df, "__arrow_c_stream__"):
        pytest.skip("this version of Spark hands over no Arrow")
    found = gdsvd.svds(df, k=2, row="user", col="item", value="rating")
    assert np.allclose(found.s, gdsvd.svds(df.toPandas(), k=2, row="user", col="item", value="rating").s, rtol=1e-12)
    with pytest.raises(ValueError, match="A is a table with columns user, item, rating"):
        gdsvd.svds(df, k=2)


def test_interrupted_with_a_checkpoint(spark, tmp_path, monkeypatch):
    def run(command, *args, **options):
        if command != "svd":
            return whole(command, *args, **options)
        result = args[args.index("-o") + 1]
        result.mkdir()
        (result / "checkpoint").touch()
        raise KeyboardInterrupt

    whole = spark_svd.run
    monkeypatch.setattr(spark_svd, "run", run)
    with pytest.raises(KeyboardInterrupt):
        spark_svd.svd(spark.createDataFrame([(1, 5), (2, 6)], "a long, b long"), row="a", col="b", k=1, shared=tmp_path)
    assert not list(tmp_path.iterdir())


def test_errors(spark, tmp_path):
    df = spark.createDataFrame([("a", 1, 1.0), ("b", 2, float("nan")), (None, 3, 1.0)], "user string, item int, rating double")
    for frame, options, error in [
        (df, {"row": "users"}, "row = 'users': the table has no such column, but 'user', 'item', 'rating'"),
        (df, {"row": None}, "row = None: the table has no such column, but 'user', 'item', 'rating'"),
        (df, {"k": 0}, "k = 0 must be an integer from 1"),
        (df.limit(2), {}, "NaN"),
        (df, {}, ""),
        (df.limit(1), {"shared": tmp_path / "no"}, "there is no such folder"),
    ]:
        with pytest.raises((ValueError, OSError, gdsvd.GdsvdError)) as e:
            spark_svd.svd(frame, **{"row": "user", "col": "item", "value": "rating", "k": 1, "shared": tmp_path, **options})
        assert error.lower() in str(e.value).lower() and "\n" not in str(e.value), e.value
        assert not list(tmp_path.iterdir())
