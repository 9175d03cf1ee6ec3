"""Implementation of `pp.pca` for AnnData in memory, in h5ad files and in zarr folders, and for matrices."""

from __future__ import annotations

import os
import pathlib
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from . import _hdf5, _zarr
from ._components import centres_columns, upright
from ._errors import NotConverged
from ._factorization import Factorization
from ._input import checked, ingest, is_number, memory_flags, size
from ._lazy import lazy
from ._places import workplace
from ._program import run
from ._store import Store
from ._svds import pipeline, vectors

UNSET: Any = object()
BLOCK = 1 << 14  # rows in a block of scores, and values that are examined together


class Wanted(NamedTuple):
    """The parameters of a call of `pca`."""

    n_comps: int | None
    layer: str | None
    mask_var: Any
    dtype: Any
    keys: tuple[str, str, str]  # names of the results in obsm, varm and uns
    zero_center: bool
    advised: bool  # whether to warn if the values are raw counts
    options: dict[str, Any]  # arguments of Store.svd


class _Counts:
    """Examines blocks of values and records whether all values are non-negative integers."""

    def __init__(self) -> None:
        self.raw, self.any = True, False

    def look(self, block: Any) -> None:
        """Examine one more block. Once a value that is no count has been found, further blocks are not examined."""
        values = block.data if sp.issparse(block) else np.asarray(block).ravel()
        for i in range(0, len(values) if self.raw else 0, BLOCK):
            part = values[i : i + BLOCK]
            self.any = True
            if (part < 0).any() or (part != np.floor(part)).any():
                self.raw = False
                return

    def each(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the blocks unchanged, and examine each of them."""
        for block in blocks:
            self.look(block)
            yield block

    def advise(self, what: str) -> None:
        """Warn that the components are those of raw counts, if all values were counts."""
        if self.raw and self.any:
            warnings.warn(
                f"{what} has raw counts (non-negative integers): their leading components mostly reflect the total count of each cell; "
                'normalise before, as with sc.pp.normalize_total and sc.pp.log1p, or give view="single-cell", which does not change X',
                stacklevel=4,
            )


def of_matrix(data: Any, want: Wanted) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the scores of a matrix, its components, the shares of the variance that the components explain, and their variances."""
    x = lazy(data)
    shape = data.shape if x is None or x.shape is None else x.shape
    x = checked(data) if x is None else x
    if any(map(np.isnan, shape)):
        raise ValueError(f"data has the shape {shape}, in which Dask does not know a number: call data.compute_chunk_sizes() before")
    named, mask = _mask(None if want.mask_var is UNSET else want.mask_var, shape[1], lambda name: None)
    with workplace() as tmp:
        scores, loadings, about = _results(_factorised(x, shape, tmp, _rank(want.n_comps, shape, mask), mask, want), named, mask, want)
        return np.concatenate([b.astype(want.dtype) for b in scores]), loadings.T, about["variance_ratio"], about["variance"]


def of_memory(data: Any, want: Wanted) -> None:
    """Compute the components of an AnnData in memory or backed by a file, and write them into the object."""
    named, mask = _mask(want.mask_var, data.shape[1], lambda name: np.asarray(data.var[name]) if name in data.var else None)
    k, layer = _rank(want.n_comps, data.shape, mask), want.layer
    counts, advised = _Counts(), want.advised and not (layer is None and "log1p" in data.uns)
    x: Any
    if layer and layer not in data.layers:
        raise ValueError(f"data has no layers/{layer}: it has {', '.join(f'layers/{name}' for name in data.layers) or 'no layers'}")
    if not layer and not data.isbacked and data.X is None:
        raise ValueError("data has no X: name a layer")
    given = data.layers[layer] if layer else None if data.isbacked else data.X
    blocks = None if given is None else lazy(given)
    if given is None:
        x, needed = (block for block, _, _ in data.chunked_X(BLOCK)), None
        x = counts.each(x) if advised else x
    elif blocks is not None:
        x, needed = counts.each(blocks) if advised else blocks, None
    else:
        x = checked(given)
        needed = size(x) + vectors(k, data.shape)
        if advised:
            counts.look(x)
    with workplace(needed) as tmp:
        scores, loadings, about = _results(_factorised(x, data.shape, tmp, k, mask, want), named, mask, want)
        data.obsm[want.keys[0]] = np.concatenate([block.astype(want.dtype) for block in scores])
        data.varm[want.keys[1]], data.uns[want.keys[2]] = loadings, about
    if advised:
        counts.advise(f"layers[{layer!r}]" if layer else "X")


def of_file(path: pathlib.Path, output: Any, want: Wanted) -> None:
    """Compute the components of an h5ad file or a zarr folder, and write them into it, or into the copy `output` if that is given.

    An h5ad file is replaced by its copy in one step. Elements of a zarr folder are written apart, and then renamed into the folder.
    """
    out = path if output is None else pathlib.Path(os.path.realpath(output))
    if out != path and out.exists():
        raise FileExistsError(f"output {out} exists: remove it, or name another")
    if output is None and path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} cannot be written to: give the path of a copy as output")
    folder, layer = _zarr.is_zarr(path), want.layer
    before = _state(path, layer)
    with workplace(beside=out) as tmp:
        if not folder and (free := shutil.disk_usage(tmp).free) < path.stat().st_size:
            raise OSError(f"{out.parent} has {free} bytes free: the copy of {path.name} takes more, and the store of its matrix is there too")
        with _hdf5.opened(path) as h:
            for side in ("obsm", "varm", "uns"):
                if side in h:
                    _hdf5.group(h, side)  # refuses a group that cannot be written to before anything is computed
            shape, blocks = _hdf5.values(h, layer)
            counts, advised = _Counts(), want.advised and not (layer is None and "uns" in h and "log1p" in h["uns"])
            if advised:
                blocks = counts.each(blocks)
            named, mask = _mask(want.mask_var, shape[1], lambda name: _hdf5.column(h, "var", name))
            f = _factorised(blocks, shape, tmp, _rank(want.n_comps, shape, mask), mask, want)
        results = _results(f, named, mask, want)

        def unchanged() -> None:
            if _state(path, layer) != before:
                raise OSError(f"{path} has been changed while its components were computed: call pca again")

        (_to_zarr if folder else _to_hdf5)(path, out, tmp, (shape[0], len(f.s)), results, want, unchanged)
        del results, f  # unmaps the files of the result: some systems cannot remove a mapped file
    if advised:
        counts.advise(f"{path.name}: layers/{layer}" if layer else f"{path.name}: X")


