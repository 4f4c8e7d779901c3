"""Imputers beside scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
import sklearn.experimental.enable_iterative_imputer  # noqa: F401
import sklearn.impute as peer
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

import fastml
import fastml.impute as ours
from fastml import _threads
from fastml.preprocessing import OrdinalEncoder


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


def test_nearest_of_categories():
    """By hand: categories are 0 or 1 apart, and donors vote."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=80), rng.integers(0, 3, 80) * 7.0, rng.integers(0, 2, 80)])
    X[rng.random(X.shape) < 0.2] = np.nan
    new = X[:30].copy()
    new[:5, 1] = 99.0  # never seen: as far from each as they are from each other
    for weights in ("uniform", "distance"):
        model = ours.KNNImputer(n_neighbors=4, weights=weights, categorical_features=[1, 2]).fit(X)
        found = model.transform(new)
        for i, j in np.argwhere(np.isnan(new)):
            both = ~np.isnan(new[i]) & ~np.isnan(X)
            off = np.where(both, new[i] - X, 0.0)
            off[:, 1:] = off[:, 1:] != 0
            with np.errstate(invalid="ignore"):
                distances = np.sqrt((off**2).sum(axis=1) * 3 / both.sum(axis=1))
            usable = np.flatnonzero(~np.isnan(X[:, j]) & ~np.isnan(distances))
            near = usable[np.argsort(distances[usable], kind="stable")[:4]]
            if not len(near):
                continue
            w = np.ones(len(near))
            if weights == "distance":
                zero = distances[near] == 0
                w = zero.astype(float) if zero.any() else 1.0 / distances[near]
            if j == 0:
                assert_allclose(found[i, j], np.average(X[near, 0], weights=w))
            else:
                kinds = np.unique(X[near, j])
                votes = np.array([w[X[near, j] == kind].sum() for kind in kinds])
                assert found[i, j] in kinds[votes >= votes.max() - 1e-12]
    plain = ours.KNNImputer(n_neighbors=4).fit_transform(X)
    none = ours.KNNImputer(n_neighbors=4, categorical_features=[])
    assert_array_equal(none.fit_transform(X), plain)


def test_text_of_tables_by_their_neighbours():
    table = pd.DataFrame(
        {"size": [1.0, 1.1, 5.0, 5.1, 1.05], "kind": ["pea", "pea", "melon", "melon", np.nan]}
    )
    pipe = make_pipeline(OrdinalEncoder(), ours.KNNImputer(n_neighbors=2, categorical_features=[1]))
    codes = pipe.fit_transform(table)
    assert pipe[0].inverse_transform(codes)[4, 1] == "pea"
    named = ours.KNNImputer(n_neighbors=2, categorical_features=["kind"])
    codes = pd.DataFrame(OrdinalEncoder().fit_transform(table), columns=table.columns)
    assert named.fit_transform(codes)[4, 1] == 1.0
    with pytest.raises(ValueError, match="categorical_features"):
        ours.KNNImputer(categorical_features=[7]).fit(codes.to_numpy())


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
@pytest.mark.parametrize("missing", [None, np.nan, "?"])
def test_text(strategy, missing):
    rng = np.random.default_rng(0)
    X = np.array(["pear", "fig", "apple"], dtype=object)[rng.integers(0, 3, size=(50, 2))]
    X[rng.random(X.shape) < 0.3] = missing
    X[:4, 0] = "apple", "fig", "pear", missing
    for more in ({}, {"fill_value": "kiwi"}) if strategy == "constant" else ({},):
        more = {"strategy": strategy, "missing_values": missing, "add_indicator": True, **more}
        mine, theirs = ours.SimpleImputer(**more), peer.SimpleImputer(**more)
        assert_array_equal(mine.fit_transform(X), theirs.fit_transform(X))
        assert mine.statistics_.tolist() == theirs.statistics_.tolist()
        table = pd.DataFrame(X, dtype=object)
        assert_array_equal(mine.fit_transform(table), theirs.fit_transform(table))


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
