"""Decision trees beside scikit-learn's, and what scikit-learn's do not have."""

import pickle

import numpy as np
import pytest
import sklearn.tree
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, make_regression

from fastml.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    export_text,
    prune_by_cv,
)

ARRAYS = (
    "children_left", "children_right", "feature", "threshold", "missing_go_to_left", "value",
    "impurity", "n_node_samples", "weighted_n_node_samples",
)  # fmt: skip


def noisy(n=600, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    return X, signal, rng.uniform(0.5, 2.0, n)


def assert_same_tree(ours, theirs):
    for name in ARRAYS:
        got, expected = getattr(ours.tree_, name), getattr(theirs.tree_, name)
        assert_allclose(got, expected, rtol=1e-7, atol=1e-9, err_msg=name)
    assert ours.get_depth() == theirs.get_depth()
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


RULES = [
    {"min_samples_leaf": 15},
    {"max_depth": 4, "min_samples_leaf": 8},
    {"min_samples_split": 0.1, "min_samples_leaf": 0.02},
    {"min_weight_fraction_leaf": 0.03},
    {"min_samples_leaf": 10, "min_impurity_decrease": 0.005},
    {"min_samples_leaf": 15, "ccp_alpha": 0.004},
]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_classifier_is_scikit_learns(criterion, rules):
    X, signal, w = noisy()
    y = np.digitize(signal, [-1.0, 1.0])
    settings = {"criterion": criterion, "random_state": 0, **rules}
    ours = DecisionTreeClassifier(**settings).fit(X, y, w)
    theirs = sklearn.tree.DecisionTreeClassifier(**settings).fit(X, y, w)
    assert_same_tree(ours, theirs)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_array_equal(ours.apply(X), theirs.apply(X))
    assert (ours.decision_path(X) != theirs.decision_path(X)).nnz == 0


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_regressor_is_scikit_learns(criterion, rules):
    X, signal, w = noisy()
    y = np.exp(signal) if criterion == "poisson" else signal
    settings = {"criterion": criterion, "random_state": 0, **rules}
    ours = DecisionTreeRegressor(**settings).fit(X, y, w)
    theirs = sklearn.tree.DecisionTreeRegressor(**settings).fit(X, y, w)
    assert_same_tree(ours, theirs)
    assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_several_outputs_and_missing_values(weighted):
    X, signal, w = noisy()
    Y = np.column_stack([signal, X[:, 3] - signal])
    X[np.random.default_rng(1).random(X.shape) < 0.15] = np.nan
    X[:, 4] = np.nan
    w = w if weighted else None
    settings = {"min_samples_leaf": 20, "random_state": 0}
    for target in (Y, signal):
        ours = DecisionTreeRegressor(**settings).fit(X, target, w)
        theirs = sklearn.tree.DecisionTreeRegressor(**settings).fit(X, target, w)
        assert_same_tree(ours, theirs)
        assert not np.any(ours.tree_.feature == 4)
    labels = (Y > 0).astype(int)
    ours = DecisionTreeClassifier(**settings).fit(X, labels, w)
    theirs = sklearn.tree.DecisionTreeClassifier(**settings).fit(X, labels, w)
    if weighted:  # without weights there are ties
        assert_array_equal(ours.predict(X), theirs.predict(X))
        for a, b in zip(ours.predict_proba(X), theirs.predict_proba(X)):
            assert_allclose(a, b)
    else:
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.95


def test_absolute_error_without_weights_is_as_good_as_scikit_learns():
    """Losses of equal weights tie exactly, so the trees differ; no split of ours is worse."""
    X, signal, _ = noisy()
    ours = DecisionTreeRegressor(criterion="absolute_error", random_state=0).fit(X, signal)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion="absolute_error", random_state=0)
    a, b, X = ours.tree_, theirs.fit(X, signal).tree_, X.astype(np.float32)

    def loss(tree, node, rows):
        left = X[rows, tree.feature[node]] <= tree.threshold[node]
        parts = [signal[rows[left]], signal[rows[~left]]]
        return left, sum(np.abs(y - np.median(y)).sum() for y in parts)

    pending, n_ties = [(0, 0, np.arange(len(X)))], 0
    while pending:
        i, j, rows = pending.pop()
        if len(rows) < 2:
            continue
        (left, mine), (other, best) = loss(a, i, rows), loss(b, j, rows)
        assert mine == pytest.approx(best, rel=1e-12)
        if not np.array_equal(left, other):
            n_ties += 1
            continue
        pending.append((a.children_left[i], b.children_left[j], rows[left]))
        pending.append((a.children_right[i], b.children_right[j], rows[~left]))
    assert n_ties > 10


