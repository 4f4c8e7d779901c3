"""Sums with replaced columns are those of rows that are changed and walk anew."""

import naive_validation as naive
import numpy as np
import pytest
from arrays import read_only

from fastml.ensemble import RandomForestClassifier, RandomForestRegressor
from fastml.kernels.forest.replaced import Replacements, sums_if_replaced, ways_of_chunk
from fastml.kernels.tree.presort import key_of
from fastml.tree import DecisionTreeRegressor

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),  # with JIT off
]


def expected_sums(forest, X, other, source, group, n_groups):
    """Change the rows, walk them through every tree, add what their leaves say."""
    n_repeats, n = source.shape
    table = forest.table
    if table.dtype == np.uint16:  # counts, and their sum behind them
        table = table[:, :-1] / table[:, -1:]
    out = np.zeros((n_groups * n_repeats, n, forest.n_columns))
    for way in range(len(out)):
        g, r = divmod(way, n_repeats)
        changed = np.where(np.asarray(group) == g, other[source[r]], X)
        for t in range(len(forest.starts)):
            nodes = forest.nodes[forest.bounds[t] : forest.bounds[t + 1]]
            for i in range(n):
                leaf = naive.leaf_of(nodes, changed[i])
                right = int(nodes[leaf]["right"])
                if forest.scalar:
                    out[way, i, 0] += nodes[leaf]["threshold"]
                elif right < 0:
                    out[way, i, ~right] += 1.0
                else:
                    out[way, i] += table[forest.table_starts[t] + right]
    return out


def rows(n, seed, missing=False):
    rng = np.random.default_rng(seed)
    X = rng.integers(6, size=(n, 5)).astype(np.float32)
    X[:, 0] += rng.random(n).astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def model(kind):
    X = rows(80, 0, missing=kind == "missing")
    y = np.nansum(X[:, :3], axis=1)
    classes = (y % 3).astype(int)
    if kind in ("classes", "missing"):
        return RandomForestClassifier(4, random_state=0, max_depth=5).fit(X, classes)
    if kind == "leaf":
        return DecisionTreeRegressor().fit(X, np.ones(80))
    if kind == "outputs":
        return RandomForestRegressor(3, random_state=0).fit(X, np.column_stack([y, -y]))
    return RandomForestRegressor(4, random_state=0, max_depth=6).fit(X, y)


@pytest.mark.parametrize("kind", ["classes", "missing", "regression", "outputs", "leaf"])
@pytest.mark.parametrize("n", [1, 2, 23])
def test_sums(kind, n, n_threads):
    forest, _, _ = model(kind)._parts_of_answer()
    X, other = rows(n, 1, kind == "missing"), rows(9, 2, kind == "missing")
    source = np.random.default_rng(n).integers(9, size=(3, n))
    group = np.array([0, 1, -1, 2, 1])  # column 2 is never replaced, 1 and 4 together
    replacements = Replacements(*map(read_only, (X, other, source, group)))
    out = np.zeros((9, n, forest.n_columns))
    sums_if_replaced(forest.in_words(X, other, 1), replacements, 5, out, n_threads=n_threads)
    np.testing.assert_array_equal(out, expected_sums(forest, X, other, source, group, 3))


def test_the_same_values_change_nothing():
    estimator = model("classes")
    forest, divisor, _ = estimator._parts_of_answer()
    X = rows(30, 3)
    source = np.arange(30)[None]
    replacements = Replacements(*map(read_only, (X, X, source, np.arange(5))))
    out = np.zeros((5, 30, forest.n_columns))
    sums_if_replaced(forest.in_words(X, X, 1), replacements, 16, out, n_threads=1)
    for sums in out:
        np.testing.assert_array_equal(sums / divisor, estimator.predict_proba(X))


@pytest.mark.parametrize("missing", [False, True])
def test_ways_of_chunk(missing):
    X, other = rows(6, 4, missing), rows(3, 5, missing)
    source = np.random.default_rng(0).integers(3, size=(2, 6))
    group = np.array([1, -1, 0, 0, -1])
    ways = ways_of_chunk(Replacements(*map(read_only, (X, other, source, group))), missing, 4, 2, 3)
    width = 10 if missing else 5
    np.testing.assert_array_equal(ways.group, np.tile(group, 2)[:width])
    given = ways.given.reshape(3, width, 2)
    for i in range(3):
        own = ways.keys[i * width :][:5]
        np.testing.assert_array_equal(own, [key_of(x) for x in X[2 + i]])
        for r in range(2):
            values = other[source[r, 2 + i]]
            np.testing.assert_array_equal(given[i, :5, r], [key_of(x) for x in values])
            if missing:
                lowest = np.where(np.isnan(values), 0, given[i, :5, r])
                np.testing.assert_array_equal(given[i, 5:, r], lowest)
