"""What principal components have in common, of whatever they are: the centring and the signs."""

from __future__ import annotations

import re

import numpy as np

CENTRED = ("pca", "pca-scaled", "single-cell")  # presets that centre columns


def centred(view: str | list[str] | None) -> str:
    """A view that centres columns: the same if it does, else with a step more. What a file ``@FILE`` has is not looked into."""
    text = view if isinstance(view, str) else " | ".join(view or [])
    steps = [step.strip() for step in re.split("[|·]", text)]
    if text.startswith("@") or any(step in CENTRED or step in ("center=columns", "center=both") for step in steps):
        return text
    return f"{text} | center=columns" if text.strip() else "center=columns"


def upright(vt: np.ndarray) -> np.ndarray:
    """Signs that make the entry of each row that is largest in magnitude positive, as svd_flip of scikit-learn does."""
    most = np.argmax(np.abs(vt), axis=1)
    return np.where(vt[np.arange(len(vt)), most] < 0, -1.0, 1.0)
