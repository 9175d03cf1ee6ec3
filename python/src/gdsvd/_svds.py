"""svds: singular triplets with the calling convention of scipy.sparse.linalg.svds."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any, BinaryIO, Literal, cast, overload

import numpy as np

from . import _tables
from ._components import joined
from ._engine import engine, stored
from ._errors import NotConverged
from ._factorization import Factorization
from ._input import check_k, given, hand_over, ingest, memory_flags, path_of, size, store_at
from ._places import workplace
from ._program import run
from ._types import Array, Info, SVDReport, SVDResult

MOST = 200  # largest number of triplets in the first run for a share of the energy
MAPPED = 1 << 24  # bytes; an array of this size or more is mapped, a smaller one is read, since each mapping holds a file descriptor


def pipeline(view: Any) -> list[str]:
    """Return the flags for a view, which is a text or a list of steps; none for None."""
    if view is None:
        return []
    return ["--view", joined(view)]


def load(path: pathlib.Path) -> np.ndarray:
    """Load an array of a result as a plain, writable ndarray that stays valid when the file is removed."""
    if os.name != "posix" or path.stat().st_size < MAPPED:  # other systems cannot remove a mapped file
        return np.asarray(np.load(path))
    # A memoryview hides the memmap from joblib, which would pass it to other processes as the name of its file, and that is removed.
    return np.asarray(memoryview(np.load(path, mmap_mode="c")))


def triplets(
    store: str | os.PathLike[str],
    out: pathlib.Path,
    k: Any,
    flags: list[str],
    progress: bool | None,
    seen: Callable[[pathlib.Path], None],
    feed: Callable[[BinaryIO], None] | None = None,
) -> tuple[Array, Array, Array, Info]:
    """Run ``gdsvd svd``, call `seen` with the folder of the result, and load the result. The store ``-`` stands for the stream that `feed` writes.

    For a share at most MOST triplets are permitted, for which memory is planned; the run is repeated with four times as many until they reach it.
    """
    failed, most = None, MOST
    while True:
        more = [f"--max-k={most}", "--force"] if k < 1 else []
        try:
            info = run("svd", *flags, *more, f"--rank={k}", "-o", out, "--", store, feed=feed, progress=progress)
        except NotConverged as err:
            info, failed = err.info, err
        if failed or k >= 1 or info["k"] < most or info["energy"] >= k or most >= min(info["rows"], info["cols"]):
            break
        most *= 4
    seen(out)
    for statistic in info.get("view", {}).get("statistics", []):
        if "file" in statistic:
            statistic["array"] = load(out / statistic["file"])
    s, vt = load(out / "sigma.npy"), load(out / "V.npy").T
    u = load(out / "U.npy") if (out / "U.npy").exists() else np.empty((0, len(s)))  # with --vectors=right there are no left vectors
    if failed:
        failed.u, failed.s, failed.vt = u, s, vt
        failed.args = (str(failed).partition("; the result is in ")[0],)  # the message must not name the temporary folder
        raise failed
    return u, s, vt, cast(Info, info)


def vectors(k: Any, shape: tuple[int, int]) -> int:
    """Return the bytes of the vectors of a result; for a share of the energy, of the largest number in the first run."""
    return 8 * int(k if k >= 1 else MOST) * sum(shape)


def decompose(
    A: Any, k: Any, flags: list[str], memory: str | int, progress: bool | None = False, seen: Callable[[pathlib.Path], None] = lambda out: None
) -> tuple[Array, Array, Array, Info]:
    """Compute the triplets of a store, file, matrix in memory, or iterator of blocks of rows. Files and iterators become a temporary store."""
    path = path_of(A)
    said = store_at(path) if path is not None else None
    if path is not None and said is not None:
        with workplace(vectors(k, (said["rows"], said["cols"]))) as tmp:
            return triplets(path, tmp / "out", k, flags, progress, seen)
    if path is None and not hasattr(A, "__next__"):  # a single process reads and factorises it
        with workplace(size(A) + vectors(k, A.shape)) as tmp:
            return triplets("-", tmp / "out", k, flags, progress, seen, lambda out: hand_over(A, out))
    with workplace() as tmp:  # the size of files and iterators is not known
        ingest(A if path is None else path, tmp / "store", memory, progress=progress)
        return triplets(tmp / "store", tmp / "out", k, flags, progress, seen)


def _of_table(
    tables: Any, roles: tuple[Any, Any, Any], k: int, flags: list[str], memory: str | int, progress: bool | None
) -> tuple[Array, Array, Array, Info]:
    """Compute the triplets of the matrix whose entries are the lines of tables. The returned info has the ids of its rows and columns."""
    ids: list[Any] = []

    def seen(out: pathlib.Path) -> None:
        f = Factorization(out)
        ids[:] = np.asarray(f.rows), np.asarray(f.cols)

    with workplace() as tmp:
        more = [*memory_flags(memory), *_tables.FLAGS, "--duplicates=sum"]
        run("ingest", *more, "-o", tmp / "store", "--", "-", feed=lambda out: _tables.hand_over(tables, roles, out), progress=progress)
        try:
            u, s, vt, info = triplets(tmp / "store", tmp / "out", k, flags, progress, seen)
        except NotConverged as err:
            err.info["rows_ids"], err.info["cols_ids"] = ids
            raise
    info["rows_ids"], info["cols_ids"] = ids
    return u, s, vt, info


@overload
def svds(
    A: Any, k: int = 6, *, tol: float = ..., view: str | list[str] | None = ..., memory: str | int = ..., seed: int = ...,
    return_info: Literal[False] = ..., progress: bool | None = ..., row: str | None = ..., col: str | None = ..., value: str | None = ...,
    client: Any = ..., shared: str | os.PathLike[str] | None = ..., groups: int = ..., **more: str,
) -> SVDResult: ...  # fmt: skip


@overload
def svds(
    A: Any, k: int = 6, *, tol: float = ..., view: str | list[str] | None = ..., memory: str | int = ..., seed: int = ...,
    return_info: Literal[True], progress: bool | None = ..., row: str | None = ..., col: str | None = ..., value: str | None = ...,
    client: Any = ..., shared: str | os.PathLike[str] | None = ..., groups: int = ..., **more: str,
) -> SVDReport: ...  # fmt: skip


def svds(
    A: Any,
    k: int = 6,
    *,
    tol: float = 1e-8,
    view: str | list[str] | None = None,
    memory: str | int = "auto",
    seed: int = 0,
    return_info: bool = False,
    progress: bool | None = None,
    row: str | None = None,
    col: str | None = None,
    value: str | None = None,
    client: Any = None,
    shared: str | os.PathLike[str] | None = None,
    groups: int = 0,
    **more: Any,
) -> SVDResult | SVDReport:
    """Compute the `k` largest singular values of a sparse matrix and their vectors.

    Every triplet is certified: its residual is measured on the matrix, and is at most `tol`.

    Parameters
    ----------
    A : sparse array or matrix, array_like, `Store`, path, or iterator of CSR blocks of rows
        The m × n matrix, of real numbers or bool, in any format of `scipy.sparse`; duplicate entries are summed, as in SciPy.
        A path names a store, or a file that ``gdsvd ingest`` reads, such as npz, mtx, csv or Parquet. A table (pandas, polars,
        DuckDB, any object that provides a stream of Arrow, an iterator of tables) needs `row` and `col`, and is refused without them.
    k : int
        Number of triplets, from 1 to min(m, n).
    tol : float
        Largest residual max(‖Av − σu‖, ‖Aᵀu − σv‖)/σ₁ of a triplet, between 0 and 1. The error of σ is at most ``tol * s[0]``.
    view : str or list of str, optional
        Steps that are applied to A before, such as ``"lsi"`` or ``["log1p", "center=columns"]``. No dense matrix is formed.
    memory : str or int
        Memory budget of the program, without the caller's own data: bytes, a text such as ``"2GiB"``, or ``"auto"`` for 60 % of the available memory.
    seed : int
        Seed of the random start vectors. The same seed gives the same bits, on any number of processors.
    return_info : bool
        Whether to return the report as well.
    progress : bool or None
        Whether tqdm shows the progress. None: on a terminal and in a notebook, if tqdm is installed.
    row, col, value : str, optional
        Columns of a table with one entry a line: the row id, the column id and the value, by default 1. The rows and columns of the matrix are in
        ascending order of their ids, ``info["rows_ids"]`` and ``info["cols_ids"]``. `rows`, `cols` and `values` mean the same as these parameters.
    client : distributed.Client, SparkSession or str, optional
        The client or session whose workers make the passes, or the name of an engine, such as ``"ray://head:10001"``. A may also be a Dask bag of
        CSR blocks. Partitions of Dask are written by the workers that hold them, and their values are not sent to this process.
    shared : path, optional
        A folder that this machine and all workers see under the same path; or ``s3://BUCKET/PREFIX``, if A is a store in a bucket. If it is given
        without `client`, the current client or session is used.
    groups : int
        Tasks of a pass, best 2 to 4 for each worker; 0 is 16. The last digits of the result depend on this number, but not on the workers.

    Returns
    -------
    A named tuple, `SVDResult` or, with `return_info`, `SVDReport`:

    u : ndarray, shape (m, k)
        Left vectors as columns, float64.
    s : ndarray, shape (k,)
        Singular values, always in descending order (those of SciPy mostly ascend).
    vt : ndarray, shape (k, n)
        Right vectors as rows.
    info : dict
        With `return_info`: contents of ``result.json``, such as ``residual`` (of each triplet), ``energy`` (the share of ‖A‖²_F), ``passes``.
        Statistics that a view has measured, such as means of columns, are ndarrays ``array`` in ``info["view"]["statistics"]``.

    Raises
    ------
    ValueError
        If A is not a matrix of finite real numbers, or is a table without `row` and `col`; or if another parameter is out of range.
    NotConverged
        If the residuals do not reach `tol`; the exception has the triplets.
    GdsvdError
        If the program fails otherwise.

    Notes
    -----
    Other parameters of SciPy's svds raise a TypeError. ``which``: always the largest values. ``return_singular_vectors``: always both
    sides. ``solver``, ``ncv``, ``maxiter``, ``options``: there is one solver, which iterates until `tol` is met. ``v0``, ``rng``,
    ``random_state``: `seed` determines the start vectors.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, gdsvd
    >>> A = sp.diags([1.0, 5.0, 3.0, 4.0]).tocsr()
    >>> u, s, vt = gdsvd.svds(A, k=2)
    >>> s.round(12)
    array([5., 4.])
    >>> u.shape, vt.shape
    ((4, 2), (2, 4))
    >>> u, s, vt, info = gdsvd.svds(A, k=2, return_info=True)
    >>> info["status"], max(info["residual"]) <= 1e-8
    ('converged', True)
    """
    flags = [f"--tol={tol}", f"--seed={seed}", *pipeline(view), *memory_flags(memory)]
    roles = _tables.roles(row, col, value, more)
    if more:
        raise TypeError(f"svds() got an unexpected keyword argument {next(iter(more))!r}")
    if roles != (None, None, None):
        if client is not None or shared is not None:
            raise ValueError("client= and shared= take no table: make a store of it with gdsvd.Store.from_table; for Spark there is gdsvd.spark.svd")
        return _returned(_of_table(A, roles, check_k(k, None), flags, memory, progress), return_info)
    if client is not None or shared is not None:
        _tables.refuse(A, "A", "gdsvd.Store.from_table(A, path, ")
        with engine(client, shared, groups) as e:
            k = check_k(k, getattr(A, "shape", None))
            return _returned(triplets(stored(A, e, memory, progress), e.folder / "out", k, [*flags, *e.flags], progress, lambda out: None), return_info)
    if groups:
        raise ValueError(f"groups = {groups} is for a run with client= or shared=")
    if path_of(A) is None:
        A = given(A, "gdsvd.svds(A, ")
    k = check_k(k, getattr(A, "shape", None))
    return _returned(decompose(A, k, flags, memory, progress), return_info)


def _returned(found: tuple[Array, Array, Array, Info], return_info: bool) -> SVDResult | SVDReport:
    return SVDReport(*found) if return_info else SVDResult(*found[:3])
