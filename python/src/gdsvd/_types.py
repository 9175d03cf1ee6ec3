"""The types of results: arrays, named tuples of arrays, and the contents of ``result.json``."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Statistic(TypedDict, total=False):
    """A statistic that a step of a view has measured: a number, or an array."""

    step: str
    name: str
    file: str
    value: float
    array: Array


class View(TypedDict, total=False):
    """The view that was factorised."""

    pipeline: str
    fingerprint: str
    norm: float
    reads: int
    observations: int
    explained_variance: list[float]
    explained_variance_ratio: list[float]
    statistics: list[Statistic]


class Outside(TypedDict, total=False):
    """A bound for the singular values that were not computed. The probability that one of them exceeds it is at most `probability`."""

    steps: int
    bound: float | None
    probability: float
    leading: bool


class Info(TypedDict, total=False):
    """The main fields of ``result.json``; docs/json.md has all of them."""

    rows: int
    cols: int
    nnz: int
    k: int
    method: str
    status: str
    certified: bool
    converged: int
    rank: int
    sigma: list[float]
    residual: list[float]
    floor: list[float]
    orthogonality: dict[str, float]
    energy: float
    outside: Outside
    passes: int
    products: int
    bytes_read: int
    seconds: dict[str, float]
    peak_rss: int
    seed: int
    settings: dict[str, object]
    view: View
    rows_ids: NDArray[np.generic]
    cols_ids: NDArray[np.generic]


class SVDResult(NamedTuple):
    """Singular triplets: ``u`` is m × k, ``s`` has the k values, descending, ``vt`` is k × n."""

    u: Array
    s: Array
    vt: Array


class SVDReport(NamedTuple):
    """Singular triplets and the report on them."""

    u: Array
    s: Array
    vt: Array
    info: Info
