"""Runs on Dask, Ray and Spark have the same bytes as with --engine local, even if processes of the engine are killed."""

import contextlib
import itertools
import json
import os
import pathlib
import queue
import re
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse

from gdsvd._program import program
from gdsvd.engines import _child
from gdsvd.engines._child import half, serve, together

psutil = pytest.importorskip("psutil")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The path of a store of several blocks."""
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
    """Waits for a ``gdsvd worker`` among the descendants of the process `root`, and returns it. Fails if the run ends before."""
    while True:
        assert run.poll() is None, "the run ends before it loses anything: the test misses what it is for"
        for p in psutil.Process(root).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if p.cmdline()[1:2] == ["worker"]:
                    return p
        time.sleep(0.02)


def lose(root, run, above=1):
    """Kills a ``gdsvd worker`` in the middle of a run, then a process of the engine 1 level above such a worker, and so on up to `above` levels."""
    child(root, run).kill()
    for level in range(above):
        while len(parents := child(root, run).parents()) <= level:  # one of the processes has just ended: find another worker
            pass
        parents[level].kill()
    assert run.wait() == 0


SLOW = ["--method", "gd", "--tol", "6e-3"]  # flags of a run of many passes


def test_dask(store, tmp_path):
    pytest.importorskip("distributed")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local"), check=True)
    subprocess.run(**command(store, tmp_path / "dask", "--engine", "dask-local"), check=True)
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")


def test_a_laptop(store, tmp_path):
    """The script in the section "A laptop" of docs/cluster.md runs as it is printed."""
    pytest.importorskip("distributed")
    page = pathlib.Path(__file__).parents[2] / "docs" / "cluster.md"
    if not page.exists():
        pytest.skip("docs are not in a source distribution")
    section = page.read_text(encoding="utf-8").partition("\n## A laptop\n")[2].partition("\n## ")[0]
    (script,) = re.findall(r"^```sh\n(.*?)^```", section, re.S | re.M)
    (tmp_path / "ratings.csr").symlink_to(store)
    path = os.pathsep.join([os.path.dirname(program()), os.path.dirname(sys.executable), os.environ["PATH"]])
    subprocess.run(["sh", "-ex"], input=script, text=True, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)


def test_dask_loses_workers(store, tmp_path):
    distributed = pytest.importorskip("distributed")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        lose(os.getpid(), subprocess.Popen(**command(store, tmp_path / "dask", "--engine", address, *SLOW)))
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")


def test_memory_of_a_child(monkeypatch):
    """A child may use half of the memory that Spark gives its worker, or else half of the memory of the machine divided by the slots."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delenv("PYSPARK_EXECUTOR_MEMORY_MB", raising=False)
    assert 0 < half(1) <= total // 2 and half(4) == half(1) // 4 and half(0) == half(os.cpu_count())
    monkeypatch.setenv("PYSPARK_EXECUTOR_MEMORY_MB", "1000")
    assert half(1) == half(4) == 500 << 20


@pytest.fixture
def workers_of(tmp_path, monkeypatch):
    """A function that makes programs which answer each task with their own name and the task."""
    monkeypatch.setattr(_child, "_child", None)

    def program_of(name):
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nimport sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(b'{name} ' + line)\n    sys.stdout.flush()\n")
        path.chmod(0o755)
        return str(path)

    yield program_of
    if _child._child is not None:
        _child._child.kill()
        _child._child.wait()


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts")
def test_child_is_that_of_the_driver(workers_of):
    """A worker process that has served another driver starts the program of this one, which may have another version."""
    one, two = workers_of("one"), workers_of("two")
    assert [_child.ask(line, p, 0, 1) for line, p in [("a", one), ("b", one), ("c", two)]] == ["one a\n", "one b\n", "two c\n"]


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts")
def test_cancelled_task(workers_of, monkeypatch):
    """After a task that was cancelled while it waited for its answer, the next task gets its own answer."""

    class Cancelled:
        def readline(self):
            raise KeyboardInterrupt

    one = workers_of("one")
    _child.ask("a", one, 0, 1)
    with monkeypatch.context() as m, pytest.raises(KeyboardInterrupt):
        m.setattr(_child._child, "stdout", Cancelled())
        _child.ask("b", one, 0, 1)
    assert _child.ask("c", one, 0, 1) == "one c\n"


@pytest.mark.skipif(os.name == "nt", reason="Windows runs no scripts")
def test_tasks_are_utf8(workers_of):
    """The names in a task reach the program as they are, whatever the locale of the worker process."""
    text = f"from gdsvd.engines import _child; _child.ask('m\\xe9.csr', {workers_of('one')!r}, 0, 1)"
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", text], env=env, check=True)


def test_errors_are_one_line():
    """Errors are joined into one line and cut, because those of Spark contain long stack traces."""
    said = []
    serve(lambda line, answer, failed: failed(RuntimeError("one\n  two" + "x" * 9999)), ['{"id": 7}'], said.append)
    (answer,) = map(json.loads, said)
    assert answer["id"] == 7 and answer["error"].startswith("one two") and len(answer["error"]) <= 500 and said[0].count("\n") == 1


