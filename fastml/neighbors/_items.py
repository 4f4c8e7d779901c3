"""Training points that are no numbers: Python sets, strings, columns of text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from fastml._engines.distances.named import holds_sets, matrix_of_sets

SETS, STRINGS, TEXT = "sets", "strings", "text"


def kind_of_items(X, metric) -> str | None:
    """What X holds where the metric takes it; None of numbers, which most estimators are given.

    Sets by 'jaccard' or a function, strings by a function, columns of text by 'hamming'.
    """
    if (metric == "jaccard" or callable(metric)) and holds_sets(X):
        return SETS
    if not callable(metric) and metric != "hamming":
        return None
    if hasattr(X, "to_numpy") and getattr(X, "ndim", 2) == 2 and hasattr(X, "columns"):
        array = X.to_numpy()
    elif isinstance(X, list | tuple | np.ndarray):
        array = X if isinstance(X, np.ndarray) else _as_array(X)
    else:
        return None
    if array.dtype.kind not in "OU":
        return None
    if callable(metric):
        strings = array.ndim == 1 and all(isinstance(each, str) for each in array)
        return STRINGS if strings and len(array) else None
    text = array.ndim == 2 and any(isinstance(each, str) for each in array.ravel())
    return TEXT if text else None


def _as_array(X) -> NDArray:
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        return np.empty(0)
    return np.array(X, dtype=object) if array.dtype.kind == "U" and array.ndim == 2 else array


def items_of(X, kind: str, width: int | None = None) -> NDArray:
    """Items as an array of objects, one row each; ``width`` is that of the training points."""
    if kind == TEXT:
        rows = X.to_numpy() if hasattr(X, "to_numpy") else X
        rows = check_array(rows, dtype=object, ensure_all_finite=False)
        if width is not None and rows.shape[1] != width:
            raise ValueError(f"X has {rows.shape[1]} features, expected {width}")
        return rows
    if isinstance(X, str) or not hasattr(X, "__len__"):
        raise ValueError(f"expected a list of {kind}, got {type(X).__name__}")
    wanted = str if kind == STRINGS else (set, frozenset)
    rows = np.empty((len(X), 1), dtype=object)
    for i, item in enumerate(X):
        if not isinstance(item, wanted):
            raise ValueError(f"expected {kind}, got {type(item).__name__}")
        rows[i, 0] = item
    if not len(rows):
        raise ValueError(f"Found array with 0 sample(s): expected {kind}")
    return rows


def item_distances(X: NDArray, Y: NDArray, kind: str, metric, n_jobs, parameters) -> NDArray:
    """Of all pairs of rows of `items_of`."""
    if kind == TEXT:
        from fastml.metrics import pairwise_distances

        return pairwise_distances(X, Y, metric="hamming", n_jobs=n_jobs, **parameters)
    if metric == "jaccard":
        return matrix_of_sets(X[:, 0], Y[:, 0], n_jobs=n_jobs, **parameters)
    return np.array(
        [[metric(x, y, **parameters) for y in Y[:, 0]] for x in X[:, 0]], dtype=np.float64
    )
