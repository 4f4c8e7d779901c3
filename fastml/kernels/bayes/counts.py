"""Sums of sparse rows by class."""

from fastml._jit import kernel


@kernel
def add_sparse_rows(rows, codes, weights, sums):
    """Add every row of the CSR ``rows``, times its weight, to its class's row of ``sums``."""
    for i in range(codes.shape[0]):
        total = sums[codes[i]]
        w = weights[i]
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            total[rows.indices[e]] += w * rows.data[e]
