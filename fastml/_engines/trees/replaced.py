"""What trees say if columns had other values: for permutation importance and partial dependence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.packed import STEP, Forest
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.forest.replaced import Replacements, sums_if_replaced

CELLS_PER_CHUNK = 1 << 16
"""Sums, or keys, of a chunk of rows that stay in the cache beside a tree."""


def can_replace(forest: Forest, n_features: int) -> bool:
    """Whether the trees can be packed into words: no categories, not too many columns and nodes."""
    return forest.word_shift(n_features) is not None


def replaced_sums(
    forest: Forest, X: NDArray, other: NDArray, source: NDArray, groups: list, n_jobs=None
) -> Iterator[NDArray]:
    """For each group of columns (repeats, rows, columns): sums of leaf values over the trees, where
    row i of repeat r has the group's columns of row ``source[r, i]`` of ``other``.

    Groups are worked on as many at a time as scikit-learn's ``working_memory`` holds.
    """
    from sklearn import get_config

    X, other = kernel_view(X, np.float32), kernel_view(other, np.float32)
    source = kernel_view(source, np.intp)
    n_repeats, n = source.shape
    width = 2 * X.shape[1]
    n_threads = effective_n_threads(n_jobs, STEP * n * n_repeats * len(forest.starts))
    trees = forest.in_words(X, other, n_threads)
    cells = n_repeats * n * forest.n_columns
    at_once = max(1, int(get_config()["working_memory"] * 2**20 // max(8 * cells, 1)))
    for first in range(0, len(groups), at_once):
        block = groups[first : first + at_once]
        group = np.full(X.shape[1], -1, np.intp)
        for g, columns in enumerate(block):
            group[columns] = g
        n_ways = len(block) * n_repeats
        out = np.zeros((n_ways, n, forest.n_columns))
        per_row = max(n_ways * forest.n_columns, (1 + n_repeats) * width)
        rows = max(16, CELLS_PER_CHUNK // per_row)
        replacements = Replacements(X, other, source, kernel_view(group))
        sums_if_replaced(trees, replacements, rows, out, n_threads=n_threads)
        for g in range(len(block)):
            yield out[g * n_repeats : (g + 1) * n_repeats]
