"""Sums of trees, eight rows at a time, with missing values and sets."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.boosted.trees import NODE, BoostedTree, Packed
from fastml.kernels.hist import predict as kernels

pytestmark = pytest.mark.small


def random_tree(rng, n_splits, with_sets):
    nodes = np.zeros(2 * n_splits + 1, dtype=NODE)
    nodes["left"] = -1
    nodes["value"] = rng.normal(size=len(nodes))
    leaves, sets = [0], []
    for split in range(n_splits):
        node = leaves.pop(rng.integers(len(leaves)))
        nodes["left"][node] = 2 * split + 1
        nodes["depth"][[2 * split + 1, 2 * split + 2]] = nodes["depth"][node] + 1
        nodes["feature_idx"][node] = rng.integers(3)
        nodes["bin_threshold"][node] = rng.integers(0, 9)
        nodes["missing_go_to_left"][node] = rng.integers(2)
        nodes["is_categorical"][node] = with_sets and rng.integers(2)
        leaves += [2 * split + 1, 2 * split + 2]
    for _ in range(int(nodes["is_categorical"].sum())):
        sets.append([rng.integers(1 << 9), 0, 0, 0])
    return BoostedTree(nodes, np.array(sets, dtype=np.uint64).reshape(-1, 4))


def random_bins(rng, n_rows, missing_bin):
    bins = rng.integers(0, 10, (n_rows, 3)).astype(np.uint8)
    bins[rng.random(bins.shape) < 0.2] = missing_bin
    return bins


@pytest.mark.parametrize("missing_bin", [10, 255])
@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, 8, 21])
def test_every_row_walks_its_path(missing_bin, with_sets, n_rows):
    rng = np.random.default_rng(n_rows)
    trees = [random_tree(rng, n, with_sets) for n in (0, 1, 6)]
    bins = random_bins(rng, n_rows, missing_bin)
    out = np.zeros((n_rows, 1))
    kernels.add_trees(bins, Packed(trees, missing_bin).packed, out, n_threads=1)
    assert_allclose(out[:, 0], naive.walk_trees(trees, bins, missing_bin), atol=1e-12)


@pytest.mark.parametrize("missing_bin", [10, 255])
def test_steps_and_leaves(missing_bin):
    """From node to node, from the root of every tree to its leaf."""
    rng = np.random.default_rng(3)
    trees = [random_tree(rng, n, with_sets) for n in (0, 1, 9) for with_sets in (False, True)]
    packed = Packed(trees, missing_bin).packed
    bins = random_bins(rng, 30, missing_bin)
    for t, tree in enumerate(trees):
        root = packed.roots[t]
        for i in range(30):
            leaf = int(kernels.leaf_of(root, packed, bins, i))
            value = naive.walk_trees([tree], bins[i : i + 1], missing_bin)[0]
            assert root <= leaf < root + len(tree.nodes)
            assert tree.nodes["left"][leaf - root] == -1
            assert packed.values[leaf] == value
        for node, entry in enumerate(tree.nodes):
            if entry["left"] < 0 or entry["is_categorical"]:
                continue
            for i in range(30):
                b = bins[i, entry["feature_idx"]]
                left = b <= entry["bin_threshold"]
                if b == missing_bin:
                    left = entry["missing_go_to_left"]
                child = kernels.step(packed.words[root + node], bins, i)
                assert child == root + entry["left"] + (not left)


def test_eight_rows_at_once():
    rng = np.random.default_rng(4)
    trees = [random_tree(rng, n, False) for n in (0, 1, 9)]
    packed = Packed(trees, 255).packed
    bins = random_bins(rng, 12, 255)
    for t, tree in enumerate(trees):
        out = np.ones((12, 2))
        kernels.descend_eight(
            packed.roots[t], packed.depths[t], packed.words, packed.values, bins, 3, out, 1
        )
        expected = np.ones((12, 2))
        expected[3:11, 1] += naive.walk_trees([tree], bins[3:11], 255)
        assert_array_equal(out, expected)


@pytest.mark.parametrize("n_columns", [1, 3])
def test_blocks_and_columns(n_columns):
    """A block adds to its own rows; tree t belongs to column t mod K."""
    rng = np.random.default_rng(5)
    n_rows = kernels.ROWS_PER_BLOCK + 13
    trees = [random_tree(rng, n, t % 2 == 1) for t, n in enumerate((0, 1, 6, 4, 3, 2))]
    packed = Packed(trees, 255).packed
    bins = random_bins(rng, n_rows, 255)
    out = np.zeros((n_rows, n_columns))
    kernels.predict_block(1, bins, packed, out)
    assert not out[: kernels.ROWS_PER_BLOCK].any()
    last = slice(kernels.ROWS_PER_BLOCK, None)
    for k in range(n_columns):
        expected = naive.walk_trees(trees[k::n_columns], bins[last], 255)
        assert_allclose(out[last, k], expected, atol=1e-12)
