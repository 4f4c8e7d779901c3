import numpy as np
import pytest
from arrays import read_only
from naive import lloyd_step, means_of_clusters, squared_distances

from fastml._engines.kmeans.centers import finish_centers, lay_out_centers, merge_statistics
from fastml.kernels.cluster.lloyd import (
    INERTIA,
    LABELS,
    SUMS,
    ClusterStatistics,
    ShiftedRows,
    add_rows,
    add_weighted_rows,
    clear_statistics,
    distances_to_own_center,
    inertia_of_rows,
    lloyd_chunks,
    pack_row,
    pack_rows,
    same_partition,
    set_labels,
    set_statistics,
    squared_deviations,
    squared_distance,
    transform_chunks,
    weigh_rows,
)
from fastml.kernels.cluster.lloyd_registers import CENTERS_PER_GROUP, STRIDE, TILE

pytestmark = pytest.mark.small
SHAPES = [(1, 1, 1), (2, 3, 2), (7, 2, 5), (130, 4, 9), (150, 7, 4), (300, 5, 1)]
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}
floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def problem(n, d, k, dtype, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    weights = rng.integers(1, 4, n).astype(dtype)
    return X, weights, rng.normal(size=(k, d)).astype(dtype)


def laid_out(centers):
    runs, k, d = centers.shape
    coefficients = np.empty((runs, -(-k // CENTERS_PER_GROUP), d, CENTERS_PER_GROUP), centers.dtype)
    norms = np.empty((runs, coefficients.shape[1] * CENTERS_PER_GROUP), centers.dtype)
    lay_out_centers(centers, coefficients, norms)
    return coefficients, norms


def steps(X, weights, centers, runs, shift=None, rows_per_chunk=TILE, n_threads=1):
    """One pass for several runs; their labels are rows ``runs`` of a larger array."""
    n, d = X.shape
    n_runs, k, _ = centers.shape
    n_chunks = -(-n // rows_per_chunk)
    shift = np.zeros(d, X.dtype) if shift is None else shift
    coefficients, norms = laid_out(centers)
    labels = np.full((max(runs) + 2, n), -1, np.int32)
    statistics = ClusterStatistics(
        np.empty((n_chunks, n_runs, k, d)),
        np.empty((n_chunks, n_runs, k)),
        np.zeros((n_chunks, n_runs), np.intp),
        np.zeros((n_chunks, n_runs)),
    )
    rows = ShiftedRows(read_only(X), read_only(shift), read_only(weights))
    lloyd_chunks(
        n_chunks, rows_per_chunk, LABELS | SUMS | INERTIA, rows,
        np.array(runs), centers, coefficients, norms, labels, statistics, n_threads=n_threads,
    )  # fmt: skip
    assert (np.delete(labels, runs, axis=0) == -1).all()
    return labels[runs], *statistics


def step(X, weights, centers, shift=None, rows_per_chunk=TILE, n_threads=1):
    labels, *statistics = steps(X, weights, centers[None], [0], shift, rows_per_chunk, n_threads)
    return labels[0], *(array[:, 0] for array in statistics)


@floats
@pytest.mark.parametrize(("n", "d", "k"), SHAPES)
def test_step_equals_naive(n, d, k, dtype):
    X, weights, centers = problem(n, d, k, dtype)
    labels, sums, masses, changed, inertia = step(X, weights, centers)
    expected = lloyd_step(X, weights, centers)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(sums.sum(axis=0), expected[1], atol=TOLERANCE[dtype])
    np.testing.assert_array_equal(masses.sum(axis=0), expected[2])
    np.testing.assert_allclose(inertia.sum(), expected[3], rtol=TOLERANCE[dtype])
    assert changed.sum() == n


@floats
def test_shift_is_subtracted(dtype):
    X, weights, centers = problem(140, 3, 6, dtype)
    shift = X.mean(axis=0)
    found = step(X, weights, centers, shift)
    expected = step(X - shift, weights, centers)
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours, theirs)


@floats
def test_ties_go_to_the_lowest_index(dtype):
    X = np.array([[0, 0], [1, 1], [-1, 0]], dtype)
    centers = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 0], [-1, 0]], dtype)
    labels = step(X, np.ones(3, dtype), centers)[0]
    np.testing.assert_array_equal(labels, [0, 0, 1])


@floats
def test_result_does_not_depend_on_threads_or_place(dtype):
    X, weights, centers = problem(700, 5, 7, dtype)
    one = step(X, weights, centers, n_threads=1)
    two = step(X, weights, centers, n_threads=2)
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)
    moved = step(X[13:], weights[13:], centers)[0]
    np.testing.assert_array_equal(moved, one[0][13:])


@floats
@pytest.mark.parametrize("d", [1, 3, 4, 10])
def test_runs_that_share_a_pass_give_what_they_give_alone(d, dtype):
    X, weights, _ = problem(300, d, 1, dtype)
    weights *= np.float64(0.37)
    starts = np.random.default_rng(1).normal(size=(3, 6, d)).astype(dtype)
    shift = X.mean(axis=0)
    together = steps(X, weights, starts, [3, 0, 2], shift, n_threads=2)
    for run, centers in enumerate(starts):
        alone = step(X, weights, centers, shift)
        np.testing.assert_array_equal(together[0][run], alone[0])
        for ours, theirs in zip(together[1:], alone[1:]):
            np.testing.assert_array_equal(ours[:, run], theirs)


