"""TileDB-SOMA experiments: reading the matrix of a measurement in blocks of rows, and writing results to ``obsm`` and ``varm``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._hdf5 import Matrix

ROWS = 1 << 12  # rows of a block
BUFFER = 16 << 20  # bytes of each buffer of a read; the default of tiledbsoma is 1 GiB


def _tiledbsoma() -> Any:
    try:
        import tiledbsoma
    except ImportError:
        raise ImportError("experiments of SOMA are read by tiledbsoma: pip install tiledbsoma") from None
    return tiledbsoma


def _opened(uri: str, mode: str) -> Any:
    soma = _tiledbsoma()
    try:
        return soma.Experiment.open(uri, mode, context=soma.SOMATileDBContext(tiledb_config={"soma.init_buffer_bytes": BUFFER}))
    except soma.DoesNotExistError:
        raise FileNotFoundError(f"{uri}: there is no experiment of SOMA at this URI") from None


def _measurement(experiment: Any, name: str) -> Any:
    if name not in experiment.ms:
        raise ValueError(f"{experiment.uri} has no measurement {name!r}: it has {', '.join(experiment.ms)}")
    return experiment.ms[name]


@contextlib.contextmanager
def matrix(uri: str, measurement: str, layer: str, obs_query: str | None, var_query: str | None) -> Iterator[Matrix]:
    """Open the matrix of a measurement for the duration of the block. The queries select its rows and columns.

    Raises
    ------
    FileNotFoundError
        If there is no such experiment.
    ValueError
        If the experiment has no such measurement or layer, or the queries select no rows or no columns.
    """
    soma = _tiledbsoma()
    with _opened(uri, "r") as experiment:
        ms = _measurement(experiment, measurement)
        if layer not in ms.X:
            raise ValueError(f"{uri} has no X/{layer} in {measurement}: it has {', '.join(ms.X)}")
        how = {name: soma.AxisQuery(value_filter=text) for name, text in (("obs_query", obs_query), ("var_query", var_query)) if text}
        with experiment.axis_query(measurement, **how) as query:
            shape = int(query.n_obs), int(query.n_vars)
            if 0 in shape:
                raise ValueError(f"obs_query and var_query leave {shape[0]} rows and {shape[1]} columns of {uri}")
            blocks = (block for block, _ in query.X(layer).blockwise(axis=0, size=ROWS, eager=False).scipy())
            rows, cols = (_ids(getattr(query, side), f"{side}_id") for side in ("obs", "var"))
            yield Matrix(shape, blocks, rows, cols, None)


def _ids(frame: Any, name: str) -> list[str]:
    """Return the ids of obs or var, or the join ids if the table has no column of ids."""
    try:
        table = frame(column_names=[name]).concat()
    except Exception:  # the type of the error depends on the version of tiledbsoma
        name = "soma_joinid"
        table = frame(column_names=[name]).concat()
    return [str(v) for v in table[name].to_pylist()]


def write(uri: str, measurement: str, side: str, name: str, ids: list[Any], blocks: Iterator[np.ndarray], k: int) -> None:
    """Write vectors to ``obsm`` or ``varm`` as a sparse array, which is added to the collection when it is complete.

    Parameters
    ----------
    side : {"obs", "var"}
    ids : list
        Ids of the rows of the vectors, as `matrix` returns them.
    blocks : iterator of ndarray
        The vectors, in blocks of rows.

    Raises
    ------
    FileExistsError
        If there is an array of this name.
    ValueError
        If the experiment does not have an id.
    """
    import pyarrow as pa

    soma = _tiledbsoma()
    with _opened(uri, "r") as experiment:
        frame = experiment.obs if side == "obs" else _measurement(experiment, measurement).var
        column = f"{side}_id" if f"{side}_id" in frame.schema.names else "soma_joinid"
        table = frame.read(column_names=["soma_joinid", column] if column != "soma_joinid" else [column]).concat()
        place = dict(zip(map(str, table[column].to_pylist()), table["soma_joinid"].to_pylist(), strict=True))
        there = f"{side}m" in experiment.ms[measurement] and name in experiment.ms[measurement][f"{side}m"]
    if there:
        raise FileExistsError(f"{uri} has {side}m/{name} in {measurement} already: choose another name")
    try:
        at = np.array([place[str(i)] for i in ids], np.int64)
    except KeyError as err:
        raise ValueError(f"{err.args[0]!r} is no {column} of {uri}") from None
    with _opened(uri, "w") as experiment:
        ms = experiment.ms[measurement]
        collection = ms[f"{side}m"] if f"{side}m" in ms else ms.add_new_collection(f"{side}m")
        target = f"{collection.uri.rstrip('/')}/{name}"
        with soma.SparseNDArray.create(target, type=pa.float64(), shape=(max(place.values()) + 1, k)) as array:
            done = 0
            for block in blocks:
                rows = np.repeat(at[done : done + len(block)], k)
                done += len(block)
                part = {"soma_dim_0": rows, "soma_dim_1": np.tile(np.arange(k), len(block)), "soma_data": np.ascontiguousarray(block, np.float64).ravel()}
                array.write(pa.table(part))
        collection.set(name, soma.SparseNDArray.open(target, "w"), use_relative_uri=True)
