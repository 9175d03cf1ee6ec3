"""Factorization: a result, in the folder that ``gdsvd svd`` writes."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pathlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ._errors import CorruptError, MissingError
from ._frames import csv_lines
from ._input import checked, flags, ingest, memory_flags, path_of
from ._places import listed, workplace
from ._program import run
from ._report import Report
from ._tables import ids
from ._types import Array
from ._uses import Uses, plain
from ._vectors import vector_table, verify

if TYPE_CHECKING:
    import pyarrow


class Factorization(Uses):
    """Singular triplets in a folder, with the ids of rows and columns.

    Parameters
    ----------
    path : str or path
        The folder that ``gdsvd svd`` or `Store.svd` has written.
    verify : bool
        Whether ``U`` and ``V`` are compared with their checksums when they are first used. The check reads the files once; it is made
        by the package google-crc32c if that is installed, else by the program.

    Attributes
    ----------
    path : pathlib.Path
        Absolute path, which stays valid when the working folder changes.
    U, V : memmap or None
        Left vectors, rows × k, and right vectors, columns × k, mapped from their files; None if the result has none. A damaged file
        raises a CorruptError at the first use.
    s : ndarray
        Singular values, descending; the eigenvalues if the result has eigenpairs.
    rows, cols : pandas.Index or ndarray, or None
        Ids of the rows of U and of V, in their order: an Index if pandas is installed. None if the result has no such vectors.
        Bytes of an id that are not UTF-8 are decoded as by `os.fsdecode`, here and wherever ids are returned.
    info : dict
        Contents of ``result.json``: residuals, settings, costs, …

    Examples
    --------
    >>> import gdsvd, scipy.sparse as sp, tempfile, os
    >>> folder = tempfile.mkdtemp()
    >>> A = sp.csr_matrix([[5.0, 4, 0], [4, 5, 1], [0, 1, 5]])
    >>> s = gdsvd.Store.from_scipy(A, os.path.join(folder, "a.csr"), cols_ids=["x", "y", "z"])
    >>> f = s.svd(2, os.path.join(folder, "a.svd"))
    >>> f
    Factorization('...'): 3 × 3, k = 2, converged
    >>> list(f.cols)
    ['x', 'y', 'z']
    >>> [r["id"] for r in f.similar(cols=["x"], n=1)["x"]]
    ['y']
    >>> f.project(A).shape
    (3, 2)
    """

    s: Array

    def __init__(self, path: str | os.PathLike[str], verify: bool = True) -> None:
        self._trusted: set[str] = set() if verify else {"U.npy", "V.npy"}
        self.path = pathlib.Path(path).absolute()
        if not self.path.exists():
            raise MissingError(f"{self.path} does not exist: give the folder of a result")
        try:
            text = (self.path / "result.json").read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise ValueError(f"{self.path} is no result: it has no result.json") from None
        try:
            self.info: dict[str, Any] = json.loads(text)
            self._arrays = {name: self._array(name) for name in ("U.npy", "V.npy")}
            self.s = np.load(self.path / ("lambda.npy" if "lambda" in self.info else "sigma.npy"))
            self.rows, self.cols = self._ids("rows"), self._ids("cols")
        except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError, EOFError) as err:
            raise CorruptError(f"{self.path} is damaged: {err}; 'python -m gdsvd check' says which file") from None

    def __repr__(self) -> str:
        return f"Factorization({str(self.path)!r}): {self.info['rows']} × {self.info['cols']}, k = {len(self.s)}, {self.info['status']}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)  # without the arrays: the copy maps the files anew

    @property
    def U(self) -> Array | None:
        """Left vectors, rows × k."""
        return self._verified("U.npy")

    @property
    def V(self) -> Array | None:
        """Right vectors, columns × k."""
        return self._verified("V.npy")

    def _verified(self, name: str) -> Array | None:
        if name not in self._trusted and self._arrays[name] is not None:
            self._trusted |= verify(self.path, self.info["files"], name)
        return self._arrays[name]

    def _array(self, name: str) -> Array | None:
        file = self.path / name
        return np.load(file, mmap_mode="r") if file.exists() else None

    def _ids(self, side: str) -> Any:
        said = self.info.get("ids", {}).get(side)
        if said is None:
            if self._arrays["U.npy" if side == "rows" else "V.npy"] is None:
                return None
            said = {"kind": "range"}
        n, first = self.info[side], said.get("first", 0)
        pd = _pandas()
        if "file" not in said:
            return pd.RangeIndex(first, first + n) if pd else np.arange(first, first + n)
        file = self.path / said["file"]
        if not file.exists():  # the result has no vectors of this side
            return None
        with open(file, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            ids: Any = f.read().split("\n")[:-1]
        if said["kind"] == "int":
            ids = np.array(ids, dtype=np.int64)
        elif said.get("escaped"):
            ids = [_unescaped(i) for i in ids]
        try:
            return pd.Index(ids) if pd else np.asarray(ids)
        except UnicodeEncodeError:  # ids that are not UTF-8 do not fit into an Arrow string type of pandas
            return pd.Index(ids, dtype=object)

    def _id(self, side: str, text: str) -> Any:
        """Convert the text of an id to the type of the ids of its side, str or int."""
        return text if self.info["ids"][side]["kind"] == "string" else int(text)

    def check(self, store: Any = None, *, memory: str | int = "auto") -> dict[str, Any]:
        """Verify every byte of the result; with a store, compute the residuals again from the matrix.

        Outside of this method ``U`` and ``V`` are verified only at their first use, and methods that run gdsvd verify the files they read.

        Parameters
        ----------
        store : Store or path, optional
            The store that was factorised.
        memory : str or int
            Memory budget of the program.

        Returns
        -------
        dict
            Output of ``gdsvd check --json``.

        Raises
        ------
        CorruptError
            If a file is damaged.
        NotConverged
            If the run ended before it converged.
        GdsvdError
            If the triplets are not as stated.
        """
        more = [f"--store={_path(store)}"] if store is not None else []
        return run("check", *memory_flags(memory), *more, "--", self.path)

    @overload
    def recommend(
        self, store: Any, rows: Any = None, n: int = 20, *, candidates: Any = None, exclude_seen: bool = True, scores: str = "auto",
        memory: str | int = "auto", as_arrow: Literal[False] = False,
    ) -> dict[Any, list[dict[str, Any]]]: ...  # fmt: skip

    @overload
    def recommend(
        self, store: Any, rows: Any = None, n: int = 20, *, candidates: Any = None, exclude_seen: bool = True, scores: str = "auto",
        memory: str | int = "auto", as_arrow: Literal[True],
    ) -> pyarrow.Table: ...  # fmt: skip

    def recommend(
        self,
        store: Any,
        rows: Any = None,
        n: int = 20,
        *,
        candidates: Any = None,
        exclude_seen: bool = True,
        scores: str = "auto",
        memory: str | int = "auto",
        as_arrow: bool = False,
    ) -> Any:
        """Return the columns with the highest scores for rows.

        Parameters
        ----------
        store : Store or path
            The store that was factorised.
        rows : iterable of ids, optional
            The rows; by default all rows that have entries. Arrays of Arrow and tables of one column are accepted as well.
        n : int
            Largest number of columns for each row.
        candidates : iterable of ids, optional
            The columns that may be recommended, given like `rows`; by default all columns.
        exclude_seen : bool
            Whether to leave out the columns in which a row has an entry.
        scores : {"auto", "model", "history"}
            ``"model"``: ``u_iᵀΣv_j``; ``"history"``: the entries of the row folded in; ``"auto"``: history if the view has ``weight=columns``, else model.
        memory : str or int
            Memory budget of the program.
        as_arrow : bool
            Whether to return a table of pyarrow.

        Returns
        -------
        dict, or pyarrow.Table with as_arrow
            The dict maps the id of a row to a list of ``{"id", "score"}``, best first, with ``"title"`` if the column has a title. The table
            has a line for each recommendation: ``row``, ``column``, ``rank``, ``score`` and titles. Both lack rows without a recommendation,
            such as those with entries in all columns.
        """
        with workplace() as tmp, listed(rows=ids(rows), candidates=ids(candidates)) as lists:
            out = tmp / ("out.parquet" if as_arrow else "out.csv")
            n = min(n, self.info["cols"])
            args = [f"--store={_path(store)}", f"--number={n}", f"--exclude-seen={str(exclude_seen).lower()}", f"--scores={scores}", *lists]
            run("recommend", *memory_flags(memory), *args, "-o", out, "--", self.path)
            if as_arrow:
                return _arrow().read_table(out, memory_map=False)
            found: dict[Any, list[dict[str, Any]]] = {}
            with open(out, encoding="utf-8", errors="surrogateescape", newline="") as f:
                for line in csv_lines(f):
                    best = {"id": self._id("cols", line["column"]), "score": float(line["score"])}
                    if title := line.get("column_title"):
                        best["title"] = title
                    found.setdefault(self._id("rows", line["row"]), []).append(best)
            return found

    def rows_table(self) -> pyarrow.Table:
        """Return the left vectors as a table of Arrow: ``id``, and ``vector``, a list of k numbers.

        Only the ids take memory: the vectors are mapped from their file.

        Returns
        -------
        pyarrow.Table

        Raises
        ------
        ValueError
            If the result has no left vectors.
        """
        return vector_table(self.rows, self.U, "left")

    def cols_table(self) -> pyarrow.Table:
        """Return the right vectors as a table of Arrow, like `rows_table`."""
        return vector_table(self.cols, self.V, "right")

    def similar(
        self, *, rows: Iterable[Any] | None = None, cols: Iterable[Any] | None = None, n: int = 10, memory: str | int = "auto"
    ) -> dict[Any, list[dict[str, Any]]]:
        """Return the rows or columns whose vectors have the smallest angles with those of the given rows or columns.

        Parameters
        ----------
        rows, cols : iterable of ids
            Exactly one of the two: `rows` finds rows similar to each of these rows, `cols` columns similar to each of these columns.
        n : int
            Largest number of results for each id.
        memory : str or int
            Memory budget of the program.

        Returns
        -------
        dict
            Maps an id to a list of ``{"id", "score"}``, with ``"title"`` if there is a title. The score is the cosine of the angle.
        """
        if (rows is None) == (cols is None):
            raise ValueError("give either rows or cols")
        with listed(row=rows, col=cols) as lists:
            said = run("similar", *memory_flags(memory), *lists, f"--number={n}", "--", self.path)
        ids = self.cols if rows is None else self.rows  # by index: the ids in the JSON output are UTF-8, and those of the matrix need not be
        keep = ("score", "title")
        return {plain(ids[r["index"]]): [{"id": plain(ids[b["index"]])} | {k: b[k] for k in keep if k in b} for b in r["best"]] for r in said["rankings"]}

    @overload
    def project(self, new: Any, *, whiten: bool = False, memory: str | int = "auto", return_info: Literal[False] = False) -> Array: ...

    @overload
    def project(self, new: Any, *, whiten: bool = False, memory: str | int = "auto", return_info: Literal[True]) -> tuple[Array, dict[str, Any]]: ...

    def project(self, new: Any, *, whiten: bool = False, memory: str | int = "auto", return_info: bool = False) -> Any:
        """Return the scores of new rows in the space of this result: B·V, where B are the new rows after the steps of the view.

        Parameters
        ----------
        new : sparse matrix, array_like, Store or path
            A matrix must have the columns of this result, in the order of `cols`. Columns of a store or a file are matched by their ids;
            the results have the order of the rows of the store, or the ascending order of the row ids of a file.
        whiten : bool
            Whether components are divided by their standard deviations.
        memory : str or int
            Memory budget of the program.
        return_info : bool
            Whether to also return the output of ``gdsvd project --json``: ``empty``, ``known``, ``unknown``, the unknown ids, and, if `new`
            lacks columns that the view replaces by their means, the ``shrinkage`` of each component.

        Returns
        -------
        ndarray, shape (rows of `new`, k), or with return_info a tuple of the ndarray and a dict
        """
        with workplace() as tmp:
            if path_of(new) is None:
                n = np.shape(new)[1] if np.ndim(new) == 2 else None
                if n != self.info["cols"] or not np.shape(new)[0]:
                    raise ValueError(f"new has shape {np.shape(new)}: it must have 2 dimensions, a row or more, and the {self.info['cols']} columns of the result")
                new = checked(new)
                with listed(cols_ids=self.cols) as lists:
                    ingest(new, tmp / "store", memory, lists)
                new = tmp / "store"
            out = tmp / "x"
            said = run("project", *memory_flags(memory), f"--whiten={str(whiten).lower()}", "-o", out, "--", self.path, _path(new))
            x = np.asarray(np.load(out / "X.npy"))
            return (x, said) if return_info else x

    def report(self, store: Any = None, *, memory: str | int = "auto", **options: Any) -> Report:
        """Return a page about this result that a notebook shows: values, energy, residuals, costs, strongest rows and columns.

        Parameters
        ----------
        store : Store or path, optional
            The store that was factorised, by default the one that the result names, if it still exists. It is read once.
        memory : str or int
            Memory budget of the program.
        **options
            Flags of ``gdsvd report``: ``components=3``, ``number=12``, ``labels="labels.tsv"``, ``no_store=True``, …

        Returns
        -------
        Report
            Its attribute ``html`` is the whole page, to be written to a file.
        """
        if store is not None:
            options["store"] = _path(store)
        with workplace() as tmp:
            page = tmp / "page.html"
            run("report", *memory_flags(memory), *flags(options), "-o", page, "--", self.path)
            return Report(page.read_text(encoding="utf-8"))


def _pandas() -> Any:
    """Return the module pandas, or None if it is not installed."""
    return importlib.import_module("pandas") if importlib.util.find_spec("pandas") else None


def _arrow() -> Any:
    """Return the module pyarrow.parquet."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("tables of Arrow need pyarrow: pip install pyarrow") from None


def _path(store: Any) -> str:
    """Return the path of a `Store` or `Factorization`, or the given path itself."""
    path: str = os.fspath(getattr(store, "path", store))
    return path


def _unescaped(text: str) -> str:
    r"""Return a text with ``\\``, ``\n`` and ``\r`` replaced by a backslash and line breaks."""
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), text)
