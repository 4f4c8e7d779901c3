"""Partial dependence against the mean over the ways that a row may go."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml._engines.trees.grow import grow, presort
from fastml.kernels.tree.dependence import add_dependence
from fastml.kernels.tree.exact_split import GrowthRules
from fastml.kernels.tree.nodes import SQUARED_ERROR

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64


@pytest.mark.parametrize("columns", [[0], [2], [1, 2], [2, 0, 1]])
@pytest.mark.parametrize("depth", [1, 9])
def test_dependence(columns, depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    X[:, 2] = rng.integers(0, 6, 60)
    X[rng.random((60, 3)) < 0.1] = np.nan
    tree, _ = grow(
        presort(X), GrowthRules(SQUARED_ERROR, max_depth=depth), values=rng.normal(size=(1, 60)),
        weights=rng.random(60), n_categories=np.array([0, 0, 6], np.intp),
    )  # fmt: skip
    grid = np.ascontiguousarray(X[:7, columns])
    out = np.ones(7)
    places = np.full(3, -1)
    places[columns] = np.arange(len(columns))
    add_dependence(
        tree.nodes, tree.bitsets, tree.weighted_n_node_samples, tree.value[:, 0, 0], places,
        tree.max_depth, grid, out, n_threads=1,
    )  # fmt: skip
    expected = [1.0 + naive.dependence(tree, dict(zip(columns, row))) for row in grid]
    assert_allclose(out, expected)
    if len(columns) == 3:
        assert_allclose(out - 1.0, tree.predict(X[:7], 1)[:, 0])
