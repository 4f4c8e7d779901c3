"""Nadaraya-Watson and local linear regression."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fastml._engines.smoothing.bandwidth import (
    check_bandwidth,
    reference_bandwidth,
    search_bandwidth,
)
from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.smoother import Smoother
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import relative_weights


class KernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Kernel-weighted regression: Nadaraya-Watson, or local linear.

    .. math:: \hat y(x) = \frac{\sum_i w_i K(\lVert x - x_i \rVert / h)\, y_i}
              {\sum_i w_i K(\lVert x - x_i \rVert / h)}

    With ``local="linear"`` a plane is fitted around each query under the same weights, and its
    value there is the answer: no bias at the border of the data or where they get denser.

    Parameters
    ----------
    bandwidth : float, array-like or {"loo"}, default=1.0
        A number, one per feature, a covariance matrix (whose square root takes the place of h), or
        "loo": the number with the least squared leave-one-out error.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}, \
            default="gaussian"
    local : {"constant", "linear"}, default="constant"
        What is fitted around a query.
    out_of_reach : {"mean", "nan"}, default="mean"
        The answer where a kernel of bounded support reaches no training point: the weighted mean
        of y, or NaN. Gaussian and exponential reach everywhere; far away they give the nearest
        point's y.
    n_jobs : int, default=None
        Threads; None means all cores. Results do not depend on it.

    Attributes
    ----------
    bandwidth_ : float or ndarray
    y_mean_ : float or ndarray of shape (n_outputs,)
        Weighted mean of y.
    engine_ : str
        See :class:`KernelDensity`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    References
    ----------
    J. Fan and I. Gijbels, "Local Polynomial Modelling and Its Applications", 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.neighbors import KernelRegressor
    >>> X = np.linspace(0.0, 1.0, 11)[:, None]
    >>> model = KernelRegressor(bandwidth=0.1).fit(X, 2.0 * X[:, 0])
    >>> model.predict([[0.5], [1.0]]).round(2)
    array([1. , 1.9])
    >>> model.set_params(local="linear").predict([[0.5], [1.0]]).round(2)
    array([1., 2.])
    """

    _parameter_constraints: dict = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"loo"}),
            "array-like",
        ],
        "kernel": [StrOptions(set(SMOOTHING_KERNELS))],
        "local": [StrOptions({"constant", "linear"})],
        "out_of_reach": [StrOptions({"mean", "nan"})],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        bandwidth=1.0,
        *,
        kernel="gaussian",
        local="constant",
        out_of_reach="mean",
        n_jobs=None,
    ):
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.local = local
        self.out_of_reach = out_of_reach
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Keep the points and choose the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative, not all zero.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=np.float64)
        weights, _ = relative_weights(sample_weight, X, dtype=np.float64)
        self._single = y.ndim == 1
        y = y.reshape(X.shape[0], -1)
        mean = np.average(y, axis=0, weights=weights)
        # Centred, so that rounding is relative to the spread of y.
        values = np.column_stack([weights, weights[:, None] * (y - mean)])
        if isinstance(self.bandwidth, str):
            bandwidth = self._search(X, y - mean, weights, values)
        else:
            bandwidth = check_bandwidth(self.bandwidth, X.shape[1])
        self._smoother = Smoother(X, values, self.kernel, bandwidth, n_jobs=self.n_jobs)
        self.bandwidth_ = bandwidth
        self.engine_ = self._smoother.engine
        self.y_mean_ = float(mean[0]) if self._single else mean
        return self

    def _search(self, X, y, weights, values):
        def error(h):
            smoother = Smoother(X, values, self.kernel, h, n_jobs=self.n_jobs)
            predicted = self._smooth(smoother, X, np.arange(X.shape[0]))
            reached = np.isfinite(predicted[:, 0])
            predicted[~reached] = 0.0  # the mean
            return float(np.sum(weights[:, None] * (y - predicted) ** 2))

        if X.shape[0] < 2:
            raise ValueError("bandwidth='loo' needs at least 2 samples, got 1 sample")
        return search_bandwidth(error, reference_bandwidth(X, weights))

    def _smooth(self, smoother, Q, itself=None):
        """Centred predictions (n_queries, n_outputs); NaN out of reach."""
        if self.local == "linear":
            return smoother.planes(Q, itself)
        sums, _ = smoother.sums(Q, itself)
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums[:, 1:] / sums[:, :1]

    def predict(self, X):
        """Values at the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        predicted = self._smooth(self._smoother, X)
        if self.out_of_reach == "mean":
            predicted[np.isnan(predicted[:, 0])] = 0.0
        predicted += self.y_mean_
        return predicted[:, 0] if self._single else predicted
