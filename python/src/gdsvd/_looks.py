"""What people do with a store besides factorising it: look at it, sum it up, compare views, complete it."""

from __future__ import annotations

import csv
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import NotConverged
from ._factorization import Factorization
from ._frames import frame, pandas_module
from ._input import flags, memory_flags, path_of
from ._places import listed, workplace
from ._program import run
from ._svds import pipeline

if TYPE_CHECKING:
    import pandas


class Looks:
    """Methods of `gdsvd.Store`."""

    path: pathlib.Path | str  # a URL of a bucket is a str
    info: dict[str, Any]

    def stats(self, axis: str = "rows", *, view: str | list[str] | None = None, memory: str | int = "auto") -> pandas.DataFrame:
        """Counts, sums, means and variances of all rows or columns.

        Parameters
        ----------
        axis : {"rows", "cols"}
        view : str or list of str, optional
            Sum up what steps make of the matrix.
        memory : str or int
            What the program stays within.

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
            with open(tmp / "stats" / f"{axis}.csv", encoding="utf-8", errors="surrogateescape", newline="") as f:
                ids = [line["id"] for line in csv.DictReader(f)]
            pd = pandas_module()
            return pd.DataFrame(numbers, index=pd.Index(self._typed(axis, ids), name="id"))

    def _typed(self, axis: str, ids: list[str]) -> list[Any]:
        """Ids as the types that they have in results."""
        kind = self.info["row_ids" if axis == "rows" else "col_ids"]
        return ids if kind == "string" else [int(i) for i in ids]

    def view(
        self, view: str | list[str] | None = None, *, n: int = 5, row: Any = None, entries: int = 20, memory: str | int = "auto"
    ) -> pandas.DataFrame:
        """Entries of some rows, as steps make them.

        Parameters
        ----------
        view : str or list of str, optional
            The steps; without them the entries as they are.
        n : int
            Number of rows: the first that have entries.
        row : id, optional
            This row instead.
        entries : int
            Number of entries of each row, at most.
        memory : str or int
            What the program stays within.

        Returns
        -------
        DataFrame
            ``row``, ``col``, ``value``, and ``title`` where columns have titles.
        """
        with listed(rows=None if row is None else [row]) as which:
            said = run("view", *(which or [f"--head={n}"]), f"--entries={entries}", *pipeline(view), *memory_flags(memory), "--", self.path)
        found = ({**e, "row": line["id"], "col": e["id"], "value": float(e["value"])} for line in said["lines"] for e in line["entries"])
        return frame(found, ["row", "col", "value"], ("title",))

    def export(self, out: Any, *, view: str | list[str] | None = None, memory: str | int = "auto", **options: Any) -> pathlib.Path:
        """Write the matrix to a file for other programs, in the format of its extension.

        Parameters
        ----------
        out : path
            ``.npz`` (for `scipy.sparse.load_npz`), ``.mtx``, or with ids ``.csv``, ``.tsv`` or ``.parquet``.
        view : str or list of str, optional
            Write what steps make of the matrix.
        memory : str or int
            What the program stays within.
        **options
            Flags of ``gdsvd export``: ``force=True``, ``format="csv"``, …

        Returns
        -------
        pathlib.Path
            Of the file.
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
        """Judge views and numbers of triplets by entries that were held out, beside baselines.

        Parameters
        ----------
        test : Store or path, optional
            The store of what was held out; without, that which ``holdout="random:0.2"`` has made beside this store.
        views : iterable of str
            Views to compare; ``"none"`` is the store as it is. Without, ``"recsys"``, or no view beside what `options` have to judge.
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
            ``model``, ``view``, ``k``, ``baseline``, ``metric``, ``value``, and ``low`` and ``high``, which have 95 % of the bootstrap replicates between them.
        """
        lists = {"views": views, "rank": [k] if isinstance(k, (int, np.integer)) else k, "metrics": metrics}
        args = [f"--{name}={items if isinstance(items, str) else ','.join(map(str, items))}" for name, items in lists.items() if items is not None]
        if test is not None:
            args.append(f"--test={os.fspath(path_of(test) or test)}")
        said = run("eval", f"--train={self.path}", *args, *memory_flags(memory), *flags(options), progress=progress)
        columns = ["model", "view", "k", "baseline", "metric", "value", "low", "high"]
        return frame(({"view": "", "k": 0, "baseline": False, **model, **score} for model in said["models"] for score in model["scores"]), columns)

    def complete(self, k: int, out: Any, *, memory: str | int = "auto", seed: int = 0, progress: bool | None = None, **options: Any) -> Factorization:
        """Fit a matrix of low rank to the entries, all others being missing instead of zero (soft-impute).

        Parameters
        ----------
        k : int
            Largest rank.
        out : path
            Of the result.
        memory, seed, progress
            As for `svd`.
        **options
            Flags of ``gdsvd complete``: ``biases=True``, ``lambda_=18``, ``damping=5``, ``resume=True``, …

        Returns
        -------
        Factorization
            Its `predict` has the entries that are missing.
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
        """Eigenvalues and eigenvectors of a symmetric store, such as that of an undirected graph.

        Parameters
        ----------
        k : int
            Number of pairs.
        out : path
            Of the result.
        which : {"LM", "LA", "SA"}
            The largest in magnitude, the largest, the smallest.
        tol, view, memory, seed, progress, **options
            As for `svd`.

        Returns
        -------
        Factorization
            ``s`` has the eigenvalues in the order of `which`, ``V`` the vectors.

        Raises
        ------
        NotConverged
            If the run ended before; the exception has the result so far as ``factorization``.
        """
        args = [f"--rank={k}", f"--which={which}", f"--tol={tol}", f"--seed={seed}", *pipeline(view), *memory_flags(memory), *flags(options)]
        return made("eigs", self.path, out, args, progress)


def made(command: str, store: pathlib.Path | str, out: Any, args: list[str], progress: bool | None) -> Factorization:
    """The result of a command that writes one."""
    try:
        run(command, *args, "-o", out, "--", store, progress=progress)
    except NotConverged as err:
        err.factorization = Factorization(out)
        raise
    return Factorization(out)
