"""Store: a matrix on the disk, from which the passes of a factorisation are streamed."""

from __future__ import annotations

import pathlib
from typing import Any

from . import _tables
from ._factorization import Factorization
from ._input import flags, in_bucket, memory_flags, paths
from ._looks import Looks, made
from ._makes import Makes, Path
from ._program import run
from ._svds import pipeline


class Store(Looks, Makes):
    """A sparse matrix on the disk, compressed and covered by checksums.

    Parameters
    ----------
    path : str or path
        The folder of an existing store, or ``s3://BUCKET/PREFIX``. A store in a bucket can be read, but not appended to.

    Attributes
    ----------
    path : pathlib.Path, or str for a store in a bucket
        Absolute path, which stays valid when the working folder changes.
    shape : tuple of int
    nnz : int
        Number of entries.
    fingerprint : str
        Fingerprint of the contents: stores of the same matrix have the same fingerprint.
    info : dict
        Output of ``gdsvd info --json``.

    Notes
    -----
    The ``from_`` methods take the flags of ``gdsvd ingest`` as further keyword arguments, such as ``min_per_row=5``,
    ``duplicates="sum"`` or ``force=True`` to replace a store. Matrices and blocks of rows keep the order of their rows and columns, and
    ids are only their names. Files and tables give rows and columns in ascending order of the ids.

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
        self.path: pathlib.Path | str = path if in_bucket(path) else pathlib.Path(path).absolute()
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

    def append(
        self,
        files: Any,
        *,
        row: Any = None,
        col: Any = None,
        value: Any = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> Store:
        """Merge more entries into the store, which is replaced in one step at the end.

        Parameters
        ----------
        files : path or list of paths; or a table, with `row` and `col`
            Entries in the format from which the store was made; tables for a store made by `from_table`. A store of a matrix with a
            declared shape, such as a SciPy matrix, cannot be appended to.
        row, col, value : str, optional
            As for `from_table`.
        memory, progress
            As for `from_csv`.
        **options
            Flags of ``gdsvd append``, such as ``duplicates="last"``.

        Returns
        -------
        Store
            This store.
        """
        roles = _tables.roles(row, col, value, options)
        more: list[Path] = [*memory_flags(memory), *flags(options), "--", self.path]
        if roles == (None, None, None):
            _tables.refuse(files, "files", "store.append(files, ")
            run("append", *more, *paths(files), progress=progress)
        else:
            run("append", *more, "-", feed=lambda out: _tables.hand_over(files, roles, out), progress=progress)
        self._look()
        return self

    def head(self, n: int = 5, *, entries: int = 20, view: Any = None) -> dict[Any, dict[Any, float]]:
        """Return the first `n` rows that have entries.

        Parameters
        ----------
        n : int
            Number of rows.
        entries : int
            Largest number of entries of each row.
        view : str or list of str, optional
            Steps to apply to the matrix before.

        Returns
        -------
        dict
            Maps the id of a row to a dict from ids of columns to values.
        """
        lines = self._lines(f"--head={n}", f"--entries={entries}", *pipeline(view))
        return {line["id"]: {e["id"]: float(e["value"]) for e in line["entries"]} for line in lines}

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
        """Compute the leading singular triplets and write them to a folder.

        An interrupted run (KeyboardInterrupt) leaves a checkpoint. ``resume=True`` continues from it, with the same bits as an
        uninterrupted run.

        Parameters
        ----------
        k : int or float
            Number of triplets. Or a share of the energy ‖A‖²_F between 0 and 1, which as few triplets as possible capture; at most
            200, unless ``max_k`` is given.
        out : path
            Folder of the result.
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
            If the run ended before all triplets were within `tol`; the exception has the result so far as ``factorization``.
        """
        more = [*pipeline(view), *memory_flags(memory), *flags(options)]
        return made("svd", self.path, out, [f"--rank={k}", f"--tol={tol}", f"--seed={seed}", *more], progress)
