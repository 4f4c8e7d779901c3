import numpy as np
import pytest
from naive import lasso_hinge_weights, squared_loss_parts, with_constant
from scipy.sparse import csr_array

from fastml._engines.rows import DesignMatrix
from fastml.kernels.linear.dual_descent import DONE
from fastml.kernels.linear.l1_descent import descend_l1, loss_change, move, slope_and_curvature
from fastml.svm._linear._solvers import Descents

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
"""JIT off: random numbers overflow and empty rows divide by zero on purpose."""


def problem(n=25, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    signs = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, signs, rng.uniform(0.1, 1.0, n)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_pieces_of_a_step(container):
    X, signs, costs = problem()
    Z = with_constant(X, 2.0)
    columns = DesignMatrix(container(X), 2.0).columns()
    w = np.array([0.3, -0.2, 0.0, 0.4, 0.1])
    loss, gradient, hessian = squared_loss_parts(0, Z, signs, costs, 0.0, w)
    for j in range(5):
        slack = 1.0 - signs * (Z @ w)
        slope, curvature, bound = slope_and_curvature(columns, j, signs, costs, slack)
        assert slope == pytest.approx(gradient[j])
        assert curvature == pytest.approx(hessian[j, j])
        assert bound == pytest.approx(2.0 * costs @ Z[:, j] ** 2)
        moved = w + 0.25 * (np.arange(5) == j)
        new, _, _ = squared_loss_parts(0, Z, signs, costs, 0.0, moved)
        change = loss_change(columns, j, signs, costs, slack, 0.25)
        assert change == pytest.approx(new - loss)
        move(columns, j, signs, slack, 0.25)
        np.testing.assert_allclose(slack, 1.0 - signs * (Z @ moved))


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("shape", [(25, 4), (1, 2), (2, 1), (6, 10)])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_weights(container, shape, scale):
    X, signs, costs = problem(*shape)
    costs = scale * costs
    columns = DesignMatrix(container(X), 1.0).columns()
    state = Descents(2, shape[1] + 1, shape[1] + 1, 3).state
    slack = np.ones((2, shape[0]))
    both = [np.repeat(a[None], 2, axis=0) for a in (signs, costs)]
    descend_l1(3000, 3000, np.full(2, 1e-10), columns, *both, slack, state, n_threads=1)
    Z = with_constant(X, 1.0)
    expected = lasso_hinge_weights(Z, signs, costs)

    def value(w):
        return np.abs(w).sum() + squared_loss_parts(0, Z, signs, costs, 0.0, w)[0]

    assert state.counts[:, DONE].all()
    for w in state.w:
        assert value(w) <= value(expected) * (1 + 1e-8) + 1e-10
    np.testing.assert_allclose(slack[0], 1.0 - signs * (Z @ state.w[0]), atol=1e-9)
