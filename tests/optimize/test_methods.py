"""Descent methods reach minima that are known, by the formulas that they state."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from optimize_problems import Squares

from fastml import optimize as opt

LONG = opt.GradientBelow(1e-9) | opt.Steps(20_000)


@pytest.fixture(scope="module")
def squares():
    return Squares()


def problem(squares):
    return squares.loss, squares.start, squares.gradient


# ---------------------------------------------------------------------------- gradients


@pytest.mark.parametrize(
    "options",
    [
        {"step": 0.3},
        {"step": opt.ConstantStep(0.3)},
        {"step": lambda t: 0.5 / t**0.1},
        {"step": opt.DecreasingStep(0.5, 0.1)},
        {"step": opt.Backtracking()},
        {"step": opt.Backtracking(0.4, 0.8, first=2.0)},
        {"step": 0.3, "momentum": 0.6},
        {"step": 0.3, "momentum": 0.6, "nesterov": True},
        {"step": 0.3, "momentum": None, "nesterov": True},
    ],
)
def test_gradient_descent_reaches_the_minimum(squares, options):
    stop = opt.GradientBelow(1e-7) | opt.Steps(20_000)
    found = opt.gradient_descent(*problem(squares), stop=stop, **options)
    assert_allclose(found.point, squares.best, atol=1e-6)
    assert_allclose(found.value, squares.loss(squares.best))
    assert found.reason == "gradient below 1e-07"
    assert found.n_steps == len(found.trace.loss) - 1


def test_without_a_gradient(squares):
    found = opt.gradient_descent(squares.loss, squares.start, step=0.5)
    assert_allclose(found.point, squares.best, atol=1e-4)


def test_steps_are_those_of_the_formulas(squares):
    def points(**options):
        run = opt.gradient_descent(
            *problem(squares), stop=opt.Steps(3), keep_points=True, **options
        )
        return run.trace.points

    g, w = squares.gradient, squares.start
    assert_array_equal(points(step=0.1)[1], w - 0.1 * g(w))
    found = points(step=0.1, momentum=0.5)
    assert_allclose(found[3] - found[2], 0.5 * (found[2] - found[1]) - 0.1 * g(found[2]))
    found = points(step=0.1, momentum=0.5, nesterov=True)
    v = found[2] - found[1]
    assert_allclose(found[3] - found[2], 0.5 * v - 0.1 * g(found[2] + 0.5 * v))
    found = points(step=opt.NormalisedStep(0.3, power=1.0))
    assert_allclose(np.linalg.norm(np.diff(found, axis=0), axis=1), [0.3, 0.15, 0.1])
    found = points(step=opt.DecreasingStep(0.4))
    assert_allclose(found[2] - found[1], -0.4 / np.sqrt(2) * g(found[1]))


def test_backtracking_never_goes_up(squares):
    found = opt.gradient_descent(*problem(squares), step=opt.Backtracking(first=64.0))
    assert (np.diff(found.trace.loss) <= 0).all()
    assert set(np.log2(found.trace.step[1:] / 64.0) % 1) == {0.0}


def test_nesterov_needs_fewer_steps_on_a_long_valley():
    long = Squares(n=200, d=6)
    scale = np.geomspace(1.0, 0.03, 6)
    long.X *= scale
    step = 1.0 / np.linalg.eigvalsh(long.X.T @ long.X / 200)[-1]
    options = {"step": step, "stop": opt.GradientBelow(1e-4) | opt.Steps(20_000)}
    plain = opt.gradient_descent(*problem(long), **options)
    fast = opt.gradient_descent(*problem(long), momentum=None, nesterov=True, **options)
    assert fast.n_steps < plain.n_steps / 3


def test_divergence_is_said(squares):
    with np.errstate(over="ignore", invalid="ignore"):
        found = opt.gradient_descent(*problem(squares), step=50.0)
    assert found.reason.startswith("diverged")


def test_a_function_that_lies_about_its_gradient_stops(squares):
    found = opt.gradient_descent(
        squares.loss, squares.start, lambda w: -squares.gradient(w), step=opt.Backtracking()
    )
    assert found.reason == "no step goes down"
    assert found.n_steps < 20


def test_compiled_functions():
    from numba import njit

    @njit
    def loss(w):
        return ((w - 1.0) ** 2).sum()

    @njit
    def gradient(w):
        return 2.0 * (w - 1.0)

    assert_allclose(opt.gradient_descent(loss, np.zeros(3), gradient).point, 1.0, atol=1e-6)


def test_subgradients(squares):
    def loss(w):
        return np.abs(squares.X @ w - squares.y).mean()

    def slope(w):
        return squares.X.T @ np.sign(squares.X @ w - squares.y) / squares.n

    from sklearn.linear_model import QuantileRegressor

    exact = QuantileRegressor(alpha=0.0, fit_intercept=False).fit(squares.X, squares.y)
    found = opt.subgradient(loss, squares.start, slope, stop=opt.Steps(5000))
    assert found.value <= loss(exact.coef_) * 1.01
    assert found.value == found.trace.loss.min()
    assert (np.diff(found.trace.loss) > 0).any()  # single steps go up
    assert_allclose(found.trace.step[1:], 1.0 / np.sqrt(np.arange(1, 5001)))


# ---------------------------------------------------------------------------- rows


def rows_of(squares):
    return squares.row_loss, squares.start, squares.n, squares.row_gradient


@pytest.mark.parametrize(
    "options",
    [{}, {"replace": True}, {"batch_size": 7}, {"batch_size": 7, "replace": True, "momentum": 0.5}],
)
def test_stochastic_gradients_come_near(squares, options):
    found = opt.stochastic_gradient(
        *rows_of(squares),
        step=opt.DecreasingStep(0.2),
        stop=opt.Steps(150),
        random_state=0,
        **options,
    )
    assert found.value < squares.loss(squares.best) * 1.02
    again = opt.stochastic_gradient(
        *rows_of(squares),
        step=opt.DecreasingStep(0.2),
        stop=opt.Steps(150),
        random_state=0,
        **options,
    )
    assert_array_equal(found.point, again.point)


def test_a_batch_of_all_rows_is_gradient_descent(squares):
    whole = opt.gradient_descent(*problem(squares), step=0.1, stop=opt.Steps(20))
    batch = opt.stochastic_gradient(
        *rows_of(squares), batch_size=squares.n, shuffle=False, step=0.1, stop=opt.Steps(20)
    )
    assert_allclose(batch.point, whole.point, rtol=1e-12)


def test_which_rows_are_drawn(squares):
    seen = []

    def slope(w, rows):
        seen.append(np.array(rows))
        return np.zeros(4)

    def drawn(**options):
        seen.clear()
        opt.stochastic_gradient(
            lambda w, rows: 1.0, squares.start, 10, slope, random_state=0,
            stop=opt.Steps(1), **options,
        )  # fmt: skip
        return [rows for rows in seen if len(rows) < 10]

    passed = np.concatenate(drawn(batch_size=3))
    assert sorted(passed) == list(range(10))
    assert list(passed) != list(range(10))
    assert [len(rows) for rows in drawn(batch_size=3)] == [3, 3, 3, 1]
    assert list(np.concatenate(drawn(shuffle=False))) == list(range(10))
    again = np.concatenate(drawn(batch_size=5, replace=True))
    assert len(again) == 10
    assert len(set(again)) < 10


def test_the_gradient_of_a_random_row_is_right_on_average(squares):
    w = np.ones(4)
    single = [squares.row_gradient(w, [i]) for i in range(squares.n)]
    assert_allclose(np.mean(single, axis=0), squares.gradient(w))


# ---------------------------------------------------------------------------- penalties

ALPHA = 0.3


def lasso(squares):
    from sklearn.linear_model import Lasso

    return Lasso(ALPHA, fit_intercept=False, tol=1e-14).fit(squares.X, squares.y).coef_


def l1(w):
    return ALPHA * np.abs(w).sum()


def shrink(z, eta):
    return opt.soft_threshold(z, ALPHA * eta)


@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize("step", ["backtracking", "constant"])
def test_proximal_gradients_solve_the_lasso(squares, accelerated, step):
    found = opt.proximal_gradient(
        squares.loss, squares.start, shrink, squares.gradient, penalty=l1,
        accelerated=accelerated, stop=LONG,
        step=1 / squares.largest if step == "constant" else None,
    )  # fmt: skip
    assert_allclose(found.point, lasso(squares), atol=1e-7)
    assert_allclose(found.value, squares.loss(found.point) + l1(found.point))
    assert accelerated or (np.diff(found.trace.loss) <= 1e-12).all()


def test_acceleration_saves_steps():
    long = Squares(n=200, d=6)
    long.X *= np.geomspace(1.0, 0.05, 6)
    step = 1.0 / np.linalg.eigvalsh(long.X.T @ long.X / 200)[-1]
    options = {"step": step, "stop": opt.GradientBelow(1e-5) | opt.Steps(50_000)}
    runs = [
        opt.proximal_gradient(
            long.loss,
            long.start,
            lambda z, eta: opt.soft_threshold(z, 1e-3 * eta),
            long.gradient,
            accelerated=fast,
            **options,
        )
        for fast in (False, True)
    ]
    assert runs[1].n_steps < runs[0].n_steps / 3


@pytest.mark.parametrize("order", ["cyclic", "random"])
def test_coordinates_one_by_one(squares, order):
    options = {"curvature": np.diag(squares.gram), "order": order, "random_state": 0, "stop": LONG}
    found = opt.coordinate_descent(squares.loss, squares.start, squares.partial, **options)
    assert_allclose(found.point, squares.best, atol=1e-8)
    found = opt.coordinate_descent(
        squares.loss, squares.start, squares.partial, prox=shrink, penalty=l1, **options
    )
    assert_allclose(found.point, lasso(squares), atol=1e-8)
    assert (np.diff(found.trace.loss) <= 1e-12).all()


def test_coordinates_without_derivatives(squares):
    found = opt.coordinate_descent(
        squares.loss,
        squares.start,
        prox=shrink,
        penalty=l1,
        stop=opt.DifferenceBelow(1e-9) | opt.Steps(500),
    )
    assert_allclose(found.point, lasso(squares), atol=1e-4)
    functional = opt.coordinate_descent(
        squares.loss,
        squares.start,
        squares.partial,
        curvature=lambda w, j: squares.gram[j, j],
        stop=LONG,
    )
    assert_allclose(functional.point, squares.best, atol=1e-8)


# ---------------------------------------------------------------------------- curvature


def test_newton_needs_one_step_for_a_parabola(squares):
    for step in (None, 1.0):
        found = opt.newton(*problem(squares), squares.hessian, step=step)
        assert found.n_steps == 1
        assert_allclose(found.point, squares.best)
    for derivatives in ((), (squares.gradient,)):
        found = opt.newton(squares.loss, squares.start, *derivatives, stop=opt.GradientBelow(1e-5))
        assert_allclose(found.point, squares.best, atol=1e-4)


def test_newton_leaves_a_saddle():
    def loss(w):
        return w[0] ** 2 - w[1] ** 2 + w[1] ** 4

    def gradient(w):
        return np.array([2 * w[0], -2 * w[1] + 4 * w[1] ** 3])

    def hessian(w):
        return np.array([[2.0, 0.0], [0.0, -2.0 + 12 * w[1] ** 2]])

    found = opt.newton(loss, [1.0, 0.1], gradient, hessian)
    assert_allclose(found.point, [0.0, np.sqrt(0.5)], atol=1e-6)


def test_differences(squares):
    w = np.array([0.3, -1.0, 2.0, 100.0])
    assert_allclose(opt.numeric_gradient(squares.loss, w), squares.gradient(w), rtol=1e-6)
    assert_allclose(opt.numeric_hessian(squares.loss, w, squares.gradient), squares.gram, atol=1e-7)
    w = np.array([0.3, -1.0, 2.0, 1.0])
    assert_allclose(opt.numeric_hessian(squares.loss, w), squares.gram, atol=1e-5)


# ---------------------------------------------------------------------------- eigenvectors


def test_power_iteration():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    K = A @ A.T
    values, vectors = np.linalg.eigh(K)
    for matrix in (K, sp.csr_array(K), lambda v: K @ v):
        found = opt.power_iteration(matrix, np.ones(8))
        assert_allclose(found.value, values[-1])
        assert_allclose(abs(found.vector @ vectors[:, -1]), 1.0)
    drawn = opt.power_iteration(K, random_state=0)
    assert_array_equal(drawn.vector, opt.power_iteration(K, random_state=0).vector)
    residuals = drawn.trace.gradient_norm
    rate = residuals[-1] / residuals[-2]
    assert_allclose(rate, values[-2] / values[-1], rtol=0.05)
    negative = opt.power_iteration(-K, np.ones(8))
    assert_allclose(negative.value, -values[-1])
    assert opt.power_iteration(np.zeros((2, 2)), [1.0, 0.0]).value == 0.0
    nilpotent = opt.power_iteration([[0.0, 1.0], [0.0, 0.0]], [0.0, 1.0], stop=opt.Steps(5))
    assert nilpotent.reason == "the vector has become zero"


def test_restarts_find_the_deepest_valley():
    def wavy(w):
        return np.cos(3 * w[0]) + (w[0] - 1) ** 2 / 10

    def minimise(start):
        return opt.gradient_descent(wavy, start, step=0.05)

    def draw(random):
        return random.uniform(-6, 6, size=1)

    found = opt.random_restarts(minimise, draw, 30, random_state=0)
    grid = np.linspace(-6, 6, 100_001)
    assert_allclose(found.best.value, wavy([grid]).min(), atol=1e-6)
    assert found.best.value == found.values.min() < found.values.max() - 0.5
    few = opt.random_restarts(minimise, draw, 30, random_state=0)
    assert_array_equal(few.values, found.values)


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: opt.gradient_descent(s.loss, [[0.0]]), ValueError, "vector"),
        (lambda s: opt.gradient_descent(s.loss, [np.nan]), ValueError, "NaN"),
        (lambda s: opt.gradient_descent(s.loss, s.start, step=-1.0), ValueError, "step must be"),
        (lambda s: opt.gradient_descent(s.loss, s.start, momentum=1.0), ValueError, "momentum"),
        (lambda s: opt.gradient_descent(s.loss, s.start, momentum=None), ValueError, "nesterov"),
        (lambda s: opt.gradient_descent(s.loss, s.start, stop=10), TypeError, "stopping rule"),
        (
            lambda s: opt.gradient_descent(s.loss, s.start, step=opt.Backtracking(), momentum=0.5),
            ValueError,
            "no momentum",
        ),
        (lambda s: opt.Backtracking(shrink=1.0), ValueError, "between 0 and 1"),
        (
            lambda s: opt.stochastic_gradient(s.row_loss, s.start, 5, batch_size=9),
            ValueError,
            "batch_size",
        ),
        (
            lambda s: opt.coordinate_descent(s.loss, s.start, curvature=[1.0]),
            ValueError,
            "curvature",
        ),
        (lambda s: opt.coordinate_descent(s.loss, s.start, order="up"), ValueError, "order"),
        (lambda s: opt.power_iteration(np.ones((2, 3))), ValueError, "square"),
        (lambda s: opt.power_iteration(np.eye(2), [0.0, 0.0]), ValueError, "zero"),
        (lambda s: opt.power_iteration(lambda v: v), ValueError, "start is needed"),
        (lambda s: opt.random_restarts(None, None, 0), ValueError, "n_restarts"),
        (lambda s: opt.DifferenceBelow(1.0, of="time"), ValueError, "of must be"),
    ],
)
def test_bad_input(squares, call, error, message):
    with pytest.raises(error, match=message):
        call(squares)
