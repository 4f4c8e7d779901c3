"""Rows that a tree did not see: the score after every tree, importance by shuffled columns."""

from __future__ import annotations

from warnings import warn

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state

from fastml._threads import effective_n_threads


def _rows_out(forest, t: int):
    """Rows that tree t did not see."""
    out = np.ones(forest._n_samples, bool)
    out[forest._draws(forest._seeds[t])] = False
    return np.flatnonzero(out)


class OutOfBag:
    """Sums of the predictions for rows that a tree did not see; the score after every tree."""

    def __init__(self, forest, X, y):
        self.forest, self.X, self.y = forest, X, y
        self.sums = np.zeros((X.shape[0], forest._trees.table.shape[1]))
        self.seen = np.zeros(X.shape[0], np.int64)
        self.curve: list[float] = []
        self.n_trees = 0

    def __getstate__(self):
        return None

    def is_of(self, X, y, n_trees) -> bool:
        """Whether these are the sums of so many trees for the same rows."""
        return (
            self.n_trees == n_trees
            and np.array_equal(self.X, X, equal_nan=True)
            and np.array_equal(self.y, y)
        )

    def add(self, first, last):
        forest = self.forest
        for t in range(first, last):
            rows = _rows_out(forest, t)
            if len(rows):
                n_threads = effective_n_threads(forest.n_jobs, len(rows) * 100.0)
                self.sums[rows] += forest._trees.sum(self.X[rows], n_threads, t, t + 1)
                self.seen[rows] += 1
            self.curve.append(self._score())
        self.n_trees = last

    def _score(self):
        known = self.seen > 0
        if not known.any():
            return 0.0
        return self.forest._oob_value(self.y[known], self.sums[known], self.seen[known])

    def mean(self):
        """(n, columns), with a warning where no tree left a row out."""
        seen = self.seen
        if (seen == 0).any():
            warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                UserWarning,
                stacklevel=2,
            )
            seen = np.maximum(seen, 1)
        return self.sums / seen[:, None]


def permutation_importances(forest, X, y, score, n_repeats, random_state):
    """Mean over the trees of score out of bag less score with one column shuffled.

    ``score`` is a function of leaf values and targets. A column that a tree does not split by
    cannot change its score: it is skipped.
    """
    if not forest.bootstrap:
        raise ValueError("oob_permutation_importances needs out-of-bag rows: set bootstrap=True")
    if len(X) != forest._n_samples:
        raise ValueError(
            f"X must hold the {forest._n_samples} rows of the fit, it has {len(X)} rows"
        )
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}")
    check_consistent_length(X, y)
    generator = check_random_state(random_state)
    total, n_used = np.zeros(X.shape[1]), 0
    for t in range(len(forest._trees)):
        rows = _rows_out(forest, t)
        if not len(rows):
            continue
        n_used += 1
        n_threads = effective_n_threads(forest.n_jobs, len(rows) * 100.0)
        mine, truth = X[rows], y[rows]
        base = score(forest._trees.sum(mine, n_threads, t, t + 1), truth)
        used = np.unique(forest._trees.tree(t).feature)
        for f in used[used >= 0]:
            kept = mine[:, f].copy()
            for _ in range(n_repeats):
                mine[:, f] = generator.permutation(kept)
                total[f] += base - score(forest._trees.sum(mine, n_threads, t, t + 1), truth)
            mine[:, f] = kept
    return total / (max(n_used, 1) * n_repeats)
