import numpy as np
import pytest
from naive import crammer_singer_gap, with_constant
from scipy.sparse import csr_array

from fastml._engines.rows import DesignMatrix
from fastml.kernels.linear.crammer_singer import best_of_row, crammer_singer_epochs
from fastml.kernels.linear.dual_descent import DONE, DescentState
from fastml.svm._linear._solvers import joint

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
"""JIT off: random numbers overflow and empty rows divide by zero on purpose."""


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_best_of_row(n_classes, global_random_seed):
    """Feasible, and no pair of classes can exchange to gain."""
    rng = np.random.default_rng(global_random_seed)
    cost, square, label = 0.7, 1.3, 1
    caps = np.where(np.arange(n_classes) == label, cost, 0.0)
    b = rng.normal(size=n_classes)
    out, levels = np.empty(n_classes), np.empty(n_classes)
    best_of_row(square, label, cost, np.zeros(n_classes), b, levels, out)
    assert out.sum() == pytest.approx(0.0, abs=1e-12)
    assert (out <= caps + 1e-12).all()
    gradient = square * out + b
    assert gradient.max() - gradient[out < caps - 1e-12].min() < 1e-10


@pytest.mark.parametrize("container", [np.asarray, csr_array])
@pytest.mark.parametrize("shape", [(20, 3, 3), (2, 1, 2), (9, 12, 4)])
def test_no_duality_gap(container, shape):
    n, d, n_classes = shape
    rng = np.random.default_rng(0)
    X, labels, costs = rng.normal(size=(n, d)), np.arange(n) % n_classes, rng.uniform(0.2, 1, n)
    X[-1] = 0.0
    design = DesignMatrix(container(X), 1.0)
    alpha = np.zeros((n, n_classes))
    state = DescentState(
        w=np.zeros((n_classes, d + 1)),
        order=np.arange(n),
        bounds=np.array([1.0, 1.0]),
        counts=np.array([n, 0, 0]),
        stream=np.array([5], dtype=np.uint64),
    )
    crammer_singer_epochs(
        20000, 20000, 1e-9, design.rows, labels, costs, design.squares(), alpha, state
    )
    Z = with_constant(X, 1.0)
    np.testing.assert_allclose(alpha.T @ Z, state.w, atol=1e-9)
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-9)
    assert abs(crammer_singer_gap(Z, labels, costs, state.w, alpha)) < 1e-6
    assert state.counts[DONE] == 1


def test_rows_without_content():
    """No constant, only zeros: nothing to learn, and it ends."""
    design = DesignMatrix(np.zeros((4, 2)), 0.0)
    labels, costs = np.arange(4) % 2, np.ones(4)
    w, n_iter = joint(design, labels, costs, 2, 1e-4, 1000, 0, lambda counts: None)
    assert not w.any()
    assert n_iter.max() < 1000
