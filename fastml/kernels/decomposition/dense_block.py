"""A dense matrix times a few vectors, at the speed at which the matrix is read."""

from fastml._jit import kernel, parallel_kernel, prange

LINES = 8
"""Vectors that share one reading of a row."""


@kernel(fast_math=True)
def _eight_dots(row, lines, c, out):
    """Write the products of ``row`` with eight lines from ``c`` on to ``out``."""
    v0, v1, v2, v3 = lines[c], lines[c + 1], lines[c + 2], lines[c + 3]
    v4, v5, v6, v7 = lines[c + 4], lines[c + 5], lines[c + 6], lines[c + 7]
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for j in range(row.shape[0]):
        x = row[j]
        a0 += x * v0[j]
        a1 += x * v1[j]
        a2 += x * v2[j]
        a3 += x * v3[j]
        a4 += x * v4[j]
        a5 += x * v5[j]
        a6 += x * v6[j]
        a7 += x * v7[j]
    out[c], out[c + 1], out[c + 2], out[c + 3] = a0, a1, a2, a3
    out[c + 4], out[c + 5], out[c + 6], out[c + 7] = a4, a5, a6, a7


@kernel
def _rows_chunk(first, last, K, lines, out):
    """`matrix_times_lines` for the rows from ``first`` to ``last`` of ``out``."""
    for i in range(first, last):
        for c in range(0, lines.shape[0], LINES):
            _eight_dots(K[i], lines, c, out[i])


@parallel_kernel
def matrix_times_lines(K, lines, rows_per_chunk, out):
    """Write K times the vectors in ``lines`` (one a row, a multiple of eight) to ``out``."""
    n = out.shape[0]
    for c in prange((n + rows_per_chunk - 1) // rows_per_chunk):
        _rows_chunk(c * rows_per_chunk, min((c + 1) * rows_per_chunk, n), K, lines, out)
