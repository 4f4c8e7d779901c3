"""Each machine's weights are those of the plain dual problem; shrinking changes nothing."""

import numpy as np
import pytest
from naive import svm_classify_weights, svm_regress_weights, with_constant
from scipy.sparse import csr_array

from fastml._engines.rows import DesignMatrix
from fastml.kernels.linear.dual_descent import (
    ACTIVE,
    CLASSIFY,
    DONE,
    EPOCHS,
    REGRESS,
    DescentProblems,
    descend,
    note_epoch,
    note_violations,
    shrink,
    state_of,
)
from fastml.svm._linear._solvers import Descents

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
"""JIT off: random numbers overflow and empty rows divide by zero on purpose."""
CASES = {
    "ordinary": (12, 3),
    "wide": (6, 9),
    "one row": (1, 2),
    "two rows": (2, 1),
}


def problem(kind, seed=0):
    n, d = CASES[kind]
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[n // 2 :] = np.round(X[n // 2 :])
    signs = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    return X, signs, rng.normal(size=n), rng.uniform(0.2, 1.0, n)


def solve(task, X, bias, targets, epsilon, costs, squared, max_epochs=3000, n_threads=1):
    """Two copies of the problem with different orders, and their state."""
    design = DesignMatrix(X, bias)
    state = Descents(2, X.shape[1] + 1, X.shape[0], 7).state
    if task == CLASSIFY:
        state.bounds[:, 1] = -np.inf
    both = [np.repeat(a[None], 2, axis=0) for a in (targets, costs)]
    upper = np.full_like(both[1], np.inf) if squared else both[1]
    damping = 0.5 / both[1] if squared else np.zeros_like(both[1])
    alpha = np.zeros_like(both[1])
    problems = DescentProblems(both[0], upper, damping, epsilon, design.squares())
    descend(
        task, max_epochs, max_epochs, 1e-10, design.rows, problems, alpha, state,
        n_threads=n_threads,
    )  # fmt: skip
    return state, alpha, upper[0], damping[0]


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_classification(kind, squared, bias):
    X, signs, _, costs = problem(kind)
    for rows in (X, csr_array(X)):
        state, alpha, upper, damping = solve(CLASSIFY, rows, bias, signs, 0.0, costs, squared)
        Z = with_constant(X, bias)
        expected = svm_classify_weights(Z, signs, upper, damping)
        np.testing.assert_allclose(state.w, np.stack([expected] * 2), atol=1e-7)
        np.testing.assert_allclose((alpha[0] * signs) @ Z, state.w[0], atol=1e-10)
        assert (alpha >= 0).all()
        assert (alpha <= upper).all()
        assert state.counts[:, DONE].all()


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_regression(kind, squared, epsilon):
    X, _, y, costs = problem(kind)
    for rows in (X, csr_array(X)):
        state, beta, upper, damping = solve(REGRESS, rows, 1.0, y, epsilon, costs, squared)
        Z = with_constant(X, 1.0)
        expected = svm_regress_weights(Z, y, epsilon, upper, damping)
        np.testing.assert_allclose(state.w[0], expected, atol=1e-5)
        np.testing.assert_allclose(beta[0] @ Z, state.w[0], atol=1e-10)
        assert (np.abs(beta) <= upper).all()


def test_empty_rows_have_no_weight():
    """Without constant, a row of zeros gets the largest coefficient and moves nothing."""
    X, costs = np.zeros((3, 2)), np.ones(3)
    state, alpha, _, _ = solve(CLASSIFY, X, 0.0, np.array([1.0, -1.0, 1.0]), 0.0, costs, False)
    np.testing.assert_array_equal(alpha, 1.0)
    state, beta, _, _ = solve(REGRESS, X, 0.0, np.array([2.0, -2.0, 0.0]), 0.1, costs, False)
    np.testing.assert_array_equal(beta[0], [1.0, -1.0, 0.0])
    np.testing.assert_array_equal(state.w, 0.0)


@pytest.mark.parametrize("task", [CLASSIFY, REGRESS])
def test_rows_are_shrunk_and_epochs_counted(task):
    X, signs, y, costs = problem("ordinary")
    target = signs if task == CLASSIFY else y
    fewest = len(X)
    for epochs in range(1, 25):
        state, _, _, _ = solve(task, X, 1.0, target, 0.1, costs, False, max_epochs=epochs)
        assert state.counts[0, EPOCHS] <= epochs
        fewest = min(fewest, state.counts[0, ACTIVE])
    assert fewest < len(X)


def test_same_bits_on_two_threads():
    X, signs, _, costs = problem("ordinary")
    one = solve(CLASSIFY, X, 1.0, signs, 0.0, costs, True)
    two = solve(CLASSIFY, X, 1.0, signs, 0.0, costs, True, n_threads=2)
    np.testing.assert_array_equal(one[0].w, two[0].w)


def test_shrink_swaps_with_the_last_active():
    order = np.arange(5)
    assert shrink(order, 1, 4) == 3
    np.testing.assert_array_equal(order, [0, 3, 2, 1, 4])


def test_the_state_of_one_problem_is_a_view():
    state = Descents(3, 4, 5, 0).state
    own = state_of(state, 1)
    for part in own:
        part[:] = 7
    for line, parts in enumerate(zip(*state)):
        assert all((part == 7).all() == (line == 1) for part in parts)


@pytest.mark.parametrize(
    ("active", "settled", "expected"),
    [(3, False, (3, 1, 0)), (3, True, (5, 1, 0)), (5, True, (5, 1, 1)), (0, True, (5, 1, 0))],
)
def test_an_epoch_that_looked_at_all_and_settled_is_the_last(active, settled, expected):
    counts = np.zeros(3, np.intp)
    note_epoch(active, 5, settled, counts)
    assert (counts[ACTIVE], counts[EPOCHS], counts[DONE]) == expected


def test_violations_are_measured_by_those_of_the_first_epoch():
    counts, bounds = np.zeros(3, np.intp), np.full(2, np.inf)
    note_violations(5, 5, 4.0, 10.0, 0.1, bounds, counts)
    np.testing.assert_array_equal(bounds, [4.0, 10.0])
    note_violations(4, 5, 2.0, 1.5, 0.1, bounds, counts)
    np.testing.assert_array_equal(bounds, [2.0, 10.0])
    note_violations(4, 5, 2.0, 1.0, 0.1, bounds, counts)
    np.testing.assert_array_equal(bounds, [np.inf, 10.0])
    np.testing.assert_array_equal(counts[[ACTIVE, EPOCHS, DONE]], [5, 3, 0])
