"""Estimators with the interface of scikit-learn. They also work where scikit-learn is not installed."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from ._components import centred, centres_columns, total_variance, upright
from ._errors import ConvergenceWarning, NotConverged
from ._factorization import Factorization
from ._input import is_number, memory_flags, path_of
from ._lazy import matrix_of
from ._places import workplace
from ._sklearn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, check_is_fitted, check_random_state, validate_data
from ._svds import decompose, pipeline
from ._types import Array, Info

E = TypeVar("E", bound="_Decomposition")


def _streams(X: Any) -> bool:
    """Report whether X is not a matrix in memory, but a path, a store, or an iterator of blocks of rows."""
    return path_of(X) is not None or hasattr(X, "__next__")


class _Decomposition(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of both estimators, which differ in the centring of columns and in the scale of the scores."""

    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    singular_values_: Array
    n_features_in_: int
    n_samples_: int
    info_: Info

    _centre = False
    _others: dict[str, Any] = {}
    whiten = False

    def __init__(self, n_components: Any, view: str | list[str] | None, tol: float, memory: str | int, random_state: Any, progress: bool | None) -> None:
        self.n_components = n_components
        self.view = view
        self.tol = tol
        self.memory = memory
        self.random_state = random_state
        self.progress = progress

    def fit(self: E, X: Any, y: Any = None) -> E:
        """Find the components of X.

        Parameters
        ----------
        X : array_like, sparse matrix, path, `Store`, or iterator of CSR matrices, n_samples × n_features
            A path names a store or a file. Blocks of rows of an iterator are written to the disk one after the other.
        y : ignored

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the components of X, and return the scores of its rows.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        ndarray, shape (n_samples, n_components)
        """
        X = matrix_of(X)
        self._advise()
        if not _streams(X):
            X = validate_data(self, X, accept_sparse=True, dtype=[np.float64, np.float32])
        u, s, vt, info = self._triplets(X)
        if _streams(X):
            self.n_features_in_ = info["cols"]
            self.__dict__.pop("feature_names_in_", None)
        signs = self._found(s, vt, info)
        scores = u * (s * signs)
        self._variances(X, scores, info)
        return self._scaled(scores)

    def _found(self, s: Array, vt: Array, info: Info) -> Array:
        """Set the attributes from the triplets, and return the sign by which each component was multiplied."""
        signs = upright(vt)
        self.components_ = np.ascontiguousarray(vt * signs[:, None])
        self.singular_values_ = np.array(s)
        self.n_samples_ = info["rows"]
        self.info_ = info
        return signs

    def _advise(self) -> None:
        """Warn, once a call, of parameters of scikit-learn that differ from their defaults but have no effect here."""
        chosen = [f"{name}={getattr(self, name)!r}" for name, default in self._others.items() if getattr(self, name) != default]
        if chosen:
            warnings.warn(f"{', '.join(chosen)}: there is one solver, which goes on until tol is met; ignored", stacklevel=4)

    def _variances(self, X: Any, scores: Array, info: Info) -> None:
        """Set the attributes with the variances that the components explain."""
        raise NotImplementedError

    def _triplets(self, X: Any) -> tuple[Array, Array, Array, Info]:
        flags = [f"--tol={self.tol}", f"--seed={self._seed()}", *memory_flags(self.memory)]
        flags += pipeline(centred(self.view) if self._centre else self.view)
        k = self._rank(getattr(X, "shape", None))
        try:
            return self._decomposed(X, k, flags)
        except NotConverged as err:
            warnings.warn(f"{err}; the components are used as they are", ConvergenceWarning, stacklevel=4)
            return err.u, err.s, err.vt, cast(Info, err.info)

    def _decomposed(self, X: Any, k: int | float, flags: list[str]) -> tuple[Array, Array, Array, Info]:
        return decompose(X, k, flags, self.memory, self.progress, self._keep)

    def _keep(self, out: pathlib.Path) -> None:
        """Keep the files of a result that projecting new rows needs; none without a view, for which `components_` suffices."""
        self._model = {} if self.view is None else {f.name: f.read_bytes() for f in out.iterdir() if f.name not in ("U.npy", "events.jsonl")}

    def _rank(self, shape: tuple[int, int] | None) -> int | float:
        """Return the number of components to find, or the share of the variance to capture."""
        k = self.n_components
        if k is None:
            if shape is None or any(map(np.isnan, shape)):
                raise ValueError("n_components has to be given where X is not in memory")
            return min(shape)
        if not is_number(k) or not (self._centre and 0 < k < 1 or k == int(k) and k >= 1):
            also = ", or a share of the variance between 0 and 1" if self._centre else ""
            raise ValueError(f"n_components = {k!r}: it has to be a number from 1 on{also}")
        if self._centre and k == 1 and not isinstance(k, (int, np.integer)):
            raise ValueError(f"n_components = {k!r}: it may be one component, for which give 1, or all of the variance, for which give None")
        if shape is not None and k > min(shape):
            raise ValueError(f"n_components = {k} is larger than the smaller of n_samples = {shape[0]} and n_features = {shape[1]}")
        return float(k) if k < 1 else int(k)

    def _seed(self) -> int:
        """Return the seed of the start vectors: 0 if random_state is None, so that results are reproducible."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, (int, np.integer)) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(1 << 31))

    def transform(self, X: Any) -> Array:
        """Return the scores of the rows of X.

        Parameters
        ----------
        X : array_like, sparse matrix, or iterator of such blocks of rows, n_samples × n_features

        Returns
        -------
        ndarray, shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = matrix_of(X)
        if hasattr(X, "__next__"):
            some = (block for block in X if getattr(block, "shape", None) != (0, self.n_features_in_))  # scikit-learn refuses matrices without rows
            return np.concatenate([np.empty((0, len(self.components_)))] + [self._projected(block) for block in some])
        if _streams(X):
            raise TypeError("transform takes matrices and iterators of blocks: for a store use fit_transform, or gdsvd.Factorization.project")
        return self._projected(X)

    def _projected(self, X: Any) -> Array:
        X = validate_data(self, X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], reset=False)
        if self._model:
            return self._scaled(self._viewed(X))
        scores = np.asarray(X @ self.components_.T)
        if self._centre:
            scores = scores - self.mean_ @ self.components_.T
        return self._scaled(scores)

    def _viewed(self, X: Any) -> Array:
        """Return the unscaled scores of X under the view, with the statistics of the view that fit measured."""
        with workplace() as tmp:
            for name, content in self._model.items():
                (tmp / name).write_bytes(content)
            f = Factorization(tmp, verify=False)
            assert f.V is not None
            signs = upright(f.V.T)
            return np.asarray(f.project(X, memory=self.memory) * signs)

    def _scaled(self, scores: Array) -> Array:
        return scores / self._deviations() if self.whiten else scores

    def _deviations(self) -> Array:
        """Return the standard deviations of the scores; 1 for components without variance."""
        d = np.sqrt(self.explained_variance_)
        return np.where(d > 0, d, 1)

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows that the components reconstruct from scores.

        Parameters
        ----------
        X : array_like or sparse matrix, shape (n_samples, n_components)

        Returns
        -------
        ndarray, shape (n_samples, n_features)
            Dense. With a view they approximate the rows after its steps. PCA adds `mean_` if no step follows the centring.
        """
        check_is_fitted(self)
        X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
        if X.shape[-1:] != (self._n_features_out,):
            raise ValueError(f"X has shape {X.shape}, but {type(self).__name__} has {self._n_features_out} components: it must have as many columns")
        if self.whiten:
            X = X * self._deviations()
        rows = X @ self.components_
        return np.asarray(rows + self.mean_ if self._centre and self._centred_last() else rows)

    def _centred_last(self) -> bool:
        """Report whether subtracting the means of columns is the last step of the view."""
        return str(self.info_["view"]["pipeline"]).rpartition(" · ")[2] == "center=columns"

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TruncatedSVD(_Decomposition):
    """Dimensionality reduction by the leading singular triplets, with the interface of scikit-learn's TruncatedSVD.

    Parameters
    ----------
    n_components : int
        Number of components.
    view : str or list of str, optional
        Steps that `fit` and `transform` apply to the matrix before, such as ``"lsi"`` or ``["log1p", "normalize=rows"]``. No dense
        matrix is formed.
    algorithm, n_iter, n_oversamples, power_iteration_normalizer
        Parameters of scikit-learn that have no effect here. A value other than the default gets a warning.
    tol : float
        Largest residual of a triplet relative to the largest singular value.
    memory : str or int
        Memory budget of the program: bytes, a text such as ``"2GiB"``, or ``"auto"``.
    random_state : int, RandomState or None
        Seed of the start vectors. None is 0, so that results are reproducible.
    progress : bool or None
        Whether tqdm shows the progress of fit. None: on a terminal and in a notebook, if tqdm is installed.

    Attributes
    ----------
    components_ : ndarray, shape (n_components, n_features)
        Right singular vectors as rows; the entry of largest magnitude of each is positive.
    explained_variance_ : ndarray, shape (n_components,)
        Variance of the scores of each component.
    explained_variance_ratio_ : ndarray, shape (n_components,)
        Share of the variance of all features. It exists if fit was given a matrix in memory without a view, or a view that centres columns.
    singular_values_ : ndarray, shape (n_components,)
    n_features_in_, n_samples_ : int
    info_ : dict
        Contents of ``result.json`` of the run.

    Examples
    --------
    >>> import gdsvd, scipy.sparse as sp
    >>> X = sp.diags([1.0, 5.0, 3.0, 4.0]).tocsr()
    >>> t = gdsvd.TruncatedSVD(2).fit(X)
    >>> t.singular_values_.round(12)
    array([5., 4.])
    >>> t.transform(X).shape
    (4, 2)
    """

    _others = {"algorithm": "auto", "n_iter": 5, "n_oversamples": 10, "power_iteration_normalizer": "auto"}

    def __init__(
        self,
        n_components: int = 2,
        *,
        view: str | list[str] | None = None,
        algorithm: str = "auto",
        n_iter: int = 5,
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        tol: float = 1e-8,
        memory: str | int = "auto",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(n_components, view, tol, memory, random_state, progress)
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer

    def _variances(self, X: Any, scores: Array, info: Info) -> None:
        self.explained_variance_ = np.var(scores, axis=0)
        self.__dict__.pop("explained_variance_ratio_", None)
        if centres_columns(view := info.get("view", {})):
            self.explained_variance_ratio_ = np.asarray(view["explained_variance_ratio"], float)
        elif self.view is None and not _streams(X):
            with np.errstate(divide="ignore", invalid="ignore"):
                self.explained_variance_ratio_ = self.explained_variance_ / total_variance(X)


class PCA(_Decomposition):
    """Principal components of a matrix that stays sparse, with the interface of scikit-learn's PCA.

    Parameters
    ----------
    n_components : int, float or None
        Number of components; a share of the variance between 0 and 1, captured by as few as possible; or None for min(n_samples, n_features).
    whiten : bool
        Whether scores are divided by their standard deviations.
    view : str or list of str, optional
        Steps that `fit` and `transform` apply to the matrix before, such as ``"lsi"`` or ``["log1p", "normalize=rows"]``. No dense
        matrix is formed. A step that centres columns is appended if the view has none.
    copy : bool
        Parameter of scikit-learn without effect: X is never changed.
    svd_solver, iterated_power, n_oversamples, power_iteration_normalizer
        Parameters of scikit-learn that have no effect here. A value other than the default gets a warning.
    tol, memory, random_state, progress
        As for `TruncatedSVD`.

    Attributes
    ----------
    components_ : ndarray, shape (n_components, n_features)
        Principal axes as rows; the entry of largest magnitude of each is positive.
    explained_variance_, explained_variance_ratio_ : ndarray, shape (n_components,)
    singular_values_ : ndarray, shape (n_components,)
        Singular values of the centred matrix.
    mean_ : ndarray, shape (n_features,)
    noise_variance_ : float
        Mean of the min(n_samples, n_features) − n_components_ variances that the components do not explain.
    n_components_, n_features_in_, n_samples_ : int
    info_ : dict
        Contents of ``result.json`` of the run.

    Examples
    --------
    >>> import gdsvd, scipy.sparse as sp
    >>> X = sp.diags([1.0, 5.0, 3.0, 4.0]).tocsr()
    >>> p = gdsvd.PCA(3).fit(X)
    >>> round(float(p.explained_variance_ratio_.sum()), 12)
    1.0
    >>> bool(abs(p.inverse_transform(p.transform(X)) - X.toarray()).max() < 1e-9)
    True
    """

    mean_: Array
    noise_variance_: float
    n_components_: int

    _centre = True
    _others = {"svd_solver": "auto", "iterated_power": "auto", "n_oversamples": 10, "power_iteration_normalizer": "auto"}

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        view: str | list[str] | None = None,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 1e-8,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        memory: str | int = "auto",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(n_components, view, tol, memory, random_state, progress)
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer

    def _variances(self, X: Any, scores: Array, info: Info) -> None:
        view = info.get("view", {})
        if not centres_columns(view):
            raise ValueError(f"view = {self.view!r} does not centre columns: principal components need a view that does")
        self.mean_ = next(np.array(s["array"]) for s in view["statistics"] if s["step"].startswith(("center=", "patterson")))
        self.n_components_ = len(self.singular_values_)
        self.explained_variance_ = np.asarray(view["explained_variance"], float)
        self.explained_variance_ratio_ = np.asarray(view["explained_variance_ratio"], float)
        left = min(info["rows"], info["cols"]) - self.n_components_
        total = view["norm"] ** 2 / max(1, info["rows"] - 1)
        self.noise_variance_ = max(0.0, total - self.explained_variance_.sum()) / left if left else 0.0
