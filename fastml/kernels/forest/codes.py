"""Values → integers of the same order: bins or ranks among cuts, or sortable bits."""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree.presort import key_of

SIDE_BY_SIDE = 16
ONE_32 = np.uint32(1)


@kernel
def code_column(X, f, cuts, n, codes):
    """Write to codes[i] the number of the ``n`` cuts below X[i, f]; missing values get ``n``.

    The last cut is the greatest value; a greater one gets the last code. Rows bisect side by side,
    a step of all after a step of all: no branch depends on a value, and loads overlap.
    """
    values = np.empty(SIDE_BY_SIDE, np.float32)
    low = np.empty(SIDE_BY_SIDE, np.uint32)
    for first in range(0, X.shape[0], SIDE_BY_SIDE):
        m = min(SIDE_BY_SIDE, X.shape[0] - first)
        for j in range(m):
            values[j] = X[first + j, f]
            low[j] = 0
        size = np.uint32(n - 1)
        while size > 0:
            half = np.uint32((size + ONE_32) >> ONE_32)
            for j in range(m):
                low[j] += half * np.uint32(cuts[low[j] + half - ONE_32] < values[j])
            size = np.uint32(size - half)
        for j in range(m):
            codes[first + j] = low[j] if values[j] == values[j] else n


@parallel_kernel
def assign_codes(X, cuts, n_cuts, codes):
    """Write the codes of column f to codes[f], as `code_column` does."""
    for f in prange(X.shape[1]):
        code_column(X, f, cuts[f], n_cuts[f], codes[f])


@kernel
def key_column(X, f, keys):
    """Write `key_of` X[i, f] to keys[i]."""
    for i in range(X.shape[0]):
        keys[i] = np.uint32(key_of(X[i, f]))


@parallel_kernel
def assign_keys(X, keys):
    """Write the keys of column f to keys[f]."""
    for f in prange(X.shape[1]):
        key_column(X, f, keys[f])
