"""The tests of TruncatedSVD of scikit-learn, run against gdsvd.TruncatedSVD."""

import pytest

import gdsvd

from .substitute import Suite


class TruncatedSVD(gdsvd.TruncatedSVD):
    """gdsvd.TruncatedSVD with the parameters of scikit-learn: tol = 0, the accuracy that rounding allows, becomes 1e-10."""

    def __init__(self, n_components=2, *, tol=0.0, memory="auto", random_state=None, **other):
        super().__init__(n_components, tol=tol or 1e-10, memory=memory, random_state=random_state)


OTHER = {r"test_too_many_components\[arpack-55\]": "all components there are can be asked for"}
suite = Suite("sklearn.decomposition.tests.test_truncated_svd", "sklearn.decomposition", {"TruncatedSVD": TruncatedSVD}, OTHER, ("solver", "algorithm", "algo"))
globals().update(suite.tests())


@pytest.fixture
def global_random_seed():
    return 42
