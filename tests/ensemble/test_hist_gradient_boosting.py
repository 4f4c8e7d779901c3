"""Histogram gradient boosting beside scikit-learn's, and what only fastml has."""

import json

import numpy as np
import pytest
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble as reference
from sklearn.base import clone
from specimens import specimens

from fastml._engines.boosted.bins import BinMapper
from fastml._jit import kernel
from fastml.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

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


@pytest.mark.parametrize("seed", range(4))
def test_rare_unknown_and_missing_categories_go_scikit_learns_way(seed):
    rng = np.random.default_rng(seed)
    n = 400
    codes = np.minimum(rng.geometric(0.2, n), 25)
    X = np.column_stack([rng.normal(size=n), codes, rng.integers(0, 7, n)])
    if seed % 2:
        X[rng.random(n) < 0.05, 1] = np.nan
    y = X[:, 0] + rng.normal(size=26)[codes] + rng.normal(scale=0.3, size=n)
    settings = {"categorical_features": [1, 2], **FEW}
    ours = HistGradientBoostingRegressor(**settings).fit(X, y)
    theirs = reference.HistGradientBoostingRegressor(**settings).fit(X, y)
    X[:50, 1], X[50:100, 1] = 99, np.nan
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5, atol=1e-5)


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


OPTIONS = [
    *((cls, more) for path, cls, more in specimens() if "HistGradientBoosting" in path),
    *(
        (HistGradientBoostingRegressor, more)
        for more in [
            {"loss": "quantile", "quantiles": np.array([0.9, 0.1, 0.5]), "quantile": 0.5},
            {"loss": "huber", "quantile": np.float64(0.8), "max_leaf_nodes": np.int64(5)},
            {"loss": "gamma", "subsample": 0.7, "random_state": 7, "init": 0.5},
            {"monotonic_cst": np.array([1, 0, -1, 0], dtype=np.int8)},
            {"monotonic_cst": {"x1": 1}, "interaction_cst": [{0, 1}, (2, 3)]},
            {"interaction_cst": [frozenset({0, 1}), range(2, 4)], "max_features": 0.5},
            {"categorical_features": [False, False, True, False]},
            {"categorical_features": np.array([2])},
            {"early_stopping": True, "scoring": "r2", "keep_best": True, "tol": np.float32(0.25)},
        ]
    ),
    (HistGradientBoostingClassifier, {"class_weight": {0: 1.0, 1: 2.5, 2: 1}}),
    (HistGradientBoostingClassifier, {"class_weight": "balanced", "grow_policy": "depth-wise"}),
]


@pytest.mark.parametrize(("cls", "more"), OPTIONS, ids=lambda value: str(value)[-40:])
def test_json_keeps_every_option(cls, more):
    X, y = problem(d=4)
    X[:, 2] = np.arange(len(X)) % 5
    y = np.digitize(y, [-1, 1]) if cls is HistGradientBoostingClassifier else np.abs(y) + 0.1
    if isinstance(more.get("monotonic_cst"), dict):
        import pandas as pd

        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(4)])
    model = cls(**{"max_iter": 5, "min_samples_leaf": 5, **more}).fit(X, y)
    again = cls.from_json(model.to_json())
    kept = again.get_params()
    for name, value in model.get_params().items():
        assert_array_equal(np.asarray(kept[name], object), np.asarray(value, object))
        as_given = type(value) if not isinstance(value, np.generic) else type(value.item())
        assert type(kept[name]) is as_given
    assert_bit_equal(again.predict(X), model.predict(X))
    for a, b in zip(again.staged_predict(X), model.staged_predict(X), strict=True):
        assert_bit_equal(a, b)
    if more.get("loss") == "quantile":
        assert_bit_equal(again.predict_quantiles(X), model.predict_quantiles(X))
    assert again.to_json() == model.to_json()
    later = {"warm_start": True, "max_iter": model.n_iter_ + 2, "early_stopping": False}
    for each in (model, again):  # also the seeds of what is drawn later
        each.set_params(**later).fit(X, y)
    assert_bit_equal(again.predict(X), model.predict(X))


