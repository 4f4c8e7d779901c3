"""Public penalties: values, proximal maps, distances from stationary; where they are used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from fastml import losses, penalties
from fastml.linear_model import (
    ElasticNet,
    L0Regressor,
    LogisticRegression,
    MultiTaskElasticNet,
    QuantileRegressor,
    penalty_path,
)
from fastml.optimize import coordinate_descent, proximal_gradient

GROUPS = np.array([0, 1, 0, 2, 1, 0])
ALL = [
    penalties.NoPenalty(),
    penalties.L2Penalty(0.7),
    penalties.L1Penalty(0.7),
    penalties.L1Penalty(0.7, positive=True),
    penalties.ElasticNetPenalty(0.9, 0.6),
    penalties.GroupPenalty(0.8, 0.7, GROUPS),
    penalties.L0Penalty(0.4),
    penalties.L0Penalty(budget=2),
    penalties.Box(-0.5, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    penalties.NonNegative(),
    penalties.Ball(0.8),
    penalties.Ball(0.8, 1),
    penalties.Ball(0.8, np.inf),
]
CONVEX = [each for each in ALL if each.convex]


def test_every_penalty_is_here():
    assert {type(each).__name__ for each in ALL} == set(penalties.__all__)


@pytest.mark.parametrize("penalty", ALL, ids=repr)
@pytest.mark.parametrize("step", [0.3, 2.0])
def test_no_other_point_is_better_than_the_proximal_one(penalty, step):
    rng = np.random.default_rng(0)
    for _ in range(5):
        z = rng.normal(size=6)
        best = penalty.prox(z, step)
        least = (best - z) @ (best - z) / (2 * step) + penalty(best)
        assert np.isfinite(least)
        for size in (1.0, 0.1, 1e-3):
            for each in rng.normal(size=(40, 6)):
                other = penalty.prox(best + size * each, 1e-3)
                value = (other - z) @ (other - z) / (2 * step) + penalty(other)
                assert value >= least - 1e-8


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_distance_is_zero_at_the_minimum_and_there_only(penalty):
    """Of ½‖A w − b‖² + g: where w = prox(w − η ∇f)."""
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(12, 6)), 2.0 * rng.normal(size=12)
    found = proximal_gradient(
        lambda w: 0.5 * (A @ w - b) @ (A @ w - b), penalty.prox(np.zeros(6)), penalty,
        lambda w: A.T @ (A @ w - b), step=0.9 / np.linalg.norm(A, 2) ** 2,
    ).point  # fmt: skip
    gradient = A.T @ (A @ found - b)
    assert penalty.distance(found, gradient).max() < 1e-5
    assert penalty.distance(found, gradient + 3.0 * np.sign(found) + 0.1).max() > 0.05
    if penalty.convex and penalty.value(np.ones(6)) < np.inf:
        assert penalty.distance(np.ones(6), A.T @ (A @ np.ones(6) - b)).max() > 1e-3


def test_outside_a_constraint_nothing_is_stationary():
    w, still = np.array([-3.0, 3.0, 1.0, 1.0, 1.0, 1.0]), np.zeros(6)
    for penalty in ALL:
        if penalty.value(w) == np.inf:
            assert np.isinf(penalty.distance(w, still)).any()


def test_rows_of_a_matrix_are_groups():
    penalty = penalties.GroupPenalty(1.0)
    assert_allclose(penalty.prox([[3.0, 4.0], [0.3, 0.4]]), [[2.4, 3.2], [0.0, 0.0]])
    assert penalty.value([[3.0, 4.0], [0.0, 0.0]]) == 5.0
    with pytest.raises(ValueError, match="needs groups="):
        penalty.value([1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: penalties.L1Penalty(-1.0), "alpha must not be negative"),
        (lambda: penalties.L2Penalty(float("nan")), "alpha must not be negative"),
        (lambda: penalties.ElasticNetPenalty(1.0, 2.0), "l1_ratio"),
        (lambda: penalties.Box(1.0, 0.0), "low must not be above high"),
        (lambda: penalties.Ball(1.0, 3), "norm must be"),
    ],
)
def test_wrong_penalties_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def rows(n=80, d=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 2.0
    return X, X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0][:d]) + rng.normal(size=n) + 3.0


def test_coordinate_descent_takes_penalties():
    X, y = rows()
    A, b = X - X.mean(axis=0), y - y.mean()
    found = coordinate_descent(
        lambda w: 0.5 * np.mean((A @ w - b) ** 2), np.zeros(6),
        lambda w, j: A[:, j] @ (A @ w - b) / 80, curvature=(A * A).mean(axis=0),
        prox=penalties.ElasticNetPenalty(0.3),
    )  # fmt: skip
    assert_allclose(found.point, ElasticNet(0.3, tol=1e-10).fit(X, y).coef_, atol=1e-5)
    with pytest.raises(ValueError, match="not a sum over coordinates"):
        coordinate_descent(lambda w: w @ w, [1.0], prox=penalties.Ball())


def test_minima_of_coordinate_descent_are_stationary():
    """The engines and the public maps agree on one definition."""
    X, y = rows()
    Y = np.stack([y, y**2 / 5], axis=1)
    alone, joint = ElasticNet(0.3, tol=1e-12), MultiTaskElasticNet(0.3, tol=1e-12)
    for model, targets, penalty in (
        (alone, y, penalties.ElasticNetPenalty(0.3, 0.5)),
        (joint, Y, penalties.GroupPenalty(0.3, 0.5)),
    ):
        model.fit(X, targets)
        gradient = X.T @ (model.predict(X) - targets) / len(X)
        assert penalty.distance(model.coef_.T, gradient).max() < 1e-5


# ---------------------------------------------------------------------------- penalty_path


def test_path_of_squared_losses_is_the_elastic_net():
    X, y = rows()
    weights = np.arange(80.0)
    path = penalty_path(
        X, y, [penalties.ElasticNetPenalty(a) for a in (1.0, 0.3, 0.0)], sample_weight=weights,
        tol=1e-10,
    )  # fmt: skip
    for alpha, coef, intercept in zip((1.0, 0.3), path.coefs, path.intercepts):
        model = ElasticNet(alpha, tol=1e-12).fit(X, y, weights)
        assert_allclose(coef, model.coef_, atol=1e-7)
        assert_allclose(intercept, model.intercept_, atol=1e-6)
    plain = np.linalg.lstsq(np.c_[X, np.ones(80)] * np.sqrt(weights)[:, None],
                            y * np.sqrt(weights), rcond=None)[0]  # fmt: skip
    assert_allclose(path.coefs[2], plain[:-1], atol=1e-6)


@pytest.mark.parametrize("loss", [losses.Huber(), losses.Logistic(), losses.Poisson(),
                                  losses.SquaredHinge(), losses.Gamma()], ids=repr)  # fmt: skip
@pytest.mark.parametrize("penalty", CONVEX, ids=repr)
def test_any_loss_with_any_penalty(loss, penalty):
    from scipy.sparse import csr_array

    X, y = rows()
    X = X - 2.0
    y = (y > 4.0).astype(float) if loss.of_margin else np.abs(y) + 0.1
    path = penalty_path(X, y, penalty, loss=loss)
    raw = X @ path.coefs[0] + path.intercepts[0]
    slopes = loss.gradient(y, raw) / len(y)
    assert abs(slopes.sum()) < 1e-4
    assert penalty.distance(path.coefs[0], X.T @ slopes).max() < 1e-4
    assert path.objectives[0] == pytest.approx(loss.value(y, raw).mean() + penalty(path.coefs[0]))
    sparse = penalty_path(csr_array(X), y, penalty, loss=loss, n_jobs=1)
    assert_allclose(sparse.coefs, path.coefs, atol=1e-3)
    assert_array_equal(penalty_path(X, y, penalty, loss=loss, n_jobs=1).coefs, path.coefs)


KINKED = [losses.Absolute(), losses.Pinball(0.8), losses.EpsilonInsensitive(0.5), losses.Hinge(),
          losses.PerceptronLoss(), losses.Lp(1.0)]  # fmt: skip


@pytest.mark.parametrize("loss", KINKED, ids=repr)
@pytest.mark.parametrize("penalty", CONVEX, ids=repr)
def test_losses_with_kinks_under_any_penalty(loss, penalty):
    """The slopes that were found prove the minimum: no point is better than their tangents."""
    from fastml._engines.smooth_linear import multipliers

    X, y = rows()
    y = (y > 4.0).astype(float) if loss.of_margin else y
    seen, solve = [], multipliers.KinkedProblem.solve

    def kept(self, *args):
        seen.append(self)
        return solve(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multipliers.KinkedProblem, "solve", kept)
        path = penalty_path(X, y, penalty, loss=loss, tol=1e-7)
    raw = X @ path.coefs[0] + path.intercepts[0]
    slopes = seen[0].slopes
    # They are slopes of the losses: from one side's to the other's.
    low, high = loss.kinks(y)
    assert (slopes >= loss.gradient(y, low - 1.0) - 1e-12).all()
    assert (slopes <= loss.gradient(y, high + 1.0) + 1e-12).all()
    # No other line of that slope is above the loss, and at raw they meet.
    values = np.minimum(loss.value(y, low) - slopes * low, loss.value(y, high) - slopes * high)
    missed = loss.value(y, raw) - slopes * raw - values
    assert missed.min() > -1e-9
    assert missed.mean() < 1e-5
    assert abs(slopes.mean()) < 1e-5
    assert penalty.distance(path.coefs[0], X.T @ slopes / len(y)).max() < 1e-5
    assert path.objectives[0] == pytest.approx(loss.value(y, raw).mean() + penalty(path.coefs[0]))
    assert_array_equal(penalty_path(X, y, penalty, loss=loss, tol=1e-7, n_jobs=1).coefs, path.coefs)


def test_kinked_paths_are_those_of_their_own_solvers():
    from sklearn.svm import SVC, SVR

    X, y = rows()
    weights = np.arange(80.0) % 5
    for quantile in (0.5, 0.8):
        loss, alphas = losses.Pinball(quantile), (0.3, 0.02)
        path = penalty_path(
            X, y, [penalties.L1Penalty(a) for a in alphas], loss=loss, sample_weight=weights,
            tol=1e-8,
        )  # fmt: skip
        for alpha, coef, value in zip(alphas, path.coefs, path.objectives):
            model = QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, y, weights)
            least = np.average(loss.value(y, model.predict(X)), weights=weights)
            assert value == pytest.approx(least + alpha * np.abs(model.coef_).sum(), rel=1e-6)
            assert_allclose(coef, model.coef_, atol=1e-3)
    C = 0.5
    ridge = penalties.L2Penalty(1.0 / (C * len(y)))
    hinge = penalty_path(X, y > 4.0, ridge, loss=losses.Hinge(), tol=1e-8)
    model = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y > 4.0)
    assert_allclose(hinge.coefs[0], model.coef_[0], atol=1e-4)
    tube = penalty_path(X, y, ridge, loss=losses.EpsilonInsensitive(0.3), tol=1e-8)
    model = SVR(kernel="linear", C=C, epsilon=0.3, tol=1e-9).fit(X, y)
    assert_allclose(tube.coefs[0], model.coef_[0], atol=1e-4)


def test_few_weights():
    X, y = rows()
    path = penalty_path(X, y, penalties.L0Penalty(budget=2))
    best = L0Regressor(n_nonzero_coefs=2).fit(X, y)
    assert_allclose(path.coefs[0], best.coef_, atol=1e-4)


def test_refused_paths():
    X, y = rows()
    with pytest.raises(ValueError, match="no kinks"):
        losses.SquaredEpsilonInsensitive().kinks(y)
    with pytest.raises(ValueError, match="one or several"):
        penalty_path(X, y, [1.0])
    with pytest.raises(ValueError, match="non-zero"):
        penalty_path(X, y, penalties.L1Penalty(), sample_weight=np.zeros(80))
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="from stationary"):
        penalty_path(X, y, penalties.L1Penalty(0.01), max_iter=1)


# ---------------------------------------------------------------------------- several classes


def of_classes(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 5)) + 1.0
    return X, np.argmax(X[:, :3] + rng.gumbel(size=(200, 3)), axis=1), rng.uniform(0.5, 2.0, 200)


@pytest.mark.parametrize("intercept", [True, False])
def test_path_of_classes_is_that_of_a_softmax(intercept):
    X, y, u = of_classes()
    strengths = [1.0, 0.1, 0.01]
    path = penalty_path(
        X, y, [penalties.L2Penalty(a) for a in strengths], loss=losses.Multinomial(),
        sample_weight=u, fit_intercept=intercept, tol=1e-9,
    )  # fmt: skip
    assert path.coefs.shape == (3, 3, 5)
    assert path.intercepts.shape == (3, 3)
    for a, coefs, levels in zip(strengths, path.coefs, path.intercepts):
        exact = LogisticRegression(
            C=1.0 / (a * u.sum()), tol=1e-11, max_iter=1000, fit_intercept=intercept
        ).fit(X, y, u)
        assert_allclose(coefs, exact.coef_, atol=1e-7)
        # A number that all intercepts share changes nothing.
        expected = exact.intercept_ - exact.intercept_.mean() if intercept else 0.0
        assert_allclose(levels - levels.mean(), expected, atol=1e-7)


@pytest.mark.parametrize(
    "penalty",
    [penalties.L1Penalty(0.05), penalties.ElasticNetPenalty(0.1), penalties.GroupPenalty(0.1),
     penalties.Ball(1.0), penalties.NonNegative()],
)  # fmt: skip
def test_points_of_classes_are_minima(penalty):
    """No move of any entry is an improvement; CSR and one thread give the same."""
    X, y, _ = of_classes()
    loss = losses.Multinomial()
    path = penalty_path(X, y, penalty, loss=loss, tol=1e-8)
    W, level = path.coefs[0].T, path.intercepts[0]

    def objective(W):
        return loss.value(y, X @ W + level).mean() + penalty.value(W)

    assert path.objectives[0] == pytest.approx(objective(W))
    for j in range(5):
        for k in range(3):
            for h in (-1e-3, 1e-3):
                moved = W.copy()
                moved[j, k] += h
                assert objective(moved) >= path.objectives[0] - 1e-9
    if isinstance(penalty, penalties.GroupPenalty):
        dropped = (W == 0.0).all(axis=1)
        assert dropped.any()
        assert (W[~dropped] != 0.0).all()
    one = penalty_path(X, y, penalty, loss=loss, tol=1e-8, n_jobs=1)
    assert_array_equal(one.coefs, path.coefs)
    sparse = penalty_path(csr_array(X), y, penalty, loss=loss, tol=1e-8)
    assert_allclose(sparse.coefs, path.coefs, atol=1e-6)


@pytest.mark.parametrize("wrong", [[0, 2, 0, 2], [0, 0, 0, 0], [0.5, 1, 0, 1], [-1, 0, 1, 0]])
def test_path_of_classes_asks_for_their_numbers(wrong):
    with pytest.raises(ValueError, match="class numbers"):
        penalty_path(np.ones((4, 2)), wrong, penalties.L1Penalty(), loss=losses.Multinomial())
