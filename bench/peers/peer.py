"""Run one peer, a program that gdsvd is compared with, in this process, and measure it.

usage: peer.py factorise NAME MATRIX K SEED
       peer.py ingest NAME FILE
       peer.py similar NAME RESULT N

MATRIX is a directory written by peers.py (see ARRAYS there), FILE a table written by it, RESULT a result of gdsvd svd.
Matrices and vectors are loaded and libraries imported before the clock starts. The output is JSON: wall-clock and
processor seconds, peak resident memory after the measured call and before it, and the quality of the result. That is the
true residual of a factorisation, max over i of max(‖A vᵢ − σᵢ uᵢ‖, ‖Aᵀ uᵢ − σᵢ vᵢ‖) / σ₁; or shape, entries and sum of
squares of a matrix; or the share of the neighbours that are among the nearest.
"""

import ctypes
import json
import os
import pathlib
import resource
import sys
import time

import numpy as np
import scipy.sparse as sp

TOL = 1e-8


def load(directory):
    d = pathlib.Path(directory)
    shape = json.loads((d / "shape.json").read_text())
    return sp.csr_matrix(
        (np.fromfile(d / "data.f64"), np.fromfile(d / "indices.i32", np.int32), np.fromfile(d / "indptr.i32", np.int32)),
        shape=(shape["rows"], shape["cols"]),
    )


def residuals(a, u, s, v):
    """Return the two-sided residual of each triplet; u and v hold vectors in columns."""
    left = np.linalg.norm(a @ v - u * s, axis=0)
    right = np.linalg.norm(a.T @ u - v * s, axis=0)
    return np.maximum(left, right) / s.max()


def peak_rss():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def scipy_svds(solver, **kw):
    from scipy.sparse.linalg import svds

    def run(a, k, seed):
        u, s, vt = svds(a, k=k, solver=solver, rng=np.random.default_rng(seed), **kw)
        return u, s, vt.T

    return run


def randomized(n_iter):
    from sklearn.utils.extmath import randomized_svd

    def run(a, k, seed):
        u, s, vt = randomized_svd(a, k, n_iter=n_iter, random_state=seed)
        return u, s, vt.T

    return run


def truncated():
    from sklearn.decomposition import TruncatedSVD

    def run(a, k, seed):
        t = TruncatedSVD(k, random_state=seed)
        us = t.fit_transform(a)
        return us / t.singular_values_, t.singular_values_, t.components_.T

    return run


def primme_svds():
    import primme

    def run(a, k, seed):
        np.random.seed(seed)
        u, s, vt = primme.svds(a, k, tol=TOL)
        return u, s, vt.T

    return run


def gensim_lsi():
    from gensim.models.lsimodel import stochastic_svd

    def run(a, k, seed):
        np.random.seed(seed)
        u, s = stochastic_svd(a.T, k, a.shape[1], power_iters=2, extra_dims=100)
        u, s = u[:, :k], s[:k]  # left vectors of Aᵀ, which are right vectors of A
        return (a @ u) / s, s, u

    return run


def fbpca_pca():
    import fbpca

    def run(a, k, seed):
        np.random.seed(seed)
        u, s, vt = fbpca.pca(a, k, raw=True, n_iter=2)
        return u, s, vt.T

    return run


class Dense(ctypes.Structure):
    """The struct mat of dashSVD, a dense matrix stored by columns."""

    _fields_ = [("rows", ctypes.c_int64), ("cols", ctypes.c_int64), ("data", ctypes.POINTER(ctypes.c_double))]

    def array(self):
        return np.ctypeslib.as_array(self.data, (self.cols, self.rows)).T


class Rows(ctypes.Structure):
    """The struct mat_csr of dashSVD, a CSR matrix whose indices begin at 1."""

    _fields_ = [("nnz", ctypes.c_int64), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64)] + [
        (name, ctypes.c_void_p) for name in ("values", "indices", "starts")]


