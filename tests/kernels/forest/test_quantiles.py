"""Quantiles of leaves against a weighted quantile of the pooled targets."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest.quantiles import (
    count_kept,
    draw_kept,
    leaf_quantiles,
    quantiles_of_chunk,
    quantiles_of_row,
    sink,
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
@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_sink(size):
    """Below a value out of place all is a heap; afterwards it is one from there on."""
    rng = np.random.default_rng(size)
    for slot in range(size):
        values, weights = rng.integers(4, size=12) / 2.0, np.arange(12.0)
        for start in range(size - 1, slot, -1):
            sink(values, weights, start, size)
        before = dict(zip(weights, values))
        sink(values, weights, slot, size)
        assert dict(zip(weights, values)) == before  # weights go with their values
        assert list(weights[size:]) == list(np.arange(12.0)[size:])
        for child in range(2 * slot + 1, size):
            if (child - 1) // 2 >= slot:
                assert values[(child - 1) // 2] >= values[child]


def of_rows(leaves, *given, most, quantiles, out):
    for i in range(len(leaves)):
        quantiles_of_row(leaves[i], *given, quantiles, np.empty(most), np.empty(most), out[i])


def of_chunks(leaves, *given, most, quantiles, out):
    for first, last in ((0, 1), (1, len(leaves))):
        quantiles_of_chunk(first, last, leaves, *given, most, quantiles, out)


def of_all(leaves, *given, most, quantiles, out):
    leaf_quantiles(leaves, *given, most, quantiles, out, 2, n_threads=1)


@pytest.mark.small
@pytest.mark.parametrize("compute", [of_rows, of_chunks, of_all])
@pytest.mark.parametrize("kept", [[3, 0, 5, 2, 4], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], ids=str)
def test_quantiles(kept, compute):
    rng = np.random.default_rng(0)
    starts = np.concatenate([[0], np.cumsum(kept)])  # leaves 0-1 of tree 0, 2-4 of tree 1
    targets, means = rng.integers(6, size=starts[-1]) / 4.0, rng.normal(size=5)
    leaves = np.array([[0, 2], [1, 4], [1, 3]])
    quantiles = np.array([0.0, 0.3, 0.5, 1.0])
    out = np.empty((3, 4))
    compute(leaves, means, starts, targets, most=8, quantiles=quantiles, out=out)
    for i, row in enumerate(leaves):
        parts = [targets[starts[leaf] : starts[leaf + 1]] for leaf in row]
        parts = [part if len(part) else means[[leaf]] for part, leaf in zip(parts, row)]
        weights = np.concatenate([np.full(len(part), 1.0 / len(part)) for part in parts])
        pooled = np.concatenate(parts)
        expected = [naive.weighted_quantile(pooled, weights, q) for q in quantiles]
        np.testing.assert_array_equal(out[i], expected)
