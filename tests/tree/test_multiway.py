"""Trees with a branch per category: gains and ratios by hand, missing values, limits."""

import pickle
from math import log2

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from fastml.tree import MultiwayTreeClassifier

# Quinlan's Saturday mornings: outlook, temperature, humidity, wind.
WEATHER = np.array([
    [0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [2, 1, 0, 0], [2, 2, 1, 0], [2, 2, 1, 1],
    [1, 2, 1, 1], [0, 1, 0, 0], [0, 2, 1, 0], [2, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 1],
    [1, 0, 1, 0], [2, 1, 0, 1],
], dtype=float)  # fmt: skip
PLAY = np.array([0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0])
ALL = [0, 1, 2, 3]


def entropy(y, w=None):
    w = np.ones(len(y)) if w is None else w
    shares = [w[y == k].sum() / w.sum() for k in np.unique(y)]
    return -sum(p * log2(p) for p in shares if p > 0)


def gain(x, y):
    return entropy(y) - sum(np.mean(x == v) * entropy(y[x == v]) for v in np.unique(x))


def test_quinlans_weather():
    """Gains 0.246, 0.029, 0.151, 0.048: outlook, then humidity and wind."""
    gains = [gain(WEATHER[:, f], PLAY) for f in ALL]
    np.testing.assert_allclose(gains, [0.2467, 0.0292, 0.1518, 0.0481], atol=1e-4)
    for criterion in ("entropy", "gain_ratio", "gini"):
        tree = MultiwayTreeClassifier(criterion=criterion, categorical_features=ALL)
        tree.fit(WEATHER, PLAY)
        nodes = tree.nodes_
        assert nodes.feature[0] == 0
        sunny, overcast, rain = nodes.branches[:3]
        assert nodes.feature[sunny] == 2
        assert nodes.feature[overcast] == -1
        assert nodes.feature[rain] == 3
        assert tree.score(WEATHER, PLAY) == 1.0
        assert (tree.get_depth(), tree.get_n_leaves()) == (2, 5)
        assert tree.predict_proba([[1, 0, 0, 0]]).tolist() == [[0.0, 1.0]]


def test_the_ratio_does_not_favour_many_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60), rng.integers(0, 2, 60)]).astype(float)
    y = np.where(rng.random(60) < 0.1, 1 - X[:, 1], X[:, 1]).astype(int)
    roots = {
        criterion: MultiwayTreeClassifier(criterion=criterion, categorical_features=[0, 1])
        .fit(X, y).nodes_.feature[0]
        for criterion in ("entropy", "gain_ratio")
    }  # fmt: skip
    assert roots["entropy"] == 0  # a branch for every row
    X = np.column_stack([X[:, 0] // 2, X[:, 1]])  # less than mean gain is no candidate
    ratio = [gain(X[:, f], y) / entropy(X[:, f]) for f in (0, 1)]
    assert ratio[1] > ratio[0]


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
def test_numeric_columns_are_those_of_binary_trees(criterion):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    ours = MultiwayTreeClassifier(criterion=criterion, max_depth=4, min_samples_leaf=3).fit(X, y)
    theirs = DecisionTreeClassifier(
        criterion=criterion, max_depth=4, min_samples_leaf=3, random_state=0
    ).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    leaf, other = ours.nodes_.feature < 0, theirs.tree_.feature < 0  # columns may be as good
    assert ours.nodes_.n_samples[leaf] @ ours.nodes_.impurity[leaf] == pytest.approx(
        theirs.tree_.n_node_samples[other] @ theirs.tree_.impurity[other]
    )
    assert ours.nodes_.threshold[0] == pytest.approx(theirs.tree_.threshold[0], rel=1e-6)


def test_every_split_is_the_best_there_is():
    """Walk the tree and compare with gains that are worked out anew."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 4, (300, 3)).astype(float)
    y = (X[:, 0] == X[:, 1]).astype(int) + (X[:, 2] == 3)
    tree = MultiwayTreeClassifier(criterion="entropy", categorical_features=[0, 1, 2]).fit(X, y)
    nodes = tree.nodes_

    def walk(node, rows):
        assert nodes.n_samples[node] == len(rows)
        np.testing.assert_allclose(
            nodes.value[node], [np.mean(y[rows] == k) for k in tree.classes_]
        )
        gains = [gain(X[rows, f], y[rows]) for f in range(3)]
        f = nodes.feature[node]
        if f < 0:
            assert max(gains) < 1e-9
            return
        assert gains[f] == pytest.approx(max(gains))
        own = nodes.branches[nodes.first[node] : nodes.first[node + 1]]
        assert len(own) == 5  # four categories, and missing
        for value in np.unique(X[rows, f]):
            walk(own[int(value)], rows[X[rows, f] == value])

    walk(0, np.arange(300))


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 5, 120), rng.normal(size=(120, 2))])
    y, w = rng.integers(0, 3, 120), rng.integers(0, 4, 120)
    given = {"categorical_features": [0], "max_depth": 4}
    weighted = MultiwayTreeClassifier(**given).fit(X, y, sample_weight=w)
    repeated = MultiwayTreeClassifier(**given).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_missing_and_unknown_values():
    X = np.array([[0, 1.0], [0, 2.0], [1, 3.0], [1, 4.0], [np.nan, 5.0], [np.nan, 6.0], [0, 7.0]])
    y = [0, 0, 1, 1, 2, 2, 0]
    tree = MultiwayTreeClassifier(categorical_features=[0], criterion="entropy").fit(X, y)
    assert tree.score(X, y) == 1.0
    assert tree.predict([[np.nan, 0.0]]).tolist() == [2]  # a category of its own
    assert tree.predict([[9, 0.0], [-1, 0.0], [0.5, 0.0]]).tolist() == [0, 0, 0]  # the most rows
    numeric = MultiwayTreeClassifier().fit(X[:, 1:], np.array(y) == 0)
    assert numeric.predict([[np.nan]]).tolist() == numeric.predict([[5.5]]).tolist()
    absent = MultiwayTreeClassifier(categorical_features=[0]).fit(
        np.array([[0.0], [0.0], [3.0], [0.0]]), [0, 0, 1, 0]
    )
    assert absent.predict([[1.0], [2.0], [3.0]]).tolist() == [0, 0, 1]


def test_limits():
    X, y = WEATHER, PLAY
    one = MultiwayTreeClassifier(categorical_features=ALL, max_depth=1).fit(X, y)
    assert one.get_depth() == 1
    stump = MultiwayTreeClassifier(categorical_features=ALL, min_impurity_decrease=0.3).fit(X, y)
    assert stump.get_n_leaves() == 1
    assert stump.predict(X).tolist() == [1] * 14
    large = MultiwayTreeClassifier(categorical_features=ALL, min_samples_leaf=6).fit(X, y)
    assert large.nodes_.feature[0] in (2, 3)  # outlook leaves one branch of five rows only
    with pytest.raises(ValueError, match="must hold codes"):
        MultiwayTreeClassifier(categorical_features=[0]).fit(X + 0.5, y)


def test_altered_nodes_are_refused():
    tree = MultiwayTreeClassifier(categorical_features=ALL).fit(WEATHER, PLAY)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(tree)).predict(WEATHER), tree.predict(WEATHER)
    )
    for part, value in (("branches", 0), ("branches", 99), ("feature", 7)):
        array = getattr(tree.nodes_, part).copy()
        array[0] = value
        changed = pickle.loads(pickle.dumps(tree))
        changed.nodes_ = tree.nodes_._replace(**{part: array})
        with pytest.raises(ValueError, match="altered"):
            changed.predict(WEATHER)


OUTLOOK = np.array(["sunny", "overcast", "rain"])
WIND = np.array(["weak", "strong"])


def in_words(kind):
    """Quinlan's outlook and wind as text, beside temperature and humidity as numbers."""
    columns = {
        "outlook": OUTLOOK[WEATHER[:, 0].astype(int)], "temperature": WEATHER[:, 1],
        "humidity": WEATHER[:, 2], "wind": WIND[WEATHER[:, 3].astype(int)],
    }  # fmt: skip
    if kind == "list":
        return [list(row) for row in zip(*(column.tolist() for column in columns.values()))]
    if kind == "objects":
        return np.array([column.astype(object) for column in columns.values()]).T
    if kind == "text":
        return np.array([column.astype(str) for column in columns.values()]).T
    library = pytest.importorskip(kind.split()[0])
    frame = library.DataFrame(columns)
    return frame.astype({"outlook": "category"}) if kind == "pandas categories" else frame


@pytest.mark.parametrize(
    "kind", ["list", "objects", "text", "pandas", "pandas categories", "polars"]
)
def test_categories_as_text(kind):
    X = in_words(kind)
    codes = WEATHER.copy()
    codes[:, 0] = np.array([2, 0, 1])[WEATHER[:, 0].astype(int)]  # in the order of the words
    codes[:, 3] = 1.0 - WEATHER[:, 3]
    tree = MultiwayTreeClassifier(categorical_features=[0, 3]).fit(X, PLAY)
    same = MultiwayTreeClassifier(categorical_features=[0, 3]).fit(codes, PLAY)
    assert tree.categories_[0].tolist() == ["overcast", "rain", "sunny"]
    assert tree.categories_[1] is None
    assert same.categories_ == [None] * 4
    for found, expected in zip(tree.nodes_, same.nodes_):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tree.predict(X), PLAY)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tree)).predict(X), PLAY)
    if "pandas" in kind:
        assert tree.feature_names_in_.tolist() == ["outlook", "temperature", "humidity", "wind"]
        by_name = MultiwayTreeClassifier(categorical_features=["outlook", "wind"]).fit(X, PLAY)
        np.testing.assert_array_equal(by_name.predict(X), PLAY)
        with pytest.raises(ValueError, match="feature names"):
            tree.predict(X.rename(columns={"wind": "gale"}))


def test_unknown_and_missing_text():
    X = [["a"], ["a"], ["a"], ["b"], [None], [float("nan")]]
    tree = MultiwayTreeClassifier(categorical_features=[0]).fit(X, [0, 0, 0, 1, 2, 2])
    assert tree.predict([["b"], [None], ["other"], ["a"]]).tolist() == [1, 2, 0, 0]
    with pytest.raises(ValueError, match="2 columns"):
        tree.predict([["a", "b"]])
    with pytest.raises(ValueError, match="could not convert"):
        MultiwayTreeClassifier(categorical_features=[0]).fit([["a", "x"], ["b", "y"]], [0, 1])
    with pytest.raises(ValueError, match="could not convert"):
        MultiwayTreeClassifier().fit([["a"], ["b"]], [0, 1])


def test_text_survives_a_safe_file(tmp_path):
    from fastml.convert import load, save

    X = in_words("objects")
    tree = MultiwayTreeClassifier(categorical_features=[0, 3]).fit(X, PLAY)
    save(tree, tmp_path / "tree")
    np.testing.assert_array_equal(load(tmp_path / "tree").predict(X), PLAY)
