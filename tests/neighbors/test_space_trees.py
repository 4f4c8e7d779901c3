"""The arrays that KDTree and BallTree show are those of a tree."""

import numpy as np
import pytest

from fastml.neighbors import BallTree, KDTree


@pytest.mark.parametrize("tree_class", [KDTree, BallTree])
@pytest.mark.parametrize("n", [1, 16, 17, 300])
def test_arrays_of_a_tree(tree_class, n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    tree = tree_class(X)
    data, order, nodes, bounds = tree.get_arrays()
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    assert bounds.shape == (2 if tree_class is KDTree else 1, len(nodes), 3)
    leaves = nodes[nodes["is_leaf"] == 1]
    covered = [i for leaf in leaves for i in range(leaf["idx_start"], leaf["idx_end"])]
    assert sorted(covered) == list(range(n))
    for node, places in enumerate(nodes):
        inside = X[order[places["idx_start"] : places["idx_end"]]]
        if tree_class is KDTree:
            np.testing.assert_array_equal(bounds[:, node], [inside.min(0), inside.max(0)])
            reach = np.linalg.norm(bounds[1, node] - bounds[0, node]) / 2
        else:
            np.testing.assert_allclose(bounds[0, node], inside.mean(0))
            reach = np.linalg.norm(inside - bounds[0, node], axis=1).max()
        np.testing.assert_allclose(places["radius"], reach, atol=1e-12)


def test_arrays_of_a_tree_of_a_function():
    X = np.arange(6.0).reshape(3, 2)
    _, order, nodes, _ = BallTree(X, metric=lambda x, y: abs(x - y).sum()).get_arrays()
    np.testing.assert_array_equal(order, [0, 1, 2])
    assert (nodes["idx_start"][0], nodes["idx_end"][0], len(nodes)) == (0, 3, 1)
