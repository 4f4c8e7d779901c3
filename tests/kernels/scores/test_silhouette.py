"""Tiles of distance sums and extremes beside a plain matrix of distances."""

import naive
import numpy as np
import pytest
from arrays import read_only

from fastml._engines.labels import Clusters
from fastml.kernels.scores import silhouette as kernels


def sorted_input(n_rows, n_features, n_clusters, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n_rows)])[:n_rows]
    labels.sort()
    X = rng.normal(size=(n_rows, n_features)) * scale
    X -= X.mean(axis=0)
    X = np.pad(X, ((0, 0), (0, n_features % 2)))
    X.flags.writeable = False
    clusters = Clusters(labels)
    return X, clusters.sorted_codes, clusters.bounds


def sums_by_rounds(X, labels, bounds, n_threads):
    X, n_blocks = read_only(X), -(-X.shape[0] // kernels.TILE_SIDE)
    sums = np.zeros((X.shape[0], bounds.size - 1))
    kernels.distance_sum_pairs(0, n_blocks, X, labels, bounds, sums, n_threads=n_threads)
    for turn in range(1, n_blocks + n_blocks % 2):
        tasks = (n_blocks + 1) // 2
        kernels.distance_sum_pairs(turn, tasks, X, labels, bounds, sums, n_threads=n_threads)
    return sums


SMALL = [(2, 1, 1), (3, 2, 2), (5, 3, 3), (70, 4, 2), (131, 5, 3), (67, 9, 60)]
SHAPES = [pytest.param(*s, marks=pytest.mark.small) for s in SMALL] + [
    (257, 2, 4),
    (700, 10, 5),
    (1100, 3, 1),
]


@pytest.mark.parametrize("n_rows, n_features, n_clusters", SHAPES)
def test_sums_by_pairs_of_blocks(n_rows, n_features, n_clusters, n_threads):
    X, labels, bounds = sorted_input(n_rows, n_features, n_clusters)
    D = naive.distances_of_all_pairs(X)
    expected = np.stack([D[:, labels == c].sum(axis=1) for c in range(n_clusters)], axis=1)
    found = sums_by_rounds(X, labels, bounds, n_threads)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_rows, n_features, n_clusters", [(3, 2, 2), (67, 9, 60), (700, 10, 5)])
def test_coefficients_by_rows(n_rows, n_features, n_clusters, n_threads):
    X, labels, bounds = sorted_input(n_rows, n_features, n_clusters)
    expected = naive.silhouettes(naive.distances_of_all_pairs(X), labels)
    found = np.empty(n_rows)
    n_blocks = -(-n_rows // kernels.TILE_SIDE)
    kernels.silhouette_rows(0, n_blocks, X, labels, bounds, found, n_threads=n_threads)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.small
def test_every_pair_of_blocks_meets_once():
    for n_blocks in range(1, 12):
        met = []
        for turn in range(n_blocks + n_blocks % 2):
            tasks = n_blocks if turn == 0 else (n_blocks + 1) // 2
            pairs = [kernels.opponents(turn, task, n_blocks) for task in range(tasks)]
            pairs = [(int(a), int(b)) for a, b in pairs if b < n_blocks]
            players = [p for pair in pairs for p in set(pair)]
            assert len(players) == len(set(players)), "two tasks write to one block"
            met += pairs
        assert sorted(met) == [(a, b) for a in range(n_blocks) for b in range(a, n_blocks)]


def test_close_pairs_keep_their_digits():
    """Clusters a million times smaller than their distance."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 128)
    X = 1e-6 * rng.normal(size=(256, 4)) + np.where(labels, 1.0, -1.0)[:, None]
    bounds = np.array([0, 128, 256])
    D = naive.distances_of_all_pairs(X)
    sums = sums_by_rounds(X, labels, bounds, 1)
    np.testing.assert_allclose(sums[:128, 0], D[:128, :128].sum(axis=1), rtol=1e-9)


@pytest.mark.small
def test_duplicates_have_distance_zero(n_threads):
    X = np.repeat([[0.1, 0.7]], 130, axis=0)
    sums = sums_by_rounds(X, np.zeros(130, dtype=np.intp), np.array([0, 130]), n_threads)
    assert (sums == 0.0).all()


@pytest.mark.small
def test_sums_of_runs():
    D = np.random.default_rng(0).random((7, 9))
    bounds = np.array([0, 4, 5, 9])
    sums = np.empty((7, 3))
    kernels.sums_of_runs(D, bounds, sums)
    np.testing.assert_allclose(sums, np.add.reduceat(D, bounds[:-1], axis=1))


@pytest.mark.parametrize("n_rows", [pytest.param(40, marks=pytest.mark.small), 600])
def test_extremes(n_rows, n_threads):
    X, labels, _ = sorted_input(n_rows, 4, 3)
    n_blocks = -(-n_rows // kernels.TILE_SIDE)
    found = np.tile([np.inf, 0.0], (n_blocks, 1))
    kernels.extremes(0, n_blocks, X, labels, found, n_threads=n_threads)
    expected = naive.dunn(naive.distances_of_all_pairs(X), labels)
    np.testing.assert_allclose([found[:, 0].min(), found[:, 1].max()], expected, rtol=1e-12)


@pytest.mark.small
@pytest.mark.parametrize("scale", [1.0, 0.0])
def test_coefficients_from_sums(scale):
    """With a cluster of one row, one of equal rows and, at scale 0, all rows equal."""
    labels = np.repeat([0, 1, 2, 3], [1, 5, 4, 2])
    X = scale * np.random.default_rng(0).normal(size=(12, 2))
    X[labels == 3] = X[-1]
    D = naive.distances_of_all_pairs(X)
    bounds, found = np.array([0, 1, 6, 10, 12]), np.empty(12)
    with np.errstate(invalid="ignore"):  # the mean inside a cluster of one row
        kernels.coefficients(np.add.reduceat(D, bounds[:-1], axis=1), labels, bounds, found)
    np.testing.assert_allclose(found, naive.silhouettes(D, labels), rtol=1e-12)
