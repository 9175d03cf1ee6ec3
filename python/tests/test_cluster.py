"""Runs on a caller's Dask client, with matrices of several kinds: the results are those of one machine, of NumPy and of scikit-learn."""

import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import gdsvd
from gdsvd import _parts
from gdsvd._engine import engine
from gdsvd._errors import UsageError

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
db = pytest.importorskip("dask.bag")
cluster = pytest.importorskip("gdsvd.dask")

A = sp.random(900, 40, 0.1, "csr", random_state=np.random.default_rng(3)) + sp.csr_matrix(np.outer(np.ones(900), 1 / np.arange(1, 41)))
BLOCKS = [A[:0], A[:300], A[300:301], A[301:]]


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as c, distributed.Client(c) as client:
        yield client


def made(kind, tmp_path):
    """The same matrix as an object of the given kind."""
    if kind == "store":
        return gdsvd.Store.from_scipy(A, tmp_path / "a.csr")
    if kind == "path":
        return gdsvd.Store.from_scipy(A, tmp_path / "a.csr").path
    if kind == "file":
        sp.save_npz(tmp_path / "a.npz", A)
        return tmp_path / "a.npz"
    if kind == "dense":
        return da.from_array(A.toarray(), chunks=(250, 15))
    if kind == "sparse":
        return da.from_array(A.toarray(), chunks=(250, 15)).map_blocks(sp.csr_matrix)
    if kind == "unknown":
        x = da.from_array(A.toarray(), chunks=(250, 40))
        return x[x[:, 0] > -1]  # Dask does not know the number of rows
    return db.from_sequence(BLOCKS, npartitions=3) if kind == "bag" else A


@pytest.mark.parametrize("kind", ["store", "path", "file", "dense", "sparse", "unknown", "bag", "memory"])
def test_svds(kind, client, tmp_path):
    """svds has the results of NumPy, and leaves nothing in the shared folder. Without `client` it uses the current client."""
    shared = tmp_path / "shared"
    shared.mkdir()
    u, s, vt, info = gdsvd.svds(made(kind, tmp_path), k=3, client=client, shared=shared, groups=2, return_info=True)
    U, S, Vt = np.linalg.svd(A.toarray(), full_matrices=False)
    assert np.allclose(s, S[:3], rtol=1e-12)
    assert np.allclose(u * s @ vt, U[:, :3] * S[:3] @ Vt[:3], atol=1e-6 * S[0])
    assert info["engine"]["name"] == "dask" and info["engine"]["tasks"] > 0 and info["certified"]
    assert not list(shared.iterdir()), "something is left in the shared folder"
    again = gdsvd.svds(made("memory", tmp_path), k=3, shared=shared, groups=2)  # the current client
    assert np.array_equal(again.s, s) and np.array_equal(again.u, u) and np.array_equal(again.vt, vt)


def test_partitions_have_the_bytes_of_one_matrix(client, tmp_path):
    whole = gdsvd.Store.from_scipy(A, tmp_path / "whole.csr")
    for kind in ("dense", "sparse", "bag"):
        _parts.ingest(_parts.partitions(made(kind, tmp_path)), client, tmp_path / "parts", tmp_path / kind, "auto", False)
        assert gdsvd.Store(tmp_path / kind).fingerprint == whole.fingerprint
        assert (tmp_path / kind / "shard-000000.csr").read_bytes() == (whole.path / "shard-000000.csr").read_bytes()


def test_a_damaged_partition_is_refused(client, tmp_path):
    part = _parts.write(BLOCKS, False, str(tmp_path / "part"), np.dtype("<f8"))
    data = (tmp_path / "part").read_bytes()
    for at in (0, 13, 25, 50, 53, 200, len(data) - 30, len(data) - 1):
        (tmp_path / "part").write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(ValueError, match="part is (damaged before byte|not the stream)"):
            _parts.join([part], np.dtype("<f8"), io.BytesIO())
    (tmp_path / "part").write_bytes(data[:-40])
    with pytest.raises(ValueError, match="damaged"):
        _parts.join([part], np.dtype("<f8"), io.BytesIO())


