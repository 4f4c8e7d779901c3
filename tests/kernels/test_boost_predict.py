"""Sums of trees, eight rows at a time, with missing values and sets."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.ensemble._boosting_trees import NODE, Packed, Tree

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
    return Tree(nodes, np.array(sets, dtype=np.uint64).reshape(-1, 4))


@pytest.mark.parametrize("missing_bin", [10, 255])
@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, 8, 21])
def test_every_row_walks_its_path(missing_bin, with_sets, n_rows):
    rng = np.random.default_rng(n_rows)
    trees = [random_tree(rng, n, with_sets) for n in (0, 1, 6)]
    bins = rng.integers(0, 10, (n_rows, 3)).astype(np.uint8)
    bins[rng.random(bins.shape) < 0.2] = missing_bin
    out = np.zeros((n_rows, 1))
    Packed(trees, missing_bin).add_to(bins, out, 1)
    assert_allclose(out[:, 0], naive.walk_trees(trees, bins, missing_bin), atol=1e-12)
