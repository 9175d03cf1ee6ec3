"""Methods of a store besides svd: statistics, views of entries, export, evaluation, completion, eigenpairs."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import NotConverged
from ._factorization import Factorization
from ._frames import csv_lines, frame, index, pandas_module
from ._input import flags, memory_flags, path_of
from ._places import listed, workplace
from ._program import run
from ._svds import pipeline

if TYPE_CHECKING:
    import pandas


class Looks:
    """Methods of `gdsvd.Store`."""

    path: pathlib.Path | str  # a str if it is the URL of a bucket
    info: dict[str, Any]

    def stats(self, axis: str = "rows", *, view: str | list[str] | None = None, memory: str | int = "auto") -> pandas.DataFrame:
        """Return counts, sums, means and variances of all rows or columns.

        Parameters
        ----------
        axis : {"rows", "cols"}
        view : str or list of str, optional
            Steps to apply to the matrix before.
        memory : str or int
            Memory budget of the program.

        Returns
        -------
        DataFrame
            Indexed by id: ``count`` of entries that are not 0, ``sum``, ``mean``, ``variance`` of all elements, zeros included (ddof 0).
        """
        if axis not in ("rows", "cols"):
            raise ValueError(f"axis = {axis!r}: it has to be 'rows' or 'cols'")
        with workplace() as tmp:
            run("stats", *pipeline(view), *memory_flags(memory), "-o", tmp / "stats", "--", self.path)
            numbers = {name: np.load(tmp / "stats" / f"{axis}-{name}.npy") for name in ("count", "sum", "mean", "variance")}
            numbers["count"] = numbers["count"].astype(np.int64)
            return pandas_module().DataFrame(numbers, index=index(self._ids(axis, tmp / "stats"), "id"))

    def _ids(self, axis: str, stats: pathlib.Path) -> list[Any]:
        """Return the ids in the folder that ``gdsvd stats`` has written, in the type that the store has for them, str or int."""
        with open(stats / f"{axis}.csv", encoding="utf-8", errors="surrogateescape", newline="") as f:
            ids = [line["id"] for line in csv_lines(f)]
        kind = self.info["row_ids" if axis == "rows" else "col_ids"]
        return ids if kind == "string" else [int(i) for i in ids]

    def _lines(self, *args: Any) -> list[dict[str, Any]]:
        """Return the lines of ``gdsvd view``. Ids in which JSON has replaced bytes that are not UTF-8 are restored by a pass over the store."""
        lines: list[dict[str, Any]] = run("view", *args, "--", self.path)["lines"]
        if any("\ufffd" in str(one["id"]) for line in lines for one in (line, *line["entries"])):
            with workplace() as tmp:
                run("stats", "-o", tmp / "stats", "--", self.path)
                rows, cols = self._ids("rows", tmp / "stats"), self._ids("cols", tmp / "stats")
            for line in lines:
                line["id"] = rows[line["index"]]
                for e in line["entries"]:
                    e["id"] = cols[e["index"]]
        return lines

    def view(
        self, view: str | list[str] | None = None, *, n: int = 5, row: Any = None, entries: int = 20, memory: str | int = "auto"
    ) -> pandas.DataFrame:
        """Return entries of some rows, after the steps of a view.

        Parameters
        ----------
        view : str or list of str, optional
            The steps; by default the entries are returned as stored.
        n : int
            Number of rows; the first rows that have entries are taken.
        row : id, optional
            The id of a single row to take instead.
        entries : int
            Largest number of entries of each row.
        memory : str or int
            Memory budget of the program.

        Returns
        -------
        DataFrame
            ``row``, ``col``, ``value``, and ``title`` if columns have titles.
        """
        with listed(rows=None if row is None else [row]) as which:
            lines = self._lines(*(which or [f"--head={n}"]), f"--entries={entries}", *pipeline(view), *memory_flags(memory))
        found = ({**e, "row": line["id"], "col": e["id"], "value": float(e["value"])} for line in lines for e in line["entries"])
        return frame(found, ["row", "col", "value"], ("title",))

    def export(self, out: Any, *, view: str | list[str] | None = None, memory: str | int = "auto", **options: Any) -> pathlib.Path:
        """Write the matrix to a file for other programs, in the format of its extension.

        Parameters
        ----------
        out : path
            ``.npz`` (for `scipy.sparse.load_npz`), ``.mtx``, or with ids ``.csv``, ``.tsv`` or ``.parquet``.
        view : str or list of str, optional
            Steps to apply to the matrix before.
        memory : str or int
            Memory budget of the program.
        **options
            Flags of ``gdsvd export``: ``force=True``, ``format="csv"``, …

        Returns
        -------
        pathlib.Path
            The path of the file.
        """
        run("export", *pipeline(view), *memory_flags(memory), *flags(options), "-o", out, "--", self.path)
        return pathlib.Path(out)

    def evaluate(
        self,
        test: Any = None,
        *,
        views: str | Iterable[str] | None = None,
        k: int | Iterable[int] = (10, 50, 100),
        metrics: str | Iterable[str] | None = None,
        memory: str | int = "auto",
        progress: bool | None = None,
        **options: Any,
    ) -> pandas.DataFrame:
        """Evaluate views and numbers of triplets, and baselines, on entries that were held out.

        Parameters
        ----------
        test : Store or path, optional
            The store of the entries that were held out; by default the one that ``holdout="random:0.2"`` made beside this store.
        views : iterable of str
            Views to compare; ``"none"`` is the store as it is. Default: ``"recsys"``, or no view if `options` name results to evaluate.
        k : int or iterable of int
            Numbers of triplets.
        metrics : iterable of str, optional
            ``"recall@20"``, ``"precision@10"``, ``"ndcg@20"``, ``"map@10"``, ``"coverage"``, ``"rmse"``, ``"mae"``.
        memory, progress
            As for `svd`.
        **options
            Flags of ``gdsvd eval``: ``results=[f]``, ``lists=["recs.csv"]``, ``folds="users:0.1"``, ``relevant=4``, ``seed=1``.

        Returns
        -------
        DataFrame
            ``model``, ``view``, ``k``, ``baseline``, ``metric``, ``value``, and bounds ``low``, ``high`` of 95 % of the bootstrap replicates.
        """
        lists = {"views": views, "rank": [k] if isinstance(k, (int, np.integer)) else k, "metrics": metrics}
        args = [f"--{name}={items if isinstance(items, str) else ','.join(map(str, items))}" for name, items in lists.items() if items is not None]
        if test is not None:
            args.append(f"--test={os.fspath(path_of(test) or test)}")
        said = run("eval", f"--train={self.path}", *args, *memory_flags(memory), *flags(options), progress=progress)
        columns = ["model", "view", "k", "baseline", "metric", "value", "low", "high"]
        return frame(({"view": "", "k": 0, "baseline": False, **model, **score} for model in said["models"] for score in model["scores"]), columns)

    def complete(self, k: int, out: Any, *, memory: str | int = "auto", seed: int = 0, progress: bool | None = None, **options: Any) -> Factorization:
        """Fit a matrix of low rank to the stored entries; all others count as missing instead of zero (soft-impute).

        Parameters
        ----------
        k : int
            Largest rank.
        out : path
            Folder of the result.
        memory, seed, progress
            As for `svd`.
        **options
            Flags of ``gdsvd complete``: ``biases=True``, ``lambda_=18``, ``damping=5``, ``resume=True``, …

        Returns
        -------
        Factorization
            Its method `predict` returns estimates of missing entries.
        """
        if "lambda_" in options:
            options["lambda"] = options.pop("lambda_")
        return made("complete", self.path, out, [f"--rank={k}", f"--seed={seed}", *memory_flags(memory), *flags(options)], progress)

    def eigs(
        self,
        k: int,
        out: Any,
        *,
        which: str = "LM",
        tol: float = 1e-8,
        view: str | list[str] | None = None,
        memory: str | int = "auto",
        seed: int = 0,
        progress: bool | None = None,
        **options: Any,
    ) -> Factorization:
        """Compute eigenvalues and eigenvectors of a symmetric store, such as that of an undirected graph.

        Parameters
        ----------
        k : int
            Number of eigenpairs.
        out : path
            Folder of the result.
        which : {"LM", "LA", "SA"}
            The eigenvalues of largest magnitude, the largest ones, or the smallest ones.
        tol, view, memory, seed, progress, **options
            As for `svd`.

        Returns
        -------
        Factorization
            ``s`` has the eigenvalues in the order of `which`, ``V`` the eigenvectors.

        Raises
        ------
        NotConverged
            If the run ended before all pairs were within `tol`; the exception has the result so far as ``factorization``.
        """
        args = [f"--rank={k}", f"--which={which}", f"--tol={tol}", f"--seed={seed}", *pipeline(view), *memory_flags(memory), *flags(options)]
        return made("eigs", self.path, out, args, progress)


def made(command: str, store: pathlib.Path | str, out: Any, args: list[str], progress: bool | None) -> Factorization:
    """Run a command that writes a result, and return the result."""
    try:
        run(command, *args, "-o", out, "--", store, progress=progress)
    except NotConverged as err:
        err.factorization = Factorization(out)
        raise
    return Factorization(out)
