"""Packed trees against a walk of every row through the nodes as they are."""

import naive
import numpy as np
import pytest

from fastml.kernels.tree.nodes import NODE
from fastml.kernels.tree.walk import FIRST_STEPS, fill_keys, pack_tree, walk

from ..forest.test_predict import random_tree

pytestmark = [
    pytest.mark.small,
    # With JIT off, NumPy scalars warn where compiled code wraps round as it should.
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]

SHIFT = np.uint64(40)
MASK = np.uint64(255)


def leaves_by_walk(nodes, X):
    """The leaf of every row, as an index into ``nodes``."""
    missing = bool(np.isnan(X).any())
    words, order = np.empty(len(nodes), np.uint64), np.empty(len(nodes) + 1, np.int32)
    pack_tree(nodes, X.shape[1], missing, SHIFT, words, order)
    keys = np.empty((len(X), X.shape[1] << missing), np.uint32)
    fill_keys(X, missing, keys)
    places, active = np.empty(len(X), np.uint32), np.empty(len(X), np.uint32)
    walk(words, SHIFT, MASK, keys, places, active)
    assert np.array_equal(np.sort(order[: len(nodes)]), np.arange(len(nodes)))
    return order[places]


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 7, 8, 9, 41])
def test_leaves(n_rows, share_missing):
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 3)).astype(np.float32)
    X[rng.random(X.shape) < share_missing] = np.nan
    for depth in (0, 1, 5):
        nodes, _ = random_tree(rng, depth, 1, True)
        expected = [naive.leaf_of(nodes, x) for x in X]
        np.testing.assert_array_equal(leaves_by_walk(nodes, X), expected)


def test_a_tree_that_is_one_long_branch():
    """Rows that arrive at once, and rows that need several rounds."""
    depth = 3 * FIRST_STEPS
    nodes = []
    for level in range(depth):  # x > level goes on, to the right
        nodes += [(level, 2 * level + 2, 0), (0.0, 0, -1)]
    nodes = np.array([*nodes, (0.0, 0, -1)], NODE)
    X = np.arange(-2, depth + 2, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(leaves_by_walk(nodes, X), [naive.leaf_of(nodes, x) for x in X])


def test_thresholds_between_two_float32_numbers():
    """Rounding a threshold must not move a row to the other side."""
    one = np.float32(1)
    above = np.nextafter(one, np.float32(2))
    X = np.array([[one], [above], [-one], [-above], [0.0], [-0.0], [np.inf], [-np.inf]], np.float32)
    for threshold in (1.0, 1.0 + 1e-9, 1.0 - 1e-9, -1.0 - 1e-9, -1e-60, 1e-60, 1e300, -1e300):
        nodes = np.array([(threshold, 2, 0), (0.0, 0, -1), (0.0, 0, -1)], NODE)
        expected = [naive.leaf_of(nodes, x) for x in X.astype(np.float64)]
        np.testing.assert_array_equal(leaves_by_walk(nodes, X), expected)
