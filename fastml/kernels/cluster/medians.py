"""k-medians: nearest centres in the Manhattan distance, and coordinate medians of clusters.

Both work on blocks: `label_rows` on chunks of rows, `cluster_medians` on one cluster and feature at
a time. The weighted median is the value at which half of the weight is reached, or the middle of
two values if it is reached exactly between them; equal weights give the ordinary median.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _label_chunk(start, stop, X, panel, labels, distances):
    """`label_rows` for rows start..stop."""
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
    """Write the nearest centre of each row, the first of equals, to ``labels``, and how far it is
    to ``distances``.

    ``panel`` (d, k) holds the centres; a chunk has ``n_rows`` rows.
    """
    n = X.shape[0]
    for c in prange((n + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _label_chunk(start, min(start + n_rows, n), X, panel, labels, distances)


@kernel
def _middle(a, b, c):
    """Return the middle one of three values."""
    if a > b:
        a, b = b, a
    return max(a, min(b, c))


@kernel
def weighted_median(values, weights):
    """Return the median of ``values`` under ``weights``, of which at least one is positive; both
    arrays are reordered.

    Quickselect: the part in which half of the weight is reached is cut in three by a pivot, until
    it consists of values equal to the pivot.
    """
    total = weights.sum()
    before = 0.0  # the weight to the left of the part; less than half
    first, last = 0, values.shape[0]
    median = values[0]
    while first < last:
        pivot = _middle(values[first], values[(first + last) // 2], values[last - 1])
        less, equal = 0.0, 0.0
        start, stop, i = first, last, first
        while i < stop:
            value, weight = values[i], weights[i]
            if value > pivot:
                stop -= 1
                values[i], weights[i] = values[stop], weights[stop]
                values[stop], weights[stop] = value, weight
                continue
            if value < pivot:
                less += weight
                values[i], weights[i] = values[start], weights[start]
                values[start], weights[start] = value, weight
                start += 1
            else:
                equal += weight
            i += 1
        if 2.0 * (before + less) >= total:
            last = start
            continue
        before += less + equal
        if equal > 0.0:
            median = pivot
        if 2.0 * before >= total:
            break
        first = stop
    if 2.0 * before != total:
        return median
    following = np.inf
    for i in range(values.shape[0]):
        if weights[i] > 0.0 and median < values[i] < following:
            following = values[i]
    return 0.5 * (median + following)


@kernel
def _median_of(cluster, feature, X, weights, order, starts, out):
    """`cluster_medians` for one cluster and feature."""
    first, last = starts[cluster], starts[cluster + 1]
    values = np.empty(last - first)
    own = np.empty(last - first)
    total = 0.0
    for i in range(first, last):
        values[i - first] = X[order[i], feature]
        own[i - first] = weights[order[i]]
        total += weights[order[i]]
    if total > 0.0:
        out[cluster, feature] = weighted_median(values, own)


@parallel_kernel
def cluster_medians(X, weights, order, starts, out):
    """Write the coordinate medians of the rows order[starts[c] : starts[c + 1]] to ``out[c]``.

    A cluster without weight stays as it is.
    """
    k, d = out.shape
    for task in prange(k * d):
        t = np.intp(task)
        _median_of(t // d, t % d, X, weights, order, starts, out)