@pytest.mark.parametrize("name", ["PCA", "TruncatedSVD"])
@pytest.mark.parametrize("options", [{}, {"view": "log1p"}])
def test_estimators(name, options, client):
    """fit has the results of the estimator of one machine; transform is lazy, with the partitions of X; to_local returns that estimator."""
    X = made("dense", None)
    ours, one = getattr(cluster, name)(3, **options).fit(X), getattr(gdsvd, name)(3, **options).fit(A)
    assert np.allclose(ours.components_, one.components_, atol=1e-6)
    for a in ("singular_values_", "explained_variance_", "explained_variance_ratio_"):
        if hasattr(one, a):
            assert np.allclose(getattr(ours, a), getattr(one, a), rtol=1e-9), a
    if not options:
        decomposition = pytest.importorskip("sklearn.decomposition")
        theirs = decomposition.PCA(3).fit(A.toarray()) if name == "PCA" else decomposition.TruncatedSVD(3, algorithm="arpack").fit(A)
        assert np.allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    lazy = ours.transform(X)
    assert isinstance(lazy, da.Array) and lazy.chunks == (X.chunks[0], (3,))
    assert np.allclose(lazy.compute(), one.transform(A), atol=1e-6)
    back = ours.inverse_transform(lazy)
    assert isinstance(back, da.Array) and np.allclose(back.compute(), one.inverse_transform(one.transform(A)), atol=1e-6)
    assert np.allclose(np.vstack(ours.transform(made("bag", None)).compute()), one.transform(A), atol=1e-6)
    local = ours.to_local()
    assert type(local) is getattr(gdsvd, name) and np.allclose(local.transform(A), one.transform(A), atol=1e-6)
    assert np.allclose(ours.fit_transform(X).compute(), one.transform(A), atol=1e-6)


@pytest.mark.parametrize("kind", ["iterator", "store", "path"])
def test_fit_transform_of_inputs_without_scores(kind, client, tmp_path):
    """fit_transform refuses inputs that transform does not read, before it computes anything; fit takes them."""
    X = iter(BLOCKS) if kind == "iterator" else made(kind, tmp_path)
    with pytest.raises(TypeError, match="for a path, a store or an iterator of blocks call fit"):
        cluster.PCA(3).fit_transform(X)
    assert np.allclose(cluster.PCA(3).fit(X).components_, gdsvd.PCA(3).fit(A).components_, atol=1e-6)


def test_parameters_are_those_of_scikit_learn(client):
    base = pytest.importorskip("sklearn.base")
    p = base.clone(cluster.PCA(3, whiten=True, shared="x", groups=2))
    assert p.get_params() == {**p.get_params(), "n_components": 3, "whiten": True, "shared": "x", "groups": 2, "client": None}
    with pytest.raises(ValueError, match="not fitted"):
        cluster.PCA(3).to_local()


