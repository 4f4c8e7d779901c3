"""Ordinary least squares."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.least_squares import least_squares, non_negative
from fastml._sklearn import Interval, fit_context
from fastml.linear_model._base import LinearPredictor
from fastml.linear_model._blocks import (
    least_squares_of,
    non_negative_of,
    refuse_summary,
    refuse_wide,
    target_axes,
)
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY


@documented({"keep_summary": KEEP_ENTRY})
class LinearRegression(MultiOutputMixin, RegressorMixin, LinearPredictor):
    """Ordinary least squares: the w and w₀ that minimise Σ u_i (y_i − w₀ − w · x_i)².

    Where several do, w is the shortest. Tall data are reduced to their Gram matrix, in blocks of
    rows and without a copy of X, and solved by Cholesky's decomposition if the eigenvalues of that
    matrix say that this is accurate; by QR and singular values otherwise. Sparse data with
    thousands of columns are solved by LSQR.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is a w₀.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    tol : float, default=1e-6
        Singular values below tol times the largest count as 0; for LSQR its relative accuracy.
    n_jobs : int, default=None
        For scikit-learn's sake: BLAS uses all cores.
    positive : bool, default=False
        Whether weights must be at least 0. Dense X only.
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant w₀; 0.0 without one.
    rank_ : int
        Number of singular values of the centred X that count. Not for sparse X or ``positive``.
    singular_ : ndarray of shape (min(n_samples, n_features),)
        These singular values, descending.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LinearRegression
    >>> X = np.array([[1, 1], [1, 2], [2, 2], [2, 3]])
    >>> model = LinearRegression().fit(X, X @ [1, 2] + 3)
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([1., 2.]), 3.0)
    """

    _parameter_constraints: dict = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        **KEEP,
    }

    def __init__(
        self,
        *,
        fit_intercept=True,
        copy_X=True,
        tol=1e-6,
        n_jobs=None,
        positive=False,
        keep_summary=False,
    ):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.keep_summary = keep_summary

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.positive
        return tags

    def _fit_blocks(self, passes):
        refuse_summary(self)
        refuse_wide(passes)
        axes, n_targets = target_axes(passes)
        if self.positive:
            alphas = np.zeros(n_targets)
            found = non_negative_of(passes, alphas, self.fit_intercept, 1e-14, 1_000_000)
        else:
            found = least_squares_of(passes, self.fit_intercept, self.tol)
            self.rank_, self.singular_ = found.rank, found.singular.astype(passes.dtype)
        self._set(found.coef, found.x_means, found.y_means, passes.dtype, axes, flat=False)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights u_i of the squared errors: how often a row was seen, or 1 / variance of its
            error. The fit is the same; the errors of `summary` are not (``weight_kind``), and
            those kept are of the second kind.

        Returns
        -------
        self : object
        """
        X, Y, axes = self._read(
            X, y, accept_sparse=not self.positive and ("csr", "csc"), check_later=not self.positive
        )
        weights = self._weights(sample_weight, X)
        if self.positive:
            found = non_negative(X, Y, weights, self.fit_intercept)
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                found = least_squares(X, Y, weights, self.fit_intercept, self.tol)
            self._refuse_nan(X, found.coef)
        for name in ("rank_", "singular_"):
            if hasattr(self, name):
                delattr(self, name)
        if found.rank is not None:
            self.rank_, self.singular_ = found.rank, found.singular.astype(X.dtype, copy=False)
        self._set(found.coef, found.x_means, found.y_means, X.dtype, axes, flat=False)
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0], sample_weight=weights)
        return self
