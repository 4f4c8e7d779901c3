"""Expected mutual information of two random partitions with given cluster sizes.

    E = sum_ij sum_n  n/N log(N n / (a_i b_j)) · P(n),   P hypergeometric:
    P(n) = a! b! (N-a)! (N-b)! / (N! n! (a-n)! (b-n)! (N-a-b+n)!)

Vinh, Epps, Bailey, "Information theoretic measures for clusterings comparison", JMLR 11 (2010).
Sizes that occur more than once are summed once; factorials come from a table of logarithms.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import exp64


@kernel(fast_math=True)
def _one_pair(a, b, n_samples, log_factorial, log_n):
    """Return the sum over n for clusters of a and b of ``n_samples`` members."""
    constant = (
        log_factorial[a]
        + log_factorial[b]
        + log_factorial[n_samples - a]
        + log_factorial[n_samples - b]
        - log_factorial[n_samples]
    )
    ratio = log_n[n_samples] - log_n[a] - log_n[b]
    rest = n_samples - a - b
    total = 0.0
    for n in range(max(1, -rest), min(a, b) + 1):
        log_p = constant - log_factorial[n] - log_factorial[a - n]
        log_p -= log_factorial[b - n] + log_factorial[rest + n]
        total += np.float64(n) * (ratio + log_n[n]) * exp64(log_p)
    return total / n_samples


@kernel
def expected_information(sizes, counts, other_sizes, other_counts, log_factorial, log_n):
    """Return E, from the sizes and how often they occur, for both partitions.

    ``log_factorial`` and ``log_n`` hold log n! and log n for n = 0..N.
    """
    n_samples = log_n.shape[0] - 1
    total = 0.0
    for i in range(sizes.shape[0]):
        for j in range(other_sizes.shape[0]):
            term = _one_pair(sizes[i], other_sizes[j], n_samples, log_factorial, log_n)
            total += counts[i] * other_counts[j] * term
    return total