def dashsvd(tol):
    library = ctypes.CDLL(os.environ["DASHSVD"])

    def run(a, k, seed):
        indices, starts = a.indices.astype(np.int64) + 1, a.indptr.astype(np.int64) + 1
        rows = Rows(a.nnz, *a.shape, a.data.ctypes.data, indices.ctypes.data, starts.ctypes.data)
        u, s, v = (ctypes.POINTER(Dense)() for _ in range(3))
        library.dashSVD_opt(*map(ctypes.byref, (rows, u, s, v)), k, 1000, k // 2, ctypes.c_double(tol))
        return u.contents.array(), s.contents.array().ravel(), v.contents.array()

    return run


# Each function imports its library when called. A library with a tolerance runs with its default,
# with a tolerance comparable to that of gdsvd, or with both under two names: see README.md.
PEERS = {
    "scipy-arpack": lambda: scipy_svds("arpack"),
    "scipy-arpack-1e-8": lambda: scipy_svds("arpack", tol=TOL),
    "scipy-propack": lambda: scipy_svds("propack"),
    "scipy-lobpcg": lambda: scipy_svds("lobpcg", tol=TOL, maxiter=500),
    "sklearn-randomized": lambda: randomized("auto"),
    "sklearn-randomized-30": lambda: randomized(30),
    "sklearn-truncated": truncated,
    "primme": primme_svds,
    "gensim-stochastic": gensim_lsi,
    "fbpca": fbpca_pca,
    "dashsvd": lambda: dashsvd(1e-2),
    "dashsvd-1e-12": lambda: dashsvd(1e-12),
}


def pandas_table():
    import pandas as pd

    def run(file):
        if file.endswith(".dat"):  # separators of pandas have one byte: "::" is read as two, with empty columns between
            d = pd.read_csv(file, sep=":", header=None, usecols=[0, 2, 4])
        else:
            d = pd.read_parquet(file) if file.endswith(".parquet") else pd.read_csv(file)
        user, item, rating = (d[c] for c in d.columns)
        return pd.factorize(user, sort=True)[0], pd.factorize(item, sort=True)[0], rating.to_numpy()

    return run


def polars_table():
    import polars as pl

    def codes(ids):
        known = ids.unique().sort()
        return ids.replace_strict(known, np.arange(len(known), dtype=np.int32), return_dtype=pl.Int32).to_numpy()

    def run(file):
        d = pl.read_parquet(file) if file.endswith(".parquet") else pl.read_csv(file)
        return codes(d["user"]), codes(d["item"]), d["rating"].to_numpy()

    return run


def duckdb_table():
    import duckdb

    def run(file):
        con = duckdb.connect(config={"threads": int(os.environ["OMP_NUM_THREADS"])})
        con.execute("set preserve_insertion_order = false")
        con.execute(f"create view d as from '{file}'")
        for name in ("user", "item"):
            con.execute(f"create table {name}s as select id, (row_number() over (order by id) - 1)::int code from (select distinct \"{name}\" id from d)")
        out = con.execute("select users.code i, items.code j, rating from d join users on \"user\" = users.id join items on item = items.id").fetchnumpy()
        return out["i"], out["j"], out["rating"]

    return run


# Functions that read a table and number its ids in ascending order, as gdsvd does.
TABLES = {"pandas": pandas_table, "polars": polars_table, "duckdb": duckdb_table}


def implicit_neighbours(result, n):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "recsys"))
    from recsys import given_factors

    vectors = np.load(f"{result}/V.npy") * np.load(f"{result}/sigma.npy")
    model = given_factors(vectors, vectors, int(os.environ["OMP_NUM_THREADS"]))
    return lambda: model.similar_items(np.arange(len(vectors)), N=n + 1)[0]  # N = n + 1, because the first neighbour is the column itself


def nearest(vectors, n):
    """Return the normalised vectors, and for each of them the n-th largest cosine with the others."""
    x = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    least = []
    for at in range(0, len(x), 1000):
        c = x[at:at + 1000] @ x.T
        c[np.arange(len(c)), at + np.arange(len(c))] = -2
        least.append(np.partition(c, -n, axis=1)[:, -n])
    return x, np.concatenate(least)


def right(vectors, n, lists):
    """Return the share of the n listed neighbours that are among the n nearest. Cosines may be 1e-6 too small, as in float32 results."""
    x, least = nearest(vectors, n)
    own = np.arange(len(x))
    good = sum(((x * x[other]).sum(axis=1) >= least - 1e-6) & (other != own) for other in lists.T)
    return float(np.minimum(good, n).mean() / n)


def factorise(name, matrix, k, seed):
    run, a, k = PEERS[name](), load(matrix), int(k)
    (u, s, v), used = measured(lambda: run(a, k, int(seed)))
    return used | {"residual": float(residuals(a, u, s, v).max()), "sigma": sorted(map(float, s), reverse=True)}


def ingest(name, file):
    read = TABLES[name]()

    def run():
        i, j, values = read(file)
        m = sp.coo_matrix((values, (i, j))).tocsr()
        m.sum_duplicates()
        return m

    m, used = measured(run)
    return used | {"matrix": [*m.shape, m.nnz, float((m.data.astype(float) ** 2).sum())]}


def similar(name, result, n):
    lists, used = measured(implicit_neighbours(result, int(n)))
    return used | {"right": right(np.load(f"{result}/V.npy") * np.load(f"{result}/sigma.npy"), int(n), lists)}


def measured(run):
    before, wall, cpu = peak_rss(), time.perf_counter(), time.process_time()
    out = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return out, {"seconds": wall, "cpu_seconds": cpu, "peak_rss": peak_rss(), "rss_before": before}


if __name__ == "__main__":
    print(json.dumps({"factorise": factorise, "ingest": ingest, "similar": similar}[sys.argv[1]](*sys.argv[2:])))
