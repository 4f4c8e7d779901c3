"""LinearSVC and LinearSVR: scikit-learn's answers, optimality, weights, errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as TheirSVC
from sklearn.svm import LinearSVR as TheirSVR

import fastml.svm._linear._newton as linear_newton
from fastml.svm import LinearSVC, LinearSVR

TIGHT = {"tol": 1e-9, "max_iter": 200_000, "random_state": 0}
SOLVERS = {
    "hinge": {"loss": "hinge", "dual": True},
    "squared hinge, dual": {"dual": True},
    "squared hinge, primal": {"dual": False},
    "l1": {"penalty": "l1", "dual": False},
    "Crammer-Singer": {"multi_class": "crammer_singer"},
}


def data(n=120, d=5, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    score = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n)
    y = np.digitize(score, np.linspace(-0.7, 0.7, n_classes - 1))
    return X, y, rng.uniform(0.2, 2.0, n)


def objective(model, X, y, weights, loss, penalty="l2", C=1.0):
    """Sum over the problems of a fitted LinearSVC."""
    coef, intercept = model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))
    total = 0.0
    for k in range(len(coef)):
        sign = np.where(y == (k if len(coef) > 1 else 1), 1.0, -1.0)
        short = np.maximum(0.0, 1.0 - sign * (X @ coef[k] + intercept[k]))
        w = np.append(coef[k], intercept[k])
        total += np.abs(w).sum() if penalty == "l1" else 0.5 * w @ w
        total += C * (weights * short ** (1 if loss == "hinge" else 2)).sum()
    return total


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_classification_is_scikit_learns(solver, weighted, container, n_classes):
    X, y, weights = data(n_classes=n_classes)
    parameters = {**TIGHT, **SOLVERS[solver], "C": 0.7, "class_weight": {1: 2.0}}
    parameters |= {"intercept_scaling": 3.0}
    given = weights if weighted else None
    ours = LinearSVC(**parameters).fit(container(X), y, given)
    theirs = TheirSVC(**parameters).fit(container(X), y, given)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-6)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    scores = theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(container(X)), scores, atol=1e-5)
    ordered = np.sort(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-4  # under hinge loss two scores may both be −1
    np.testing.assert_array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])
    assert ours.coef_.shape == theirs.coef_.shape


@pytest.mark.parametrize("solver", ["hinge", "squared hinge, dual", "squared hinge, primal", "l1"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_objective_at_the_default_tolerance(solver, n_classes):
    """Not above scikit-learn's by more than the tolerance is worth."""
    X, y, weights = data(n_classes=n_classes)
    parameters = {**SOLVERS[solver], "random_state": 0, "C": 0.1}
    of = {"loss": parameters.get("loss", "squared_hinge"), "C": 0.1}
    of["penalty"] = parameters.get("penalty", "l2")
    ours = objective(LinearSVC(**parameters).fit(X, y, weights), X, y, weights, **of)
    theirs = objective(TheirSVC(**parameters).fit(X, y, weights), X, y, weights, **of)
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0.2, "C": 0.1},
        {"loss": "squared_epsilon_insensitive", "dual": True, "epsilon": 0.1},
        {"loss": "squared_epsilon_insensitive", "dual": False, "epsilon": 0.1},
        {"loss": "squared_epsilon_insensitive", "dual": False, "fit_intercept": False},
    ],
)
def test_regression_is_scikit_learns(parameters, weighted, container):
    X, _, weights = data()
    y = X @ np.arange(5.0) + np.sin(np.arange(len(X))) + 2.0
    parameters = {**TIGHT, "tol": 1e-7, **parameters}
    given = weights if weighted else None
    ours = LinearSVR(**parameters).fit(container(X), y, given)
    theirs = TheirSVR(**parameters).fit(container(X), y, given)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_gradient_is_zero_with_and_without_the_hessian(container, monkeypatch):
    X, y, weights = data(200, 12, 2)
    found = []
    for most in (linear_newton.MOST_FEATURES, 0):
        monkeypatch.setattr(linear_newton, "MOST_FEATURES", most)
        model = LinearSVC(dual=False, tol=1e-10, C=2.0).fit(container(X), y, weights)
        sign = 2.0 * y - 1.0
        w = np.append(model.coef_[0], model.intercept_)
        Z = np.column_stack([X, np.ones(len(X))])
        short = np.maximum(0.0, 1.0 - sign * (Z @ w))
        gradient = w - 4.0 * (weights * sign * short) @ Z
        assert np.abs(gradient).max() < 1e-7
        found.append(model.coef_)
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_values_stored_in_parts_are_summed(solver):
    """A sparse matrix may hold a value as several entries of one place."""
    X, y, _ = data(60)
    n_rows, n_features = X.shape
    columns = np.repeat(np.tile(np.arange(n_features, dtype=np.int32), n_rows), 3)
    starts = 3 * n_features * np.arange(n_rows + 1, dtype=np.int32)
    in_parts = sp.csr_array((np.repeat(X.ravel() / 3.0, 3), columns, starts), shape=X.shape)
    parameters = {**TIGHT, **SOLVERS[solver]}
    found = LinearSVC(**parameters).fit(in_parts, y)
    assert in_parts.nnz == 3 * X.size  # the user's matrix is left as it was
    expected = LinearSVC(**parameters).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_whole_weights_are_repeated_rows(solver):
    X, y, _ = data(60)
    weights = np.arange(60) % 3
    parameters = {**TIGHT, **SOLVERS[solver]}
    weighted = LinearSVC(**parameters).fit(X, y, weights)
    repeated = LinearSVC(**parameters).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


