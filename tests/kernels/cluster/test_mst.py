"""Prim's order of addition gives the single-linkage hierarchy."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import cdist, squareform

from fastml.cluster._hierarchy._linkage import linkage_matrix, merge_by_prim
from fastml.kernels.cluster.mst import (
    COLUMNS_PER_BLOCK,
    IN_TREE,
    close_gaps,
    matrix_steps,
    panel_rdists,
    panel_steps,
)
from fastml.kernels.distances.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, SQEUCLIDEAN

pytestmark = pytest.mark.small

NAMES = {
    EUCLIDEAN: "euclidean",
    SQEUCLIDEAN: "sqeuclidean",
    MANHATTAN: "cityblock",
    CHEBYSHEV: "chebyshev",
}


@pytest.mark.parametrize("code", NAMES)
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (30, 3), (30, 4)])
def test_hierarchy_equals_the_plain_algorithm(code, n, d):
    X = np.random.default_rng(n + d).normal(size=(n, d))
    found = merges_of(linkage_matrix(*merge_by_prim(X, code), "single"))
    expected = agglomerate(cdist(X, X, NAMES[code]), "single")
    assert [members for _, members in found] == [members for _, members in expected]
    np.testing.assert_allclose([h for h, _ in found], [h for h, _ in expected], rtol=1e-12)


def test_duplicates_merge_at_zero():
    X = np.repeat([[0.0, 0.0], [3.0, 4.0]], 5, axis=0)
    Z = linkage_matrix(*merge_by_prim(X, EUCLIDEAN), "single")
    np.testing.assert_array_equal(Z[:, 2], [0.0] * 8 + [5.0])


@pytest.mark.parametrize("code", NAMES)
def test_panel_distances(code):
    rng = np.random.default_rng(0)
    panel, point = rng.normal(size=(5, 40)), rng.normal(size=5)
    out = np.empty(30)
    panel_rdists(code, panel, 4, 34, point, out)
    name = "sqeuclidean" if code == EUCLIDEAN else NAMES[code]
    np.testing.assert_allclose(out, cdist(point[None], panel.T[4:34], name)[0], rtol=1e-13)


def test_chunks_and_threads_do_not_change_the_tree(n_threads):
    X = np.random.default_rng(1).normal(size=(3 * COLUMNS_PER_BLOCK, 3))
    results = []
    for n_blocks in (1, 2, 10):
        panel = np.ascontiguousarray(X.T[:, 1:])
        best = np.full(len(X) - 1, np.inf)
        n_chunks = -(-len(best) // (n_blocks * COLUMNS_PER_BLOCK))
        slots = np.empty((20, 2), np.int64)
        panel_steps(
            20,
            n_blocks,
            EUCLIDEAN,
            panel,
            len(best),
            X[0].copy(),
            best,
            best.view(np.int64),
            np.empty(n_chunks, np.int64),
            np.empty(n_chunks, np.intp),
            slots,
            n_threads=n_threads,
        )
        results.append(slots)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("square", [True, False], ids=["square", "condensed"])
@pytest.mark.parametrize("per_call", [1, 4, 100])
@pytest.mark.parametrize("n", [2, 3, 20])
def test_steps_on_a_stored_matrix(n, per_call, square):
    X = np.random.default_rng(n).normal(size=(n, 2))
    D = cdist(X, X)
    flat = D.reshape(-1) if square else squareform(D, checks=False)
    best = np.full(n, np.inf)
    bits = best.view(np.int64)
    bits[0] = IN_TREE
    slots, vertex = np.empty((n - 1, 2), np.int64), 0
    for first in range(0, n - 1, per_call):
        n_steps = min(per_call, n - 1 - first)
        vertex = matrix_steps(
            n_steps, flat, square, vertex, best, bits, np.empty(n), np.zeros(n), slots[first:]
        )
        assert vertex == slots[first + n_steps - 1, 0]
    tree, heights = [0], slots[:, 1].copy().view(np.float64)
    for vertex, height in zip(slots[:, 0], heights):  # Prim: the nearest vertex outside the tree
        outside = np.setdiff1d(np.arange(n), tree)
        distances = D[np.ix_(tree, outside)].min(axis=0)
        assert vertex == outside[distances.argmin()]
        assert height == distances.min()
        tree.append(vertex)


def test_gaps_are_closed_in_order():
    panel = np.arange(12.0).reshape(2, 6)
    index, best = np.arange(10, 16), np.arange(6.0)
    bits = best.view(np.int64)
    bits[[0, 3]] = IN_TREE
    expected = panel[:, [1, 2, 4]].copy()
    assert close_gaps(panel, index, bits, 5) == 3  # column 5 lies beyond the width
    np.testing.assert_array_equal(panel[:, :3], expected)
    assert index[:3].tolist() == [11, 12, 14]
    assert best[:3].tolist() == [1.0, 2.0, 4.0]
    bits[:] = IN_TREE
    assert close_gaps(panel, index, bits, 3) == 0
