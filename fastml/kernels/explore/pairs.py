"""Pairs of columns: joint counts of groups, sums by group, products."""

from fastml._jit import kernel

PRODUCT_ROWS = 1024
"""Rows whose products are summed before they are added to the others'."""


@kernel
def joint_counts(first, second, counts):
    """Add 1 to ``counts``[first[i], second[i]] for every row."""
    for i in range(first.shape[0]):
        counts[first[i], second[i]] += 1


@kernel
def group_sums(groups, values, centre, counts, sums, squares):
    """Sum ``values`` − ``centre`` and their squares by group; NaN is left out.

    Adds to ``counts``, ``sums`` and ``squares``, one entry per group.
    """
    for i in range(groups.shape[0]):
        x = values[i] - centre
        if x == x:
            g = groups[i]
            counts[g] += 1
            sums[g] += x
            squares[g] += x * x


@kernel
def centred_products(x, y, centre):
    """Return the sums of squares of x − ``centre``, of y − ``centre``, and of their products."""
    xx, yy, xy = 0.0, 0.0, 0.0
    for start in range(0, x.shape[0], PRODUCT_ROWS):
        a, b, c = 0.0, 0.0, 0.0
        for i in range(start, min(start + PRODUCT_ROWS, x.shape[0])):
            u = x[i] - centre
            v = y[i] - centre
            a += u * u
            b += v * v
            c += u * v
        xx += a
        yy += b
        xy += c
    return xx, yy, xy
