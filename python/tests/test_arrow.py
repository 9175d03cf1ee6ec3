"""Streams of Arrow from various packages as input, with ids of all types, and results as tables of Arrow."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

import gdsvd

pa = pytest.importorskip("pyarrow")

WHO, WHAT, N = ["b", "a", "c", "b", "c"], [7, 5, 5, 9, 9], [1.5, 2.0, 3.0, 4.0, 1.0]
ROLES = {"row": "who", "col": "what", "value": "n"}
TABLE = pa.table({"who": WHO, "what": WHAT, "n": N})


def store(table, folder, name="s.csr", **more):
    return gdsvd.Store.from_table(table, folder / name, **{**ROLES, **more})


class Stream:
    """An object that only provides a stream of Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Array:
    """An object that only provides a single batch of Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_array__(self, requested_schema=None):
        return self.table.combine_chunks().to_batches()[0].__arrow_c_array__(requested_schema)


def duckdb(table):
    return pytest.importorskip("duckdb").from_arrow(table)


def ibis(table):
    """The table in Ibis. Skipped where DuckDB lacks fetch_record_batch, the method by which Ibis 12 reads batches of DuckDB before 2."""
    if not hasattr(pytest.importorskip("duckdb").DuckDBPyConnection, "fetch_record_batch"):
        pytest.skip("Ibis does not know this version of DuckDB")
    return pytest.importorskip("ibis").memtable(table)


def expression(table):
    t = ibis(table)
    return t.filter(t[table.column_names[0]].notnull())


def lazyframe(table):
    return pytest.importorskip("polars").from_arrow(table).lazy()


def pandas(table):
    return table.to_pandas()


def stream_of_pandas(table):
    return Stream(table.to_pandas())


def dask(table):
    return pytest.importorskip("dask.dataframe").from_pandas(table.to_pandas(), npartitions=2)


@pytest.mark.parametrize("make", [Stream, Array, duckdb, ibis, expression, lazyframe, pandas, stream_of_pandas, dask])
def test_what_makes_tables(tmp_path, make):
    s = store(TABLE, tmp_path)
    assert store(make(TABLE), tmp_path, "other.csr").fingerprint == s.fingerprint
    assert store((make(part) for part in (TABLE.slice(0, 2), TABLE.slice(2))), tmp_path, "parts.csr").fingerprint == s.fingerprint
    np.testing.assert_allclose(gdsvd.svds(make(TABLE), 2, **ROLES)[1], gdsvd.svds(TABLE, 2, **ROLES)[1])
    with pytest.raises(ValueError, match="two ways.*row='"):
        gdsvd.svds(make(TABLE), 2)
    part = store(TABLE.slice(0, 2), tmp_path, "part.csr")
    assert part.append(make(TABLE.slice(2)), **ROLES).fingerprint == s.fingerprint
    best = s.svd(2, tmp_path / "f").recommend(s, ["a", "b"], candidates=make(pa.table({"x": [9, 5]})), exclude_seen=False)
    assert {b["id"] for b in best["b"]} == {5, 9}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()], ids=str)
def test_ids_are_integers(tmp_path, kind):
    table = TABLE.set_column(1, "what", pa.array(WHAT, kind))
    for t in (table, table.set_column(1, "what", table["what"].dictionary_encode())):
        s = store(Stream(t), tmp_path, force=True)
        assert s.head() == {"a": {5: 2.0}, "b": {7: 1.5, 9: 4.0}, "c": {5: 3.0, 9: 1.0}}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int16(), pa.large_string())], ids=str)
def test_ids_are_texts(tmp_path, kind):
    texts = ["größe", 'a "b", c', "x", "größe", "x"]
    t = TABLE.set_column(0, "who", pa.array(texts, pa.string()).cast(kind) if kind != pa.binary() else pa.array([s.encode() for s in texts]))
    assert store(Stream(t), tmp_path).head() == {'a "b", c': {5: 2.0}, "größe": {7: 1.5, 9: 4.0}, "x": {5: 3.0, 9: 1.0}}


def test_append(tmp_path):
    s = store(TABLE.slice(0, 2), tmp_path)
    assert s.append(Stream(TABLE.slice(2)), **ROLES).fingerprint == store(TABLE, tmp_path, "whole.csr").fingerprint
    with pytest.raises(ValueError, match=r"two ways.*store\.append\(files, row='who'"):
        s.append(TABLE)


def test_results(tmp_path):
    s = store(TABLE, tmp_path)
    f = s.svd(2, tmp_path / "f")
    for table, ids, vectors in ((f.rows_table(), ["a", "b", "c"], f.U), (f.cols_table(), [5, 7, 9], f.V)):
        assert table.column_names == ["id", "vector"] and table["id"].to_pylist() == ids
        assert table["vector"].type == pa.list_(pa.float64(), 2)
        np.testing.assert_array_equal(np.array(table["vector"].to_pylist()), vectors)
    best = f.recommend(s, ["a", "c"], n=2, as_arrow=True)
    assert best.column_names[:4] == ["row", "column", "rank", "score"]
    plain = f.recommend(s, ["a", "c"], n=2)
    assert [(r, c) for r, c in zip(best["row"].to_pylist(), best["column"].to_pylist())] == [(r, b["id"]) for r in plain for b in plain[r]]


@pytest.mark.parametrize("kind", ["arrow", "zarr"])
def test_export(tmp_path, kind):
    """Vectors of rows times the singular values, and of columns, are exported with texts and numbers as ids, in several blocks."""
    n = (1 << 14) + 5
    long = pa.table({"who": [f"ü{i:05}" for i in range(n)], "what": [i % 3 for i in range(n)], "n": [1.0 + i % 7 for i in range(n)]})
    f = store(long, tmp_path).svd(2, tmp_path / "f")
    for what, ids, vectors in (("US", f.rows, f.U * f.s), ("V", f.cols, f.V)):
        out = f.export(tmp_path / f"{what}.{kind}", what)
        if kind == "arrow":
            table = pa.ipc.open_file(out).read_all()
            there, found = table["id"].to_pylist(), np.array(table["vector"].to_pylist())
        else:
            group = pytest.importorskip("zarr").open_group(str(out), mode="r")
            there, found = group["id"][:].tolist(), group[what][:]
        assert there == list(ids)
        np.testing.assert_array_equal(found, vectors)
        with pytest.raises(FileExistsError, match="force=True"):
            f.export(out, what)
        f.export(out, what, force=True)
    (tmp_path / "kept" / f"x.{kind}").mkdir(parents=True)
    for bad, error, more in ((f"kept/x.{kind}", FileExistsError, {"force": True}), (f"s.{kind}", ValueError, {"what": "sigma"})):
        with pytest.raises(error):
            f.export(tmp_path / bad, **more)
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_ids_that_are_not_utf8(tmp_path):
    """Tables of Arrow and zarr folders cannot hold such ids: the error names one, and the format that keeps them."""
    (tmp_path / "a.csv").write_bytes(b"u,i,n\nAnn,tea,5\nJos\xe9,jam,3\n")
    f = gdsvd.Store.from_csv(tmp_path / "a.csv", tmp_path / "a.csr").svd(2, tmp_path / "f")
    calls = [f.rows_table, lambda: f.export(tmp_path / "x.arrow")]
    calls += [lambda: f.export(tmp_path / "x.zarr")] if importlib.util.find_spec("zarr") else []
    for call in calls:
        with pytest.raises(ValueError, match=r"^the id 'Jos\\udce9' has bytes that are not UTF-8, .*: export to .csv keeps them$"):
            call()
    assert f.cols_table()["id"].to_pylist() == ["jam", "tea"] and b"Jos\xe9" in f.export(tmp_path / "x.csv").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csr", "a.csv", "f", "x.csv"]


def test_a_failed_export_keeps_the_earlier_one(tmp_path, monkeypatch):
    """A zarr folder that is to be replaced is put back if the new one cannot be renamed to its place."""
    zarr = pytest.importorskip("zarr")
    f = gdsvd.Store.from_scipy(np.diag([3.0, 2, 1]), tmp_path / "a.csr").svd(2, tmp_path / "f")
    out, replace = f.export(tmp_path / "x.zarr"), os.replace

    def failing(a, b):
        if os.fspath(b) == os.fspath(out):
            raise OSError("the disk is full")
        replace(a, b)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="the disk is full"):
        f.export(out, "V", force=True)
    monkeypatch.undo()
    np.testing.assert_array_equal(zarr.open_group(str(out), mode="r")["U"][:], f.U)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csr", "f", "x.zarr"]


def piped(stdin, *args):
    return subprocess.run([sys.executable, "-m", "gdsvd", *args], input=stdin, capture_output=True)


@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_pipe(tmp_path, new):
    """From the text of a stream or file on standard input the program makes the same store; from input with an error it makes none."""
    sink = pa.BufferOutputStream()
    wide = TABLE.append_column("more", TABLE["n"]).set_column(0, "who", TABLE["who"].dictionary_encode())
    with new(sink, wide.schema) as w:
        w.write_table(wide, max_chunksize=2)
    data = sink.getvalue().to_pybytes()
    text = piped(data, "arrow", "--row=who", "--col=what", "--value=n")
    assert (text.returncode, text.stderr) == (0, b"")
    out = tmp_path / "p.csr"
    assert piped(text.stdout, "ingest", "-", "-o", out).returncode == 0
    assert gdsvd.Store(out).fingerprint == store(TABLE, tmp_path).fingerprint
    assert b"python -m gdsvd arrow" in piped(data, "ingest", "-", "-o", tmp_path / "none.csr").stderr
    for bad, args, said in (
        (data, [], b"name two or three"), (data, ["--row=who"], b"give both"), (data, ["--row=who", "--col=x"], b"no such column"),
        (data[:-200] if new is pa.ipc.new_stream else data[:700], ["--row=who", "--col=what"], b""), (b"", [], b""), (b"a,b,1\n", [], b""),
    ):  # fmt: skip
        text = piped(bad, "arrow", *args)
        assert text.returncode == 1 and said in text.stderr and text.stderr.startswith(b"gdsvd arrow: ") and text.stderr.count(b"\n") == 1, text
        assert piped(text.stdout, "ingest", "-", "-o", tmp_path / "none.csr").returncode == 1
    assert not (tmp_path / "none.csr").exists()


def test_candidates(tmp_path):
    s = store(TABLE, tmp_path)
    f = s.svd(2, tmp_path / "f")
    for given in ([9, 5], pa.array([9, 5]), pa.table({"x": [9, 5]}), Stream(pa.table({"x": [9, 5]})), np.array([9, 5])):
        assert {b["id"] for b in f.recommend(s, ["a", "b"], candidates=given, exclude_seen=False)["b"]} == {5, 9}
    with pytest.raises(ValueError, match="a table of one column, not of 3"):
        f.recommend(s, candidates=TABLE)


PEAK = """
import sys, gdsvd, pyarrow as pa, numpy as np
def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024
schema = pa.schema([("u", pa.int64()), ("i", pa.int64()), ("v", pa.float64())])
def reader(n):
    def batches():
        for b in range(n):
            i = np.arange(b << 14, (b + 1) << 14)
            yield pa.record_batch([pa.array(i % 1000), pa.array(i // 1000), pa.array(np.ones(1 << 14))], schema=schema)
    return pa.RecordBatchReader.from_batches(schema, batches())
class Stream:
    def __init__(self, n): self.n = n
    def __arrow_c_stream__(self, requested_schema=None): return reader(self.n).__arrow_c_stream__()
roles = {"row": "u", "col": "i", "value": "v"}
gdsvd.Store.from_table(Stream(1), sys.argv[1] + "/warm", **roles)
small = peak()
gdsvd.Store.from_table(Stream(32), sys.argv[1] + "/a", **roles)
print((peak() - small) / (32 * 24 << 14))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory in /proc")
def test_no_stream_is_in_memory(tmp_path):
    """The peak memory of the process grows by less than half of the size of the stream."""
    out = subprocess.run([sys.executable, "-c", PEAK, tmp_path], capture_output=True, text=True)
    assert float(out.stdout) < 0.5, out
