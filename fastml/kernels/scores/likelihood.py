"""Log-likelihood of predicted probabilities.

A logarithm per LIKELIHOOD_ROWS rows: probabilities are clipped at 2^-52 or above, so the product of
16 of them is no smaller than 2^-832, and has 16 roundings where a sum of logarithms has as many.
Probabilities of float32 are read as they are and reckoned with in float64.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import log64

LIKELIHOOD_ROWS = 16


@kernel
def _clipped(p, least):
    """Return p between ``least`` and 1 - ``least``."""
    if p < least:
        return least
    if p > 1.0 - least:
        return 1.0 - least
    return p


@kernel
def binary_log_likelihood(codes, p, least):
    """Return the sum of log p where the code is 1, of log(1 - p) elsewhere; the range and sum of p.

    Probabilities are clipped at ``least`` and 1 - ``least``.
    """
    total = 0.0
    lowest = np.float64(p[0])
    highest = lowest
    p_sum = 0.0
    n = p.shape[0]
    for start in range(0, n, LIKELIHOOD_ROWS):
        product = 1.0
        for i in range(start, min(start + LIKELIHOOD_ROWS, n)):
            value = np.float64(p[i])
            if value < lowest:
                lowest = value
            if value > highest:
                highest = value
            p_sum += value
            product *= _clipped(value if codes[i] == 1 else 1.0 - value, least)
        total += log64(product)
    return total, lowest, highest, p_sum


@kernel
def log_likelihood(codes, p, least, slack):
    """Return the sum of log p[i, codes[i]]; the range and sum of p; the rows that do not sum to 1.

    Probabilities are clipped at ``least`` and 1 - ``least``; sums may differ from 1 by ``slack``.
    """
    total = 0.0
    lowest = np.float64(p[0, 0])
    highest = lowest
    p_sum = 0.0
    n_off = 0
    n, k = p.shape
    for start in range(0, n, LIKELIHOOD_ROWS):
        product = 1.0
        for i in range(start, min(start + LIKELIHOOD_ROWS, n)):
            row_sum = 0.0
            for j in range(k):
                value = np.float64(p[i, j])
                if value < lowest:
                    lowest = value
                if value > highest:
                    highest = value
                row_sum += value
            p_sum += row_sum
            if abs(row_sum - 1.0) > slack:
                n_off += 1
            product *= _clipped(np.float64(p[i, codes[i]]), least)
        total += log64(product)
    return total, lowest, highest, p_sum, n_off
