"""Histogram gradient boosting beside scikit-learn's, and what only fastml has."""

import numpy as np
import pytest
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble as reference

from fastml._jit import kernel
from fastml.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from fastml.ensemble._binning import BinMapper

FEW = {"max_iter": 15, "max_leaf_nodes": 7, "min_samples_leaf": 5, "early_stopping": False}


def problem(n=400, d=5, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.3, size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


# ---------------------------------------------------------------------------- as scikit-learn


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_regression_is_scikit_learns(loss, missing):
    X, y = problem(missing=missing)
    y = y if loss == "squared_error" else np.exp(y / 3)
    ours = HistGradientBoostingRegressor(loss=loss, **FEW).fit(X, y)
    theirs = reference.HistGradientBoostingRegressor(loss=loss, **FEW).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_scikit_learns(n_classes):
    X, y = problem(missing=0.1)
    y = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    ours = HistGradientBoostingClassifier(**FEW).fit(X, y)
    theirs = reference.HistGradientBoostingClassifier(**FEW).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-2)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_robust_losses_learn(loss):
    X, y = problem()
    y[::50] += 100.0
    quantile = 0.5 if loss == "quantile" else None
    model = HistGradientBoostingRegressor(loss=loss, quantile=quantile, **FEW).fit(X, y)
    clean = np.arange(len(y)) % 50 != 0
    error = np.abs(model.predict(X) - y)[clean].mean()
    assert error < 0.6 * np.abs(y - np.median(y))[clean].mean()


def test_thresholds_are_scikit_learns():
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    X, _ = problem(1000, missing=0.1)
    X[:, 1] = np.round(X[:, 1])
    for weights in (None, np.arange(1000) % 3.0):
        ours = BinMapper(50).fit(X, weights)
        theirs = _BinMapper(n_bins=51).fit(X, sample_weight=weights)
        for a, b in zip(ours.bin_thresholds_, theirs.bin_thresholds_):
            assert_allclose(a, b, rtol=1e-12)
        assert_array_equal(ours.transform(X), theirs.transform(X))
        single = X.astype(np.float32)
        assert_array_equal(ours.transform(single), theirs.transform(single))


# ---------------------------------------------------------------------------- structure


def test_same_model_for_any_number_of_threads(monkeypatch):
    from fastml import _threads

    monkeypatch.setattr(_threads, "OPERATIONS_PER_THREAD", 64)
    X, y = problem(20_000, missing=0.1)
    one, two = (
        HistGradientBoostingRegressor(n_jobs=n, max_iter=3, early_stopping=False).fit(X, y)
        for n in (1, 2)
    )
    for a, b in zip(one._predictors, two._predictors):
        assert_bit_equal(a[0].nodes, b[0].nodes)
    assert_bit_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("limits", [{"max_depth": 2}, {"max_leaf_nodes": 4}, {"gamma": 1e9}])
def test_trees_keep_their_limits(limits):
    X, y = problem()
    model = HistGradientBoostingRegressor(**{**FEW, **limits}).fit(X, y)
    for (tree,) in model._predictors:
        leaves = tree.nodes[tree.nodes["left"] < 0]
        assert tree.get_max_depth() <= limits.get("max_depth", 99)
        assert tree.get_n_leaf_nodes() <= limits.get("max_leaf_nodes", 7)
        assert leaves["count"].sum() == len(X)
        assert leaves["count"].min() >= FEW["min_samples_leaf"]
        if "gamma" in limits:
            assert len(tree.nodes) == 1


def test_order_of_growth_does_not_matter_without_a_limit():
    X, y = problem()
    free = {**FEW, "max_leaf_nodes": None, "max_depth": 3}
    by_leaf, by_level = (
        HistGradientBoostingRegressor(grow_policy=policy, **free).fit(X, y)
        for policy in ("leaf-wise", "depth-wise")
    )
    limited = HistGradientBoostingRegressor(
        grow_policy="depth-wise", **{**free, "max_leaf_nodes": 8}
    ).fit(X, y)
    assert_allclose(by_leaf.predict(X), by_level.predict(X))
    assert_allclose(by_leaf.predict(X), limited.predict(X))


