"""The nearest rows that can give a value, for every missing one.

The distance of two rows is that of the columns that both have, times columns over shared columns:
√(d / shared · Σ (x − y)²).
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

TILE_DONORS = 512


@kernel(fused=True)
def shared_distances(x, there, columns, present, first, last, sums, counts):
    """Write the mean of squares over shared columns of a row and donors ``first`` to ``last``.

    ``sums`` gets them, NaN where no column is shared; ``counts`` is scratch. ``columns`` (d × n)
    are the donors' values, 0 where ``present`` is 0.
    """
    size = last - first
    for t in range(size):
        sums[t] = 0.0
        counts[t] = 0.0
    for k in range(x.shape[0]):
        if there[k]:
            value = x[k]
            column = columns[k, first:last]
            mask = present[k, first:last]
            for t in range(size):
                off = value - column[t]
                sums[t] += mask[t] * (off * off)
                counts[t] += mask[t]
    for t in range(size):
        sums[t] /= counts[t]


@kernel
def keep_nearest(distance, donor, distances, donors):
    """Insert a donor into the ascending ``distances`` and ``donors``; ties stay in their order."""
    place = distances.shape[0] - 1
    while place > 0 and distance < distances[place - 1]:
        distances[place] = distances[place - 1]
        donors[place] = donors[place - 1]
        place -= 1
    distances[place] = distance
    donors[place] = donor


@kernel
def _chunk_donors(c, X, there, columns, present, starts, wanted, rows_per_chunk, distances, donors):
    """`nearest_donors` for chunk c: a tile of donors stays in the cache for all its rows."""
    stop = min((c + 1) * rows_per_chunk, X.shape[0])
    n = columns.shape[1]
    last_kept = distances.shape[1] - 1
    sums = np.empty(TILE_DONORS)
    counts = np.empty(TILE_DONORS)
    for first in range(0, n, TILE_DONORS):
        last = min(first + TILE_DONORS, n)
        for i in range(c * rows_per_chunk, stop):
            shared_distances(X[i], there[i], columns, present, first, last, sums, counts)
            worst = 0.0
            for entry in range(starts[i], starts[i + 1]):
                worst = max(worst, distances[entry, last_kept])
            for t in range(last - first):
                distance = sums[t]
                if distance < worst:
                    for entry in range(starts[i], starts[i + 1]):
                        if (
                            distance < distances[entry, last_kept]
                            and present[wanted[entry], first + t] > 0.0
                        ):
                            keep_nearest(distance, first + t, distances[entry], donors[entry])


@parallel_kernel
def nearest_donors(X, there, columns, present, starts, wanted, rows_per_chunk, distances, donors):
    """Find the nearest donors of every missing entry.

    Row i of X has its values where ``there``; its missing entries are ``starts``[i] to
    ``starts``[i + 1], of column ``wanted``. Writes ascending ``distances`` (entries × k, as means
    of squares; they come full of infinity) and the ``donors``, which come full of −1.
    """
    for c in prange((X.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_donors(
            c, X, there, columns, present, starts, wanted, rows_per_chunk, distances, donors
        )
