"""Newton's method for linear models with squared hinge or squared epsilon-insensitive loss.

f(w) = ½ \\|w\\|² + Σ C_i ℓ(w · x_i), gradient w + Σ C_i ℓ'_i x_i, Hessian I + Σ C_i ℓ''_i x_i x_i'.
ℓ'' is 0 or 2: the Hessian changes only by the rows that pass a kink, so it is kept and corrected
(few features), or applied to vectors (many). Chunks of rows own their sums; `newton_chunks` is the
one driver, and its argument ``what`` says which of the passes below to make.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.linear.dual_descent import CLASSIFY
from fastml.kernels.linear.rows import dense_add, dense_dot, sparse_add, sparse_dot

PRODUCT, LOSS, ACCEPT, CURVATURE, HESSIAN_DIAGONAL = 0, 1, 2, 3, 4
HESSIAN_ROWS = 4
"""Rows that are added to a Hessian at once."""


class SquaredLoss(NamedTuple):
    """ℓ and C above: squared hinge (``task`` CLASSIFY) or squared epsilon-insensitive (REGRESS)."""

    task: int
    epsilon: float
    targets: np.ndarray
    costs: np.ndarray


class NewtonRows(NamedTuple):
    """What is known of each row at w: z = w · x, its product with a vector, and C ℓ''."""

    z: np.ndarray
    products: np.ndarray
    curvature: np.ndarray


class NewtonSums(NamedTuple):
    """Sums over the rows of each chunk: losses, vectors, lower triangles of Hessians.

    ``hessians`` are of size 0 if they are not kept.
    """

    losses: np.ndarray
    vectors: np.ndarray
    hessians: np.ndarray


@kernel
def _excess(task, epsilon, target, z):
    """How far z is on the wrong side of the kink, with the sign of −ℓ'; 0 where the loss is 0."""
    if task == CLASSIFY:
        short = 1.0 - target * z
        return target * short if short > 0.0 else 0.0
    gap = target - z
    if gap > epsilon:
        return gap - epsilon
    if gap < -epsilon:
        return gap + epsilon
    return 0.0


@kernel(fast_math=True)
def _loss_of_rows(first, last, loss, z, products, step):
    """Σ C ℓ(z + step · product) over the rows first..last."""
    task, epsilon, targets, costs = loss
    total = 0.0
    for i in range(first, last):
        e = _excess(task, epsilon, targets[i], z[i] + step * products[i])
        total += costs[i] * e * e
    return total


@kernel(fused=True)
def _add_outer(X, bias, rows, factors, n_filled, hessian):
    """Add Σ factor (x, bias)(x, bias)' to the lower triangle of ``hessian``.

    The sum is over the first ``n_filled`` numbers in ``rows`` and ``factors``; the other entries of
    both are overwritten.
    """
    for g in range(n_filled, HESSIAN_ROWS):
        rows[g] = rows[0]
        factors[g] = 0.0
    i0, i1, i2, i3 = rows[0], rows[1], rows[2], rows[3]
    d = X.shape[1]
    for a in range(d):
        f0, f1 = factors[0] * X[i0, a], factors[1] * X[i1, a]
        f2, f3 = factors[2] * X[i2, a], factors[3] * X[i3, a]
        for b in range(a + 1):
            hessian[a, b] += f0 * X[i0, b] + f1 * X[i1, b] + f2 * X[i2, b] + f3 * X[i3, b]
    for g in range(n_filled):
        f = factors[g] * bias
        for b in range(d):
            hessian[d, b] += f * X[rows[g], b]
        hessian[d, d] += f * bias


@kernel
def _accept_rows(first, last, rows, loss, step, known, gradient, hessian):
    """Take the step along ``known.products`` in the rows first..last.

    Changes z and curvature of ``known``, writes ``gradient`` and corrects ``hessian``.
    """
    X, data, indices, indptr, bias = rows
    task, epsilon, targets, costs = loss
    z, products, curvature = known
    dense = indptr.shape[0] == 0
    changed = np.zeros(HESSIAN_ROWS, dtype=np.intp)
    factors = np.zeros(HESSIAN_ROWS)
    filled = 0
    gradient[:] = 0.0
    for i in range(first, last):
        z[i] += step * products[i]
        e = _excess(task, epsilon, targets[i], z[i])
        curve = 2.0 * costs[i] if e != 0.0 else 0.0
        if e != 0.0:
            if dense:
                dense_add(X[i], bias, -2.0 * costs[i] * e, gradient)
            else:
                p, q = indptr[i], indptr[i + 1]
                sparse_add(data[p:q], indices[p:q], bias, -2.0 * costs[i] * e, gradient)
        if curve != curvature[i]:
            if hessian.shape[0] > 0:
                changed[filled], factors[filled] = i, curve - curvature[i]
                filled += 1
                if filled == HESSIAN_ROWS:
                    _add_outer(X, bias, changed, factors, filled, hessian)
                    filled = 0
            curvature[i] = curve
    if filled > 0:
        _add_outer(X, bias, changed, factors, filled, hessian)


