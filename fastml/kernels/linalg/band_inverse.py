"""Trace of the inverse of a band matrix from its Cholesky factor.

The entries of Z = (L L')⁻¹ within the band follow from each other, from the last column to the
first (Takahashi's equations): Z_ij = δ_ij / L_jj² − Σ_k Z_ik L_kj / L_jj over the k in j's band
below j. A square window holds the entries of the last columns.
"""

from fastml._jit import kernel


@kernel(fast_math=True)
def inverse_trace(factor, window):
    """Σ Z_jj. ``factor[j, k]`` = L[j + k, j]; ``window``: (band + 1, band + 1), overwritten.

    Z[i, j] is kept at window[i % size, j % size], both triangles.
    """
    n, size = factor.shape
    trace = 0.0
    for j in range(n - 1, -1, -1):
        below = min(size - 1, n - 1 - j)
        pivot = 1.0 / factor[j, 0]
        spot = j % size
        before_wrap = min(below, size - 1 - spot)
        for k in range(1, below + 1):
            row = (j + k) % size
            total = 0.0
            for m in range(1, before_wrap + 1):  # columns j + m up to the window's edge
                total += window[row, spot + m] * factor[j, m]
            for m in range(before_wrap + 1, below + 1):
                total += window[row, spot + m - size] * factor[j, m]
            window[row, spot] = -total * pivot
        total = pivot
        for k in range(1, below + 1):
            row = (j + k) % size
            total -= window[row, spot] * factor[j, k]
            window[spot, row] = window[row, spot]
        window[spot, spot] = total * pivot
        trace += window[spot, spot]
    return trace
