"""Raw values → one-byte bins, row by row.

A number x of feature f falls into bin ``#{t in thresholds[f] : t < x}``, a category into the bin of
its code; NaN, an unknown code and a negative code fall into ``missing_bin``. Thresholds are padded
with infinity to `WIDTH` per feature, so that the search is eight steps without a branch.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

WIDTH = 256


@kernel
def bin_of(x, thresholds, f):
    """How many of the `WIDTH` ascending thresholds of feature f are below x; 0 if x is NaN."""
    # A product instead of a branch: the comparisons are coin tosses, which no processor foresees.
    below = np.intp(thresholds[f, 127] < x) * 128
    below += np.intp(thresholds[f, below + 63] < x) * 64
    below += np.intp(thresholds[f, below + 31] < x) * 32
    below += np.intp(thresholds[f, below + 15] < x) * 16
    below += np.intp(thresholds[f, below + 7] < x) * 8
    below += np.intp(thresholds[f, below + 3] < x) * 4
    below += np.intp(thresholds[f, below + 1] < x) * 2
    below += np.intp(thresholds[f, below] < x)
    return below


@kernel
def bin_chunk(chunk, rows_per_chunk, X, thresholds, n_categories, missing_bin, out):
    """`bin_rows` for one chunk of rows."""
    first = chunk * rows_per_chunk
    last = min(X.shape[0], first + rows_per_chunk)
    for i in range(first, last):
        for f in range(X.shape[1]):
            x = X[i, f]
            if n_categories[f] > 0:
                found = missing_bin
                if x >= 0.0 and x < n_categories[f]:
                    found = np.intp(x)
            else:
                found = bin_of(x, thresholds, f)
                if x != x:
                    found = missing_bin
            out[i, f] = np.uint8(found)


@parallel_kernel
def bin_rows(n_chunks, rows_per_chunk, X, thresholds, n_categories, missing_bin, out):
    """Write the bin of X[i, f] to out[i, f]; ``n_categories[f]`` is 0 if f is a number."""
    for c in prange(n_chunks):
        bin_chunk(np.intp(c), rows_per_chunk, X, thresholds, n_categories, missing_bin, out)
