"""Functions that all computations of principal components share: centring, signs and the total variance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._csrstream import canonical

CENTRINGS = ("center=columns", "center=both", "patterson")  # steps that centre columns
CENTRED = ("pca", "pca-scaled", "single-cell", *CENTRINGS)  # these steps, and the presets that contain one


def centred(view: str | list[str] | None) -> str:
    """Return the view as text, with the step center=columns appended if no step centres columns. A view ``@FILE`` is returned as it is."""
    text = joined(view or "")
    steps = [re.sub(r"\s", "", step) for line in text.split("\n") for step in re.split("[|·]", line.partition("#")[0])]
    if text.startswith("@") or any(step in CENTRED for step in steps):
        return text
    return f"{text}\ncenter=columns" if text.strip() else "center=columns"  # on a line of its own, as a line may end with a comment


def joined(view: Any) -> str:
    """Return the steps of a view as one text.

    Raises
    ------
    TypeError
        If `view` is neither a text nor a list of texts.
    """
    if isinstance(view, str):
        return view
    steps = list(view) if isinstance(view, Iterable) else [view]
    if not all(isinstance(step, str) for step in steps):
        raise TypeError(f"view = {view!r}: it must be a text, or a list of steps, each a text")
    return " | ".join(steps)


def centres_columns(view: dict[str, Any]) -> bool:
    """Report whether a view, as recorded in ``result.json``, gives columns the mean 0. If not, its explained variances may be those of rows."""
    for step in reversed(view.get("pipeline", "").split(" · ")):
        if step in CENTRINGS:
            return True
        if step.startswith(("keep=rows", "drop=rows")):
            return False
    return False


def upright(vt: np.ndarray) -> np.ndarray:
    """Return the sign for each row that makes its entry of largest magnitude positive, as in svd_flip of scikit-learn."""
    most = np.argmax(np.abs(vt), axis=1)
    return np.where(vt[np.arange(len(vt)), most] < 0, -1.0, 1.0)


def total_variance(a: Any) -> float:
    """Return the sum of the variances of the columns of a matrix in memory, by squared deviations: E[x²] − E[x]² would cancel digits."""
    if not sp.issparse(a):
        return float(np.var(np.asarray(a, dtype=float), axis=0).sum())
    a, (n, cols) = canonical(a), a.shape
    mean = np.bincount(a.indices, a.data, cols) / n
    return float((np.square(a.data - mean[a.indices]).sum() + (n - np.bincount(a.indices, minlength=cols)) @ mean**2) / n)
