"""Least squares with few weights."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.subsets import best_subset
from fastml._sklearn import Interval, fit_context
from fastml.linear_model._base import LinearPredictor
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY


@documented({"keep_summary": KEEP_ENTRY})
class L0Regressor(MultiOutputMixin, RegressorMixin, LinearPredictor):
    """Least squares with a price for, or a bound on, the number of weights that are not 0.

    Looks for the minimum of

        1/(2n) Σ (y_i − w₀ − w · x_i)² + alpha · (number of w_j ≠ 0)

    over w with at most ``n_nonzero_coefs`` such weights. The problem is hard; what is found is a
    set of columns that no adding, removing or swapping of one column improves. Unlike those of the
    lasso, its weights are not shrunk.

    Parameters
    ----------
    alpha : float, default=0.0
        Price of a weight.
    n_nonzero_coefs : int, default=None
        Most weights; None is as many as there are columns, or a tenth of them if alpha is 0.
    fit_intercept : bool, default=True
        Whether there is a w₀.
    max_iter : int, default=1000
        Most changes of the set.
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights w.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant w₀; 0.0 without one.
    n_iter_ : int
        Number of changes of the set, the largest of the targets'.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import L0Regressor
    >>> X = np.random.default_rng(0).normal(size=(50, 10))
    >>> model = L0Regressor(n_nonzero_coefs=2).fit(X, 3 * X[:, 1] - X[:, 7])
    >>> np.flatnonzero(model.coef_), model.coef_[[1, 7]].round(6)
    (array([1, 7]), array([ 3., -1.]))
    """

    _parameter_constraints: dict = {
        **KEEP,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha=0.0,
        *,
        n_nonzero_coefs=None,
        fit_intercept=True,
        max_iter=1000,
        keep_summary=False,
    ):
        self.alpha = alpha
        self.n_nonzero_coefs = n_nonzero_coefs
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.keep_summary = keep_summary

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Choose columns and fit their weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors.

        Returns
        -------
        self : object
        """
        X, Y, axes = self._read(X, y)
        design = CentredDesign(X, self._weights(sample_weight, X), self.fit_intercept)
        b, y_means = design.targets(Y)
        d = X.shape[1]
        most = self.n_nonzero_coefs
        if most is None:
            most = d if self.alpha > 0.0 else max(int(0.1 * d), 1)
        coef, changes = np.empty((d, Y.shape[1])), 0
        for t in range(Y.shape[1]):
            coef[:, t], count = best_subset(
                design, np.ascontiguousarray(b[:, t]), self.alpha * design.total,
                min(most, d, X.shape[0]), self.max_iter,
            )  # fmt: skip
            changes = max(changes, count)
        self.n_iter_ = changes
        self._set(coef, design.means, y_means, X.dtype, axes, flat=False)
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0], sample_weight=design.weights)
        return self
