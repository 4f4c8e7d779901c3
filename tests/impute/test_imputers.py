"""Imputers beside scikit-learn's."""

import numpy as np
import pytest
import sklearn.experimental.enable_iterative_imputer  # noqa: F401
import sklearn.impute as peer
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal

import fastml
import fastml.impute as ours
from fastml import _threads


def with_holes(n=120, d=5, missing=np.nan):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.1 * rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.2] = missing
    return X


@pytest.mark.parametrize("missing", [np.nan, -1.0])
@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_simple(strategy, missing):
    X = with_holes(missing=missing)
    X[:, 2] = missing
    X[:, 4] = np.round(X[:, 4])
    for keep in (False, True):
        more = {
            "strategy": strategy, "missing_values": missing, "add_indicator": True,
            "keep_empty_features": keep,
        }  # fmt: skip
        mine, theirs = ours.SimpleImputer(**more), peer.SimpleImputer(**more)
        if not keep:
            with pytest.warns(UserWarning, match="Skipping features"):
                found, expected = mine.fit_transform(X), theirs.fit_transform(X)
        else:
            found, expected = mine.fit_transform(X), theirs.fit_transform(X)
        assert_allclose(found.astype(float), expected.astype(float), rtol=1e-12)
        assert_array_equal(mine.get_feature_names_out(), theirs.get_feature_names_out())


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1.0 / (1.0 + d)])
@pytest.mark.parametrize("missing", [np.nan, -1.0])
def test_nearest(weights, missing):
    X = with_holes(missing=missing)
    X[3] = missing  # shares nothing: takes the means
    more = {"weights": weights, "missing_values": missing, "n_neighbors": 4}
    found, expected = (m.KNNImputer(**more).fit_transform(X) for m in (ours, peer))
    assert_allclose(found, expected, rtol=1e-9)


def test_nearest_by_a_users_metric():
    def metric(x, y, *, missing_values):
        return np.nansum(np.abs(x - y))

    X = with_holes(40)
    found, expected = (m.KNNImputer(metric=metric).fit_transform(X) for m in (ours, peer))
    assert_allclose(found, expected, rtol=1e-12)


def test_nearest_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(_threads, "OPERATIONS_PER_THREAD", 256)
    found = []
    for n_threads in (1, 2):
        with fastml.thread_limit(n_threads):
            found.append(ours.KNNImputer().fit_transform(with_holes()))
    assert_bit_equal(*found)


@pytest.mark.filterwarnings("ignore:.*Early stopping criterion not reached")
@pytest.mark.parametrize("order", ["ascending", "descending", "roman", "arabic", "random"])
def test_iterative(order):
    more = {"imputation_order": order, "random_state": 0, "max_iter": 5, "min_value": -1.5}
    found, expected = (m.IterativeImputer(**more).fit_transform(with_holes()) for m in (ours, peer))
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert found.min() >= min(-1.5, np.nanmin(with_holes()))


def test_indicator():
    X = with_holes()
    X[:, 0] = 1.0
    found = ours.MissingIndicator().fit_transform(X)
    assert_array_equal(found, peer.MissingIndicator().fit_transform(X))
    X[0, 0] = np.nan
    model = ours.MissingIndicator().fit(X[1:])
    with pytest.raises(ValueError, match="no missing values in fit"):
        model.transform(X)
