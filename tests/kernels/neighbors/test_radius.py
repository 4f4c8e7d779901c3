"""Radius search: the same sets from bits, trees and matrices."""

import numpy as np
import pytest
from naive import rows_within

from fastml._engines.search import radius as _radius_search
from fastml._engines.search.metric import EUCLIDEAN
from fastml._engines.search.radius import brute_radius, matrix_radius, tree_radius
from fastml._validation import kernel_view
from fastml.kernels.neighbors import argkmin, radius
from fastml.kernels.neighbors.argkmin import PackedRows
from fastml.kernels.neighbors.panel import GROUP_QUERIES, LANES
from fastml.neighbors import BallTree, KDTree


def euclidean(x, y):
    return np.sqrt(((x.astype(float) - y.astype(float)) ** 2).sum())


def sets_of(runs):
    indptr, indices, _ = runs
    return [set(indices[indptr[q] : indptr[q + 1]]) for q in range(indptr.size - 1)]


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 33, 70])
@pytest.mark.parametrize("reach", [0.0, 1.0, 100.0])
def test_every_search_finds_the_same_set(n, reach, dtype, monkeypatch):
    rng = np.random.default_rng(n)
    Y = rng.integers(0, 4, size=(n, 2)).astype(dtype)
    Q = rng.integers(0, 4, size=(4, 2)).astype(dtype)
    expected = rows_within(Q, Y, reach, euclidean)
    radii = np.full(4, reach)
    for tree in (KDTree(Y), BallTree(Y)):
        assert sets_of(tree_radius(tree, Q, radii, 1)) == expected
    for packed in (False, True):
        monkeypatch.setattr(_radius_search, "worth_panels", lambda *shape, packed=packed: packed)
        assert sets_of(brute_radius(Q, Y, radii, EUCLIDEAN, 1)) == expected
    D = np.array([[euclidean(q, y) for y in Y] for q in Q])
    assert sets_of(matrix_radius(D, radii)) == expected


