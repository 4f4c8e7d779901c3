"""Classification by stochastic gradient descent takes scikit-learn's steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import linear_model as sk
from sklearn.exceptions import ConvergenceWarning

from fastml import linear_model as ours

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Class PassiveAggressive:FutureWarning"
)

# Long steps, as with a small alpha, make rounding errors grow from row to row.
RUNS = [
    ("SGDClassifier", {}),
    ("SGDClassifier", {"loss": "log_loss", "penalty": "elasticnet", "average": True, "alpha": 0.1}),
    ("SGDClassifier", {"loss": "modified_huber", "penalty": "l1", "tol": None, "alpha": 0.1}),
    ("SGDClassifier", {"loss": "squared_hinge", "penalty": None, "learning_rate": "adaptive"}),
    ("SGDClassifier", {"loss": "perceptron", "early_stopping": True, "class_weight": "balanced"}),
    ("SGDClassifier", {"loss": "squared_error", "learning_rate": "invscaling", "average": 200}),
    ("SGDClassifier", {"loss": "huber", "learning_rate": "constant", "class_weight": {0: 2.0}}),
    ("SGDClassifier", {"loss": "epsilon_insensitive", "fit_intercept": False, "shuffle": False}),
    ("SGDClassifier", {"loss": "squared_epsilon_insensitive", "learning_rate": "constant"}),
    ("SGDClassifier", {"learning_rate": "pa1", "penalty": None, "eta0": 0.5}),
    ("Perceptron", {"penalty": "l2"}),
    ("PassiveAggressiveClassifier", {"average": True}),
    ("PassiveAggressiveClassifier", {"loss": "squared_hinge", "C": 0.1, "early_stopping": True}),
]


def data(n_classes=3):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 120)
    X = rng.normal(size=(120, 4))
    X[np.arange(120), codes] += 1.0
    return X, np.array(["red", "blue", "green"])[codes] if n_classes == 3 else codes


@pytest.mark.parametrize(("name", "parameters"), RUNS, ids=str)
def test_the_same_steps(name, parameters):
    for n_classes in (2, 3):
        X, y = data(n_classes)
        given = {"random_state": 3, "max_iter": 8, **parameters}
        if n_classes == 3 and isinstance(parameters.get("class_weight"), dict):
            given["class_weight"] = {"red": 2.0}
        for rows in (X, sp.csr_array(np.where(X > 0, X, 0)), X.astype(np.float32)):
            tol = 1e-9 if rows.dtype == np.float64 else 1e-4
            found = getattr(ours, name)(**given).fit(rows, y)
            theirs = getattr(sk, name)(**given).fit(rows, y)
            assert_allclose(found.coef_, theirs.coef_, rtol=tol, atol=tol)
            assert_allclose(found.intercept_, theirs.intercept_, rtol=tol, atol=tol)
            assert (found.n_iter_, found.t_) == (theirs.n_iter_, theirs.t_)
            assert found.coef_.dtype == theirs.coef_.dtype
            assert_allclose(found.decision_function(X), theirs.decision_function(X), atol=10 * tol)
            assert (found.predict(rows) == theirs.predict(rows)).all()
            if getattr(found, "loss", "") in ("log_loss", "modified_huber"):
                assert_allclose(found.predict_proba(X), theirs.predict_proba(X), atol=tol)


@pytest.mark.parametrize("average", [False, 100])
def test_batches_weights_and_a_warm_start(average):
    X, y = data()
    weights = np.random.default_rng(1).random(120)
    # scikit-learn drops the intercept of averaged weights between batches.
    given = {"random_state": 1, "average": average, "fit_intercept": not average}
    models = [c(**given) for c in (ours.SGDClassifier, sk.SGDClassifier)]
    for first in range(0, 120, 40):
        part = slice(first, first + 40)
        for model in models:
            model.partial_fit(X[part], y[part], np.unique(y), sample_weight=weights[part])
        assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-10)
    assert models[0].t_ == models[1].t_
    kept = models[0].coef_
    assert_allclose(models[0].sparsify().predict(X) == models[1].predict(X), True)
    assert np.array_equal(models[0].densify().coef_, kept)
    for model in models:
        model.set_params(warm_start=True, max_iter=3).fit(X, y)
    assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-10)


def test_averaged_batches_keep_the_intercept():
    X, y = data(2)
    model = ours.SGDClassifier(average=True, random_state=0, shuffle=False)
    model.partial_fit(X[:60], y[:60], [0, 1]).partial_fit(X[60:], y[60:])
    whole = ours.SGDClassifier(average=True, random_state=0, shuffle=False)
    whole.partial_fit(X, y, [0, 1])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-12)
    assert_allclose(model.intercept_, whole.intercept_, rtol=1e-12)


def test_early_stopping_of_logistic_loss_scores_both_classes():
    X, y = data(2)
    codes = np.where(y == 1, 1, 0)
    one, other = (
        ours.SGDClassifier("log_loss", early_stopping=True, random_state=0).fit(X, labels).n_iter_
        for labels in (codes, np.where(codes == 1, "b", "a"))
    )
    assert one == other
    given = {"loss": "log_loss", "early_stopping": True, "random_state": 0, "tol": 2.0}
    assert ours.SGDClassifier(**given, n_iter_no_change=2).fit(X, y).n_iter_ == 3


@pytest.mark.parametrize("parameters", [{}, {"average": True}, {"nu": 0.1, "fit_intercept": False}])
def test_one_class(parameters):
    X, _ = data()
    found, theirs = (
        c(random_state=0, **parameters).fit(X) for c in (ours.SGDOneClassSVM, sk.SGDOneClassSVM)
    )
    assert_allclose(found.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(found.offset_, theirs.offset_, rtol=1e-9)
    assert_allclose(found.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    assert (found.predict(X) == theirs.predict(X)).all()
    for model in (found, theirs):
        model.partial_fit(X[:30])
    assert_allclose(found.coef_, theirs.coef_, rtol=1e-9)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_passive_aggressive_regression(loss):
    X, _ = data()
    y = X @ [1.0, -1.0, 0.5, 0.0] + 1.0
    found, theirs = (
        c(loss=loss, random_state=0).fit(X, y)
        for c in (ours.PassiveAggressiveRegressor, sk.PassiveAggressiveRegressor)
    )
    assert_allclose(found.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(found.partial_fit(X, y).predict(X), theirs.partial_fit(X, y).predict(X))


# ---------------------------------------------------------------------------- the perceptron


def separable():
    """Rows with a margin of at least 0.3 about a plane."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    distance = X @ [0.6, 0.8] + 0.2
    keep = np.abs(distance) > 0.3
    return X[keep], (distance > 0)[keep]


