"""A store: the matrix on the disk that passes stream from."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any, Union

import numpy as np

from . import _hdf5, _tables
from ._errors import NotConverged
from ._factorization import Factorization
from ._input import checked, flags, ingest, is_number, is_path, memory_flags
from ._places import listed
from ._program import run
from ._svds import pipeline

Path = Union[str, "os.PathLike[str]"]


@contextlib.contextmanager
def _named(**lists: Iterable[Any] | None) -> Iterator[list[str]]:
    """Flags for ids, and titles, of the rows and columns of a matrix, which keep their order."""
    with listed(**lists) as given:
        yield ["--keep-order", *given] if given else []


class Store:
    """A sparse matrix on the disk, compressed and covered by checksums.

    Parameters
    ----------
    path : str or path
        The folder of a store that is there.

    Attributes
    ----------
    path : pathlib.Path
        Absolute: it holds after a change of the working folder.
    shape : tuple of int
    nnz : int
        Number of entries.
    fingerprint : str
        Of the contents: stores of the same matrix have the same.
    info : dict
        What ``gdsvd info --json`` says.

    Notes
    -----
    The ``from_`` methods take the flags of ``gdsvd ingest`` as further keyword arguments, such as ``min_per_row=5``,
    ``duplicates="sum"`` or ``force=True`` to replace a store. What comes as a matrix or in blocks keeps the order of its rows and columns: ids are
    their names. Of files and tables rows and columns are in ascending order of the ids.

    Examples
    --------
    >>> import gdsvd, scipy.sparse as sp, tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> s = gdsvd.Store.from_scipy(sp.diags([1.0, 5.0, 3.0]), os.path.join(folder, "a.csr"), cols_ids=["x", "y", "z"])
    >>> s.shape, s.nnz
    ((3, 3), 3)
    >>> s.head(2)
    {0: {'x': 1.0}, 1: {'y': 5.0}}
    >>> f = s.svd(2, os.path.join(folder, "a.svd"))
    >>> f.s.round(12).tolist()
    [5.0, 3.0]
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path).absolute()
        self._look()

    def _look(self) -> None:
        self.info = run("info", "--", self.path)
        if self.info.get("format") != "gdsvd-store":
            raise ValueError(f"{self.path} is a {self.info.get('format')}, not a store")
        self.shape = self.info["rows"], self.info["cols"]
        self.nnz = self.info["nnz"]
        self.fingerprint = self.info["fingerprint"]

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}): {self.shape[0]} × {self.shape[1]}, {self.nnz} entries"

    @classmethod
    def from_csv(cls, files: Any, path: Path, *, memory: str | int = "auto", progress: bool | None = None, **options: Any) -> Store:
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
    def from_parquet(cls, files: Any, path: Path, *, memory: str | int = "auto", progress: bool | None = None, **options: Any) -> Store:
        """Make a store of Parquet files with one entry a row; parameters as of `from_csv`."""
        return cls._from_files(files, path, memory, progress, {"format": "parquet", **options})

    @classmethod
    def _from_files(cls, files: Any, path: Path, memory: str | int, progress: bool | None, options: dict[str, Any]) -> Store:
        files = [files] if is_path(files) else list(files)
        run("ingest", *memory_flags(memory), *flags(options), "-o", path, "--", *files, progress=progress)
        return cls(path)

    @classmethod
    def from_table(
        cls,
        tables: Any,
        path: Path,
        *,
        rows: Any,
        cols: Any,
        values: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> Store:
        """Make a store of a table with one entry a line: of pandas, polars or Arrow.

        Parameters
        ----------
        tables : DataFrame, Table, RecordBatch, RecordBatchReader, or an iterable of them
            As ``relation.arrow()`` of DuckDB gives it. A stream need not fit into memory.
        path : path
            Of the new store.
        rows, cols : str
            The columns with the ids of the row and of the column of an entry.
        values : str, optional
            The column with its value; without it every entry is 1.
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
        >>> gdsvd.Store.from_table(plays, os.path.join(tempfile.mkdtemp(), "a.csr"), rows="who", cols="what", values="n").head()
        {'ann': {'tea': 5.0}, 'bob': {'jam': 4.0, 'tea': 3.0}}
        """
        more = [*memory_flags(memory), *_tables.FLAGS, *flags(options)]
        run("ingest", *more, "-o", path, "--", "-", feed=lambda out: _tables.hand_over(tables, rows, cols, values, out), progress=progress)
        return cls(path)

    @classmethod
    def from_scipy(
        cls,
        A: Any,
        path: Path,
        *,
        rows_ids: Any = None,
        cols_ids: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> Store:
        """Make a store of a sparse matrix or an array in memory.

        Parameters
        ----------
        A : sparse matrix or array_like
            Entries at one place count as their sum.
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
        _tables.refuse(A, "A", "gdsvd.Store.from_table(A, path, ")
        A = checked(A)
        with _named(rows_ids=rows_ids, cols_ids=cols_ids) as lists:
            ingest(A, path, memory, [*lists, *flags(options)], progress=progress)
        return cls(path)

    @classmethod
    def from_chunks(
        cls,
        chunks: Iterable[Any],
        path: Path,
        *,
        shape: tuple[int, int] | None = None,
        rows_ids: Any = None,
        cols_ids: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> Store:
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
        cls, file: Path, path: Path, *, layer: str | None = None, memory: str | int = "auto", progress: bool | None = None, **options: Any
    ) -> Store:
        """Make a store of the matrix of an AnnData file, with the names of obs and var as ids.

        Cells and genes keep their order. The file is read in blocks of rows, and never whole; a csc_matrix once for each eight million entries.

        Parameters
        ----------
        file : path
            The h5ad file; h5py has to be installed.
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
    def from_10x_h5(
        cls, file: Path, path: Path, *, genome: str | None = None, memory: str | int = "auto", progress: bool | None = None, **options: Any
    ) -> Store:
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
    def _from_hdf5(cls, m: _hdf5.Matrix, path: Path, memory: str | int, progress: bool | None, options: dict[str, Any]) -> Store:
        with _named(rows_ids=m.rows, cols_ids=m.cols, col_titles=m.titles and [f"{i}\t{t}" for i, t in zip(m.cols, m.titles, strict=True)]) as lists:
            ingest(m.blocks, path, memory, [*lists, *flags(options)], m.shape, progress)
        return cls(path)

    def append(self, files: Any, *, memory: str | int = "auto", progress: bool | None = None, **options: Any) -> Store:
        """Merge more entries into the store, which is replaced in one step at the end.

        Parameters
        ----------
        files : path or list of paths
            In the format that the store was made of. Nothing is appended to a store of a matrix of declared shape, as SciPy's.
        memory, progress
            As for `from_csv`.
        **options
            Flags of ``gdsvd append``, such as ``duplicates="last"``.

        Returns
        -------
        Store
            This one.
        """
        files = [files] if is_path(files) else list(files)
        run("append", *memory_flags(memory), *flags(options), "--", self.path, *files, progress=progress)
        self._look()
        return self

    def head(self, n: int = 5, *, entries: int = 20, view: Any = None) -> dict[Any, dict[Any, float]]:
        """The first `n` rows that have entries.

        Parameters
        ----------
        n : int
            Number of rows.
        entries : int
            How many of each row, at most.
        view : str or list of str, optional
            Look at what steps make of the matrix.

        Returns
        -------
        dict
            Id of the row to (id of the column to value).
        """
        said = run("view", f"--head={n}", f"--entries={entries}", *pipeline(view), "--", self.path)
        return {line["id"]: {e["id"]: float(e["value"]) for e in line["entries"]} for line in said["lines"]}

    def svd(
        self,
        k: int | float,
        out: Path,
        *,
        tol: float = 1e-8,
        view: Any = None,
        memory: str | int = "auto",
        seed: int = 0,
        progress: bool | None = None,
        **options: Any,
    ) -> Factorization:
        """Compute triplets into a folder.

        KeyboardInterrupt leaves a checkpoint, from which ``resume=True`` goes on, to the same bits as without a break.

        Parameters
        ----------
        k : int or float
            Number of triplets; or the share of the energy ‖A‖²_F, between 0 and 1, that as few as possible are to capture,
            and no more than 200 unless ``max_k`` says so.
        out : path
            Of the result.
        tol, view, memory, seed, progress
            As for `svds`.
        **options
            Flags of ``gdsvd svd``: ``resume=True``, ``force=True``, ``vectors="right"``, ``time_limit="10m"``, ``keep_cols="hvg:2000"``, …

        Returns
        -------
        Factorization

        Raises
        ------
        NotConverged
            If the run ended before; the exception has the result so far as ``factorization``.
        """
        try:
            more = [*pipeline(view), *memory_flags(memory), *flags(options)]
            run("svd", f"--rank={k}", f"--tol={tol}", f"--seed={seed}", *more, "-o", out, "--", self.path, progress=progress)
        except NotConverged as err:
            err.factorization = Factorization(out)
            raise
        return Factorization(out)
