"""Splits by any loss L(y, c) that the user wrote and compiled: the impurity of rows is the mean
loss of their best constant.

The sum over rows of a loss that is convex in c has one valley: it is enclosed, then narrowed by
golden sections. Kernels that call the user's function are compiled for each anew and never cached
on disk: the cache would take two functions of one name for one.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

SMALLER_PART = 0.3819660112501051
"""Of a golden section."""

DOUBLINGS = 60
SECTIONS = 120


@kernel
def sample_impurity_loss(y, c):
    """Squared error (for warm-up and tests)."""
    return (y - c) ** 2


@kernel
def loss_at(loss, constant, y, weights):
    """Weighted sum of the losses of a constant."""
    total = 0.0
    for i in range(y.shape[0]):
        total += weights[i] * loss(y[i], constant)
    return total


@kernel
def best_constant(loss, y, weights, start, width, tolerance):
    """(constant, weighted loss): the bottom of the valley, searched from ``start`` by steps that
    begin with ``width``, to within ``tolerance``."""
    middle = start
    f_middle = loss_at(loss, middle, y, weights)
    low, high = middle - width, middle + width
    f_low, f_high = loss_at(loss, low, y, weights), loss_at(loss, high, y, weights)
    step = width
    for _ in range(DOUBLINGS):
        if f_high < f_middle:
            low, f_low = middle, f_middle
            middle, f_middle = high, f_high
            step *= 2.0
            high = middle + step
            f_high = loss_at(loss, high, y, weights)
        elif f_low < f_middle:
            high, f_high = middle, f_middle
            middle, f_middle = low, f_low
            step *= 2.0
            low = middle - step
            f_low = loss_at(loss, low, y, weights)
        else:
            break
    for _ in range(SECTIONS):
        if high - low <= tolerance:
            break
        if high - middle > middle - low:
            new = middle + SMALLER_PART * (high - middle)
            f_new = loss_at(loss, new, y, weights)
            if f_new < f_middle:
                low, f_low = middle, f_middle
                middle, f_middle = new, f_new
            else:
                high, f_high = new, f_new
        else:
            new = middle - SMALLER_PART * (middle - low)
            f_new = loss_at(loss, new, y, weights)
            if f_new < f_middle:
                high, f_high = middle, f_middle
                middle, f_middle = new, f_new
            else:
                low, f_low = new, f_new
    return middle, f_middle


@kernel
def search_cuts(loss, y, weights, cuts, start, width, tolerance):
    """(least loss of both sides, its place among ``cuts``) of rows that lie in the order of a
    column; a cut is the number of rows on its left. The first of equals; -1 without any."""
    best, place = np.inf, -1
    left, right = start, start
    for at in range(cuts.shape[0]):
        cut = cuts[at]
        left, below = best_constant(loss, y[:cut], weights[:cut], left, width, tolerance)
        right, above = best_constant(loss, y[cut:], weights[cut:], right, width, tolerance)
        if below + above < best:
            best, place = below + above, at
    return best, place


@parallel_kernel
def search_columns(loss, y, weights, cuts, n_cuts, start, width, tolerance, found):
    """Write (loss, place of the cut) of every column to ``found``; see `search_cuts`.

    ``y``, ``weights`` and ``cuts`` have a row per column.
    """
    for f in prange(y.shape[0]):
        total, place = search_cuts(
            loss, y[f], weights[f], cuts[f, : n_cuts[f]], start, width, tolerance
        )
        found[f, 0] = total
        found[f, 1] = place


for _each in (
    loss_at,
    best_constant,
    search_cuts,
    search_columns.parallel,
    search_columns.serial,
):
    if hasattr(_each, "_cache"):
        _each._cache.disable()
