import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.preprocessing.order import (
    FEW_EDGES,
    bins_of,
    guided_place,
    interpolated,
    last_not_above,
    quantile_ranks,
    rank_at,
)
from fastml.preprocessing._quantile import guides

pytestmark = pytest.mark.small

POINTS = {
    "plain": np.array([-1.0, 0.5, 2.0, 3.5, 7.0]),
    "ties": np.array([0.0, 0.0, 0.0, 1.0, 1.0]),
    "one": np.array([2.0]),
}


def values(points):
    between = (points[1:] + points[:-1]) / 2
    return np.concatenate([points, between, [points[0] - 1.0, points[-1] + 1.0]])


@pytest.mark.parametrize("kind", POINTS)
def test_single_values(kind):
    points = read_only(POINTS[kind])
    ranks = read_only(np.linspace(0.0, 1.0, len(points)))
    for x in values(points):
        place = max(0, np.searchsorted(points, x, side="right") - 1)
        assert last_not_above(points, x) == place
        assert_allclose(interpolated(x, ranks, points), np.interp(x, ranks, points), atol=1e-14)
        middle = np.interp(x, points, ranks) - np.interp(-x, -points[::-1], -ranks[::-1])
        if points[0] <= x <= points[-1]:
            assert_allclose(rank_at(x, place, points, ranks), 0.5 * middle, atol=1e-14)
        for n_cells in (1, 3, 50):
            guide, scales = guides(points[None], n_cells)
            if points[0] < x < points[-1]:
                assert guided_place(points, x, read_only(guide[0]), scales[0]) == place


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("inverse", [False, True])
def test_ranks(inverse, dtype):
    points = np.array([POINTS["plain"], POINTS["ties"]])
    ranks = np.linspace(0.0, 1.0, 5)
    X = np.column_stack([values(points[0]), values(points[1])]).astype(dtype)
    X[2, 1] = np.nan
    out, infinite = np.empty(X.shape, dtype=dtype), np.zeros(2, dtype=np.intp)
    given = [read_only(part) for part in (X, points, ranks, *guides(points, 8))]
    quantile_ranks(*given, inverse, 0.0, 6, out, infinite, n_threads=2)
    for j in range(2):
        for i, x in enumerate(X[:, j].astype(np.float64)):
            ends = ranks if inverse else points[j]
            if np.isnan(x):
                expected = x
            elif x <= ends[0] or x >= ends[-1]:
                low, high = (points[j][0], points[j][-1]) if inverse else (0.0, 1.0)
                expected = low if x <= ends[0] else high
            elif inverse:
                expected = np.interp(x, ranks, points[j])
            else:
                other = np.interp(-x, -points[j][::-1], -ranks[::-1])
                expected = 0.5 * (np.interp(x, points[j], ranks) - other)
            assert_allclose(out[i, j], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_bins(n, dtype):
    X = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
    if n:
        X[0, 0] = np.nan
    inner = [np.array([-0.5, 0.0, 1.0]), np.array([0.2]), np.empty(0)]
    table = np.full((3, 3), np.inf)
    for j, edges in enumerate(inner):
        table[j, : len(edges)] = edges
    many = np.linspace(-1.0, 1.0, FEW_EDGES + 1)
    wide = np.full((3, len(many)), np.inf)
    wide[:, : table.shape[1]] = table
    wide[2] = many
    for kind in (dtype, np.int32):
        for edges_of in (inner, [*inner[:2], many]):
            given = table if edges_of is inner else wide
            n_edges = np.array([len(edges) for edges in edges_of])
            out = np.empty((n, 3), dtype=kind)
            bins_of(read_only(X), read_only(given), read_only(n_edges), 70, out, n_threads=2)
            for j, edges in enumerate(edges_of):
                assert_array_equal(out[:, j], np.searchsorted(edges, X[:, j], side="right"))
