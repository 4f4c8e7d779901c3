"""Line search, conjugate gradients and positive definite systems against what they promise."""

import numpy as np
import pytest

from fastml._engines import optimise
from fastml._engines.optimise import conjugate_gradients, line_search, moved, solve_positive

pytestmark = pytest.mark.small


@pytest.mark.parametrize("curvature, step", [(1.0, 1.0), (3.9, 0.5), (16.0, 0.125)])
def test_the_first_halving_that_is_low_enough(curvature, step):
    """value(t) = 1 − 2 t + ½ curvature t², of slope −2 at 0."""
    tried = []

    def value_at(t):
        tried.append(t)
        return 1.0 - 2.0 * t + 0.5 * curvature * t * t

    found = line_search(value_at, 1.0, -2.0, sufficient=0.25, most_trials=9)
    assert found == (step, value_at(step))
    np.testing.assert_array_equal(tried[:-1], 0.5 ** np.arange(len(tried) - 1))


@pytest.mark.parametrize("value", [1.0, np.nan, np.inf])
def test_no_step_is_low_enough(value):
    tried = []

    def value_at(t):
        tried.append(t)
        return value

    assert line_search(value_at, 0.0, -1.0, sufficient=0.1, most_trials=5) is None
    assert tried == [1.0, 0.5, 0.25, 0.125, 0.0625]


def test_just_enough_is_enough_unless_strictly():
    options = {"sufficient": 0.5, "most_trials": 1}
    assert line_search(lambda t: -0.5, 0.0, -1.0, **options) == (1.0, -0.5)
    assert line_search(lambda t: -0.5, 0.0, -1.0, **options, strictly=True) is None


def test_a_point_moves_part_by_part():
    vector, number = moved((np.ones(2), 3.0), (np.array([1.0, -1.0]), 4.0), 0.5)
    np.testing.assert_array_equal(vector, [1.5, 0.5])
    assert number == 5.0


@pytest.mark.parametrize("n", [1, 2, 12])
def test_systems(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A = A @ A.T + np.diag(rng.uniform(1.0, 100.0, n))
    target = rng.normal(size=n)
    expected = np.linalg.solve(A, target)
    np.testing.assert_allclose(solve_positive(A + np.triu(np.ones((n, n)), 1), target), expected)
    products = []

    def product(v):
        products.append(v)
        return A @ v

    x = conjugate_gradients(product, target, 1.0 / A.diagonal(), 1e-14)
    assert len(products) <= n
    np.testing.assert_allclose(x, expected, rtol=1e-9)
    rough = conjugate_gradients(product, target, 1.0 / A.diagonal(), 0.3)
    residual = A @ rough - target
    assert residual @ (residual / A.diagonal()) <= 0.09 * target @ (target / A.diagonal())


def test_no_solution_of_a_system_that_is_not_positive():
    assert solve_positive(np.array([[1.0, 0.0], [2.0, 1.0]]), np.ones(2)) is None


def test_nothing_to_solve():
    x = conjugate_gradients(
        lambda v: pytest.fail("no product is needed"), np.zeros(3), np.ones(3), 0.1
    )
    np.testing.assert_array_equal(x, 0.0)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_cholesky_solve_by_steps(n, monkeypatch):
    monkeypatch.setattr(optimise, "STEP_WORK", 0.0)  # steps of 64 columns
    rng = np.random.default_rng(n)
    root, targets = rng.normal(size=(n, n)), rng.normal(size=(n, 2))
    A = root @ root.T + n * np.eye(n)
    expected = np.linalg.solve(A, targets)
    factor, found, failure = optimise.cholesky_solve(A.copy(), targets)
    assert failure == 0
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(A), atol=1e-9)
    monkeypatch.setattr(optimise, "AT_ONCE", 0)
    np.testing.assert_allclose(solve_positive(np.tril(A).T.copy().T, targets), expected)
    A[-1, -1] = -1.0
    assert optimise.cholesky_solve(A, targets)[2] == n
    assert solve_positive(np.diag([-1.0, 1.0]), np.ones(2)) is None
