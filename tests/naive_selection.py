"""Plain NumPy twins of the kernels that score columns."""

import numpy as np


def moments_of_groups(X, codes, n_groups):
    """(rows, means, squares about them) by group."""
    counts = np.bincount(codes, minlength=n_groups).astype(float)
    means, squares = np.zeros((2, n_groups, X.shape[1]))
    for k in np.flatnonzero(counts):
        mine = X[codes == k].astype(float)
        means[k] = mine.mean(axis=0)
        squares[k] = ((mine - mine.mean(axis=0)) ** 2).sum(axis=0)
    return counts, means, squares


def closer(x, i, reach):
    """How many values are less than reach away from that of row i; equal ones always."""
    off = np.abs(x - x[i])
    return int(((off < reach) | (off == 0.0)).sum())


def class_sum(x, codes, k, table):
    total = 0.0
    for i in range(len(x)):
        own = np.sort(np.abs(x[codes == codes[i]] - x[i]))
        total += table[closer(x, i, own[min(k, len(own) - 1)])]
    return total
