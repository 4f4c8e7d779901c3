import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, random_array
from scipy.sparse.csgraph import dijkstra

from fastml._engines.rows import csr_rows
from fastml.kernels.manifold.paths import (
    SOURCES,
    all_shortest_paths,
    detours,
    group_sources,
    shortest_paths,
)

pytestmark = pytest.mark.small


def graph(n, density, seed=0):
    made = random_array((n, n), density=density, rng=np.random.default_rng(seed))
    both = csr_array(made.maximum(made.T))
    both.setdiag(0.0)
    both.eliminate_zeros()
    return both


@pytest.mark.parametrize(("n", "density"), [(1, 0.0), (2, 1.0), (40, 0.15), (40, 0.02)])
@pytest.mark.parametrize("every", [1, 3])
def test_lengths_are_dijkstras(n, density, every):
    edges = graph(n, density)
    rows = csr_rows(edges)
    sources = np.arange(0, n, every)
    members, begins = np.empty(len(sources), dtype=np.intp), np.empty(n + 1, dtype=np.intp)
    n_groups = group_sources(rows, read_only(sources), 30, np.full(n, -1), members, begins)
    begins = begins[: n_groups + 1]
    assert_array_equal(np.sort(members), np.arange(len(sources)))
    assert np.diff(begins).min() >= 1
    assert np.diff(begins).max() <= SOURCES
    expected = dijkstra(edges, indices=sources)
    for n_threads in (1, 2):
        out = np.empty((len(sources), n))
        given = (read_only(sources), read_only(members), read_only(begins))
        shortest_paths(rows, *given, out, n_threads=n_threads)
        assert_array_equal(out, expected)


@pytest.mark.parametrize(("n", "density"), [(0, 0.0), (1, 0.0), (2, 1.0), (25, 0.4), (25, 0.05)])
def test_all_paths_are_dijkstras(n, density):
    edges = graph(n, density) if n else csr_array((0, 0))
    lengths = edges.toarray()
    lengths[lengths == 0] = np.inf
    np.fill_diagonal(lengths, 0.0)
    all_shortest_paths(lengths)
    assert_allclose(lengths, dijkstra(edges) if n else lengths, rtol=1e-14)


def test_detours():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((5, 8)) < 0.4, rng.random((5, 8)), 0.0)
    dense[0] = 0.0  # a row without neighbours
    near = csr_array(dense)
    paths = rng.random((3, 8))
    out = np.empty((5, 3))
    detours(csr_rows(near), read_only(paths), 2, out, n_threads=2)
    dense = np.where(dense > 0, dense, np.inf)
    assert_array_equal(out, (dense[:, None, :] + paths[None]).min(axis=2))