def test_json_leaves_functions_out():
    X, y = problem()
    model = HistGradientBoostingRegressor(
        loss=doubled_squares,
        random_state=np.random.RandomState(0),
        **FEW,
    )
    again = HistGradientBoostingRegressor.from_json(model.fit(X, y).to_json())
    assert again.loss == "squared_error"
    assert again.random_state is None
    assert_bit_equal(again.predict(X), model.predict(X))
    first = json.loads(HistGradientBoostingRegressor(**FEW).fit(X, y).to_json())
    first["version"] = 1
    del first["seeds"]
    assert HistGradientBoostingRegressor.from_json(json.dumps(first)).n_iter_ == FEW["max_iter"]


def stored_model():
    """A small model of two numbers and a category, and its JSON as an object."""
    X, y = problem(d=3)
    X[:, 2] = np.arange(len(X)) % 7
    y += np.isin(X[:, 2], [1, 4])
    model = HistGradientBoostingRegressor(categorical_features=[2], **FEW).fit(X, y)
    return model, json.loads(model.to_json())


def first_split(stored, categorical):
    """(fields of its tree, its node): a split of the kind, in a tree with several."""
    for (tree,) in stored["trees"]:
        for node, (left, codes) in enumerate(zip(tree["left"], tree["categories"])):
            if left >= 0 and (codes is not None) == categorical and len(tree["left"]) > 5:
                return tree, node
    raise AssertionError("no such split")


@pytest.mark.parametrize("wrong", [[], [1], [0, 0], [[0, 1]], None, [0, 1, 2]])
def test_json_with_classes_that_cannot_be_is_refused(wrong):
    X, y = problem(d=3)
    model = HistGradientBoostingClassifier(**FEW).fit(X, y > y.mean())
    stored = json.loads(model.to_json())
    assert HistGradientBoostingClassifier.from_json(json.dumps(stored)).classes_.tolist() == [0, 1]
    stored["classes"] = wrong
    with pytest.raises(ValueError, match=r"classes|text"):
        HistGradientBoostingClassifier.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("left", 10**6),
        ("left", -2),
        ("left", 0),
        ("left", 2),
        ("left", 1 << 40),
        ("left", 1.5),
        ("count", 3.5),
        ("feature", 100_000),
        ("feature", 3),
        ("feature", -1),
        ("feature", 2),  # which has categories
        ("bin", 255),
        ("bin", 256),
        ("bin", -1),
        ("missing_left", 2),
        ("missing_left", 200),
        ("depth", 7),
        ("categories", [1, 2]),
        ("value", "x"),
        ("value", None),
    ],
)
def test_json_with_a_changed_number_is_refused(name, wrong):
    _, stored = stored_model()
    tree, node = first_split(stored, categorical=False)
    assert tree[name][node] != wrong
    tree[name][node] = wrong
    with pytest.raises(ValueError, match=r"node|split|flag|text|tree|convert"):
        HistGradientBoostingRegressor.from_json(json.dumps(stored))


def remove_tree(stored):
    stored["trees"][0] = []


def add_category(stored):
    tree, node = first_split(stored, categorical=True)
    tree["categories"][node] = [1, 300]


def lose_a_set(stored):
    tree, node = first_split(stored, categorical=True)
    tree["categories"][node] = None


def child_twice(stored):
    tree = next(t for (t,) in stored["trees"] if sum(left >= 0 for left in t["left"]) > 2)
    inner = [node for node, left in enumerate(tree["left"]) if left >= 0]
    tree["left"][inner[1]] = tree["left"][inner[2]]


def cut_a_tree(stored):
    tree, _ = first_split(stored, categorical=False)
    for values in tree.values():
        del values[-2:]


