"""The tests of PCA of scikit-learn, run against gdsvd.PCA."""

import numpy as np
import pytest

import gdsvd

from .substitute import Suite


class PCA(gdsvd.PCA):
    """gdsvd.PCA with the parameters of scikit-learn: tol = 0, the accuracy that rounding allows, becomes 1e-10."""

    def __init__(self, n_components=None, *, whiten=False, tol=0.0, memory="auto", random_state=None, **other):
        super().__init__(n_components, whiten=whiten, tol=tol or 1e-10, memory=memory, random_state=random_state)


OTHER = {
    r"test_pca\[.*\]": "get_covariance, get_precision and score are not there: they hold a dense matrix of all features",
    r"test_pca_score.*|test_pca_zero_noise_variance_edge_cases.*": "get_covariance, get_precision and score are not there",
    r"test_sparse_pca_solver_error.*": "sparse matrices are taken",
    r"test_pca_solver_equivalence\[float32-.*|test_pca_dtype_preservation.*": "everything is float64",
    r"test_pca_validation\[arpack-.*|test_n_components_none.*-arpack-.*": "all components there are can be asked for",
    r"test_n_components_mle\[.*|test_pca_dim|test_mle_.*": "n_components = 'mle' is not there",
    r"test_pca_svd_solver_auto.*": "asks which solver of scikit-learn is chosen",
    r"test_pca_n_components_mostly_explained_variance_ratio": "a share of the variance that is met exactly needs no more components",
    r"test_assess_dimen?sion_.*|test_small_eigenvalues_mle": "is of a function of scikit-learn alone",
}
suite = Suite("sklearn.decomposition.tests.test_pca", "sklearn.decomposition", {"PCA": PCA}, OTHER, ("svd_solver", "solver", "other_svd_solver", "copy"))
globals().update(suite.tests())


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(params=[np.float64, np.float32])
def global_dtype(request):
    return request.param
