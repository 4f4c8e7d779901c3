"""Margins and slack of fitted machines."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted, column_or_1d


class Margins(NamedTuple):
    """What `margins` returns: functional margins and slack values."""

    margin: np.ndarray
    slack: np.ndarray


def margins(estimator, X, y) -> Margins:
    """Margin and slack of every row under a fitted machine.

    Classification: margin y f(x) with y = ±1, slack ξ = max(0, 1 - y f(x)). A row is on the margin
    at 1, inside it below, and misclassified below 0. With more than two classes there is a column
    per pair of classes, NaN for rows of other classes. Regression: margin ε - \\|y - f(x)\\|, which
    is negative outside the tube, slack ξ = max(0, \\|y - f(x)\\| - ε).

    Parameters
    ----------
    estimator : object
        A fitted classifier with ``decision_function``, or regressor.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their labels or values.

    Returns
    -------
    margins : Margins
        Named tuple of ``margin`` and ``slack``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import SVC, margins
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> machine = SVC(kernel="linear", C=100).fit(X, y)
    >>> margins(machine, X, y).margin.round(2)
    array([2., 1., 1., 3.])
    """
    check_is_fitted(estimator)
    if hasattr(X, "__array__"):
        X = np.asarray(X)
    y = column_or_1d(y)
    if is_regressor(estimator):
        margin = getattr(estimator, "epsilon", 0.0) - np.abs(y - estimator.predict(X))
        return Margins(margin, np.maximum(0.0, -margin))
    classes = estimator.classes_
    if unknown := set(np.unique(y)) - set(classes):
        raise ValueError(f"y has labels that the estimator does not know: {sorted(unknown)}")
    if classes.size == 2:
        margin = np.where(y == classes[1], 1.0, -1.0) * estimator.decision_function(X)
        return Margins(margin, np.maximum(0.0, 1.0 - margin))
    if not hasattr(estimator, "_pair_values"):
        raise TypeError(f"{type(estimator).__name__} has no decision values per pair of classes")
    margin = estimator._pair_values(X)
    for p, (a, b) in enumerate(combinations(range(classes.size), 2)):
        sign = np.where(y == classes[a], 1.0, np.where(y == classes[b], -1.0, np.nan))
        margin[:, p] *= sign
    return Margins(margin, np.maximum(0.0, 1.0 - margin))
