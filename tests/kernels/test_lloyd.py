import numpy as np
import pytest
from naive import lloyd_step, means_of_clusters, squared_distances

from fastml.cluster._centers import finish_centers, lay_out_centers, merge_statistics
from fastml.kernels.lloyd import (
    GROUP,
    INERTIA,
    LABELS,
    STRIDE,
    SUMS,
    TILE,
    add_rows,
    clear_statistics,
    distances_to_own_center,
    inertia_of_rows,
    lloyd_chunks,
    nearest_of_tile,
    pack_row,
    pack_rows,
    same_partition,
    score_tile,
    squared_distance,
    transform_chunks,
)

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
    k, d = centers.shape
    coefficients = np.empty((-(-k // GROUP), d + d % 2, GROUP), centers.dtype)
    norms = np.empty(coefficients.shape[0] * GROUP, centers.dtype)
    lay_out_centers(centers, coefficients, norms)
    return coefficients, norms


def step(X, weights, centers, shift=None, rows_per_chunk=TILE, n_threads=1):
    n, d = X.shape
    k = len(centers)
    n_chunks = -(-n // rows_per_chunk)
    shift = np.zeros(d, X.dtype) if shift is None else shift
    coefficients, norms = laid_out(centers)
    labels = np.full(n, -1, np.int32)
    sums, masses = np.empty((n_chunks, k, d)), np.empty((n_chunks, k))
    changed, inertia = np.zeros(n_chunks, np.intp), np.zeros(n_chunks)
    lloyd_chunks(
        n_chunks, rows_per_chunk, LABELS | SUMS | INERTIA, X, shift, weights, centers,
        coefficients, norms, labels, sums, masses, changed, inertia, n_threads=n_threads,
    )  # fmt: skip
    return labels, sums, masses, changed, inertia


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


def test_scores_rank_as_distances_and_padding_never_wins():
    X, _, centers = problem(TILE, 6, 5, np.float64)
    coefficients, norms = laid_out(centers)
    tile = np.zeros((6, STRIDE))
    pack_rows(X, np.zeros(6), 0, TILE, tile)
    scores = np.empty((GROUP, STRIDE))
    score_tile(tile, coefficients, 0, norms, scores)
    expected = squared_distances(X, centers) - (X**2).sum(axis=1)[:, None]
    np.testing.assert_allclose(scores[:, :TILE].T, expected[:, :4], atol=1e-12)
    best, nearest = np.empty(TILE), np.empty(TILE, np.int32)
    nearest_of_tile(tile, coefficients, norms, scores, best, nearest)
    np.testing.assert_array_equal(nearest, expected.argmin(axis=1))
    np.testing.assert_allclose(best, expected.min(axis=1), atol=1e-12)
    assert norms[5] == np.finfo(np.float64).max


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
    labels, sums, masses, changed, _ = step(X, weights, centers)
    total_sums, total_masses = np.empty((4, 3)), np.empty(4)
    counts = merge_statistics(sums, masses, changed, total_sums, total_masses)
    assert counts == (1, 300)
    _, expected_sums, expected_masses, _ = lloyd_step(X, weights, centers)
    np.testing.assert_allclose(total_sums, expected_sums, atol=1e-12)
    new, moves = np.empty((4, 3)), np.empty(4)
    total = finish_centers(total_sums, total_masses, centers, new, moves)
    np.testing.assert_allclose(new, means_of_clusters(expected_sums, expected_masses))
    np.testing.assert_allclose(moves, np.sqrt(((new - centers) ** 2).sum(axis=1)))
    assert total == pytest.approx((moves**2).sum())
    one_sums, one_masses = np.empty((4, 3)), np.empty(4)
    clear_statistics(one_sums, one_masses)
    add_rows(X, np.zeros(3), weights, labels, 0, 300, one_sums, one_masses)
    np.testing.assert_allclose(one_sums, total_sums, atol=1e-11)
    np.testing.assert_array_equal(one_masses, total_masses)


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
    inertia = inertia_of_rows(X, shift, weights, centers, labels, 10, 40)
    assert inertia == pytest.approx((own * weights)[10:40].sum(), rel=1e-5)


def test_same_partition():
    a = np.array([1, 0, 0, 1, 2], np.int32)
    renamed = np.array([0, 2, 2, 0, 1], np.int32)
    other = np.array([0, 2, 2, 1, 1], np.int32)
    assert same_partition(a, renamed, np.full(3, -1, np.int32))
    assert not same_partition(a, other, np.full(3, -1, np.int32))
