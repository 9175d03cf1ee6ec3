"""The k leading singular triplets of sparse matrices, which may be far larger than memory, with a certificate of their accuracy.

`svds` has the calling convention of SciPy's svds, `TruncatedSVD` and `PCA` are estimators in the style of scikit-learn, and `pp.pca`
writes its results into an AnnData object or file at the places where scanpy's pp.pca writes them.

>>> import scipy.sparse as sp, gdsvd
>>> u, s, vt = gdsvd.svds(sp.eye(30, 20, format="csr") * 2, k=3)
>>> s.round(12)
array([2., 2., 2.])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._errors import ConvergenceWarning, CorruptError, ExistsError, GdsvdError, MissingError, NotConverged, UsageError, VersionError
from ._version import __version__

if TYPE_CHECKING:
    from . import pp
    from ._estimators import PCA, TruncatedSVD
    from ._factorization import Factorization
    from ._store import Store
    from ._svds import svds
    from ._types import SVDReport, SVDResult
    from ._uses import Alignment

# Names that are imported at first use, and their modules: the gdsvd command and gdsvd.engines need not wait for NumPy, SciPy and scikit-learn.
LAZY = {
    "Alignment": "_uses",
    "Factorization": "_factorization",
    "PCA": "_estimators",
    "SVDReport": "_types",
    "SVDResult": "_types",
    "Store": "_store",
    "TruncatedSVD": "_estimators",
    "pp": "",
    "svds": "_svds",
}


if not TYPE_CHECKING:  # a type checker would take every name for an attribute of type Any

    def __getattr__(name: str) -> Any:
        if name not in LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f".{LAZY[name] or name}", __name__)
        globals()[name] = found = getattr(module, name) if LAZY[name] else module
        return found


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
