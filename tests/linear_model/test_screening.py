"""Gap-safe screening: no screened column is in use at the minimum, and some are screened."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from fastml._engines.linear import working_sets
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.screening import safe_ball
from fastml._engines.linear.working_sets import WorkingSets
from fastml.linear_model import Lasso


def data(n=60, d=400, targets=0, density=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    X[:, 1:] += 0.7 * X[:, :-1]
    X *= rng.uniform(0.2, 3.0, d)  # lengths that differ
    X *= rng.uniform(size=X.shape) < density
    w = np.zeros((d, max(targets, 1)))
    w[::40] = rng.normal(size=w[::40].shape)
    y = X @ w + 0.1 * rng.normal(size=(n, w.shape[1]))
    return X, (y if targets else y[:, 0]), rng.uniform(0.1, 2.0, n)


SETTINGS = [
    {},
    {"l2": 5.0},
    {"positive": True},
    {"weighted": True, "l2": 1.0},
    {"sparse": True},
    {"sparse": True, "weighted": True, "positive": True},
    {"targets": 2},
    {"targets": 2, "l2": 2.0},
    {"dtype": np.float32},
]


def problem(setting):
    sparse = setting.get("sparse", False)
    X, y, weights = data(targets=setting.get("targets", 0), density=0.3 if sparse else 1.0)
    X = X.astype(setting.get("dtype", np.float64))
    design = CentredDesign(
        sp.csc_array(X) if sparse else X, weights if setting.get("weighted") else None, True
    )
    b, _ = design.targets(y if y.ndim == 2 else y[:, None])
    b = b if y.ndim == 2 else b[:, 0]
    return design, b, setting.get("l2", 0.0), setting.get("positive", False)


def steepest(design, b):
    pulls = design.transposed(b)
    return float(np.abs(pulls).max() if b.ndim == 1 else np.linalg.norm(pulls, axis=1).max())


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_no_column_in_use_is_excluded(setting):
    """Of balls around rough points, with the lengths of the columns as the solver takes them."""
    design, b, l2, positive = problem(setting)
    A = design.columns(np.arange(design.n_features))
    squares = design.column_squares()
    true = np.einsum("ij,ij->j", A, A)
    assert (squares >= true * (1.0 - 1e-7)).all()
    assert (squares <= 1.01 * true + 1e-3).all()
    excluded = 0
    for share in (0.7, 0.3, 0.1):
        l1 = share * steepest(design, b)
        exact = WorkingSets(design, b, positive)
        exact.solve(l1, l2, 1e-14, 100_000)
        exact._unscreen()  # its pulls at all columns are compared
        in_use = np.zeros(design.n_features, dtype=bool)
        in_use[exact.support()] = True
        for tol in (1.0, 0.1, 1e-2, 1e-4, 1e-6):
            rough = WorkingSets(design, b, positive)
            rough.solve(l1, l2, tol, 100_000)
            rough._unscreen()
            ball = safe_ball(
                b, rough.residual, rough.pull - l2 * rough.w, rough.w, l1, l2,
                positive=positive, rounding=1e-6,
            )  # fmt: skip
            out = ball.excluded(squares, l1, l2)
            assert not (out & in_use).any()
            # The best dual point, the residual of the minimum, is in the ball.
            slopes = exact.pull - l2 * exact.w
            sizes = np.linalg.norm(slopes, axis=1) if b.ndim == 2 else slopes
            sizes = sizes if positive else np.abs(sizes)
            off = np.abs(sizes - ball.pulls) - np.sqrt(squares + l2) * ball.radius
            assert (off <= 1e-6 * l1).all()
            excluded += int(out.sum())
    assert excluded > 3 * design.n_features  # of 15 times as many


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_paths_with_screening_are_those_without(setting, monkeypatch):
    monkeypatch.setattr(working_sets, "FIRST_SET", 1)  # many rounds
    monkeypatch.setattr(working_sets, "NEARLY", 1.0)
    monkeypatch.setattr(working_sets, "SCREENED_PAYS", 1.0)
    design, b, l2, positive = problem(setting)
    l1 = steepest(design, b) * np.geomspace(0.9, 0.02, 10)
    tol, least = (1e-6, 1e-3) if design.X.dtype == np.float32 else (1e-12, 1e-6)
    found, screened = {}, []
    for from_round in (10**9, 0):
        monkeypatch.setattr(working_sets, "SCREEN_FROM", from_round)
        sets = WorkingSets(design, b, positive)
        path = []
        for penalty in l1:
            gap, _ = sets.solve(penalty, l2, tol, 100_000)
            assert gap <= tol * sets.square
            path.append(sets.w.copy())
            if from_round == 0:
                screened.append(design.n_features - len(sets.left))
                # Screened columns have no weights, and none of the other run's.
                gone = np.setdiff1d(sets.everything, sets.left)
                assert not sets.w[gone].any()
                assert not found[10**9][len(path) - 1][gone].any()
        found[from_round] = np.array(path)
    np.testing.assert_allclose(found[0], found[10**9], atol=least)
    assert max(screened) > 0.1 * design.n_features


@pytest.mark.parametrize("container", [np.asarray, sp.csc_array])
def test_it_is_on_where_a_fit_takes_many_rounds(container, monkeypatch):
    """As estimators call it: single precision goes round after round for a gap out of reach."""
    X, y, _ = data(60, 4_000, seed=3, density=0.5)
    X, y = X.astype(np.float32), y.astype(np.float32)
    seen, screen = [], WorkingSets._screen

    def counted(self, *args):
        screen(self, *args)
        seen.append(len(self.left))

    monkeypatch.setattr(WorkingSets, "_screen", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Lasso(alpha=0.3, tol=1e-15, max_iter=100_000).fit(container(X), y)
    assert min(seen) < 2_000
    exact = Lasso(alpha=0.3, tol=1e-12, max_iter=100_000).fit(X.astype(float), y.astype(float))
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-3)
