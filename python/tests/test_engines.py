"""Engines: the same bytes as those of --engine local, whatever is killed."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse

from gdsvd._program import program

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store of several blocks."""
    folder = tmp_path_factory.mktemp("engines")
    rng = np.random.default_rng(1)
    a = scipy.sparse.random(3000, 300, 0.5, "csr", random_state=rng) + scipy.sparse.csr_matrix(np.outer(np.ones(3000), 1 / np.arange(1, 301)))
    scipy.sparse.save_npz(folder / "a.npz", a)
    subprocess.run([program(), "ingest", "-q", folder / "a.npz", "-o", folder / "a.csr"], check=True)
    return folder / "a.csr"


def command(store, out, *flags):
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    args = [program(), "svd", "-q", store, "-k", "3", "--groups", "4", "-o", out, "--shared", f"{out}.shared", *flags]
    return {"args": args, "env": {**os.environ, "PATH": path}}


def vectors(out):
    return [(out / name).read_bytes() for name in ("sigma.npy", "U.npy", "V.npy")]


def test_dask(store, tmp_path):
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local"), check=True)
    subprocess.run(**command(store, tmp_path / "dask", "--engine", "dask-local"), check=True)
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")


def test_dask_loses_workers(store, tmp_path):
    """Children and workers of Dask that are killed in the middle of a run change no bit."""
    from distributed import Client, LocalCluster

    slow = ["--method", "gd", "--tol", "1e-2"]
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *slow), check=True)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        run = subprocess.Popen(**command(store, tmp_path / "dask", "--engine", address, *slow))

        def children():
            from gdsvd.engines import _child

            return _child._child and _child._child.pid

        killed = 0
        while run.poll() is None and killed < 2:
            pids = [pid for pid in client.run(children).values() if pid]
            if not pids:
                time.sleep(0.05)
                continue
            if killed == 0:
                os.kill(pids[0], signal.SIGKILL)
            else:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            killed += 1
        assert run.wait() == 0
        assert killed == 2
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")
