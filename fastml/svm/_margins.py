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
    per pair of classes, NaN for rows of other classes (`SVC`, `NuSVC`), or a column per class
    against the rest (`LinearSVC` and other machines with a decision value per class); Crammer's and
    Singer's machine has one margin, f_y(x) - max f_c(x) over the other classes c.

    Regression: margin ε - \\|y - f(x)\\|, which is negative outside the tube, slack
    ξ = max(0, \\|y - f(x)\\| - ε).

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
    y = _known_labels(estimator, y)
    margin = _signed_by_labels(estimator, _decision_values(estimator, X), y)
    return Margins(margin, np.maximum(0.0, 1.0 - margin))


def _known_labels(estimator, y):
    if unknown := set(np.unique(y)) - set(estimator.classes_):
        raise ValueError(f"y has labels that the estimator does not know: {sorted(unknown)}")
    return y


def _decision_values(estimator, X):
    """Of two classes, of their pairs, or one per class."""
    if len(estimator.classes_) > 2 and hasattr(estimator, "_pair_values"):
        return estimator._pair_values(X)
    return np.array(estimator.decision_function(X), dtype=np.float64)


def _signed_by_labels(estimator, values, y):
    """The values, positive where they are for the row's own class."""
    classes = estimator.classes_
    if len(classes) == 2 and values.ndim == 1:
        return np.where(y == classes[1], 1.0, -1.0) * values
    if hasattr(estimator, "_pair_values"):
        for p, (a, b) in enumerate(combinations(range(len(classes)), 2)):
            values[:, p] *= np.where(y == classes[a], 1.0, np.where(y == classes[b], -1.0, np.nan))
        return values
    own = y[:, None] == classes
    if getattr(estimator, "multi_class", None) == "crammer_singer":
        return values[own] - np.where(own, -np.inf, values).max(axis=1)
    return np.where(own, 1.0, -1.0) * values


def signed_distances(estimator, X) -> np.ndarray:
    """Signed distance of every row to the boundary of a fitted machine.

    d(x) = f(x) / \\|w\\|, in the space of the features, or of the kernel with
    \\|w\\|² = Σ_ij β_i β_j K(x_i, x_j): positive on the side of the second of two classes.

    Parameters
    ----------
    estimator : object
        A fitted `SVC`, `NuSVC` or `OneClassSVM` (other than with a given kernel matrix), or a
        linear machine with ``coef_``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.

    Returns
    -------
    distances : ndarray of shape (n_samples,), or (n_samples, n_boundaries)
        With more than two classes, a column per pair of classes, positive for the first, or a
        column per class.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import SVC, signed_distances
    >>> X, y = np.array([[-3.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> signed_distances(SVC(kernel="linear", C=100).fit(X, y), X).round(2)
    array([-3., -1.,  1.,  2.])
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, "classes_"):
        return np.asarray(estimator.decision_function(X)) / _norms(estimator)[0]
    values, norms = _decision_values(estimator, X), _norms(estimator)
    return values / (norms[0] if values.ndim == 1 else norms)


def geometric_margins(estimator, X, y) -> np.ndarray:
    """Geometric margin of every row: its distance to the boundary, negative on the wrong side.

    γ = y f(x) / \\|w\\| with y = ±1; the smallest of separable rows is the margin of the machine,
    1 / \\|w\\| where the functional margin of `margins` is 1.

    Parameters
    ----------
    estimator : object
        A fitted classifier, as in `signed_distances`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Their labels.

    Returns
    -------
    margins : ndarray of shape (n_samples,), or (n_samples, n_boundaries)
        Columns as those of `margins`.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import SVC, geometric_margins
    >>> X, y = np.array([[-3.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> geometric_margins(SVC(kernel="linear", C=100).fit(X, y), X, y).round(2)
    array([3., 1., 1., 2.])
    """
    check_is_fitted(estimator)
    if getattr(estimator, "multi_class", None) == "crammer_singer" and len(estimator.classes_) > 2:
        raise TypeError("Crammer's and Singer's machine has no boundary of its own for a class")
    y = _known_labels(estimator, column_or_1d(y))
    return _signed_by_labels(estimator, signed_distances(estimator, X), y)


def _norms(estimator) -> np.ndarray:
    """\\|w\\| of every boundary."""
    from scipy.sparse import issparse

    if getattr(estimator, "kernel", "linear") == "linear" and hasattr(estimator, "coef_"):
        coef = estimator.coef_
        coef = coef.toarray() if issparse(coef) else np.atleast_2d(coef)
        return np.linalg.norm(coef, axis=1)
    if not hasattr(estimator, "_support_norms"):
        raise TypeError(f"{type(estimator).__name__} has no weights whose length is known")
    return estimator._support_norms()


class KKTGroups(NamedTuple):
    """What `kkt_groups` returns: numbers of rows, or lists of them for every pair of classes."""

    outside: np.ndarray | list[np.ndarray]
    on_margin: np.ndarray | list[np.ndarray]
    inside: np.ndarray | list[np.ndarray]


def kkt_groups(machine, y, sample_weight=None) -> KKTGroups:
    """The training rows of a fitted `SVC` by their multipliers α (Karush, Kuhn, Tucker).

    α = 0: outside the margin, y f(x) >= 1; 0 < α < C: on it, y f(x) = 1; α = C: inside it or on the
    wrong side, y f(x) <= 1. All of it up to the tolerance of the fit.

    Parameters
    ----------
    machine : SVC
        A fitted machine.
    y : array-like of shape (n_samples,)
        The labels that it was fitted to.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights that it was fitted with: factors of C. Rows without weight are in no group.

    Returns
    -------
    groups : KKTGroups
        Named tuple of ``outside``, ``on_margin`` and ``inside``: row numbers, ascending. With more
        than two classes each is a list of them, one for every pair of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import SVC, kkt_groups
    >>> X = np.array([[-3.0], [-1.0], [1.0], [3.0], [-0.5], [0.5]])
    >>> y = np.array([0, 0, 1, 1, 1, 0])
    >>> groups = kkt_groups(SVC(kernel="linear", C=10).fit(X, y), y)
    >>> groups.outside, groups.on_margin, groups.inside
    (array([0, 3]), array([1, 2]), array([4, 5]))
    """
    check_is_fitted(machine)
    if not hasattr(machine, "_pair_values") or not hasattr(machine, "C"):
        raise TypeError(f"kkt_groups needs a fitted SVC, got {type(machine).__name__}")
    y = _known_labels(machine, column_or_1d(y))
    n = machine.shape_fit_[0]
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if y.shape != (n,) or weights.shape != (n,):
        raise ValueError(f"y and sample_weight must be those of the {n} training rows")
    classes = machine.classes_
    codes = np.searchsorted(classes, y)
    bound = machine.C * machine.class_weight_[codes] * weights
    coefficients = machine._coefficients()
    groups: tuple[list, list, list] = ([], [], [])
    for a, b in combinations(range(len(classes)), 2):
        alpha = np.zeros(n)
        of_pair = np.where(codes[machine.support_] == a, coefficients[b - 1], coefficients[a])
        alpha[machine.support_] = np.abs(of_pair)
        member = ((codes == a) | (codes == b)) & (weights > 0)
        full = alpha >= bound * (1.0 - 1e-12)
        groups[0].append(np.flatnonzero(member & (alpha == 0.0)))
        groups[1].append(np.flatnonzero(member & (alpha > 0.0) & ~full))
        groups[2].append(np.flatnonzero(member & (alpha > 0.0) & full))
    if len(classes) == 2:
        return KKTGroups(*(group[0] for group in groups))
    return KKTGroups(*groups)
