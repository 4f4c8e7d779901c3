"""Brute search equals sorting all distances, ties by index, whatever the tiles and threads."""

import numpy as np
import pytest
from naive import nearest_rows

from fastml._engines.search import brute
from fastml._engines.search.metric import EUCLIDEAN, NO_VALUES, Metric
from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.neighbors import argkmin
from fastml.kernels.neighbors.argkmin import PackedRows
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES
from fastml.kernels.numeric.heap import FLOAT64_MAX


def euclidean(x, y):
    return np.sqrt(((x.astype(float) - y.astype(float)) ** 2).sum())


def rows(n, d, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@pytest.mark.small
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (7, 3)])
def test_direct_search_equals_sorting(n, k, dtype, n_threads):
    Q, Y = rows(3, 2, dtype), rows(n, 2, dtype, 1)
    distances, indices = np.empty((3, 1, k)), np.empty((3, 1, k), np.intp)
    argkmin.argkmin_rows(
        None,
        EUCLIDEAN,
        1,
        2,
        kernel_view(Q),
        kernel_view(Y),
        distances,
        indices,
        n_threads=n_threads,
    )
    argkmin.finish_heaps(metrics.EUCLIDEAN, 2.0, distances, indices)
    expected_distances, expected = nearest_rows(Q, Y, k, euclidean)
    np.testing.assert_array_equal(indices[:, 0], expected)
    np.testing.assert_allclose(distances[:, 0], expected_distances, rtol=1e-12)


@pytest.mark.small
def test_any_metric_by_the_general_kernel():
    Q, Y = rows(4, 3, np.float64), rows(6, 3, np.float64, 1)
    found = brute.brute_kneighbors(Q, Y, 2, Metric(metrics.CANBERRA, 2.0, NO_VALUES), 1)
    expected = nearest_rows(Q, Y, 2, lambda x, y: (abs(x - y) / (abs(x) + abs(y))).sum())
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0])


@pytest.mark.small
def test_smallest_in_rows_breaks_ties_by_column():
    D = kernel_view(np.array([[3.0, 1.0, 1.0, 0.5], [2.0, 2.0, 2.0, 2.0]]))
    distances, indices = np.empty((2, 3)), np.empty((2, 3), np.intp)
    argkmin.smallest_in_rows(D, 1, distances, indices, n_threads=1)
    np.testing.assert_array_equal(indices, [[3, 1, 2], [0, 1, 2]])


@pytest.mark.small
@pytest.mark.parametrize(("n", "n_queries", "k"), [(1, 1, 1), (2, 7, 2), (64, 6, 3), (130, 13, 5)])
def test_panels_that_are_not_full(n, n_queries, k, dtype, monkeypatch):
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    monkeypatch.setattr(brute, "PANELS_PER_SPLIT", 1)
    Q, Y = rows(n_queries, 2, dtype), rows(n, 2, dtype, 1)
    Y[: n // 2] = Y[n // 2 : 2 * (n // 2)]
    found = brute.brute_kneighbors(Q, Y, k, EUCLIDEAN, 1)
    expected = nearest_rows(Q, Y, k, euclidean)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


SHRINK = 1.0 - 2 * (3 + 16) * 2.0**-24  # for three columns: see the head of argkmin.py


def packed(X, centre, width, n_threads=1, scale=0.25):
    shape = -(-len(X) // width), X.shape[1], width
    out = PackedRows(np.empty(shape, np.float32), np.empty(shape[::2], np.float32))
    argkmin.pack_rows(kernel_view(X), centre, scale, SHRINK, 1, out, n_threads=n_threads)
    return PackedRows(*map(kernel_view, out))


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 6, 7, 13])
def test_rows_are_packed_in_panels(n, dtype, n_threads):
    X, centre = rows(n, 3, dtype), np.array([1.0, 0.0, -2.0])
    panels, halves = packed(X, centre, GROUP_QUERIES, n_threads)
    scaled = (X.astype(float) - centre) * 0.25
    found = panels.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(found[:n], scaled.astype(np.float32))
    np.testing.assert_array_equal(found[n:], 0.0)
    expected = 0.5 * SHRINK * (scaled**2).sum(axis=1)
    np.testing.assert_allclose(halves.ravel()[:n], expected, rtol=1e-7)
    assert np.isnan(halves.ravel()[n:]).all()  # reach no limit