@pytest.mark.parametrize("columns", [[0], [3, 1]])
def test_partial_dependence_is_scikit_learns(columns):
    from sklearn.inspection import partial_dependence

    X, signal, w = noisy()
    ours = DecisionTreeRegressor(min_samples_leaf=15).fit(X, signal, w)
    theirs = sklearn.tree.DecisionTreeRegressor(min_samples_leaf=15).fit(X, signal, w)
    found, expected = (partial_dependence(model, X, columns) for model in (ours, theirs))
    assert_allclose(found["average"], expected["average"])
    assert_array_equal(ours.tree_.compute_node_depths(), theirs.tree_.compute_node_depths())


def test_real_data():
    X, y = load_diabetes(return_X_y=True)
    ours = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10).fit(X, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=3, min_samples_leaf=10).fit(X, y)
    assert_same_tree(ours, theirs)


def test_best_first():
    X, signal, w = noisy()
    settings = {"max_leaf_nodes": 12, "min_samples_leaf": 10, "random_state": 0}
    ours = DecisionTreeRegressor(**settings).fit(X, signal, w)
    theirs = sklearn.tree.DecisionTreeRegressor(**settings).fit(X, signal, w)
    assert ours.get_n_leaves() == 12
    assert_allclose(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_monotonic(criterion):
    X, signal, w = noisy()
    settings = {"monotonic_cst": [1, 0, 0, -1, 0], "min_samples_leaf": 10, "random_state": 0}
    ours = DecisionTreeRegressor(criterion=criterion, **settings).fit(X, signal, w)
    theirs = sklearn.tree.DecisionTreeRegressor(criterion=criterion, **settings).fit(X, signal, w)
    assert_allclose(ours.predict(X), theirs.predict(X))
    up = X.copy()
    up[:, 0] += 1.0
    assert np.all(ours.predict(up) >= ours.predict(X))
    model = DecisionTreeClassifier(**settings).fit(X, signal > 0)
    assert np.all(model.predict_proba(up)[:, 1] >= model.predict_proba(X)[:, 1])


def test_same_tree_for_any_number_of_threads():
    X, y = make_regression(4000, 20, noise=5.0, random_state=0)
    one = DecisionTreeRegressor(random_state=0, n_jobs=1).fit(X, y)
    two = DecisionTreeRegressor(random_state=0, n_jobs=2).fit(X, y)
    assert one.tree_ == two.tree_
    one = DecisionTreeClassifier(max_features=3, random_state=0, n_jobs=1).fit(X, y > 0)
    two = DecisionTreeClassifier(max_features=3, random_state=0, n_jobs=2).fit(X, y > 0)
    assert one.tree_ == two.tree_


def test_integer_weights_are_repeated_rows():
    X, signal, _ = noisy(200)
    w = np.random.default_rng(0).integers(0, 4, 200)
    rules = {"min_weight_fraction_leaf": 0.05, "random_state": 0}
    a = DecisionTreeRegressor(**rules).fit(X, signal, w)
    b = DecisionTreeRegressor(**rules).fit(np.repeat(X, w, axis=0), np.repeat(signal, w))
    assert_allclose(a.predict(X), b.predict(X))


def test_small_in_memory_and_in_a_pickle():
    X, y = make_regression(3000, 5, noise=5.0, random_state=0)
    weights = np.random.default_rng(0).uniform(size=3000)
    for model in (
        DecisionTreeRegressor().fit(X, y),
        DecisionTreeRegressor(min_samples_leaf=5).fit(X, y, weights),
        DecisionTreeClassifier().fit(X, np.digitize(y, [-50.0, 0.0, 50.0]), weights),
        DecisionTreeRegressor(criterion="absolute_error").fit(X, y),
        DecisionTreeRegressor(criterion="absolute_error", min_samples_leaf=5).fit(X, y),
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y),
    ):
        model.predict(X)
        model.feature_importances_  # noqa: B018
        assert model.tree_.nbytes <= 32 * model.tree_.node_count
        text = pickle.dumps(model)
        assert len(text) <= 32 * model.tree_.node_count + 4000
        assert_array_equal(pickle.loads(text).predict(X), model.predict(X))


