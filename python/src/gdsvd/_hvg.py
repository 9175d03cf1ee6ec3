"""Highly variable genes by the method of Seurat v3 (Stuart et al. 2019), with two readings of blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._frames import pandas_module

if TYPE_CHECKING:
    import pandas

FLAVORS = ("seurat_v3", "seurat_v3_paper")


def seurat_v3(
    blocks: Callable[[], Iterable[Any]], batches: np.ndarray, genes: Any, n_top_genes: int, span: float, flavor: str
) -> tuple[pandas.DataFrame, bool]:
    """The variances of genes that are standardised by what their means let expect, and the genes where they are largest.

    Of each batch with N cells, log₁₀ of the variances is fitted by a loess of degree 2 of log₁₀ of the means; values are clipped at
    mean + √N·σ̂, and the variance of what is left is divided by σ̂². Genes are ranked by the median of their ranks in the batches.

    Parameters
    ----------
    blocks : callable
        Returns the blocks of rows of the counts, each time from the first.
    batches : ndarray
        The batch of each row.
    genes : index
        Names of the columns.
    n_top_genes, span, flavor
        As of `pp.highly_variable_genes`.

    Returns
    -------
    DataFrame, and whether all values are counts
        As scanpy has it.
    """
    try:
        from skmisc.loess import loess
    except ImportError:
        raise ImportError("variances are fitted by scikit-misc, as in scanpy: pip install scikit-misc") from None
    pd = pandas_module()
    if pd.isna(batches).any():
        raise ValueError(f"{pd.isna(batches).sum()} of {len(batches)} cells have no batch, for their value is missing: each cell needs one")
    names, batch = np.unique(batches, return_inverse=True)
    cells = np.bincount(batch, minlength=len(names)).astype(float)
    if cells.min() < 2:
        raise ValueError(f"batch {names[cells.argmin()]!r} has one cell: it has no variances")
    sums, squares, counts = _sums(blocks(), batch, len(names), len(genes), None)
    total = cells.sum()
    clip, deviation, mean = np.empty_like(sums), np.empty_like(sums), sums / cells[:, None]
    for b, n in enumerate(cells):
        variance = (squares[b] / n - mean[b] ** 2) * (n / (n - 1))
        varies, fitted = variance > 0, np.zeros(len(genes))
        model = loess(np.log10(mean[b][varies]), np.log10(variance[varies]), span=span, degree=2)
        model.fit()
        fitted[varies] = model.outputs.fitted_values
        deviation[b] = np.sqrt(10**fitted)
        clip[b] = deviation[b] * np.sqrt(n) + mean[b]
    clipped, clipped_squares, _ = _sums(blocks(), batch, len(names), len(genes), clip)
    n = cells[:, None]
    standardised = (1 / ((n - 1) * deviation**2)) * (n * mean**2 + clipped_squares - 2 * clipped * mean)

    ranks = np.argsort(np.argsort(-standardised, axis=1), axis=1).astype(np.float32)
    top = ranks < n_top_genes
    ranks[~top] = np.nan
    all_mean = sums.sum(axis=0) / total
    table = pd.DataFrame(
        {
            "means": all_mean,
            "variances": (squares.sum(axis=0) / total - all_mean**2) * (total / (total - 1)),
            "highly_variable_nbatches": top.sum(axis=0),
            "highly_variable_rank": _median(ranks),
            "variances_norm": standardised.mean(axis=0),
        },
        index=genes,
    )
    order = ["highly_variable_rank", "highly_variable_nbatches"]
    if flavor == "seurat_v3_paper":
        order.reverse()
    best = table.reset_index(drop=True).sort_values(order, ascending=[name.endswith("rank") for name in order], na_position="last").index[:n_top_genes]
    chosen = np.zeros(len(genes), bool)
    chosen[best] = True
    table["highly_variable"] = chosen
    return table, counts


def _median(ranks: np.ndarray) -> np.ndarray:
    """The median of the ranks of each gene that it has; NaN where it has none."""
    found = np.full(ranks.shape[1], np.nan, np.float32)
    some = ~np.isnan(ranks).all(axis=0)
    found[some] = np.nanmedian(ranks[:, some], axis=0)
    return found


def _sums(blocks: Iterable[Any], batch: np.ndarray, batches: int, genes: int, clip: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, bool]:
    """Sums of values and of their squares by batch and gene, of values clipped from above; and whether all are non-negative integers."""
    sums, squares, counts, at = np.zeros((batches, genes)), np.zeros((batches, genes)), True, 0
    for block in blocks:
        m = sp.csr_matrix(block)
        rows = batch[at : at + m.shape[0]]
        at += m.shape[0]
        of = np.repeat(rows, np.diff(m.indptr))
        values = m.data.astype(float)
        if clip is None:
            counts = counts and bool((values >= 0).all() and (values == np.floor(values)).all())
        else:
            values = np.minimum(values, clip[of, m.indices])
        place = of * genes + m.indices
        sums += np.bincount(place, values, batches * genes).reshape(batches, genes)
        squares += np.bincount(place, values**2, batches * genes).reshape(batches, genes)
    if at != len(batch):
        raise ValueError(f"the matrix has {at} rows, but there are batches of {len(batch)}")
    return sums, squares, counts
