"""Random splits: between the extremes, scored as the naive twin scores them."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest import score as k
from fastml.kernels.forest.codes import assign_keys
from fastml.kernels.forest.frame import Frame
from fastml.kernels.forest.random_split import key_range, left_sums, search_random
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import GINI, SQUARED_ERROR
from fastml.kernels.tree.presort import MISSING_KEY

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


def search(X, Y, weights, *, n_classes=None, seed=1, min_leaf=1, signs=None, least=0.0):
    n, d = X.shape
    pair = Y.shape[1] == 1 and (n_classes is None or n_classes == [2])
    criterion = GINI if n_classes is not None else SQUARED_ERROR
    rules = GrowthRules(criterion, True, min_leaf=min_leaf, min_weight=least, max_features=d)
    offsets = np.cumsum([1, *(n_classes or [1] * Y.shape[1])])
    given = np.zeros(d, np.int8) if signs is None else signs
    keys = np.empty((d, n), np.uint32)
    assign_keys(X, keys, n_threads=1)
    return search_random(
        Frame(keys, np.ascontiguousarray(Y.T), weights), None if pair else offsets,
        given if pair else None, rules, np.arange(n, dtype=np.uint32),
        naive.forest_scratch(n, d, offsets[-1], 1, seed), -np.inf, np.inf,
    )  # fmt: skip


def problem(n=30, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(0, 3, n).astype(float), rng.integers(1, 4, n).astype(float)


@pytest.mark.small
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["regression", "two outputs", "three classes"])
def test_score_is_that_of_the_split(kind, missing):
    X, y, weights = problem(missing=missing)
    Y = np.column_stack([y, y * y]) if kind == "two outputs" else y[:, None]
    n_classes = [3] if kind == "three classes" else None
    seen = set()
    for seed in range(8):
        split = search(X, Y, weights, n_classes=n_classes, seed=seed)
        x = X[:, split.feature]
        left = (x <= split.threshold) | (np.isnan(x) & (split.missing_left == 1))
        expected = naive.forest_score(weights[left], Y[left], "squared", n_classes)
        expected += naive.forest_score(weights[~left], Y[~left], "squared", n_classes)
        assert split.score == pytest.approx(expected)
        assert np.nanmin(x) <= split.threshold < np.nanmax(x)
        seen.add((split.feature, split.threshold))
    assert len(seen) > 3


@pytest.mark.small
def test_rules_are_kept():
    X, y, weights = problem()
    for seed in range(5):
        split = search(X, y[:, None], weights, min_leaf=10, seed=seed)
        if split.score != k.INVALID:
            left = X[:, split.feature] <= split.threshold
            assert min(left.sum(), (~left).sum()) >= 10
        signs = np.ones(3, np.int8)
        split = search(X, y[:, None], weights, signs=signs, seed=seed)
        if split.score != k.INVALID:
            assert split.means[0] <= split.means[1]
    assert search(X, y[:, None], weights, least=weights.sum()).score == k.INVALID
    assert search(X, y[:, None], weights, least=0.49 * weights.sum()).score < 1e300


@pytest.mark.small
def test_degenerate():
    X, y, weights = problem(4)
    assert search(np.ones_like(X), y[:, None], weights).score == k.INVALID
    assert search(X, np.ones((4, 1)), weights).score == k.INVALID
    only_missing = np.full_like(X, np.nan)
    assert search(only_missing, y[:, None], weights).score == k.INVALID
    only_missing[:2] = 1.0  # missing or not is all that varies
    split = search(only_missing, np.array([0.0, 0.0, 1.0, 1.0])[:, None], weights)
    assert split.threshold == 1.0
    assert split.missing_left == 0


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_sums_of_the_left(n):
    rng = np.random.default_rng(n)
    keys = rng.integers(0, 9, n).astype(np.uint32)
    keys[1::5] = MISSING_KEY
    weights, totals = rng.integers(0, 4, (2, n)).astype(float)
    for turn in (0, 1):  # one more than the greatest key is the least
        left = (keys <= 4) | ((keys == MISSING_KEY) & (turn == 1))
        found = left_sums(keys, weights, totals, n, np.uint32(4 + turn), np.uint32(turn))
        assert found == (weights[left].sum(), totals[left].sum(), left.sum())


@pytest.mark.small
def test_range_of_keys():
    keys = np.array([7, 3, MISSING_KEY, 5], np.uint32)
    assert key_range(keys, 2) == (3, 7, False)
    assert key_range(keys, 4) == (3, 7, True)
    assert key_range(keys[2:], 1)[0] == MISSING_KEY
