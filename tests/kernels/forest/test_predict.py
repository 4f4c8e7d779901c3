"""Sums of leaf values against a walk of every row through every tree."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest.predict import (
    ROWS_PER_WALK,
    TreesInWords,
    add_leaves,
    pack_trees,
    pack_with_leaves,
    sum_of_packed,
    walk_chunk,
)
from fastml.kernels.tree.nodes import LEAF, MISSING_LEFT, NODE

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


def random_tree(rng, depth, n_columns, scalar):
    """Nodes depth first, with a table of leaf values where leaves are not of one class."""
    nodes, table = [], []

    def add(depth):
        at = len(nodes)
        if depth == 0 or rng.random() < 0.2:
            if scalar:
                nodes.append((rng.normal(), 0, LEAF))
            elif rng.random() < 0.5:
                nodes.append((0.0, ~rng.integers(n_columns), LEAF))
            else:
                nodes.append((0.0, len(table), LEAF))
                table.append(rng.random(n_columns))
            return
        flag = MISSING_LEFT if rng.random() < 0.5 else 0
        nodes.append(None)
        add(depth - 1)
        right = len(nodes)
        add(depth - 1)
        nodes[at] = (rng.normal(), right, int(rng.integers(3)) | flag)

    add(depth)
    return np.array(nodes, NODE), np.array(table).reshape(-1, n_columns)


def packed(trees, n_columns, *, scalar, missing, scales, first=0):
    """The trees from ``first`` on, packed."""
    bounds = np.cumsum([0, *(len(nodes) for nodes, _ in trees)])
    table_starts = np.cumsum([0, *(len(table) for _, table in trees)])[:-1]
    n = bounds[-1] - bounds[first]
    found = TreesInWords(
        bounds[first:], np.empty(n, np.uint64), np.empty(n if scalar else 0),
        np.empty(0 if scalar else n, np.int32), np.concatenate([table for _, table in trees]),
        table_starts[first:], np.asarray(scales, float)[first:], scalar, missing, np.uint64(36),
    )  # fmt: skip
    pack_trees(np.concatenate([nodes for nodes, _ in trees]), 3, found, n_threads=1)
    return found


def expected_sums(trees, X, n_columns, *, scalar, scales):
    out = np.zeros((len(X), n_columns))
    for i, x in enumerate(X):
        for (nodes, table), scale in zip(trees, scales):
            leaf = naive.leaf_of(nodes, x)
            right = int(nodes["right"][leaf])
            if scalar:
                out[i] += scale * nodes["threshold"][leaf]
            else:
                out[i] += scale * (np.eye(n_columns)[~right] if right < 0 else table[right])
    return out


def some_rows(rng, n, *, missing):
    X = rng.normal(size=(n, 3)).astype(np.float32)
    X[rng.random(X.shape) < 0.2 * missing] = np.nan
    return X


@pytest.mark.small
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize("first", [0, 1])
def test_sums(first, scalar, missing):
    rng = np.random.default_rng(0)
    n_columns, scales = 1 if scalar else 3, [1.0, 0.3, -2.0]
    given = {"scalar": scalar, "scales": scales}
    trees = [random_tree(rng, depth, n_columns, scalar) for depth in (0, 2, 6)]
    words = packed(trees, n_columns, missing=missing, first=first, **given)
    given["scales"] = scales[first:]
    for n_rows in (0, 1, 2, 23):
        X = some_rows(rng, n_rows, missing=missing)
        expected = expected_sums(trees[first:], X, n_columns, **given)
        for rows_per_chunk in (5, 100):
            out = np.zeros((n_rows, n_columns))
            sum_of_packed(words, X, out, rows_per_chunk, n_threads=1)
            np.testing.assert_array_equal(out, expected)
        out = np.ones((n_rows, n_columns))
        walk_chunk(words, X, out)
        np.testing.assert_allclose(out, expected + 1.0, rtol=1e-12)


@pytest.mark.small
def test_counts_are_divided_by_what_stands_behind_them():
    rng = np.random.default_rng(2)
    trees = [random_tree(rng, depth, 3, False) for depth in (3, 6)]
    counts = [rng.integers(1, 20_000, table.shape) for _, table in trees]
    wholes = [mine.sum(axis=1, keepdims=True) for mine in counts]
    given = {"scalar": False, "scales": [1.0, 0.3]}
    tables = [np.hstack(both).astype(np.uint16) for both in zip(counts, wholes)]
    words = packed([(t[0], new) for t, new in zip(trees, tables)], 3, missing=True, **given)
    X, shares = some_rows(rng, 23, missing=True), [a / b for a, b in zip(counts, wholes)]
    out = np.zeros((23, 3))
    sum_of_packed(words, X, out, 5, n_threads=1)
    plain = [(t[0], new) for t, new in zip(trees, shares)]
    np.testing.assert_array_equal(out, expected_sums(plain, X, 3, **given))


def test_more_rows_than_walk_together():
    rng = np.random.default_rng(1)
    trees, X = [random_tree(rng, 5, 1, True)], some_rows(rng, ROWS_PER_WALK + 3, missing=True)
    given = {"scalar": True, "scales": [1.0]}
    out = np.zeros((len(X), 1))
    walk_chunk(packed(trees, 1, missing=True, **given), X, out)
    np.testing.assert_array_equal(out, expected_sums(trees, X, 1, **given))


@pytest.mark.small
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_words_and_leaves_of_a_tree(depth):
    """Words lie breadth first; what a leaf says lies at its word's place."""
    rng = np.random.default_rng(depth)
    for scalar in (True, False):
        nodes, _ = random_tree(rng, depth, 3, scalar)
        n, shift = len(nodes), np.uint64(36)
        words = np.empty(n, np.uint64)
        values, codes = np.empty(n * scalar), np.empty(n * (not scalar), np.int32)
        pack_with_leaves(nodes, 3, True, shift, 0.5, words, values, codes)
        order, at = [0], 0
        while at < len(order):
            node = order[at]
            leaf = nodes["feature"][node] == LEAF
            child = int(words[at] >> shift)
            assert child == (at if leaf else len(order))
            order += [] if leaf else [node + 1, int(nodes["right"][node])]
            if leaf and scalar:
                assert values[at] == 0.5 * nodes["threshold"][node]
            elif leaf:
                assert codes[at] == nodes["right"][node]
            at += 1
        assert sorted(order) == list(range(n))


@pytest.mark.small
def test_values_of_leaves():
    places, none = np.array([2, 0, 2], np.uint32), np.empty((0, 2))
    out = np.ones((3, 1))
    add_leaves(places, True, 9.0, np.array([5.0, 6.0, 7.0]), np.empty(0, np.int32), none, out)
    assert out[:, 0].tolist() == [8.0, 6.0, 8.0]
    out, table = np.ones((3, 2)), np.array([[0.25, 0.75]])
    add_leaves(places, False, 2.0, np.empty(0), np.array([0, 9, ~1], np.int32), table, out)
    assert out.tolist() == [[1.0, 3.0], [1.5, 2.5], [1.0, 3.0]]
