"""Estimators on a Dask cluster: the workers hold the matrix and make the passes of fit, and transform is lazy.

>>> import dask.array, distributed, gdsvd.dask, scipy.sparse as sp
>>> cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
>>> with cluster, distributed.Client(cluster):
...     X = dask.array.from_array(sp.random(200, 30, 0.2, format="csr", random_state=0).toarray(), chunks=(50, 30))
...     p = gdsvd.dask.PCA(3).fit(X)
...     scores = p.transform(X)
...     scores.compute().shape, scores.chunks[0]
((200, 3), (50, 50, 50, 50))
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

import numpy as np

from . import _estimators as plain
from ._engine import engine, stored
from ._input import memory_flags
from ._lazy import in_memory
from ._program import run
from ._sklearn import check_is_fitted
from ._svds import pipeline, triplets
from ._tables import refuse
from ._types import Array, Info

__all__ = ["PCA", "TruncatedSVD"]

E = TypeVar("E", bound="_OfDask")


def _apply(block: Any, estimator: Any, method: str, width: int) -> Array:
    block = in_memory(block)
    return np.asarray(getattr(estimator, method)(block)) if block.shape[0] else np.empty((0, width))


class _OfDask(plain._Decomposition):
    """Base of both estimators: the methods that differ from those of the estimators for one machine."""

    client: Any
    shared: Any
    groups: int
    _plain: Any

    def fit(self: E, X: Any, y: Any = None) -> E:
        """Find the components of X.

        Parameters
        ----------
        X : array or bag of Dask, path, `Store`, or matrix in memory, n_samples × n_features
            Blocks of an array may be dense or sparse; a bag has CSR matrices. Each partition is written by the worker that holds it.
        y : ignored

        Returns
        -------
        self
        """
        refuse(X, "X", "gdsvd.Store.from_table(X, path, ")
        _, s, vt, info = self._triplets(X)
        self._found(s, vt, info)
        self.n_features_in_ = info["cols"]
        self._variances(X, vt, info)
        return self

    def _decomposed(self, X: Any, k: int | float, flags: list[str]) -> tuple[Array, Array, Array, Info]:
        with engine(self.client, self.shared, self.groups) as e:
            store = stored(X, e, self.memory, self.progress)
            self._look(store, e.folder / "stats")
            return triplets(store, e.folder / "out", k, [*flags, *e.flags, "--vectors=right"], self.progress, self._keep)

    def _look(self, store: Any, folder: Any) -> None:
        """Compute statistics of the store that cannot be derived from the triplets."""

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the components of X, and return the scores of its rows, like `fit` followed by `transform`.

        Raises
        ------
        TypeError
            If X is a path, a store or an iterator, of which `transform` returns no scores.
        """
        if plain._streams(X):
            raise TypeError("fit_transform takes arrays and bags of Dask and matrices: for a path, a store or an iterator of blocks call fit")
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Any:
        """Return the scores of the rows of X.

        Parameters
        ----------
        X : array or bag of Dask, or any input of the estimator for one machine

        Returns
        -------
        array or bag of Dask, ndarray
            For an array or bag of Dask: lazy, of the same kind and with the same partitions of rows as X.
        """
        return self._each("transform", X, self._n_features_out)

    def inverse_transform(self, X: Any) -> Any:
        """Return the rows that the components reconstruct from scores; lazy like `transform`."""
        return self._each("inverse_transform", X, self.components_.shape[1])

    def _each(self, method: str, X: Any, width: int) -> Any:
        local = self.to_local()
        if not hasattr(X, "__dask_graph__"):
            return getattr(local, method)(X)
        from dask.delayed import delayed

        one: Any = delayed(local)  # the graph contains the estimator once, and not in each of its tasks
        if not hasattr(X, "chunks"):
            return X.map(_apply, one, method, width)
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return X.map_blocks(_apply, one, method, width, dtype=np.float64, chunks=(X.chunks[0], (width,)), meta=np.empty((0, 0)))

    def to_local(self) -> Any:
        """Return an estimator for one machine with the fitted attributes of this one, for pickling and for rows in memory."""
        check_is_fitted(self)
        local = self._plain.__new__(self._plain)
        local.__dict__ = {name: value for name, value in self.__dict__.items() if name not in ("client", "shared", "groups")}
        return local


class TruncatedSVD(_OfDask, plain.TruncatedSVD):
    """`gdsvd.TruncatedSVD` on a cluster of Dask.

    Parameters
    ----------
    n_components : int
    client : distributed.Client, optional
        None is the current client.
    shared : path, optional
        A folder that this machine and all workers see under the same path; or ``s3://BUCKET/PREFIX``, if X is a store in a bucket. The
        default is the folder for temporary files, if all workers see it.
    groups : int
        Tasks of a pass, best 2 to 4 for each worker; 0 is 16.
    view, tol, memory, random_state, progress
        As for `gdsvd.TruncatedSVD`. The attributes are the same, and ``explained_variance_ratio_`` always exists.
    """

    _plain = plain.TruncatedSVD

    def __init__(
        self,
        n_components: int = 2,
        *,
        client: Any = None,
        shared: str | os.PathLike[str] | None = None,
        groups: int = 0,
        view: str | list[str] | None = None,
        tol: float = 1e-8,
        memory: str | int = "auto",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(n_components, view=view, tol=tol, memory=memory, random_state=random_state, progress=progress)
        self.client, self.shared, self.groups = client, shared, groups

    def _look(self, store: Any, folder: Any) -> None:
        run("stats", *pipeline(self.view), *memory_flags(self.memory), "-o", folder, "--", store)
        self._columns = np.load(folder / "cols-mean.npy"), float(np.load(folder / "cols-variance.npy").sum())

    def _variances(self, X: Any, vt: Array, info: Info) -> None:
        mean, total = self.__dict__.pop("_columns")
        # The scores of a component are Av: the mean of their squares is σ²/m, and their mean is the vector of column means times v.
        self.explained_variance_ = np.maximum(self.singular_values_**2 / info["rows"] - (mean @ vt.T) ** 2, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.explained_variance_ratio_ = self.explained_variance_ / total


class PCA(_OfDask, plain.PCA):
    """`gdsvd.PCA` on a cluster of Dask.

    Parameters
    ----------
    n_components : int or float
    client, shared, groups
        As for `TruncatedSVD`.
    whiten, view, tol, memory, random_state, progress
        As for `gdsvd.PCA`. The attributes are the same.
    """

    _plain = plain.PCA

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        client: Any = None,
        shared: str | os.PathLike[str] | None = None,
        groups: int = 0,
        view: str | list[str] | None = None,
        whiten: bool = False,
        tol: float = 1e-8,
        memory: str | int = "auto",
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(n_components, view=view, whiten=whiten, tol=tol, memory=memory, random_state=random_state, progress=progress)
        self.client, self.shared, self.groups = client, shared, groups
