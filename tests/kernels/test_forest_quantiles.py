"""Quantiles of leaves against a weighted quantile of the pooled targets."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest_quantiles import leaf_quantiles, sort_by_rank

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_sort(n):
    rng = np.random.default_rng(n)
    ranks, weights = rng.integers(5, size=n), rng.random(n)
    expected = sorted(zip(ranks, weights))
    sort_by_rank(ranks, weights, n)
    assert sorted(zip(ranks, weights)) == expected
    assert list(ranks) == sorted(ranks)


@pytest.mark.small
def test_quantiles():
    rng = np.random.default_rng(0)
    targets = np.sort(rng.normal(size=12))
    sizes = [3, 1, 5, 2, 4]  # leaves 0-1 of tree 0, 2-4 of tree 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ranks = rng.integers(12, size=starts[-1]).astype(np.int32)
    draws = rng.integers(1, 4, starts[-1]).astype(float)
    leaves = np.array([[0, 2], [1, 4], [1, 3]])
    quantiles = np.array([0.0, 0.3, 0.5, 1.0])
    out = np.empty((3, 4))
    leaf_quantiles(leaves, starts, 20, ranks, draws, targets, quantiles, out, 2, n_threads=1)
    for i, row in enumerate(leaves):
        parts = [slice(starts[leaf], starts[leaf + 1]) for leaf in row]
        mine = np.concatenate([targets[ranks[p]] for p in parts])
        weights = np.concatenate([draws[p] / draws[p].sum() for p in parts])
        expected = [naive.weighted_quantile(mine, weights, q) for q in quantiles]
        np.testing.assert_allclose(out[i], expected)