@pytest.mark.small
@pytest.mark.parametrize("n_splits", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 65, 130])
def test_heaps_of_panels_equal_sorting(n, n_splits, dtype, n_threads):
    Q, Y = rows(8, 3, dtype), rows(n, 3, dtype, 1)
    Y[n // 2 :] = Y[: n - n // 2]  # duplicates
    k, centre = min(n, 4), np.zeros(3)
    distances, indices = np.empty((8, n_splits, k)), np.empty((8, n_splits, k), np.intp)
    argkmin.clear_heaps(distances, indices)
    argkmin.argkmin_panels(
        2,
        n_splits,
        kernel_view(Q),
        kernel_view(Y),
        5,
        packed(Q, centre, GROUP_QUERIES),
        packed(Y, centre, LANES),
        0.25**2,
        distances,
        indices,
        n_threads=n_threads,
    )
    argkmin.finish_heaps(metrics.EUCLIDEAN, 2.0, distances, indices)
    expected_distances, expected = nearest_rows(Q, Y, k, euclidean)
    np.testing.assert_array_equal(indices[:, 0], expected + 5)
    np.testing.assert_allclose(distances[:, 0], expected_distances, rtol=1e-12)


@pytest.mark.small
def test_clear_heaps_empties_every_one():
    distances, indices = np.zeros((2, 3, 4)), np.zeros((2, 3, 4), np.intp)
    argkmin.clear_heaps(distances, indices)
    assert (distances == FLOAT64_MAX).all()
    assert (indices == -1).all()


@pytest.mark.small
def test_no_point_that_is_near_enough_misses_the_limit():
    Q, Y = rows(40, 3, np.float64), rows(50, 3, np.float64, 1)
    scaled = ((X * 0.25).astype(np.float32) for X in (Q, Y))
    products = next(scaled) @ next(scaled).T
    for q in range(40):
        square = ((Q[q] - Y) ** 2).sum(axis=1)
        half = np.float32(0.5 * SHRINK * (Q[q] ** 2).sum() * 0.25**2)
        scores = products[q] - np.float32(0.5 * SHRINK) * ((Y * 0.25) ** 2).sum(axis=1)
        limits = np.array([argkmin.score_limit(kth, half, 0.25**2) for kth in square])
        assert (scores >= limits).all()
        np.testing.assert_allclose(limits, scores, atol=1e-5)  # and the limit is not far below
    assert argkmin.score_limit(FLOAT64_MAX, np.float32(0.5), 0.25**2) == -np.inf


@pytest.mark.small
@pytest.mark.parametrize("k", [1, 3, 20])
def test_scores_that_k_reach(k):
    rng = np.random.default_rng(k)
    for scores in (rng.normal(size=40), np.ones(25), rng.integers(0, 3, 30), -np.arange(20.0)):
        scores = scores.astype(np.float32)
        for n in (k, len(scores)):
            found = argkmin.reached_by(k, scores, n)
            assert (scores[:n] >= found).sum() >= k
            kth = np.sort(scores[:n])[-k]
            assert found <= kth
    assert (scores >= argkmin.reached_by(k, scores, 20)).sum() <= k + k // 8
    assert argkmin.list_length(k) > k


@pytest.mark.small
def test_no_point_nearer_than_k_others_misses_the_margin():
    """With t the score of y, a point y' that is nearer scores at least t less the margin."""
    Q, Y = rows(20, 3, np.float64), rows(60, 3, np.float64, 1)
    Y[30:] = Y[:30] * (1 + 1e-7)
    scaled = [(X * 0.25).astype(np.float32) for X in (Q, Y)]
    halves = [(0.5 * SHRINK * ((X * 0.25) ** 2).sum(axis=1)).astype(np.float32) for X in (Q, Y)]
    scores = scaled[0] @ scaled[1].T - halves[1]
    for q in range(20):
        margin = argkmin.score_margin(halves[0][q], halves[1].max(), 3, 0.25**2)
        assert 0.0 < margin < 1e-4
        square = ((Q[q] - Y) ** 2).sum(axis=1)
        nearer = square[:, None] <= square
        assert (scores[q][:, None] >= scores[q] - margin)[nearer].all()
    assert argkmin.score_margin(np.float32(1), np.float32(1), 3, 1e-308) == np.inf


def test_lists_that_are_full_are_measured(monkeypatch):
    """An outlier makes the margin so wide that no score decides anything."""
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    Y = rows(2000, 3, np.float64)
    Y[7] = 1e6
    found = brute.brute_kneighbors(Y[:30], Y, 4, EUCLIDEAN, None)
    np.testing.assert_array_equal(found[1], nearest_rows(Y[:30], Y, 4, euclidean)[1])


@pytest.mark.small
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # with JIT off
def test_squares_stay_finite(dtype):
    X = kernel_view(rows(4, 5, dtype))
    expected = ((X[1].astype(float) - X[3].astype(float)) ** 2).sum()
    assert argkmin.finite_square(X, 1, X, 3) == pytest.approx(expected, rel=1e-14)
    assert argkmin.finite_square(X, 2, X, 2) == 0.0
    huge = kernel_view(np.array([[1e200], [-1e200]]))
    assert argkmin.finite_square(huge, 0, huge, 1) == FLOAT64_MAX


def test_outlier_beyond_the_range_of_float32(monkeypatch):
    """Next to it, all the others are zero in the scaled copy: none of them may be dropped."""
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    Y = rows(300, 4, np.float64) * 1e-25
    Y[0] = 1e3
    found = brute.brute_kneighbors(Y, Y, 4, EUCLIDEAN, None)
    np.testing.assert_array_equal(found[1], nearest_rows(Y, Y, 4, euclidean)[1])


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("k", [1, 7, 40])
def test_float32_filter_is_exact(dtype, k, offset, monkeypatch):
    """Far from the origin float32 alone would be wrong in most places."""
    Y = rows(3000, 9, dtype) + dtype(offset)
    Q = rows(50, 9, dtype, 1) + dtype(offset)
    Y[1500:] = Y[:1500]  # every distance occurs twice
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    found = brute.brute_kneighbors(Q, Y, k, EUCLIDEAN, None)
    expected = nearest_rows(Q, Y, k, euclidean)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)


