"""Progress of the program, drawn as bars of tqdm."""

import io
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _progress, _program
from gdsvd._program import run

START = '{"time":"2026-11-22T18:00:00Z","level":"INFO","schema":"gdsvd-log/1",'
LOG = "".join(START + rest + "}\n" for rest in (
    '"msg":"svd","event":"chosen","chosen":"--method krylov","share":"no \\"progress\\""',
    '"msg":"ingest: read","event":"progress","task":"ingest: read","entries":100,"share":0.127,"bytes":9,"eta_seconds":4',
    '"msg":"ingest: read","event":"progress","task":"ingest: read","entries":900,"share":0.61,"bytes":99',
    '"msg":"ingest: read","event":"progress","task":"ingest: read","entries":999',
    '"level":"WARN","msg":"--memory is more than the machine has","memory":9,"has":8',
    '"msg":"svd","event":"progress","task":"svd","phase":"iterate","pass":3,"found":2,"of":50,"residual":8.29e-05,"share":0.33,"eta_seconds":10',
    '"level":"ERROR","msg":"the disk is full","event":"final","exit":1',
))  # fmt: skip


class Bar:
    """A stand-in for tqdm that records its calls."""

    made: list = []

    def __init__(self, **options):
        self.desc, self.options, self.n, self.shown, self.closed = options["desc"] + ": ", options, 0, [], False
        Bar.made.append(self)

    def set_postfix(self, said, refresh):
        self.said = said

    def refresh(self):
        self.shown.append(self.n)

    def close(self):
        self.closed = True


@pytest.fixture
def bars(monkeypatch):
    auto = pytest.importorskip("tqdm.auto")
    monkeypatch.setattr(auto, "tqdm", Bar)
    monkeypatch.setattr(Bar, "made", [])
    return Bar.made


@pytest.mark.parametrize("stderr", [None, object(), io.StringIO(), "closed"])
def test_what_stands_for_standard_error(monkeypatch, stderr):
    """sys.stderr may be None, closed, or without isatty."""
    if stderr == "closed":
        stderr = io.StringIO()
        stderr.close()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert not _progress.wanted(None)


def watched(text, draw):
    watch = _progress.Watch(io.BytesIO(text.encode()), draw)
    watch.join()
    return watch


def test_a_bar_for_each_stage(bars):
    assert watched(LOG, True).errors == ["the disk is full"]
    assert [(b.desc, b.shown, b.closed, b.options["total"]) for b in bars] == [("ingest: read: ", [12, 61], True, 100), ("svd: ", [33], True, 100)]
    assert bars[1].said == {"pass": 3, "found": 2, "of": 50, "residual": 8.29e-05, "eta_seconds": 10}


def test_no_bars(bars):
    assert watched(LOG, False).errors == ["the disk is full"] and not bars


def test_what_is_no_log(bars):
    """Lines that are no log are ignored. Progress without a title cannot be drawn, and turns bars off."""
    watch = watched('[1]\n{"a\n\xff\nnull\ngdsvd: old\n' + START + '"event":"progress","share":0.5}\n' + LOG, True)
    assert watch.errors == ["old", "the disk is full"] and not watch.bars and not bars


@pytest.mark.parametrize("terminal", [True, False])
def test_left_open(monkeypatch, terminal):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert _progress.wanted(None) is terminal and _progress.wanted(True) and not _progress.wanted(False)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert _progress.wanted(None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not _progress.wanted(None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        _progress.wanted(True)


@pytest.mark.skipif(sys.platform == "win32", reason="a script as a program")
def test_of_a_run(bars, tmp_path, monkeypatch):
    """The log of the program is drawn and its output returned, and a log larger than a pipe does not block the program."""
    (tmp_path / "log").write_text(LOG.replace('"exit":1', '"exit":0') * 1000)
    fake = tmp_path / "gdsvd"
    fake.write_text(f'#!/bin/sh\ncat {tmp_path}/log >&2\necho \'{{"arguments": "\'"$*"\'"}}\'\n')
    fake.chmod(0o755)
    monkeypatch.setattr(_program, "program", lambda: str(fake))
    assert run("svd", progress=True) == {"arguments": "--json --log-format=json svd"}
    assert len(bars) == 2000 and all(b.closed for b in bars)
    assert run("svd") == {"arguments": "--json --log-format=json svd"} and len(bars) == 2000


def test_everywhere(bars, tmp_path):
    """Runs with bars have the same results as runs without bars, and print nothing else."""
    a = sp.random(60, 40, 0.2, "csr", random_state=1)
    store = gdsvd.Store.from_scipy(a, tmp_path / "a.csr", progress=True)
    f = store.svd(3, tmp_path / "a.svd", progress=True)
    np.testing.assert_array_equal(gdsvd.svds(a, 3, progress=True)[1], f.s)
    with pytest.raises(gdsvd.UsageError, match="only 40 singular values"):
        store.svd(41, tmp_path / "b.svd", progress=True)


def test_quiet_where_there_is_no_terminal(tmp_path):
    out = subprocess.run([sys.executable, "-c", "import gdsvd, scipy.sparse as sp; gdsvd.svds(sp.eye(9), 2)"], capture_output=True, check=True)
    assert out.stdout == out.stderr == b""
