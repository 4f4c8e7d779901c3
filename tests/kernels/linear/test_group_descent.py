import numpy as np
import pytest
from naive_linear import group_pass

from fastml.kernels.linear.gram_descent import Net, descend
from fastml.kernels.linear.group_descent import group_descend, group_gap, group_sweep

pytestmark = pytest.mark.small


def problem(n, d, targets, kind="random"):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(n, d)), rng.normal(size=(n, targets))
    if kind == "constant":
        A[:, 0] = 0.0
    return A, B, A.T @ A, A.T @ B, float((B * B).sum())


def value(A, B, W, l1, l2):
    rows = np.linalg.norm(W, axis=1)
    return 0.5 * np.sum((B - A @ W) ** 2) + l1 * rows.sum() + 0.5 * l2 * (rows**2).sum()


@pytest.mark.parametrize("shape", [(12, 5, 2), (1, 1, 1), (2, 3, 4)])
@pytest.mark.parametrize("kind", ["random", "constant"])
def test_group_sweep(shape, kind):
    A, B, gram, cross, _ = problem(*shape, kind)
    W, pull, goal = np.zeros(cross.shape), cross.copy(), np.empty(shape[2])
    order = np.arange(shape[1])
    for _ in range(3):
        expected = group_pass(gram, pull, W, order, 0.3, 0.2)
        found = group_sweep(gram, pull, W, order, 0.3, 0.2, goal)
        for a, e in zip((W, pull, *found), expected):
            np.testing.assert_allclose(a, e, atol=1e-12)
    np.testing.assert_allclose(pull, A.T @ (B - A @ W), atol=1e-10)


@pytest.mark.parametrize(("l1", "l2"), [(0.6, 0.0), (0.3, 0.5), (0.0, 0.4)])
def test_group_descend_and_gap(l1, l2):
    A, B, gram, cross, square = problem(12, 5, 2)
    W, pull, order = np.zeros((5, 2)), cross.copy(), np.arange(5)
    gap, passes = group_descend(gram, cross, square, pull, W, order, l1, l2, 1e-12, 5000)
    assert gap <= 1e-12 * square
    assert passes > 1
    assert group_gap(cross, square, A.T @ (B - A @ W), W, order, l1, l2) <= 1e-10
    rng = np.random.default_rng(1)
    for _ in range(20):  # nothing near is better, and the gap bounds what is left to gain
        other = W + 0.01 * rng.normal(size=W.shape)
        assert value(A, B, other, l1, l2) >= value(A, B, W, l1, l2) - 1e-10
        bound = group_gap(cross, square, A.T @ (B - A @ other), other, order, l1, l2)
        assert bound >= value(A, B, other, l1, l2) - value(A, B, W, l1, l2) - 1e-10


def test_one_target_is_the_lasso():
    _, _, gram, cross, square = problem(12, 5, 1)
    W, w = np.zeros((5, 1)), np.zeros(5)
    order = np.arange(5)
    group_descend(gram, cross, square, cross.copy(), W, order, 0.5, 0.1, 1e-13, 5000)
    one = cross[:, 0].copy()
    descend(gram, one, square, one.copy(), w, order, Net(0.5, 0.1, False), 1e-13, 5000, 0)
    np.testing.assert_allclose(W[:, 0], w, atol=1e-8)


def test_no_passes_left():
    _, _, gram, cross, square = problem(6, 9, 2)
    W = np.zeros((9, 2))
    found = group_descend(gram, cross, square, cross.copy(), W, np.arange(9), 0.01, 0.0, 0.0, 2)
    assert found[1] == 2
