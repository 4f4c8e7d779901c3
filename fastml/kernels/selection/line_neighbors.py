"""Neighbours of numbers on a line: how many others are closer than the k-th of the own class."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

LEAST_POSITIVE = 5e-324


@kernel
def _closer(values, at, reach):
    """How many of the sorted ``values`` are less than ``reach`` from the one at ``at``, itself
    included; equal ones always count."""
    mid = values[at]
    if reach < LEAST_POSITIVE:
        reach = LEAST_POSITIVE
    step = 1
    while at - step >= 0 and mid - values[at - step] < reach:
        step *= 2
    low, high = max(at - step, -1), at - step // 2  # outside, inside
    while high - low > 1:
        middle = (low + high) // 2
        if mid - values[middle] < reach:
            high = middle
        else:
            low = middle
    first = high
    n = values.shape[0]
    step = 1
    while at + step < n and values[at + step] - mid < reach:
        step *= 2
    low, high = at + step // 2, min(at + step, n)  # inside, outside
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] - mid < reach:
            low = middle
        else:
            high = middle
    return low - first + 1


@kernel
def _class_sum(order, x, codes, starts, n_neighbors, table):
    """Sum of ``table``[m] over the rows: m values are closer to a row's than its k-th neighbour
    among the rows of its class is. ``starts`` are the classes' first places."""
    n = order.shape[0]
    values = np.empty(n)
    places = np.empty(n, dtype=np.intp)
    ends = starts[:-1].copy()
    for r in range(n):
        row = order[r]
        values[r] = x[row]
        c = codes[row]
        places[ends[c]] = r
        ends[c] += 1
    total = 0.0
    for c in range(starts.shape[0] - 1):
        last = starts[c + 1]
        k = min(n_neighbors, last - starts[c] - 1)
        low = starts[c]
        for i in range(starts[c], last):
            mid = values[places[i]]
            if low < i - k:
                low = i - k
            while (
                low + k + 1 < last and values[places[low + k + 1]] - mid < mid - values[places[low]]
            ):
                low += 1
            reach = max(mid - values[places[low]], values[places[low + k]] - mid)
            total += table[_closer(values, places[i], reach)]
    return total


@parallel_kernel
def class_neighbor_sums(orders, columns, codes, starts, n_neighbors, table, sums):
    """Write ``sums``: `_class_sum` of every row of ``columns``, whose sorted order is ``orders``'s.

    ``codes`` are the rows' classes, ``table`` the value of each count.
    """
    for f in prange(columns.shape[0]):
        sums[f] = _class_sum(orders[f], columns[f], codes, starts, n_neighbors, table)


@kernel
def _reach_sum(order, x, reaches, table):
    """Sum of ``table``[m] over the rows: m values are closer than the row's reach."""
    n = order.shape[0]
    values = np.empty(n)
    for r in range(n):
        values[r] = x[order[r]]
    total = 0.0
    for r in range(n):
        total += table[_closer(values, r, reaches[order[r]])]
    return total


@parallel_kernel
def reach_sums(orders, columns, which, reaches, table, sums):
    """Write ``sums``[t] of task t: column ``which``[t] with the row's ``reaches``[t]."""
    for t in prange(which.shape[0]):
        sums[t] = _reach_sum(orders[which[t]], columns[which[t]], reaches[t], table)
