"""Compare gdsvd.svds with scipy.sparse.linalg.svds (ARPACK, PROPACK) by the time of whole calls, which alternate, with k = 10.

    python python/bench.py -n 7 --data ../shared/data

The table has wall-clock seconds (median, minimum … maximum) and processor seconds, including those of the gdsvd program. The matrices:
300 × 200 (the least cost of a call), MovieLens 1M and MNIST if their files exist, and 12 million random entries with uneven weights of
rows and columns. The residual max(‖Av − σu‖, ‖Aᵀu − σv‖)/σ₁ is computed here for all programs; gdsvd also measures it itself.

The order of the calls is drawn anew in each round, because a call finds in the caches what the previous call left there.
Before each call one processor is kept busy for a while. Meanwhile the threads of a BLAS, which spin for some time after a call of
ARPACK or PROPACK, go to sleep, and a processor that lowers its clock when idle does not do so.
"""

import argparse
import gzip
import os
import pathlib
import random
import statistics
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as la

import gdsvd


def matrices(data):
    yield "300 × 200", sp.random(300, 200, 0.1, "csr", random_state=1)
    ratings = data / "movielens" / "ml-1m" / "ratings-notimestamp.dat.gz"
    if ratings.exists():
        with gzip.open(ratings) as f:
            d = np.array([line.split(b"::")[:3] for line in f]).astype(float)
        yield "MovieLens 1M", sp.csr_matrix((d[:, 2], (d[:, 0].astype(int) - 1, d[:, 1].astype(int) - 1)))
    images = data / "mnist" / "train-images-idx3-ubyte.gz"
    if images.exists():
        with gzip.open(images) as f:
            yield "MNIST", sp.csr_matrix(np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 784)).astype(float)
    n, r = 12_000_000, np.random.default_rng(1)
    made = sp.csr_matrix((np.ones(n), ((200_000 * r.random(n) ** 2).astype(int), (20_000 * r.random(n) ** 3).astype(int))), shape=(200_000, 20_000))
    yield "made", made


def processor():
    return sum(os.times()[:4])


def settle(seconds=0.12):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def residual(a, u, s, vt):
    return max(np.linalg.norm(a @ vt.T - u * s, axis=0).max(), np.linalg.norm(a.T @ u - vt.T * s, axis=0).max()) / s.max()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=7, help="rounds")
    p.add_argument("--data", type=pathlib.Path, default=pathlib.Path(os.environ.get("GDSVD_DATA", "../shared/data")))
    args = p.parse_args()
    turns = random.Random(1)
    print("| matrix | entries | call | median, s | from … to | CPU, s | residual |\n|---|---|---|---|---|---|---|")
    for name, a in matrices(args.data):
        calls = {
            "gdsvd": lambda a=a: gdsvd.svds(a, 10),
            "ARPACK": lambda a=a: la.svds(a, 10, solver="arpack"),
            "PROPACK": lambda a=a: la.svds(a, 10, solver="propack"),
        }
        wall, cpu = ({c: [] for c in calls} for _ in range(2))
        residuals = {c: residual(a, *call()) for c, call in calls.items()}
        for _ in range(args.n):
            for c in turns.sample(list(calls), len(calls)):
                settle()
                used, begun = processor(), time.perf_counter()
                calls[c]()
                wall[c].append(time.perf_counter() - begun)
                cpu[c].append(processor() - used)
        for c, w in wall.items():
            print(
                f"| {name} | {a.nnz} | {c} | {statistics.median(w):.3f} | {min(w):.3f} … {max(w):.3f} | {statistics.median(cpu[c]):.2f} | {residuals[c]:.0e} |"
            )


if __name__ == "__main__":
    main()
