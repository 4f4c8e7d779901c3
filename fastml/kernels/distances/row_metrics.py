"""One function of two rows per real metric; `metrics` chooses among them by code.

Arguments: x is row i of X, y row j of Y, ``weights`` (1, d). Differences and sums are in float64
whatever the rows' type.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import exp64, log64


@kernel(fast_math=True)
def sum_squares(X, i, Y, j):
    """Sum of (x - y)^2."""
    total = 0.0
    for k in range(X.shape[1]):
        gap = np.float64(X[i, k]) - np.float64(Y[j, k])
        total += gap * gap
    return total


@kernel(fast_math=True)
def sum_absolute(X, i, Y, j):
    """Sum of |x - y|."""
    total = 0.0
    for k in range(X.shape[1]):
        total += abs(np.float64(X[i, k]) - np.float64(Y[j, k]))
    return total


@kernel(fast_math=True)
def max_absolute(X, i, Y, j):
    """The largest |x - y|."""
    largest = 0.0
    for k in range(X.shape[1]):
        gap = abs(np.float64(X[i, k]) - np.float64(Y[j, k]))
        if gap > largest:
            largest = gap
    return largest


@kernel
def gap_power(gap, p):
    """gap^p of a gap >= 0; small whole p by multiplication, others as exp(p log gap)."""
    if p == 1.0:
        return gap
    if p == 2.0:
        return gap * gap
    if p == 3.0:
        return gap * gap * gap
    if p == 4.0:
        square = gap * gap
        return square * square
    return exp64(p * log64(gap))


@kernel(fast_math=True)
def sum_cubes(X, i, Y, j):
    """Sum of |x - y|^3."""
    total = 0.0
    for k in range(X.shape[1]):
        gap = abs(np.float64(X[i, k]) - np.float64(Y[j, k]))
        total += gap * gap * gap
    return total


@kernel(fast_math=True)
def sum_fourth_powers(X, i, Y, j):
    """Sum of (x - y)^4."""
    total = 0.0
    for k in range(X.shape[1]):
        gap = np.float64(X[i, k]) - np.float64(Y[j, k])
        total += (gap * gap) * (gap * gap)
    return total


@kernel(fast_math=True)
def sum_power(X, i, Y, j, p):
    """Sum of |x - y|^p."""
    total = 0.0
    for k in range(X.shape[1]):
        total += exp64(p * log64(abs(np.float64(X[i, k]) - np.float64(Y[j, k]))))
    return total


@kernel(fast_math=True)
def sum_weighted_squares(X, i, Y, j, weights):
    """Sum of w (x - y)^2."""
    total = 0.0
    for k in range(X.shape[1]):
        gap = np.float64(X[i, k]) - np.float64(Y[j, k])
        total += weights[0, k] * (gap * gap)
    return total


@kernel(fast_math=True)
def sum_weighted_absolute(X, i, Y, j, weights):
    """Sum of w |x - y|."""
    total = 0.0
    for k in range(X.shape[1]):
        total += weights[0, k] * abs(np.float64(X[i, k]) - np.float64(Y[j, k]))
    return total


@kernel(fast_math=True)
def sum_weighted_power(X, i, Y, j, p, weights):
    """Sum of w |x - y|^p."""
    total = 0.0
    for k in range(X.shape[1]):
        gap = abs(np.float64(X[i, k]) - np.float64(Y[j, k]))
        total += weights[0, k] * gap_power(gap, p)
    return total


@kernel(fast_math=True)
def quadratic_form(X, i, Y, j, inverse):
    """(x - y)' M (x - y) with M = ``inverse``; 0 where rounding makes it negative."""
    n = X.shape[1]
    total = 0.0
    for k in range(n):
        row = 0.0
        for m in range(n):
            row += inverse[k, m] * (np.float64(X[i, m]) - np.float64(Y[j, m]))
        total += row * (np.float64(X[i, k]) - np.float64(Y[j, k]))
    if total < 0.0:
        total = 0.0
    return total


@kernel
def one_minus_cosine(dot, squares_x, squares_y):
    """1 - cos of two vectors from their dot product and squared norms, within [0, 2].

    The cosine with a zero vector is 0.
    """
    if squares_x == 0.0 or squares_y == 0.0:
        return 1.0
    distance = 1.0 - dot / (np.sqrt(squares_x) * np.sqrt(squares_y))
    if distance < 0.0:
        return 0.0
    if distance > 2.0:
        return 2.0
    return distance


@kernel(fast_math=True)
def cosine(X, i, Y, j):
    """1 - cos of the angle between x and y."""
    dot = 0.0
    squares_x = 0.0
    squares_y = 0.0
    for k in range(X.shape[1]):
        x = np.float64(X[i, k])
        y = np.float64(Y[j, k])
        dot += x * y
        squares_x += x * x
        squares_y += y * y
    return one_minus_cosine(dot, squares_x, squares_y)


