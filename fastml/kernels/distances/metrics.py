"""Distance between two rows, for every metric: one code, one signature.

``rdist(code, X, i, Y, j, p, v)`` is the *reduced* distance of row ``i`` of X and row ``j`` of Y:
an increasing function of the distance that is cheaper to compute (no square root, no p-th root, no
arcsine). `rdist_to_dist` and `dist_to_rdist` convert. Arguments are the same for every metric, so
few types get compiled. Kernels that are called from Python take ``code``, ``p`` and ``v`` together,
as a `Metric`.

Sums are in float64 whatever the rows' type; differences are taken in float64 too, so float32 rows
lose nothing.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.distances.row_metrics import (
    braycurtis,
    braycurtis_absolute,
    canberra,
    chi_squares,
    correlation,
    cosine,
    gap_power,
    haversine,
    max_absolute,
    nan_squares,
    quadratic_form,
    share_unequal,
    sum_absolute,
    sum_cubes,
    sum_fourth_powers,
    sum_power,
    sum_squares,
    sum_weighted_absolute,
    sum_weighted_power,
    sum_weighted_squares,
    weighted_jaccard,
    weighted_unequal,
)

# Sums over coordinates of a power of the gap: also usable for boxes (`gap_term`).
EUCLIDEAN = 0
SQEUCLIDEAN = 1
MANHATTAN = 2
CHEBYSHEV = 3
CUBIC = 4  # Minkowski, p = 3
QUARTIC = 5  # Minkowski, p = 4
POWER = 6  # Minkowski, any p
WEIGHTED_SQUARES = 7  # seuclidean (weights 1 / V); Minkowski, p = 2 with weights
WEIGHTED_ABSOLUTE = 8
WEIGHTED_POWER = 9
LAST_GAP_METRIC = 9
# Other metrics of real vectors.
MAHALANOBIS = 10
COSINE = 11
CORRELATION = 12
HAMMING = 13
CANBERRA = 14
BRAYCURTIS = 15  # denominator sum |x + y|, as SciPy
BRAYCURTIS_ABSOLUTE = 16  # denominator sum |x| + |y|, as scikit-learn's DistanceMetric
HAVERSINE = 17
WEIGHTED_JACCARD = 18  # 1 - sum min(x, y) / sum max(x, y), also named after Ruzicka
WEIGHTED_HAMMING = 19
# Metrics of boolean vectors; anything but zero counts as true.
FIRST_BOOLEAN_METRIC = 20
LAST_BOOLEAN_METRIC = 27
JACCARD = 20
DICE = 21
MATCHING = 22
ROGERSTANIMOTO = 23
RUSSELLRAO = 24
SOKALSNEATH = 25
YULE = 26
KULSINSKI = 27
# Not metrics, but computed alike.
NAN_SQUARES = 30  # mean squared gap of the coordinates present in both, times all coordinates
CHI_SQUARES = 31  # sum of (x - y)^2 / (x + y)


class Metric(NamedTuple):
    """A metric and its parameters."""

    code: int  # one of the constants above
    p: float  # the power of POWER and WEIGHTED_POWER
    v: np.ndarray  # float64: weights (1, d), inverse covariance (d, d) of MAHALANOBIS, else (0, 0)


# ---------------------------------------------------------------------------- boolean rows


@kernel
def boolean_distance(code, n, both, only_x, only_y):
    """A boolean metric from the counts of coordinates true in both rows, or in one of them."""
    unequal = only_x + only_y
    if code == JACCARD:
        union = both + unequal
        return unequal / union if union > 0.0 else 0.0
    if code == DICE:
        members = 2.0 * both + unequal
        return unequal / members if members > 0.0 else np.nan
    if code == MATCHING:
        return unequal / n
    if code == ROGERSTANIMOTO:
        return 2.0 * unequal / (n + unequal)
    if code == RUSSELLRAO:
        return (n - both) / n
    if code == SOKALSNEATH:
        members = unequal + 0.5 * both
        return unequal / members if members > 0.0 else np.nan
    if code == YULE:
        product = only_x * only_y
        neither = n - both - unequal
        return 2.0 * product / (both * neither + product) if product > 0.0 else 0.0
    return (unequal - both + n) / (unequal + n)  # KULSINSKI


@kernel(fast_math=True)
def _boolean_rows(code, X, i, Y, j):
    """A boolean metric of row i of X and row j of Y; anything but zero counts as true."""
    both = 0.0
    true_x = 0.0
    true_y = 0.0
    for k in range(X.shape[1]):
        x = 1.0 if X[i, k] != 0 else 0.0
        y = 1.0 if Y[j, k] != 0 else 0.0
        both += x * y
        true_x += x
        true_y += y
    return boolean_distance(code, np.float64(X.shape[1]), both, true_x - both, true_y - both)


# ---------------------------------------------------------------------------- any metric


@kernel
def _gap_rdist(code, X, i, Y, j, p, v):
    """`rdist` of codes <= LAST_GAP_METRIC only: all that a kd-tree needs, quick to compile."""
    if code <= SQEUCLIDEAN:
        return sum_squares(X, i, Y, j)
    if code == MANHATTAN:
        return sum_absolute(X, i, Y, j)
    if code == CHEBYSHEV:
        return max_absolute(X, i, Y, j)
    if code == CUBIC:
        return sum_cubes(X, i, Y, j)
    if code == QUARTIC:
        return sum_fourth_powers(X, i, Y, j)
    if code == POWER:
        return sum_power(X, i, Y, j, p)
    if code == WEIGHTED_SQUARES:
        return sum_weighted_squares(X, i, Y, j, v)
    if code == WEIGHTED_ABSOLUTE:
        return sum_weighted_absolute(X, i, Y, j, v)
    return sum_weighted_power(X, i, Y, j, p, v)


@kernel
def rdist(code, X, i, Y, j, p, v):
    """Reduced distance of row i of X and row j of Y, for every code."""
    if code <= LAST_GAP_METRIC:
        return _gap_rdist(code, X, i, Y, j, p, v)
    if code == MAHALANOBIS:
        return quadratic_form(X, i, Y, j, v)
    if code == COSINE:
        return cosine(X, i, Y, j)
    if code == CORRELATION:
        return correlation(X, i, Y, j)
    if code == HAMMING:
        return share_unequal(X, i, Y, j)
    if code == CANBERRA:
        return canberra(X, i, Y, j)
    if code == BRAYCURTIS:
        return braycurtis(X, i, Y, j)
    if code == BRAYCURTIS_ABSOLUTE:
        return braycurtis_absolute(X, i, Y, j)
    if code == HAVERSINE:
        return haversine(X, i, Y, j)
    if code == WEIGHTED_JACCARD:
        return weighted_jaccard(X, i, Y, j)
    if code == WEIGHTED_HAMMING:
        return weighted_unequal(X, i, Y, j, v)
    if code == NAN_SQUARES:
        return nan_squares(X, i, Y, j)
    if code == CHI_SQUARES:
        return chi_squares(X, i, Y, j)
    return _boolean_rows(code, X, i, Y, j)


# A call of `rdist` costs 75 ns, since it is too large to be inlined: for many rows, branch once.


@kernel
def _gap_rdist_to_rows(code, X, i, Y, start, stop, p, v, out):
    """`rdist_to_rows` of codes <= LAST_GAP_METRIC only; writes ``out[: stop - start]``."""
    if code <= SQEUCLIDEAN:
        for j in range(start, stop):
            out[j - start] = sum_squares(X, i, Y, j)
    elif code == MANHATTAN:
        for j in range(start, stop):
            out[j - start] = sum_absolute(X, i, Y, j)
    elif code == CHEBYSHEV:
        for j in range(start, stop):
            out[j - start] = max_absolute(X, i, Y, j)
    elif code == CUBIC:
        for j in range(start, stop):
            out[j - start] = sum_cubes(X, i, Y, j)
    elif code == QUARTIC:
        for j in range(start, stop):
            out[j - start] = sum_fourth_powers(X, i, Y, j)
    elif code == POWER:
        for j in range(start, stop):
            out[j - start] = sum_power(X, i, Y, j, p)
    elif code == WEIGHTED_SQUARES:
        for j in range(start, stop):
            out[j - start] = sum_weighted_squares(X, i, Y, j, v)
    elif code == WEIGHTED_ABSOLUTE:
        for j in range(start, stop):
            out[j - start] = sum_weighted_absolute(X, i, Y, j, v)
    else:
        for j in range(start, stop):
            out[j - start] = sum_weighted_power(X, i, Y, j, p, v)


@kernel
def rdist_to_rows(code, X, i, Y, start, stop, p, v, out):
    """Write the reduced distances of row i of X and rows start..stop of Y to ``out``."""
    if code <= LAST_GAP_METRIC:
        _gap_rdist_to_rows(code, X, i, Y, start, stop, p, v, out)
    elif code == MAHALANOBIS:
        for j in range(start, stop):
            out[j - start] = quadratic_form(X, i, Y, j, v)
    elif code == COSINE:
        for j in range(start, stop):
            out[j - start] = cosine(X, i, Y, j)
    elif code == CORRELATION:
        for j in range(start, stop):
            out[j - start] = correlation(X, i, Y, j)
    elif code == HAMMING:
        for j in range(start, stop):
            out[j - start] = share_unequal(X, i, Y, j)
    elif code == CANBERRA:
        for j in range(start, stop):
            out[j - start] = canberra(X, i, Y, j)
    elif code == BRAYCURTIS:
        for j in range(start, stop):
            out[j - start] = braycurtis(X, i, Y, j)
    elif code == BRAYCURTIS_ABSOLUTE:
        for j in range(start, stop):
            out[j - start] = braycurtis_absolute(X, i, Y, j)
    elif code == HAVERSINE:
        for j in range(start, stop):
            out[j - start] = haversine(X, i, Y, j)
    elif code == WEIGHTED_JACCARD:
        for j in range(start, stop):
            out[j - start] = weighted_jaccard(X, i, Y, j)
    elif code == WEIGHTED_HAMMING:
        for j in range(start, stop):
            out[j - start] = weighted_unequal(X, i, Y, j, v)
    elif code == NAN_SQUARES:
        for j in range(start, stop):
            out[j - start] = nan_squares(X, i, Y, j)
    elif code == CHI_SQUARES:
        for j in range(start, stop):
            out[j - start] = chi_squares(X, i, Y, j)
    else:
        for j in range(start, stop):
            out[j - start] = _boolean_rows(code, X, i, Y, j)


# Trees and searches take ``every``, whose type tells the compiler which metrics to expect: None for
# codes <= SQEUCLIDEAN only, (None,) for codes <= LAST_GAP_METRIC, (True,) for all. Each step
# doubles the compile time.


@kernel
def _gap_or_any_rdist(anything, code, X, i, Y, j, p, v):
    """`_gap_rdist`, or `rdist` if ``anything`` is True; the type (None or not) decides."""
    if anything is None:
        return _gap_rdist(code, X, i, Y, j, p, v)
    return rdist(code, X, i, Y, j, p, v)


@kernel
def chosen_rdist(every, code, X, i, Y, j, p, v):
    """`rdist`, compiled for the metrics that ``every`` names."""
    if every is None:
        return sum_squares(X, i, Y, j)
    return _gap_or_any_rdist(every[0], code, X, i, Y, j, p, v)


@kernel
def _gap_or_any_to_rows(anything, code, X, i, Y, start, stop, p, v, out):
    """`_gap_rdist_to_rows`, or `rdist_to_rows` if ``anything`` is True; writes ``out``."""
    if anything is None:
        _gap_rdist_to_rows(code, X, i, Y, start, stop, p, v, out)
    else:
        rdist_to_rows(code, X, i, Y, start, stop, p, v, out)


@kernel
def chosen_rdist_to_rows(every, code, X, i, Y, start, stop, p, v, out):
    """`rdist_to_rows`, compiled for the metrics that ``every`` names; writes ``out``."""
    if every is None:
        for j in range(start, stop):
            out[j - start] = sum_squares(X, i, Y, j)
    else:
        _gap_or_any_to_rows(every[0], code, X, i, Y, start, stop, p, v, out)


@kernel
def rdist_to_dist(code, reduced, p):
    """The distance whose reduced form is given."""
    if code == EUCLIDEAN or code == WEIGHTED_SQUARES or code == MAHALANOBIS:
        return np.sqrt(reduced)
    if code == CUBIC:
        return np.cbrt(reduced)
    if code == QUARTIC:
        return np.sqrt(np.sqrt(reduced))
    if code == POWER or code == WEIGHTED_POWER:
        return reduced ** (1.0 / p)
    if code == HAVERSINE:
        return 2.0 * np.arcsin(np.sqrt(reduced if reduced < 1.0 else 1.0))
    return reduced


@kernel
def dist_to_rdist(code, distance, p):
    """The reduced form of a distance."""
    if code == EUCLIDEAN or code == WEIGHTED_SQUARES or code == MAHALANOBIS:
        return distance * distance
    if code == CUBIC:
        return distance * distance * distance
    if code == QUARTIC:
        return distance * distance * distance * distance
    if code == POWER or code == WEIGHTED_POWER:
        return distance**p
    if code == HAVERSINE:
        sine = np.sin(0.5 * distance)
        return sine * sine
    return distance


@kernel
def gap_term(code, gap, k, p, v):
    """What a gap >= 0 in coordinate k adds to the reduced distance (codes <= LAST_GAP_METRIC).

    CHEBYSHEV takes the largest of the terms, the others their sum. The distance of a point and a
    box is made of the terms of its gaps to the box.
    """
    if code <= SQEUCLIDEAN:
        return gap * gap
    if code == MANHATTAN or code == CHEBYSHEV:
        return gap
    if code == CUBIC:
        return gap * gap * gap
    if code == QUARTIC:
        return (gap * gap) * (gap * gap)
    if code == POWER:
        return gap_power(gap, p)
    if code == WEIGHTED_SQUARES:
        return v[0, k] * gap * gap
    if code == WEIGHTED_ABSOLUTE:
        return v[0, k] * gap
    return v[0, k] * gap_power(gap, p)
