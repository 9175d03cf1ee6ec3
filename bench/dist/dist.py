#!/usr/bin/env python3
"""Compare engines: the overhead of a pass over the local engine, the gain from a second worker, and whole jobs with Spark MLlib and Dask.

  python -m venv VENV && VENV/bin/pip install ./python[dask,spark,ray]
  VENV/bin/python bench/dist/dist.py [--out DIR] [--rounds 3] [--columns 10000 1000000] [--entries 200000000] [--shape 6040 3706 165] [--only passes workers whole]

The runs that are compared alternate, and each figure is a median. Times of passes come from events.jsonl of the run; the first three passes,
in which engines start their workers, do not count. The matrices are random with a fixed seed. dist.json has all results, dist.md the tables;
results for other columns and shapes that the files already contain are kept.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

import gdsvd
from gdsvd._program import program

OUT = pathlib.Path(__file__).resolve().parent / "results"
WARM = 3  # passes at the beginning of a run that are not timed


def rows(m, n, each, seed=1):
    """Yield blocks of rows of an m × n matrix with at most `each` entries a row. Columns with lower indices have more entries."""
    rng = np.random.default_rng(seed)
    step = max(1, 4_000_000 // each)
    for first in range(0, m, step):
        r = min(step, m - first)
        at = np.sort((n * rng.random((r, each)) ** 2).astype(np.int64), axis=1)
        b = sp.csr_matrix((rng.integers(1, 6, r * each).astype(np.float64), at.ravel(), np.arange(0, r * each + 1, each)), shape=(r, n))
        b.sum_duplicates()
        yield b


def store(folder, m, n, each):
    path = folder / f"{m}x{n}.csr"
    return path if path.exists() else gdsvd.Store.from_chunks(rows(m, n, each), path, shape=(m, n)).path


def svd(a, folder, *flags):
    """Make one run, and return its seconds, the seconds of each of its passes, and its result."""
    out = folder / "out"
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    args = [program(), "svd", "-q", a, "-o", out, "--force", "--shared", folder / "shared", *map(str, flags)]
    begun = time.perf_counter()
    p = subprocess.run(args, env={**os.environ, "PATH": path, "GDSVD_PYTHON": sys.executable}, capture_output=True, text=True)
    wall = time.perf_counter() - begun
    if p.returncode not in (0, 4):  # 4: stopped by --max-passes
        raise RuntimeError(f"{args}: exit {p.returncode}: {p.stderr[-500:]}")
    at = [json.loads(line)["seconds"]["multiply"] for line in open(out / "events.jsonl") if '"iterate"' in line]
    return {"wall": wall, "passes": list(np.diff([0, *at])), "result": json.loads((out / "result.json").read_text())}


def passes(args, folder):
    """Measure the seconds of a pass on every engine. The matrices have few entries, so that the time is the overhead besides reading A."""
    found = []
    for n in args.columns:
        a = store(folder, n, n, 2)
        for l in (4, 16):
            times = {e: [] for e in args.engines}
            for _ in range(args.rounds):
                for e in args.engines:
                    more = ["--processes", 2] if e.startswith("command") else []
                    run = svd(a, folder, "--engine", e, *more, "--groups", 4, "-k", 2, "--method", "block", "--block", l, "--max-passes", 12, "--vectors", "right")
                    times[e] += run["passes"][WARM:]
                    print("passes", n, l, e, f"{statistics.median(times[e]):.4f} s", flush=True)
            found += [{"columns": n, "l": l, "engine": e, "seconds": statistics.median(t), "best": min(t), "of": len(t)} for e, t in times.items()]
    return found


def workers(args, folder):
    """Measure the seconds of a pass with one and with two worker processes, of one thread each. The columns stay resident in memory."""
    a = store(folder, args.entries // 100, 15_000, 100)
    times = {1: [], 2: []}
    for _ in range(args.rounds):
        for p in times:
            engine = f"command:{program()} worker --workers 1"
            run = svd(a, folder, "--engine", engine, "--processes", p, "--groups", 8, "-k", 2, "--method", "block", "--block", 8, "--max-passes", 10, "--vectors", "right")
            times[p] += run["passes"][WARM:]
            print("workers", p, f"{statistics.median(times[p]):.4f} s", flush=True)
    return [{"entries": args.entries, "processes": p, "seconds": statistics.median(t), "best": min(t)} for p, t in times.items()]


def residual(A, u, s, v):
    """Return max(‖Av − σu‖, ‖Aᵀu − σv‖)/σ₁ over all triplets."""
    return float(max(np.linalg.norm(A @ v - u * s, axis=0).max(), np.linalg.norm(A.T @ u - v * s, axis=0).max()) / s.max())


def beside_dask(A, k, args, shared):
    import dask
    import dask.array as da
    import distributed

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as c, distributed.Client(c) as client:
        X = client.persist(da.from_array(A.toarray(), chunks=(-(-A.shape[0] // 4), A.shape[1])))
        distributed.wait(X)
        a = gdsvd.Store.from_scipy(A, pathlib.Path(shared) / "dask.csr")
        gdsvd.svds(X, k=1, tol=0.1, client=client, shared=shared)  # starts the workers
        for power in args.powers:

            def theirs(power=power):
                u, s, v = dask.compute(*da.linalg.svd_compressed(X, k=k, n_power_iter=power, seed=0))
                return u, s, v.T

            for name, x in ("dense blocks of Dask", X), ("a store", a):
                yield f"dask svd_compressed, n_power_iter={power}; gdsvd of {name}", theirs, lambda tol, x=x: gdsvd.svds(x, k=k, tol=tol, client=client, shared=shared)


def beside_spark(A, k, args, shared):
    from pyspark.mllib.linalg import Vectors
    from pyspark.mllib.linalg.distributed import IndexedRow, IndexedRowMatrix
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[2, 4]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    a = gdsvd.Store.from_scipy(A, pathlib.Path(shared) / "whole.csr")
    lines = [IndexedRow(i, Vectors.sparse(A.shape[1], A.indices[A.indptr[i] : A.indptr[i + 1]], A.data[A.indptr[i] : A.indptr[i + 1]])) for i in range(A.shape[0])]
    m = IndexedRowMatrix(spark.sparkContext.parallelize(lines, 4).cache())
    m.numRows()
    gdsvd.svds(a, k=1, tol=0.1, client=spark, shared=shared)

    def theirs():
        d = m.computeSVD(k, computeU=True)
        left = np.zeros((A.shape[0], k))
        for r in d.U.rows.collect():
            left[r.index] = r.vector.toArray()
        return left, d.s.toArray(), d.V.toArray()

    yield "Spark MLlib computeSVD", theirs, lambda tol: gdsvd.svds(a, k=k, tol=tol, client=spark, shared=shared)
    spark.stop()


def whole(args, folder):
    """Time whole jobs of another program and of gdsvd on running workers with data in memory. gdsvd's tolerance is the other's residual."""
    m, n, each = args.shape
    A = sp.vstack(list(rows(m, n, each)), format="csr")
    found = []
    for beside in (beside_dask, beside_spark):
        for name, theirs, ours in beside(A, args.rank, args, folder):
            times, errors = {"theirs": [], "ours": []}, {}
            for _ in range(args.rounds):
                begun = time.perf_counter()
                u, s, v = theirs()
                times["theirs"].append(time.perf_counter() - begun)
                errors["theirs"] = residual(A, u, s, v)
                begun = time.perf_counter()
                u, s, vt = ours(min(0.5, max(1e-8, errors["theirs"])))
                times["ours"].append(time.perf_counter() - begun)
                errors["ours"] = residual(A, u, s, vt.T)
            found.append({"beside": name, "shape": [m, n], "entries": A.nnz, "k": args.rank, "residual": errors, "seconds": {x: statistics.median(t) for x, t in times.items()}})
            print("whole", json.dumps(found[-1]), flush=True)
    return found


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(map(str, line)) + " |" for line in lines)]) + "\n"


def page(all):
    """Return the tables of dist.md."""
    text = [f"# Engines side by side\n\n{all['machine']}; load average at the beginning {all['load'][0]:.1f}, at the end {all['load'][1]:.1f}. Made by `bench/dist/dist.py`.\n"]
    if "passes" in all:
        local = {(r["columns"], r["l"]): r["seconds"] for r in all["passes"] if r["engine"] == "local"}
        text.append("Seconds of a pass over n × n with 2 entries a row, in 4 groups: the median, and what is above the local engine.\n")
        rows = [(f"{r['columns']:,}", r["l"], r["engine"].partition(":")[0], f"{r['seconds']:.3f}", f"{r['seconds'] - local[r['columns'], r['l']]:+.3f}") for r in all["passes"]]
        text.append(table(["n", "l", "engine", "s", "above local"], rows))
    if "workers" in all:
        one, two = (r["seconds"] for r in all["workers"])
        text.append(f"{all['workers'][0]['entries']:,} entries, 15,000 columns, 8 vectors: {one:.2f} s a pass with one worker process of one thread, {two:.2f} s with two: {one / two:.2f} ×.\n")
    if "whole" in all:
        text.append("Whole jobs on the same two cores, engines running, data in memory; gdsvd has the other's residual as its tolerance, 1e-8 at least.\n")
        rows = [
            (r["beside"], "{:,} × {:,}".format(*r["shape"]), f"{r['entries']:,}", f"{r['seconds']['theirs']:.2f}", f"{r['residual']['theirs']:.1e}", f"{r['seconds']['ours']:.2f}", f"{r['residual']['ours']:.1e}", f"{r['seconds']['theirs'] / r['seconds']['ours']:.1f} ×")
            for r in all["whole"]
        ]
        text.append(table(["beside", "matrix", "entries", "s", "residual", "gdsvd, s", "residual", "ratio"], rows))
    return "\n".join(text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=pathlib.Path, default=OUT)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--columns", type=int, nargs="+", default=[10_000, 1_000_000])
    p.add_argument("--engines", nargs="+", default=["local", f"command:{program()} worker --workers 1", "dask-local", "ray-local", "spark-local"])
    p.add_argument("--entries", type=int, default=200_000_000)
    p.add_argument("--shape", type=int, nargs=3, default=[6040, 3706, 165], help="rows, columns, entries a row")
    p.add_argument("--rank", type=int, default=10)
    p.add_argument("--powers", type=int, nargs="+", default=[4, 16])
    p.add_argument("--only", nargs="+", default=["passes", "workers", "whole"])
    args = p.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "dist.json"
    all = json.loads(file.read_text()) if file.exists() else {}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as tmp:
        for part in args.only:
            found = globals()[part](args, pathlib.Path(tmp))
            again = [(r.get("columns"), r.get("shape")) for r in found]
            all[part] = found if part == "workers" else [r for r in all.get(part, []) if (r.get("columns"), r.get("shape")) not in again] + found
            versions = {name: __import__("importlib.metadata").metadata.version(name) for name in ("dask", "pyspark", "ray")}
            all.update(machine=f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}, {versions}", load=[load, os.getloadavg()[0]])
            file.write_text(json.dumps(all, indent=1) + "\n")
            (args.out / "dist.md").write_text(page(all))


if __name__ == "__main__":
    main()
