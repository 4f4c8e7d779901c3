"""Chains and closest pairs on stored distances give the hierarchy of the plain algorithm."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import pdist, squareform

from fastml.cluster._hierarchy import _linkage
from fastml.cluster._hierarchy._linkage import _new_slots, linkage_matrix, merge_by_matrix
from fastml.kernels.cluster.linkage import (
    CHAIN,
    MERGED,
    N_ACTIVE,
    N_SLOTS,
    chain_merges,
    closest_merges,
    first_smallest,
    label_merges,
    load_row,
    move_slots,
    number_alive,
    row_start,
)

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


def merge_all(steps, D, method, square, budget):
    """Merges and heights by one of the two schemes, ``budget`` entries per call."""
    n = len(D)
    flat = (D if square else squareform(D)).reshape(-1) ** (1 + (method in ("ward", "centroid")))
    slots, state, moved, merges, heights = _new_slots(n)
    rows = np.empty((2, n))
    args = flat, square, _linkage.METHODS[method], slots, state, rows, rows.view(np.int64), moved
    left = n
    while left > 1:
        left = steps(*args, merges, heights, budget)
        assert left == state[N_ACTIVE] == n - state[MERGED]
    return merges, np.sqrt(heights) if method in ("ward", "centroid") else heights


@pytest.mark.parametrize("square", [True, False], ids=["square", "condensed"])
@pytest.mark.parametrize(
    ("steps", "method"),
    [
        (chain_merges, "complete"),
        (chain_merges, "average"),
        (chain_merges, "ward"),
        (closest_merges, "centroid"),
        (closest_merges, "complete"),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_any_budget_gives_the_merges_of_the_plain_algorithm(n, steps, method, square):
    D = squareform(pdist(np.random.default_rng(n).normal(size=(n, 3))))
    at_once = merge_all(steps, D, method, square, 10**9)
    for found, expected in zip(merge_all(steps, D, method, square, 1), at_once):
        np.testing.assert_array_equal(found, expected)
    found, expected = merges_of(linkage_matrix(*at_once, method)), agglomerate(D, method)
    assert [members for _, members in found] == [members for _, members in expected]
    np.testing.assert_allclose([h for h, _ in found], [h for h, _ in expected], rtol=1e-9)


def test_dead_slots_are_closed_up():
    slots, state, moved, _, _ = _new_slots(5)
    slots.blocked[[1, 3]] = np.inf
    slots.sizes[:] = [1, 2, 3, 4, 5]
    slots.near[:] = [2, 0, 4, 0, 3]
    slots.near_distance[:] = [0.1, 0.2, 0.3, 0.4, 0.5]
    slots.seen[:], slots.born[:] = [7, 7, 8, 8, 9], [1, 2, 3, 4, 5]
    slots.chain[:2], state[CHAIN] = [4, 2], 2
    n_alive = number_alive(slots.blocked, 5, moved)
    assert (n_alive, moved.tolist()) == (3, [0, -1, 1, -1, 2])
    move_slots(slots, state, moved, n_alive)
    assert state[N_SLOTS] == 3
    assert slots.leaf[:3].tolist() == [0, 2, 4]
    assert slots.sizes[:3].tolist() == [1, 3, 5]
    assert slots.blocked[:3].tolist() == [0, 0, 0]
    assert slots.near_distance[:3].tolist() == [0.1, 0.3, 0.5]
    assert slots.born[:3].tolist() == [1, 3, 5]
    assert slots.near[:3].tolist() == [1, 2, 0]  # the neighbour of the last one is dead ...
    assert slots.seen[:3].tolist() == [7, 8, -1]  # ... so it counts as not seen
    assert slots.chain[:2].tolist() == [2, 1]


@pytest.mark.parametrize("smaller_first", [True, False])
def test_merges_of_leaves_become_a_linkage_matrix(smaller_first):
    merges, heights = np.array([[3, 0], [2, 1], [0, 2]]), np.array([2.0, 1.0, 5.0])
    Z, scratch = np.empty((3, 4)), np.empty((3, 4), np.intp)
    label_merges(merges, heights, np.array([1, 0, 2]), smaller_first, *scratch, Z)
    expected = [[2, 1, 1, 2], [3, 0, 2, 2], [5, 4, 5, 4]]
    if smaller_first:
        expected = [[1, 2, 1, 2], [0, 3, 2, 2], [4, 5, 5, 4]]
    np.testing.assert_array_equal(Z, expected)
