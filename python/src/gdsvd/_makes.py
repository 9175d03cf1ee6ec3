"""Making of stores from files, tables, matrices, blocks of rows and AnnData."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, Union

import numpy as np

from . import _hdf5, _soma, _tables
from ._input import checked, flags, given, ingest, is_number, is_path, memory_flags, paths
from ._lazy import lazy
from ._places import listed
from ._program import run

Path = Union[str, "os.PathLike[str]"]
S = TypeVar("S", bound="Makes")


@contextlib.contextmanager
def _named(**lists: Iterable[Any] | None) -> Iterator[list[str]]:
    """Return the flags that name files with the ids and titles of rows and columns, and that keep the order of rows and columns."""
    with listed(**lists) as given:
        yield ["--keep-order", *given] if given else []


class Makes:
    """The ``from_`` methods of `gdsvd.Store`."""

    def __init__(self, path: Path) -> None:
        raise NotImplementedError

    @classmethod
    def from_csv(cls: type[S], files: Any, path: Path, *, memory: str | int = "auto", progress: bool | None = None, **options: Any) -> S:
        """Make a store from text files with one entry a line.

        Parameters
        ----------
        files : path or list of paths
            Files, patterns of file names, or URLs; plain or compressed.
        path : path
            Folder of the new store.
        memory : str or int
            Memory budget of the program; ``"auto"`` is 1 GiB, or 60 % of the available memory if that is less.
        progress : bool or None
            Whether tqdm shows the progress. None: on a terminal and in a notebook, if tqdm is installed.
        **options
            Flags of ``gdsvd ingest``: ``columns="user,item,rating"``, ``sep=";"``, ``header="no"``, …

        Returns
        -------
        Store

        Examples
        --------
        >>> import gdsvd, tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "r.csv").write_text("user,item,rating\\nann,tea,5\\nbob,tea,3\\nbob,milk,4\\n")
        >>> gdsvd.Store.from_csv(folder / "r.csv", folder / "r.csr").head()
        {'ann': {'tea': 5.0}, 'bob': {'milk': 4.0, 'tea': 3.0}}
        """
        return cls._from_files(files, path, memory, progress, {"format": "delimited", **options})

    @classmethod
    def from_parquet(cls: type[S], files: Any, path: Path, *, memory: str | int = "auto", progress: bool | None = None, **options: Any) -> S:
        """Make a store from Parquet files with one entry a row. The parameters are those of `from_csv`."""
        return cls._from_files(files, path, memory, progress, {"format": "parquet", **options})

    @classmethod
    def _from_files(cls: type[S], files: Any, path: Path, memory: str | int, progress: bool | None, options: dict[str, Any]) -> S:
        run("ingest", *memory_flags(memory), *flags(options), "-o", path, "--", *paths(files), progress=progress)
        return cls(path)

    @classmethod
    def from_table(
        cls: type[S],
        tables: Any,
        path: Path,
        *,
        row: Any = None,
        col: Any = None,
        value: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> S:
        """Make a store from a table with one entry a line: of pandas, polars, DuckDB, Ibis, Dask, or any object that provides a stream of Arrow.

        Parameters
        ----------
        tables : DataFrame, LazyFrame, relation, Table, RecordBatchReader, any with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable
            The table is read in parts: a stream, a relation of DuckDB and a LazyFrame need not fit into memory.
        path : path
            Folder of the new store.
        row, col : str
            The columns with the row id and the column id of each entry: texts or integers, also in dictionaries. `rows` and `cols` mean the same.
        value : str, optional
            The column with the values; by default every entry is 1. `values` means the same.
        memory, progress, **options
            As for `from_csv`: ``duplicates="sum"``, ``graph="undirected"``, …

        Returns
        -------
        Store
            Its rows and columns are in ascending order of their ids, as in a store of a file.

        Examples
        --------
        >>> import gdsvd, tempfile, os
        >>> import pandas as pd
        >>> plays = pd.DataFrame({"who": ["bob", "ann", "bob"], "what": ["tea", "tea", "jam"], "n": [3, 5, 4]})
        >>> gdsvd.Store.from_table(plays, os.path.join(tempfile.mkdtemp(), "a.csr"), row="who", col="what", value="n").head()
        {'ann': {'tea': 5.0}, 'bob': {'jam': 4.0, 'tea': 3.0}}
        """
        roles = _tables.roles(row, col, value, options)
        more = [*memory_flags(memory), *_tables.FLAGS, *flags(options)]
        run("ingest", *more, "-o", path, "--", "-", feed=lambda out: _tables.hand_over(tables, roles, out), progress=progress)
        return cls(path)

    @classmethod
    def from_scipy(
        cls: type[S],
        A: Any,
        path: Path,
        *,
        rows_ids: Any = None,
        cols_ids: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> S:
        """Make a store from a sparse matrix or an array.

        Parameters
        ----------
        A : sparse matrix or array_like, or an array of Dask, zarr or h5py
            Arrays of Dask, zarr and h5py are read in blocks of rows. Duplicate entries are summed.
        path : path
            Folder of the new store.
        rows_ids, cols_ids : sequence, optional
            Ids of rows and columns in their order, all different: texts or integers. By default they are numbered from 0.
        memory, progress, **options
            As for `from_csv`.

        Returns
        -------
        Store
        """
        A = given(A, "gdsvd.Store.from_table(A, path, ")
        with _named(rows_ids=rows_ids, cols_ids=cols_ids) as lists:
            ingest(A, path, memory, [*lists, *flags(options)], progress=progress)
        return cls(path)

    @classmethod
    def from_chunks(
        cls: type[S],
        chunks: Iterable[Any],
        path: Path,
        *,
        shape: tuple[int, int] | None = None,
        rows_ids: Any = None,
        cols_ids: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> S:
        """Make a store from blocks of rows, which need not fit into memory together.

        Parameters
        ----------
        chunks : iterable of sparse matrices or arrays
            Blocks of rows, in order. All have the same number of columns, and values of one type.
        shape : tuple of int, optional
            Shape of the whole matrix. If it is not given, the entries are first written to a temporary file beside the store.
        path, rows_ids, cols_ids, memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store

        Examples
        --------
        >>> import gdsvd, scipy.sparse as sp, tempfile, os
        >>> blocks = (sp.eye(3, 5) * i for i in range(1, 4))
        >>> gdsvd.Store.from_chunks(blocks, os.path.join(tempfile.mkdtemp(), "a.csr")).shape
        (9, 5)
        """
        chunks = lazy(chunks) or chunks
        _tables.refuse(chunks, "chunks", "gdsvd.Store.from_table(chunks, path, ")
        if shape is not None:
            if np.shape(shape) != (2,) or not all(is_number(n) and n == int(n) and n >= 0 for n in shape):
                raise ValueError(f"shape = {shape!r} must be the number of rows and that of columns")
            shape = int(shape[0]), int(shape[1])
        with _named(rows_ids=rows_ids, cols_ids=cols_ids) as lists:
            ingest(iter(chunks), path, memory, [*lists, *flags(options)], shape, progress)
        return cls(path)

    @classmethod
    def from_h5ad(
        cls: type[S], file: Path, path: Path, *, layer: str | None = None, memory: str | int = "auto", progress: bool | None = None, **options: Any
    ) -> S:
        """Make a store from the matrix of an AnnData file, with the names of obs and var as ids.

        Cells and genes keep their order. The file is read in blocks of rows, never whole. A csc_matrix is read once for every eight million
        entries, and its indices once more.

        Parameters
        ----------
        file : path
            An h5ad file, which needs h5py, or a zarr folder, which needs zarr.
        layer : str, optional
            Name of a layer to read instead of X.
        path, memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store
        """
        with _hdf5.opened(file) as h:
            return cls._from_hdf5(_hdf5.h5ad(h, layer), path, memory, progress, options)

    @classmethod
    def from_anndata(
        cls: type[S], data: Any, path: Path, *, layer: str | None = None, memory: str | int = "auto", progress: bool | None = None, **options: Any
    ) -> S:
        """Make a store from the matrix of an AnnData, with the names of obs and var as ids.

        Parameters
        ----------
        data : AnnData or path
            An AnnData in memory, backed by a file, or with a Dask array; or the path of an h5ad file or zarr folder. A matrix that is not in
            memory is read in blocks of rows.
        layer : str, optional
            Name of a layer to read instead of X.
        path, memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store
        """
        if is_path(data):
            return cls.from_h5ad(data, path, layer=layer, memory=memory, progress=progress, **options)
        if layer and layer not in data.layers:
            raise ValueError(f"data has no layers/{layer}: it has {', '.join(f'layers/{name}' for name in data.layers) or 'no layers'}")
        x = data.layers[layer] if layer else data.X
        if x is None:
            raise ValueError("data has no X: name a layer")
        blocks = lazy(x)
        with _named(rows_ids=data.obs_names, cols_ids=data.var_names) as lists:
            ingest(checked(x) if blocks is None else blocks, path, memory, [*lists, *flags(options)], (int(data.shape[0]), int(data.shape[1])), progress)
        return cls(path)

    @classmethod
    def from_soma(
        cls: type[S],
        uri: str,
        path: Path,
        *,
        measurement: str = "RNA",
        layer: str = "data",
        obs_query: str | None = None,
        var_query: str | None = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> S:
        """Make a store from a matrix of a TileDB-SOMA experiment, with ``obs_id`` and ``var_id`` as ids.

        Parameters
        ----------
        uri : str
            URI of the experiment, which tiledbsoma reads in blocks of rows.
        path : path
            Folder of the new store.
        measurement, layer : str
            The matrix is ``ms[measurement].X[layer]``.
        obs_query, var_query : str, optional
            Filters of rows and columns, as ``"tissue == 'lung'"``.
        memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store
            `Factorization.to_soma` writes results computed from the store back to the experiment.
        """
        with _soma.matrix(str(uri), measurement, layer, obs_query, var_query) as m:
            return cls._from_hdf5(m, path, memory, progress, options)

    @classmethod
    def from_10x_h5(
        cls: type[S], file: Path, path: Path, *, genome: str | None = None, memory: str | int = "auto", progress: bool | None = None, **options: Any
    ) -> S:
        """Make a store, cells × features, from a Cell Ranger file. Barcodes and feature ids become ids, feature names become titles.

        Parameters
        ----------
        file : path
            The h5 file, which needs h5py. It is read in blocks of cells.
        genome : str, optional
            Name of the genome to read, for a file of version 2 with several genomes.
        path, memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store
        """
        with _hdf5.opened(file) as h:
            return cls._from_hdf5(_hdf5.tenx(h, genome), path, memory, progress, options)

    @classmethod
    def _from_hdf5(cls: type[S], m: _hdf5.Matrix, path: Path, memory: str | int, progress: bool | None, options: dict[str, Any]) -> S:
        with _named(rows_ids=m.rows, cols_ids=m.cols, col_titles=m.titles and [f"{i}\t{t}" for i, t in zip(m.cols, m.titles, strict=True)]) as lists:
            ingest(m.blocks, path, memory, [*lists, *flags(options)], m.shape, progress)
        return cls(path)
