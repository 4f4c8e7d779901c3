"""Trees whose impurity is the mean of a user's loss at the best constant; one node after the other.

Every cut takes two searches of the best constant, so that a node tries at most `MOST_CUTS` cuts of
a column, at about equal numbers of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.tree import Tree
from fastml._jit import jit_enabled
from fastml._threads import effective_n_threads
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.loss_split import best_constant, search_columns
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR, LEAF, MISSING_LEFT, NODE

MOST_CUTS = 255
COARSE, FINE = 1e-6, 1e-11
"""Width of the valley, as a share of the targets' range: for choosing a cut, for a leaf's value."""


def check_loss(loss) -> None:
    """Try the loss on one row; it must be compiled."""
    if jit_enabled() and not hasattr(loss, "py_func"):
        raise ValueError(
            f"criterion must be a name or a function compiled with numba.njit, got {loss!r}"
        )
    try:
        value = float(loss(1.0, 0.5))
    except Exception as error:
        raise ValueError(
            "criterion must be a name or a compiled function of two floats, (y, constant), that "
            f"returns the loss; calling it failed: {error}"
        ) from error
    if not np.isfinite(value):
        raise ValueError(f"criterion must return finite losses, got {value} at (1.0, 0.5)")


def grow_by_loss(
    X: NDArray, y: NDArray, weights: NDArray | None, loss, rules: GrowthRules, n_jobs=None
) -> Tree:
    """Grow a tree on float32 rows without missing values."""
    w = np.ones(len(y)) if weights is None else weights
    whole = float(w.sum())
    nodes: list[tuple[float, int, int]] = []  # threshold or value, right child, feature
    values, impurities, samples, leaf_weights = [], [], [], []
    pending: list[tuple[NDArray, int, int]] = [(np.flatnonzero(w > 0.0), 0, -1)]
    while pending:
        rows, depth, parent = pending.pop()
        here = len(nodes)
        if parent >= 0:
            threshold, _, feature = nodes[parent]
            nodes[parent] = threshold, here, feature
        own_y, own_w = y[rows], w[rows]
        span = float(np.ptp(own_y))
        centre, total = best_constant(
            loss, own_y, own_w, float(np.median(own_y)), _width(span), FINE * _width(span)
        )
        weight = float(own_w.sum())
        values.append(centre)
        impurities.append(total / weight)
        split = None
        if (
            depth < rules.max_depth
            and len(rows) >= max(rules.min_split, 2 * rules.min_leaf)
            and span > 0.0
        ):
            split = _best_split(X[rows], own_y, own_w, loss, centre, total, rules, n_jobs)
            if split is not None and (total - split[0]) / whole < rules.min_decrease - 1e-15:
                split = None
        if split is None:
            nodes.append((centre, -1, LEAF))
            samples.append(len(rows))
            leaf_weights.append(weight)
            continue
        _, feature, threshold = split
        goes_left = X[rows, feature] <= threshold
        flag = MISSING_LEFT if 2 * np.count_nonzero(goes_left) > len(rows) else 0
        nodes.append((threshold, -1, feature | flag))
        pending.append((rows[~goes_left], depth + 1, here))
        pending.append((rows[goes_left], depth + 1, -1))  # the next node
    made = np.zeros(len(nodes), NODE)
    for name, column in zip(("threshold", "right", "feature"), zip(*nodes)):
        made[name] = column
    inner = made["feature"] != LEAF
    return Tree(
        made,
        np.array(samples, np.int32),
        None if weights is None else np.array(leaf_weights),
        np.empty((0, 1)),
        n_features=X.shape[1],
        n_classes=[1],
        criterion=ABSOLUTE_ERROR,
        inner_values=np.array(values)[inner].reshape(-1, 1),
        stored_impurity=np.array(impurities),
    )


def _width(span: float) -> float:
    return span / 16.0 if span > 0.0 else 1.0


def _best_split(X, y, w, loss, centre, total, rules, n_jobs):
    """(loss of both sides, column, threshold), the first of equals; None if no cut is better."""
    n, d = X.shape
    orders = np.argsort(X, axis=0, kind="stable").T
    cuts, n_cuts = np.zeros((d, MOST_CUTS), np.intp), np.zeros(d, np.intp)
    for f in range(d):
        x = X[orders[f], f]
        places = np.flatnonzero(x[1:] > x[:-1]) + 1
        reached = np.cumsum(w[orders[f]])
        heavy = (reached[places - 1] >= rules.min_weight) & (
            reached[-1] - reached[places - 1] >= rules.min_weight
        )
        fits = (places >= rules.min_leaf) & (n - places >= rules.min_leaf)
        places = places[heavy & fits]
        if len(places) > MOST_CUTS:
            wanted = np.arange(1, MOST_CUTS + 1) * n // (MOST_CUTS + 1)
            at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
            places = np.unique(places[at])
        cuts[f, : len(places)] = places
        n_cuts[f] = len(places)
    found = np.full((d, 2), np.inf)
    width = _width(float(np.ptp(y)))
    n_threads = effective_n_threads(n_jobs, 100.0 * n * float(n_cuts.sum()))
    search_columns(
        loss, y[orders], w[orders], cuts, n_cuts, centre, width, COARSE * width, found,
        n_threads=min(n_threads, d),
    )  # fmt: skip
    best = int(found[:, 0].argmin())
    if not found[best, 0] < total * (1.0 - 1e-12):
        return None
    cut = cuts[best, int(found[best, 1])]
    low, high = (float(X[orders[best, i], best]) for i in (cut - 1, cut))
    threshold = low / 2.0 + high / 2.0
    return found[best, 0], best, low if not low <= threshold < high else threshold
