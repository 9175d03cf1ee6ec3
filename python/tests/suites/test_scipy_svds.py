"""The tests of scipy.sparse.linalg.svds, run against gdsvd.svds."""

import gdsvd

from .substitute import Suite


def svds(A, k=6, ncv=None, tol=0, which="LM", v0=None, maxiter=None, return_singular_vectors=True, solver="arpack", rng=None, random_state=None, options=None):
    """gdsvd.svds with the parameters of SciPy: values ascend, and tol = 0 means the accuracy that rounding allows."""
    if which != "LM":
        raise NotImplementedError("which")
    seed = next(s for s in (rng, random_state, 0) if s is not None)
    if not isinstance(seed, int):
        seed = int(getattr(seed, "integers" if hasattr(seed, "integers") else "randint")(1 << 31))
    u, s, vt = gdsvd.svds(A, k, tol=tol or 1e-10, seed=seed)
    return u[:, ::-1], s[::-1], vt[::-1]


OTHER = {
    r"test_svds_input_validation_(v0|maxiter|return_singular_vectors|which)_?.*": "there is no such parameter",
    r"test_svd_(v0|maxiter)": "there is no such parameter",
    r"test_svd_return_singular_vectors\[.*-(False|u|vh)\]": "there is no such parameter: all vectors are returned, or gdsvd.Store.svd(vectors=...)",
    r".*\[(SM|SM-.*)\]|test_small_sigma_sparse.*|test_small_sigma2.*": "the smallest values, which='SM', are not computed",
    r".*diff0.*|test_svd_linop|test_svd_simple\[aslinearoperator-.*\]": "of a LinearOperator the entries are not known",
    r"test_svd_simple\[.*-False-[1-4]-A[12]?.*\]|.*\[complex.*\]": "complex matrices are refused",
    r"test_svds_input_validation_tol_2.*": "a tol that is no number is a ValueError",
    r"test_svds_parameter_tol": "asks for tol = 1, and at tol = 1e-4 for the 1e-12 that PROPACK happens to reach",
}
suite = Suite("scipy.sparse.linalg._eigen.tests.test_svds", "scipy.sparse.linalg", {"svds": svds}, OTHER)
for i, (a, *_) in enumerate(suite.module.SVDSCommonTests._A_validation_inputs):
    if isinstance(a, str) or a.dtype.kind == "i":  # SciPy 1.9 refuses integers
        OTHER[rf"test_svds_input_validation_A\[args{i}\]"] = "a text is a path" if isinstance(a, str) else "matrices of integers are taken"


# Not run: Test_SVDS_once (names of solvers) and Test_SVDS_ARPACK (the parameter ncv). SciPy's other classes repeat the common tests for each solver.
class TestSVDS(suite.module.SVDSCommonTests):
    def setup_method(self, method):
        # Where SciPy's tests depend on the solver, gdsvd is treated like PROPACK, which can compute all triplets. The test that SciPy
        # skips because of a failure of PROPACK is run with solver None.
        self.solver = None if method.__name__ == "test_zero_matrix" else "propack"
