"""Runs whose passes are made by the workers of an engine: finding the client, the folder that workers share, and the store that they read."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import _parts
from ._input import given, in_bucket, ingest, path_of, store_at
from ._places import workplace
from ._program import program


class Engine(NamedTuple):
    """An engine whose workers make the passes.

    Attributes
    ----------
    client : object
        A client of Dask, a session of Spark, or the name of an engine.
    flags : list of str
        Flags of ``gdsvd svd`` that select the engine.
    folder : pathlib.Path
        A temporary folder. All workers see it, unless `bucket`.
    bucket : bool
        Whether workers share a bucket instead of a folder.
    """

    client: Any
    flags: list[str]
    folder: pathlib.Path
    bucket: bool


def kind(client: Any) -> str:
    """Return ``"dask"`` for a client of Dask, ``"spark"`` for a session of Spark, ``"name"`` for a str, the name of an engine.

    Raises
    ------
    TypeError
        If the client is none of these.
    """
    package = type(client).__module__.partition(".")[0]
    known = {"distributed": "dask", "pyspark": "spark", "builtins": "name" if isinstance(client, str) else ""}.get(package, "")
    if not known or known == "dask" and not hasattr(client, "submit") or known == "spark" and not hasattr(client, "range"):
        raise TypeError(f"client is of type {type(client).__name__}: it must be a Client of Dask, a SparkSession, or the name of an engine such as 'ray://head:10001'")
    return known


def current() -> Any:
    """Return the current Dask client of this process, else its active Spark session.

    Raises
    ------
    ValueError
        If it has neither.
    """
    if "distributed" in sys.modules:
        with contextlib.suppress(ValueError):
            return importlib.import_module("distributed").get_client()
    if "pyspark" in sys.modules:
        session = importlib.import_module("pyspark.sql").SparkSession.getActiveSession()
        if session is not None:
            return session
    raise ValueError("there is no current client: make one, as distributed.Client() does, or give client=")


@contextlib.contextmanager
def engine(client: Any, shared: str | os.PathLike[str] | None, groups: int = 0) -> Iterator[Engine]:
    """Provide an engine for the duration of the block, with a temporary folder inside the folder that its workers share.

    Parameters
    ----------
    client : object, optional
        A client of Dask, a session of Spark, or the name of an engine. None is the current client or session.
    shared : path, optional
        A folder that all workers see, or ``s3://BUCKET/PREFIX``. With Dask the default is the folder for temporary files, if all workers see it.
    groups : int
        Tasks of a pass; 0: the program chooses.

    Raises
    ------
    ValueError
        If a worker of Dask does not see the folder, or `shared` is missing for another engine.
    """
    client = current() if client is None else client
    known = kind(client)
    if shared is None and known != "dask":
        raise ValueError("shared= is missing: a folder that this machine and all workers see under the same path, or s3://BUCKET/PREFIX")
    bucket = in_bucket(shared)
    if shared is not None and not bucket and not os.path.isdir(shared):
        raise FileNotFoundError(f"shared = {os.fspath(shared)!r}: there is no such folder")
    beside = tempfile.gettempdir() if bucket or shared is None else os.path.abspath(shared)
    with workplace(beside=os.path.join(beside, "x")) as folder:
        if known == "dask" and not bucket:
            _seen(client, folder, shared)
        flags = [f"--shared={shared if bucket else folder / 'pieces'}", *([f"--groups={groups}"] if groups else [])]
        if known == "name":
            yield Engine(client, [f"--engine={client}", *flags], folder, bucket)
            return
        from .engines.bridge import served

        submitter = importlib.import_module(f".engines.{known}", __package__).submitter
        with served(known, submitter(client, program())) as name:
            yield Engine(client, [f"--engine={name}", *flags], folder, bucket)


def _seen(client: Any, folder: pathlib.Path, shared: str | os.PathLike[str] | None) -> None:
    """Raise a ValueError if a worker of Dask does not see the folder under its path."""
    for worker, there in client.run(os.path.isdir, os.fspath(folder), on_error="ignore").items():
        if not there:
            given = f"shared = {os.fspath(shared)!r}" if shared is not None else "shared= is missing, and the folder for temporary files"
            raise ValueError(f"{given}: worker {worker} does not see it: give a folder that this machine and all workers see under the same path")


def stored(a: Any, e: Engine, memory: str | int, progress: bool | None) -> str | os.PathLike[str]:
    """Return the path of a store that workers see. A matrix that is no store is ingested; Dask workers write the partitions that they hold.

    Raises
    ------
    ValueError
        If workers share a bucket, and the matrix is not a store in a bucket; or if A is not a matrix of real numbers.
    """
    path = path_of(a)
    if path is not None and store_at(path) is not None:
        if in_bucket(path):
            return path
        if not e.bucket:
            return os.path.abspath(path)
    if e.bucket:
        raise ValueError("shared= is a bucket: A must be a store in a bucket, too, where all workers read it: copy one there and give its s3://BUCKET/PREFIX")
    store = e.folder / "store"
    parts = _parts.partitions(a)
    if parts is None or kind(e.client) != "dask":
        ingest(given(a, "gdsvd.Store.from_table(A, path, ") if path is None else path, store, memory, progress=progress)
    else:
        _parts.ingest(parts, e.client, e.folder / "parts", store, memory, progress)
    return store
