"""Grown trees: leaves hold what falls into them, rules are kept, best first equals depth first."""

import numpy as np
import pytest

from fastml.ensemble._forest_growth import LARGEST, Grower, TreeRules
from fastml.kernels.forest_grow import LEFT, RIGHT, divide, preorder, push
from fastml.kernels.heap import _sift_down
from fastml.kernels.tree_nodes import LEAF, MISSING_LEFT

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


def leaves_of(nodes, X):
    found = []
    for x in X:
        i = 0
        while nodes["feature"][i] != LEAF:
            flags = int(nodes["feature"][i])
            value = x[flags & (MISSING_LEFT - 1)]
            left = bool(flags & MISSING_LEFT) if np.isnan(value) else value <= nodes["threshold"][i]
            i = i + 1 if left else int(nodes["right"][i])
        found.append(i)
    return np.array(found)


def grow(X, Y, n_classes, criterion, *, random=False, weights=None, splitter="exact", **rules):
    shape = {
        "max_depth": LARGEST, "min_split": 2, "min_leaf": 1, "leaf_fraction": 0.0,
        "max_features": X.shape[1], "max_leaves": 0, "min_decrease": 0.0, **rules,
    }  # fmt: skip
    is_class = criterion in ("gini", "entropy", "error")
    grower = Grower(
        X, Y, np.asarray(n_classes), TreeRules(criterion, is_class, **shape), random, splitter, 1,
        keep_rows=True,
    )  # fmt: skip
    weights = np.ones((1, len(X))) if weights is None else weights
    return grower.grow(np.array([3, 4], np.uint64), weights, 1)


