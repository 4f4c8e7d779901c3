"""Newton's method for linear models with squared hinge or squared epsilon-insensitive loss.

f(w) = ½ \\|w\\|² + Σ C_i ℓ(w · x_i), gradient w + Σ C_i ℓ'_i x_i, Hessian I + Σ C_i ℓ''_i x_i x_i'.
ℓ'' is 0 or 2: the Hessian changes only by the rows that pass a kink, so it is kept and corrected
(few features), or applied to vectors (many). Chunks of rows own their sums; `newton_chunks` is the
one driver, told by ``what`` which of the passes below to make.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.linear_rows import dense_add, dense_dot, sparse_add, sparse_dot

CLASSIFY, REGRESS = 0, 1
PRODUCT, LOSS, ACCEPT, CURVATURE, DIAGONAL = 0, 1, 2, 3, 4
GROUP = 4


@kernel
def excess(task, epsilon, target, z):
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
def loss_of_rows(task, epsilon, first, last, targets, costs, z, products, step):
    """Σ C ℓ(z + step · product)."""
    total = 0.0
    for i in range(first, last):
        e = excess(task, epsilon, targets[i], z[i] + step * products[i])
        total += costs[i] * e * e
    return total


@kernel(fused=True)
def add_outer(X, bias, rows, factors, n_filled, hessian):
    """hessian += Σ factor (x, bias)(x, bias)' of up to four rows, in the lower triangle."""
    for g in range(n_filled, GROUP):
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
def accept_rows(
    task, epsilon, first, last, X, data, indices, indptr, bias, targets, costs,
    z, products, step, curvature, gradient, hessian,
):  # fmt: skip
    """z += step · product, then the rows' gradient and the change of their Hessian."""
    dense = indptr.shape[0] == 0
    rows = np.zeros(GROUP, dtype=np.intp)
    factors = np.zeros(GROUP)
    filled = 0
    gradient[:] = 0.0
    for i in range(first, last):
        z[i] += step * products[i]
        e = excess(task, epsilon, targets[i], z[i])
        curve = 2.0 * costs[i] if e != 0.0 else 0.0
        if e != 0.0:
            if dense:
                dense_add(X[i], bias, -2.0 * costs[i] * e, gradient)
            else:
                p, q = indptr[i], indptr[i + 1]
                sparse_add(data[p:q], indices[p:q], bias, -2.0 * costs[i] * e, gradient)
        if curve != curvature[i]:
            if hessian.shape[0] > 0:
                rows[filled], factors[filled] = i, curve - curvature[i]
                filled += 1
                if filled == GROUP:
                    add_outer(X, bias, rows, factors, filled, hessian)
                    filled = 0
            curvature[i] = curve
    if filled > 0:
        add_outer(X, bias, rows, factors, filled, hessian)


@kernel(fused=True)
def diagonal_of_rows(first, last, X, data, indices, indptr, bias, curvature, out):
    """Diagonal of Σ curvature (x, bias)(x, bias)'."""
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
def _newton_chunk(
    chunk, rows_per_chunk, what, task, epsilon, X, data, indices, indptr, bias, targets, costs,
    vector, step, z, products, curvature, losses, sums, hessians,
):  # fmt: skip
    dense = indptr.shape[0] == 0
    first = chunk * rows_per_chunk
    last = min(first + rows_per_chunk, targets.shape[0])
    if what == PRODUCT:
        for i in range(first, last):
            if dense:
                products[i] = dense_dot(X[i], bias, vector)
            else:
                p, q = indptr[i], indptr[i + 1]
                products[i] = sparse_dot(data[p:q], indices[p:q], bias, vector)
    if what == PRODUCT or what == LOSS:
        losses[chunk] = loss_of_rows(task, epsilon, first, last, targets, costs, z, products, step)
    elif what == ACCEPT:
        accept_rows(
            task, epsilon, first, last, X, data, indices, indptr, bias, targets, costs,
            z, products, step, curvature, sums[chunk], hessians[chunk],
        )  # fmt: skip
    elif what == CURVATURE:
        total = sums[chunk]
        total[:] = 0.0
        for i in range(first, last):
            if curvature[i] == 0.0:
                continue
            if dense:
                product = dense_dot(X[i], bias, vector)
                dense_add(X[i], bias, curvature[i] * product, total)
            else:
                p, q = indptr[i], indptr[i + 1]
                product = sparse_dot(data[p:q], indices[p:q], bias, vector)
                sparse_add(data[p:q], indices[p:q], bias, curvature[i] * product, total)
    elif what == DIAGONAL:
        diagonal_of_rows(first, last, X, data, indices, indptr, bias, curvature, sums[chunk])


@parallel_kernel
def newton_chunks(
    rows_per_chunk, what, task, epsilon, X, data, indices, indptr, bias, targets, costs,
    vector, step, z, products, curvature, losses, sums, hessians,
):  # fmt: skip
    """One pass over all rows.

    PRODUCT: products = X vector, and losses at ``step``; LOSS: the latter alone; ACCEPT: take that
    step, sums = gradient, hessians corrected; CURVATURE: sums = (Hessian − I) vector; DIAGONAL:
    sums = its diagonal.
    """
    for c in prange(losses.shape[0]):
        _newton_chunk(
            np.intp(c), rows_per_chunk, what, task, epsilon, X, data, indices, indptr, bias,
            targets, costs, vector, step, z, products, curvature, losses, sums, hessians,
        )  # fmt: skip
