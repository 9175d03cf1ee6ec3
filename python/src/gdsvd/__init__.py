"""The k leading singular triplets of sparse matrices, which may be far larger than memory, with a certificate of their accuracy.

`svds` is called as that of SciPy, and `TruncatedSVD` and `PCA` are estimators as those of scikit-learn.

>>> import scipy.sparse as sp, gdsvd
>>> u, s, vt = gdsvd.svds(sp.eye(30, 20, format="csr") * 2, k=3)
>>> s.round(12)
array([2., 2., 2.])
"""

from __future__ import annotations

from typing import Any

from ._errors import ConvergenceWarning, CorruptError, GdsvdError, NotConverged, UsageError, VersionError
from ._svds import svds
from ._version import __version__

__all__ = ["ConvergenceWarning", "CorruptError", "GdsvdError", "NotConverged", "UsageError", "VersionError", "__version__", "svds"]