@pytest.mark.parametrize("batch", [False, True])
def test_mistakes_of_separable_rows(batch):
    X, y = separable()
    model = ours.Perceptron(batch=batch, tol=None, max_iter=100).fit(X, y)
    assert model.score(X, y) == 1.0
    bound = model.mistake_bound(X, y)
    rows = np.c_[np.ones(len(X)), X]
    plane = np.array([0.2, 0.6, 0.8])
    margin = np.abs(rows @ plane).min() / np.linalg.norm(plane)
    assert bound[0] <= np.square(rows).sum(axis=1).max() / margin**2  # the best plane's is less
    if not batch:
        assert 0 < model.mistakes_[0] <= bound[0]
        assert ours.Perceptron(shuffle=False, tol=None).fit(X, y).mistakes_[0] <= bound[0]
    y = y.copy()
    y[0] = not y[0]
    X = np.r_[X, X[:1]]
    y = np.r_[y, not y[0]]
    assert np.isinf(model.mistake_bound(X, y)).all()


def test_batch_steps_are_those_of_the_criterion():
    X, y = data()
    given = {"batch": True, "max_iter": 1, "tol": None}
    model = ours.Perceptron(**given).fit(X, y)
    for k, label in enumerate(model.classes_):
        signs = np.where(y == label, 1.0, -1.0)  # at zero all rows are on the wrong side
        step = signs @ np.c_[X, np.ones(120)]
        assert_allclose(np.append(model.coef_[k], model.intercept_[k]), step, rtol=1e-12)
    assert (model.mistakes_ == 120).all()
    with pytest.raises(ValueError, match="batch=True needs penalty=None"):
        ours.Perceptron(batch=True, penalty="l1").fit(X, y)
    with pytest.warns(ConvergenceWarning):
        ours.Perceptron(batch=True, max_iter=2).fit(X, y)


# ---------------------------------------------------------------------------- bad input


def test_bad_input():
    X, y = data()
    model = ours.SGDClassifier()
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        model.fit(X, np.ones(120))
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        ours.SGDClassifier().partial_fit(X, y, ["red", "blue"])
    with pytest.raises(ValueError, match="is not supported for partial_fit"):
        ours.SGDClassifier(class_weight="balanced").partial_fit(X, y, np.unique(y))
    with pytest.raises(ValueError, match="coef_init does not match"):
        model.fit(X, y, coef_init=np.zeros((2, 4)))
    with pytest.raises(ValueError, match="only works with loss 'hinge'"):
        ours.SGDClassifier("log_loss", learning_rate="pa2").fit(X, y)
    with pytest.raises(ValueError, match="overflow occurred at epoch"):
        ours.SGDClassifier("squared_error", learning_rate="constant", eta0=1e300).fit(X, y)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        _ = model.predict_proba


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 10)), rng.integers(0, 4, 20_000)
    found = [ours.SGDClassifier(n_jobs=k, max_iter=2, random_state=0).fit(X, y) for k in (1, 2)]
    assert np.array_equal(found[0].coef_, found[1].coef_)
