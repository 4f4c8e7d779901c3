"""Packets of queries find what sorting finds, ties by index."""

import numpy as np
import pytest
from naive import nearest_rows

from fastml._validation import kernel_view
from fastml.kernels.neighbors import packets
from fastml.neighbors import KDTree


def squared_distance(x, y):
    return ((x - y) ** 2).sum()


@pytest.mark.small
@pytest.mark.parametrize("n", [5, 16, 17, 60])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("grid", [False, True])
def test_packets_find_what_sorting_finds(n, squared, grid, dtype, n_threads):
    rng = np.random.default_rng(n)
    X, Q = rng.normal(size=(n, 2)), rng.normal(size=(40, 2))
    if grid:
        X, Q = np.round(X), np.round(Q)  # many ties
    X, Q = kernel_view(X.astype(dtype)), kernel_view(Q.astype(dtype))
    tree = KDTree(X)._tree
    home = rng.integers(0, -(-n // 16), 40)  # any leaf will do: only speed depends on it
    visit = rng.permutation(40)[:35]
    for k in (1, 5, min(n, 16)):
        distances, indices = np.full((40, k), -1.0), np.full((40, k), -9)
        packets.packets_query(
            squared, tree, Q, visit, home, 16, distances, indices, n_threads=n_threads
        )
        expected = nearest_rows(Q.astype(float), X.astype(float), k, squared_distance)
        expected_distances = expected[0] if squared else np.sqrt(expected[0])
        np.testing.assert_allclose(distances[visit], expected_distances[visit], rtol=1e-12)
        np.testing.assert_array_equal(indices[visit], expected[1][visit])
        left_out = np.setdiff1d(np.arange(40), visit)
        assert (distances[left_out] == -1.0).all()


@pytest.mark.parametrize("kind", ["apart", "line", "duplicates", "overflow"])
def test_many_queries_have_the_answers_of_few(kind):
    """Few queries are answered one by one, many in packets."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(3000, 3)), rng.normal(size=(700, 3))
    if kind == "apart":
        Q *= 30.0
    elif kind == "line":
        X = np.linspace(0, 1, 3000)[:, None] * np.ones(3)
    elif kind == "duplicates":
        X, Q = np.zeros((3000, 3)), np.zeros((700, 3))
    else:
        X[:100] *= 1e200  # a gap's square is beyond the largest float
    tree = KDTree(X)
    many = tree.query(Q, k=7)
    few = [tree.query(Q[start : start + 100], k=7) for start in range(0, 700, 100)]
    for found, pieces in zip(many, zip(*few, strict=True), strict=True):
        np.testing.assert_array_equal(found, np.concatenate(pieces))
