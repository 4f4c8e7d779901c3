import numpy as np
import pytest
from naive import smo, smo_gap, svm_kernel

from fastml._threads import single_threaded_blas
from fastml.kernels.smo import smo_steps, solve_problems
from fastml.svm._sources import FORMS, norms_for

pytestmark = pytest.mark.small
KINDS = ("classes", "nu classes", "regression", "nu regression", "one class")


def problem(kind, n, seed=0):
    """(target, lower, upper, beta, split, grouped, X) for n rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    zeros, bound = np.zeros(n), rng.uniform(0.5, 2.0, n)
    half = n // 2
    sign = np.where(np.arange(n) < half, 1.0, -1.0)
    upper, lower = np.where(sign > 0, bound, 0), np.where(sign > 0, 0, -bound)
    both = np.concatenate
    if kind == "classes":
        return sign, lower, upper, zeros, n, False, X
    if kind == "nu classes":
        small = min(bound[:half].sum(), bound[half:].sum()) / 2
        shares = [bound[:half] / bound[:half].sum(), -bound[half:] / bound[half:].sum()]
        return zeros, lower, upper, small * both(shares), half, True, X
    if kind == "one class":
        return zeros, zeros, bound, bound / 2, n, False, X
    y = X[:, 0] + rng.normal(size=n) / 9
    two = both([zeros, -bound]), both([bound, zeros])
    if kind == "regression":
        return both([y - 0.1, y + 0.1]), *two, np.zeros(2 * n), n, False, X
    return both([y, y]), *two, both([bound, -bound]) / 4, n, True, X


def groups_of(target, split, grouped):
    every = np.arange(target.size)
    return [every[:split], every[split:]] if grouped else [every]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 5, 40])
def test_same_steps_as_the_plain_method(kind, n, dtype):
    target, lower, upper, beta, split, grouped, X = problem(kind, n)
    K = svm_kernel("rbf", X, X).astype(dtype)
    groups = groups_of(target, split, grouped)
    row = np.arange(target.size) % n
    for max_steps in (0, 1, 2):  # later, equal v differ by rounding and ties fall otherwise
        expected, expected_v, steps = smo(K, target, lower, upper, beta, groups, 1e-3, max_steps)
        ours = beta.copy()
        v = target - (K[np.ix_(row, row)].astype(float) @ beta)
        done, gap = smo_steps(
            K, K.diagonal().astype(float), lower, upper, split, grouped, ours, v,
            np.empty(v.size), 1e-3, max_steps,
        )  # fmt: skip
        assert done == steps
        np.testing.assert_allclose(ours, expected, atol=1e-5)
        np.testing.assert_allclose(v, expected_v, atol=1e-5)
        assert gap == pytest.approx(smo_gap(ours, v, lower, upper, groups))


@pytest.mark.parametrize("kind", KINDS)
def test_it_ends_at_the_optimum(kind):
    """No feasible pair of changes makes the objective smaller; sums are kept."""
    target, lower, upper, beta, split, grouped, X = problem(kind, 30)
    K = svm_kernel("rbf", X, X)
    row = np.arange(target.size) % 30
    wide = K[np.ix_(row, row)]
    ours, v = beta.copy(), target - wide @ beta
    _, gap = smo_steps(
        K, K.diagonal().copy(), lower, upper, split, grouped, ours, v, np.empty(v.size), 1e-6, 10**5
    )
    assert gap < 1e-6
    np.testing.assert_allclose(v, target - wide @ ours, atol=1e-9)
    assert ((lower <= ours) & (ours <= upper)).all()
    for group in groups_of(target, split, grouped):
        assert ours[group].sum() == pytest.approx(beta[group].sum(), abs=1e-9)

    def objective(b):
        return b @ wide @ b / 2 - target @ b

    rng = np.random.default_rng(1)
    for group in groups_of(target, split, grouped):
        for _ in range(50):
            i, j = rng.choice(group, 2, replace=False)
            step = min(1e-2, upper[i] - ours[i], ours[j] - lower[j])
            other = ours.copy()
            other[i] += step
            other[j] -= step
            assert objective(other) >= objective(ours) - 1e-6


def test_duplicates_and_a_kernel_of_zeros():
    """No curvature anywhere: steps end at bounds."""
    sign = np.array([1.0, 1.0, -1.0, -1.0])
    lower, upper = np.minimum(sign, 0.0), np.maximum(sign, 0.0)
    beta, v = np.zeros(4), sign.copy()
    K = np.zeros((4, 4))
    steps, gap = smo_steps(K, np.zeros(4), lower, upper, 4, False, beta, v, np.empty(4), 1e-3, 99)
    np.testing.assert_array_equal(beta, sign)
    assert steps == 2
    assert gap < 0


def test_nothing_can_move():
    zeros = np.zeros(3)
    steps, gap = smo_steps(
        np.eye(3), np.ones(3), zeros, zeros, 3, False, zeros.copy(), np.arange(3.0), zeros, 1e-3, 9
    )
    assert steps == 0
    assert gap < 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_many_problems_at_once(kind):
    sizes = [6, 2, 11]
    parts = [problem(kind, n, seed=n) for n in sizes]
    X = np.concatenate([part[6] for part in parts])
    target, lower, upper, beta = (np.concatenate([part[k] for part in parts]) for k in range(4))
    row_starts = np.cumsum([0, *sizes])
    starts = np.cumsum([0, *(part[0].size for part in parts)])
    splits, grouped = np.array([part[4] for part in parts]), parts[0][5]
    results = []
    for n_threads in (1, 2):
        ours, v, matrices = beta.copy(), np.full(beta.size, np.nan), np.full((3, 121), np.nan)
        steps, gaps = np.zeros(3, np.intp), np.zeros(3)
        with single_threaded_blas():
            solve_problems(
                0, 3, matrices, FORMS["rbf"], X, norms_for("rbf", X), 0.5, 0.0, 3, 4,
                np.arange(len(X)), row_starts, starts, splits, grouped, target, lower, upper,
                ours, v, 1e-5, 1000, steps, gaps, n_threads=n_threads,
            )  # fmt: skip
        results.append((ours, v))
    np.testing.assert_array_equal(*[r[0] for r in results])
    for p, (target, lower, upper, beta, split, grouped, X) in enumerate(parts):
        K = svm_kernel("rbf", X, X)
        expected, _, _ = smo(
            K, target, lower, upper, beta, groups_of(target, split, grouped), 1e-5, 1000
        )
        assert gaps[p] < 1e-5
        np.testing.assert_allclose(ours[starts[p] : starts[p + 1]], expected, atol=1e-4)
        np.testing.assert_allclose(matrices[p, : sizes[p] ** 2].reshape(K.shape), K, atol=1e-12)
