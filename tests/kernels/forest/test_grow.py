"""Grown trees: leaves hold what falls into them, rules are kept, best first equals depth first."""

import naive
import numpy as np
import pytest

from fastml._engines.forests.codes import encode
from fastml._engines.forests.growth import CRITERIA, ForestGrower
from fastml.kernels.forest.codes import assign_keys
from fastml.kernels.forest.frame import Frame
from fastml.kernels.forest.grow import (
    DEPTH,
    END,
    LEFT,
    MISSING,
    N_LATER,
    N_NODES,
    RIGHT,
    SPLIT_COLUMN,
    START,
    GrownTrees,
    Growth,
    divide,
    grow_nodes,
    grow_tree,
    grow_trees,
    preorder,
    push,
    rows_of_tree,
    write_tree,
)
from fastml.kernels.numeric.heap import _sift_down
from fastml.kernels.numeric.rng import child_seed
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT, NODE, SQUARED_ERROR

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


def grow(
    X, Y, n_classes, criterion, *, random=False, weights=None, splitter="exact", leaf_share=0.0,
    signs=None, **rules,
):  # fmt: skip
    rules = GrowthRules(CRITERIA[criterion], random, **{"max_features": X.shape[1], **rules})
    grower = ForestGrower(
        X, Y, np.asarray(n_classes), rules, leaf_share, signs, splitter, 1, keep_rows=True
    )
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
    for found in samples(leaf_share=0.2):
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


# ---------------------------------------------------------------------- kernels by themselves


def kernel_input(X, Y, n_classes, criterion, random, weights):
    """(frame, codes, at_random, offsets, signs) as the kernels take them."""
    keys = np.empty(X.shape[::-1], np.uint32)
    assign_keys(X, keys, n_threads=1)
    columns, codes = (keys, None) if random else encode(X, True, 1)
    is_class = CRITERIA[criterion] < SQUARED_ERROR
    pairs = Y.shape[1] == 1 and (not is_class or n_classes[0] <= 2)
    offsets = None if pairs else np.cumsum([1, *n_classes])
    signs = np.zeros(X.shape[1], np.int8) if pairs else None
    frame = Frame(columns, np.ascontiguousarray(Y.T), weights)
    return frame, codes, True if random else None, offsets, signs


def room(k, n, n_columns, keep_rows=True):
    return GrownTrees(
        np.zeros((k, 2 * n - 1), NODE), np.empty((k, n + 1, n_columns)), np.empty((k, n)),
        np.empty((k, n), np.int32), np.empty((k, n)),
        np.empty((k, n if keep_rows else 0), np.int32), np.empty((k, 3), np.int64),
        np.zeros(1, np.uint8),
    )  # fmt: skip


def only_tree(rooms):
    """The slices of the first tree."""
    return GrownTrees(*(each[0] for each in rooms[:-1]), rooms.stop)


def check_splits(nodes, X, Y, weights, kind, rules, random, leaf_share=0.0):
    """Every split is as good as the best of all cuts, and no node could be split that is not."""
    criterion, n_classes = CASES[kind]
    score = {"gini": "squared", "squared_error": "squared"}.get(criterion, criterion)
    of = n_classes if CRITERIA[criterion] < SQUARED_ERROR else None
    least = leaf_share * weights.sum()

    def visit(i, rows, depth):
        x, y, w = X[rows], Y[rows], weights[rows]
        best = -np.inf
        may = depth < rules.max_depth and len(rows) >= max(rules.min_split, 2 * rules.min_leaf)
        if may and (y != y[0]).any():
            best = naive.best_forest_split(x, y, w, score, of, rules.min_leaf, least)
        if nodes["feature"][i] == LEAF:
            # A random cut may break a rule where another would not.
            if not random or (rules.min_leaf == 1 and criterion != "poisson"):
                assert not np.isfinite(best)
            return
        flags = int(nodes["feature"][i])
        column = x[:, flags & (MISSING_LEFT - 1)]
        left = column <= nodes["threshold"][i]
        left[np.isnan(column)] = bool(flags & MISSING_LEFT)
        assert rules.min_leaf <= left.sum() <= len(rows) - rules.min_leaf
        assert least <= w[left].sum() <= w.sum() - least
        own = naive.forest_score(w[left], y[left], score, of)
        own += naive.forest_score(w[~left], y[~left], score, of)
        if random:
            assert np.isfinite(best)
            assert own <= best + 1e-9
        else:
            assert own == pytest.approx(best, rel=1e-9, abs=1e-9)
        visit(i + 1, rows[left], depth + 1)
        visit(int(nodes["right"][i]), rows[~left], depth + 1)

    visit(0, np.flatnonzero(weights > 0), 0)


