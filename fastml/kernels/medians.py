"""k-medians: nearest centres in the Manhattan distance, and coordinate medians of clusters.

Both work on blocks: `label_rows` on chunks of rows, `cluster_medians` on one cluster and feature at
a time. The weighted median is the value at which half of the weight is reached, or the middle of
two values if it is reached exactly between them; equal weights give the ordinary median.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _label_chunk(start, stop, X, panel, labels, distances):
    d, k = panel.shape
    sums = np.empty(k)
    for i in range(start, stop):
        for c in range(k):
            sums[c] = 0.0
        for f in range(d):
            x = np.float64(X[i, f])
            for c in range(k):
                sums[c] += abs(x - panel[f, c])
        best = 0
        for c in range(1, k):
            if sums[c] < sums[best]:
                best = c
        labels[i] = best
        distances[i] = sums[best]


@parallel_kernel
def label_rows(n_rows, X, panel, labels, distances):
    """Nearest centre (the first of equals) of each row, and its distance; panel is (d, k)."""
    n = X.shape[0]
    for c in prange((n + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _label_chunk(start, min(start + n_rows, n), X, panel, labels, distances)


@kernel
def weighted_median(values, weights, n):
    """Median of the first n values (n >= 1) with positive total weight."""
    order = np.argsort(values[:n])
    total = 0.0
    for i in range(n):
        total += weights[i]
    below = 0.0
    for i in range(n):
        below += weights[order[i]]
        if 2.0 * below > total:
            return values[order[i]]
        if 2.0 * below == total:
            j = i + 1
            while weights[order[j]] == 0.0:
                j += 1
            return 0.5 * (values[order[i]] + values[order[j]])
    return values[order[n - 1]]


@kernel
def _median_of(cluster, feature, X, weights, order, starts, out):
    first, last = starts[cluster], starts[cluster + 1]
    values = np.empty(last - first)
    own = np.empty(last - first)
    total = 0.0
    for i in range(first, last):
        values[i - first] = X[order[i], feature]
        own[i - first] = weights[order[i]]
        total += weights[order[i]]
    if total > 0.0:
        out[cluster, feature] = weighted_median(values, own, last - first)


@parallel_kernel
def cluster_medians(X, weights, order, starts, out):
    """out[c] = coordinate medians of the rows order[starts[c]..]; a weightless cluster stays."""
    k, d = out.shape
    for task in prange(k * d):
        t = np.intp(task)
        _median_of(t // d, t % d, X, weights, order, starts, out)