@kernel(fused=True)
def _diagonal_of_rows(first, last, rows, curvature, out):
    """Write the diagonal of Σ curvature (x, bias)(x, bias)' over rows first..last to ``out``."""
    X, data, indices, indptr, bias = rows
    last_weight = out.shape[0] - 1
    out[:] = 0.0
    for i in range(first, last):
        c = curvature[i]
        if c == 0.0:
            continue
        if indptr.shape[0] == 0:
            for j in range(last_weight):
                out[j] += c * X[i, j] * X[i, j]
        else:
            for p in range(indptr[i], indptr[i + 1]):
                out[indices[p]] += c * data[p] * data[p]
        out[last_weight] += c * bias * bias


@kernel
def _curve_rows(first, last, rows, curvature, vector, out):
    """Write Σ curvature (x, bias)(x, bias)' vector over the rows first..last to ``out``."""
    X, data, indices, indptr, bias = rows
    dense = indptr.shape[0] == 0
    out[:] = 0.0
    for i in range(first, last):
        if curvature[i] == 0.0:
            continue
        if dense:
            product = dense_dot(X[i], bias, vector)
            dense_add(X[i], bias, curvature[i] * product, out)
        else:
            p, q = indptr[i], indptr[i + 1]
            product = sparse_dot(data[p:q], indices[p:q], bias, vector)
            sparse_add(data[p:q], indices[p:q], bias, curvature[i] * product, out)


@kernel
def _products_of_rows(first, last, rows, vector, products):
    """Write vector · (x, bias) of the rows first..last to ``products``."""
    X, data, indices, indptr, bias = rows
    dense = indptr.shape[0] == 0
    for i in range(first, last):
        if dense:
            products[i] = dense_dot(X[i], bias, vector)
        else:
            p, q = indptr[i], indptr[i + 1]
            products[i] = sparse_dot(data[p:q], indices[p:q], bias, vector)


@kernel
def _newton_chunk(chunk, rows_per_chunk, what, rows, loss, vector, step, known, sums):
    """`newton_chunks` for one chunk: writes its part of ``known`` and ``sums``."""
    first = chunk * rows_per_chunk
    last = min(first + rows_per_chunk, loss.targets.shape[0])
    if what == PRODUCT:
        _products_of_rows(first, last, rows, vector, known.products)
    if what == PRODUCT or what == LOSS:
        sums.losses[chunk] = _loss_of_rows(first, last, loss, known.z, known.products, step)
    elif what == ACCEPT:
        gradient, hessian = sums.vectors[chunk], sums.hessians[chunk]
        _accept_rows(first, last, rows, loss, step, known, gradient, hessian)
    elif what == CURVATURE:
        _curve_rows(first, last, rows, known.curvature, vector, sums.vectors[chunk])
    elif what == HESSIAN_DIAGONAL:
        _diagonal_of_rows(first, last, rows, known.curvature, sums.vectors[chunk])


@parallel_kernel
def newton_chunks(rows_per_chunk, what, rows, loss, vector, step, known, sums):
    """One pass over all `LinearRows` at the weights w that ``known`` stands for.

    PRODUCT: write products with ``vector``, and losses at w + step · vector; LOSS: the latter
    alone; ACCEPT: move ``known`` to there, write the gradient of the losses to ``sums.vectors`` and
    correct ``sums.hessians``; CURVATURE: write (Hessian − I) vector to ``sums.vectors``;
    HESSIAN_DIAGONAL: write the diagonal of Hessian − I there.
    """
    for c in prange(sums.losses.shape[0]):
        _newton_chunk(np.intp(c), rows_per_chunk, what, rows, loss, vector, step, known, sums)
