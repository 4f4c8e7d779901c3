"""What the neighbours of every row say of the embedding: weights, tangents, curvature.

Each function takes the rows in blocks, on threads, and handles a block by LAPACK on stacks of small
matrices. What a row gets does not depend on the block it is in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array

from fastml._engines.spectral.blocks import on_threads

VALUES_AT_ONCE = 1 << 18
OPERATIONS_PER_VALUE = 200.0
"""Of LAPACK, per entry of a small matrix."""


def _by_blocks(work: Callable[[slice], tuple], n: int, width: int, n_jobs) -> list[NDArray]:
    """What ``work`` says of slices of rows, put together; width: values per row."""
    step = max(1, VALUES_AT_ONCE // max(width, 1))
    slices = [slice(start, min(n, start + step)) for start in range(0, n, step)]
    found = on_threads(work, slices, OPERATIONS_PER_VALUE * n * width, n_jobs)
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def barycenters(rows: NDArray, others: NDArray, near: NDArray, reg: float, n_jobs=None) -> NDArray:
    """Weights w, of sum 1, by which the neighbours of each row make it up:
    ``(G + reg tr(G) I) w ∝ 1``, G the Gram matrix of the neighbours seen from the row."""
    n, k = near.shape

    def weights(block):
        apart = others[near[block]] - rows[block, None]
        gram = apart @ apart.transpose(0, 2, 1)
        traces = np.trace(gram, axis1=1, axis2=2)
        diagonal = np.einsum("ikk->ik", gram)
        diagonal += (reg * np.where(traces > 0, traces, 1.0))[:, None]
        found = np.linalg.solve(gram, np.ones((len(gram), k, 1)))[..., 0]
        return (found / found.sum(axis=1, keepdims=True),)

    return _by_blocks(weights, n, k * (k + rows.shape[1]), n_jobs)[0]


def by_weights(X: NDArray, near: NDArray, reg: float, n_jobs=None) -> csr_array:
    """``(I - W)' (I - W)``: how far rows are from what their neighbours make up."""
    n, k = near.shape
    weights = barycenters(X, X, near, reg, n_jobs)
    W = csr_array((weights.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    rest = eye_array(n, format="csr") - W
    return csr_array(rest.T @ rest)


def by_curvature(X: NDArray, near: NDArray, d: int, tol: float, n_jobs=None) -> csr_array:
    """Hessian eigenmaps: what is left of the neighbours beside constants and tangents, orthogonal
    to each other and to products of tangents."""
    n, k = near.shape

    def curvature(block):
        tangents = _tangents(X[near[block]], d)
        products = [tangents[:, :, a, None] * tangents[:, :, a:] for a in range(d)]
        ones = np.ones((*tangents.shape[:2], 1))
        Q = np.linalg.qr(np.concatenate([ones, tangents, *products], axis=2), mode="complete")[0]
        rest = Q[:, :, d + 1 :]
        sums = rest.sum(axis=1, keepdims=True)
        rest = rest / np.where(np.abs(sums) < tol, 1.0, sums)
        return (rest @ rest.transpose(0, 2, 1),)

    return _added(near, _by_blocks(curvature, n, k * (k + X.shape[1]), n_jobs)[0])


def by_tangents(X: NDArray, near: NDArray, d: int, n_jobs=None) -> csr_array:
    """Alignment of tangent spaces: what of the neighbours is neither constant nor tangent."""
    n, k = near.shape

    def rest(block):
        tangents = _tangents(X[near[block]], d)
        return (np.eye(k) - 1.0 / k - tangents @ tangents.transpose(0, 2, 1),)

    return _added(near, _by_blocks(rest, n, k * (k + X.shape[1]), n_jobs)[0])


def by_several_weights(X: NDArray, near: NDArray, d: int, tol: float, n_jobs=None) -> csr_array:
    """Modified embedding: several weight vectors per row, as many as its neighbours leave free."""
    n, k = near.shape
    n_values = min(k, X.shape[1])

    def decomposed(block):
        apart = X[near[block]] - X[block, None]
        if k > X.shape[1]:
            vectors, roots, _ = np.linalg.svd(apart, full_matrices=True)
            return vectors, roots**2
        values, vectors = np.linalg.eigh(apart @ apart.transpose(0, 2, 1))
        return vectors[:, :, ::-1], values[:, ::-1]

    vectors, values = _by_blocks(decomposed, n, k * (k + X.shape[1]), n_jobs)
    small = 1e-3 * values.sum(axis=1)
    shares = vectors.sum(axis=1)
    shares[:, :n_values] /= values + small[:, None]
    shares[:, n_values:] /= small[:, None]
    weights = (vectors @ shares[:, :, None])[..., 0]
    weights /= weights.sum(axis=1, keepdims=True)
    eta = np.median(values[:, d:].sum(axis=1) / values[:, :d].sum(axis=1))
    kept = np.cumsum(values, axis=1)
    free = (kept[:, -1:] / kept[:, :-1] - 1.0 < eta).sum(axis=1) + k - n_values
    squares, sums = np.empty((n, k, k)), np.empty((n, k))
    for count in np.unique(free):
        at = np.flatnonzero(free == count)
        basis = vectors[at, :, k - count :]
        totals = basis.sum(axis=1)
        length = np.linalg.norm(totals, axis=1, keepdims=True) / np.sqrt(max(count, 1))
        mirror = length - totals
        norms = np.linalg.norm(mirror, axis=1, keepdims=True)
        mirror = np.where(norms < tol, 0.0, mirror / np.where(norms > 0, norms, 1.0))
        turned = basis - 2.0 * (basis @ mirror[:, :, None]) * mirror[:, None]
        turned += ((1.0 - length) * weights[at])[:, :, None]
        squares[at] = turned @ turned.transpose(0, 2, 1)
        sums[at] = turned.sum(axis=2)
    each = np.repeat(np.arange(n), k)
    beside = csr_array(coo_array((sums.ravel(), (each, near.ravel())), shape=(n, n)))
    own = coo_array((free.astype(np.float64), (np.arange(n), np.arange(n))), shape=(n, n))
    return csr_array(_added(near, squares) - beside - beside.T + own)


def _tangents(patches: NDArray, d: int) -> NDArray:
    """The leading d left singular vectors of each patch of rows, centred."""
    patches = patches - patches.mean(axis=1, keepdims=True)
    if patches.shape[1] > patches.shape[2]:
        return np.linalg.svd(patches, full_matrices=False)[0][:, :, :d]
    return np.linalg.eigh(patches @ patches.transpose(0, 2, 1))[1][:, :, : -d - 1 : -1]


def _added(near: NDArray, squares: NDArray) -> csr_array:
    """The k × k matrices of all rows, each added at the rows' neighbours."""
    n, k = near.shape
    index = near.astype(np.int32) if n < 2**31 else near
    at = (np.repeat(index, k, axis=1).ravel(), np.tile(index, (1, k)).ravel())
    return csr_array(coo_array((squares.ravel(), at), shape=(n, n)))
