"""Trees on bins: every row is in the leaf that its path leads to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml.ensemble._binning import BinMapper
from fastml.ensemble._boosting_grower import Grower, Rules
from fastml.ensemble._boosting_trees import Packed
from fastml.kernels import boost_grow as kernels

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, with JIT off
]


@pytest.mark.parametrize("n_rows", [1, 2, 60])
@pytest.mark.parametrize("level_first", [False, True])
@pytest.mark.parametrize("max_leaf_nodes", [2, 5, None])
def test_leaves_hold_the_rows_that_lead_there(n_rows, level_first, max_leaf_nodes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    mapper = BinMapper()
    bins = mapper.fit_transform(X)
    gradients = rng.normal(size=n_rows).astype(np.float32)
    hessians = rng.random(n_rows).astype(np.float32) + np.float32(0.1)
    rules = Rules(1.0, max_leaf_nodes, 4, 3, max_features=0.7, level_first=level_first)
    groups = np.array([[1, 1, 0], [0, 0, 1]], dtype=np.uint8)
    trends = np.array([1, -1, 0], dtype=np.int8)
    grower = Grower(
        bins, mapper, rules, trends=trends, groups=groups, constant_hessian=False, n_jobs=1
    )
    size = np.abs(gradients)
    statistics = np.array([size.max(), size.sum(), hessians.max(), hessians.sum()])
    tree = grower.grow(gradients, hessians, statistics, seed=3)
    raw, walked = np.zeros(n_rows), np.zeros((n_rows, 1))
    grower.add_values(tree, raw)
    Packed([tree], 255).add_to(bins, walked, 1)
    assert_allclose(walked[:, 0], raw, atol=1e-12)
    leaves = [rows for _, rows in grower.leaves()]
    assert_array_equal(np.sort(np.concatenate(leaves)), np.arange(n_rows))
    if len(leaves) > 1:
        assert min(map(len, leaves)) >= 3
        for node, rows in grower.leaves():
            exact = -gradients[rows].sum(dtype=float) / hessians[rows].sum(dtype=float)
            bounds = grower.reals[node, kernels.LOWER], grower.reals[node, kernels.UPPER]
            assert_allclose(tree.nodes["value"][node], np.clip(exact, *bounds), rtol=1e-5)


def test_partition_is_stable():
    n = 100
    column = (np.arange(n) % 3).astype(np.uint8)
    table = np.zeros(256, dtype=np.uint8)
    table[1] = 1
    rows = np.arange(n, dtype=np.uint32)
    lefts, rights = np.empty((2, n), dtype=np.uint32)
    counts, places = np.zeros((2, 1), dtype=np.intp)
    kernels.partition_chunk(0, 10, 90, rows, column, table, lefts, rights, counts)
    kernels.collect_chunk(0, 10, 90, rows, lefts, rights, counts, places, counts[0])
    inside = np.arange(10, 90)
    assert_array_equal(rows[10:90], np.r_[inside[inside % 3 == 1], inside[inside % 3 != 1]])
    assert_array_equal(rows[:10], np.arange(10))
