"""How a store is made: of files, tables, matrices, blocks and AnnData."""

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
    """Flags for ids, and titles, of the rows and columns of a matrix, which keep their order."""
    with listed(**lists) as given:
        yield ["--keep-order", *given] if given else []


class Makes:
    """The ``from_`` methods of `gdsvd.Store`."""

    def __init__(self, path: Path) -> None:
        raise NotImplementedError

    @classmethod
    def from_csv(cls: type[S], files: Any, path: Path, *, memory: str | int = "auto", progress: bool | None = None, **options: Any) -> S:
        """Make a store of text with one entry a line.

        Parameters
        ----------
        files : path or list of paths
            Plain or compressed; patterns and URLs as well.
        path : path
            Of the new store.
        memory : str or int
            What the program stays within; ``"auto"`` is 1 GiB, or 60 % of what is available if that is less.
        progress : bool or None
            Whether tqdm shows how far it is; None is yes on a terminal and in a notebook, where tqdm is installed.
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
        """Make a store of Parquet files with one entry a row; parameters as of `from_csv`."""
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
        """Make a store of a table with one entry a line: of pandas, polars, DuckDB, Ibis, Dask, or anything that hands over a stream of Arrow.

        Parameters
        ----------
        tables : DataFrame, LazyFrame, relation, Table, RecordBatchReader, anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable of them
            It is read in parts: a stream, a relation of DuckDB and a LazyFrame need not fit into memory.
        path : path
            Of the new store.
        row, col : str
            The columns with the ids of the row and of the column of an entry: texts or integers, also in dictionaries. `rows` and `cols` are the same.
        value : str, optional
            The column with its value; without it every entry is 1. `values` is the same.
        memory, progress, **options
            As for `from_csv`: ``duplicates="sum"``, ``graph="undirected"``, …

        Returns
        -------
        Store
            Its rows and columns are in ascending order of their ids, as those of a file.

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
        """Make a store of a sparse matrix or an array in memory.

        Parameters
        ----------
        A : sparse matrix or array_like, or an array of Dask, zarr or h5py
            The last three are read in blocks of rows. Entries at one place count as their sum.
        path : path
            Of the new store.
        rows_ids, cols_ids : sequence, optional
            Ids of rows and columns in their order, all different: texts or integers. Without they are numbered from 0.
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
        """Make a store of blocks of rows, which need not fit into memory together.

        Parameters
        ----------
        chunks : iterable of sparse matrices or arrays
            The rows in order. All have as many columns, and values of one type.
        shape : tuple of int, optional
            Of the whole matrix. Where it is not known, the entries are written to a file beside the store first.
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
        """Make a store of the matrix of an AnnData file, with the names of obs and var as ids.

        Cells and genes keep their order. The file is read in blocks of rows, and never whole; a csc_matrix once for each eight million entries.

        Parameters
        ----------
        file : path
            The h5ad file, for which h5py has to be installed, or the folder of zarr, for which zarr has to be.
        layer : str, optional
            Name of a layer, instead of X.
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
        """Make a store of the matrix of an AnnData, with the names of obs and var as ids.

        Parameters
        ----------
        data : AnnData or path
            In memory, backed by a file, or with a Dask array; or the path of an h5ad file or of a folder of zarr. What is not in memory is read in blocks.
        layer : str, optional
            Name of a layer, instead of X.
        path, memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store
        """
        if is_path(data):
            return cls.from_h5ad(data, path, layer=layer, memory=memory, progress=progress, **options)
        x = data.layers[layer] if layer else data.X
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
        """Make a store of the matrix of an experiment of TileDB-SOMA, with ``obs_id`` and ``var_id`` as ids.

        Parameters
        ----------
        uri : str
            Of the experiment, which tiledbsoma reads in blocks of rows.
        path : path
            Of the new store.
        measurement, layer : str
            Which matrix: ``ms[measurement].X[layer]``.
        obs_query, var_query : str, optional
            Filters of rows and columns, as ``"tissue == 'lung'"``.
        memory, progress, **options
            As for `from_scipy`.

        Returns
        -------
        Store
            `Factorization.to_soma` writes what is computed of it back.
        """
        with _soma.matrix(str(uri), measurement, layer, obs_query, var_query) as m:
            return cls._from_hdf5(m, path, memory, progress, options)

    @classmethod
    def from_10x_h5(
        cls: type[S], file: Path, path: Path, *, genome: str | None = None, memory: str | int = "auto", progress: bool | None = None, **options: Any
    ) -> S:
        """Make a store, cells × features, of a file of Cell Ranger: barcodes and ids of features are ids, names of features titles.

        Parameters
        ----------
        file : path
            The h5 file; h5py has to be installed. It is read in blocks of cells.
        genome : str, optional
            Which matrix of a file of version 2 with several.
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