def problem(n=60, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(float) + (X[:, 1] > 0.5)
    X[rng.random(X.shape) < missing] = np.nan
    weights = rng.integers(0, 3, (2, n)).astype(float)
    return X, y, weights


CASES = {
    "two classes": ("gini", [2]),
    "three classes": ("gini", [3]),
    "one class": ("gini", [1]),
    "two outputs": ("entropy", [3, 2]),
    "regression": ("squared_error", [1]),
    "two regressions": ("squared_error", [1, 1]),
    "counts": ("poisson", [1]),
    "two counts": ("poisson", [1, 1]),
}


def targets(kind, y):
    return {
        "two classes": y[:, None] > 0,
        "three classes": y[:, None],
        "one class": 0 * y[:, None],
        "two outputs": np.column_stack([y, y > 0]),
        "regression": y[:, None],
        "two regressions": np.column_stack([y, y * y]),
        "counts": y[:, None],
        "two counts": np.column_stack([y, y + 1.0]),
    }[kind].astype(float)


@pytest.mark.small
@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("kind", CASES)
def test_leaves_hold_their_rows(kind, random):
    X, y, weights = problem()
    criterion, n_classes = CASES[kind]
    Y = targets(kind, y)
    for t, grown in enumerate(
        grow(X, Y, n_classes, criterion, random=random, weights=weights, max_depth=3)
    ):
        nodes, samples, leaf_weights, impurities, table, rows = grown
        used = weights[t] > 0
        leaf = leaves_of(nodes, X)
        is_leaf = np.flatnonzero(nodes["feature"] == LEAF)
        assert len(is_leaf) == len(samples) == (len(nodes) + 1) // 2
        assert sorted(rows) == list(np.flatnonzero(used))
        ends = np.cumsum(samples)
        for number, node in enumerate(is_leaf):
            inside = used & (leaf == node)
            mine = rows[ends[number] - samples[number] : ends[number]]
            assert sorted(mine) == list(np.flatnonzero(inside))
            w = weights[t][inside]
            assert leaf_weights[number] == w.sum()
            right = int(nodes["right"][node])
            if criterion in ("gini", "entropy"):
                shares = []
                for o, k in enumerate(n_classes):
                    share = [w[Y[inside, o] == c].sum() / w.sum() for c in range(k)]
                    shares += share + [0.0] * (max(n_classes) - k)
                if right < 0:
                    assert shares[~right] == 1.0
                else:
                    np.testing.assert_allclose(table[right], shares)
            else:
                means = np.average(Y[inside], axis=0, weights=w)
                value = nodes["threshold"][node] if Y.shape[1] == 1 else table[right]
                np.testing.assert_allclose(value, means if Y.shape[1] > 1 else means[0])
                if criterion == "squared_error":
                    spread = np.average((Y[inside] - means) ** 2, axis=0, weights=w).mean()
                else:
                    with np.errstate(divide="ignore", invalid="ignore"):
                        each = np.where(Y[inside] > 0, Y[inside] * np.log(Y[inside] / means), 0.0)
                    spread = np.average(each, axis=0, weights=w).mean()
                assert impurities[number] == pytest.approx(spread, abs=1e-12)


@pytest.mark.parametrize("random", [False, True])
def test_subtrees_in_frames_of_their_own(random):
    """With so many rows the top of the tree is grown where the data lie."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    Y = (np.nan_to_num(X[:, :1]) + rng.normal(size=(30_000, 1)) > 0).astype(float)
    nodes, samples, *_, rows = grow(X, Y, [2], "gini", random=random, splitter="hist")[0]
    assert len(nodes) > 5000
    is_leaf = np.flatnonzero(nodes["feature"] == LEAF)
    expected = np.empty(30_000, int)
    expected[rows] = np.repeat(is_leaf, samples)
    np.testing.assert_array_equal(leaves_of(nodes, X[::30]), expected[::30])


@pytest.mark.small
@pytest.mark.parametrize("random", [False, True])
def test_rules(random):
    X, y, _ = problem(missing=0.0)
    Y = y[:, None]

    def samples(**rules):
        return [g[1] for g in grow(X, Y, [1], "squared_error", random=random, **rules)]

    for found in samples(min_leaf=7, min_split=14):
        assert found.min() >= 7
    for found in samples(max_leaves=4):
        assert len(found) == 4
    for found in samples(leaf_fraction=0.2):
        assert found.min() >= 12
    for found in samples(min_decrease=1e9):
        assert len(found) == 1
    for found in samples(max_depth=1):
        assert len(found) == 2


@pytest.mark.small
def test_best_first_without_a_limit_is_the_same_tree():
    X, y, _ = problem(missing=0.0)
    Y = (y > 0).astype(float)[:, None]
    deep = grow(X, Y, [2], "gini")[0]
    best = grow(X, Y, [2], "gini", max_leaves=1000)[0]
    np.testing.assert_array_equal(deep[0]["threshold"], best[0]["threshold"])


@pytest.mark.small
def test_directions():
    X, _, _ = problem(200, missing=0.0)
    rng = np.random.default_rng(1)
    y = X[:, 0] + 0.5 * rng.normal(size=200)
    signs = np.array([1, 0, 0], np.int8)
    for random in (False, True):
        nodes = grow(X, y[:, None], [1], "squared_error", signs=signs, random=random)[0][0]
        for x in X[:20]:
            line = np.repeat(x[None], 30, axis=0)
            line[:, 0] = np.linspace(-3, 3, 30)
            assert (np.diff(nodes["threshold"][leaves_of(nodes, line)]) >= 0).all()


@pytest.mark.small
def test_no_rows_and_one_row():
    X, y, _ = problem(5)
    weights = np.zeros((2, 5))
    weights[1, 2] = 1.0
    none, one = grow(X, y[:, None], [1], "squared_error", weights=weights)
    assert len(none[0]) == 0
    assert len(one[0]) == 1
    assert one[0]["threshold"][0] == y[2]


@pytest.mark.small
def test_pieces():
    gains, ids = np.empty(9), np.empty(9, np.int32)
    order = [3.0, 9.0, 1.0, 7.0, 7.0, 2.0]
    for size, gain in enumerate(order):
        push(gains, ids, size, gain, size)
    taken = []
    for size in range(len(order) - 1, -1, -1):
        taken.append(gains[0])
        _sift_down(gains, ids, size, gains[size], ids[size])
    assert taken == sorted(order, reverse=True)
    column = np.array([0, 5, 2, 9, 1], np.uint8)
    for missing_left, expected in ((1, [4, 3, 0, 2, 1]), (0, [4, 0, 2, 1, 3])):
        rows = np.array([4, 1, 3, 0, 2], np.uint32)
        n_left = divide(column, rows, np.empty(5, np.uint32), 2, 9, missing_left)
        assert n_left == 3 + missing_left
        assert list(rows) == expected
    work = np.full((3, 7), -1, np.int32)
    work[0, LEFT], work[0, RIGHT] = 2, 1
    order, parents = np.empty(3, np.int32), np.empty(3, np.int32)
    assert preorder(work, order, parents) == 3
    assert list(order) == [0, 2, 1]
    assert list(parents) == [-1, -1, 0]
