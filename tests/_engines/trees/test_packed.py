"""Sums over trees: packed into words or walked as they are, the same to the bit."""

import numpy as np
import pytest

from fastml._engines.trees import packed
from fastml._engines.trees.grow import grow, presort
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import GINI, SQUARED_ERROR


def trees(kind, n_features=3, n_categories=0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, n_features)).astype(np.float32)
    X[:, 0] = rng.integers(0, max(n_categories, 2), 80)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, (1, 80))
    target = {"values": y + 0.1} if kind == SQUARED_ERROR else {"classes": y.astype(np.int32)}
    if kind == GINI:
        target["n_classes"] = [3]
    if n_categories:
        target["n_categories"] = np.array([n_categories] + [0] * (n_features - 1), np.intp)
    rules = GrowthRules(kind, max_features=2, min_leaf=3)
    return X, [grow(presort(X), rules, seed=seed, **target)[0] for seed in range(4)]


@pytest.fixture
def calls(monkeypatch):
    """Names of the kernels that sums call."""
    names = []

    def note(name, kernel):
        def noted(*args, **kwargs):
            names.append(name)
            return kernel(*args, **kwargs)

        monkeypatch.setattr(packed, name, noted)

    note("sum_of_packed", packed.sum_of_packed)
    note("forest_sum", packed.forest_sum)
    monkeypatch.setattr(packed, "FEWEST_WALKS", 1)
    return names


@pytest.mark.parametrize("kind", [GINI, SQUARED_ERROR])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("some", [slice(0, 4), slice(1, 3)])
def test_both_ways_are_the_same_to_the_bit(kind, missing, some, calls, monkeypatch):
    X, grown = trees(kind)
    X = X if missing else np.nan_to_num(X)
    forest = packed.pack(grown).part(some.start, some.stop)
    scales = np.array([1.0, 0.1, -0.7, 3.0])[some]
    words = forest.sum(X, scales, 1)
    monkeypatch.setattr(packed, "FEWEST_WALKS", 1 << 30)
    np.testing.assert_array_equal(forest.sum(X, scales, 1), words)
    assert calls == ["sum_of_packed", "forest_sum"]
    each = [scale * tree.predict_flat(X, 1) for scale, tree in zip(scales, grown[some])]
    np.testing.assert_allclose(words, sum(each))


@pytest.mark.parametrize("why", ["categories", "few rows", "large trees"])
def test_trees_that_are_not_packed(why, calls, monkeypatch):
    X, grown = trees(SQUARED_ERROR, n_categories=9 if why == "categories" else 0)
    if why == "few rows":
        monkeypatch.setattr(packed, "FEWEST_WALKS", 4 * len(X) + 1)
    elif why == "large trees":
        X = X[:2]
    found = packed.pack(grown).sum(X, n_threads=1)
    assert calls == ["forest_sum"]
    np.testing.assert_allclose(found, sum(tree.predict_flat(X, 1) for tree in grown))


def test_columns_beyond_the_bits_of_a_word():
    """Of 32 bits, columns take those of twice their number; children need the others."""
    _, grown = trees(SQUARED_ERROR)
    forest = packed.pack(grown)
    child_bits = int(max(tree.node_count for tree in grown)).bit_length()
    most = 1 << (32 - child_bits - 1)
    assert forest._shift(10**6, most) == 32 + 32 - child_bits
    assert forest._shift(10**6, most + 1) is None
