"""Leading eigenvectors of a symmetric operator by block Lanczos with thick restarts.

A step multiplies a block of b vectors by the operator, takes off what lies in the basis so far
(in the last two blocks and then, against rounding, in all) and adds the rest to it. The best
approximations in the span are the eigenvectors of the projected matrix, and how far they are off
follows from their last b entries:

    \\|A x − θ x\\| = \\|B y_last\\|   with B what was left over of the last block.

When the basis is full, it starts again from the best vectors in it. A block finds eigenvalues that
occur several times, which one vector would miss.

K. Wu and H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import single_threaded_blas

CLOSEST = 1e-14
"""Residuals cannot be asked to be smaller than this share of the largest eigenvalue."""


class Pairs(NamedTuple):
    """The largest eigenvalues, descending, their vectors in columns, and how far these are off."""

    values: NDArray
    vectors: NDArray
    residuals: NDArray  # \|A x − θ x\|
    products: int  # vectors that the operator was applied to
    converged: bool


def block_size(k: int, n: int) -> int:
    """As many vectors as one pass over a matrix serves nearly for the price of one."""
    return max(1, min(n, max(8, min(k // 2, 24))))


def leading_eigenpairs(
    apply: Callable[[NDArray], NDArray],
    n: int,
    k: int,
    *,
    start: NDArray | None = None,
    random_state=0,
    tol: float = 0.0,
    basis: int | None = None,
    most_products: int | None = None,
    share: bool = False,
) -> Pairs:
    """The ``k`` algebraically largest eigenvalues of a symmetric operator on vectors of length n.

    ``apply`` takes and returns (n, b) float64. Ends when residuals are below ``tol`` times the
    largest eigenvalue (with ``share``: when Σ residual²/gap is below tol times the sum, which
    bounds what the k eigenvalues together lack) or ``most_products`` vectors were multiplied.
    BLAS has one thread meanwhile: ``apply`` is to bring its own (`operators.symmetric_product`).
    """
    with single_threaded_blas():
        return _leading(apply, n, min(k, n), start, random_state, tol, basis, most_products, share)


def _leading(apply, n, k, start, random_state, tol, basis, most_products, share) -> Pairs:
    from sklearn.utils import check_random_state

    random = check_random_state(random_state)
    if start is None:
        start = random.uniform(-1.0, 1.0, size=(n, block_size(k, n)))
    width = min(start.shape[1], n)
    new = np.linalg.qr(start[:, :width])[0]
    most = min(n, basis or max(3 * k + 2 * width, 20 * width))
    most = max(most, min(n, k + 2 * width))
    Q = np.empty((n, most), order="F")
    T = np.zeros((most, most))
    m, done, steps, local = 0, 0, 0, 0
    limit = max(tol, CLOSEST)
    while True:
        b = new.shape[1]
        Q[:, m : m + b] = new
        W = np.array(apply(np.ascontiguousarray(new)))  # to be written to
        done += b
        span = Q[:, : m + b]
        along = _take_off(W, span[:, local:])  # the others are at right angles to W
        first = _take_off(W, span)
        first[local:] += along
        local = m
        T[: m + b, m : m + b] = first
        T[m : m + b, : m + b] = first.T
        block = T[m : m + b, m : m + b]
        T[m : m + b, m : m + b] = 0.5 * (block + block.T)
        m += b
        steps += 1
        left, B = np.linalg.qr(W)
        U, s, Vt = np.linalg.svd(B)
        whole = m >= n
        over = most_products is not None and m >= k and done >= most_products
        scale = np.abs(T[:m, :m]).sum(axis=1).max()  # no eigenvalue of T is larger
        kept = int(np.sum(s > CLOSEST * scale))
        full = m + min(max(kept, 1), n - m) > most
        if whole or over or full or kept == 0 or (m > k and steps % 2 == 0):
            theta, Y = np.linalg.eigh(T[:m, :m])
            theta, Y = theta[::-1], Y[:, ::-1]
            scale = max(abs(theta[0]), abs(theta[-1]), np.finfo(np.float64).tiny)
            residuals = np.linalg.norm((s[:kept, None] * Vt[:kept]) @ Y[m - b :, :k], axis=0)
            small = residuals <= limit * scale
            enough = m >= k and (_together(theta, residuals, k, limit) if share else small.all())
            if enough or whole or over:
                count = min(k, m)
                return Pairs(
                    theta[:count].copy(), span @ Y[:, :count], residuals[:count], done,
                    bool(enough or whole),
                )  # fmt: skip
        new = left @ U[:, :kept]
        if kept and s[kept - 1] < 1e-6 * scale:  # rounding is not at right angles
            new -= span @ (span.T @ new)
            new = np.linalg.qr(new)[0]
        if kept == 0:  # the span is closed: what is left must be found from elsewhere
            fresh = random.uniform(-1.0, 1.0, size=(n, min(width, n - m)))
            for _ in range(2):
                fresh -= span @ (span.T @ fresh)
            new = np.linalg.qr(fresh)[0]
            local = 0
        new = new[:, : n - m]
        if m + new.shape[1] > most:
            keep = max(k, min(m, most - new.shape[1], k + width))
            keep = min(keep, most - new.shape[1])
            Q[:, :keep] = span @ Y[:, :keep]
            T[:] = 0.0
            T[np.arange(keep), np.arange(keep)] = theta[:keep]
            m, local = keep, 0


def _take_off(W: NDArray, span: NDArray) -> NDArray:
    """W ← W − S S'W for the orthonormal columns S of ``span``; returns S'W."""
    along = span.T @ W
    W -= span @ along
    return along


def _together(theta, residuals, k, limit) -> bool:
    """Whether the first k eigenvalues together are within ``limit`` of what they can become."""
    if len(theta) <= k:
        return False
    gap = np.maximum(theta[:k] - theta[k], residuals[:k])
    gap = np.where(gap > 0.0, gap, 1.0)
    lacking = (residuals[:k] ** 2 / gap).sum()
    return bool(lacking <= limit * np.abs(theta[:k]).sum())
