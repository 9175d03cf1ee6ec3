"""A call leaves no files and no processes behind, however it ends."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _places
from gdsvd._places import listed, workplace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks of folders and signals of POSIX")


def aged(folder):
    os.utime(folder, (time.time() - 2 * _places.STALE,) * 2)
    return folder


@pytest.mark.parametrize("beside", [True, False])
def test_what_killed_processes_have_left_goes_away(tmp_path, monkeypatch, beside):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    given = {"beside": tmp_path / "a.csr"} if beside else {}
    with workplace(**given) as held:
        prefix = held.name[:-8]
        names = ["abcdefgh", "12345678", "../" + prefix + "abc", "../gdsvd-testdata"]
        left, young, *others = (tmp_path / (prefix + name).rpartition("../")[2] for name in names)
        file = tmp_path / (prefix + "isnofold")
        for folder in (left, young, *others):
            folder.mkdir()
            (folder / "U.npy").write_text("x")
        file.write_text("x")
        for old in (left, held, file, *others):
            aged(old)
        link = tmp_path / (prefix + "linkaway")
        link.symlink_to(others[0])
        with workplace(**given):
            assert not left.exists()
            assert all(p.exists() for p in (held, young, file, link, *others)) and (others[0] / "U.npy").exists()
    assert not held.exists()


KILLED = """
import os, sys, gdsvd, scipy.sparse as sp
from gdsvd import _program
_program.program = lambda: sys.argv[1]
gdsvd.svds(sp.eye(9, format="csr"), 2)
"""


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_a_program_does_not_outlive_its_caller_for_long(tmp_path, how):
    """The program ends when it writes the next line of its log; the next call removes the temporary folder."""
    fake, alive = tmp_path / "gdsvd", tmp_path / "alive"
    fake.write_text(f"#!/bin/sh\ncat >/dev/null\necho $$ >{alive}\nwhile :; do echo '{{}}' >&2; sleep 0.05; done\n")
    fake.chmod(0o755)
    caller = subprocess.Popen([sys.executable, "-c", KILLED, fake], env={**os.environ, "TMPDIR": str(tmp_path)})
    until = time.monotonic() + 60
    while not (alive.exists() and alive.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.02)
    pid = int(alive.read_text())
    caller.send_signal(getattr(signal, how))
    caller.wait()
    while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    (left,) = tmp_path.glob("gdsvd-tmp-*")
    aged(left)
    subprocess.run([sys.executable, "-c", "import gdsvd; gdsvd.svds([[1.0, 2]], 1)"], env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert not left.exists()


def test_the_program_logs_lines():
    """The program writes a log to standard error, by which it notices that its caller has ended (see the test above)."""
    from gdsvd._program import program

    out = subprocess.run([program(), "--json", "--log-format=json", "info", "none.csr"], capture_output=True, text=True)
    assert json.loads(out.stderr.splitlines()[-1])["exit"] == 1


def test_errors_name_lists_and_no_folder_that_is_gone(tmp_path):
    a = sp.eye(3, 4, format="csr")
    with pytest.raises(gdsvd.GdsvdError, match=r"^cols_ids:1: wrong number"):
        gdsvd.Store.from_scipy(a, tmp_path / "a.csr", cols_ids=["x"])
    with pytest.raises(gdsvd.GdsvdError, match=r'^rows_ids:3: "x": .* that of rows_ids:1'):
        gdsvd.Store.from_scipy(a, tmp_path / "a.csr", rows_ids=["x", "y", "x"])
    for no in (None, float("nan"), np.datetime64("NaT"), np.float32("nan")):
        with pytest.raises(ValueError, match=r"^rows_ids\[1\] = .* is missing"):
            gdsvd.Store.from_scipy(a, tmp_path / "a.csr", rows_ids=["nan", no, "None"])
    with pytest.raises(ValueError, match=r"^rows_ids\[0\] = '.ud800x' has half of a character"):
        gdsvd.Store.from_scipy(a, tmp_path / "a.csr", rows_ids=["\ud800x", "y", "z"])
    f = gdsvd.Store.from_scipy(a, tmp_path / "a.csr", rows_ids=["\ufeffx", "nan", "NaT"]).svd(2, tmp_path / "a.svd")
    assert list(f.rows) == ["\ufeffx", "nan", "NaT"] and list(f.similar(rows=["\ufeffx"], n=1)) == ["\ufeffx"]
    for call in (f.similar, lambda cols: f.recommend(tmp_path / "a.csr", candidates=cols)):
        with pytest.raises(TypeError, match="= '12' is one text: give a list"):
            call(cols="12")
    with pytest.raises(gdsvd.GdsvdError, match="77") as err:
        f.similar(cols=[77])
    assert "tmp" not in str(err.value)
    with listed(rows=None) as flags:
        assert flags == []
