"""Principal component analysis of rows that come in batches."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches, metadata_routing
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.spectral import factors
from fastml._engines.spectral.scatter import Scatter, merge, scatter_of
from fastml._engines.spectral.sketch import Sketch, merge_sketches, sketch_of
from fastml._sklearn import Interval, fit_context
from fastml._validation import FLOATS, validate_data
from fastml.decomposition._base import Projection, check_finite
from fastml.decomposition._docs import ENTRIES

SCATTER_COLUMNS = 2_000
"""Columns up to which the scatter of all rows is kept: then batches do not matter."""


@documented(ENTRIES)
class IncrementalPCA(Projection):
    """Principal component analysis of rows that come in batches.

    Up to 2,000 columns the mean and scatter of all rows seen are kept, to which those of a batch
    are added: the components are those of `PCA` on all rows, whatever the batches. Beyond, the
    components times their singular values stand for the rows seen, as in scikit-learn: with them
    are stacked the centred rows of the batch and the difference of the means, and the singular
    vectors of the stack are the new components. Either can be merged with another's
    (`merge`).

    Parameters
    ----------
    n_components : int, default=None
        How many; None: min(rows of the first batch, n_features).
    whiten : bool, default=False
        Whether `transform` divides by the deviation, so that every component has variance 1.
    copy : bool, default=True
        For scikit-learn's sake: X is never written to.
    batch_size : int, default=None
        Rows that `fit` takes at once; None is 5 n_features. The first of several batches needs
        n_components rows; others may have fewer.
    {n_jobs}

    Attributes
    ----------
    {components_}
    {explained_variance_}
    {explained_variance_ratio_}
    {singular_values_}
    {mean_}
    var_ : ndarray of shape (n_features,)
        Variance of every column, divided by n.
    {noise_variance_}
    n_components_ : int
        Number of components.
    n_samples_seen_ : int
        Number of rows seen.
    batch_size_ : int
        Rows that `fit` took at once.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    D. Ross, J. Lim, R. Lin and M. Yang, Incremental learning for robust visual tracking, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.decomposition import PCA, IncrementalPCA
    >>> X = np.random.default_rng(0).normal(size=(500, 6)) * [6, 5, 4, 3, 2, 1]
    >>> model = IncrementalPCA(n_components=2)
    >>> for first in range(0, 500, 100):
    ...     model = model.partial_fit(X[first : first + 100])
    >>> bool(np.allclose(model.components_, PCA(2).fit(X).components_))
    True
    >>> one, two = IncrementalPCA(2).fit(X[:200]), IncrementalPCA(2).fit(X[200:])
    >>> bool(np.allclose(one.merge(two).components_, model.components_))
    True
    """

    __metadata_request__partial_fit = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "whiten": ["boolean"],
        "copy": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [None, Integral],
    }

    def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None, n_jobs=None):
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the components, batch by batch; what an earlier fit saw is forgotten.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        {self}
        """
        X = validate_data(
            self, X, accept_sparse=["csr", "csc", "lil"], dtype=FLOATS,
            ensure_all_finite=sp.issparse(X),
        )  # fmt: skip
        X = X.tocsr() if sp.issparse(X) else X
        n, d = X.shape
        batch_size = 5 * d if self.batch_size is None else self.batch_size
        batches = list(gen_batches(n, batch_size, min_batch_size=self.n_components or 0))
        first = batches[0].stop
        if first == n:  # fewer rows than components in all are no error, as in scikit-learn
            k = min(self._checked_count(max(n, self.n_components or 0), d, None), n)
        else:
            k = self._checked_count(first, d, None)
        if d <= SCATTER_COLUMNS:
            state = self._refuse_infinite(X, self._scatter_of(X))
            last = batches[-1].stop - batches[-1].start
        else:
            state = None
            for batch in batches:
                state = self._after(state, X[batch], k)
                last = batch.stop - batch.start
        self._forget()
        self.batch_size_, self.n_components_ = batch_size, k
        self._finish(state, last, X.dtype)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, check_input=True):
        """Add one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of the batch.
        {y}
        check_input : bool, default=True
            Whether to validate X.

        Returns
        -------
        {self}
        """
        first = not hasattr(self, "components_")
        if check_input:
            if sp.issparse(X):
                raise TypeError(
                    "IncrementalPCA.partial_fit does not support sparse input. Either convert data "
                    "to dense or use IncrementalPCA.fit to do so in batches."
                )
            X = validate_data(self, X, dtype=FLOATS, ensure_all_finite=False, reset=first)
        n, d = X.shape
        k = self._checked_count(n, d, None if first else len(self.components_))
        state = self._after(None if first else self._state(), X, k)
        self.n_components_ = k
        self._finish(state, n, X.dtype)
        return self

    def merge(self, other):
        """Add the rows that another model has seen: what a cluster does with one per worker.

        Up to 2,000 columns the scatters of both are added, so that the components are those
        of all rows; beyond, the leading axes of both are.

        Parameters
        ----------
        other : IncrementalPCA
            Fitted to other rows of the same columns; it is not changed.

        Returns
        -------
        {self}
        """
        check_is_fitted(self)
        if not isinstance(other, IncrementalPCA):
            raise TypeError(f"other must be an IncrementalPCA, got {type(other).__name__}")
        check_is_fitted(other)
        mine, theirs = self._state(), other._state()
        if len(mine.mean) != len(theirs.mean):
            raise ValueError(
                f"other has seen rows of {len(theirs.mean)} columns, this model of {len(mine.mean)}"
            )
        if isinstance(mine, Scatter):
            state = merge(mine, theirs)
        else:
            state = merge_sketches(mine, theirs).cut(self.n_components_)
        self._finish(state, other.n_samples_seen_, self.components_.dtype)
        return self

    def _checked_count(self, n_rows, n_features, before):
        k = self.n_components
        if k is None:
            return min(n_rows, n_features) if before is None else before
        if k > n_features:
            raise ValueError(
                f"n_components={k} invalid for n_features={n_features}, need more rows than "
                "columns for IncrementalPCA processing"
            )
        if before is None and k > n_rows:
            raise ValueError(
                f"n_components={k} must be less or equal to the batch number of samples {n_rows} "
                "for the first partial_fit call."
            )
        if before is not None and before != k:
            raise ValueError(
                f"Number of input features has changed from {before} to {k} between calls to "
                "partial_fit! Try setting n_components to a fixed value."
            )
        return k

    def _scatter_of(self, X):
        with np.errstate(invalid="ignore", over="ignore"):
            return scatter_of(X, n_jobs=self.n_jobs)

    def _refuse_infinite(self, X, state):
        squares = state.products if isinstance(state, Scatter) else state.squares
        if not (np.isfinite(state.mean).all() and np.isfinite(squares).all()):
            check_finite(self, X)
        return state

    def _after(self, state, X, k):
        """The state with a batch added."""
        if X.shape[1] <= SCATTER_COLUMNS:
            found = self._refuse_infinite(X, self._scatter_of(X))
            return found if state is None else merge(state, found)
        with np.errstate(invalid="ignore", over="ignore"):
            found = self._refuse_infinite(X, sketch_of(X))
        return found.cut(k) if state is None else merge_sketches(state, found).cut(k)

    def _state(self):
        if hasattr(self, "_products"):
            return Scatter(float(self.n_samples_seen_), self._mean, self._products)
        return Sketch(float(self.n_samples_seen_), self._mean, self._rows, self._squares)

    def _restore_state(self):
        """For `fastml.convert`: what `partial_fit` goes on from, of the attributes; of rows seen
        before, the leading axes are known, as scikit-learn keeps no more."""
        rows = np.asarray(self.components_ * self.singular_values_[:, None], np.float64)
        self._mean = np.asarray(self.mean_, np.float64)
        if rows.shape[1] <= SCATTER_COLUMNS:
            self._products = rows.T @ rows
        else:
            self._rows = rows
            self._squares = np.asarray(self.var_ * self.n_samples_seen_, np.float64)

    def _forget(self):
        for name in ("_mean", "_products", "_rows", "_squares"):
            if hasattr(self, name):
                delattr(self, name)

    def _finish(self, state, last_rows, dtype):
        n, d, k = state.total, len(state.mean), self.n_components_
        self._mean = state.mean
        if isinstance(state, Scatter):
            self._products = state.products
            squares = np.einsum("jj->j", state.products)
            found = factors.by_covariance(state.products, k)
        else:
            self._rows, self._squares = state.rows, state.squares
            squares = state.squares
            found = factors.Factors(*state.factors())
        singular = np.zeros(k)
        singular[: len(found.singular[:k])] = found.singular[:k]
        whole = float(squares.sum())
        self.n_samples_seen_ = int(n)
        self.mean_ = state.mean.astype(dtype)
        self.var_ = np.maximum(squares / n, 0.0).astype(dtype)
        self.components_ = np.array(found.rows[:k], dtype=dtype)
        self.singular_values_ = singular.astype(dtype)
        self.explained_variance_ = (singular**2 / max(n - 1.0, 1.0)).astype(dtype)
        shares = singular**2 / whole if whole > 0.0 else np.zeros(k)
        self.explained_variance_ratio_ = shares.astype(dtype)
        left = min(int(n), d) - k
        rest = max(whole - float((singular**2).sum()), 0.0) / max(n - 1.0, 1.0)
        self.noise_variance_ = dtype.type(rest / left if left > 0 else 0.0)

    def _rank_tolerance(self, eps):
        return 32.0 * np.finfo(np.float64).eps
