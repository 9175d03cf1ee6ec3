"""Error messages of the program are translated: flags to keyword arguments, commands to methods, errors of files to built-in exceptions."""

import pytest
import scipy.sparse as sp

import gdsvd
from gdsvd._words import translated

SAID = {
    "unfinished: --resume goes on from it, --force begins anew": "unfinished: resume=True goes on from it, force=True begins anew",
    "the budget is too small; --memory 30MiB reads it": 'the budget is too small; memory="30MiB" reads it',
    "--duplicates sum adds them up (or: mean, first)": 'duplicates="sum" adds them up (or: mean, first)',
    "--columns says which it is": "columns says which it is",
    "its header has another order (--columns with numbers says which they are)": "its header has another order (columns with numbers says which they are)",
    "-k 0.9 is a share": "k=0.9 is a share",
    "-n 0: at least 1 is wanted": "n=0: at least 1 is wanted",
    "--tol -1: want a tolerance": "tol=-1: want a tolerance",
    '--view: byte 1, "--force": there is no such step': 'view: byte 1, "--force": there is no such step',
    "give one with ingest --holdout, or --folds users:0.1": 'give one with ingest holdout, or folds="users:0.1"',
    "a.csr is a store, not a result: gdsvd svd makes one of it": "a.csr is a store, not a result: Store.svd makes one of it",
    "or curl URL | gdsvd ingest -": "or curl URL | python -m gdsvd ingest -",
    "in x; cd /a && gdsvd svd s.csr --rank=3 '--view=a | b' -o x --resume goes on from there": "in x; resume=True goes on from there",
    "a file a--b-k 3.csv": "a file a--b-k 3.csv",
}


@pytest.mark.parametrize("text", SAID)
def test_flags_are_arguments(text):
    assert translated(text) == SAID[text]


@pytest.fixture
def store(tmp_path):
    return gdsvd.Store.from_scipy(sp.random(9, 7, 0.5, "csr", random_state=1), tmp_path / "a.csr")


def test_missing_paths(store, tmp_path):
    f = store.svd(2, tmp_path / "a.svd")
    none = tmp_path / "none"
    (tmp_path / "list").write_text("a,x,1\nb,y,2\n")
    listed = gdsvd.Store.from_csv(tmp_path / "list", tmp_path / "b.csr", header="no", columns="1,2,3")
    for call in (
        lambda: gdsvd.Store(none),
        lambda: gdsvd.Factorization(none),
        lambda: gdsvd.svds(none, 2),
        lambda: gdsvd.svds(str(none) + ".csv", 2),
        lambda: gdsvd.PCA(2).fit(none),
        lambda: gdsvd.Store.from_csv(none, tmp_path / "b"),
        lambda: gdsvd.Store.from_csv(tmp_path / "*.csv", tmp_path / "b"),
        lambda: gdsvd.Store.from_h5ad(none, tmp_path / "b"),
        lambda: listed.append(none),
        lambda: store.svd(2, none / "deeper" / "o"),
        lambda: f.recommend(none),
        lambda: f.check(none),
        lambda: store.head(view=f"@{none}"),
        lambda: store.view(f"@{none}"),
        lambda: store.evaluate(results=[none], k=1),
    ):
        with pytest.raises(FileNotFoundError, match="none|\\.csv"):
            call()


def test_existing_paths(store, tmp_path):
    store.svd(2, tmp_path / "a.svd")
    for call in (
        lambda: store.svd(2, tmp_path / "a.svd"),
        lambda: gdsvd.Store.from_scipy(sp.eye(3), store.path),
    ):
        with pytest.raises(FileExistsError, match=r"already exists \(force=True replaces it\)") as err:
            call()
        assert isinstance(err.value, gdsvd.GdsvdError)


def test_arguments_out_of_range(store, tmp_path):
    for call, says in (
        (lambda: store.svd(8, tmp_path / "o"), "k=8: a 9 × 7 matrix has only 7 singular values"),
        (lambda: store.svd(2, tmp_path / "o", tol=3), "tol=3: want a tolerance between 0 and 1"),
        (lambda: store.svd(2, tmp_path / "o", method="newton"), 'method="newton": choose auto, gd'),
        (lambda: store.svd(2, tmp_path / "o", thread=3), "there is no option thread;"),
        (lambda: gdsvd.svds(store, 2, view="lgo1p"), 'view: byte 1, "lgo1p": there is no such step'),
    ):
        with pytest.raises(gdsvd.UsageError) as err:
            call()
        assert str(err.value).startswith(says) and " --m" not in str(err.value) and " -h" not in str(err.value)
