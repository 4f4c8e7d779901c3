"""Distinct values of a column in order (levels), and ranks by them.

``order`` lists rows by their values; those of level l stand at ``starts[l]`` up to
``starts[l + 1]``.
"""

import numpy as np

from fastml._jit import kernel


@kernel
def levels_of_sorted(values, order, levels, starts, codes):
    """Find the runs of equal ``values``, which ascend; return how many there are.

    Writes each run's value to ``levels``, its first place and at last the number of values to
    ``starts``, and the run of row ``order[k]`` to ``codes``.
    """
    n = values.shape[0]
    found = 0
    for k in range(n):
        if k == 0 or values[k] != values[k - 1]:
            levels[found] = values[k]
            starts[found] = k
            found += 1
        codes[order[k]] = found - 1
    starts[found] = n
    return found


@kernel
def subset_ranks(order, starts, chosen, ranks):
    """Rank the ``chosen`` rows; return (how many, Σ t³ − t over ties of t).

    Writes ranks from 1 on, means among ties, to ``ranks``; those of other rows stay as they are.
    """
    seen = 0
    ties = 0.0
    for level in range(starts.shape[0] - 1):
        first, last = starts[level], starts[level + 1]
        if last - first == 1:
            row = order[first]
            if chosen[row]:
                seen += 1
                ranks[row] = seen
            continue
        size = 0
        for k in range(first, last):
            size += np.intp(chosen[order[k]])
        rank = seen + 0.5 * (size + 1)
        for k in range(first, last):
            row = order[k]
            if chosen[row]:
                ranks[row] = rank
        seen += size
        ties += np.float64(size) ** 3 - size
    return seen, ties


@kernel
def ranked_products(order, starts, other, centre):
    """Return sums of squares and of products of two columns' ranks − ``centre``.

    Of the column of ``order`` and ``starts``, among the rows that have a rank in ``other``, which
    is 0 where there is none.
    """
    seen = 0
    xx, yy, xy = 0.0, 0.0, 0.0
    for level in range(starts.shape[0] - 1):
        first, last = starts[level], starts[level + 1]
        size = 0
        total = 0.0
        for k in range(first, last):
            y = other[order[k]]
            if y > 0.0:
                size += 1
                total += y - centre
                yy += (y - centre) * (y - centre)
        x = seen + 0.5 * (size + 1) - centre
        seen += size
        xx += size * x * x
        xy += x * total
    return xx, yy, xy


@kernel
def median_deviation(levels, starts, centre):
    """Return the median of \\|level − centre\\| over all rows; the mean of the middle two."""
    n_levels = starts.shape[0] - 1
    n = starts[n_levels]
    right = 0
    while right < n_levels and levels[right] < centre:
        right += 1
    left = right - 1
    seen = 0
    found = 0.0
    low = 0.0
    while seen <= n // 2:
        if left < 0 or (right < n_levels and levels[right] - centre <= centre - levels[left]):
            found = levels[right] - centre
            step = starts[right + 1] - starts[right]
            right += 1
        else:
            found = centre - levels[left]
            step = starts[left + 1] - starts[left]
            left -= 1
        if seen <= (n - 1) // 2:
            low = found
        seen += step
    return 0.5 * (low + found)