def test_errors(client, tmp_path):
    """Every error is one line."""
    blocks = [A[:3], A[:3, :20]]
    for call, error in [
        (lambda: gdsvd.svds(A, client=3), "TypeError: client is of type int: it must be a Client of Dask, a SparkSession, or the name of an engine such as 'ray://head:10001'"),
        (lambda: gdsvd.svds(A, shared=tmp_path / "no"), f"FileNotFoundError: shared = {str(tmp_path / 'no')!r}: there is no such folder"),
        (lambda: gdsvd.svds(A, client="local"), "ValueError: shared= is missing: a folder that this machine and all workers see under the same path, or s3://BUCKET/PREFIX"),
        (lambda: gdsvd.svds(A, groups=3), "ValueError: groups = 3 is for a run with client= or shared="),
        (lambda: gdsvd.svds(db.from_sequence(blocks, npartitions=2), k=2, client=client), "ValueError: partition 1 has 20 columns, but partition 0 has 40"),
        (lambda: gdsvd.svds(db.from_sequence(blocks, npartitions=1), k=2, client=client), "ValueError: block 1 of partition 0 has 20 columns, but those before have 40"),
        (lambda: gdsvd.svds(db.from_sequence([[1, 2], A[:3]], npartitions=1), k=2, client=client), "ValueError: block 0 of partition 0: A has 1 dimensions: it must have 2"),
        (lambda: gdsvd.svds(da.ones((4, 4), chunks=2) * 1j, k=2, client=client), "ValueError: values are complex (complex128): gdsvd factorises real matrices; take A.real and A.imag apart"),
        (lambda: gdsvd.svds(da.from_array(np.diag([1, 1, 1, np.nan]), chunks=2), k=2, client=client), "ValueError: partition 1: A[1, 3] is nan: values must be finite"),
        (lambda: gdsvd.svds(da.ones(4), k=2, client=client), "ValueError: A has 1 dimensions: it must have 2"),
        (lambda: cluster.PCA().fit(made("unknown", None)), "ValueError: n_components has to be given where X is not in memory"),
        (lambda: gdsvd.svds(A, k=2, client="flink://x", shared=tmp_path), None),
        (lambda: gdsvd.svds(A, row="a", col="b", client=client), None),
    ]:
        with pytest.raises((ValueError, TypeError, OSError, UsageError)) as e:
            call()
        said = f"{e.type.__name__}: {e.value}"
        assert "\n" not in said and (error is None or said == error), said


def test_tables_are_refused(client):
    table = pytest.importorskip("dask.dataframe").from_array(A.toarray()[:, :3], columns=["a", "b", "c"])
    for frame in (table, table.compute()):
        with pytest.raises(ValueError, match="A is a table with columns a, b, c, which can be read in two ways"):
            gdsvd.svds(frame, k=2, client=client)
        with pytest.raises(ValueError, match="X is a table with columns a, b, c, which can be read in two ways"):
            cluster.PCA(2).fit(frame)


def test_no_client():
    """The error without a current client says what to do."""
    code = "import gdsvd, numpy as np\ntry: gdsvd.svds(np.eye(4), k=1, shared='.')\nexcept ValueError as e: print(e)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "there is no current client: make one, as distributed.Client() does, or give client=\n"


def test_a_folder_that_workers_do_not_see(client, monkeypatch, tmp_path):
    monkeypatch.setattr(client, "run", lambda f, path, on_error: {"tcp://a:1": True, "tcp://b:1": False})
    with pytest.raises(ValueError, match="worker tcp://b:1 does not see it: give a folder that this machine and all workers see"), engine(client, tmp_path):
        pass


def test_the_name_of_an_engine(tmp_path):
    u, s, vt = gdsvd.svds(A, k=2, client="local", shared=tmp_path)
    assert np.allclose(s, np.linalg.svd(A.toarray(), compute_uv=False)[:2], rtol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "error"),
    [
        (np.ma.array(A.toarray(), mask=A.toarray() > 0.5), "A has masked entries: A.filled"),
        (A.toarray()[0], "A has 1 dimensions: it must have 2"),
        (A.toarray()[None], "A has 3 dimensions: it must have 2"),
        (aslinearoperator(A), "A is a LinearOperator: gdsvd needs its entries"),
        (None, "A is of type builtins.NoneType: it must be a sparse matrix, an array"),
    ],
)
def test_a_matrix_is_read_as_without_an_engine(matrix, error, tmp_path):
    for engine_of in ({}, {"client": "local", "shared": tmp_path}):
        with pytest.raises((ValueError, TypeError), match=error):
            gdsvd.svds(matrix, k=2, **engine_of)
    assert np.allclose(gdsvd.svds(A.toarray().tolist(), k=2, client="local", shared=tmp_path).s, gdsvd.svds(A, k=2).s, rtol=1e-12)


def test_a_worker_with_partitions_is_killed(client):
    """The partitions of a killed worker are computed again, and its tasks are done again."""
    x = made("dense", None)
    whole = gdsvd.svds(x, k=3, client=client, groups=3)
    x = client.persist(x)
    distributed.wait(x)
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    again = gdsvd.svds(x, k=3, client=client, groups=3)
    assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
