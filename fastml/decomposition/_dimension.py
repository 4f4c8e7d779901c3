"""How many components there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

EPS = 1e-15


def log_evidence(variances: NDArray, rank: int, n_samples: float) -> float:
    """Of ``rank`` components, by Laplace's approximation (Minka, NIPS 2000, eq. 30).

    It needs 1 ≤ rank < number of variances, which descend.
    """
    d = len(variances)
    if variances[rank - 1] < EPS:
        return -np.inf
    half = (d - np.arange(rank)) / 2.0
    prior = -rank * np.log(2.0) + (gammaln(half) - np.log(np.pi) * half).sum()
    noise = max(EPS, float(variances[rank:].sum()) / (d - rank))
    fit = -0.5 * n_samples * (np.log(variances[:rank]).sum() + np.log(noise) * (d - rank))
    m = d * rank - rank * (rank + 1.0) / 2.0
    smoothed = variances.copy()
    smoothed[rank:] = noise
    i, j = np.triu_indices(rank, 1, d)
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = (variances[i] - variances[j]) * (1.0 / smoothed[j] - 1.0 / smoothed[i])
        hessian = np.log(bends).sum() + len(i) * np.log(n_samples)
    found = (
        prior + fit + 0.5 * (m + rank) * np.log(2.0 * np.pi) - 0.5 * hessian
        - 0.5 * rank * np.log(n_samples)
    )  # fmt: skip
    return float(found) if not np.isnan(found) else -np.inf


def most_likely_rank(variances: NDArray, n_samples: float) -> int:
    """The rank of the largest evidence, from 1 to the number of variances less one."""
    if len(variances) == 1:
        return 0
    scores = [log_evidence(variances, rank, n_samples) for rank in range(1, len(variances))]
    return 1 + int(np.argmax(scores)) if np.max(scores) > -np.inf else 0


def rank_of_share(ratios: NDArray, share: float) -> int:
    """The fewest components that explain more than ``share`` of the variance."""
    return min(int(np.searchsorted(np.cumsum(ratios), share, side="right")) + 1, len(ratios))
