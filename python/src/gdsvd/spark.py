"""Singular triplets of a Spark DataFrame with one entry a line. The results are DataFrames of vectors with ids."""

from __future__ import annotations

import os
import pathlib
import shutil
import urllib.parse
import uuid
from typing import Any, NamedTuple, cast

import numpy as np

from ._engine import engine
from ._errors import NotConverged
from ._factorization import Factorization
from ._input import check_k, in_bucket, memory_flags
from ._program import run
from ._svds import pipeline
from ._types import Array, Info

__all__ = ["SparkSVD", "svd"]


class SparkSVD(NamedTuple):
    """Singular triplets with the vectors as Spark DataFrames.

    Attributes
    ----------
    U, V : DataFrame
        Columns ``id`` and ``c1`` … ``ck``: left vectors with the ids of rows, and right vectors with the ids of columns.
    s : ndarray, shape (k,)
        Singular values, in descending order.
    info : dict
        Contents of ``result.json``, such as ``residual`` (of each triplet).
    folder : pathlib.Path
        The folder with the files of both DataFrames, and with ``result``, which `gdsvd.Factorization` opens. It is kept until the caller removes it.
    """

    U: Any
    s: Array
    V: Any
    info: Info
    folder: pathlib.Path


def svd(
    df: Any,
    *,
    row: str,
    col: str,
    value: str | None = None,
    k: int = 6,
    shared: str | os.PathLike[str],
    groups: int = 0,
    tol: float = 1e-8,
    view: str | list[str] | None = None,
    memory: str | int = "auto",
    seed: int = 0,
    progress: bool | None = None,
) -> SparkSVD:
    """Compute the `k` largest singular triplets of the matrix whose entries are the lines of a DataFrame.

    The executors write the entries to the shared folder, this process makes a store of them there, and the executors make the passes over
    the store. The values travel through the shared folder, not through Spark. Spark Connect is supported, too.

    Parameters
    ----------
    df : DataFrame
    row, col : str
        The columns with the row id and the column id of each entry: texts or integers.
    value : str, optional
        The column with the values; by default every entry is 1. Duplicate entries are summed.
    k : int
        Number of triplets.
    shared : path
        A folder that this machine and all executors see under the same path. The result is written to a new folder inside it.
    groups : int
        Tasks of a pass, best 2 to 4 for each core of the executors; 0 is 16.
    tol, view, memory, seed, progress
        As for `gdsvd.svds`.

    Returns
    -------
    SparkSVD

    Raises
    ------
    ValueError
        If the DataFrame has no such column, or a parameter is out of range.
    GdsvdError
        If an entry has no id or no finite value, or an id is neither a text nor an integer.
    NotConverged
        If the residuals do not reach `tol`; the exception has the result as ``found``.

    Examples
    --------
    ::

        found = gdsvd.spark.svd(ratings, row="user", col="item", value="rating", k=50, shared="/mnt/shared")
        found.U.join(users, found.U.id == users.user)
    """
    k = check_k(k, None)
    if in_bucket(shared):
        raise ValueError(f"shared = {shared!r}: the entries of a DataFrame take a folder that this machine and all executors see under the same path")
    for what, name in (("row", row), ("col", col), ("value", value)):
        if name not in df.columns and (what, name) != ("value", None):
            raise ValueError(f"{what} = {name!r}: the table has no such column, but {', '.join(map(repr, df.columns))}")
    spark, failed = df.sparkSession, None
    with engine(spark, shared, groups) as e:
        entries = e.folder / "entries"
        used = [_column(df, row).alias("row"), _column(df, col).alias("col"), *([_column(df, value).cast("double").alias("value")] if value is not None else [])]
        df.select(*used).write.parquet(_url(entries))
        files = sorted(p for p in entries.iterdir() if p.suffix == ".parquet")
        columns = "row,col,value" if value is not None else "row,col"
        made: list[str | os.PathLike[str]] = [*memory_flags(memory), "--format=parquet", f"--columns={columns}", "--duplicates=sum", "-o", e.folder / "store", "--"]
        run("ingest", *made, *files, progress=progress)
        folder = pathlib.Path(shared).absolute() / f"gdsvd-{uuid.uuid4().hex[:12]}"
        folder.mkdir()
        flags = [f"--rank={k}", f"--tol={tol}", f"--seed={seed}", *pipeline(view), *memory_flags(memory), *e.flags]
        try:
            info = run("svd", *flags, "-o", folder / "result", "--", e.folder / "store", progress=progress)
        except NotConverged as err:
            info, failed = err.info, err
        except BaseException:
            shutil.rmtree(folder)
            raise
    f = Factorization(folder / "result")
    tables = [spark.read.parquet(_url(f.export(folder / f"{what}.parquet", what))) for what in ("U", "V")]
    found = SparkSVD(tables[0], np.array(f.s), tables[1], cast(Info, info), folder)
    if failed:
        failed.found = found  # type: ignore[attr-defined]
        raise failed
    return found


def _column(df: Any, name: str) -> Any:
    """Return a column by its name. The name is quoted, so that a dot in it does not select a field."""
    return df["`" + name.replace("`", "``") + "`"]


def _url(path: pathlib.Path) -> str:
    """Return the name of a path for Spark, without escapes: a file URL, except for Databricks volumes, which Spark reads by their path."""
    return os.fspath(path) if path.parts[1:2] == ("Volumes",) else urllib.parse.unquote(path.as_uri(), errors="surrogateescape")
