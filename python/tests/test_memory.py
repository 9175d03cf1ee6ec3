"""Matrices in files are never whole in memory: the peak memory of the process is measured."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
sys.path.insert(0, os.path.dirname(__file__))
import cells

PEAK = """
import sys, gdsvd, h5py, numpy as np, scipy.sparse as sp
from gdsvd import _hdf5
_hdf5.ENTRIES = 1 << 16
def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024
path, folder, how = sys.argv[1:]
m = sp.random(50, 40, 0.5, "csr")
gdsvd.Store.from_chunks(iter([m]), folder + "/warm", shape=m.shape).svd(2, folder + "/warm.svd")
with h5py.File(path) as h:
    ids = h["var/_index"][:5]
    small, whole = peak(), h["X/data"].nbytes + h["X/indices"].nbytes
if how == "pca":
    gdsvd.pp.pca(path, 3, "pca", tol=1e-3)
elif how == "h5ad":
    gdsvd.Store.from_h5ad(path, folder + "/a")
elif how == "10x":
    gdsvd.Store.from_10x_h5(path, folder + "/a")
else:
    with h5py.File(path) as h:
        shape, blocks = _hdf5.values(h, None)
        gdsvd.Store.from_chunks(blocks, folder + "/a", shape=shape if how == "shape" else None)
print((peak() - small) / whole)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 2 million entries that can be read as AnnData and as 10x."""
    path, rows, cols = tmp_path_factory.mktemp("large") / "large.h5", 5_000, 4_000
    r = np.random.default_rng(1)
    with h5py.File(path, "w") as h:
        for side, n in (("obs", rows), ("var", cols)):
            cells.frame(h, side, [f"{side}{i}" for i in range(n)])
        g = h.create_group("X")
        g.attrs.update({"encoding-type": "csr_matrix", "shape": (rows, cols)})
        g["indices"] = (np.arange(400, dtype="i4") * 10 + r.integers(0, 10, (rows, 400), "i4")).ravel()
        g["data"] = r.integers(1, 9, rows * 400).astype("f4")
        g["indptr"] = np.arange(0, rows * 400 + 1, 400)
        h["matrix"] = g
        g["shape"] = (cols, rows)
        g["barcodes"] = h["obs/_index"]
        g["features/id"] = g["features/name"] = h["var/_index"]
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory in /proc")
@pytest.mark.parametrize("how", ["h5ad", "10x", "chunks", "shape", "pca"])
def test_no_matrix_is_in_memory(tmp_path, large, how):
    """With small blocks, the peak memory of the process grows by less than half of the size of the matrix."""
    path = shutil.copy(large, tmp_path)
    out = subprocess.run([sys.executable, "-c", PEAK, path, tmp_path, how], capture_output=True, text=True)
    assert float(out.stdout) < 0.5, out