def bits(sets, n_words):
    """One word for 64 points, a bit for each."""
    words = [
        [sum(1 << (j % 64) for j in row if j // 64 == w) for w in range(n_words)] for row in sets
    ]
    return np.array(words, dtype=np.uint64)


def case(n, dtype):
    """Points on a lattice, so that many are exactly on the boundary; one radius per query."""
    rng = np.random.default_rng(n)
    Y, Q = (rng.integers(0, 5, size=(m, 2)).astype(dtype) for m in (n, 7))
    radii = np.array([0.0, 1.0, 1.0, 2.0, 2.5, 100.0, -1.0])
    sets = [rows_within(Q[q : q + 1], Y, radii[q], euclidean)[0] for q in range(7)]
    limits = np.where(radii < 0, -1.0, radii**2)
    return kernel_view(Q), kernel_view(Y), limits, sets


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 64, 70])
def test_marks_row_by_row(n, dtype, n_threads):
    Q, Y, limits, sets = case(n, dtype)
    marks = np.empty((7, -(-n // LANES)), np.uint64)
    radius.mark_rows(None, EUCLIDEAN, 2, Q, Y, limits, marks, n_threads=n_threads)
    np.testing.assert_array_equal(marks, bits(sets, marks.shape[1]))


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 64, 70])
def test_marks_of_panels(n, dtype, n_threads):
    Q, Y, limits, sets = case(n, dtype)
    n_words = -(-n // LANES)
    packed = []
    for X, width in ((Q, GROUP_QUERIES), (Y, LANES)):
        shape = -(-len(X) // width), 2, width
        out = PackedRows(np.empty(shape, np.float32), np.empty(shape[::2], np.float32))
        shrink = 1.0 - 2 * 18 * 2.0**-24
        argkmin.pack_rows(X, np.full(2, 2.0), 0.25, shrink, 8, out, n_threads=1)
        packed.append(PackedRows(*map(kernel_view, out)))
    marks = np.zeros((7, 1 + n_words), np.uint64)
    radius.mark_panels(1, Q, Y, *packed, 0.25**2, limits, marks, 1, n_threads=n_threads)
    np.testing.assert_array_equal(marks[:, 1:], bits(sets, n_words))
    assert not marks[:, 0].any()


@pytest.mark.small
@pytest.mark.parametrize("sets", [[], [set()], [{0}, set(), {3, 63, 64, 127}], [set(range(128))]])
def test_marks_are_counted_and_read(sets):
    marks = bits(sets, 2).reshape(len(sets), 2)
    indptr = np.zeros(len(sets) + 1, np.intp)
    radius.count_marks(marks, indptr[1:])
    np.testing.assert_array_equal(indptr[1:], [len(row) for row in sets])
    np.cumsum(indptr, out=indptr)
    indices = np.full(indptr[-1], -1)
    radius.read_marks(marks, indptr, indices)
    np.testing.assert_array_equal(indices, [j for row in sets for j in sorted(row)])


@pytest.mark.small
def test_listed_pairs_are_measured(dtype):
    Q, Y, _, sets = case(70, dtype)
    indptr = np.cumsum([0, *map(len, sets)])
    indices = np.array([j for row in sets for j in sorted(row)])
    distances = np.full(indices.size, np.nan)
    radius.measure_pairs(None, EUCLIDEAN, Q, Y, indptr, indices, distances)
    queries = np.repeat(np.arange(7), np.diff(indptr))
    expected = [euclidean(Q[q], Y[j]) for q, j in zip(queries, indices)]
    np.testing.assert_allclose(distances, expected, rtol=1e-14)


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("kind", [KDTree, BallTree])
def test_two_passes_over_a_tree(kind, n, dtype, n_threads):
    Q, Y, limits, sets = case(n, dtype)
    tree = kind(Y)

    def search(fill, indptr, indices, distances):
        where = tree._tree, Q, 2, limits, indptr, indices, distances
        if kind is KDTree:
            radius.kdtree_radius(fill, tree._metric, *where, n_threads=n_threads)
        else:
            radius.balltree_radius(fill, None, tree._metric, *where, n_threads=n_threads)

    indptr = np.zeros(8, np.intp)
    search(False, indptr, np.empty(0, np.intp), np.empty(0))
    np.testing.assert_array_equal(indptr, [0, *map(len, sets)])
    np.cumsum(indptr, out=indptr)
    indices, distances = np.full(indptr[-1], -1), np.full(indptr[-1], np.nan)
    search(True, indptr, indices, distances)
    assert sets_of((indptr, indices, distances)) == sets
    queries = np.repeat(np.arange(7), np.diff(indptr))
    expected = [euclidean(Q[q], Y[j]) for q, j in zip(queries, indices)]
    np.testing.assert_allclose(distances, expected, rtol=1e-14)


@pytest.mark.small
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (4, 6)])
def test_entries_of_a_matrix(shape):
    D = np.random.default_rng(0).integers(0, 4, size=shape).astype(float)
    limits = np.arange(shape[0]) - 0.0  # some on the boundary
    indptr = np.zeros(shape[0] + 1, np.intp)
    radius.count_within(kernel_view(D), limits, indptr[1:])
    within = limits[:, None] >= D
    np.testing.assert_array_equal(indptr[1:], within.sum(axis=1))
    np.cumsum(indptr, out=indptr)
    indices, distances = np.full(indptr[-1], -1), np.full(indptr[-1], np.nan)
    radius.list_within(kernel_view(D), limits, indptr, indices, distances)
    np.testing.assert_array_equal(indices, np.nonzero(within)[1])
    np.testing.assert_array_equal(distances, D[within])


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_float32_marks_are_exact(dtype, offset, monkeypatch):
    monkeypatch.setattr(_radius_search, "worth_panels", lambda *shape: True)
    rng = np.random.default_rng(0)
    Y = (rng.normal(size=(2500, 8)) + offset).astype(dtype)
    Q = Y[:80]
    expected = rows_within(Q, Y, 1.5, euclidean)
    runs = brute_radius(Q, Y, np.full(80, 1.5), EUCLIDEAN, 2)
    assert sets_of(runs) == expected
    q = 3
    run = slice(runs[0][q], runs[0][q + 1])
    np.testing.assert_allclose(runs[2][run], [euclidean(Q[q], Y[j]) for j in runs[1][run]])


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_runs_are_sorted_by_distance_then_index(n):
    rng = np.random.default_rng(n)
    distances = rng.integers(0, 5, n).astype(float)
    indices = rng.permutation(n)
    expected = sorted(zip(distances, indices))
    radius.sort_runs(np.array([0, n]), indices, distances)
    assert list(zip(distances, indices)) == expected


@pytest.mark.small
def test_a_query_leaves_its_own_run():
    indptr, indices = np.array([0, 2, 3, 5]), np.array([0, 2, 1, 1, 0])
    distances, out = np.arange(5.0), np.empty(4, np.intp)
    kept = radius.drop_self_in_runs(indptr, indices, distances, out)
    assert kept == 3
    np.testing.assert_array_equal(indices[:kept], [2, 1, 0])
    np.testing.assert_array_equal(distances[:kept], [1.0, 3.0, 4.0])
    np.testing.assert_array_equal(out, [0, 1, 1, 3])
