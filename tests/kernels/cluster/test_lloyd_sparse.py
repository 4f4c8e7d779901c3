import numpy as np
import pytest
import scipy.sparse as sp
from naive import lloyd_step, seeding_step, squared_distances

from fastml._engines.rows import csr_rows
from fastml.kernels.cluster.lloyd import INERTIA, LABELS, SUMS, ClusterStatistics
from fastml.kernels.cluster.lloyd_sparse import (
    lay_out_columns,
    sparse_distances,
    sparse_distances_to_own_center,
    sparse_lloyd_chunks,
    sparse_seeding_chunks,
    squared_distance_csr,
    squared_norms,
)

pytestmark = pytest.mark.small
floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def problem(n, d, k, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[X < 0.3] = 0
    csr = csr_rows(sp.csr_array(X))
    return X, csr, rng.integers(1, 4, n).astype(dtype), rng.normal(size=(k, d)).astype(dtype)


@floats
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (2, 3, 2), (90, 7, 5)])
def test_step_equals_naive(n, d, k, n_threads, dtype):
    X, csr, weights, centers = problem(n, d, k, dtype)
    columns, norms = np.empty((d, k), dtype), np.empty(k, dtype)
    lay_out_columns(centers, columns, norms)
    rows = 40
    n_chunks = -(-n // rows)
    labels = np.full(n, -1, np.int32)
    sums, masses = np.empty((n_chunks, 1, k, d)), np.empty((n_chunks, 1, k))
    changed, inertia = np.zeros((n_chunks, 1), np.intp), np.zeros((n_chunks, 1))
    sparse_lloyd_chunks(
        n_chunks, rows, LABELS | SUMS | INERTIA, csr, weights, centers, columns, norms, labels,
        ClusterStatistics(sums, masses, changed, inertia), n_threads=n_threads,
    )  # fmt: skip
    expected = lloyd_step(X, weights, centers)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(sums.sum(axis=(0, 1)), expected[1], atol=1e-5)
    np.testing.assert_array_equal(masses.sum(axis=(0, 1)), expected[2])
    np.testing.assert_allclose(inertia.sum(), expected[3], rtol=1e-5)
    assert changed.sum() == n


@floats
@pytest.mark.parametrize("n_threads", [1, 2])
def test_distances(n_threads, dtype):
    X, csr, _, centers = problem(30, 6, 4, dtype)
    centers[0] = X[3]  # zero but for what is subtracted
    centers[1] = X[4] * dtype(1 + 1e-6)
    expected = squared_distances(X, centers)
    columns, norms = np.empty((6, 4)), np.empty(4)
    lay_out_columns(centers, columns, norms)
    distances = np.empty((30, 4), dtype)
    sparse_distances(3, 12, csr, centers, columns, norms, distances, n_threads=n_threads)
    np.testing.assert_allclose(distances, np.sqrt(expected), rtol=1e-5)
    assert distances[3, 0] == 0
    labels = np.arange(30, dtype=np.int32) % 4
    own = np.empty(30, dtype)
    sparse_distances_to_own_center(csr, centers, labels, own)
    np.testing.assert_allclose(own, expected[np.arange(30), labels], rtol=1e-5)
    norms = np.empty(4)
    squared_norms(centers, norms)
    np.testing.assert_allclose(norms, (centers.astype(np.float64) ** 2).sum(axis=1))
    assert squared_distance_csr(csr, 3, centers, 1, norms[1]) == pytest.approx(expected[3, 1])


@floats
def test_seeding_equals_naive(dtype):
    X, csr, weights, _ = problem(50, 6, 1, dtype)
    candidates = X[[3, 8, 30]]
    closest = np.full(50, 4.0, dtype)
    kept, potentials = np.empty((3, 50), dtype), np.empty((2, 3))
    sparse_seeding_chunks(
        2, 30, csr, weights, candidates, closest, True, kept, potentials, n_threads=1
    )
    lowered, expected = seeding_step(X, weights, candidates, closest)
    np.testing.assert_allclose(kept, lowered, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(potentials.sum(axis=0), expected, rtol=1e-5)
    assert kept[0, 3] == kept[1, 8] == 0
