"""What a forest knows of rows beyond means: quantiles from leaves, importance out of bag."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.forest_quantiles import leaf_quantiles
from fastml.kernels.tree_nodes import LEAF

ROWS_AT_ONCE = 1 << 14


def quantiles_of_leaves(forest, X, quantiles):
    """(n_rows, n_quantiles) of the training targets in the leaves of every row."""
    trees = forest._trees
    order = np.argsort(forest._y, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    draws = []
    for t, rows in enumerate(forest._rows_by_leaf):
        if forest.bootstrap:
            draws.append(np.bincount(forest._draws(forest._seeds[t]), minlength=len(rank))[rows])
        elif forest._sample_weight is not None:
            draws.append(forest._sample_weight[rows])
        else:
            draws.append(np.ones(len(rows)))
    starts = np.concatenate([[0], np.cumsum(trees.leaf_samples, dtype=np.int64)])
    leaf_number = np.cumsum(trees.nodes["feature"] == LEAF) - 1
    largest = [
        int(trees.leaf_samples[trees.leaf_starts[t] : trees.leaf_starts[t + 1]].max())
        for t in range(len(trees))
    ]
    most = int(np.sum(largest))
    out = np.empty((len(X), len(quantiles)))
    ranks = kernel_view(rank[np.concatenate(forest._rows_by_leaf)])
    weights = kernel_view(np.concatenate(draws), np.float64)
    per_row = 20.0 * most
    n_threads = effective_n_threads(forest.n_jobs, len(X) * per_row)
    for first in range(0, len(X), ROWS_AT_ONCE):
        block = X[first : first + ROWS_AT_ONCE]
        leaves = trees.packed().apply(block, n_threads) + trees.starts[:-1]
        leaf_quantiles(
            kernel_view(leaf_number[leaves]),
            kernel_view(starts),
            most,
            ranks,
            weights,
            kernel_view(forest._y[order]),
            kernel_view(quantiles),
            out[first : first + ROWS_AT_ONCE],
            chunk_rows(len(block), per_row),
            n_threads=n_threads,
        )
    return out


def permutation_importances(forest, X, score, n_repeats, random_state):
    """Mean over the trees of score out of bag less score with one column shuffled.

    A column that a tree does not split by cannot change its score: it is skipped.
    """
    if not forest.bootstrap:
        raise ValueError("oob_permutation_importances needs out-of-bag rows: set bootstrap=True")
    if len(X) != forest._n_samples:
        raise ValueError(
            f"X must hold the {forest._n_samples} rows of the fit, it has {len(X)} rows"
        )
    generator = check_random_state(random_state)
    total, n_used = np.zeros(X.shape[1]), 0
    for t, seed in enumerate(forest._seeds):
        out = np.ones(len(X), bool)
        out[forest._draws(seed)] = False
        rows = np.flatnonzero(out)
        if not len(rows):
            continue
        n_used += 1
        n_threads = effective_n_threads(forest.n_jobs, len(rows) * 100.0)
        mine = X[rows]
        base = score(forest._trees.sum(mine, n_threads, t, t + 1), rows)
        used = np.unique(forest._trees.tree(t).feature)
        for f in used[used >= 0]:
            kept = mine[:, f].copy()
            for _ in range(n_repeats):
                mine[:, f] = generator.permutation(kept)
                total[f] += base - score(forest._trees.sum(mine, n_threads, t, t + 1), rows)
            mine[:, f] = kept
    return total / (max(n_used, 1) * n_repeats)
