"""The k leading singular triplets of sparse matrices, which may be far larger than memory, with a certificate of their accuracy.

`svds` is called as that of SciPy, `TruncatedSVD` and `PCA` are estimators as those of scikit-learn, and `pp.pca` writes into an
AnnData or a file of it as that of scanpy.

>>> import scipy.sparse as sp, gdsvd
>>> u, s, vt = gdsvd.svds(sp.eye(30, 20, format="csr") * 2, k=3)
>>> s.round(12)
array([2., 2., 2.])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import pp
from ._errors import ConvergenceWarning, CorruptError, ExistsError, GdsvdError, MissingError, NotConverged, UsageError, VersionError
from ._factorization import Factorization
from ._store import Store
from ._svds import svds
from ._types import SVDReport, SVDResult
from ._uses import Alignment
from ._version import __version__

if TYPE_CHECKING:
    from ._estimators import PCA, TruncatedSVD

LAZY = {"PCA": "_estimators", "TruncatedSVD": "_estimators"}  # importing scikit-learn takes long


if not TYPE_CHECKING:  # else every name would be there, of no type

    def __getattr__(name: str) -> Any:
        if name in LAZY:
            import importlib

            return getattr(importlib.import_module(f".{LAZY[name]}", __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY})


__all__ = [
    "Alignment",
    "ConvergenceWarning",
    "CorruptError",
    "ExistsError",
    "Factorization",
    "GdsvdError",
    "MissingError",
    "NotConverged",
    "PCA",
    "SVDReport",
    "SVDResult",
    "Store",
    "TruncatedSVD",
    "UsageError",
    "VersionError",
    "__version__",
    "pp",
    "svds",
]