@pytest.mark.parametrize(
    "change",
    [
        remove_tree,
        add_category,
        lose_a_set,
        child_twice,
        cut_a_tree,
        lambda stored: stored["trees"][0][0]["value"].pop(),
        lambda stored: stored["thresholds"].pop(),
        lambda stored: stored["thresholds"][0].reverse(),
        lambda stored: stored["thresholds"][0].__setitem__(1, None),
        lambda stored: [t.__delitem__(slice(1, None)) for t in stored["thresholds"][:2]],
        lambda stored: stored.__setitem__("baseline", [None]),
        lambda stored: stored["thresholds"][0].extend([1e9] * 300),
        lambda stored: stored["n_categories"].__setitem__(0, 3),
        lambda stored: stored["n_categories"].__setitem__(2, 200),
        lambda stored: stored["n_categories"].__setitem__(2, -1),
        lambda stored: stored.__setitem__("n_features", 2),
        lambda stored: stored.__setitem__("n_features", 1 << 21),
        lambda stored: stored.__setitem__("max_bins", 400),
        lambda stored: stored.__setitem__("max_bins", 5),
        lambda stored: stored.__setitem__("baseline", [0.0, 1.0]),
        lambda stored: stored.__setitem__("trees", 3),
        lambda stored: stored.__setitem__("classes", ["a", "b", "c"]),
        lambda stored: stored.pop("baseline"),
        lambda stored: stored["parameters"].__setitem__("no_such_option", 1),
    ],
)
def test_json_that_does_not_fit_together_is_refused(change):
    model, stored = stored_model()
    text = json.dumps(stored)
    assert HistGradientBoostingRegressor.from_json(text).dump_text() == model.dump_text()
    change(stored)
    with pytest.raises(ValueError, match=r"\w"):
        HistGradientBoostingRegressor.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda values: values + 2),
        ("left", lambda values: values[:-1]),
        ("feature_idx", lambda values: values + 3),
        ("bin_threshold", lambda values: values * 0 + 255),
        ("missing_go_to_left", lambda values: values + 2),
        ("is_categorical", lambda values: 1 - values),
        ("depth", lambda values: values + 1),
        ("sizes", lambda values: values[::-1] + 2),
        ("n_sets", lambda values: values * 0),
        ("sets", lambda values: values[:, :2]),
        ("leaf", lambda values: ~values),
    ],
)
def test_pickled_state_is_checked(name, change):
    model, _ = stored_model()
    state = model.__getstate__()
    again = HistGradientBoostingRegressor()
    again.__setstate__(state)
    assert again.dump_text() == model.dump_text()
    stored = state["_predictors"] = dict(state["_predictors"])
    stored[name] = change(stored[name])
    with pytest.raises(ValueError, match=r"\w"):
        HistGradientBoostingRegressor().__setstate__(state)


def test_more_features_than_nodes_can_name_are_refused():
    X = np.zeros((2, (1 << 20) + 1), dtype=np.float32)
    with pytest.raises(ValueError, match="at most 1,048,576 features"):
        HistGradientBoostingRegressor().fit(X, [0.0, 1.0])


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
        init=0.0,
    ).fit(X, y)
    first, second = model.staged_predict(X)
    assert_allclose(first, [8, 8, 20, 20], rtol=1e-12)
    assert_allclose(second, [16 / 3, 16 / 3, 40 / 3, 40 / 3], rtol=1e-12)


@kernel
def absolute(y, raw):
    return (1.0 if raw > y else -1.0), 1.0


@kernel
def absolute_and_value(y, raw):
    return (1.0 if raw > y else -1.0), 1.0, abs(raw - y)


@kernel
def log_counts(y, raw):
    return np.exp(raw) - y, np.exp(raw)


@kernel
def logistic(y, raw):
    p = 1.0 / (1.0 + np.exp(-raw))
    return p - y, p * (1.0 - p)