def test_many_classes_in_parts():
    """More problems than are solved at once."""
    X, y, _ = data(400, 6, 40)
    parameters = {"dual": True, "tol": 1e-8, "max_iter": 100_000, "C": 0.01, "random_state": 0}
    ours, theirs = LinearSVC(**parameters).fit(X, y), TheirSVC(**parameters).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    parameters |= {"penalty": "l1", "dual": False, "C": 1.0}
    ours, theirs = LinearSVC(**parameters).fit(X, y), TheirSVC(**parameters).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_joint_machine_does_not_depend_on_threads():
    X, y, _ = data()
    fits = [LinearSVC(multi_class="crammer_singer", random_state=0, n_jobs=n) for n in (1, 2)]
    one, two = (model.fit(X, y) for model in fits)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_too_few_iterations_warn():
    X, y, _ = data()
    for parameters in SOLVERS.values():
        with pytest.warns(ConvergenceWarning, match="failed to converge"):
            model = LinearSVC(**{**parameters, "max_iter": 1, "tol": 1e-12}).fit(X, y)
        assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning):
        assert LinearSVR(max_iter=2).fit(X, X[:, 0]).n_iter_ == 2


def test_sparse_coefficients():
    X, y, _ = data()
    model = LinearSVC(penalty="l1", C=0.05).fit(X, y)
    scores = model.decision_function(X)
    assert (model.coef_ == 0).any()
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_allclose(model.decision_function(sp.csr_array(X)), scores)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_verbose_prints(capsys):
    X, y, _ = data()
    LinearSVC(verbose=1).fit(X, y)
    LinearSVC(verbose=1, dual=True, C=1e-3).fit(X, y)
    printed = capsys.readouterr().out
    assert "objective" in printed
    assert "epoch" in printed


@pytest.mark.parametrize(
    "parameters",
    [
        {"penalty": "l1", "loss": "hinge"},
        {"penalty": "l1", "dual": True},
        {"loss": "hinge", "dual": False},
        {"C": 0.0},
        {"C": -1.0},
        {"class_weight": {0: 0.0}},
        {"intercept_scaling": 0.0},
    ],
)
def test_refused_parameters(parameters):
    X, y, _ = data()
    model = LinearSVC(**parameters)
    with pytest.raises(ValueError, match=r"penalty|C|class_weight|intercept_scaling"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


def test_refused_data():
    X, y, _ = data()
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, y > 0, (y > 0).astype(float))
    with pytest.raises(ValueError, match=r"non-zero|sample_weight"):
        LinearSVC().fit(X, y, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"negative|Negative"):
        LinearSVC().fit(X, y, -np.ones(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        LinearSVR().fit(np.full_like(X, np.nan), X[:, 0])
    with pytest.raises(ValueError, match="epsilon"):
        LinearSVR(epsilon=-1.0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="dual=False"):
        LinearSVR(dual=False).fit(X, X[:, 0])


def test_hopeless_scale_ends():
    """Values of 1e100: no endless loop, no invalid numbers."""
    X, y, _ = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for parameters in SOLVERS.values():
            model = LinearSVC(**{**parameters, "max_iter": 20}).fit(X * 1e100, y)
            assert np.isfinite(model.coef_).all()