@kernel(fast_math=True)
def correlation(X, i, Y, j):
    """Cosine distance of the centred rows; NaN where one of them is constant."""
    n = X.shape[1]
    mean_x = 0.0
    mean_y = 0.0
    for k in range(n):
        mean_x += np.float64(X[i, k])
        mean_y += np.float64(Y[j, k])
    mean_x /= n
    mean_y /= n
    dot = 0.0
    squares_x = 0.0
    squares_y = 0.0
    for k in range(n):
        x = np.float64(X[i, k]) - mean_x
        y = np.float64(Y[j, k]) - mean_y
        dot += x * y
        squares_x += x * x
        squares_y += y * y
    if squares_x == 0.0 or squares_y == 0.0:
        return np.nan
    return one_minus_cosine(dot, squares_x, squares_y)


@kernel(fast_math=True)
def share_unequal(X, i, Y, j):
    """Share of the coordinates in which x and y differ."""
    unequal = 0.0
    for k in range(X.shape[1]):
        if X[i, k] != Y[j, k]:
            unequal += 1.0
    return unequal / X.shape[1]


@kernel(fast_math=True)
def canberra(X, i, Y, j):
    """Sum of |x - y| / (|x| + |y|), where 0 / 0 counts as 0."""
    total = 0.0
    for k in range(X.shape[1]):
        x = np.float64(X[i, k])
        y = np.float64(Y[j, k])
        scale = abs(x) + abs(y)
        if scale > 0.0:
            total += abs(x - y) / scale
    return total


@kernel(fast_math=True)
def braycurtis(X, i, Y, j):
    """Sum of |x - y| over the sum of |x + y|, as SciPy; 0 / 0 is NaN."""
    gaps = 0.0
    sums = 0.0
    for k in range(X.shape[1]):
        x = np.float64(X[i, k])
        y = np.float64(Y[j, k])
        gaps += abs(x - y)
        sums += abs(x + y)
    return gaps / sums


@kernel(fast_math=True)
def braycurtis_absolute(X, i, Y, j):
    """Sum of |x - y| over the sum of |x| + |y|, where 0 / 0 counts as 0."""
    gaps = 0.0
    sums = 0.0
    for k in range(X.shape[1]):
        x = np.float64(X[i, k])
        y = np.float64(Y[j, k])
        gaps += abs(x - y)
        sums += abs(x) + abs(y)
    if sums == 0.0:
        return 0.0
    return gaps / sums


@kernel
def haversine(X, i, Y, j):
    """sin^2 of half the angle between two points (latitude, longitude) in radians."""
    x = np.float64(X[i, 0])
    y = np.float64(Y[j, 0])
    sine_latitude = np.sin(0.5 * (x - y))
    sine_longitude = np.sin(0.5 * (np.float64(X[i, 1]) - np.float64(Y[j, 1])))
    return sine_latitude * sine_latitude + np.cos(x) * np.cos(y) * sine_longitude * sine_longitude


@kernel(fast_math=True)
def weighted_jaccard(X, i, Y, j):
    """1 - sum min / sum max; two zero vectors have distance 0."""
    smaller = 0.0
    larger = 0.0
    for k in range(X.shape[1]):
        x = np.float64(X[i, k])
        y = np.float64(Y[j, k])
        smaller += x if x < y else y
        larger += y if x < y else x
    if larger == 0.0:
        return 0.0
    return (larger - smaller) / larger


@kernel(fast_math=True)
def weighted_unequal(X, i, Y, j, weights):
    """Share of the weight that is on coordinates in which x and y differ."""
    unequal = 0.0
    total = 0.0
    for k in range(X.shape[1]):
        total += weights[0, k]
        if X[i, k] != Y[j, k]:
            unequal += weights[0, k]
    return unequal / total


@kernel(fast_math=True)
def nan_squares(X, i, Y, j):
    """Squared distance over the present coordinates, scaled up to all; NaN if there are none."""
    total = 0.0
    present = 0.0
    for k in range(X.shape[1]):
        gap = np.float64(X[i, k]) - np.float64(Y[j, k])
        if gap == gap:
            total += gap * gap
            present += 1.0
    if present == 0.0:
        return np.nan
    return total * (X.shape[1] / present)


@kernel(fast_math=True)
def chi_squares(X, i, Y, j):
    """Sum of (x - y)^2 / (x + y), where 0 / 0 counts as 0."""
    total = 0.0
    for k in range(X.shape[1]):
        x = np.float64(X[i, k])
        y = np.float64(Y[j, k])
        if x + y != 0.0:
            total += (x - y) * (x - y) / (x + y)
    return total
