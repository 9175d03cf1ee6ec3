"""Compares principal components of a simulated cohort by gdsvd, PCAone, plink2 and scikit-allel: time, memory, and deviation from dense LAPACK.

    python3 compare.py GDSVD PCAONE PLINK2 [SAMPLES VARIANTS [FOLDER]]

Needs numpy. scikit-allel is measured if it is installed, PCAONE and PLINK2 unless their argument is "-". The cohort has four
populations (F = 0.05), and 3 % of its genotypes are missing. PCAone and plink2 are given two threads.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

K = 10


def cohort(n, m, path):
    """Writes a .bed file of genotypes with its .bim and .fam, and returns the genotypes, samples × variants; -1: missing."""
    r = np.random.default_rng(1)
    frequencies, f = r.uniform(0.05, 0.5, m), 0.05
    of = r.beta(frequencies * (1 - f) / f, (1 - frequencies) * (1 - f) / f, size=(4, m))
    g = r.binomial(2, of[np.arange(n) % 4]).astype(np.int8)
    g[r.random((n, m), dtype=np.float32) < 0.03] = -1
    bits = np.array([3, 2, 0, 1], np.uint8)[g.T]
    bits = np.pad(bits, ((0, 0), (0, -n % 4))).reshape(m, -1, 4)
    packed = bits[:, :, 0] | bits[:, :, 1] << 2 | bits[:, :, 2] << 4 | bits[:, :, 3] << 6
    with open(path + ".bed", "wb") as out:
        out.write(b"\x6c\x1b\x01" + packed.tobytes())
    with open(path + ".fam", "w") as out:
        out.writelines(f"s{i:06d} s{i:06d} 0 0 1 -9\n" for i in range(n))
    with open(path + ".bim", "w") as out:
        out.writelines(f"1\trs{j:07d}\t0\t{j + 1}\tA\tG\n" for j in range(m))
    return g


# A small process starts and measures each program, because the peak memory of a child process starts from that of its parent.
MEASURE = """
import os, sys, time
began = time.monotonic()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, used = os.wait4(pid, 0)
print(status, time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def run(*command):
    """Runs a program, and returns its seconds, its processor seconds and its peak memory in MiB."""
    status, *used = map(float, subprocess.run([sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True).stdout.split())
    if status:
        sys.exit(f"{command}: status {status}")
    return used


def angle(u, w):
    """Returns the sine of the largest angle between the spaces that the columns of u and w span."""
    u, w = np.linalg.qr(u)[0], np.linalg.qr(w)[0]
    return np.linalg.norm(w - u @ (u.T @ w), 2)


def oracle(g):
    """Returns the leading K singular values and left vectors of the dense matrix of the patterson view, by LAPACK in float64."""
    x = g.astype(np.float64)
    x[g < 0] = np.nan
    mean = np.nanmean(x, axis=0)
    x = (x - mean) / np.sqrt(mean * (1 - mean / 2))
    x[g < 0] = 0
    values, vectors = np.linalg.eigh(x @ x.T)
    return np.sqrt(values[::-1][:K]), vectors[:, ::-1][:, :K]


ALLEL = """
import sys, allel, numpy as np
g = np.load(sys.argv[1]).T.astype('i1')
coords, model = allel.pca(g, n_components=%d, scaler='patterson')
np.save(sys.argv[2], coords)
""" % K


def main():
    gdsvd, pcaone, plink2 = sys.argv[1:4]
    n, m = (int(x) for x in sys.argv[4:6]) if len(sys.argv) > 5 else (2000, 50000)
    with tempfile.TemporaryDirectory(dir=sys.argv[6] if len(sys.argv) > 6 else None) as folder:
        path = os.path.join(folder, "cohort")
        g = cohort(n, m, path)
        print(f"{n} samples, {m} variants, {os.path.getsize(path + '.bed') / 2**20:.1f} MiB of .bed")
        sigma, u = oracle(g)

        def say(name, used, values, vectors):
            print(f"{name:36} {used[0]:7.2f} s {used[1]:7.2f} CPU s {used[2]:8.1f} MiB   values {values:.1e}   space of 3 {angle(u[:, :3], vectors[:, :3]):.1e}", flush=True)

        ingest = run(gdsvd, "ingest", path + ".bed", "-o", path + ".csr")
        print(f"{'gdsvd ingest':36} {ingest[0]:7.2f} s {ingest[1]:7.2f} CPU s {ingest[2]:8.1f} MiB   store {sum(f.stat().st_size for f in os.scandir(path + '.csr')) / 2**20:.1f} MiB", flush=True)
        for more in ["--tol", "1e-4"], ["--tol", "1e-10"], ["--tol", "1e-4", "--memory", "64MiB"]:
            out = f"{path}{more[1]}{len(more)}.svd"
            used = run(gdsvd, "svd", path + ".csr", "-k", str(K), "--view", "patterson", *more, "-o", out)
            result = json.load(open(out + "/result.json"))
            say(" ".join(["gdsvd svd", *more]), used, np.abs(np.array(result["sigma"]) / sigma - 1).max(), np.load(out + "/U.npy"))
        # PCAone by default with the matrix in memory; with -m in blocks of at most 0.1 GB; and with -d 0 by Arnoldi's method, of tolerance 1e-6.
        for more in ([], ["-m", "0.1"], ["-d", "0"]) if pcaone != "-" else ():
            used = run(pcaone, "-b", path, "-k", str(K), "-n", "2", "-o", path + ".pcaone", *more)
            values, vectors = (np.loadtxt(f"{path}.pcaone.{what}") for what in ("sigvals", "eigvecs"))
            say(" ".join(["PCAone", *more]), used, np.abs(values / values[0] / (sigma / sigma[0]) - 1).max(), vectors)
        if plink2 != "-":
            used = run(plink2, "--bfile", path, "--pca", str(K), "--threads", "2", "--out", path + ".plink")
            vectors = np.loadtxt(path + ".plink.eigenvec", comments="#", usecols=range(2, 2 + K))
            values = np.sqrt(np.loadtxt(path + ".plink.eigenval"))
            say("plink2 --pca", used, np.abs(values / values[0] / (sigma / sigma[0]) - 1).max(), vectors)
        if not importlib.util.find_spec("allel"):
            return
        np.save(path + ".npy", np.where(g < 0, 0, g))  # scikit-allel does not support missing genotypes, and scales by sqrt(p(1-p))
        used = run(sys.executable, "-c", ALLEL, path + ".npy", path + ".allel.npy")
        coords = np.load(path + ".allel.npy")
        full = oracle(np.where(g < 0, 0, g))
        print(f"{'scikit-allel (missing: 0)':36} {used[0]:7.2f} s {used[1]:7.2f} CPU s {used[2]:8.1f} MiB   values {np.abs(np.linalg.norm(coords, axis=0) / full[0] / 2**0.5 - 1).max():.1e}   space of 3 {angle(full[1][:, :3], coords[:, :3]):.1e}")


main()
