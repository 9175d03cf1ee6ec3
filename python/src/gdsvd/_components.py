"""What principal components have in common, of whatever they are: the centring, the signs and the total variance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._csrstream import canonical

CENTRINGS = ("center=columns", "center=both", "patterson")  # steps that centre columns
CENTRED = ("pca", "pca-scaled", "single-cell", *CENTRINGS)  # and presets that have one


def centred(view: str | list[str] | None) -> str:
    """A view that centres columns: the same if it does, else with a step more. What a file ``@FILE`` has is not looked into."""
    text = joined(view or "")
    steps = [step.strip() for step in re.split("[|·]", text)]
    if text.startswith("@") or any(step in CENTRED for step in steps):
        return text
    return f"{text} | center=columns" if text.strip() else "center=columns"


def joined(view: Any) -> str:
    """The steps of a view as one text.

    Raises
    ------
    TypeError
        If it is neither a text nor a list of them.
    """
    if isinstance(view, str):
        return view
    steps = list(view) if isinstance(view, Iterable) else [view]
    if not all(isinstance(step, str) for step in steps):
        raise TypeError(f"view = {view!r}: it must be a text, or a list of steps, each of which is one")
    return " | ".join(steps)


def centres_columns(view: dict[str, Any]) -> bool:
    """Whether columns have the mean 0 in the view of a result, as ``result.json`` has it: its explained variances may be those of centred rows."""
    for step in reversed(view.get("pipeline", "").split(" · ")):
        if step in CENTRINGS:
            return True
        if step.startswith(("keep=rows", "drop=rows")):
            return False
    return False


def upright(vt: np.ndarray) -> np.ndarray:
    """Signs that make the entry of each row that is largest in magnitude positive, as svd_flip of scikit-learn does."""
    most = np.argmax(np.abs(vt), axis=1)
    return np.where(vt[np.arange(len(vt)), most] < 0, -1.0, 1.0)


def total_variance(a: Any) -> float:
    """The sum of the variances of the columns of a matrix in memory: of squared deviations, for differences of squares have few digits."""
    if not sp.issparse(a):
        return float(np.var(np.asarray(a, dtype=float), axis=0).sum())
    a, (n, cols) = canonical(a), a.shape
    mean = np.bincount(a.indices, a.data, cols) / n
    return float((np.square(a.data - mean[a.indices]).sum() + (n - np.bincount(a.indices, minlength=cols)) @ mean**2) / n)
