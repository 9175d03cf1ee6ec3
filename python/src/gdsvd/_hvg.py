"""Highly variable genes by the method of Seurat v3 (Stuart et al. 2019), in two passes over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._csrstream import canonical
from ._frames import pandas_module

if TYPE_CHECKING:
    import pandas

FLAVORS = ("seurat_v3", "seurat_v3_paper")


def seurat_v3(
    blocks: Callable[[], Iterable[Any]], batches: np.ndarray, genes: Any, n_top_genes: int, span: float, flavor: str
) -> tuple[pandas.DataFrame, bool]:
    """Compute the variances of genes, standardised by the variance that is expected from their means, and choose the genes with the largest.

    In each batch of N cells, a loess of degree 2 fits log₁₀ of the variances against log₁₀ of the means, and gives the expected
    deviation σ̂ of each gene. Values are clipped at mean + √N·σ̂, and the mean squared deviation (ddof 1) of the clipped values from the
    unclipped mean is divided by σ̂². Genes are ordered by the median of their ranks in the batches where they are among the first `n_top_genes`.

    Parameters
    ----------
    blocks : callable
        Returns an iterable of the blocks of rows of the counts; each call begins with the first block.
    batches : ndarray
        The batch of each row.
    genes : index
        Names of the columns.
    n_top_genes, span, flavor
        As for `pp.highly_variable_genes`.

    Returns
    -------
    DataFrame, bool
        The table that scanpy makes, and whether all values are non-negative integers.
    """
    try:
        from skmisc.loess import loess
    except ImportError:
        raise ImportError("variances are fitted by scikit-misc, as in scanpy: pip install scikit-misc") from None
    pd = pandas_module()
    if pd.isna(batches).any():
        raise ValueError(f"{pd.isna(batches).sum()} of {len(batches)} cells have a missing value as their batch: each cell needs a batch")
    names, batch = np.unique(batches, return_inverse=True)
    cells = np.bincount(batch, minlength=len(names)).astype(float)
    if cells.min() < 2:
        raise ValueError(f"batch {names[cells.argmin()]!r} has one cell: variances need two or more")
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
    """Return the median of the ranks of each gene over the batches, without the NaN among them; NaN if all are NaN."""
    found = np.full(ranks.shape[1], np.nan, np.float32)
    some = ~np.isnan(ranks).all(axis=0)
    found[some] = np.nanmedian(ranks[:, some], axis=0)
    return found


def _sums(blocks: Iterable[Any], batch: np.ndarray, batches: int, genes: int, clip: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return the sums of values and of their squares by batch and gene, and whether all values are non-negative integers.

    With `clip`, values are clipped at the bound of their batch and gene instead of being examined, and the last result is True.
    """
    sums, squares, counts, at = np.zeros((batches, genes)), np.zeros((batches, genes)), True, 0
    for block in blocks:
        m = canonical(sp.csr_matrix(block))  # the square of a sum is not the sum of the squares of duplicates
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
        raise ValueError(f"the matrix has {at} rows, but batches are given for {len(batch)}")
    return sums, squares, counts
