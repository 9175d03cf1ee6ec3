"""Methods of a result: topics, queries by words, export, alignment with an earlier result, prediction of entries."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from . import _soma
from ._errors import ExistsError
from ._frames import frame
from ._input import flags, memory_flags
from ._places import workplace
from ._program import run
from ._types import Array
from ._vectors import BLOCK, write_vectors
from ._zarr import is_zarr

if TYPE_CHECKING:
    import pandas

Path = Union[str, "os.PathLike[str]"]


class Alignment(NamedTuple):
    """Vectors of a result, rotated to match those of an earlier result.

    Attributes
    ----------
    X : ndarray, shape (n, k)
        The vectors times R, in the order of the rows or columns of the result.
    R : ndarray, shape (k, k)
        The rotation.
    angles : ndarray, shape (k,)
        Principal angles between the two spaces in radians, which no rotation can remove; none if a space has fewer than k dimensions.
    info : dict
        Output of ``gdsvd align --json``: ``before``, ``after``, ``common``, ``changed_neighbours``, …; its angles are in degrees.
    """

    X: Array
    R: Array
    angles: Array
    info: dict[str, Any]


class Uses:
    """Methods of `gdsvd.Factorization`."""

    path: pathlib.Path
    s: Array
    rows: Any
    cols: Any
    info: dict[str, Any]

    @property
    def U(self) -> Array | None:
        """Left vectors."""
        raise NotImplementedError

    @property
    def V(self) -> Array | None:
        """Right vectors."""
        raise NotImplementedError

    def topics(self, n: int = 10, *, memory: str | int = "auto") -> pandas.DataFrame:
        """Return the rows and columns with the largest positive and the largest negative entries of each component.

        Parameters
        ----------
        n : int
            Largest number of rows, and of columns, of each sign.
        memory : str or int
            Memory budget of the program.

        Returns
        -------
        DataFrame
            ``component`` (from 1), ``sigma``, ``axis`` (rows or columns), ``sign`` (1 or −1), ``id``, ``score``, and ``title`` if there are titles.
            Rows and columns of the same sign of a component belong together. A result without left vectors has no rows.
        """
        said = run("topics", *memory_flags(memory), f"--number={n}", "--", self.path)
        ids = {"rows": self.rows, "columns": self.cols}
        return frame(
            (
                {"component": t["component"], "sigma": t["sigma"], "axis": axis, "sign": sign, **one, "id": plain(ids[axis][one["index"]])}
                for t in said["topics"]
                for axis in ("rows", "columns")
                if axis in t  # a result without left vectors has no rows
                for name, sign in (("positive", 1), ("negative", -1))
                for one in t[axis][name]
            ),
            ["component", "sigma", "axis", "sign", "id", "score"],
            ("title",),
        )

    def query(self, words: str | Iterable[str], n: int = 10, *, memory: str | int = "auto") -> pandas.DataFrame:
        """Return the rows most similar to a row with the given words, which are ids of columns (latent semantic indexing).

        Parameters
        ----------
        words : str or iterable of str
            A text of words separated by blanks, or the words. A repeated word counts as often as it occurs.
        n : int
            Largest number of rows.
        memory : str or int
            Memory budget of the program.

        Returns
        -------
        DataFrame
            ``id``, ``score`` (the cosine), and ``title`` if rows have titles, best first.
        """
        given = [words] if isinstance(words, str) else [str(w) for w in words]
        if isinstance(words, str) and len(words) >= 1 << 15:  # Linux has arguments of less than 128 KiB
            given = words.split()
        said = run("query", *memory_flags(memory), f"--number={n}", "--", self.path, *given)
        best = (b for r in said["rankings"] for b in r["best"])
        return frame(({**b, "id": plain(self.rows[b["index"]])} for b in best), ["id", "score"], ("title",))

    def export(self, out: Path, what: str = "U", **options: Any) -> pathlib.Path:
        """Write vectors or values to a file for other programs, with ids, in the format of its extension.

        Parameters
        ----------
        out : path
            ``.npy``, ``.npz``, ``.csv``, ``.tsv``, ``.parquet`` or ``.mtx``. Vectors also to ``.arrow``, an Arrow file with a table like that of
            `rows_table` (needs pyarrow), and to ``.zarr``, a folder with an array of vectors and an array of ids (needs zarr).
        what : {"U", "V", "US", "VS", "sigma"}
            US and VS are U and V times the singular values.
        **options
            Flags of ``gdsvd export``: ``format="npy32"``, ``no_ids=True``, ``force=True``, …; for Arrow and zarr only ``force``.

        Returns
        -------
        pathlib.Path
            The path of the file.
        """
        file = pathlib.Path(out)
        if file.suffix in (".arrow", ".zarr") and "format" not in options:
            self._export(file, what, **options)
        else:
            run("export", f"--what={what}", *flags(options), "-o", out, "--", self.path)
        return file

    def _export(self, out: pathlib.Path, what: str, force: bool = False) -> None:
        if what not in ("U", "V", "US", "VS"):
            raise ValueError(f"what = {what!r}: {out.suffix} files hold U, V, US or VS")
        if out.exists() and not (force and (is_zarr(out) if out.suffix == ".zarr" else out.is_file())):
            raise ExistsError(f"{out} is there already" + ("" if force else ": force=True replaces it"))
        ids, vectors = (self.rows, self.U) if what[0] == "U" else (self.cols, self.V)
        with workplace(beside=out) as tmp:
            made = tmp / f"new{out.suffix}"
            write_vectors(made, what, ids, vectors, self.s if what[1:] else np.ones_like(self.s))
            old = tmp / "old"
            try:
                if out.is_dir():
                    os.rename(out, old)
                os.replace(made, out)
            except BaseException:
                if old.exists() and not out.exists():
                    os.rename(old, out)
                raise

    def align(self, old: Any, what: str = "V", out: Path | None = None, **options: Any) -> Alignment:
        """Rotate the vectors of this result to match those of an old result with the same ids (orthogonal Procrustes).

        Parameters
        ----------
        old : Factorization or path
            The earlier result.
        what : {"U", "V", "US", "VS"}
            Which vectors.
        out : path, optional
            A folder to write the result to, as ``gdsvd align`` does; by default nothing is kept on the disk.
        **options
            Flags of ``gdsvd align``: ``sample=200``, ``neighbours=10``, ``force=True``.

        Returns
        -------
        Alignment
        """
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(workplace()) / "x" if out is None else pathlib.Path(out)
            args = [f"--to={os.fspath(getattr(old, 'path', old))}", f"--what={what}", *flags(options)]
            info = run("align", *args, "-o", folder, "--", self.path)
            return Alignment(np.load(folder / "X.npy"), np.load(folder / "R.npy"), np.radians(info.get("angles", [])), info)

    def to_soma(self, uri: str, *, measurement: str = "RNA", obsm: str | None = "X_svd", varm: str | None = "SVs") -> None:
        """Write the scores of rows (US) and the right vectors to the TileDB-SOMA experiment from which the store was made.

        Parameters
        ----------
        uri : str
            URI of the experiment.
        measurement : str
            The measurement to write to.
        obsm, varm : str or None
            Names of the new arrays; None: the array is not written. Rows and columns that a query left out have no entries.
        """
        for side, name, ids, vectors, scale in (("obs", obsm, self.rows, self.U, self.s), ("var", varm, self.cols, self.V, np.ones_like(self.s))):
            if name is not None and vectors is not None:
                blocks = (np.asarray(vectors[i : i + BLOCK]) * scale for i in range(0, len(vectors), BLOCK))
                _soma.write(str(uri), measurement, side, name, [plain(i) for i in ids], blocks, len(self.s))

    def predict(self, rows: Iterable[Any], cols: Iterable[Any]) -> Array:
        """Return the predictions of a completion (`Store.complete`) for pairs of rows and columns.

        Parameters
        ----------
        rows, cols : iterables of ids, equally long

        Returns
        -------
        ndarray
            μ + b_i + c_j + (UΣVᵀ)_ij for each pair; the biases b and c are 0 in a completion without biases.

        Raises
        ------
        ValueError
            If the result is not a completion, or does not have an id.
        """
        about = self.info.get("completion")
        if about is None:
            raise ValueError(f"{self.path} is no completion: Store.complete makes one")
        i, j = self._at("rows", rows), self._at("cols", cols)
        if len(i) != len(j):
            raise ValueError(f"{len(i)} rows and {len(j)} columns: give as many of both")
        u, s, v = (getattr(self, name) for name in ("U", "s", "V"))
        found = about["mean"] + np.einsum("nk,k,nk->n", u[i], s, v[j])
        if about["biases"]:
            found = found + np.load(self.path / "row-biases.npy")[i] + np.load(self.path / "col-biases.npy")[j]
        return np.asarray(found, np.float64)

    def _at(self, side: str, ids: Iterable[Any]) -> np.ndarray:
        place = {plain(name): at for at, name in enumerate(getattr(self, side))}
        try:
            return np.array([place[plain(name)] for name in ids], np.int64)
        except KeyError as err:
            raise ValueError(f"{err.args[0]!r} is no id of the {side} of {self.path}") from None


def plain(value: Any) -> Any:
    """Convert an id that is a NumPy scalar to a Python str or int."""
    return value.item() if isinstance(value, np.generic) else value