def test_bundles():
    """At most one bundle for each slot after a short stage, four for each at first. If the engine fails, each task gets the error."""
    bundles, said, down = [], queue.Queue(), []

    def job(all):
        if down:
            raise RuntimeError("away")
        bundles.append(len(all))
        for line, answer, _ in itertools.chain(*all):
            answer(line)

    submit = together(job, lambda: 2)
    for most in (8, 2, 0):
        down += [1] * (most == 0)
        for i in range(12):
            submit(str(i), said.put, lambda err: said.put("away"))
        assert sorted(said.get(timeout=60) for _ in range(12)) == (sorted(map(str, range(12))) if most else ["away"] * 12)
        time.sleep(0.5)
        assert max(bundles, default=0) <= most
        bundles.clear()


def test_no_thread_outlives_a_run():
    """The threads that collect and run tasks end when there are no more tasks: a process may make many runs."""
    before, said = threading.active_count(), queue.Queue()
    for _ in range(5):
        submit = together(lambda all: [answer(line) for b in all for line, answer, _ in b], lambda: 2)
        for i in range(3):
            submit(str(i), said.put, said.put)
        assert sorted(said.get(timeout=60) for _ in range(3)) == ["0", "1", "2"]
    until = time.monotonic() + 60
    while threading.active_count() > before:
        assert time.monotonic() < until, threading.enumerate()
        time.sleep(0.01)


class Workers:
    """A Dask scheduler with worker processes that are not restarted when they are killed."""

    def __init__(self, distributed):
        self.cluster = distributed.LocalCluster(n_workers=0, dashboard_address=None)
        self.address = self.cluster.scheduler_address
        self.processes = []

    def join(self):
        args = ["-m", "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--memory-limit", "1GiB", "--no-dashboard"]
        self.processes.append(subprocess.Popen([sys.executable, *args], stderr=subprocess.DEVNULL))
        return self.processes[-1].pid

    def close(self):
        for p in self.processes:
            p.kill()
            p.wait()
        self.cluster.close()


@pytest.fixture
def workers():
    one = Workers(pytest.importorskip("distributed"))
    yield one
    one.close()


def test_dask_worker_joins_late_and_another_is_lost(store, tmp_path, workers):
    """A run begins without workers, one joins in the middle, and one is lost for good: conditions of reported failures of xgboost on Dask."""
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    run = subprocess.Popen(**command(store, tmp_path / "dask", "--engine", workers.address.replace("tcp", "dask"), *SLOW))
    time.sleep(1)
    assert run.poll() is None, "it ends without workers"
    first = workers.join()
    child(first, run)
    second = workers.join()
    child(second, run)  # it has started a child, and so has a task
    psutil.Process(first).kill()
    assert run.wait() == 0
    assert vectors(tmp_path / "dask") == vectors(tmp_path / "local")


@pytest.mark.parametrize("engine", ["dask-local", "ray-local", "spark://local-cluster[2,1,1024]"])
def test_driver_is_killed(engine, store, tmp_path):
    pytest.importorskip({"dask-local": "distributed", "ray-local": "ray"}.get(engine, "pyspark"))
    saved = [*SLOW, "--checkpoint-every", "1ns"]
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    run = subprocess.Popen(**command(store, tmp_path / "out", "--engine", engine, *saved))
    child(run.pid, run)
    while not [p for p in tmp_path.rglob("*checkpoint*") if p.is_file()]:
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.wait()
    assert not (tmp_path / "out" / "result.json").exists(), "the run was faster than the test"
    subprocess.run(**command(store, tmp_path / "out", "--engine", engine, *saved, "--resume"), check=True)
    assert vectors(tmp_path / "out") == vectors(tmp_path / "local")
    assert not list((tmp_path / "out.shared").iterdir())


def test_ray_loses_workers(store, tmp_path):
    pytest.importorskip("ray")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    run = subprocess.Popen(**command(store, tmp_path / "ray", "--engine", "ray-local", *SLOW))
    lose(run.pid, run)
    assert vectors(tmp_path / "ray") == vectors(tmp_path / "local")


def test_spark_loses_workers(store, tmp_path):
    """The bytes are the same after a child, a Python worker, its daemon and an executor, each above such a child, have been killed."""
    pytest.importorskip("pyspark")
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local", *SLOW), check=True)
    run = subprocess.Popen(**command(store, tmp_path / "spark", "--engine", "spark://local-cluster[2,1,1024]", *SLOW))
    lose(run.pid, run, 3)
    assert vectors(tmp_path / "spark") == vectors(tmp_path / "local")


def test_spark_connect(store, tmp_path):
    """The engine runs on Spark Connect, whose client has neither RDDs nor a SparkContext."""
    pyspark = pytest.importorskip("pyspark")
    home = pathlib.Path(pyspark.__file__).parent
    subprocess.run(**command(store, tmp_path / "local", "--engine", "local"), check=True)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    args = ["--master", "local[2, 4]", "--conf", f"spark.connect.grpc.binding.port={port}", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    env = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with open(tmp_path / "log", "w") as log, subprocess.Popen([home / "bin" / "spark-submit", *args], env=env, stdout=log, stderr=log) as server:
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)):
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.2)
            subprocess.run(**command(store, tmp_path / "spark", "--engine", f"spark://sc://127.0.0.1:{port}"), check=True)
        finally:
            server.kill()
    assert vectors(tmp_path / "spark") == vectors(tmp_path / "local")
