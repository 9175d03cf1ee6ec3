"""Singular triplets of a DataFrame of Spark with one entry a line: ids in, and tables of vectors with the ids out."""

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
    """Triplets, with vectors as tables of Spark.

    Attributes
    ----------
    U, V : DataFrame
        ``id``, and ``c1`` … ``ck``: left vectors by the ids of rows, right ones by those of columns.
    s : ndarray, shape (k,)
        Singular values, in descending order.
    info : dict
        ``result.json``, such as ``residual`` (of each triplet).
    folder : pathlib.Path
        Where the files of both tables are, and ``result``, which `gdsvd.Factorization` opens. They stay until it is removed.
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
    """The `k` largest singular triplets of the matrix whose entries are the lines of a DataFrame.

    Executors write the entries where this machine reads them, it makes a store of them, and executors make the passes over it: Spark
    carries no numbers. It runs on Spark Connect, too.

    Parameters
    ----------
    df : DataFrame
    row, col : str
        The columns with the ids of the row and of the column of an entry: texts or integers.
    value : str, optional
        The column with its value; without it every entry is 1. Entries at one place count as their sum.
    k : int
        Number of triplets.
    shared : path
        A folder that this machine and all executors see under the same path. A new one in it gets the result.
    groups : int
        Tasks of a pass, 2 to 4 for each core of the executors; 0 is 16.
    tol, view, memory, seed, progress
        As of `gdsvd.svds`.

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
        If a residual cannot be brought to `tol`; the exception has the result as ``found``.

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
    """A column by its whole name, in which a dot is one."""
    return df["`" + name.replace("`", "``") + "`"]


def _url(path: pathlib.Path) -> str:
    """The name that Spark has for a path, in which no character is escaped: volumes of Databricks have their own."""
    return os.fspath(path) if path.parts[1:2] == ("Volumes",) else urllib.parse.unquote(path.as_uri(), errors="surrogateescape")
