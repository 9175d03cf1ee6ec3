"""Every type of exception is raised by a run that really fails, with the error message of the program."""

import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd import _errors, _program
from gdsvd._program import program

EXIT = {"UsageError": 2, "CorruptError": 3, "NotConverged": 4, "GdsvdError": 1}


def damaged(path):
    shard = next(path.glob("shard-*"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)


@pytest.fixture
def store(tmp_path):
    return gdsvd.Store.from_scipy(sp.random(60, 40, 0.2, "csr", random_state=1), tmp_path / "a.csr")


def fails(kind, store, out):
    """Returns the arguments of a program run that fails in the given way, and a call of the package that does the same run."""
    if kind == "CorruptError":
        damaged(store.path)
    k, tol = {"UsageError": (41, 1e-8), "NotConverged": (3, 1e-17)}.get(kind, (3, 1e-8))
    memory = ["--memory=1MiB"] if kind == "GdsvdError" else []
    args = ["svd", f"--rank={k}", f"--tol={tol}", "--seed=0", *memory, "-o", out, "--", store.path]
    return args, lambda: store.svd(k, out, tol=tol, memory="1MiB" if memory else "auto")


@pytest.mark.parametrize("kind", EXIT)
def test_the_line_of_the_program(kind, store, tmp_path):
    out = tmp_path / "o.svd"
    args, call = fails(kind, store, out)
    run = subprocess.run([program(), *map(str, args)], capture_output=True, text=True)
    lines = [line for line in run.stderr.splitlines() if line.startswith("gdsvd: ")]
    assert run.returncode == EXIT[kind] and len(lines) == 1, run
    if out.is_dir():
        shutil.rmtree(out)
    with pytest.raises(getattr(gdsvd, kind)) as err:
        call()
    assert type(err.value).__name__ == kind
    said = {"gdsvd: -k 41: a 60 × 40 matrix has only 40 singular values (see gdsvd svd -h)": "gdsvd: k=41: a 60 × 40 matrix has only 40 singular values"}
    assert "gdsvd: " + str(err.value) == said.get(lines[0], lines[0])


def test_what_is_given_wrongly(store, tmp_path):
    """The error for a wrong argument names the argument and its required type, not a temporary folder or a file that the caller did not name."""
    pandas = pytest.importorskip("pandas")
    table, f = pandas.DataFrame({"user": ["ann"], "item": ["tea"], "rating": [5]}), store.svd(2, tmp_path / "a.svd")
    table.to_csv(tmp_path / "r.csv")
    with open(tmp_path / "r.csv") as file:
        for call, kind, error in [
            (lambda: gdsvd.Store.from_csv(table, tmp_path / "b.csr"), ValueError, "files is a table with columns user, item, rating, which"),
            (lambda: gdsvd.Store.from_csv(file, tmp_path / "b.csr"), TypeError, "files is of type _io.TextIOWrapper: it must be a path, or a list of paths"),
            (lambda: store.append(sp.eye(2, format="csr")), TypeError, "it must be a path, or a list of paths"),
            (lambda: store.append(None), TypeError, "files is of type builtins.NoneType: it must be a path"),
            (lambda: f.recommend(store, []), ValueError, "^rows is empty: give at least one$"),
            (lambda: f.recommend(store, candidates=[]), ValueError, "^candidates is empty: give at least one$"),
            (lambda: f.similar(cols=[]), ValueError, "^cols is empty: give at least one$"),
            (lambda: f.similar(rows=5), TypeError, "^rows = 5 is no list of ids: give one, also of a single id$"),
            (lambda: f.recommend(store, 5), TypeError, "^rows = 5 is no list of ids"),
            (lambda: f.project(sp.csr_matrix((0, 40))), ValueError, r"^new has shape \(0, 40\): it must have 2 dimensions, a row or more, and the 40 columns"),
            (lambda: store.svd(2, tmp_path / "b.svd", view=5), TypeError, "^view = 5: it must be a text, or a list of steps, each a text"),
            (lambda: gdsvd.PCA(2, view=[5]).fit(store), TypeError, r"^view = \[5\]: it must be a text, or a list of steps, each a text"),
        ]:
            with pytest.raises(kind, match=error):
                call()


def test_every_kind_is_tested():
    assert {e.__name__ for e in _errors.KINDS.values()} | {"GdsvdError"} == set(EXIT)
    assert {code: e.__name__ for code, e in _errors.KINDS.items()} == {code: name for name, code in EXIT.items() if code > 1}


@pytest.mark.parametrize("kind", EXIT)
def test_errors_go_between_processes(kind, store, tmp_path):
    """Exceptions can be pickled, as joblib does, with their message, and with the triplets of a NotConverged."""
    _, call = fails(kind, store, tmp_path / "o.svd")
    with pytest.raises(getattr(gdsvd, kind)) as err:
        call()
    again = pickle.loads(pickle.dumps(err.value))
    assert type(again) is type(err.value) and str(again) == str(err.value)
    if kind == "NotConverged":
        np.testing.assert_array_equal(again.factorization.U, err.value.factorization.U)
        assert again.info["status"] == "stagnated"


def test_not_converged_of_svds_names_no_folder_that_is_gone(store):
    with pytest.raises(gdsvd.NotConverged) as err:
        gdsvd.svds(store, 3, tol=1e-17)
    assert "result is in" not in str(err.value) and "\n" not in str(err.value)
    again = pickle.loads(pickle.dumps(err.value))
    np.testing.assert_array_equal(again.vt, err.value.vt)


CALL = """
import sys
sys.path.insert(0, sys.argv[1])
import gdsvd, scipy.sparse as sp
assert gdsvd.__file__.startswith(sys.argv[1]), gdsvd.__file__
try:
    gdsvd.svds(sp.eye(9, format="csr"), 1)
except gdsvd.VersionError as err:
    print(err)
"""


def with_package(tmp_path, change):
    """Returns the output of a call in a copy of the package whose folder _bin was changed by `change`."""
    copy = tmp_path / "site" / "gdsvd"
    shutil.copytree(pathlib.Path(gdsvd.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    change(copy / "_bin")
    env = {name: value for name, value in os.environ.items() if name != "GDSVD_BINARY"}
    out = subprocess.run([sys.executable, "-c", CALL, str(copy.parent)], capture_output=True, text=True, env=env)
    assert out.returncode == 0, out
    return out.stdout


def of_version(**other):
    def change(folder):
        built = json.loads((folder / "build.json").read_text())
        (folder / "build.json").write_text(json.dumps({**built, **other}))

    return change


def test_program_and_package_belong_together(tmp_path):
    assert with_package(tmp_path / "same", lambda folder: None) == ""
    for i, other in enumerate([{"version": "v9.9.9"}, {"revision": "0" * 40}, {"size": 1}]):
        said = with_package(tmp_path / str(i), of_version(**other))
        assert "but the package was built with" in said and "install the wheel again" in said and said.count("\n") == 1
    assert "v9.9.9" in with_package(tmp_path / "v", of_version(version="v9.9.9"))


def test_program_is_recognised_without_running(tmp_path, monkeypatch):
    """The version is read in the file of the program at the recorded offsets; the program is run for it only if no offsets are recorded."""
    monkeypatch.delenv("GDSVD_BINARY", raising=False)
    asked = []
    monkeypatch.setattr(_program.subprocess, "run", lambda *args, **_: asked.append(args) or pytest.fail("it is run"))
    _program.program.cache_clear()
    folder = pathlib.Path(_program.__file__).parent / "_bin"
    built = json.loads((folder / "build.json").read_text())
    if built["revision"]:
        assert _program.program().startswith(str(folder)) and not asked
    path = tmp_path / "gdsvd"
    shutil.copy2(next(folder.glob("gdsvd*")), path)
    assert _program._as_built(str(path), built) == bool(built["revision"])
    with open(path, "r+b") as f:
        f.seek(built["at"]["version"])
        f.write(b"X")
    assert not _program._as_built(str(path), built)
    assert not _program._as_built(str(path), {k: v for k, v in built.items() if k != "at"})
    assert not _program._as_built(str(tmp_path / "none"), built)


@pytest.mark.skipif(os.name != "posix", reason="Windows runs what its name says")
def test_program_of_another_platform(tmp_path):
    """A program with the right version in its file that cannot run on this platform is reported."""

    def change(folder):
        program, build = folder / "gdsvd", folder / "build.json"
        built = json.loads(build.read_text())
        data = bytearray(program.read_bytes())
        data[:4] = b"none"
        program.write_bytes(data)
        build.write_text(json.dumps(built))

    assert "install the wheel for this platform" in with_package(tmp_path, change)


def test_package_in_an_archive(tmp_path):
    shutil.copytree(pathlib.Path(gdsvd.__file__).parent, tmp_path / "a" / "gdsvd", ignore=shutil.ignore_patterns("__pycache__", "_bin"))
    site = shutil.make_archive(str(tmp_path / "site"), "zip", tmp_path / "a")
    env = {name: value for name, value in os.environ.items() if name != "GDSVD_BINARY"}
    out = subprocess.run([sys.executable, "-c", CALL, site], capture_output=True, text=True, env=env)
    assert out.returncode == 0 and "install the wheel into a folder" in out.stdout and out.stdout.count("\n") == 1, out


def test_package_without_program(tmp_path):
    assert "install the wheel for this platform" in with_package(tmp_path / "a", lambda folder: next(folder.glob("gdsvd*")).unlink())
    assert "pip install python/" in with_package(tmp_path / "b", shutil.rmtree)
