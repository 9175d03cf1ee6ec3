#!/usr/bin/env python3
"""Compare gdsvd with common recommenders, on one split of one set of ratings.

  recsys.py setup --venv DIR                                     install the other programs
  recsys.py run   --venv DIR --gdsvd PATH --out DIR RATINGS      quality of the recommendations, with equal effort of tuning
  recsys.py speed --venv DIR --gdsvd PATH --out DIR STORE        time of the lists of all rows

README.md describes what is measured. run and speed write a JSON file and print a table in Markdown.
"""

import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import time

PACKAGES = ["numpy", "scipy", "implicit", "threadpoolctl"]
N = 20


def setup(args):
    subprocess.run([sys.executable, "-m", "venv", args.venv], check=True)
    subprocess.run([str(pathlib.Path(args.venv, "bin", "pip")), "install", "-q"] + PACKAGES, check=True)


def again(args):
    """Run this script again with the Python of the virtual environment and --threads threads, unless that Python runs it already."""
    python = str(pathlib.Path(args.venv, "bin", "python"))
    threads = {name: str(args.threads) for name in ("OMP_NUM_THREADS", "GOMAXPROCS")}
    # implicit has its own threads, and warns that threads of the BLAS slow them down.
    threads["OPENBLAS_NUM_THREADS"] = "1"
    if os.path.realpath(sys.prefix) != os.path.realpath(args.venv):
        sys.exit(subprocess.run([python, __file__] + sys.argv[1:], env=os.environ | threads).returncode)