def _to_hdf5(path: pathlib.Path, out: pathlib.Path, tmp: pathlib.Path, shape: tuple[int, int], results: Any, want: Wanted, unchanged: Any) -> None:
    scores, loadings, about = results
    with _hdf5.replaced(path, out, tmp) as h:
        filled, at = _hdf5.array(_hdf5.group(h, "obsm"), want.keys[0], shape, want.dtype), 0
        for block in scores:
            filled[at : at + len(block)] = block
            at += len(block)
        _hdf5.put(_hdf5.group(h, "varm"), want.keys[1], loadings)
        _hdf5.put(_hdf5.group(h, "uns"), want.keys[2], about)
        unchanged()


def _to_zarr(path: pathlib.Path, out: pathlib.Path, tmp: pathlib.Path, shape: tuple[int, int], results: Any, want: Wanted, unchanged: Any) -> None:
    scores, loadings, about = results
    target = path
    if out != path:
        target = tmp / "copy"
        try:
            shutil.copytree(path, target)
        finally:  # copies of folders that are read-only could neither be added to nor removed
            for copied, _, _ in os.walk(target):
                os.chmod(copied, os.stat(copied).st_mode | 0o700)
    add = _zarr.Additions(target, tmp)
    add.array(f"obsm/{want.keys[0]}", shape, want.dtype, scores)
    add.array(f"varm/{want.keys[1]}", loadings.shape, loadings.dtype, iter([loadings]))
    about["params"] = {name: v for name, v in about["params"].items() if v is not None}
    add.element(f"uns/{want.keys[2]}", about)
    unchanged()
    group = _zarr.zarr().open_group(str(target), mode="r+", use_consolidated=False)
    for side in ("obsm", "varm", "uns"):
        _hdf5.group(group, side)  # other programs leave out groups that would be empty
    add.place()
    if out != path:
        os.rename(target, out)


def rows_of(data: Any, layer: str | None) -> Callable[[], Iterable[Any]]:
    """Return a function that iterates over the blocks of rows of an AnnData; each call begins with the first block.

    Raises
    ------
    ValueError
        If there is no such layer.
    """
    if layer and layer not in data.layers:
        raise ValueError(f"data has no layers/{layer}: it has {', '.join(f'layers/{name}' for name in data.layers) or 'no layers'}")
    x = data.layers[layer] if layer else data.X
    if lazy(x) is not None:
        return lambda: lazy(x) or ()
    matrix = checked(x)
    matrix = matrix.tocsr() if sp.issparse(matrix) else matrix
    return lambda: (matrix[i : i + BLOCK] for i in range(0, matrix.shape[0], BLOCK))


def _state(path: pathlib.Path, layer: str | None) -> tuple[int, ...]:
    """Return inode, size and time of a file, or the times of the folders of a zarr matrix: they differ after it has been written to."""
    if _zarr.is_zarr(path):
        return _zarr.state(path, f"layers/{layer}" if layer else "X")
    said = path.stat()
    return said.st_ino, said.st_size, said.st_mtime_ns


