"""Parameters that say how a tree grows → numbers that the growers take; trees and forests."""

from __future__ import annotations

import functools
from math import ceil
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from fastml._engines.trees.grow import MAX_CATEGORIES
from fastml._sklearn import Interval, RealNotInt, StrOptions
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, ENTROPY, ERROR, GINI, POISSON, SQUARED_ERROR

CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "error": ERROR,
    "squared_error": SQUARED_ERROR,
    "friedman_mse": SQUARED_ERROR,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE_ERROR,
}
"""Friedman's improvement ranks splits as squared error does: they differ by a constant factor."""

GROWTH_CONSTRAINTS: dict = {
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_samples_split": [
        Interval(Integral, 2, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
    ],
    "min_samples_leaf": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="neither"),
    ],
    "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        StrOptions({"sqrt", "log2"}),
        None,
    ],
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "monotonic_cst": ["array-like", None],
}
"""Of the parameters that say how far a tree grows: single trees and forests have them."""


def seed_of(random_state) -> int:
    """What a tree makes of its ``random_state``.

    Seeding a generator takes as long as growing a small tree. Whole numbers give the same draw each
    time: it is remembered.
    """
    return _remembered_draw(random_state) if type(random_state) is int else _draw(random_state)


def _draw(random_state) -> int:
    return int(check_random_state(random_state).randint(0, 2**31 - 1))


_remembered_draw = functools.lru_cache(maxsize=256)(_draw)


def least_rows(min_samples_split, min_samples_leaf, n: int) -> tuple[int, int]:
    """Rows that a node needs to be split, and that a leaf needs."""
    leaf, split = min_samples_leaf, min_samples_split
    leaf = int(leaf if isinstance(leaf, Integral) else ceil(leaf * n))
    split = int(split if isinstance(split, Integral) else max(2, ceil(split * n)))
    return max(split, 2 * leaf), leaf


def columns_drawn(max_features, d: int) -> int:
    """How many columns a node looks at; more than there are means all."""
    if max_features is None:
        return d
    if max_features == "sqrt":
        return max(1, int(np.sqrt(d)))
    if max_features == "log2":
        return max(1, int(np.log2(d)))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * d))


def monotonic_signs(monotonic_cst, d: int, n_outputs: int, n_classes):
    """Constraints as -1, 0 or 1 per feature, checked; None without any."""
    if monotonic_cst is None:
        return None
    if n_outputs > 1:
        raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
    if n_classes is not None and n_classes[0] > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification"
        )
    signs = np.asarray(monotonic_cst)
    if signs.shape[0] != d:
        raise ValueError(
            f"monotonic_cst has shape {signs.shape[0]} but the input data X has {d} features."
        )
    if not np.all(np.isin(signs, (-1, 0, 1))):
        raise ValueError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1, but got {np.unique(signs)}"
        )
    return signs.astype(np.int8)


def categorical_mask(categorical_features, d: int, names) -> np.ndarray:
    """Which of the d columns are of categories."""
    if categorical_features is None:
        return np.zeros(d, bool)
    chosen = np.asarray(categorical_features)
    if chosen.dtype.kind in "OUS":
        if names is None:
            raise ValueError("categorical_features has names, but X has no column names")
        unknown = set(chosen.tolist()) - set(names.tolist())
        if unknown:
            raise ValueError(f"categorical_features has unknown names: {sorted(unknown)}")
        mask = np.isin(names, chosen)
    elif chosen.dtype == bool:
        if chosen.shape != (d,):
            raise ValueError(
                f"categorical_features as a mask must have shape ({d},), got {chosen.shape}"
            )
        mask = chosen
    else:
        if chosen.size and (chosen.min() < 0 or chosen.max() >= d):
            raise ValueError(
                f"categorical_features must be column indices in [0, {d}), got {chosen}"
            )
        mask = np.zeros(d, bool)
        mask[chosen.astype(np.intp)] = True
    return mask


def category_counts(categorical_features, X, names):
    """Number of codes per categorical column, 0 for the others; None without any."""
    d = X.shape[1]
    mask = categorical_mask(categorical_features, d, names)
    if not mask.any():
        return None
    counts = np.zeros(d, np.intp)
    for f in np.flatnonzero(mask):
        column = X[:, f][~np.isnan(X[:, f])]
        if np.any(column < 0) or np.any(column != np.floor(column)):
            raise ValueError(
                f"categorical column {f} must hold codes 0, 1, 2, ... (NaN for missing)"
            )
        counts[f] = 1 + int(column.max(initial=0))
        if counts[f] > MAX_CATEGORIES:
            raise ValueError(
                f"categorical column {f} has code {counts[f] - 1}; codes must be below "
                f"{MAX_CATEGORIES}"
            )
    return counts