def test_scikit_learn_draws_our_trees():
    import matplotlib

    matplotlib.use("Agg")
    X, signal, _ = noisy()
    y = (signal > 0).astype(int)
    ours = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for export in (sklearn.tree.export_text, sklearn.tree.export_graphviz):
        assert export(ours) == export(theirs)
    texts = [[a.get_text() for a in sklearn.tree.plot_tree(m)] for m in (ours, theirs)]
    assert texts[0] == texts[1]


def test_sparse_rows():
    X, signal, _ = noisy()
    X[np.abs(X) < 0.5] = 0.0
    dense = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, signal)
    sparse = DecisionTreeRegressor(max_depth=5, random_state=0).fit(csr_array(X), signal)
    assert dense.tree_ == sparse.tree_
    assert_array_equal(dense.predict(X), sparse.predict(csr_array(X)))


def test_misclassification_rate():
    X, signal, _ = noisy(100)
    model = DecisionTreeClassifier(criterion="error", max_depth=1).fit(X, signal > 0)
    stumps = [np.mean((X[:, f] > t) == (signal > 0)) for f in range(5) for t in X[:, f]]
    assert model.score(X, signal > 0) == pytest.approx(max(max(stumps), 1 - min(stumps)))


# ---------------------------------------------------------------------------- categories


def test_categories_are_split_by_subsets():
    codes = np.tile(np.arange(8), 20)
    y = np.isin(codes, [1, 4, 6]).astype(int)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(codes[:, None], y)
    assert model.get_n_leaves() == 2
    assert_array_equal(model.predict(codes[:, None]), y)
    assert set(model.tree_.categories_left(0)) >= {0, 2, 3, 5, 7}
    with pytest.raises(ValueError, match="does not split by categories"):
        model.tree_.categories_left(1)


def test_thresholds_of_categories_are_refused_and_categories_told():
    """Walking by thresholds agreed with predict on 38 % of the rows."""
    X = np.column_stack([np.arange(120) % 9, np.arange(120) % 7])
    y = (X[:, 0] * 3 + X[:, 1]) % 5
    model = DecisionTreeClassifier(categorical_features=[0], random_state=0).fit(X, y)
    tree = model.tree_
    assert tree.is_categorical.any()
    assert (~tree.is_categorical & ~tree.is_leaf).any()
    with pytest.raises(ValueError, match="splits by categories"):
        tree.threshold  # noqa: B018
    with pytest.raises(ValueError, match="splits by categories"):
        sklearn.tree.export_text(model)
    for row, expected in zip(X, model.predict(X)):
        node = 0
        while tree.children_left[node] >= 0:
            value, sets = row[tree.feature[node]], tree.categories[node]
            left = value <= tree.numeric_threshold[node] if sets is None else value in sets
            node = tree.children_left[node] if left else tree.children_right[node]
        assert model.classes_[tree.value[node, 0].argmax()] == expected
    plain = DecisionTreeClassifier().fit(X, y).tree_
    np.testing.assert_array_equal(plain.threshold, plain.numeric_threshold)
    assert plain.categories == (None,) * plain.node_count


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": 1, "decimals": 4},
        {"show_weights": True, "spacing": 1, "feature_names": ["a", "b", "c"]},
        {"max_depth": 0},
    ],
    ids=str,
)
def test_text_is_scikit_learns(options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    for model, target in (
        (DecisionTreeClassifier(max_depth=4), y),
        (DecisionTreeRegressor(max_depth=4), y * 1.5),
        (DecisionTreeRegressor(max_depth=3), np.column_stack([y, y * 2.5])),
    ):
        model.fit(X, target)
        assert export_text(model, **options) == sklearn.tree.export_text(model, **options)


def test_text_of_categories():
    codes = np.array([[0], [1], [2], [3], [4]])
    model = DecisionTreeRegressor(categorical_features=[0]).fit(codes, [1.0, 5.0, 1.0, 5.0, 1.0])
    assert export_text(model).splitlines() == [
        "|--- feature_0 in {0, 2, 4}",
        "|   |--- value: [1.00]",
        "|--- feature_0 not in {0, 2, 4}",
        "|   |--- value: [5.00]",
    ]


def test_unseen_category_goes_with_the_majority():
    codes = np.array([0] * 10 + [1] * 3)[:, None]
    model = DecisionTreeClassifier(categorical_features=[True]).fit(codes, codes[:, 0])
    assert_array_equal(model.predict([[7.0], [500.0], [np.nan]]), [0, 0, 0])


def test_categories_by_name_and_with_more_classes():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.integers(0, 9, 200).astype(float)})
    y = frame["b"].to_numpy() % 3
    frame.loc[::10, "b"] = np.nan
    model = DecisionTreeClassifier(categorical_features=["b"], max_depth=3).fit(frame, y)
    assert model.score(frame, y) > 0.9


