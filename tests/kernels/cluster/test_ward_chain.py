"""Ward's hierarchy from centroids is that of the distance matrix."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import cdist

from fastml.cluster._hierarchy._linkage import _new_slots, linkage_matrix, merge_by_ward
from fastml.kernels.cluster.ward_chain import nearest_of_all, ward_merges

pytestmark = pytest.mark.small


@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (40, 3), (25, 6)])
def test_hierarchy_equals_the_plain_algorithm(n, d):
    X = np.random.default_rng(n).normal(size=(n, d)) + 100.0
    found = merges_of(linkage_matrix(*merge_by_ward(X), "ward"))
    expected = agglomerate(cdist(X, X), "ward")
    assert [members for _, members in found] == [members for _, members in expected]
    np.testing.assert_allclose([h for h, _ in found], [h for h, _ in expected], rtol=1e-9)


def test_duplicates_merge_at_exactly_zero():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 7, axis=0)
    heights = linkage_matrix(*merge_by_ward(X), "ward")[:, 2]
    np.testing.assert_array_equal(heights[:24], 0.0)
    assert (heights[24:] > 0.1).all()


def test_all_rows_equal():
    Z = linkage_matrix(*merge_by_ward(np.full((20, 2), 0.1)), "ward")
    np.testing.assert_array_equal(Z[:, 2], 0.0)
    assert Z[-1, 3] == 20


def test_nearest_of_all(n_threads):
    X = np.random.default_rng(0).normal(size=(300, 3))
    near, distance = np.zeros(300, np.intp), np.full(300, np.inf)
    panel = np.ascontiguousarray(X.T)
    nearest_of_all(
        0, 300, 7, panel, np.ones(300), np.zeros(300), near, distance, n_threads=n_threads
    )
    D = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(near, D.argmin(axis=1))
    np.testing.assert_allclose(distance, D.min(axis=1), rtol=1e-12)


@pytest.mark.parametrize("budget", [1, 500, 10**9])
@pytest.mark.parametrize("n", [1, 2, 3, 120])
def test_any_budget_gives_the_merges_of_the_plain_algorithm(n, budget):
    X = np.random.default_rng(n).normal(size=(n, 2))
    slots, state, moved, merges, heights = _new_slots(n)
    panel, left = np.ascontiguousarray(X.T), n
    while left > 1:
        before, left = left, ward_merges(panel, slots, state, moved, merges, heights, budget)
        assert budget < 10**9 or left == 1
        assert left <= before
    Z = linkage_matrix(merges, np.sqrt(heights), "ward")
    found, expected = merges_of(Z), agglomerate(cdist(X, X), "ward")
    assert [members for _, members in found] == [members for _, members in expected]
    np.testing.assert_allclose([h for h, _ in found], [h for h, _ in expected], rtol=1e-9)