def test_an_own_loss_starts_from_its_best_constant():
    X, y = problem()
    y += 3.9
    few = {**FEW, "max_iter": 1, "gamma": 1e9}
    weights = np.arange(len(y)) % 3.0

    def start(loss, y, weights=None, estimator=HistGradientBoostingRegressor):
        return estimator(loss=loss, **few).fit(X, y, weights)._baseline_prediction[0, 0]

    assert_allclose(start(doubled_squares, y), y.mean())
    assert_allclose(start(doubled_squares, y, weights), np.average(y, weights=weights))
    below, above = np.sort(y)[len(y) // 2 - 1 : len(y) // 2 + 1]
    assert below <= start(absolute, y) <= above
    counts = np.round(np.exp(y / 3))
    assert_allclose(start(log_counts, counts), np.log(counts.mean()))
    share = np.mean(y > 4)
    found = start(logistic, y > 4, estimator=HistGradientBoostingClassifier)
    assert_allclose(found, np.log(share / (1 - share)))


def test_a_tree_without_a_split_adds_its_value():
    """The absolute loss from zero: every tree is a root, and adds eta until the median is there."""
    X, y = problem()
    y += 10.0
    model = HistGradientBoostingRegressor(
        loss=absolute, init=0.0, max_iter=300, gamma=1e9, early_stopping=False
    ).fit(X, y)
    stages = [stage[0] for stage in model.staged_predict(X)]
    assert_allclose(stages[:3], [0.1, 0.2, 0.3])
    assert_allclose(model.predict(X), np.median(y), atol=0.1)
    named = HistGradientBoostingRegressor(init=0.0, learning_rate=1.0, max_iter=1, gamma=1e9)
    assert_allclose(named.fit(X, y).predict(X), y.mean(), rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "value"),
    [
        (doubled_squares, lambda y, raw: (raw - y) ** 2),
        (absolute, lambda y, raw: np.abs(raw - y)),
        (absolute_and_value, lambda y, raw: np.abs(raw - y)),
        (log_counts, lambda y, raw: np.exp(raw) - y * raw),
    ],
    ids=["squares", "absolute", "value", "counts"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_by_the_own_loss(loss, value, weighted):
    X, y = problem()
    y = np.round(np.exp(y / 2)) if loss is log_counts else y + 3.9
    X_val, y_val, X, y = X[:100], y[:100], X[100:], y[100:]
    weights = np.arange(300) % 3.0 if weighted else None
    model = HistGradientBoostingRegressor(loss=loss, **{**FEW, "early_stopping": True})
    model.fit(X, y, weights, X_val=X_val, y_val=y_val)
    start = np.full(len(y), model._baseline_prediction[0, 0])
    scores = [
        -np.average(value(y, raw), weights=weights) for raw in [start, *(model.staged_predict(X))]
    ]
    # A loss that is not least at y is known up to a constant: here it is 0 at the start.
    zero = scores[0] if loss is log_counts else 0.0
    assert_allclose(model.train_score_, np.array(scores) - zero, rtol=1e-6, atol=1e-9)
    start = np.full(100, start[0])
    scores = [-value(y_val, raw).mean() for raw in [start, *(model.staged_predict(X_val))]]
    zero = scores[0] if loss is log_counts else 0.0
    assert_allclose(model.validation_score_, np.array(scores) - zero, rtol=1e-6, atol=1e-9)


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


# ---------------------------------------------------------------------------- warm starts


@pytest.mark.parametrize("widths", [(4, 9), (9, 4)])
@pytest.mark.parametrize("with_categories", [False, True])
def test_warm_start_on_other_columns_is_refused(widths, with_categories):
    """Trees of the first fit must not read beyond the rows of the second."""
    more = {"categorical_features": [0]} if with_categories else {}
    model = HistGradientBoostingRegressor(warm_start=True, **{**FEW, **more, "max_iter": 2})
    X, y = problem(d=9)
    X[:, 0] = np.arange(len(X)) % 7
    model.fit(X[:, : widths[0]], y)
    before = model.predict(X[:, : widths[0]])
    model.max_iter = 4
    with pytest.raises(ValueError, match=f"{widths[1]} features.* {widths[0]} features"):
        model.fit(X[:, : widths[1]], y)
    assert_array_equal(model.predict(X[:, : widths[0]]), before)
    assert model.fit(X[:, : widths[0]], y).n_iter_ == 4


def test_warm_start_on_other_classes_is_refused():
    X, y = problem()
    labels = np.digitize(y, [-1, 0, 1])
    model = HistGradientBoostingClassifier(warm_start=True, **{**FEW, "max_iter": 2})
    model.fit(X, labels % 2)
    model.max_iter = 4
    with pytest.raises(ValueError, match=r"classes that the model does not: \[2, 3\]"):
        model.fit(X, labels)
    assert model.predict_proba(X).shape == (len(X), 2)
    some = labels % 2 == 0  # rows of one class only are rows of known classes
    before = model.predict_proba(X)[:, 0]
    assert np.mean(model.fit(X[some], labels[some] % 2).predict_proba(X)[:, 0] > before) > 0.9


def test_warm_start_keeps_columns_that_are_categories():
    X, y = problem()
    X[:, 0] = np.arange(len(X)) % 7
    model = HistGradientBoostingRegressor(warm_start=True, categorical_features=[0], **FEW)
    model.fit(X, y).set_params(max_iter=20, categorical_features=[0, 1])
    with pytest.raises(ValueError, match="categorical features of the first fit"):
        model.fit(X, y)
    # A category that is missing in later rows does not change the codes of the others.
    model.set_params(categorical_features=[0])
    few = X[:, 0] > 2
    before = model.predict(X)
    assert_allclose(model.fit(X[few], y[few]).predict(X)[few], before[few], atol=1.0)
    codes = model._preprocessor.named_transformers_["encoder"].categories_[0]
    assert_array_equal(codes, np.arange(7))


def test_warm_start_on_other_quantiles_is_refused():
    X, y = problem()
    model = HistGradientBoostingRegressor(
        loss="quantile", quantiles=[0.1, 0.9], warm_start=True, **FEW
    ).fit(X, y)
    model.set_params(quantiles=[0.1, 0.5, 0.9], max_iter=20)
    with pytest.raises(ValueError, match="number of quantiles"):
        model.fit(X, y)


def test_failed_refit_does_not_mix_models():
    """The columns of the new rows are known before the fit fails; the trees are the old ones."""
    X, y = problem(d=9)
    model = HistGradientBoostingRegressor(**FEW).fit(X[:, :4], y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(len(X), np.nan))
    with pytest.raises(ValueError, match="features"):
        model.predict(X)
    with pytest.raises(ValueError, match="features"):
        next(model.staged_predict(X))


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


# ---------------------------------------------------------------------------- whole weights


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss", "three classes"])
def test_whole_weights_are_repeated_rows(loss):
    """Rounded alike: without, nearly equal splits differed in 87 of 90 cases."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, weights = rng.normal(size=(300, 4)), rng.integers(1, 4, 300)
        score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=300)
        settings = {"max_iter": 15, "min_samples_leaf": 1, "max_bins": 20, "random_state": 0}
        if loss in ("log_loss", "three classes"):
            y = np.digitize(score, [0.0] if loss == "log_loss" else [-1.0, 1.0])
            model = HistGradientBoostingClassifier(**settings)
        else:
            y = np.exp(score) if loss == "poisson" else score
            model = HistGradientBoostingRegressor(loss=loss, **settings)
        many = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        model.fit(X, y, sample_weight=weights)
        assert_allclose(model._raw_predict(X), many._raw_predict(X), rtol=1e-6, atol=1e-9)


def test_large_whole_weights_and_others_still_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + X[:, 1]
    for weights in (rng.integers(0, 10**6, 500), rng.integers(0, 90, 500), rng.random(500)):
        model = HistGradientBoostingRegressor(max_iter=50).fit(X, y, sample_weight=weights)
        assert model.score(X, y, sample_weight=weights) > 0.95


def test_gradients_beyond_float32_are_refused():
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match="beyond float32"):
        HistGradientBoostingRegressor().fit(X, X[:, 0] * 1e200)
