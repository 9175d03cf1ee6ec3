"""Preprocessing of single cells, in the way of scanpy: `gdsvd.pp.pca` as `scanpy.pp.pca`, of files larger than memory as well."""

from __future__ import annotations

import os
import pathlib
import shutil
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _hdf5
from ._components import centred, upright
from ._factorization import Factorization
from ._input import checked, ingest, is_number, is_path, size
from ._places import workplace
from ._store import Store
from ._svds import vectors

UNSET: Any = object()
BLOCK = 1 << 14  # rows of scores at a time


def pca(
    data: Any,
    n_comps: int | None = 50,
    view: str | list[str] | None = None,
    *,
    layer: str | None = None,
    mask_var: Any = UNSET,
    use_highly_variable: bool | None = None,
    dtype: Any = "float32",
    key_added: str | None = None,
    output: str | os.PathLike[str] | None = None,
    tol: float | None = None,
    random_state: int | None = 0,
    memory: str | int = "auto",
    progress: bool | None = None,
) -> None:
    """Principal components of cells, of ``X`` as it is, written where `scanpy.pp.pca` writes them.

    Of a file nothing but blocks of rows is in memory. It is replaced, by a copy with the results, in one step at the end; the copy and the
    store of the matrix are beside it until then.

    Parameters
    ----------
    data : AnnData or path
        The cells, in memory or backed by a file; or the path of an h5ad file, for which h5py is needed and anndata is not.
    n_comps : int or None
        Number of components; None is 50, or one less than the shorter side has if that is no more than 50.
    view : str or list of str, optional
        Steps that are taken before; without them the components are those of the values as they are, as scanpy's. ``"single-cell"`` is
        for counts: it scales each cell to the median total and takes logarithms, as `scanpy.pp.normalize_total` and `scanpy.pp.log1p` do
        (the median is that of cells with counts; that of scanpy 1.11 counts empty cells in if ``X`` is CSR).
        Columns are centred last, whether the view says so or not. ``X`` itself stays as it is.
    layer : str, optional
        Name of a layer, instead of ``X``.
    mask_var : str, array of bool or None
        Genes to use: the name of a column of ``var``, or one bool for each. Without it ``"highly_variable"`` is used if there is such a
        column; None is all genes. A view normalises cells with all of their genes.
    use_highly_variable : bool, optional
        The same as `mask_var`, ``"highly_variable"`` or None. scanpy deprecates it.
    dtype : dtype
        Of ``obsm["X_pca"]``.
    key_added : str, optional
        Name of the results in ``obsm``, ``varm`` and ``uns`` instead of ``X_pca``, ``PCs`` and ``pca``.
    output : path, optional
        Of a file: where the copy goes; `data` stays as it is then.
    tol : float, optional
        Largest residual of a component relative to the largest singular value; 1e-10 without, and 1e-12 if `dtype` is float64.
    random_state : int or None
        Of the start vectors; None is 0.
    memory : str or int
        What the program stays within: bytes, a text such as ``"400MiB"``, or ``"auto"``.
    progress : bool or None
        Whether tqdm shows how far it is; None is yes on a terminal and in a notebook, where tqdm is installed.

    Returns
    -------
    None
        ``obsm["X_pca"]`` has the scores of the cells, ``varm["PCs"]`` the loadings, 0 for genes that are not used, and ``uns["pca"]``
        ``params``, ``variance`` and ``variance_ratio``, as of scanpy. ``params`` has the steps of the view as well, and ``residual`` the
        residual of each component that was measured. The entry of a component that is largest in magnitude is positive.

    Warns
    -----
    UserWarning
        If `view` is None and the values are raw counts: non-negative integers, without ``uns["log1p"]``.

    Raises
    ------
    NotConverged
        If a residual cannot be brought to `tol`. Nothing is written.
    ValueError
        If a parameter is out of range, or there is no such matrix.

    Examples
    --------
    >>> import gdsvd, numpy as np, scipy.sparse as sp
    >>> class Cells:  # or an anndata.AnnData
    ...     X = sp.random(60, 20, 0.5, "csr", random_state=1)
    ...     shape, isbacked, var, layers, obsm, varm, uns = X.shape, False, {}, {}, {}, {}, {}
    >>> gdsvd.pp.pca(Cells, n_comps=5)
    >>> Cells.obsm["X_pca"].shape, Cells.varm["PCs"].shape
    ((60, 5), (20, 5))
    >>> bool(np.allclose(Cells.uns["pca"]["variance"], Cells.obsm["X_pca"].var(axis=0, ddof=1), rtol=1e-5))
    True
    """
    if use_highly_variable is not None:
        if mask_var is not UNSET:
            raise ValueError("use_highly_variable and mask_var say the same: give one of them")
        mask_var = "highly_variable" if use_highly_variable else None
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        raise ValueError(f"dtype = {dtype}: scores are of a floating type")
    tol = (1e-12 if dtype.itemsize > 4 else 1e-10) if tol is None else tol
    advised = view is None
    view = centred(view)
    keys = ("X_pca", "PCs", "pca") if key_added is None else (key_added,) * 3
    options = {"tol": tol, "view": view, "memory": memory, "seed": random_state or 0, "progress": progress}

    if is_path(data):
        _of_file(pathlib.Path(os.path.realpath(data)), output, n_comps, layer, mask_var, dtype, keys, options, advised)
    elif output is not None:
        raise ValueError("output is for files: an AnnData is written by its write_h5ad")
    elif not all(hasattr(data, name) for name in ("obsm", "varm", "uns")):
        raise TypeError(f"data is of type {type(data).__name__}: it must be an AnnData or the path of an h5ad file; gdsvd.PCA takes matrices")
    else:
        _of_memory(data, n_comps, layer, mask_var, dtype, keys, options, advised)


