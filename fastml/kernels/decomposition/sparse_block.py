"""A sparse matrix, or its product with itself, times a few dense columns."""

from fastml._jit import kernel, parallel_kernel, prange


@kernel(fast_math=True)
def _add_rows(first, last, rows, B, total):
    """Add the entries from ``first`` to ``last`` times their rows of ``B`` to ``total``."""
    width = B.shape[1]
    fours = first + (last - first) // 4 * 4
    for e in range(first, fours, 4):
        v0, v1, v2, v3 = rows.data[e], rows.data[e + 1], rows.data[e + 2], rows.data[e + 3]
        r0, r1 = B[rows.indices[e]], B[rows.indices[e + 1]]
        r2, r3 = B[rows.indices[e + 2]], B[rows.indices[e + 3]]
        for j in range(width):
            total[j] += v0 * r0[j] + v1 * r1[j] + v2 * r2[j] + v3 * r3[j]
    for e in range(fours, last):
        value = rows.data[e]
        line = B[rows.indices[e]]
        for j in range(width):
            total[j] += value * line[j]


@kernel
def _product_chunk(first, last, rows, B, out):
    """`sparse_times_block` for the rows from ``first`` to ``last`` of ``out``."""
    width = B.shape[1]
    for i in range(first, last):
        total = out[i]
        for j in range(width):
            total[j] = 0.0
        _add_rows(rows.indptr[i], rows.indptr[i + 1], rows, B, total)


@parallel_kernel
def sparse_times_block(rows, B, rows_per_chunk, out):
    """Write the product of the CSR ``rows`` and the dense ``B`` to ``out``."""
    n = out.shape[0]
    for c in prange((n + rows_per_chunk - 1) // rows_per_chunk):
        _product_chunk(c * rows_per_chunk, min((c + 1) * rows_per_chunk, n), rows, B, out)


@kernel
def _gram_chunk(first, last, rows, ones, weights, B, offset, line, sums, part):
    """`sparse_gram_block` for the rows from ``first`` to ``last``.

    Writes ``part`` and ``sums``, and ``line``, the product of one row.
    """
    width = B.shape[1]
    part[:] = 0.0
    sums[:] = 0.0
    for i in range(first, last):
        for j in range(width):
            line[j] = -ones[i] * offset[j]
        _add_rows(rows.indptr[i], rows.indptr[i + 1], rows, B, line)
        for j in range(width):
            line[j] *= weights[i]
            sums[j] += ones[i] * line[j]
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            value = rows.data[e]
            to_row = part[rows.indices[e]]
            for j in range(width):
                to_row[j] += value * line[j]


@parallel_kernel
def sparse_gram_block(rows, ones, weights, B, offset, bounds, lines, sums, parts):
    """X' W (X B − ones offset') of the CSR ``rows`` X in one pass, and sums of W (…) over ``ones``.

    Chunk c, the rows from bounds[c] on, writes what it adds to parts[c] and sums[c]; lines[c] is
    scratch.
    """
    for c in prange(parts.shape[0]):
        _gram_chunk(
            bounds[c], bounds[c + 1], rows, ones, weights, B, offset, lines[c], sums[c], parts[c]
        )


@kernel
def _fold_chunk(first, last, parts, out):
    """`fold_parts` for the rows from ``first`` to ``last`` of ``out``."""
    for i in range(first, last):
        total = out[i]
        for j in range(out.shape[1]):
            total[j] = parts[0, i, j]
        for c in range(1, parts.shape[0]):
            more = parts[c, i]
            for j in range(out.shape[1]):
                total[j] += more[j]


@parallel_kernel
def fold_parts(parts, rows_per_chunk, out):
    """Write the sum of ``parts``, in order, to ``out``."""
    n = out.shape[0]
    for c in prange((n + rows_per_chunk - 1) // rows_per_chunk):
        _fold_chunk(c * rows_per_chunk, min((c + 1) * rows_per_chunk, n), parts, out)
