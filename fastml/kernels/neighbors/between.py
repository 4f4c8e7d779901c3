"""Points on the lines between rows."""

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _chunk_between(c, X, others, rows, partners, steps, rows_per_chunk, out):
    """`fill_between` for the points of chunk c."""
    for i in range(c * rows_per_chunk, min((c + 1) * rows_per_chunk, rows.shape[0])):
        start, end, step = X[rows[i]], others[partners[i]], steps[i]
        for j in range(out.shape[1]):
            out[i, j] = (end[j] - start[j]) * step + start[j]


@parallel_kernel
def fill_between(X, others, rows, partners, steps, rows_per_chunk, out):
    """Write ``out``[i] = X[rows[i]] + steps[i] (others[partners[i]] − X[rows[i]])."""
    for c in prange((rows.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_between(c, X, others, rows, partners, steps, rows_per_chunk, out)
