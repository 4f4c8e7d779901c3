"""Bootstrap of a statistic: rows are never copied, a resample is how often each unit was drawn.

Units (rows, or groups of rows) lie stratum by stratum; from a stratum as many are drawn as it has.
What a statistic needs of a resample is a weighted sum, a table of counts, or one pass over the rows
in the order of their scores, which all resamples share. Resample b has the random stream b of the
seed: neither chunks nor threads nor other statistics change it.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.rng import GOLDEN, mix64

LOW_HALF = np.uint64(0xFFFFFFFF)
UPPER_HALF = np.uint64(32)


class Draws(NamedTuple):
    """What is drawn from."""

    seed: int  # uint64
    starts: np.ndarray  # (strata + 1,) stratum s has units starts[s]:starts[s + 1]
    unit: np.ndarray  # (rows,) int32, the unit of a row


class Ranking(NamedTuple):
    """Rows of two classes by falling score."""

    unit: np.ndarray  # int32
    positive: np.ndarray  # weight if of the positive class, else 0
    negative: np.ndarray
    last: np.ndarray  # whether the next row has another score


@kernel
def draw_counts(seed, starts, task, counts):
    """Write how often resample ``task`` has each unit to ``counts``; Lemire's multiplication (2019)
    on the upper halves of SplitMix64's numbers."""
    counts[:] = 0
    first = mix64(seed + mix64(np.uint64(task) + GOLDEN))
    drawn = np.uint64(1)
    for s in range(starts.shape[0] - 1):
        start, size = starts[s], np.uint64(starts[s + 1] - starts[s])
        if size == np.uint64(0):
            continue
        uneven = (np.uint64(0x100000000) - size) % size
        for _ in range(size):
            bits = mix64(first + drawn * GOLDEN)
            drawn += np.uint64(1)
            product = (bits >> UPPER_HALF) * size
            while (product & LOW_HALF) < uneven:
                bits = mix64(bits + GOLDEN)
                product = (bits >> UPPER_HALF) * size
            counts[start + np.intp(product >> UPPER_HALF)] += 1


@kernel
def _sums_chunk(draws, values, first, out):
    """`sums_of_resamples` of resamples ``first``, ``first + 1``, …: writes to ``out``."""
    counts = np.empty(draws.starts[-1], np.int32)
    unit = draws.unit
    for b in range(out.shape[0]):
        draw_counts(draws.seed, draws.starts, first + b, counts)
        out[b] = 0.0
        for i in range(values.shape[0]):
            times = counts[unit[i]]
            if times > 0:
                for j in range(values.shape[1]):
                    out[b, j] += times * values[i, j]


@parallel_kernel
def sums_of_resamples(draws, values, per_chunk, out):
    """Write the sum over the rows of resample b of values[:, j] to out[b, j]."""
    for c in prange((out.shape[0] + per_chunk - 1) // per_chunk):
        first = np.intp(c) * per_chunk
        _sums_chunk(draws, values, first, out[first : first + per_chunk])


@kernel
def _cells_chunk(draws, cells, weights, first, out):
    """`cells_of_resamples` of resamples ``first``, ``first + 1``, …: writes to ``out``."""
    counts = np.empty(draws.starts[-1], np.int32)
    unit = draws.unit
    for b in range(out.shape[0]):
        draw_counts(draws.seed, draws.starts, first + b, counts)
        out[b] = 0.0
        for i in range(cells.shape[0]):
            out[b, cells[i]] += counts[unit[i]] * weights[i]


@parallel_kernel
def cells_of_resamples(draws, cells, weights, per_chunk, out):
    """Write the weight of the rows of resample b that are in cell k to out[b, k]."""
    for c in prange((out.shape[0] + per_chunk - 1) // per_chunk):
        first = np.intp(c) * per_chunk
        _cells_chunk(draws, cells, weights, first, out[first : first + per_chunk])


@kernel
def area_of_ranking(ranking, counts, precision):
    """The area under the ROC curve, or with ``precision`` the average precision, of rows that
    occur ``counts[unit]`` times; NaN where a class it needs is missing."""
    unit, positive, negative, last = ranking
    above, below, area, ties, ties_below = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(unit.shape[0]):
        times = counts[unit[i]]
        ties += times * positive[i]
        ties_below += times * negative[i]
        if last[i]:
            if precision:
                if ties > 0.0:
                    above += ties
                    area += ties * above / (above + below + ties_below)
            else:
                area += ties_below * (above + 0.5 * ties)
                above += ties
            below += ties_below
            ties, ties_below = 0.0, 0.0
    whole = above if precision else above * below
    return area / whole if whole > 0.0 else np.nan


@kernel
def _areas_chunk(draws, ranking, precision, first, out):
    """`areas_of_resamples` of resamples ``first``, ``first + 1``, …: writes to ``out``."""
    counts = np.empty(draws.starts[-1], np.int32)
    for b in range(out.shape[0]):
        draw_counts(draws.seed, draws.starts, first + b, counts)
        out[b] = area_of_ranking(ranking, counts, precision)


@parallel_kernel
def areas_of_resamples(draws, ranking, precision, per_chunk, out):
    """Write `area_of_ranking` of resample b to out[b]."""
    for c in prange((out.shape[0] + per_chunk - 1) // per_chunk):
        first = np.intp(c) * per_chunk
        _areas_chunk(draws, ranking, precision, first, out[first : first + per_chunk])