@pytest.mark.small
@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    "data", ["random", "duplicates", "constant", "one row", "two rows", "no rows"]
)
def test_trees_against_all_cuts(kind, random, data):
    X, y, weights = problem(30)
    criterion, n_classes = CASES[kind]
    Y = targets(kind, y)
    if data == "duplicates":
        X = np.sign(X)
    elif data == "constant":
        X = np.ones_like(X)
    elif data != "random":
        weights[:] = 0.0
        weights[:, np.flatnonzero(y != y[0])[0]] = data != "no rows"
        weights[:, 0] = 2.0 * (data == "two rows")
    given = kernel_input(X, Y, n_classes, criterion, random, weights)
    n_columns = len(n_classes) * max(n_classes)
    for leaf_share, own in ((0.0, {}), (0.1, {"min_leaf": 2, "max_depth": 3, "min_split": 6})):
        rules = GrowthRules(CRITERIA[criterion], random, max_features=3, **own)
        grown = room(2, 30, n_columns)
        seeds = np.array([5, 6], np.uint64)
        grow_trees(seeds, *given, rules, leaf_share, grown, n_threads=1)
        for t in range(2):
            n_nodes, n_leaves, _ = grown.sizes[t]
            assert n_nodes == (0 if data == "no rows" else 2 * n_leaves - 1)
            if n_nodes:
                nodes = grown.nodes[t, :n_nodes]
                check_splits(nodes, X, Y, weights[t], kind, rules, random, leaf_share)
            # A tree does not depend on the block it is grown in.
            alone = only_tree(room(1, 30, n_columns, keep_rows=False))
            frame = given[0]._replace(weights=weights[t])
            grow_tree(seeds[t], frame, *given[1:], rules, leaf_share, alone)
            np.testing.assert_array_equal(alone.sizes, grown.sizes[t])
            np.testing.assert_array_equal(alone.nodes[:n_nodes], grown.nodes[t, :n_nodes])
            for name in ("leaf_weights", "leaf_rows", "leaf_impurities"):
                pair = getattr(alone, name)[:n_leaves], getattr(grown, name)[t, :n_leaves]
                np.testing.assert_array_equal(*pair)


@pytest.mark.small
@pytest.mark.parametrize("max_leaves", [0, 20])
def test_stop_leaves_a_tree_of_what_there_is(max_leaves):
    X, y, weights = problem(30, missing=0.0)
    given = kernel_input(X, y[:, None], [1], "squared_error", False, weights)
    rules = GrowthRules(SQUARED_ERROR, max_features=3, max_leaves=max_leaves)
    grown = room(2, 30, 1)
    grown.stop[0] = 1
    grow_trees(np.array([5, 6], np.uint64), *given, rules, 0.0, grown, n_threads=1)
    for t in range(2):
        assert list(grown.sizes[t]) == [1, 1, 0]
        assert grown.leaf_rows[t, 0] == np.count_nonzero(weights[t])


def start_growth(n, seed):
    """A root of n rows, as `grow_tree` begins with."""
    growth = Growth(
        np.empty((2 * n, 7), np.int32), np.empty(2 * n, np.uint32), np.empty(2 * n),
        np.array([[-np.inf, np.inf, 0.0, 0.0]]), np.full(2 * n, seed, np.uint64), np.empty(2 * n),
        np.empty(2 * n, np.int32), np.empty(2 * n, np.int32), np.array([1, 0], np.int32),
        np.empty(n, np.uint32), np.zeros(1, np.uint8), False, 1.0 / n,
    )  # fmt: skip
    growth.work[0, [START, END, DEPTH]] = 0, n, 0
    return growth


