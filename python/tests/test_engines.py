"""Engines: the same bytes as those of --engine local, whatever is killed."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse

from gdsvd._program import program

psutil = pytest.importorskip("psutil")


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


def child(root, run):
    """A ``gdsvd worker`` that a process has started by way of an engine, as soon as there is one."""
    while True:
        assert run.poll() is None, "the run ends before it loses anything: the test misses what it is for"
        for p in psutil.Process(root).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if p.cmdline()[1:2] == ["worker"]:
                    return p
        time.sleep(0.02)


def lose(root, run):
    """Kills a child in the middle of a run, and then the process of the engine that has one."""
    child(root, run).kill()
    child(root, run).parent().kill()
    assert run.wait() == 0


SLOW = ["--method", "gd", "--tol", "6e-3"]  # many passes


def test_dask(store, tmp_path):
    pytest.importorskip("distributed")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local"), check=True)
    subprocess.run(**command(store, tmp_path / "dask", "--engine", "dask-local"), check=True)
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")


def test_dask_loses_workers(store, tmp_path):
    distributed = pytest.importorskip("distributed")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        lose(os.getpid(), subprocess.Popen(**command(store, tmp_path / "dask", "--engine", address, *SLOW)))
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")


def test_ray_loses_workers(store, tmp_path):
    pytest.importorskip("ray")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    run = subprocess.Popen(**command(store, tmp_path / "ray", "--engine", "ray-local", *SLOW))
    lose(run.pid, run)
    assert vectors(tmp_path / "ray") == vectors(tmp_path / "local")
