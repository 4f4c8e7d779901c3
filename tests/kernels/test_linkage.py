"""Chains and closest pairs on stored distances give the hierarchy of the plain algorithm."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import pdist, squareform

from fastml.cluster._linkage import linkage_matrix, merge_by_matrix
from fastml.kernels.linkage import first_smallest, load_row, row_start

pytestmark = pytest.mark.small

METHODS = ["single", "complete", "average", "weighted", "ward", "centroid", "median"]


@pytest.mark.parametrize("square", [True, False], ids=["square", "condensed"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 3, 4, 25])
def test_hierarchy_equals_the_plain_algorithm(method, n, square):
    X = np.random.default_rng(n).normal(size=(n, 3))
    D = squareform(pdist(X))
    given = D.copy() if square else pdist(X)
    found = merges_of(linkage_matrix(*merge_by_matrix(given, n, method), method))
    expected = agglomerate(D, method)
    assert [members for _, members in found] == [members for _, members in expected]
    np.testing.assert_allclose([h for h, _ in found], [h for h, _ in expected], rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_distances_everywhere(method, value):
    n = 9
    D = np.full((n, n), value)
    np.fill_diagonal(D, 0.0)
    Z = linkage_matrix(*merge_by_matrix(D, n, method), method)
    assert Z[-1, 3] == n
    assert np.isfinite(Z).all()
    if method in ("single", "complete", "average", "weighted"):
        np.testing.assert_array_equal(Z[:, 2], value)


def test_infinite_distances_still_give_a_tree():
    D = np.full((6, 6), np.inf)
    D[:3, :3] = 1.0
    for method in ("single", "complete", "average"):
        Z = linkage_matrix(*merge_by_matrix(D.copy(), 6, method), method)
        assert Z[-1, 3] == 6
        np.testing.assert_array_equal(np.isinf(Z[:, 2]), [False, False, True, True, True])


def test_rows_of_both_layouts_are_equal():
    X = np.random.default_rng(0).normal(size=(7, 2))
    condensed, square = pdist(X), squareform(pdist(X))
    blocked = np.zeros(7)
    blocked[2] = np.inf
    for i in range(7):
        a, b = np.empty(7), np.empty(7)
        load_row(square.reshape(-1), True, 7, i, blocked, a)
        load_row(condensed, False, 7, i, blocked, b)
        np.testing.assert_array_equal(a, b)
        assert a[i] == np.inf
        if i < 6:
            assert condensed[row_start(7, i) + i + 1] == square[i, i + 1]


@pytest.mark.parametrize("n", [1, 5, 255, 256, 257, 600])
def test_first_smallest_is_argmin(n):
    row = np.random.default_rng(n).integers(0, 50, size=n).astype(float)
    assert first_smallest(row, row.view(np.int64), n) == np.argmin(row)