@pytest.mark.small
@pytest.mark.parametrize("small", [0, 12, 40])
@pytest.mark.parametrize("max_leaves", [0, 4])
def test_nodes_of_a_subtree(max_leaves, small):
    X, y, _ = problem(40, missing=0.0)
    Y, weights = (y + X[:, 2])[:, None].astype(float), np.ones(40)
    frame, codes, at_random, offsets, signs = kernel_input(
        X, Y, [1], "squared_error", False, weights
    )
    rules = GrowthRules(SQUARED_ERROR, max_depth=3, max_features=3, max_leaves=max_leaves)
    growth, rows = start_growth(40, 7), np.arange(40, dtype=np.uint32)
    scratch = naive.forest_scratch(40, 3, 2, int(codes.n_codes.max()) + 1)
    grow_nodes(growth, frame, codes, at_random, offsets, signs, rules, rows, scratch, 0, small)
    assert sorted(rows) == list(range(40))
    n_nodes, n_later = growth.progress[[N_NODES, N_LATER]]
    later = set(growth.later[:n_later])
    if max_leaves and not small:
        assert n_nodes == 2 * max_leaves - 1
    gains = {}

    def visit(node):
        """The nodes below one, in preorder."""
        start, end, depth, column, left, right, _ = growth.work[node]
        inside = rows[start:end]
        if left < 0:
            assert (node in later) == (depth < 3 and 2 <= end - start <= small)
            return
        assert node not in later
        assert end - start > small
        goes_left = X[inside, column] <= growth.thresholds[node]
        middle = growth.work[left, END]
        assert (growth.work[left, START], growth.work[right, END]) == (start, end)
        assert growth.work[right, START] == middle
        np.testing.assert_array_equal(goes_left, np.arange(start, end) < middle)
        np.testing.assert_array_equal(frame.columns[column, inside] <= growth.cuts[node], goes_left)
        best = naive.best_forest_split(X[inside], Y[inside], weights[inside], "squared", None)
        own = [naive.forest_score(weights[side], Y[side], "squared", None)
               for side in (inside[goes_left], inside[~goes_left], inside)]  # fmt: skip
        assert own[0] + own[1] == pytest.approx(best)
        gains[node] = own[0] + own[1] - own[2]
        for child, is_left in ((left, True), (right, False)):
            assert growth.work[child, DEPTH] == depth + 1
            assert growth.seeds[child] == child_seed(growth.seeds[node], is_left)
            visit(child)

    visit(0)
    assert n_nodes == 2 * len(gains) + 1
    if max_leaves and not small:
        # Children are numbered in the order of division: of the nodes that were there when the last
        # one was divided, none would have gained more.
        last = max(gains, key=lambda node: growth.work[node, LEFT])
        for node in range(n_nodes - 2):
            start, end, depth, _, left, *_ = growth.work[node]
            if left < 0 and depth < 3 and end - start > 1:
                inside = rows[start:end]
                best = naive.best_forest_split(
                    X[inside], Y[inside], weights[inside], "squared", None
                )
                own = naive.forest_score(weights[inside], Y[inside], "squared", None)
                assert best - own <= gains[last] + 1e-9


@pytest.mark.small
def test_tree_is_written_parents_first():
    """Nodes 1, 2 below the root, 3, 4 below node 2 (the left child); the right child comes first
    in the order of growth."""
    growth = start_growth(6, 7)
    growth.work[:5] = -1
    #                 START, END, DEPTH, SPLIT_COLUMN, LEFT, RIGHT, MISSING
    growth.work[0] = 0, 6, 0, 1, 2, 1, 1
    growth.work[1] = 4, 6, 1, 0, -1, 0, 0
    growth.work[2] = 0, 4, 1, 0, 4, 3, 0
    growth.work[3] = 3, 4, 2, 0, -1, 0, 0
    growth.work[4] = 0, 3, 2, 0, -1, 0, 0
    assert growth.work[0, SPLIT_COLUMN] == growth.work[0, MISSING] == 1
    growth.thresholds[[0, 2]] = 0.5, -1.5
    growth.progress[N_NODES] = 5
    rows = np.array([5, 4, 3, 0, 1, 2], np.uint32)
    y, weights = np.array([[2.0, 7.0, 9.0, 1.0, 1.0, 4.0]]), np.array([1.0, 1, 3, 2, 1, 1])
    frame = Frame(np.zeros((2, 6), np.uint8), y, weights)
    tree = only_tree(room(1, 6, 1))
    write_tree(growth, frame, None, SQUARED_ERROR, rows, np.empty(2), tree)
    assert tree.sizes.tolist() == [5, 3, 0]
    nodes = tree.nodes[:5]
    assert nodes["feature"].tolist() == [1 | MISSING_LEFT, 0, LEAF, LEAF, LEAF]
    assert nodes["right"][:2].tolist() == [4, 3]
    leaves = [rows[:3], rows[3:4], rows[4:]]
    means = [np.average(y[0, leaf], weights=weights[leaf]) for leaf in leaves]
    np.testing.assert_allclose(nodes["threshold"], [0.5, -1.5, *means])
    assert tree.leaf_rows[:3].tolist() == [3, 1, 2]
    assert tree.leaf_weights[:3].tolist() == [weights[leaf].sum() for leaf in leaves]
    losses = [naive.node_loss(y[:, leaf].T, weights[leaf], "squared_error") for leaf in leaves]
    np.testing.assert_allclose(tree.leaf_impurities[:3] * tree.leaf_weights[:3], losses)


@pytest.mark.small
@pytest.mark.parametrize("weights", [[], [0.0], [2.5], [0.0, 1.0, 0.0, 3.0]], ids=str)
def test_rows_of_a_tree(weights):
    weights = np.array(weights, float)
    rows = np.empty(len(weights), np.uint32)
    n, weight = rows_of_tree(weights, rows)
    assert weight == weights.sum()
    assert list(rows[:n]) == list(np.flatnonzero(weights > 0))


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
