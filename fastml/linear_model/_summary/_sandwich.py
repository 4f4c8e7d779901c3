"""Errors that need no equal variance (HC0 to HC3) or no independence within groups.

The covariance is B M B: B = root root' is the inverse of the Gram matrix, M the sum of squares of
every row's (or group's) part of the gradient. Leverages are taken row by row, never as an n × n
matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml.linear_model._summary._design import Design, row_blocks

ROBUST = ("HC0", "HC1", "HC2", "HC3")
LEVERAGE_POWER = {"HC2": 1.0, "HC3": 2.0}


def robust_covariance(
    X, design: Design, kind: str, pulls: NDArray, curvature: NDArray, repeats: NDArray | None
) -> NDArray:
    """The middle of the covariance root · middle · root'.

    Row i of the gradient is ``pulls[i]`` z_i, and its leverage ``curvature[i]`` z_i'Bz_i; it counts
    ``repeats[i]`` times.
    """
    k = design.n_columns
    meat = np.zeros((k, k))
    power = LEVERAGE_POWER.get(kind, 0.0)
    for rows, block in row_blocks(X):
        z = design.standardised(block)
        squares = pulls[rows] ** 2
        if power:
            spread = z @ design.root
            leverage = curvature[rows] * np.einsum("ij,ij->i", spread, spread)
            squares = squares / (1.0 - leverage) ** power
        if repeats is not None:
            squares = squares * repeats[rows]
        z *= np.sqrt(squares)[:, None]
        meat += z.T @ z
    return _around(design, meat)


def clustered_covariance(
    X, design: Design, groups: NDArray, n_groups: int, pulls: NDArray, repeats: NDArray | None
) -> NDArray:
    """The middle as above, where the rows of a group count as one."""
    from scipy.sparse import csr_array

    sums = np.zeros((n_groups, design.n_columns))
    weights = pulls if repeats is None else pulls * repeats
    for rows, block in row_blocks(X):
        here, own = np.unique(groups[rows], return_inverse=True)
        n = len(own)
        member = csr_array((weights[rows], (own, np.arange(n))), shape=(len(here), n))
        sums[here] += member @ design.standardised(block)
    return _around(design, sums.T @ sums)


def _around(design: Design, meat: NDArray) -> NDArray:
    return design.root.T @ meat @ design.root
