"""A result: the folder that svd writes."""

from __future__ import annotations

import csv
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
    """Triplets in a folder, with the ids of rows and columns.

    Parameters
    ----------
    path : str or path
        The folder that ``gdsvd svd`` or `Store.svd` has written.
    verify : bool
        Whether ``U`` and ``V`` are compared with their checksums when they are first used, which reads them once: by the package
        google-crc32c where it is installed, else by the program.

    Attributes
    ----------
    path : pathlib.Path
        Absolute: it holds after a change of the working folder.
    U, V : memmap or None
        Left vectors, rows × k, and right ones, columns × k, mapped from the files; None where the result has none. A file that is damaged is a
        CorruptError when they are first used.
    s : ndarray
        Singular values, descending; of eigenpairs the eigenvalues.
    rows, cols : pandas.Index or ndarray, or None
        Ids of the rows of U and of V, in their order: an Index where pandas is installed. None where the result has no such vectors.
        Bytes of an id that are not UTF-8 are as `os.fsdecode` makes them, here and wherever ids are returned.
    info : dict
        ``result.json``: residuals, settings, costs, …

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
            raise MissingError(f"{self.path} does not exist: it is to be the folder of a result")
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
        return type(self), (self.path,)  # not the arrays: they are mapped

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
        if not file.exists():  # of a side without vectors
            return None
        with open(file, encoding="utf-8", errors="surrogateescape", newline="\n") as f:
            ids: Any = f.read().split("\n")[:-1]
        if said["kind"] == "int":
            ids = np.array(ids, dtype=np.int64)
        elif said.get("escaped"):
            ids = [_unescaped(i) for i in ids]
        try:
            return pd.Index(ids) if pd else np.asarray(ids)
        except UnicodeEncodeError:  # Arrow has only UTF-8
            return pd.Index(ids, dtype=object)

    def _id(self, side: str, text: str) -> Any:
        """An id that is a text, of the type that ids of its side have."""
        return text if self.info["ids"][side]["kind"] == "string" else int(text)

    def check(self, store: Any = None, *, memory: str | int = "auto") -> dict[str, Any]:
        """Verify every byte of the result; with a store, measure its residuals anew.

        ``U`` and ``V`` are compared with their checksums when they are first used, not again later; methods that run gdsvd verify what they read.

        Parameters
        ----------
        store : Store or path, optional
            What it is a result of.
        memory : str or int
            What the program stays within.

        Returns
        -------
        dict
            What ``gdsvd check --json`` says.

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
        """The columns with the highest scores for rows.

        Parameters
        ----------
        store : Store or path
            What this is a result of.
        rows : iterable of ids, optional
            Which; without, all that have entries. Arrays of Arrow and tables of one column are read as well.
        n : int
            Number of columns for each, at most.
        candidates : iterable of ids, optional
            The columns that may be recommended, likewise.
        exclude_seen : bool
            Whether columns are left out that a row has an entry in.
        scores : {"auto", "model", "history"}
            ``u_iᵀΣv_j``, or what a row has entries in folded in; ``"auto"`` is history where the view has ``weight=columns``.
        memory : str or int
            What the program stays within.
        as_arrow : bool
            Whether to return a table of pyarrow.

        Returns
        -------
        dict, or pyarrow.Table with as_arrow
            Id of the row to a list of ``{"id", "score"}``, and ``"title"`` where columns have titles, best first. The table has a line for each:
            ``row``, ``column``, ``rank``, ``score`` and titles.
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
                for line in csv.DictReader(f):
                    best = {"id": self._id("cols", line["column"]), "score": float(line["score"])}
                    if title := line.get("column_title"):
                        best["title"] = title
                    found.setdefault(self._id("rows", line["row"]), []).append(best)
            return found

    def rows_table(self) -> pyarrow.Table:
        """Left vectors as a table of Arrow: ``id``, and ``vector``, a list of k numbers.

        It takes memory for ids alone: the vectors are those of the file, mapped.

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
        """Right vectors as a table of Arrow, likewise."""
        return vector_table(self.cols, self.V, "right")

    def similar(
        self, *, rows: Iterable[Any] | None = None, cols: Iterable[Any] | None = None, n: int = 10, memory: str | int = "auto"
    ) -> dict[Any, list[dict[str, Any]]]:
        """The rows or columns whose vectors have the smallest angles with those of some.

        Parameters
        ----------
        rows, cols : iterable of ids
            One of them: rows like these rows, or columns like these columns.
        n : int
            Number for each, at most.
        memory : str or int
            What the program stays within.

        Returns
        -------
        dict
            Id to a list of ``{"id", "score"}``, and ``"title"`` where there are titles; the score is the cosine.
        """
        if (rows is None) == (cols is None):
            raise ValueError("give either rows or cols")
        with listed(row=rows, col=cols) as lists:
            said = run("similar", *memory_flags(memory), *lists, f"--number={n}", "--", self.path)
        ids = self.cols if rows is None else self.rows  # what is said of ids is UTF-8, which they need not be
        keep = ("score", "title")
        return {plain(ids[r["index"]]): [{"id": plain(ids[b["index"]])} | {k: b[k] for k in keep if k in b} for b in r["best"]] for r in said["rankings"]}

    @overload
    def project(self, new: Any, *, whiten: bool = False, memory: str | int = "auto", return_info: Literal[False] = False) -> Array: ...

    @overload
    def project(self, new: Any, *, whiten: bool = False, memory: str | int = "auto", return_info: Literal[True]) -> tuple[Array, dict[str, Any]]: ...

    def project(self, new: Any, *, whiten: bool = False, memory: str | int = "auto", return_info: bool = False) -> Any:
        """The place of rows among those of the matrix: B·V, where B is what the view of this result makes of them.

        Parameters
        ----------
        new : sparse matrix, array_like, Store or path
            A matrix has the columns of this result, in the order of `cols`. Those of a store or a file are known by their ids,
            and its rows come in the order of the store, or in ascending order of the ids of a file.
        whiten : bool
            Whether components are divided by their standard deviations.
        memory : str or int
            What the program stays within.
        return_info : bool
            Whether to return what ``gdsvd project --json`` says as well: ``empty``, ``known``, ``unknown``, ids that are unknown, and
            ``shrinkage``, by component, where columns of the matrix are missing and the view takes them for means.

        Returns
        -------
        ndarray, shape (rows of `new`, k), or with return_info a tuple of it and a dict
        """
        with workplace() as tmp:
            if path_of(new) is None:
                n = np.shape(new)[1] if np.ndim(new) == 2 else None
                if n != self.info["cols"]:
                    raise ValueError(f"new has shape {np.shape(new)}: it must have 2 dimensions, and the {self.info['cols']} columns of the result")
                new = checked(new)
                with listed(cols_ids=self.cols) as lists:
                    ingest(new, tmp / "store", memory, lists)
                new = tmp / "store"
            out = tmp / "x"
            said = run("project", *memory_flags(memory), f"--whiten={str(whiten).lower()}", "-o", out, "--", self.path, _path(new))
            x = np.asarray(np.load(out / "X.npy"))
            return (x, said) if return_info else x

    def report(self, store: Any = None, *, memory: str | int = "auto", **options: Any) -> Report:
        """A page about this result, which a notebook shows: values, energy, residuals, costs, what is strongest in components.

        Parameters
        ----------
        store : Store or path, optional
            What this is a result of; without it the store that the result names, if it is still there. It is read once.
        memory : str or int
            What the program stays within.
        **options
            Flags of ``gdsvd report``: ``components=3``, ``number=12``, ``labels="labels.tsv"``, ``no_store=True``, …

        Returns
        -------
        Report
            Its ``html`` is the page for a file.
        """
        if store is not None:
            options["store"] = _path(store)
        with workplace() as tmp:
            page = tmp / "page.html"
            run("report", *memory_flags(memory), *flags(options), "-o", page, "--", self.path)
            return Report(page.read_text(encoding="utf-8"))


def _pandas() -> Any:
    """The module pandas, if it is installed."""
    return importlib.import_module("pandas") if importlib.util.find_spec("pandas") else None


def _arrow() -> Any:
    """The module pyarrow.parquet."""
    try:
        return importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("tables of Arrow are those of pyarrow: pip install pyarrow") from None


def _path(store: Any) -> str:
    """The path of a store, or of what a caller gives for it."""
    path: str = os.fspath(getattr(store, "path", store))
    return path


def _unescaped(text: str) -> str:
    r"""A text in which ``\\``, ``\n`` and ``\r`` stand for a backslash and line breaks."""
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), text)
