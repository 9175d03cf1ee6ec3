"""The base classes and functions of scikit-learn that the estimators use, or stand-ins if it is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._input import checked

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:  # the estimators work then, but not in pipelines, and without names of features

    class BaseEstimator:  # type: ignore[no-redef]
        """Empty stand-in."""

    class ClassNamePrefixFeaturesOutMixin:  # type: ignore[no-redef]
        """Empty stand-in."""

    class TransformerMixin:  # type: ignore[no-redef]
        """Empty stand-in."""

    def check_random_state(seed: Any) -> Any:
        """Return a generator of random numbers for a seed, or the given generator."""
        return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)

    def check_is_fitted(estimator: Any) -> None:
        """Raise a ValueError if the estimator has not been fitted."""
        if not hasattr(estimator, "components_"):
            raise ValueError(f"this {type(estimator).__name__} is not fitted yet: call fit before")

    def validate_data(estimator: Any, X: Any, *, reset: bool = True, **_: Any) -> Any:
        """Return X as a matrix, after checking that its values are finite and that it has as many columns as in fit."""
        X = checked(X)
        if sp.issparse(X) and X.format in ("lil", "dok"):  # their entries are not in one array
            X = X.tocsr()
        if not np.isfinite(X.data if sp.issparse(X) else X).all():
            raise ValueError("X contains NaN or infinity")
        if reset:
            estimator.n_features_in_ = X.shape[1]
        elif X.shape[1] != estimator.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as input")
        return X

__all__ = ["BaseEstimator", "ClassNamePrefixFeaturesOutMixin", "TransformerMixin", "check_is_fitted", "check_random_state", "validate_data"]
