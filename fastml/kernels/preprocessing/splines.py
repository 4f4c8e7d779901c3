"""B-spline bases: the degree + 1 functions that are not 0 at a point."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.preprocessing.order import last_not_above


@kernel
def basis_at(x, knots, degree, values):
    """Write the basis functions at x to ``values``; return the number of the first of them.

    By Cox and de Boor. Beyond the ends the polynomials of the outermost intervals go on.
    """
    last = knots.shape[0] - degree - 2  # the last interval inside
    interval = degree + last_not_above(knots[degree : last + 1], x)
    values[0] = 1.0
    for k in range(1, degree + 1):
        saved = 0.0
        for r in range(k):
            right = knots[interval + r + 1]
            left = knots[interval + r + 1 - k]
            part = values[r] / (right - left) if right != left else 0.0
            values[r] = saved + (right - x) * part
            saved = (x - left) * part
        values[k] = saved
    return interval - degree


@kernel
def _chunk_basis(c, X, knots, degree, edges, rows_per_chunk, firsts, values, outside):
    """`spline_basis` for chunk c."""
    stop = min((c + 1) * rows_per_chunk, X.shape[0])
    beyond = 0
    bounded = edges.shape[0] > 0
    n_functions = knots.shape[1] - degree - 1
    for i in range(c * rows_per_chunk, stop):
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            own = values[i, j]
            firsts[i, j] = 0
            low = knots[j, degree]
            high = knots[j, n_functions]
            if x != x:
                for k in range(degree + 1):
                    own[k] = 0.0
            elif bounded and x < low:
                for k in range(degree + 1):
                    own[k] = edges[0, j, k] + (x - low) * edges[1, j, k]
            elif bounded and x > high:
                firsts[i, j] = n_functions - degree - 1
                for k in range(degree + 1):
                    own[k] = edges[2, j, k] + (x - high) * edges[3, j, k]
            else:
                beyond |= np.intp(x < low or x > high)
                firsts[i, j] = basis_at(x, knots[j], degree, own)
    outside[c] = beyond


@parallel_kernel
def spline_basis(X, knots, degree, edges, rows_per_chunk, firsts, values, outside):
    """Write the ``values`` (n × d × degree + 1) of the basis at each X[i, j], from ``firsts`` on.

    ``edges`` (4 × d × degree + 1) has values and slopes at the lower and the upper end, which are
    gone on with beyond; without any, the polynomials go on. NaN has zeros. ``outside`` (one entry
    per chunk) gets 1 where a polynomial was gone on with.
    """
    for c in prange(outside.shape[0]):
        _chunk_basis(c, X, knots, degree, edges, rows_per_chunk, firsts, values, outside)


@kernel
def _chunk_spread(c, firsts, values, n_splines, kept, rows_per_chunk, out):
    """`spread_basis` for chunk c."""
    stop = min((c + 1) * rows_per_chunk, firsts.shape[0])
    for i in range(c * rows_per_chunk, stop):
        for t in range(out.shape[1]):
            out[i, t] = 0.0
        for j in range(firsts.shape[1]):
            for k in range(values.shape[2]):
                spline = (firsts[i, j] + k) % n_splines
                if spline < kept:
                    out[i, j * kept + spline] += values[i, j, k]


@parallel_kernel
def spread_basis(firsts, values, n_splines, kept, rows_per_chunk, out):
    """Write dense rows to ``out``: of each feature the first ``kept`` of its ``n_splines``.

    Functions beyond ``n_splines`` are the first ones again: the period of periodic splines.
    """
    for c in prange((firsts.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_spread(c, firsts, values, n_splines, kept, rows_per_chunk, out)
