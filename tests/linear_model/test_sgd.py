"""Stochastic gradient descent takes scikit-learn's steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import linear_model as sk
from sklearn.exceptions import ConvergenceWarning

from fastml.linear_model import SGDRegressor

RUNS = [
    {},
    {"tol": None},
    {"tol": None, "loss": "huber", "learning_rate": "constant", "penalty": None},
    {"tol": None, "alpha": 500.0},
    {"penalty": "l1", "alpha": 0.01},
    {"penalty": "elasticnet", "alpha": 0.01},
    {"penalty": None, "fit_intercept": False, "shuffle": False},
    {"average": True},
    {"average": 150, "penalty": "elasticnet"},
    {"loss": "huber"},
    {"loss": "squared_epsilon_insensitive", "learning_rate": "adaptive"},
    {"loss": "epsilon_insensitive", "learning_rate": "pa1"},
    {"loss": "epsilon_insensitive", "learning_rate": "pa2", "eta0": 1.0},
    {"learning_rate": "constant", "power_t": 0.4},
    {"loss": "huber", "learning_rate": "optimal", "alpha": 1.0},
    {"early_stopping": True, "power_t": 0.4},
    {"alpha": 500.0},  # the scale of the weights becomes zero
]


def data(n=120, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.2 * rng.normal(size=n) + 1.0, rng.random(n)


@pytest.mark.parametrize("parameters", RUNS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_steps(parameters):
    X, y, weights = data()
    for rows, tol in ((X, 1e-9), (sp.csr_array(np.where(X > 0, X, 0)), 1e-9),
                      (X.astype(np.float32), 1e-4)):  # fmt: skip
        given = {"random_state": 3, "max_iter": 30, **parameters}
        ours = SGDRegressor(**given).fit(rows, y, sample_weight=weights)
        theirs = sk.SGDRegressor(**given).fit(rows, y, sample_weight=weights)
        assert_allclose(ours.coef_, theirs.coef_, rtol=tol, atol=tol)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=tol, atol=tol)
        assert ours.n_iter_ == theirs.n_iter_
        assert ours.t_ == theirs.t_
        assert ours.coef_.dtype == theirs.coef_.dtype


@pytest.mark.parametrize("average", [False, True, 100])
def test_epochs_on_batches(average):
    X, y, _ = data()
    ours, theirs = (c(random_state=1, average=average) for c in (SGDRegressor, sk.SGDRegressor))
    for first in range(0, 120, 40):
        for model in (ours, theirs):
            model.partial_fit(X[first : first + 40], y[first : first + 40])
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-10)
    assert ours.t_ == theirs.t_
    kept = ours.coef_
    ours.sparsify()
    assert_allclose(ours.predict(X), theirs.predict(X))
    assert np.array_equal(ours.densify().coef_, kept)


def test_an_epoch_too_few_and_numbers_too_large():
    X, y, _ = data()
    with pytest.warns(ConvergenceWarning, match="Maximum number"):
        SGDRegressor(max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="overflow occurred at epoch"):
        SGDRegressor(penalty=None, learning_rate="constant", eta0=1e300).fit(X, y)
    with pytest.raises(ValueError, match="only works with loss"):
        SGDRegressor(learning_rate="pa1").fit(X, y)
    with pytest.raises(ValueError, match="early_stopping should be False"):
        SGDRegressor(early_stopping=True).partial_fit(X, y)