def test_monotone_and_interactions():
    X, y = problem(1000)
    model = HistGradientBoostingRegressor(
        monotonic_cst=[1, 0, 0, -1, 0], interaction_cst=[{0}, {1, 2}], **FEW
    ).fit(X, y)
    line = np.repeat(X[:1], 50, axis=0)
    line[:, 0] = np.linspace(-3, 3, 50)
    assert np.all(np.diff(model.predict(line)) >= 0)
    line = np.repeat(X[:1], 50, axis=0)
    line[:, 3] = np.linspace(-3, 3, 50)
    assert np.all(np.diff(model.predict(line)) <= 0)
    for (tree,) in model._predictors:
        used = set(tree.nodes["feature_idx"][tree.nodes["left"] >= 0].tolist())
        assert used <= {0} or used <= {1, 2} or used <= {3, 4}


def test_categories_split_by_subsets():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2000), rng.integers(0, 30, 2000)])
    y = np.isin(X[:, 1], [1, 4, 9, 16, 25]).astype(float)
    model = HistGradientBoostingRegressor(categorical_features=[1], learning_rate=1.0, max_iter=1)
    model.fit(X, y)
    root = model._predictors[0][0]
    assert root.nodes["is_categorical"][0]
    assert_allclose(model.predict(X), y, atol=1e-7)
    text = model.dump_text()
    assert "x[1] in [" in text
    assert_allclose(model.predict([[0.0, 99.0]]), model.predict([[0.0, np.nan]]))


@pytest.mark.parametrize("kind", ["classifier", "categories", "names"])
def test_json_round_trip(kind):
    X, y = problem(missing=0.1)
    cls, more = HistGradientBoostingRegressor, {}
    if kind == "classifier":
        cls, y = HistGradientBoostingClassifier, np.where(y > 0, "yes", "no")
    if kind != "classifier":
        X[:, 4] = np.arange(len(X)) % 7
        more = {"categorical_features": [4]}
    if kind == "names":
        import pandas as pd

        X = pd.DataFrame(X, columns=list("abcde"))
    model = cls(**FEW, **more).fit(X, y)
    again = cls.from_json(model.to_json())
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.dump_text() == model.dump_text()
    with pytest.raises(ValueError, match="format"):
        cls.from_json("{}")


# ---------------------------------------------------------------------------- beyond


def test_subsample_and_l1_shrink():
    X, y = problem()
    plain = HistGradientBoostingRegressor(**FEW).fit(X, y)
    drawn = HistGradientBoostingRegressor(subsample=0.5, random_state=0, **FEW).fit(X, y)
    assert drawn._predictors[0][0].nodes["count"][0] == 200
    assert 0.5 < drawn.score(X, y) != plain.score(X, y)
    strong = HistGradientBoostingRegressor(l1_regularization=50.0, **FEW).fit(X, y)
    assert np.ptp(strong.predict(X)) < np.ptp(plain.predict(X))


def test_quantiles_in_one_model():
    X, y = problem(2000)
    model = HistGradientBoostingRegressor(
        loss="quantile", quantiles=[0.9, 0.1, 0.5], **{**FEW, "max_iter": 60}
    ).fit(X, y)
    q = model.predict_quantiles(X)
    assert q.shape == (2000, 3)
    assert np.all(np.diff(q, axis=1) >= 0)
    assert_allclose((y[:, None] <= q).mean(axis=0), [0.1, 0.5, 0.9], atol=0.06)
    with pytest.raises(ValueError, match="loss='quantile'"):
        HistGradientBoostingRegressor(**FEW).fit(X, y).predict_quantiles(X)


@kernel
def doubled_squares(y, raw):
    return 2.0 * (raw - y), 1.0


def test_textbook_stumps():
    """Two stumps with eta = 1 and lambda = 1; see worked example 000-boosting-a."""
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([6.0, 6.0, 12.0, 18.0])
    model = HistGradientBoostingRegressor(
        loss=doubled_squares,
        learning_rate=1.0,
        l2_regularization=1.0,
        max_iter=2,
        max_leaf_nodes=2,
        min_samples_leaf=1,
        gamma=-1000.0,  # the notes take the best split even where none would be better
    ).fit(X, y)
    first, second = model.staged_predict(X)
    assert_allclose(first, [8, 8, 20, 20], rtol=1e-12)
    assert_allclose(second, [16 / 3, 16 / 3, 40 / 3, 40 / 3], rtol=1e-12)


