"""Soft k-means and fuzzy c-means: shares of rows in centres, and the sums that move the centres.

    soft:   r_ic = exp(-β |x_i - c|²) / Σ_j exp(-β |x_i - c_j|²)
    fuzzy:  u_ic = |x_i - c|^{-2/(m-1)} / Σ_j |x_i - c_j|^{-2/(m-1)},   weight of the mean u^m

Statistics of a chunk of rows (sums, masses, objective) are added up in fixed order by `merge`.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import exp64, log64

SOFT = 0
FUZZY = 1


@kernel
def _squares(X, i, panel, out):
    """Write the squared distances of row i to the columns of the (d, k) panel to ``out``."""
    d, k = panel.shape
    for c in range(k):
        out[c] = 0.0
    for f in range(d):
        x = np.float64(X[i, f])
        for c in range(k):
            gap = x - panel[f, c]
            out[c] += gap * gap


@kernel
def _shares(form, strength, squares, out):
    """Write the shares of one row to ``out``; return its part of the objective.

    ``strength`` is β (soft) or m (fuzzy). Soft: -log(Σ exp(-β d²)) / β. Fuzzy: Σ u^m d².
    """
    k = squares.shape[0]
    least = squares[0]
    for c in range(1, k):
        if squares[c] < least:
            least = squares[c]
    total = 0.0
    if form == SOFT:
        for c in range(k):
            out[c] = exp64(-strength * (squares[c] - least))
        for c in range(k):
            total += out[c]
        for c in range(k):
            out[c] /= total
        return least - log64(total) / strength
    if least == 0.0:  # the row is a centre: its whole share is there
        for c in range(k):
            out[c] = 1.0 if squares[c] == 0.0 else 0.0
    else:
        power = -1.0 / (strength - 1.0)
        for c in range(k):
            out[c] = exp64(power * log64(squares[c] / least))
    for c in range(k):
        total += out[c]
    objective = 0.0
    for c in range(k):
        out[c] /= total
        if out[c] > 0.0:
            objective += exp64(strength * log64(out[c])) * squares[c]
    return objective


@kernel
def _statistics_chunk(start, stop, form, strength, X, weights, panel, sums, masses, objective):
    """`statistics` for rows start..stop."""
    d, k = panel.shape
    squares = np.empty(k)
    shares = np.empty(k)
    for c in range(k):
        masses[c] = 0.0
        for f in range(d):
            sums[c, f] = 0.0
    total = 0.0
    for i in range(start, stop):
        _squares(X, i, panel, squares)
        total += weights[i] * _shares(form, strength, squares, shares)
        for c in range(k):
            share = shares[c]
            if form == FUZZY:
                share = exp64(strength * log64(share)) if share > 0.0 else 0.0
            share *= weights[i]
            masses[c] += share
            for f in range(d):
                sums[c, f] += share * np.float64(X[i, f])
    objective[0] = total


@parallel_kernel
def statistics(n_rows, form, strength, X, weights, panel, sums, masses, objective):
    """Write, per chunk of ``n_rows`` rows, ``sums`` (k, d), ``masses`` (k) and ``objective`` (1).

    ``panel`` (d, k) holds the centres; ``strength`` is β (soft) or m (fuzzy).
    """
    n = X.shape[0]
    for c in prange((n + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        stop = min(start + n_rows, n)
        _statistics_chunk(
            start, stop, form, strength, X, weights, panel, sums[c], masses[c], objective[c]
        )


@kernel
def merge(sums, masses, objective, total_sums, total_masses):
    """Add the chunks, in order, to ``total_sums`` and ``total_masses``; return the objective."""
    total = 0.0
    for c in range(sums.shape[0]):
        total += objective[c, 0]
        for i in range(sums.shape[1]):
            total_masses[i] += masses[c, i]
            for f in range(sums.shape[2]):
                total_sums[i, f] += sums[c, i, f]
    return total


@kernel
def _share_chunk(start, stop, form, strength, X, panel, out):
    """`row_shares` for rows start..stop."""
    squares = np.empty(panel.shape[1])
    for i in range(start, stop):
        _squares(X, i, panel, squares)
        _shares(form, strength, squares, out[i])


@parallel_kernel
def row_shares(n_rows, form, strength, X, panel, out):
    """Write the shares of row i in the centres to ``out[i]``."""
    n = X.shape[0]
    for c in prange((n + n_rows - 1) // n_rows):
        start = np.intp(c) * n_rows
        _share_chunk(start, min(start + n_rows, n), form, strength, X, panel, out)
