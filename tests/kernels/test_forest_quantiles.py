"""Quantiles of leaves against a weighted quantile of the pooled targets."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest_quantiles import (
    count_kept,
    draw_kept,
    leaf_quantiles,
    sort_by_value,
)

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_sort(n):
    rng = np.random.default_rng(n)
    values, weights = rng.integers(5, size=n) / 2.0, rng.random(n)
    expected = sorted(zip(values, weights))
    sort_by_value(values, weights, n)
    assert sorted(zip(values, weights)) == expected
    assert list(values) == sorted(values)


@pytest.mark.small
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_kept_targets(whole, most):
    rng = np.random.default_rng(most)
    samples = np.array([1, 6, 3, 9, 2])
    rows, y, starts = rng.permutation(21), rng.normal(size=30), rng.random(5)
    y[rows[7:10]] = 5.0
    weights = rng.integers(1, 4, 30).astype(float) if whole else rng.random(30)
    expected = naive.kept_targets(rows, samples, y, weights, most, starts)
    counts = np.empty(5, np.int64)
    assert count_kept(rows, samples, y, weights, most, counts) == sum(map(len, expected))
    assert counts.tolist() == [len(kept) for kept in expected]
    targets = np.empty(counts.sum())
    draw_kept(rows, samples, y, weights, starts, counts, targets)
    np.testing.assert_array_equal(targets, np.concatenate(expected))


@pytest.mark.small
def test_quantiles():
    rng = np.random.default_rng(0)
    kept = [3, 0, 5, 2, 4]  # leaves 0-1 of tree 0, 2-4 of tree 1
    starts = np.concatenate([[0], np.cumsum(kept)])
    targets, means = rng.normal(size=starts[-1]), rng.normal(size=5)
    leaves = np.array([[0, 2], [1, 4], [1, 3]])
    quantiles = np.array([0.0, 0.3, 0.5, 1.0])
    out = np.empty((3, 4))
    leaf_quantiles(leaves, means, starts, targets, 8, quantiles, out, 2, n_threads=1)
    for i, row in enumerate(leaves):
        parts = [targets[starts[leaf] : starts[leaf + 1]] for leaf in row]
        parts = [part if len(part) else means[[leaf]] for part, leaf in zip(parts, row)]
        weights = np.concatenate([np.full(len(part), 1.0 / len(part)) for part in parts])
        pooled = np.concatenate(parts)
        expected = [naive.weighted_quantile(pooled, weights, q) for q in quantiles]
        np.testing.assert_allclose(out[i], expected)
