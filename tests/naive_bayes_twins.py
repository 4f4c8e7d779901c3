"""Plain NumPy twins of the kernels in ``kernels/bayes``."""

import numpy as np


def moments_by_class(X, codes, weights, n_classes):
    """Weights, means and squares about them."""
    X = np.asarray(X, dtype=np.float64)
    counts = np.bincount(codes, weights=weights, minlength=n_classes).astype(float)
    means, squares = np.zeros((2, n_classes, X.shape[1]))
    for k in range(n_classes):
        w = weights[codes == k]
        if w.sum() > 0:
            means[k] = np.average(X[codes == k], axis=0, weights=w)
            squares[k] = w @ (X[codes == k] - means[k]) ** 2
    return counts, means, squares


def normal_scores(X, means, precisions, constants):
    off = np.asarray(X, dtype=np.float64)[:, None, :] - means
    return constants - 0.5 * (off**2 * precisions).sum(axis=2)


def sums_of_rows(dense, codes, weights, n_classes):
    sums = np.zeros((n_classes, dense.shape[1]))
    for row, k, w in zip(dense, codes, weights):
        sums[k] += w * row
    return sums