def test_bad_losses():
    X, y = problem()
    with pytest.raises(TypeError, match=r"compiled with numba\.njit"):
        HistGradientBoostingRegressor(loss=lambda y, raw: (raw - y, 1.0)).fit(X, y)

    with pytest.raises(ValueError, match="gradient, hessian"):
        HistGradientBoostingRegressor(loss=one_number).fit(X, y)


@kernel
def one_number(y, raw):
    return raw - y


def test_errors_name_what_is_wrong():
    X, y = problem()
    X[:, 0] = np.arange(len(X)) % 300
    with pytest.raises(ValueError, match="cardinality <= 255"):
        HistGradientBoostingRegressor(categorical_features=[0]).fit(X, y)
    X[:, 0] %= 5
    with pytest.raises(ValueError, match="Categorical features cannot have monotonic"):
        HistGradientBoostingRegressor(categorical_features=[0], monotonic_cst=[1, 0, 0, 0, 0]).fit(
            X, y
        )
    with pytest.raises(ValueError, match="needs quantile"):
        HistGradientBoostingRegressor(loss="quantile").fit(X, y)


def test_early_stopping_keeps_the_best():
    X, y = problem(2000)
    X_val, y_val = problem(500, seed=1)
    settings = {"max_iter": 300, "learning_rate": 0.5, "n_iter_no_change": 5}
    model = HistGradientBoostingRegressor(**settings).fit(X, y, X_val=X_val, y_val=y_val)
    best = HistGradientBoostingRegressor(keep_best=True, **settings)
    best.fit(X, y, X_val=X_val, y_val=y_val)
    assert best.n_iter_ == np.argmax(model.validation_score_) < model.n_iter_ < 300
    assert len(best.validation_score_) == best.n_iter_ + 1


def test_callbacks_can_stop():
    X, y = problem()
    seen = []

    def callback(estimator, iteration):
        seen.append(iteration)
        return iteration == 3

    model = HistGradientBoostingRegressor(callbacks=[callback], **FEW).fit(X, y)
    assert seen == [0, 1, 2, 3]
    assert model.n_iter_ == 4


def test_importances():
    X, y = problem(1000)
    model = HistGradientBoostingRegressor(**FEW).fit(X, y)
    for kind in ("gain", "count"):
        shares = model.importances(kind)
        assert_allclose(shares.sum(), 1.0)
        assert set(np.argsort(shares)[-3:]) == {0, 1, 2}
    shuffled = model.importances("permutation", X, y, random_state=0)
    assert set(np.argsort(shuffled)[-3:]) == {0, 1, 2}
    with pytest.raises(ValueError, match="needs X and y"):
        model.importances("permutation")
    with pytest.raises(ValueError, match="kind must be"):
        model.importances("beauty")


def test_verbose_speaks(capsys):
    X, y = problem(100)
    HistGradientBoostingRegressor(verbose=2, **{**FEW, "early_stopping": True}).fit(X, y)
    out = capsys.readouterr().out
    assert "[1/15] 1 trees" in out
    assert "val score" in out


@pytest.mark.small
@pytest.mark.filterwarnings("ignore:overflow encountered")  # of hashes, with JIT off
def test_small_problem_of_every_path():
    X, y = problem(40, 4, missing=0.1)
    X[:, 3] = np.arange(40) % 3
    few = {"max_iter": 2, "min_samples_leaf": 2, "max_leaf_nodes": 4}
    for loss in ("squared_error", "absolute_error", "huber"):
        HistGradientBoostingRegressor(
            loss=loss, categorical_features=[3], early_stopping=True, **few
        ).fit(X, y)
    HistGradientBoostingRegressor(loss="poisson", max_features=0.5, **few).fit(X, np.abs(y))
    HistGradientBoostingRegressor(
        monotonic_cst=[1, -1, 0, 0], interaction_cst="pairwise", l1_regularization=0.1, **few
    ).fit(X, y)
    HistGradientBoostingRegressor(grow_policy="depth-wise", categorical_features=[3], **few).fit(
        X, y, sample_weight=np.arange(40.0)
    )
    model = HistGradientBoostingClassifier(early_stopping=True, **few).fit(X, np.arange(40) % 3)
    assert model.predict_proba(X).shape == (40, 3)
    HistGradientBoostingClassifier(**{**few, "max_leaf_nodes": None}).fit(X, y > 0)