@pytest.mark.parametrize(
    "columns, X, message",
    [
        ([0], [[-1.0], [0.0]], "codes 0, 1, 2"),
        ([0], [[0.5], [0.0]], "codes 0, 1, 2"),
        ([0], [[5000.0], [0.0]], "below 1024"),
        ([3], [[1.0], [0.0]], "column indices in"),
        ([True, False], [[1.0], [0.0]], "mask must have shape"),
        (["b"], [[1.0], [0.0]], "no column names"),
    ],
)
def test_bad_categories(columns, X, message):
    with pytest.raises(ValueError, match=message):
        DecisionTreeClassifier(categorical_features=columns).fit(X, [0, 1])


@pytest.mark.parametrize("cls", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_friedman_mse_is_an_old_name(cls):
    """As in scikit-learn: the warning says so, and what is kept is the new name."""
    with pytest.warns(FutureWarning, match='Use `criterion="squared_error"`') as caught:
        model = cls(criterion="friedman_mse")
    assert caught[0].filename == __file__
    assert model.criterion == "squared_error"


# ---------------------------------------------------------------------------- degenerate input


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_one_class(cls):
    model = cls().fit([[1.0], [2.0]], ["a", "a"])
    assert model.get_n_leaves() == 1
    assert_array_equal(model.predict([[5.0]]), ["a"])
    assert_array_equal(model.predict_log_proba([[5.0]]), [[0.0]])


@pytest.mark.parametrize("cls", [DecisionTreeRegressor, ExtraTreeRegressor])
def test_constant_target_and_columns(cls):
    assert_array_equal(cls().fit([[1.0], [2.0]], [3.0, 3.0]).predict([[9.0]]), [3.0])
    assert cls().fit([[1.0], [1.0]], [3.0, 4.0]).predict([[9.0]])[0] == 3.5
    assert cls(max_features=50).fit([[1.0], [2.0]], [3.0, 4.0]).get_depth() == 1


def test_errors():
    with pytest.raises(ValueError, match="Poisson"):
        DecisionTreeRegressor(criterion="poisson").fit([[1.0], [2.0]], [-1.0, 2.0])
    with pytest.raises(ValueError, match="infinity"):
        DecisionTreeRegressor().fit([[np.inf], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="non-zero"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="Negative values"):
        DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="monotonic_cst has shape"):
        DecisionTreeRegressor(monotonic_cst=[1, 1]).fit([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1]).fit([[1.0], [2.0], [3.0]], [1, 2, 3])


def test_extra_trees_learn():
    X, signal, _ = noisy()
    assert ExtraTreeClassifier(random_state=0).fit(X, signal > 0).score(X, signal > 0) == 1.0
    X[::5, 1] = np.nan
    a = ExtraTreeRegressor(random_state=0).fit(X, signal)
    b = ExtraTreeRegressor(random_state=1).fit(X, signal)
    assert a.score(X, signal) == pytest.approx(1.0)
    assert not np.array_equal(a.tree_.threshold, b.tree_.threshold)


# ---------------------------------------------------------------------------- pruning


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_pruning_path_is_scikit_learns(criterion):
    X, signal, w = noisy(300)
    cls, y = DecisionTreeRegressor, signal
    if criterion == "gini":
        cls, y = DecisionTreeClassifier, signal > 0
    theirs = getattr(sklearn.tree, cls.__name__)
    settings = {"criterion": criterion, "min_samples_leaf": 8, "random_state": 0}
    a = cls(**settings).cost_complexity_pruning_path(X, y, w)
    b = theirs(**settings).cost_complexity_pruning_path(X, y, w)
    real = np.append(True, b.ccp_alphas[1:] > 1e-12)  # scikit-learn splits some pure nodes
    assert_allclose(a.ccp_alphas, b.ccp_alphas[real], atol=1e-10)
    assert_allclose(a.impurities, b.impurities[real], atol=1e-10)
    for alpha in np.quantile(a.ccp_alphas, [0.3, 0.7, 0.95]) + 1e-9:
        small = cls(**settings, ccp_alpha=alpha).fit(X, y, w)
        other = theirs(**settings, ccp_alpha=alpha).fit(X, y, w)
        assert_allclose(small.predict(X), other.predict(X))
        assert small.get_n_leaves() == other.get_n_leaves()


def test_pruned_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 300)
    y = (codes % 2) + 0.3 * rng.normal(size=300)
    X = np.column_stack([codes, rng.normal(size=300)])
    model = DecisionTreeRegressor(categorical_features=[0], ccp_alpha=0.01).fit(X, y)
    assert model.get_n_leaves() < 10
    assert model.score(X, y) > 0.6


