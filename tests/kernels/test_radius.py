"""Radius search: the same sets from bits, trees and matrices."""

import numpy as np
import pytest
from naive import rows_within

from fastml.kernels import radius
from fastml.neighbors import BallTree, KDTree, _radius_search
from fastml.neighbors._metric import EUCLIDEAN
from fastml.neighbors._radius_search import brute_radius, matrix_radius, tree_radius


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
