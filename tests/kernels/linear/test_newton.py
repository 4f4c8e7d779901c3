import numpy as np
import pytest
from naive import squared_loss_parts, with_constant
from scipy.sparse import csr_array

from fastml._engines.rows import DesignMatrix
from fastml.kernels.linear.dual_descent import CLASSIFY, REGRESS
from fastml.kernels.linear.newton import (
    ACCEPT,
    CURVATURE,
    HESSIAN_DIAGONAL,
    LOSS,
    PRODUCT,
    NewtonRows,
    NewtonSums,
    SquaredLoss,
    newton_chunks,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("task", [CLASSIFY, REGRESS])
@pytest.mark.parametrize("n_rows, rows_per_chunk", [(1, 1), (2, 2), (23, 23), (23, 6)])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_pass(container, task, n_rows, rows_per_chunk, n_threads):
    rng = np.random.default_rng(n_rows)
    d = 5
    X = rng.normal(size=(n_rows, d)) * (rng.random((n_rows, d)) < 0.8)
    targets = rng.choice([-1.0, 1.0], n_rows) if task == CLASSIFY else rng.normal(size=n_rows)
    costs, epsilon, bias = rng.uniform(0.5, 2.0, n_rows), 0.4, 1.5
    Z = with_constant(X, bias)
    n_chunks = -(-n_rows // rows_per_chunk)
    size = d + 1 if container is np.asarray else 0
    known = NewtonRows(*np.zeros((3, n_rows)))
    sums = NewtonSums(
        np.empty(n_chunks), np.empty((n_chunks, d + 1)), np.zeros((n_chunks, size, size))
    )
    rows = DesignMatrix(container(X), bias).rows
    squared_loss = SquaredLoss(task, epsilon, targets, costs)

    def visit(what, vector, step):
        newton_chunks(
            rows_per_chunk, what, rows, squared_loss, vector, step, known, sums,
            n_threads=n_threads,
        )  # fmt: skip

    w = np.zeros(d + 1)
    visit(ACCEPT, w, 0.0)
    for _ in range(3):  # the Hessian is corrected, not rebuilt
        direction, step = rng.normal(size=d + 1), rng.uniform(0.3, 1.0)
        visit(PRODUCT, direction, 1.0)
        np.testing.assert_allclose(known.products, Z @ direction)
        loss = squared_loss_parts(task, Z, targets, costs, epsilon, w + direction)[0]
        assert sums.losses.sum() == pytest.approx(loss)
        visit(LOSS, direction, step)
        visit(ACCEPT, direction, step)
        w = w + step * direction
        loss, gradient, hessian = squared_loss_parts(task, Z, targets, costs, epsilon, w)
        assert sums.losses.sum() == pytest.approx(loss)
        np.testing.assert_allclose(sums.vectors.sum(axis=0), gradient, atol=1e-10)
        if size:
            np.testing.assert_allclose(sums.hessians.sum(axis=0), np.tril(hessian), atol=1e-10)
        visit(CURVATURE, direction, 0.0)
        np.testing.assert_allclose(sums.vectors.sum(axis=0), hessian @ direction, atol=1e-10)
        visit(HESSIAN_DIAGONAL, direction, 0.0)
        np.testing.assert_allclose(sums.vectors.sum(axis=0), hessian.diagonal(), atol=1e-10)
