#!/usr/bin/env python3
"""Eigenvalues of the undirected Slashdot graph without loops, by ARPACK.

    python3 -m venv venv && venv/bin/pip install scipy==1.17.1
    venv/bin/python slashdot.py $GDSVD_DATA/snap/soc-Slashdot0902.mtx.gz > slashdot.json

Eigenvalues of the adjacency matrix, the ten of each end and those of the largest magnitude,
and the four largest of D^-1/2 A D^-1/2.
"""

import json
import sys

import numpy
import scipy.io
import scipy.sparse
from scipy.sparse.linalg import eigsh

a = scipy.sparse.csr_matrix(scipy.io.mmread(sys.argv[1]))
a = a + a.T
a.setdiag(0)
a.eliminate_zeros()
a.data[:] = 1
degree = numpy.asarray(a.sum(axis=1)).ravel()
scale = scipy.sparse.diags(1 / numpy.sqrt(numpy.maximum(degree, 1)))
normalised = scale @ a @ scale


def leading(matrix, k, which):
    values = eigsh(matrix.astype(float), k=k, which=which, tol=0, return_eigenvectors=False, v0=numpy.ones(a.shape[0]))
    key = {"LM": lambda v: -abs(v), "LA": lambda v: -v, "SA": lambda v: v}[which]
    return sorted(values.tolist(), key=key)


json.dump({
    "scipy": scipy.__version__, "entries": int(a.nnz),
    "adjacency": {w: leading(a, 10, w) for w in ("LM", "LA", "SA")},
    "laplacian": {"LA": leading(normalised, 4, "LA")},
}, sys.stdout, indent=1)
print()