def _mask(mask_var: Any, genes: int, column: Any) -> tuple[Any, np.ndarray | None]:
    """Return mask_var as recorded in the parameters, and the mask of the genes (None: all). `column` returns a column of var by name, or None."""
    mask = None
    if mask_var is UNSET:
        mask = column("highly_variable")
        mask_var = None if mask is None else "highly_variable"
    elif isinstance(mask_var, str):
        mask = column(mask_var)
        if mask is None:
            raise ValueError(f"var has no column {mask_var!r}: mask_var is the name of one, an array of bool, or None")
    elif mask_var is not None:
        mask = mask_var = np.asarray(mask_var)
    if mask is None:
        return None, None
    if mask.shape != (genes,) or mask.dtype != bool and not all(isinstance(v, (bool, np.bool_)) for v in mask.tolist()):
        raise ValueError(f"mask_var is of type {mask.dtype} and shape {mask.shape}: it must be bool, of {genes} genes")
    if not mask.any():
        raise ValueError("mask_var leaves no gene")
    mask = mask.astype(bool)
    return mask_var if isinstance(mask_var, str) else mask, mask  # files have no arrays of Python objects


def _rank(n_comps: int | None, shape: tuple[int, int], mask: np.ndarray | None) -> int:
    """Return the number of components, and check it against the shape and the mask."""
    least = min(shape[0], shape[1] if mask is None else int(mask.sum()))
    if n_comps is None:
        return max(1, least - 1) if least <= 50 else 50
    if not is_number(n_comps) or not 1 <= n_comps <= least or n_comps != int(n_comps):
        raise ValueError(f"n_comps = {n_comps!r}: it has to be from 1 to {least}, of {shape[0]} cells and {shape[1] if mask is None else mask.sum()} genes")
    return int(n_comps)


def _factorised(x: Any, shape: tuple[int, int], folder: pathlib.Path, k: int, mask: np.ndarray | None, want: Wanted) -> Factorization:
    """Factorise a matrix in memory, or an iterator of its blocks of rows; store and result are written into `folder`."""
    options = want.options
    ingest(x, folder / "store", options["memory"], shape=shape, progress=options["progress"])
    keep = None
    if mask is not None:
        keep = folder / "keep"
        keep.write_text("".join(f"{j}\n" for j in np.flatnonzero(mask)))
    try:
        f = Factorization(Store(folder / "store").svd(k, folder / "result", keep_cols=keep, **options).path, verify=False)
    except NotConverged as err:  # the result goes away with the temporary folder: the exception must not name it
        err.args, err.factorization = (str(err).partition("; the result is in ")[0],), None
        raise
    if centres_columns(f.info.get("view", {})) != want.zero_center:
        said = f.info.get("view", {}).get("pipeline", "none")
        if want.zero_center:
            raise ValueError(f"the view {said} does not centre columns: principal components need a view that does")
        raise ValueError(f"zero_center = False, but the view {said} centres columns: leave one of them out")
    if not want.zero_center:
        more = [*pipeline(options["view"] or None), *memory_flags(options["memory"])]
        run("stats", *more, "-o", folder / "stats", "--", folder / "store")
        variance = np.load(folder / "stats" / "cols-variance.npy")
        f.info["total_variance"] = float(variance.sum() if mask is None else variance[mask].sum())
    shutil.rmtree(folder / "store")
    return f


def _results(f: Factorization, mask_var: Any, mask: np.ndarray | None, want: Wanted) -> tuple[Iterator[np.ndarray], np.ndarray, dict[str, Any]]:
    """Return the scores in blocks of rows, the loadings, and the dict for uns: parameters, variances and residuals."""
    assert f.U is not None and f.V is not None
    u, loadings = f.U, np.array(f.V)
    if mask is not None:  # components without variance may have entries in unused genes: QR makes columns orthonormal without these
        q, r = np.linalg.qr(loadings[mask])
        loadings[mask], loadings[~mask] = q * np.where(np.diag(r) < 0, -1.0, 1.0), 0
    signs = upright(loadings.T)
    params = {"zero_center": want.zero_center, "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable", "mask_var": mask_var}
    params |= {"layer": want.layer} if want.layer else {}
    params["view"] = f.info["view"]["pipeline"] if "view" in f.info else "none"
    about: dict[str, Any] = {"params": params}
    if want.zero_center:
        about["variance"], about["variance_ratio"] = (np.asarray(f.info["view"][n], float) for n in ("explained_variance", "explained_variance_ratio"))
    else:  # variances divide by the number of cells, as in scikit-learn's TruncatedSVD, which scanpy calls
        mean = sum((np.asarray(u[i : i + BLOCK]).sum(axis=0) for i in range(0, len(u), BLOCK)), np.zeros(len(f.s))) / len(u)
        about["variance"] = f.s**2 * sum(np.square(u[i : i + BLOCK] - mean).sum(axis=0) for i in range(0, len(u), BLOCK)) / len(u)
        about["variance_ratio"] = about["variance"] / f.info["total_variance"]
    about["residual"] = np.asarray(f.info["residual"], float)
    loadings *= signs
    return (np.asarray(u[i : i + BLOCK]) * (f.s * signs) for i in range(0, len(u), BLOCK)), loadings, about
