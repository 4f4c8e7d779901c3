"""Sample weights whose sums or products overflow or vanish: no NaN, no silent nonsense."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import specimens

from fastml import ensemble
from fastml._validation import relative_weights

ONLY_RATIOS = (
    "cluster.BisectingKMeans", "cluster.KCentroids", "cluster.KMeans", "cluster.KMedians",
    "cluster.MiniBatchKMeans", "cluster.SoftKMeans", "cluster.SphericalKMeans",
    "ensemble.HistGradientBoostingClassifier", "ensemble.HistGradientBoostingRegressor",
    "mixture.GaussianMixture", "neighbors.KernelClassifier", "neighbors.KernelDensity",
    "neighbors.KernelRegressor",
)  # fmt: skip
"""Where weights count by their ratios."""

WEIGHTS = np.random.default_rng(0).random(45) + 0.1
IN_UNITS = ("inertia_", "objective_")


def fitted_values(path, weights) -> dict:
    estimator = specimens.make(specimens.estimators()[path])
    X = specimens.rows(45)
    estimator.fit(X, specimens.target(estimator, 45), sample_weight=weights)
    own = {n: v for n, v in specimens.attributes(estimator).items() if n not in IN_UNITS}
    return {**own, **specimens.outputs(estimator, X)}


@pytest.mark.parametrize("path", ONLY_RATIOS)
@pytest.mark.parametrize("power", [-1000, 1022])
def test_a_unit_of_weights_changes_no_bit(path, power):
    plain = fitted_values(path, WEIGHTS)
    scaled = fitted_values(path, WEIGHTS * 2.0**power)
    assert plain.keys() == scaled.keys()
    for name, value in plain.items():
        np.testing.assert_equal(scaled[name], value, err_msg=name)


def test_inertia_is_in_units_of_the_weights():
    from fastml.cluster import KMeans

    X = specimens.rows(45)
    plain = KMeans(3, random_state=0).fit(X, sample_weight=WEIGHTS)
    scaled = KMeans(3, random_state=0).fit(X, sample_weight=WEIGHTS * 2.0**900)
    assert scaled.inertia_ == plain.inertia_ * 2.0**900
    new = plain.score(X, sample_weight=WEIGHTS * 2.0**900)
    assert new == plain.score(X, sample_weight=WEIGHTS) * 2.0**900


@pytest.mark.parametrize("power", [-1000, 900])
def test_penalties_of_boosting_are_in_units_of_the_weights(power):
    from fastml.ensemble import HistGradientBoostingRegressor

    X, unit = specimens.rows(200), 2.0**power
    y, weights = X[:, 0] ** 2, np.random.default_rng(0).random(200) + 0.1
    plain = HistGradientBoostingRegressor(l2_regularization=2.0, gamma=0.5, max_iter=5)
    scaled = HistGradientBoostingRegressor(
        l2_regularization=2.0 * unit, gamma=0.5 * unit, max_iter=5
    )
    found = [m.fit(X, y, w).predict(X) for m, w in ((plain, weights), (scaled, weights * unit))]
    np.testing.assert_array_equal(*found)
    # Beside these weights, a penalty of 2 is all or nothing.
    other = plain.fit(X, y, weights * unit).predict(X)
    if power < 0:
        np.testing.assert_allclose(other, np.average(y, weights=weights))
    else:
        free = HistGradientBoostingRegressor(max_iter=5).fit(X, y, weights).predict(X)
        np.testing.assert_array_equal(other, free)


def test_batches_of_other_units_are_added_up():
    from fastml.cluster import MiniBatchKMeans

    X = specimens.rows(90)
    found = []
    for unit in (1.0, 2.0**1000):
        model = MiniBatchKMeans(3, random_state=0)
        model.partial_fit(X[:45], sample_weight=WEIGHTS * unit)
        model.partial_fit(X[45:], sample_weight=WEIGHTS * unit)
        found.append(model.cluster_centers_)
    np.testing.assert_array_equal(*found)


def weighted() -> list[str]:
    free = {*ONLY_RATIOS, "cluster.DBSCAN"}
    return [
        path
        for path, cls in specimens.estimators().items()
        if path not in free and "sample_weight" in inspect.signature(cls.fit).parameters
    ]


@pytest.mark.parametrize("path", weighted())
def test_weights_of_an_infinite_sum_are_refused(path):
    """Or the answer is finite; never another error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = fitted_values(path, WEIGHTS * 2.0**1022)
        except ValueError:
            return
    assert path.startswith("svm.")
    assert np.isfinite(found["predict"]).all()


def test_ordinary_weights_are_left_alone():
    weights, unit = relative_weights(WEIGHTS, np.zeros((45, 1)))
    assert weights is WEIGHTS or np.shares_memory(weights, WEIGHTS)
    assert unit == 1.0
    least, unit = relative_weights([5e-324, 0.0], np.zeros((2, 1)))
    assert least.tolist() == [1.0, 0.0]
    assert unit == 5e-324
    with pytest.raises(ValueError, match="non-zero"):
        relative_weights([0.0, 0.0], np.zeros((2, 1)))


@pytest.mark.parametrize("name", ["ElasticNetCV", "MultiTaskLassoCV", "LogisticRegressionCV"])
def test_a_fold_without_weight_is_refused(name):
    cls = specimens.estimators()[f"linear_model.{name}"]
    weights = np.where(np.arange(45) < 20, 0.0, 1.0)
    cv = [(np.arange(15, 45), np.arange(15)), (np.arange(30), np.arange(30, 45))]
    model = specimens.make(cls, cv=cv)
    y = specimens.target(specimens.make(cls), 45)
    with pytest.raises(ValueError, match="at least one non-zero number"):
        model.fit(specimens.rows(45), y, sample_weight=weights)


def test_one_number_as_weight_of_all_rows():
    from fastml.linear_model import LogisticRegressionCV

    X, y = specimens.rows(45), np.arange(45) % 3
    kwargs = {"Cs": [0.1, 1.0], "cv": 3, "l1_ratios": (0,), "scoring": None,
              "use_legacy_attributes": False}  # fmt: skip
    found = LogisticRegressionCV(**kwargs).fit(X, y, sample_weight=2.0)
    same = LogisticRegressionCV(**kwargs).fit(X, y, sample_weight=np.full(45, 2.0))
    np.testing.assert_array_equal(found.coef_, same.coef_)


@pytest.mark.parametrize("name", ["BaggingRegressor", "RandomForestRegressor"])
@pytest.mark.parametrize("unit", [1e15, 1e300])
def test_a_share_of_huge_weights_is_refused(name, unit):
    """A share counts weights: here 10^13 rows and more, beyond memory and any counter."""
    model = getattr(ensemble, name)(n_estimators=2, max_samples=0.001, random_state=0)
    X = specimens.rows(45)
    with pytest.raises(ValueError, match="max_samples as a whole number"):
        model.fit(X, X[:, 0], sample_weight=WEIGHTS * unit)
    assert model.set_params(max_samples=9).fit(X, X[:, 0], sample_weight=WEIGHTS * unit)
