"""Errors of the program as exceptions, interrupts, and files that are left behind."""

import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _input, _program
from gdsvd._program import program, run

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture
def store(tmp_path):
    a = sp.random(60, 40, 0.2, "csr", random_state=1)
    _input.ingest(a, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The folder for the temporary files of svds in a test."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path / "tmp"


def said(*args):
    """Runs the program, and returns its exit code and its error message."""
    out = subprocess.run([program(), *map(str, args)], capture_output=True, text=True)
    return out.returncode, out.stderr.strip().splitlines()[-1].removeprefix("gdsvd: ")


def test_usage(store):
    code, line = said("svd", store, "-k", 41, "-o", store.parent / "o")
    with pytest.raises(gdsvd.UsageError) as err:
        run("svd", store, "-k", "41", "-o", store.parent / "o")
    assert code == 2 and "k=" + str(err.value)[2:] + " (see gdsvd svd -h)" == line.replace("-k ", "k=") and isinstance(err.value, ValueError)


def test_failure(tmp_path):
    code, line = said("info", tmp_path / "none")
    with pytest.raises(gdsvd.GdsvdError) as err:
        run("info", tmp_path / "none")
    assert code == 1 and str(err.value) == line and type(err.value) is gdsvd.GdsvdError


def test_corrupt(store, places):
    shard = next(store.glob("shard-*"))
    data = bytearray(shard.read_bytes())
    data[100] ^= 1
    shard.write_bytes(data)
    code, line = said("check", store)
    assert code == 3
    with pytest.raises(gdsvd.CorruptError) as err:
        run("check", store)
    assert str(err.value) == line
    with pytest.raises(gdsvd.CorruptError, match="damaged"):
        gdsvd.svds(store, 2)
    assert not list(places.iterdir())


def test_not_converged(store, places):
    with pytest.raises(gdsvd.NotConverged, match="stagnated") as err:
        gdsvd.svds(store, 3, tol=1e-17)
    e = err.value
    want = gdsvd.svds(store, 3)[1]
    np.testing.assert_allclose(e.s, want, rtol=1e-12)
    assert e.u.shape == (60, 3) and e.vt.shape == (3, 40) and e.info["status"] == "stagnated"
    assert not list(places.iterdir())


@POSIX
def test_exit_codes_where_children_are_not_waited_for(store):
    """If SIGCHLD is ignored, which a process may inherit, the system reports exit code 0 for every child."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(gdsvd.NotConverged, match="stagnated"):
            gdsvd.svds(store, 3, tol=1e-17)
        with pytest.raises(gdsvd.UsageError, match="only 40 singular"):
            gdsvd.svds(store, 41)
        assert gdsvd.svds(store, 3)[1].shape == (3,)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_variables_do_not_change_what_is_computed(store, monkeypatch):
    """Environment variables that set flags of the command have no effect on calls of the package."""
    a = np.tri(4)
    want = gdsvd.svds(a, 2)
    for flag, value in {"VIEW": "log1p", "VECTORS": "right", "MIN_PER_ROW": "2", "PARTIAL_OK": "true", "CONFIG": "none"}.items():
        monkeypatch.setenv(f"GDSVD_{flag}", value)
    for got, expected in zip(gdsvd.svds(a, 2), want):
        np.testing.assert_array_equal(got, expected)
    assert gdsvd.Store.from_scipy(a, store.parent / "tri").shape == (4, 4)
    with pytest.raises(gdsvd.NotConverged):
        gdsvd.svds(store, 3, tol=1e-17)
    monkeypatch.setenv("GDSVD_MEMORY", "1MiB")
    with pytest.raises(gdsvd.GdsvdError, match="memory budget of 1"):
        gdsvd.svds(a, 2)


def test_too_little_memory(store):
    with pytest.raises(gdsvd.GdsvdError, match="memory budget"):
        gdsvd.svds(store, 3, memory="1M")
    with pytest.raises(ValueError, match="^memory"):
        gdsvd.svds(store, 3, memory="much")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space")
def test_the_runtime_ends_the_program(store, tmp_path, monkeypatch):
    """Where the Go runtime ends the program, as under ulimit -v, the error is no UsageError, though its exit code is 2, and has the reason."""
    limited = tmp_path / "limited"
    limited.write_text(f'#!/bin/sh\nulimit -v 100000\nexec "{program()}" "$@"\n')
    limited.chmod(0o755)
    monkeypatch.setattr(_program, "program", lambda: os.fspath(limited))
    for call in (lambda: run("info", store), lambda: gdsvd.svds(np.eye(9), 2)):
        with pytest.raises(gdsvd.GdsvdError, match="^[^\n]* ended with exit code 2: fatal error: [^\n]*memory[^\n]*$") as err:
            call()
        assert type(err.value) is gdsvd.GdsvdError


@pytest.mark.parametrize("name", ["-k", "a b.npz", "--json.npz", "ä.npz"])
def test_names_of_files(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    a = sp.random(20, 10, 0.5, "csr", random_state=1)
    with open(name, "wb") as f:
        sp.save_npz(f, a)
    np.testing.assert_allclose(gdsvd.svds(pathlib.Path(name), 2)[1], gdsvd.svds(a, 2)[1])


def test_what_is_fed_is_cut_off(tmp_path):
    """If writing the input of the program fails, there is no store, and the exception is that of the write."""

    def feed(out):
        _input.hand_over(sp.eye(50_000, format="csr"), out)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        run("ingest", "--format", "csr-stream", "-", "-o", tmp_path / "s", feed=feed)
    assert _input.store_at(tmp_path / "s") is None


def test_the_program_goes_before_its_input_ends(tmp_path):
    (tmp_path / "s").write_text("in the way")
    with pytest.raises(gdsvd.GdsvdError, match="exists"):
        run("ingest", "--format", "csr-stream", "-", "-o", tmp_path / "s", feed=lambda out: [out.write(bytes(1 << 20)) for _ in range(64)])


@POSIX
def test_a_process_that_is_forked_meanwhile(tmp_path):
    """A process that the caller forks while blocks are read, such as one of a pool, does not keep the program waiting for more input."""
    children = []

    def blocks():
        yield np.eye(2)
        children.append(os.fork())
        if children[-1] == 0:
            time.sleep(20)
            os._exit(0)
        yield np.eye(2)

    try:
        assert gdsvd.Store.from_chunks(blocks(), tmp_path / "a.csr", shape=(4, 2)).nnz == 4
        assert os.waitpid(children[0], os.WNOHANG) == (0, 0)  # it still sleeps
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(children[0], signal.SIGKILL)
            os.waitpid(children[0], 0)


@POSIX
def test_interrupt_of_the_program(store, monkeypatch):
    children, started = [], _program._started

    @contextlib.contextmanager
    def seen(*args):
        with started(*args) as child:
            children.append(child)
            yield child

    monkeypatch.setattr(_program, "_started", seen)

    def feed(out):
        out.write(b"\x89CSR\r\n\x1a\n")
        out.flush()
        time.sleep(0.2)
        children[0].send_signal(signal.SIGINT)
        children[0].wait()

    with pytest.raises(KeyboardInterrupt):
        run("ingest", "--format", "csr-stream", "-", "-o", store.parent / "s", feed=feed)


INTERRUPTED = """
import sys, threading, time, os, signal
import numpy as np, scipy.sparse as sp, gdsvd
r = np.random.default_rng(1)
a = sp.csr_matrix((r.random(400_000), (r.integers(0, 20_000, 400_000), r.integers(0, 10_000, 400_000))))
gdsvd.svds(a[:10, :10], 1)
threading.Timer(float(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begun = time.monotonic()
try:
    gdsvd.svds(a, 300, tol=1e-14)
    print("done")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - begun)
"""


@POSIX
@pytest.mark.parametrize("after", ["0.05", "0.6"])
def test_interrupt_of_this_process(places, after):
    out = subprocess.run([sys.executable, "-c", INTERRUPTED, after], capture_output=True, text=True, timeout=120)
    assert out.stdout.startswith("interrupted"), out
    assert not list(places.iterdir())
    for status in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(status, "rb") as f:
            assert str(places).encode() not in f.read()


@POSIX
def test_another_program(tmp_path, monkeypatch):
    fake = tmp_path / "gdsvd"
    fake.write_text("#!/bin/sh\necho '" + json.dumps({"version": "v0.0.1", "revision": ""}) + "'\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GDSVD_BINARY", str(fake))
    _program.program.cache_clear()
    try:
        with pytest.raises(gdsvd.VersionError, match="v0.0.1"):
            gdsvd.svds(sp.eye(3), 1)
        fake.write_text("nothing")
        with pytest.raises(gdsvd.VersionError, match="does not run"):
            gdsvd.svds(sp.eye(3), 1)
        monkeypatch.delenv("GDSVD_BINARY")
        own = program()
        copy = tmp_path / "copy"
        shutil.copy2(own, copy)
        _program.program.cache_clear()
        monkeypatch.setenv("GDSVD_BINARY", str(copy))
        assert program() == str(copy)
    finally:
        _program.program.cache_clear()


def test_the_command():
    out = subprocess.run([sys.executable, "-m", "gdsvd", "version", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout)["store_format"] == 1


RESUMED = """
import sys, threading, time, os, signal
import gdsvd
s = gdsvd.Store(sys.argv[1])
def interrupt():
    while not os.path.exists(os.path.join(sys.argv[2], "checkpoint")):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    s.svd(40, sys.argv[2], tol=1e-12, checkpoint_every="10ms")
except KeyboardInterrupt:
    print("interrupted", os.listdir(sys.argv[2]))
"""


@POSIX
def test_an_interrupt_leaves_a_checkpoint(tmp_path):
    r = np.random.default_rng(1)
    a = sp.csr_matrix((r.random(200_000), (r.integers(0, 10_000, 200_000), r.integers(0, 5_000, 200_000))))
    store = gdsvd.Store.from_scipy(a, tmp_path / "s.csr")
    out = subprocess.run([sys.executable, "-c", RESUMED, store.path, tmp_path / "o.svd"], capture_output=True, text=True, timeout=120)
    assert out.stdout.startswith("interrupted") and "'checkpoint'" in out.stdout, out
    resumed = store.svd(40, tmp_path / "o.svd", tol=1e-12, resume=True)
    whole = store.svd(40, tmp_path / "w.svd", tol=1e-12)
    np.testing.assert_array_equal(resumed.U, whole.U)
