"""A sparse matrix times a few dense columns."""

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _product_chunk(first, last, rows, B, out):
    """`sparse_times_block` for the rows from ``first`` to ``last`` of ``out``."""
    width = B.shape[1]
    for i in range(first, last):
        total = out[i]
        for j in range(width):
            total[j] = 0.0
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            value = rows.data[e]
            line = B[rows.indices[e]]
            for j in range(width):
                total[j] += value * line[j]


@parallel_kernel
def sparse_times_block(rows, B, rows_per_chunk, out):
    """Write the product of the CSR ``rows`` and the dense ``B`` to ``out``."""
    n = out.shape[0]
    for c in prange((n + rows_per_chunk - 1) // rows_per_chunk):
        _product_chunk(c * rows_per_chunk, min((c + 1) * rows_per_chunk, n), rows, B, out)