def test_alpha_by_cross_validation():
    X, signal, w = noisy()
    whole = DecisionTreeRegressor(random_state=0)
    chosen = prune_by_cv(whole, X, signal, 5, sample_weight=w)
    assert whole.ccp_alpha == 0.0
    assert chosen.ccp_alpha > 0.0
    assert chosen.get_n_leaves() < whole.fit(X, signal, w).get_n_leaves()
    scores = chosen.pruning_scores_
    assert scores["mean_scores"].max() > scores["mean_scores"][0]
    smaller = prune_by_cv(whole, X, signal, 5, sample_weight=w, standard_errors=1.0)
    assert smaller.get_n_leaves() <= chosen.get_n_leaves()


# ---------------------------------------------------------------------------- any loss


@njit
def squares(y, c):
    return (y - c) ** 2


@njit
def pinball(y, c):
    return 0.9 * (y - c) if y > c else 0.1 * (c - y)


def loss_problem(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, 3.0 * (X[:, 0] > 0.3) + X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("weighted", [False, True])
def test_squared_error_as_a_function(weighted):
    X, y = loss_problem()
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    given = {"max_depth": 3, "min_samples_leaf": 4}
    ours = DecisionTreeRegressor(criterion=squares, **given).fit(X, y, sample_weight=w)
    named = DecisionTreeRegressor(random_state=0, **given).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(ours.tree_.feature, named.tree_.feature)
    np.testing.assert_allclose(ours.tree_.threshold, named.tree_.threshold)
    np.testing.assert_allclose(ours.tree_.impurity, named.tree_.impurity, atol=1e-8)
    np.testing.assert_array_equal(ours.tree_.n_node_samples, named.tree_.n_node_samples)
    np.testing.assert_allclose(ours.predict(X), named.predict(X), atol=1e-5)
    np.testing.assert_allclose(ours.feature_importances_, named.feature_importances_, atol=1e-6)
    pruned, other = (
        type(t)(**{**t.get_params(), "ccp_alpha": 0.05}).fit(X, y, sample_weight=w)
        for t in (ours, named)
    )
    assert pruned.get_n_leaves() == other.get_n_leaves() < ours.get_n_leaves()


def test_leaves_of_a_loss_hold_its_best_constant():
    X, y = loss_problem()
    trees = [
        DecisionTreeRegressor(criterion=pinball, max_depth=2, n_jobs=n).fit(X, y) for n in (1, 2)
    ]
    np.testing.assert_array_equal(trees[0].predict(X), trees[1].predict(X))
    leaves = trees[0].apply(X)
    for leaf in np.unique(leaves):
        own = y[leaves == leaf]
        cost = lambda c: np.mean([pinball(v, c) for v in own])  # noqa: B023, E731
        value = trees[0].tree_.value[leaf, 0, 0]
        assert cost(value) <= min(cost(c) for c in own) * (1 + 1e-9)
        assert trees[0].tree_.impurity[leaf] == pytest.approx(cost(value))
        assert np.mean(own <= value) >= 0.85
    # No first cut of any column is better.
    best = trees[0].tree_.impurity[[1, int(trees[0].tree_.children_right[0])]]
    sizes = trees[0].tree_.n_node_samples[[1, int(trees[0].tree_.children_right[0])]]

    def least(own):
        return min(sum(pinball(v, c) for v in own) for c in own)

    for f in range(3):
        order = np.argsort(X[:, f])
        for cut in range(5, 150, 10):
            assert least(y[order[:cut]]) + least(y[order[cut:]]) >= best @ sizes * (1 - 1e-6)


def test_a_loss_refuses():
    X, y = loss_problem(30)
    with pytest.raises(ValueError, match="a function compiled with"):
        DecisionTreeRegressor(criterion=lambda y, c: abs(y - c)).fit(X, y)
    with pytest.raises(ValueError, match="max_features=None"):
        DecisionTreeRegressor(criterion=squares, max_features=2).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        DecisionTreeRegressor(criterion=squares).fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="one output"):
        DecisionTreeRegressor(criterion=squares).fit(X, np.column_stack([y, y]))
