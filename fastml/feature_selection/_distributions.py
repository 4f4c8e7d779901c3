"""How far a column's distribution differs between classes."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions, validate_params
from fastml._validation import check_X_y

CHECKS = {
    "X": ["array-like"],
    "y": ["array-like"],
    "bins": [Interval(Integral, 1, None, closed="left"), StrOptions({"values"}), "array-like"],
}


def _tables(X, y, bins) -> list[NDArray]:
    """For every column, counts by interval or value (rows) and class (columns)."""
    classes, codes = np.unique(y, return_inverse=True)
    found = []
    for j in range(X.shape[1]):
        x = X[:, j]
        if isinstance(bins, str):
            values, cells = np.unique(x, return_inverse=True)
            n_cells = len(values)
        else:
            edges = np.histogram_bin_edges(x, bins)
            n_cells = len(edges) - 1
            cells = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, n_cells - 1)
        table = np.bincount(cells * len(classes) + codes, minlength=n_cells * len(classes))
        found.append(table.reshape(n_cells, len(classes)))
    return found


def _checked(X, y) -> tuple[NDArray, NDArray]:
    from sklearn.utils.multiclass import check_classification_targets

    X, y = check_X_y(X, y, dtype=(np.float64, np.float32))
    check_classification_targets(y)
    return X, y


@validate_params(CHECKS, prefer_skip_nested_validation=True)
def total_variation(X, y, *, bins=10):
    """Total variation between the distributions of a column in two classes.

    .. math:: TV_j = \\frac12 \\int |p(x_j \\mid 1) - p(x_j \\mid 0)| \\, dx_j

    from histograms: 0 if they are equal, 1 if they do not overlap. (Some texts leave the ½ out.)
    Of more than two classes, the largest of each against all others.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    bins : int, "values" or array-like, default=10
        Number of equal intervals of a column's range, edges, or every value by itself.

    Returns
    -------
    variation : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import total_variation
    >>> total_variation([[0, 3], [0, 3], [1, 3], [1, 3]], [0, 0, 1, 1], bins="values")
    array([1., 0.])
    """
    X, y = _checked(X, y)
    found = []
    for table in _tables(X, y, bins):
        counts = table.sum(axis=0)
        rest = table.sum(axis=1, keepdims=True) - table
        others = np.maximum(counts.sum() - counts, 1)
        found.append(0.5 * np.abs(table / counts - rest / others).sum(axis=0).max())
    return np.array(found)


@validate_params(CHECKS, prefer_skip_nested_validation=True)
def information_gain(X, y, *, bins="values"):
    """How much a column's value, or interval, lowers the entropy of the labels.

    .. math:: G_j = H(y) - \\sum_v p(x_j = v) \\, H(y \\mid x_j = v)

    in nats: never below 0, never above the entropy of the labels or of the column.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels.
    bins : int, "values" or array-like, default="values"
        Number of equal intervals of a column's range, edges, or every value by itself.

    Returns
    -------
    gain : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.feature_selection import information_gain
    >>> information_gain([[0, 3], [0, 3], [1, 3], [1, 3]], [0, 0, 1, 1]).round(4)
    array([0.6931, 0.    ])
    """
    from fastml.information import mutual_information

    X, y = _checked(X, y)
    return np.array(
        [float(mutual_information(table, normalise=True)) for table in _tables(X, y, bins)]
    )
