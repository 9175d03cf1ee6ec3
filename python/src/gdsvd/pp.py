"""Preprocessing of single-cell data with the interface of scanpy, also for files larger than memory: `pca`, `highly_variable_genes`."""

from __future__ import annotations

import os
import pathlib
import warnings
from typing import Any

import numpy as np

from . import _hdf5, _hvg
from ._cells import UNSET, Wanted, of_file, of_matrix, of_memory, rows_of
from ._components import centred
from ._frames import pandas_module
from ._input import is_number, is_path


def pca(
    data: Any,
    n_comps: int | None = None,
    view: str | list[str] | None = None,
    *,
    layer: str | None = None,
    zero_center: bool | None = True,
    svd_solver: str | None = None,
    chunked: bool = False,
    chunk_size: int | None = None,
    return_info: bool = False,
    mask_var: Any = UNSET,
    use_highly_variable: bool | None = None,
    dtype: Any = "float32",
    key_added: str | None = None,
    copy: bool = False,
    output: str | os.PathLike[str] | None = None,
    tol: float | None = None,
    random_state: int | None = 0,
    memory: str | int = "auto",
    progress: bool | None = None,
) -> Any:
    """Compute principal components of cells from the values of ``X``, and write them where `scanpy.pp.pca` writes them.

    Only blocks of rows of a file are in memory. At the end a copy of the file with the results replaces it in one step; until then the
    copy and the store of the matrix lie beside it. The new elements of a zarr folder are written apart and renamed into it; ``X`` is not
    rewritten.

    Parameters
    ----------
    data : AnnData, path, or matrix
        An AnnData in memory, backed by a file, or with a Dask array, which is read block by block. Or the path of an h5ad file, which needs
        h5py but not anndata, or of a zarr folder, which needs zarr (3 or newer) and anndata. Or a matrix, whose scores are returned.
    n_comps : int or None
        Number of components. None is 50, or one less than the smaller of the numbers of cells and used genes if that number is at most 50.
    view : str or list of str, optional
        Steps that are applied to the values before; by default none, as in scanpy. ``"single-cell"`` is for counts: it scales each cell to
        the median total and takes logarithms, as `scanpy.pp.normalize_total` and `scanpy.pp.log1p` do (the median is that of cells with
        counts; scanpy 1.11 includes empty cells if ``X`` is CSR). A step that centres columns is appended if the view has none.
        ``X`` itself is not changed.
    layer : str, optional
        Name of a layer to use instead of ``X``.
    zero_center : bool
        Whether columns are centred. If not, scores and variances are those of a truncated SVD, as in scanpy.
    svd_solver, chunked, chunk_size
        Parameters of scanpy that have no effect here; giving them causes a warning.
    return_info : bool
        For a matrix: whether to also return the components, their shares of the variance, and their variances.
    mask_var : str, array of bool or None
        Genes to use: the name of a column of ``var``, or one bool for each gene. By default the column ``"highly_variable"`` if it exists;
        None is all genes. A view normalises cells with all of their genes.
    use_highly_variable : bool, optional
        True stands for `mask_var` ``"highly_variable"``, False for None. scanpy deprecates this parameter.
    dtype : dtype
        Type of ``obsm["X_pca"]``.
    copy : bool
        For an AnnData in memory: return a copy with the results, and do not change `data`.
    key_added : str, optional
        Name of the results in ``obsm``, ``varm`` and ``uns`` instead of ``X_pca``, ``PCs`` and ``pca``.
    output : path, optional
        For a file: path of a copy that gets the results. `data` is not changed then.
    tol : float, optional
        Largest residual of a component relative to the largest singular value. Default: 1e-10, or 1e-12 if `dtype` is float64.
    random_state : int or None
        Seed of the start vectors; None is 0.
    memory : str or int
        Memory budget of the program: bytes, a text such as ``"400MiB"``, or ``"auto"``.
    progress : bool or None
        Whether tqdm shows the progress. None: on a terminal and in a notebook, if tqdm is installed.

    Returns
    -------
    None, or an AnnData with `copy`; for a matrix an array, or a tuple of four with `return_info`
        ``obsm["X_pca"]`` has the scores of the cells, ``varm["PCs"]`` the loadings (0 for genes that are not used), and ``uns["pca"]``
        ``params``, ``variance`` and ``variance_ratio``, as in scanpy. ``params`` also has the steps of the view, and ``residual`` the
        measured residual of each component. The entry of largest magnitude of a component is positive.

    Warns
    -----
    UserWarning
        If `view` is None and the values are raw counts: non-negative integers, without ``uns["log1p"]``.

    Raises
    ------
    NotConverged
        If the residuals do not reach `tol`. Nothing is written.
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
    ignored = {"svd_solver": svd_solver, "chunked": chunked or None, "chunk_size": chunk_size}
    if named := [f"{name}={value!r}" for name, value in ignored.items() if value is not None]:
        warnings.warn(f"{', '.join(named)}: there is one solver, and files are always read in blocks; ignored", stacklevel=2)
    centre = zero_center is None or bool(zero_center)
    options = {
        "tol": (1e-12 if dtype.itemsize > 4 else 1e-10) if tol is None else tol,
        "view": centred(view) if centre else view,
        "memory": memory,
        "seed": random_state or 0,
        "progress": progress,
    }
    keys = ("X_pca", "PCs", "pca") if key_added is None else (key_added,) * 3
    want = Wanted(n_comps, layer, mask_var, dtype, keys, centre, view is None, options)

    if is_path(data):
        if copy:
            raise ValueError("copy is for an AnnData in memory: for a file, give the path of the copy as output")
        return of_file(pathlib.Path(os.path.realpath(data)), output, want)
    if output is not None:
        raise ValueError("output is for files: an AnnData is written by its write_h5ad")
    if all(hasattr(data, name) for name in ("obsm", "varm", "uns")):
        data = data.copy() if copy else data
        of_memory(data, want)
        return data if copy else None
    if layer is not None or key_added is not None or isinstance(mask_var, str) or getattr(data, "ndim", 0) != 2:
        raise TypeError(f"data is of type {type(data).__name__}: it must be an AnnData, the path of one, or a matrix, which has no layers and no var")
    found = of_matrix(data, want)
    return found if return_info else found[0]


def highly_variable_genes(
    data: Any,
    *,
    n_top_genes: int = 2000,
    layer: str | None = None,
    batch_key: str | None = None,
    flavor: str = "seurat_v3",
    span: float = 0.3,
    check_values: bool = True,
    inplace: bool = True,
) -> Any:
    """Find the genes whose counts vary most, by the method of Seurat v3, with the results of `scanpy.pp.highly_variable_genes` for this flavor.

    The counts are read twice in blocks of rows.

    Parameters
    ----------
    data : AnnData or path
        An AnnData in memory, backed by a file, or with a Dask array; or the path of an h5ad file or zarr folder. Values are counts, not logarithms.
    n_top_genes : int
        Number of genes to find.
    layer : str, optional
        Name of a layer to use instead of ``X``.
    batch_key : str, optional
        Column of ``obs`` with the batch of each cell. Genes are ranked in each batch.
    flavor : {"seurat_v3", "seurat_v3_paper"}
        Whether genes are ordered first by the median of their ranks, or by the number of batches in which they are among the first.
    span : float
        Share of the genes from which each point of the loess is fitted.
    check_values : bool
        Whether to warn if some values are not counts.
    inplace : bool
        Whether the columns are written into ``var``. For a path they are always returned.

    Returns
    -------
    DataFrame, or None with `inplace`
        ``means``, ``variances``, ``variances_norm``, ``highly_variable_rank``, ``highly_variable`` of each gene, and with `batch_key`
        ``highly_variable_nbatches``. For `pca`: ``mask_var=table["highly_variable"]``.

    Raises
    ------
    ImportError
        If scikit-misc, which fits the variances, is not installed, or pandas is not.
    """
    if flavor not in _hvg.FLAVORS:
        raise ValueError(f"flavor = {flavor!r}: it has to be one of {', '.join(_hvg.FLAVORS)}; scanpy has the flavors for logarithms")
    if not is_number(n_top_genes) or n_top_genes < 1 or n_top_genes != int(n_top_genes):
        raise ValueError(f"n_top_genes = {n_top_genes!r}: it has to be an integer from 1 on")
    rest = (int(n_top_genes), span, flavor)
    if is_path(data):
        with _hdf5.opened(data) as h:
            (rows, _), _ = _hdf5.values(h, layer)
            batches = np.zeros(rows, int) if batch_key is None else _hdf5.labels(h, "obs", batch_key)
            genes = pandas_module().Index(_hdf5.index(h, "var"))
            table, counts = _hvg.seurat_v3(lambda: _hdf5.values(h, layer)[1], batches, genes, *rest)
    else:
        batches = np.zeros(data.shape[0], int) if batch_key is None else np.asarray(data.obs[batch_key])
        table, counts = _hvg.seurat_v3(rows_of(data, layer), batches, data.var_names, *rest)
    if check_values and not counts:
        warnings.warn(f"flavor={flavor!r} is for raw counts, but some values are not counts", stacklevel=2)
    if batch_key is None:
        table = table.drop(columns="highly_variable_nbatches")
    if is_path(data) or not inplace:
        return table
    for name in table:
        data.var[name] = table[name].to_numpy()
    data.uns["hvg"] = {"flavor": flavor}
    return None