class Clock:
    """Wall-clock and processor seconds of a block, including those of child processes."""

    def __enter__(self):
        self.wall, self.cpu = time.time(), self.processor()
        return self

    def __exit__(self, *_):
        self.wall, self.cpu = time.time() - self.wall, self.processor() - self.cpu

    @staticmethod
    def processor():
        return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def load(gdsvd, store, out):
    """Return the matrix of a store with all entries replaced by 1."""
    import numpy as np
    import scipy.sparse as sp

    file = str(out / (pathlib.Path(store).name + ".npz"))
    subprocess.run([gdsvd, "export", store, "--view", "binary", "-o", file, "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    return sp.load_npz(file).tocsr().astype(np.float32)


def metrics(lists, train, test):
    """Return recall@20 = hits/min(20, T), T test entries, and NDCG@20 (Liang et al. 2018): means over users with entries in both. −1 pads lists."""
    import numpy as np

    discounts = 1 / np.log2(np.arange(2, N + 2))
    recall, ndcg = [], []
    for u in range(train.shape[0]):
        wanted = set(test.indices[test.indptr[u]:test.indptr[u + 1]])
        if not wanted or train.indptr[u] == train.indptr[u + 1]:
            continue
        hits = np.array([x in wanted for x in lists[u]])
        most = min(N, len(wanted))
        recall.append(hits.sum() / most)
        ndcg.append((hits * discounts).sum() / discounts[:most].sum())
    return {"recall@20": float(np.mean(recall)), "ndcg@20": float(np.mean(ndcg)), "users": len(recall)}


def top(scores, train):
    """Return for each row the 20 columns of highest score in which it has no entry; of equal scores the first columns."""
    import numpy as np

    scores = np.where(train.toarray() > 0, -np.inf, scores)
    return np.argsort(-scores, axis=1, kind="stable")[:, :N]


# A model is a function of a matrix, the working data and settings. It returns the lists of all rows, and the clocks of training and
# of recommending.


def popularity(train, work, s):
    import numpy as np

    with Clock() as fit:
        counts = np.asarray(train.sum(axis=0)).ravel()
    with Clock() as recommend:
        lists = top(np.broadcast_to(counts, train.shape), train)
    return lists, fit, recommend


def implicit_model(model, train):
    import numpy as np

    with Clock() as fit:
        model.fit(train, show_progress=False)
    with Clock() as recommend:
        lists, _ = model.recommend(np.arange(train.shape[0]), train, N=N, filter_already_liked_items=True)
    return lists, fit, recommend


def als(train, work, s):
    from implicit.cpu.als import AlternatingLeastSquares

    return implicit_model(AlternatingLeastSquares(factors=s["factors"], regularization=s["regularization"], alpha=s["alpha"], iterations=15, num_threads=work["threads"], random_state=1), train)


def bm25(train, work, s):
    from implicit.nearest_neighbours import BM25Recommender

    return implicit_model(BM25Recommender(K=s["K"], K1=s["K1"], B=s["B"], num_threads=work["threads"]), train)


def ease(train, work, s):
    """EASE: Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    with threadpool_limits(work["threads"]):
        with Clock() as fit:
            g = np.asarray((train.T @ train).todense(), dtype=np.float64)
            g[np.diag_indices_from(g)] += s["lambda"]
            p = np.linalg.inv(g)
            b = -p / np.diag(p)
            b[np.diag_indices_from(b)] = 0
        with Clock() as recommend:
            lists = top(train @ b, train)
    return lists, fit, recommend


def gdsvd(train, work, s):
    """Two whole processes of gdsvd: svd from the store to a directory with vectors, and recommend from there to a file of lists."""
    import numpy as np

    out = work["out"]
    view = f"binary · normalize=rows,l2 · weight=columns,count:{s['power']}"
    with Clock() as fit:
        subprocess.run([work["gdsvd"], "svd", work["store"], "-k", str(s["k"]), "--view", view, "-o", str(out / "x.svd"), "--force", "-q", "--json"], check=True, stdout=subprocess.DEVNULL)
    with Clock() as recommend:
        subprocess.run([work["gdsvd"], "recommend", str(out / "x.svd"), "--store", work["store"], "-n", str(N), "-o", str(out / "x.csv"), "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    lists = np.full((train.shape[0], N), -1)
    table = np.loadtxt(out / "x.csv", delimiter=",", skiprows=1, usecols=(0, 1, 2), dtype=np.int64)
    row, column, rank = table.T
    if work["ids"]:
        row, column = np.searchsorted(work["ids"][0], row), np.searchsorted(work["ids"][1], column)
    lists[row, rank - 1] = column
    return lists, fit, recommend


# Eight settings for each model that has settings, near the best of a coarser search on the validation split. The setting with the
# highest recall@20 + NDCG@20 on that split is used.
GRIDS = {
    "popularity": (popularity, [{}]),
    "gdsvd recsys": (gdsvd, [{"k": k, "power": p} for k in (30, 50, 70, 100) for p in (-0.3, -0.5)]),
    "implicit ALS": (als, [{"factors": f, "regularization": r, "alpha": a} for f in (64, 128) for r in (50, 100) for a in (4, 10)]),
    "implicit BM25": (bm25, [{"K": k, "K1": k1, "B": b} for k in (100, 200, 500, 1000) for k1, b in ((1.2, 0.75), (1.2, 0.5))]),
    "EASE": (ease, [{"lambda": x} for x in (50, 100, 200, 300, 500, 700, 1000, 2000)]),
}


def ids_of(args, store):
    import numpy as np

    return [np.array(subprocess.run([args.gdsvd, "info", store, "--ids", side], check=True, capture_output=True, text=True).stdout.split(), dtype=np.int64) for side in ("rows", "cols")]


def run(args):
    again(args)
    import numpy as np
    import scipy.io
    import scipy.sparse as sp

    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    store = str(out / "ratings.csr")
    subprocess.run([args.gdsvd, "ingest", args.input, "-o", store, "--holdout", "random:0.2", "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    train, test = load(args.gdsvd, store, out), load(args.gdsvd, store + ".test", out)
    coo = train.tocoo()
    kept = np.random.default_rng(1).random(train.nnz) >= 0.1
    half = lambda keep: sp.csr_matrix((coo.data[keep], (coo.row[keep], coo.col[keep])), train.shape)
    fitted, validation = half(kept), half(~kept)
    scipy.io.mmwrite(out / "fitted.mtx", fitted)
    subprocess.run([args.gdsvd, "ingest", str(out / "fitted.mtx"), "-o", str(out / "fitted.csr"), "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    work = {"gdsvd": args.gdsvd, "out": out, "threads": args.threads}
    tune = work | {"store": str(out / "fitted.csr"), "ids": None}
    final = work | {"store": store, "ids": ids_of(args, store)}
    results = []
    for name, (model, grid) in GRIDS.items():
        def judged(s):
            m = metrics(model(fitted, tune, s)[0], fitted, validation)
            print(name, s, m, file=sys.stderr)
            return m["recall@20"] + m["ndcg@20"]
        best = max(grid, key=judged) if len(grid) > 1 else grid[0]
        rounds = [model(train, final, best) for _ in range(args.rounds)]
        results.append({"model": name, "settings": best, "tried": len(grid)} | metrics(rounds[0][0], train, test) | {
            f"{what}_{clock}": statistics.median(getattr(r[i], clock) for r in rounds) for i, what in ((1, "fit"), (2, "recommend")) for clock in ("wall", "cpu")})
    finish(args, out / "recsys.json", {"input": pathlib.Path(args.input).name, "rows": train.shape[0], "cols": train.shape[1], "entries": int(train.nnz), "results": results})
    print("| | best settings, number of settings tried | recall@20 | NDCG@20 | training, s (processor) | all lists, s (processor) |\n|---|---|---|---|---|---|")
    for r in sorted(results, key=lambda r: -r["recall@20"]):
        settings = ", ".join(f"{k} {v}" for k, v in r["settings"].items()) + (f"; {r['tried']}" if r["tried"] > 1 else "")
        print(f"| {r['model']} | {settings} | {r['recall@20']:.4f} | {r['ndcg@20']:.4f} | {r['fit_wall']:.2f} ({r['fit_cpu']:.2f}) | {r['recommend_wall']:.2f} ({r['recommend_cpu']:.2f}) |")


def given_factors(rows, columns, threads):
    """Return a model of implicit with the given factors."""
    import numpy as np
    from implicit.cpu.matrix_factorization_base import MatrixFactorizationBase

    class Factors(MatrixFactorizationBase):
        def fit(self, *_, **__): pass
        def save(self, *_): pass
        def recalculate_user(self, *_): pass
        def recalculate_item(self, *_): pass

    model = Factors(num_threads=threads)
    model.user_factors, model.item_factors, model.num_threads = rows.astype(np.float32), columns.astype(np.float32), threads
    return model


def finish(args, file, result):
    import implicit

    version = subprocess.run([args.gdsvd, "version"], capture_output=True, text=True).stdout.strip()
    file.write_text(json.dumps({"gdsvd": version, "implicit": implicit.__version__, "machine": platform.processor() or platform.machine(), "threads": args.threads, "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")} | result, indent=1) + "\n")


def speed(args):
    """Time the lists of all rows from the same vectors: the whole process of gdsvd, and the call of recommend of implicit alone."""
    again(args)
    import numpy as np

    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    svd = str(out / "speed.svd")
    subprocess.run([args.gdsvd, "svd", args.input, "-k", "50", "--view", "recsys", "-o", svd, "--force", "-q"], check=True, stdout=subprocess.DEVNULL)
    train = load(args.gdsvd, args.input, out)
    u, sigma, v = (np.load(f"{svd}/{name}.npy") for name in ("U", "sigma", "V"))
    model = given_factors(u * sigma, v, args.threads)

    def ours(file):
        command = [args.gdsvd, "recommend", svd, "--store", args.input, "-n", str(N), "--scores", "model", "--memory", "256MiB", "--workers", str(args.threads), "-o", str(out / file), "--force", "-q"]
        return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    all_rows = np.arange(train.shape[0])
    programs = {
        "gdsvd, whole process, Parquet": ours("speed.parquet"),
        "gdsvd, whole process, CSV": ours("speed.csv"),
        "implicit, recommend alone": lambda: model.recommend(all_rows, train, N=N, filter_already_liked_items=True),
    }
    clocks = {name: [] for name in programs}
    for i in range(args.rounds):
        names = list(programs)
        for name in names[i % len(names):] + names[:i % len(names)]:
            with Clock() as c:
                programs[name]()
            clocks[name].append(c)
    results = [{"program": name, "wall": statistics.median(c.wall for c in cs), "cpu": statistics.median(c.cpu for c in cs)} for name, cs in clocks.items()]
    finish(args, out / "speed.json", {"rows": train.shape[0], "cols": train.shape[1], "entries": int(train.nnz), "rounds": args.rounds, "results": results})
    print("| | s | processor s |\n|---|---|---|")
    for r in results:
        print(f"| {r['program']} | {r['wall']:.2f} | {r['cpu']:.2f} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(required=True)
    for name, do in (("setup", setup), ("run", run), ("speed", speed)):
        c = commands.add_parser(name)
        c.set_defaults(do=do)
        c.add_argument("--venv", required=True)
        if name != "setup":
            c.add_argument("--gdsvd", required=True)
            c.add_argument("--out", required=True)
            c.add_argument("--threads", type=int, default=2)
            c.add_argument("--rounds", type=int, default=3 if name == "run" else 7)
            c.add_argument("input")
    args = p.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