def test_near_duplicates_in_float32_are_told_apart(monkeypatch):
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    base = np.full((1, 16), 1000.0, np.float32)
    steps = np.arange(400, dtype=np.float32)[:, None] * np.float32(2**-13)
    Y = np.repeat(base, 400, axis=0)
    Y[:, :1] += steps
    found = brute.brute_kneighbors(Y, Y, 1, EUCLIDEAN, None)
    np.testing.assert_array_equal(found[1][:, 0], np.arange(400))


def test_huge_and_tiny_values(monkeypatch):
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    Y = np.random.default_rng(0).normal(size=(400, 8))
    expected = brute.brute_kneighbors(Y, Y, 5, EUCLIDEAN, None)[1]
    for scale in (2.0**-200, 2.0**200):
        np.testing.assert_array_equal(
            brute.brute_kneighbors(Y * scale, Y * scale, 5, EUCLIDEAN, None)[1], expected
        )
    for scale in (1e-155, 3e153):  # squares lose digits, or some of them overflow
        scaled = Y * scale
        found = brute.brute_kneighbors(scaled, scaled, 5, EUCLIDEAN, None)[1]
        monkeypatch.setattr(brute, "worth_panels", lambda *shape: False)
        direct = brute.brute_kneighbors(scaled, scaled, 5, EUCLIDEAN, None)[1]
        monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
        np.testing.assert_array_equal(found, direct)
    overflowing = Y * 1e200  # squares are infinite: still k different rows
    indices = brute.brute_kneighbors(overflowing, overflowing, 5, EUCLIDEAN, None)[1]
    assert all(len(set(row)) == 5 and min(row) >= 0 for row in indices)


@pytest.mark.parametrize("shape", [(40, 60_000, 6), (3000, 2000, 12), (5, 50_000, 3)])
def test_same_bits_for_any_number_of_threads(shape, dtype):
    n_queries, n, d = shape
    Q, Y = rows(n_queries, d, dtype), rows(n, d, dtype, 1)
    one = brute.brute_kneighbors(Q, Y, 5, EUCLIDEAN, 1)
    two = brute.brute_kneighbors(Q, Y, 5, EUCLIDEAN, 2)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_segments_do_not_matter(monkeypatch):
    monkeypatch.setattr(brute, "worth_panels", lambda *shape: True)
    Q, Y = rows(300, 8, np.float32), rows(5000, 8, np.float32, 1)
    expected = brute.brute_kneighbors(Q, Y, 6, EUCLIDEAN, 2)
    monkeypatch.setattr(brute, "SEGMENT_FLOATS", 1024 * 8)
    monkeypatch.setattr(brute, "OPERATIONS_PER_CALL", 1)
    found = brute.brute_kneighbors(Q, Y, 6, EUCLIDEAN, 2)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])
