"""What is worked out from the leaves, against the training rows."""

import numpy as np
import pytest
from naive import node_loss
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees.grow import grow, presort
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import (
    ENTROPY,
    ERROR,
    GINI,
    NODE,
    POISSON,
    SQUARED_ERROR,
    class_impurities,
    class_impurity,
    importances,
    mean_impurities,
    node_depths,
    sum_of_quotients,
    sums_from_leaves,
    total_of,
    values_from_leaves,
)

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64
NAMES = {GINI: "gini", ENTROPY: "entropy", ERROR: "error", SQUARED_ERROR: "", POISSON: "poisson"}


def test_node_is_16_bytes():
    assert NODE.itemsize == 16


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_arrays_follow_from_the_leaves(criterion, n_outputs):
    rng = np.random.default_rng(0)
    n = 30
    X = rng.normal(size=(n, 2)).astype(np.float32)
    y, w = rng.integers(0, 3, (n, n_outputs)), rng.uniform(0.5, 2.0, n)
    if criterion <= ERROR:
        target = {
            "classes": np.ascontiguousarray(y.T).astype(np.int32),
            "n_classes": [3] * n_outputs,
        }
    else:
        target = {"values": np.ascontiguousarray(y.T) + 1.0}
        y = y + 1.0
    rules = GrowthRules(criterion, min_leaf=3, min_split=6)
    tree, _ = grow(presort(X), rules, weights=w, **target)
    inside = tree.decision_path(X).toarray().astype(bool)
    assert_array_equal(tree.n_node_samples, inside.sum(axis=0))
    assert_allclose(tree.weighted_n_node_samples, w @ inside)
    assert_array_equal(tree.depths, [len(set(np.flatnonzero(r))) for r in ancestors(tree)])
    for node in range(tree.node_count):
        rows = inside[:, node]
        loss = node_loss(y[rows], w[rows], NAMES[criterion]) / w[rows].sum()
        assert_allclose(tree.impurity[node], loss, atol=1e-10)
        for o in range(n_outputs):
            if criterion <= ERROR:
                shares = np.bincount(y[rows, o], w[rows], 3) / w[rows].sum()
                assert_allclose(tree.value[node, o], shares, atol=1e-12)
            else:
                assert_allclose(tree.value[node, o], np.average(y[rows, o], weights=w[rows]))
    assert tree.compute_feature_importances().sum() == pytest.approx(1.0)


def ancestors(tree):
    found = np.zeros((tree.node_count, tree.node_count), bool)
    for node in range(tree.node_count):
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                found[child] = found[node]
                found[child, node] = True
    return found


def test_impurities_of_fractions():
    p = np.array([0.5, 0.25, 0.25])
    assert class_impurity(8.0 * p, 0, 3, GINI, 8.0) == pytest.approx(0.625)
    assert class_impurity(8.0 * p, 0, 3, ENTROPY, 8.0) == pytest.approx(1.5)
    assert class_impurity(p, 0, 3, ERROR, 1.0) == pytest.approx(0.5)
    out = np.empty(1)
    class_impurities(p[None], 1, GINI, out)
    assert out[0] == pytest.approx(0.625)


def test_a_single_leaf():
    nodes = np.zeros(1, NODE)
    nodes["feature"], nodes["threshold"] = -1, 7.0
    depths, samples, weights = np.ones(1, np.intp), np.empty(1, np.int64), np.empty(1)
    assert node_depths(nodes, depths) == 0
    sums_from_leaves(nodes, np.array([4]), np.array([2.0]), samples, weights)
    values, out = np.empty((1, 1)), np.empty(1)
    values_from_leaves(nodes, np.zeros((0, 1)), True, weights, values)
    mean_impurities(nodes, np.zeros(0), values, weights, SQUARED_ERROR, out)
    gains = np.zeros(2)
    importances(nodes, weights, out, gains)
    assert (samples[0], weights[0], values[0, 0], out[0]) == (4, 2.0, 7.0, 0.0)
    assert not gains.any()


@pytest.mark.small
def test_equal_sums_of_quotients_are_equal_numbers():
    assert sum_of_quotients(1.0, 4.0, 3.0, 8.0) == 0.625
    # 1/3 + 5/7 = 22/21 = 1/7 + 19/21, as differently as they are rounded on their own
    assert sum_of_quotients(1.0, 3.0, 5.0, 7.0) == 22 / 21 == sum_of_quotients(1.0, 7.0, 19.0, 21.0)


def test_counts_have_their_sum_behind_them():
    counts = np.array([[1, 2, 3], [65_000, 535, 65_535]], np.uint16)
    assert [total_of(counts, i, 2) for i in range(2)] == [3.0, 65_535.0]
    assert total_of(counts / 7.0, 1, 3) == 1.0
