"""Vectors of a result: mapped, verified, and handed over as Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow


def vector_table(ids: Any, vectors: np.ndarray | None, side: str) -> pyarrow.Table:
    """A table of ids and of vectors as lists of a fixed size, which are those of the array.

    Raises
    ------
    ValueError
        If there are no such vectors.
    ImportError
        If pyarrow is not installed.
    """
    if vectors is None:
        raise ValueError(f"the result has no {side} vectors")
    try:
        import pyarrow
    except ImportError:
        raise ImportError("tables of Arrow are those of pyarrow: pip install pyarrow") from None
    flat = pyarrow.array(np.ascontiguousarray(vectors).ravel())
    return pyarrow.table({"id": pyarrow.array(np.asarray(ids)), "vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})
