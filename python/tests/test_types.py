"""A small user program passes mypy --strict, with the types that the documentation names."""

import pathlib
import subprocess
import sys

import pytest

import gdsvd

pytest.importorskip("mypy")

USER = """
from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from typing_extensions import assert_type

import gdsvd

A = sp.random(50, 30, 0.2, format="csr")
found = gdsvd.svds(A, k=3)
assert_type(found, gdsvd.SVDResult)
u, s, vt = found
assert_type(s, NDArray[np.float64])
report = gdsvd.svds(A, k=3, view="lsi", return_info=True)
assert_type(report, gdsvd.SVDReport)
assert_type(report.info["status"], str)
assert_type(max(report.info["residual"]), float)
pca = gdsvd.PCA(3).fit(A)
assert_type(pca, gdsvd.PCA)
assert_type(pca.components_, NDArray[np.float64])
assert_type(pca.mean_, NDArray[np.float64])
assert_type(gdsvd.TruncatedSVD(3).fit_transform(A), NDArray[np.float64])
assert_type(pca.transform(A), NDArray[np.float64])
store = gdsvd.Store.from_scipy(A, "a.csr")
assert_type(store, gdsvd.Store)
f = store.svd(3, "a.svd")
assert_type(f, gdsvd.Factorization)
assert_type(f.s, NDArray[np.float64])
assert_type(f.U, NDArray[np.float64] | None)
assert_type(f.project(A), NDArray[np.float64])
assert_type(f.project(A, return_info=True), tuple[NDArray[np.float64], dict[str, Any]])
"""


def test_mypy(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text("import gdsvd\n\ngdsvd.svd(3)\ngdsvd.svds(3, tol='x')\n")
    config = "[mypy]\nstrict = true\n[mypy-scipy.*]\nignore_missing_imports = true\n"
    (tmp_path / "mypy.ini").write_text(config)
    env = {"MYPYPATH": str(pathlib.Path(gdsvd.__file__).parents[1])} if "site-packages" not in gdsvd.__file__ else {}
    mypy = lambda name: subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--config-file=mypy.ini", "--cache-dir=c", name], cwd=tmp_path, env=env, capture_output=True, text=True
    ).stdout
    assert "Success" in mypy("user.py"), mypy("user.py")
    said = mypy("wrong.py")
    assert 'wrong.py:3: error: Module has no attribute "svd"' in said and "wrong.py:4" in said and "Found 2 errors" in said, said
