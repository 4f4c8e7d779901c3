"""Products of columns: all monomials up to a degree, of dense and of sparse rows."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def _chunk_monomials(c, X, segments, bias, skip, n_full, rows_per_chunk, out):
    """`monomials` for chunk c: a row is made in scratch that stays in the cache."""
    last = min((c + 1) * rows_per_chunk, X.shape[0])
    full = np.empty(n_full, dtype=out.dtype)
    n_features = X.shape[1]
    lead = np.intp(bias)
    for i in range(c * rows_per_chunk, last):
        row = out[i]
        if bias:
            full[0] = 1.0
            row[0] = 1.0
        if n_full > lead:
            for j in range(n_features):
                full[lead + j] = X[i, j]
        for s in range(segments.shape[0]):
            first, size = segments[s, 0], segments[s, 1]
            x = X[i, segments[s, 2]]
            target = segments[s, 3]
            for t in range(size):
                full[target + t] = full[first + t] * x
        for t in range(lead, row.shape[0]):
            row[t] = full[skip + t]


@parallel_kernel
def monomials(X, segments, bias, skip, n_full, rows_per_chunk, out):
    """Write the monomials of every row to ``out``.

    They follow each other by degree. A segment (first, size, feature, target) makes ``size`` of
    them by multiplying those from ``first`` on by a feature. ``skip`` of low degree, after the
    constant if there is a ``bias``, are left out of the ``n_full``.
    """
    for c in prange((X.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_monomials(c, X, segments, bias, skip, n_full, rows_per_chunk, out)


@kernel
def sparse_monomials(rows, own, after, base, degree, distinct, starts, data, indices):
    """Write the monomials of one degree of every CSR row to ``data`` and their ``indices``.

    ``rows`` are a Csr whose indices point into tables of the columns that occur. The rank of a
    monomial among all is Σ_t after[k_t, previous] − own[k_t, column] with k_t factors to come,
    ``base`` at first. ``starts`` has each row's place. ``distinct``: no column twice.
    """
    chosen = np.empty(degree, dtype=np.intp)
    step = np.intp(distinct)
    for i in range(starts.shape[0] - 1):
        first = np.intp(rows.indptr[i])
        size = np.intp(rows.indptr[i + 1]) - first
        place = starts[i]
        if starts[i + 1] == place:
            continue
        for t in range(degree):
            chosen[t] = t * step
        while True:
            product = rows.data[first + chosen[0]]
            column = np.intp(rows.indices[first + chosen[0]])
            rank = base - own[degree, column]
            for t in range(1, degree):
                previous = column
                product = product * rows.data[first + chosen[t]]
                column = np.intp(rows.indices[first + chosen[t]])
                rank += after[degree - t, previous] - own[degree - t, column]
            data[place] = product
            indices[place] = rank
            place += 1
            t = degree - 1
            while t >= 0 and chosen[t] == size - 1 - (degree - 1 - t) * step:
                t -= 1
            if t < 0:
                break
            chosen[t] += 1
            for later in range(t + 1, degree):
                chosen[later] = chosen[later - 1] + step
