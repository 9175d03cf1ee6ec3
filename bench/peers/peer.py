"""Run one peer on one matrix in this process, and measure it.

usage: peer.py NAME MATRIX K SEED

MATRIX is a directory that peers.py has written (ARRAYS). The data are loaded and the library
imported before the clock starts. What is printed, as JSON: wall and processor
seconds of the factorisation, peak resident memory of the process until its end
and before its beginning, and the true residual of its result,
max over i of max(‖A vᵢ − σᵢ uᵢ‖, ‖Aᵀ uᵢ − σᵢ vᵢ‖) / σ₁, computed afterwards.
"""

import json
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
    """The two-sided residual of each triplet; u and v hold vectors in columns."""
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
        u, s = u[:, :k], s[:k]  # of Aᵀ: our right vectors
        return (a @ u) / s, s, u

    return run


def fbpca_pca():
    import fbpca

    def run(a, k, seed):
        np.random.seed(seed)
        u, s, vt = fbpca.pca(a, k, raw=True, n_iter=2)
        return u, s, vt.T

    return run


# Each entry imports its library when called. Where a library takes a tolerance,
# it is run with its default or with the one that makes it comparable: see README.md.
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
}


def main():
    name, matrix, k, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    run = PEERS[name]()
    a = load(matrix)
    before = peak_rss()
    wall, cpu = time.perf_counter(), time.process_time()
    u, s, v = run(a, k, seed)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rss = peak_rss()
    print(json.dumps({
        "seconds": wall, "cpu_seconds": cpu, "peak_rss": rss, "rss_before": before,
        "residual": float(residuals(a, u, s, v).max()), "sigma": sorted(map(float, s), reverse=True),
    }))


if __name__ == "__main__":
    main()
