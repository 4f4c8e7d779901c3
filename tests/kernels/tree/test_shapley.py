import numpy as np
import pytest
from arrays import read_only
from naive_shapley import leaf_game, leaf_with_background, mean_of_tree, of_game, pairs_of_game
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees.paths import (
    ROWS_PER_TILE,
    find_paths,
    plain_tree,
    shapley_weights,
)
from fastml.kernels.tree.shapley import (
    MOST_SLOTS,
    background_parts,
    count_paths,
    fill_paths,
    pair_parts,
    path_parts,
    tree_interactions,
    tree_shapley,
)

pytestmark = pytest.mark.small
WEIGHTS = shapley_weights(MOST_SLOTS)


def bits(passes):
    return np.uint64(sum(1 << s for s, passed in enumerate(passes) if not passed))


@pytest.mark.parametrize("m", [1, 2, 4])
def test_parts_of_a_path(m):
    rng = np.random.default_rng(m)
    scratch = np.empty((3, MOST_SLOTS + 1))
    for trial in range(8):
        passes, shares = rng.random(m) < 0.5, rng.random(m)
        if trial == 7:
            shares[0] = 0.0
        parts = np.empty(m)
        path_parts(bits(passes), shares, WEIGHTS, scratch, parts)
        game = leaf_game(passes, shares)
        assert_allclose(parts, of_game(game, m), atol=1e-12)
        pairs = np.empty((m, m))
        pair_parts(bits(passes), shares, WEIGHTS, scratch, pairs)
        assert_allclose(pairs, pairs_of_game(game, m), atol=1e-12)


@pytest.mark.parametrize("m", [1, 3])
def test_parts_with_a_background(m):
    rng = np.random.default_rng(m)
    for _ in range(6):
        passes, others = rng.random(m) < 0.6, rng.random((5, m)) < 0.6
        parts = np.empty(m)
        masks = np.array([bits(other) for other in others])
        background_parts(bits(passes), m, masks, np.ones(5), WEIGHTS, parts)
        assert_allclose(parts, of_game(leaf_with_background(passes, others), m), atol=1e-12)


def test_long_paths_lose_nothing():
    rng = np.random.default_rng(0)
    passes, shares = rng.random(MOST_SLOTS) < 0.7, rng.random(MOST_SLOTS)
    parts = np.empty(MOST_SLOTS)
    path_parts(bits(passes), shares, WEIGHTS, np.empty((3, MOST_SLOTS + 1)), parts)
    everything, nothing = float(passes.all()), float(np.prod(shares))
    assert parts.sum() == pytest.approx(everything - nothing, abs=1e-12)


class Chain:
    """A tree that splits by column 0, 1, 0 on the way to its last leaf."""

    n_outputs = 1
    children_left = np.array([1, -1, 3, -1, 5, -1, -1])
    children_right = np.array([2, -1, 4, -1, 6, -1, -1])
    feature = np.array([0, -2, 1, -2, 0, -2, -2])
    threshold = np.array([0.0, -2.0, 1.0, -2.0, 2.0, -2.0, -2.0])
    missing_go_to_left = np.array([1, 0, 0, 0, 1, 0, 0], np.uint8)
    weighted_n_node_samples = np.array([10.0, 4.0, 6.0, 2.0, 4.0, 1.0, 3.0])
    value = np.array([0.0, 1.0, 0.0, 5.0, 0.0, -2.0, 7.0]).reshape(7, 1, 1)


def test_paths():
    tree = Chain
    parents, sides = np.empty(7, np.intp), np.zeros(7, np.uint8)
    left, right = read_only(tree.children_left), read_only(tree.children_right)
    assert count_paths(left, right, parents, sides) == (4, 9)
    assert_array_equal(parents, [-1, 0, 0, 2, 2, 4, 4])
    entries = np.empty(9, np.int32), np.empty(9, np.uint8), np.empty(9, np.uint8)
    slots = np.empty(9, np.int32), np.empty(9)
    ends = np.empty(4, np.intp), np.empty(4, np.intp), np.empty(4, np.intp)
    feature = read_only(tree.feature.astype(np.int32))
    cover = read_only(tree.weighted_n_node_samples)
    n = fill_paths((left, feature), cover, parents, sides, entries, slots, ends)
    assert n == (9, 7)
    assert_array_equal(ends[2], [1, 3, 5, 6])
    assert_allclose(slots[1][5:7], [0.6 * 0.75, 4.0 / 6.0])
    assert_array_equal(slots[0][5:7], [0, 1])


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_tree(n_threads):
    rows = np.array([[-1.0, 0.0, 9.0], [1.0, 0.0, 9.0], [1.0, 2.0, 9.0], [3.0, 2.0, 9.0]])
    paths = find_paths([plain_tree(Chain), plain_tree(Chain, 2.0)])
    as_float32 = rows.astype(np.float32)
    as_float32.flags.writeable = False
    none = np.empty((0, 3), np.float32)
    none.flags.writeable = False
    out = np.zeros((4, 3, 1))
    given = paths.trees, paths.slots, as_float32
    tree_shapley(*given, none, 3, paths.most_nodes, out, n_threads=n_threads)
    pairs = np.zeros((4, 3, 3, 1))
    tree_interactions(*given, 3, paths.most_nodes, pairs, n_threads=n_threads)
    for i, x in enumerate(rows):

        def game(S, x=x):
            return 3.0 * mean_of_tree(Chain, x, S)[0]

        assert_allclose(out[i, :, 0], of_game(game, 3), atol=1e-12)
        assert_allclose(pairs[i, :, :, 0], pairs_of_game(game, 3), atol=1e-12)
    assert_allclose(paths.expected, 3.0 * mean_of_tree(Chain, rows[0], set()))
    assert ROWS_PER_TILE > 4
