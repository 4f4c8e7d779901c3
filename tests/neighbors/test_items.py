"""Neighbours among things that are no numbers: sets, strings, columns of text."""

import pickle

import numpy as np
import pytest

from fastml import neighbors
from fastml.metrics import pairwise_distances

SETS = [{1, 2}, {2, 3}, {1, 2, 3}, {"x"}, set()]
QUERIES = [{1, 2, 99}, {"x", "y"}, set()]
WORDS = ["house", "mouse", "tree", "trees", "horse", "three"]
KINDS = [0, 0, 1, 1, 0, 1]


def jaccard(a, b):
    return 1.0 - len(a & b) / len(a | b) if a | b else 0.0


def edits(a, b):
    """Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
    return float(row[-1])


@pytest.mark.parametrize("metric", ["jaccard", jaccard])
def test_sets(metric):
    search = neighbors.NearestNeighbors(n_neighbors=2, metric=metric, radius=0.7).fit(SETS)
    distances, indices = search.kneighbors(QUERIES)
    exact = np.array([[jaccard(a, b) for b in SETS] for a in QUERIES])
    order = np.argsort(exact, axis=1, kind="stable")[:, :2]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, np.take_along_axis(exact, order, axis=1), atol=1e-15)
    assert search.kneighbors(n_neighbors=1, return_distance=False).ravel().tolist()[:3] == [2, 2, 0]
    within = search.radius_neighbors(QUERIES, return_distance=False)
    assert [sorted(w) for w in within] == [np.flatnonzero(row <= 0.7).tolist() for row in exact]
    graph = neighbors.kneighbors_graph(SETS, 1, metric=metric).toarray()
    assert graph.sum() == len(SETS)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.kneighbors(QUERIES)[1], indices)


@pytest.mark.parametrize("name", ["KNeighborsClassifier", "RadiusNeighborsClassifier"])
def test_strings_by_a_function(name):
    size = {"n_neighbors": 1} if name.startswith("K") else {"radius": 2.0}
    model = getattr(neighbors, name)(metric=edits, **size).fit(WORDS, KINDS)
    assert model.predict(["hose", "tre"]).tolist() == [0, 1]
    assert model.predict(np.array(["mousse"])).tolist() == [0]
    assert model.score(WORDS, KINDS) == 1.0


def test_columns_of_text():
    rows = [["a", "x", 1], ["a", "y", 2], ["b", "y", 2]]
    model = neighbors.KNeighborsRegressor(1, metric="hamming").fit(rows, [1.0, 2.0, 3.0])
    new = [["a", "x", 2], ["b", "q", 2]]
    assert model.predict(new).tolist() == [1.0, 3.0]
    expected = pairwise_distances(
        np.array(new, dtype=object), np.array(rows, dtype=object), metric="hamming"
    )
    np.testing.assert_array_equal(model.kneighbors(new)[0].ravel(), expected.min(axis=1))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows, columns=["u", "v", "w"])
    named = neighbors.KNeighborsClassifier(1, metric="hamming").fit(frame, ["p", "q", "r"])
    assert named.predict(frame).tolist() == ["p", "q", "r"]
    assert named.feature_names_in_.tolist() == ["u", "v", "w"]
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame.rename(columns={"u": "z"}))


def test_a_later_fit_on_numbers():
    model = neighbors.KNeighborsClassifier(1, metric="jaccard").fit(SETS, [0, 0, 0, 1, 2])
    X = np.array([[True, False], [False, True]])
    assert model.fit(X, [0, 1]).predict(X).tolist() == [0, 1]
    model.fit(SETS, [0, 0, 0, 1, 2])
    assert model.predict([{"x"}]).tolist() == [1]


def test_outliers_among_sets():
    model = neighbors.LocalOutlierFactor(2, metric="jaccard")
    assert model.fit_predict([{1}, {1, 2}, {1, 3}, {1, 2, 3}, {9}]).tolist() == [1, 1, 1, 1, -1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: neighbors.NearestNeighbors(metric="jaccard", algorithm="ball_tree").fit(SETS),
         "does not take sets"),
        (lambda: neighbors.NearestNeighbors(metric="jaccard").fit(SETS).kneighbors([[1, 2]]),
         "expected sets, got list"),
        (lambda: neighbors.NearestNeighbors(metric=edits).fit(WORDS).kneighbors("word"),
         "expected a list of strings"),
        (lambda: neighbors.NearestNeighbors(metric=edits).fit(WORDS).kneighbors([]), "0 sample"),
        (lambda: neighbors.NearestNeighbors(metric="hamming").fit([["a"]]).kneighbors([["a", "b"]]),
         "2 features, expected 1"),
        (lambda: neighbors.NearestNeighbors().fit(WORDS), "numeric"),
        (lambda: neighbors.NearestNeighbors(metric="hamming").fit(WORDS), "numeric"),
        (lambda: neighbors.KNeighborsClassifier(metric=edits).fit(WORDS, [0]), "inconsistent"),
    ],
)  # fmt: skip
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