def test_layout_of_centers():
    centers = problem(1, 6, 5, np.float64)[2]
    coefficients, norms = laid_out(centers[None])
    np.testing.assert_array_equal(coefficients[0, 1, :, 0], -2 * centers[4])
    np.testing.assert_allclose(norms[0, :5], (centers**2).sum(axis=1))
    assert (norms[0, 5:] == np.finfo(np.float64).max).all()
    assert (coefficients[0, 1, :, 1:] == 0).all()


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_pack_transposes(n):
    X = np.arange(20.0 * 3).reshape(20, 3)
    shift = np.array([1.0, 2.0, 3.0])
    tile = np.full((3, STRIDE), -1.0)
    pack_rows(X, shift, 5, 5 + n, tile)
    np.testing.assert_array_equal(tile[:, :n], (X[5 : 5 + n] - shift).T)
    assert (tile[:, n:] == -1).all()
    pack_row(X, 0, shift, tile, 7)
    np.testing.assert_array_equal(tile[:, 7], X[0] - shift)


def test_statistics_merge_and_finish():
    X, weights, centers = problem(300, 3, 4, np.float64)
    centers[2] = 1e6  # stays empty
    both = np.stack([centers, X[:4]])
    labels, sums, masses, changed, _ = steps(X, weights, both, [0, 1])
    total_sums, total_masses = np.empty((2, 4, 3)), np.empty((2, 4))
    n_empty, n_changed = merge_statistics(sums, masses, changed, total_sums, total_masses)
    assert n_empty.tolist() == [1, 0]
    assert n_changed.tolist() == [300, 300]
    new, moves = np.empty((2, 4, 3)), np.empty((2, 4))
    total = finish_centers(total_sums, total_masses, both, new, moves)
    for run in range(2):
        _, expected_sums, expected_masses, _ = lloyd_step(X, weights, both[run])
        np.testing.assert_allclose(total_sums[run], expected_sums, atol=1e-12)
        np.testing.assert_allclose(new[run], means_of_clusters(expected_sums, expected_masses))
        np.testing.assert_allclose(moves[run], np.sqrt(((new - both)[run] ** 2).sum(axis=1)))
    np.testing.assert_allclose(total, (moves**2).sum(axis=1))
    one_sums, one_masses = np.empty((4, 3)), np.empty(4)
    clear_statistics(one_sums, one_masses)
    add_rows(X, np.zeros(3), weights, labels[0], 0, 300, one_sums, one_masses)
    np.testing.assert_allclose(one_sums, total_sums[0], atol=1e-11)
    np.testing.assert_array_equal(one_masses, total_masses[0])


def test_weighted_rows_add_up_to_the_same_statistics():
    X, weights, _ = problem(90, 5, 4, np.float64)
    labels = np.arange(90, dtype=np.int32) % 4
    weighted, totals = np.zeros((TILE, 8)), np.zeros((2, 4, 8))
    weigh_rows(X, X[0], weights, 7, 90, weighted)
    add_weighted_rows(weighted, labels, 7, 90, totals, 1)
    assert (totals[0] == 0).all()
    found = np.empty((2, 4, 5)), np.empty((2, 4))
    set_statistics(totals, *found)
    expected = np.zeros((4, 5)), np.zeros(4)
    add_rows(X, X[0], weights, labels, 7, 90, *expected)
    for ours, theirs in zip(found, expected):
        np.testing.assert_array_equal(ours[1], theirs)


def test_labels_are_set_and_counted():
    labels = np.arange(6, dtype=np.int32)
    assert set_labels(np.array([2, 7, 4], np.int32), 2, 5, labels) == 1
    assert labels.tolist() == [0, 1, 2, 7, 4, 5]


@floats
def test_distances(dtype):
    X, weights, centers = problem(50, 4, 3, dtype)
    shift = X.mean(axis=0)
    expected = squared_distances(X - shift, centers)
    found = np.empty((50, 3), dtype)
    transform_chunks(2, 30, X, shift, centers, found, n_threads=1)
    np.testing.assert_allclose(found, np.sqrt(expected), rtol=1e-5)
    labels = np.arange(50, dtype=np.int32) % 3
    own = np.empty(50, dtype)
    distances_to_own_center(X, shift, centers, labels, own)
    np.testing.assert_allclose(own, expected[np.arange(50), labels], rtol=1e-5)
    assert squared_distance(X, 3, shift, centers, 1) == pytest.approx(expected[3, 1])
    assert squared_deviations(X, shift) == pytest.approx(((X - shift) ** 2).sum())
    inertia = inertia_of_rows(X, shift, weights, centers, labels, 10, 40)
    assert inertia == pytest.approx((own * weights)[10:40].sum(), rel=1e-5)


def test_same_partition():
    a = np.array([1, 0, 0, 1, 2], np.int32)
    renamed = np.array([0, 2, 2, 0, 1], np.int32)
    other = np.array([0, 2, 2, 1, 1], np.int32)
    assert same_partition(a, renamed, np.full(3, -1, np.int32))
    assert not same_partition(a, other, np.full(3, -1, np.int32))
