"""Values → integer codes: the bin or the rank of every value among the cuts of its feature."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange


@kernel
def code_rows(X, cuts, n_cuts, first, last, codes):
    """codes[i, f] = number of ``cuts[f]`` below X[i, f]; missing values get ``n_cuts[f]``.

    The last cut of a feature is its greatest value; a greater one gets the last code.
    """
    for i in range(first, last):
        for f in range(X.shape[1]):
            value = X[i, f]
            n = n_cuts[f]
            if value != value:
                codes[i, f] = n
                continue
            low = 0
            size = n - 1
            while size > 0:  # branch-free but for the loop
                half = (size + 1) >> 1
                low += half if cuts[f, low + half - 1] < value else 0
                size -= half
            codes[i, f] = low


@parallel_kernel
def assign_codes(X, cuts, n_cuts, codes, rows_per_chunk):
    n_chunks = (X.shape[0] + rows_per_chunk - 1) // rows_per_chunk
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        code_rows(X, cuts, n_cuts, first, min(first + rows_per_chunk, X.shape[0]), codes)
