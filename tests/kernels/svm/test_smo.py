import numpy as np
import pytest
from naive import smo, smo_gap, svm_kernel

from fastml._engines.gram.sources import FORMS, normed_rows
from fastml._engines.smo import all_ready
from fastml._threads import single_threaded_blas
from fastml.kernels.svm.rows import DotKernel
from fastml.kernels.svm.smo import (
    FAR,
    WHOLE_MATRIX_ROWS,
    SmoProblems,
    SmoResults,
    _best_partner,
    _move,
    ensure_row,
    lazy_rows,
    smo_steps,
    solve_problems,
    start_v,
)

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
            K, all_ready(K), K.diagonal().astype(float), lower, upper, split, grouped, ours, v,
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
        K, all_ready(K), K.diagonal().copy(), lower, upper, split, grouped, ours, v,
        np.empty(v.size), 1e-6, 10**5,
    )  # fmt: skip
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
    steps, gap = smo_steps(
        K, all_ready(K), np.zeros(4), lower, upper, 4, False, beta, v, np.empty(4), 1e-3, 99
    )
    np.testing.assert_array_equal(beta, sign)
    assert steps == 2
    assert gap < 0


def test_nothing_can_move():
    zeros, K = np.zeros(3), np.eye(3)
    steps, gap = smo_steps(
        K, all_ready(K), np.ones(3), zeros, zeros, 3, False, zeros.copy(), np.arange(3.0), zeros,
        1e-3, 9,
    )  # fmt: skip
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
    problems = SmoProblems(
        np.arange(len(X)), row_starts, starts, splits, grouped, target, lower, upper
    )
    rbf, data = DotKernel(FORMS["rbf"], 0.5, 0.0, 3), normed_rows("rbf", X)
    results = []
    for n_threads in (1, 2):
        ours, v, matrices = beta.copy(), np.full(beta.size, np.nan), np.full((3, 121), np.nan)
        steps, gaps = np.zeros(3, np.intp), np.zeros(3)
        found = SmoResults(ours, v, steps, gaps)
        with single_threaded_blas():
            solve_problems(
                0, 3, matrices, rbf, data, problems, found, 1e-5, 1000, n_threads=n_threads
            )
        results.append((ours, v))
    np.testing.assert_array_equal(*[r[0] for r in results])
    for p, (target, lower, upper, beta, split, grouped, X) in enumerate(parts):
        K = svm_kernel("rbf", X, X)
        expected, _, _ = smo(
            K, target, lower, upper, beta, groups_of(target, split, grouped), 1e-5, 1000
        )
        assert gaps[p] < 1e-5
        np.testing.assert_allclose(ours[starts[p] : starts[p + 1]], expected, atol=1e-4)
        made = matrices[p, : sizes[p] ** 2].reshape(K.shape)
        used = ~np.isnan(made[:, 0])
        assert used[ours[starts[p] : starts[p] + sizes[p]] != 0].all()
        np.testing.assert_allclose(made[used], K[used], atol=1e-12)


@pytest.mark.parametrize("n", [1, 4, WHOLE_MATRIX_ROWS + 1])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"])
def test_rows_are_made_when_looked_at(name, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 5, n + 5 if name == "precomputed" else 3))
    chosen = rng.permutation(n + 5)[:n]
    own = X[chosen]
    expected = X[np.ix_(chosen, chosen)] if name == "precomputed" else svm_kernel(name, own, own)
    K, diagonal = np.full((n, n), np.nan), np.empty(n)
    with single_threaded_blas():
        dot_kernel = DotKernel(FORMS[name], 0.5, 0.3, 3)
        rows = lazy_rows(dot_kernel, normed_rows(name, X), chosen, K, diagonal)
        np.testing.assert_allclose(diagonal, expected.diagonal())
        at_once = name == "precomputed" or n <= WHOLE_MATRIX_ROWS
        assert np.isnan(K).any() != at_once
        looked_at = [0, n // 2, n - 1]
        for i in (*looked_at, 0):
            ensure_row(i, K, rows)
    np.testing.assert_allclose(K[looked_at], expected[looked_at], atol=1e-12)
    if not at_once:
        assert np.isnan(np.delete(K, looked_at, axis=0)).all()


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("n", [1, 2, WHOLE_MATRIX_ROWS + 3])
def test_v_at_the_start(n, doubled):
    """Rows of variables that are 0 are not looked at."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    wide = np.tile(np.arange(n), 2) if doubled else np.arange(n)
    target = rng.normal(size=wide.size)
    beta = rng.normal(size=wide.size) * (wide % 3 == 0)
    K, diagonal, v = np.full((n, n), np.nan), np.empty(n), np.full(wide.size, np.nan)
    dot_kernel = DotKernel(FORMS["rbf"], 0.5, 0.0, 3)
    with single_threaded_blas():
        rows = lazy_rows(dot_kernel, normed_rows("rbf", X), np.arange(n), K, diagonal)
        start_v(K, rows, target, beta, doubled, v)
    expected = target - svm_kernel("rbf", X, X)[np.ix_(wide, wide)] @ beta
    np.testing.assert_allclose(v, expected, atol=1e-12)
    if n > WHOLE_MATRIX_ROWS:
        np.testing.assert_array_equal(rows.ready, np.arange(n) % 3 == 0)


@pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")
@pytest.mark.parametrize("n", [3, 520])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, 1e200])
def test_kernels_that_overflow_end(n, value):
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    K = np.eye(n)
    K[n // 2] = value
    beta, v = np.zeros(n), sign.copy()
    steps, _ = smo_steps(
        K, all_ready(K), K.diagonal().copy(), np.minimum(sign, 0), np.maximum(sign, 0), n, False,
        beta, v, np.empty(n), 1e-3, 30,
    )  # fmt: skip
    assert steps <= 30
    assert ((np.minimum(sign, 0) <= beta) & (beta <= np.maximum(sign, 0))).all()


@pytest.mark.parametrize("n", [1, 511, 512, 513, 1500])
def test_extremes_and_their_places(n):
    """Of equals, the first."""
    rng = np.random.default_rng(n)
    v, beta = rng.integers(-9, 9, n).astype(float), rng.integers(0, 3, n).astype(float)
    row_i, row_j, zeros = rng.integers(0, 3, n) / 2, rng.integers(0, 3, n) / 2, np.zeros(n)
    twos = np.full(n, 2.0)
    expected = v - 0.5 * (row_i - row_j)
    top, place, bottom = _move(v, beta, zeros, twos, row_i, row_j, 0.5)
    np.testing.assert_array_equal(v, expected)
    rising, sinking = np.where(beta < 2, v, -FAR), np.where(beta > 0, v, FAR)
    assert top == rising.max()
    assert bottom == sinking.min()
    if top > -FAR:
        assert place == rising.argmax()
    gains = np.empty(n)
    gain, partner = _best_partner(v, beta, zeros, twos, row_i, 2.0, 2.0, gains)
    curvature = 4.0 - 2.0 * row_i
    allowed = (v < 2.0) & (beta > 0)
    wanted = np.where(allowed, (2.0 - v) ** 2 / curvature, -1.0)
    assert gain == pytest.approx(wanted.max())
    assert partner == (np.argmax(gains) if allowed.any() else -1)
    np.testing.assert_allclose(gains, wanted)
