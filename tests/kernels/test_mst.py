"""Prim's order of addition gives the single-linkage hierarchy."""

import numpy as np
import pytest
from naive import agglomerate, merges_of
from scipy.spatial.distance import cdist

from fastml.cluster._linkage import linkage_matrix, merge_by_prim
from fastml.kernels.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, SQEUCLIDEAN
from fastml.kernels.mst import BLOCK, panel_rdists, panel_steps

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
    X = np.random.default_rng(1).normal(size=(3 * BLOCK, 3))
    results = []
    for n_blocks in (1, 2, 10):
        panel = np.ascontiguousarray(X.T[:, 1:])
        best = np.full(len(X) - 1, np.inf)
        n_chunks = -(-len(best) // (n_blocks * BLOCK))
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
