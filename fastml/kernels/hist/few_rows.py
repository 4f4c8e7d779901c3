"""Sums of trees on a few rows that are not binned: one serial walk, made for a short call.

A node is a number and a 64-bit word: left child (32 bits; 0: a leaf), column (24), whether missing
values go left, whether the split is by a set. The number is the threshold of a split, the place of
its set, or the value of a leaf. The right child is the left one's neighbour.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import exp64

COLUMN_SHIFT, COLUMN_MASK = np.uint64(32), np.uint64((1 << 24) - 1)
LEFT_MASK = np.uint64((1 << 32) - 1)
LOST_LEFT, BY_SET = np.uint64(1 << 56), np.uint64(1 << 57)


@kernel
def goes_right(x, word, number, sets, n_categories, missing_code):
    """Whether value ``x`` goes right at a split; ``n_categories`` are those of its column.

    A category that is none is ``missing_code``, which the set holds if missing values go left.
    """
    if word & BY_SET:
        known = x >= 0.0 and x < n_categories
        code = np.uint64(x) if known else np.uint64(missing_code)
        members = sets[np.uint64(number), code >> np.uint64(6)]
        return not (members >> (code & np.uint64(63))) & np.uint64(1)
    if x != x:
        return not word & LOST_LEFT
    return x > number


@kernel
def add_walks(X, n_categories, missing_code, roots, words, numbers, sets, out):
    """out[i, t mod K] += the value that tree t gives row i of ``X``; ``out`` has K columns."""
    one = np.uint64(1)
    for i in range(X.shape[0]):
        for t in range(roots.shape[0]):
            node = np.uint64(roots[t])
            word = words[node]
            while word & LEFT_MASK:
                j = (word >> COLUMN_SHIFT) & COLUMN_MASK
                right = goes_right(
                    X[i, j], word, numbers[node], sets, n_categories[j], missing_code
                )
                node = (word & LEFT_MASK) + (one if right else np.uint64(0))
                word = words[node]
            out[i, t % out.shape[1]] += numbers[node]


@kernel
def sigmoid(raw, slope):
    """1 / (1 + exp(-slope raw))."""
    return 1.0 / (1.0 + exp64(-slope * raw))


@kernel
def sigmoids(raw, slope, out):
    """``out`` = the sigmoid of every entry of ``raw``."""
    for i in range(raw.shape[0]):
        for k in range(raw.shape[1]):
            out[i, k] = sigmoid(raw[i, k], slope)


@kernel
def two_classes(raw, slope, out):
    """out[i] = (1 - p, p), p the sigmoid of raw[i, 0]."""
    for i in range(raw.shape[0]):
        p = sigmoid(raw[i, 0], slope)
        out[i, 0] = 1.0 - p
        out[i, 1] = p
