"""Plain NumPy twins of the kernels of `fastml/kernels/explore`."""

import numpy as np
from scipy.stats import rankdata


def ranks_of(values, chosen):
    """Ranks among the chosen rows that are no NaN; 0 elsewhere."""
    use = chosen & (values == values)
    ranks = np.zeros(len(values))
    ranks[use] = rankdata(values[use])
    return ranks


def tie_sum(values):
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return (counts**3 - counts).sum()


def products(x, y):
    return (x * x).sum(), (y * y).sum(), (x * y).sum()