class _Counts:
    """Watches blocks of values: whether all of them are non-negative integers."""

    def __init__(self) -> None:
        self.raw, self.any = True, False

    def look(self, block: Any) -> None:
        """See one block more; after the first that has no counts nothing is looked at."""
        values = block.data if sp.issparse(block) else np.asarray(block).ravel()
        for i in range(0, len(values) if self.raw else 0, BLOCK):
            part = values[i : i + BLOCK]
            self.any = True
            if (part < 0).any() or (part != np.floor(part)).any():
                self.raw = False
                return

    def each(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """The same blocks, each of which is looked at."""
        for block in blocks:
            self.look(block)
            yield block

    def advise(self, what: str) -> None:
        """Warn of components of raw counts."""
        if self.raw and self.any:
            warnings.warn(
                f"{what} has raw counts, non-negative integers: their components mostly tell how many counts a cell has; normalise before, "
                'as sc.pp.normalize_total and sc.pp.log1p do, or give view="single-cell", which leaves X as it is',
                stacklevel=4,
            )


def _of_memory(
    data: Any,
    n_comps: int | None,
    layer: str | None,
    mask_var: Any,
    dtype: np.dtype,
    keys: tuple[str, ...],
    options: dict[str, Any],
    advised: bool,
) -> None:
    """The components of an AnnData, written into it."""
    named, mask = _mask(mask_var, data.shape[1], lambda name: np.asarray(data.var[name]) if name in data.var else None)
    k = _rank(n_comps, data.shape, mask)
    counts, advised = _Counts(), advised and not (layer is None and "log1p" in data.uns)
    x: Any
    if data.isbacked and layer is None:
        x, needed = (block for block, _, _ in data.chunked_X(BLOCK)), None
        x = counts.each(x) if advised else x
    else:
        if layer and layer not in data.layers:
            raise ValueError(f"data has no layers/{layer}: it has {', '.join(f'layers/{name}' for name in data.layers) or 'no layers'}")
        x = checked(data.layers[layer] if layer else data.X)
        needed = size(x) + vectors(k, data.shape)
        if advised:
            counts.look(x)
    with workplace(needed) as tmp:
        scores, loadings, about = _results(_factorised(x, data.shape, tmp, k, mask, options), named, mask, layer)
        data.obsm[keys[0]] = np.concatenate([block.astype(dtype) for block in scores])
        data.varm[keys[1]], data.uns[keys[2]] = loadings, about
    if advised:
        counts.advise(f"layers[{layer!r}]" if layer else "X")


def _of_file(
    path: pathlib.Path,
    output: Any,
    n_comps: int | None,
    layer: str | None,
    mask_var: Any,
    dtype: np.dtype,
    keys: tuple[str, ...],
    options: dict[str, Any],
    advised: bool,
) -> None:
    """The components of an h5ad file, written into a copy that takes its place or that of `output`."""
    out = path if output is None else pathlib.Path(os.path.realpath(output))
    if out != path and out.exists():
        raise FileExistsError(f"output {out} exists: remove it, or name another")
    before = _state(path)
    with workplace(beside=out) as tmp:
        if (free := shutil.disk_usage(tmp).free) < path.stat().st_size:
            raise OSError(f"{out.parent} has {free} bytes free: the copy of {path.name} takes more, and the store of its matrix is there too")
        with _hdf5.opened(path) as h:
            for side in ("obsm", "varm", "uns"):
                if side in h:
                    _hdf5.group(h, side)  # what is not written to is refused now
            shape, blocks = _hdf5.values(h, layer)
            counts, advised = _Counts(), advised and not (layer is None and "uns" in h and "log1p" in h["uns"])
            if advised:
                blocks = counts.each(blocks)
            named, mask = _mask(mask_var, shape[1], lambda name: _hdf5.column(h, "var", name))
            f = _factorised(blocks, shape, tmp, _rank(n_comps, shape, mask), mask, options)
        with _hdf5.replaced(path, out, tmp) as h:
            scores, loadings, about = _results(f, named, mask, layer)
            filled, at = _hdf5.array(_hdf5.group(h, "obsm"), keys[0], (shape[0], len(f.s)), dtype), 0
            for block in scores:
                filled[at : at + len(block)] = block
                at += len(block)
            _hdf5.put(_hdf5.group(h, "varm"), keys[1], loadings)
            _hdf5.put(_hdf5.group(h, "uns"), keys[2], about)
            if _state(path) != before:
                raise OSError(f"{path} has been changed while its components were computed: call pca again")
            del scores, f  # a file that is mapped cannot be removed everywhere
    if advised:
        counts.advise(f"{path.name}: layers/{layer}" if layer else f"{path.name}: X")


def _state(path: pathlib.Path) -> tuple[int, int, int]:
    """What tells that a file has been written to."""
    said = path.stat()
    return said.st_ino, said.st_size, said.st_mtime_ns


def _mask(mask_var: Any, genes: int, column: Any) -> tuple[Any, np.ndarray | None]:
    """What mask_var is in the parameters, and the genes it means; None for all."""
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
    return mask_var, mask.astype(bool)


def _rank(n_comps: int | None, shape: tuple[int, int], mask: np.ndarray | None) -> int:
    """The number of components."""
    least = min(shape[0], shape[1] if mask is None else int(mask.sum()))
    if n_comps is None:
        return max(1, least - 1) if least <= 50 else 50
    if not is_number(n_comps) or not 1 <= n_comps <= least or n_comps != int(n_comps):
        raise ValueError(f"n_comps = {n_comps!r}: it has to be from 1 to {least}, of {shape[0]} cells and {shape[1] if mask is None else mask.sum()} genes")
    return int(n_comps)


def _factorised(x: Any, shape: tuple[int, int], folder: pathlib.Path, k: int, mask: np.ndarray | None, options: dict[str, Any]) -> Factorization:
    """The components of a matrix in memory, or of its blocks of rows, in a folder."""
    ingest(x, folder / "store", options["memory"], shape=shape, progress=options["progress"])
    keep = None
    if mask is not None:
        keep = folder / "keep"
        keep.write_text("".join(f"{j}\n" for j in np.flatnonzero(mask)))
    f = Store(folder / "store").svd(k, folder / "result", keep_cols=keep, **options)
    if "explained_variance" not in f.info["view"]:
        raise ValueError(f"the view {f.info['view']['pipeline']} does not centre columns: principal components are of a view that does")
    shutil.rmtree(folder / "store")
    return f


def _results(
    f: Factorization, mask_var: Any, mask: np.ndarray | None, layer: str | None
) -> tuple[Iterator[np.ndarray], np.ndarray, dict[str, Any]]:
    """Scores in blocks of rows, loadings, and what is said of them."""
    assert f.U is not None and f.V is not None
    u, signs = f.U, upright(f.V.T)
    params = {"zero_center": True, "use_highly_variable": isinstance(mask_var, str) and mask_var == "highly_variable", "mask_var": mask_var}
    params |= {"layer": layer} if layer else {}
    params["view"] = f.info["view"]["pipeline"]
    about: dict[str, Any] = {"params": params}
    for name, said in (("variance", "explained_variance"), ("variance_ratio", "explained_variance_ratio")):
        about[name] = np.asarray(f.info["view"][said], float)
    about["residual"] = np.asarray(f.info["residual"], float)
    loadings = np.asarray(f.V) * signs
    if mask is not None:
        loadings[~mask] = 0  # what rounding has left
    return (np.asarray(u[i : i + BLOCK]) * (f.s * signs) for i in range(0, len(u), BLOCK)), loadings, about
