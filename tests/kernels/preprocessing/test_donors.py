import numpy as np
import pytest
from arrays import read_only
from naive_preprocessing import nearest_donors as naive
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.preprocessing.donors import keep_nearest, nearest_donors, shared_distances

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:invalid value"),  # 0 / 0, with JIT off
]


def with_holes(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random((n, 4)) < 0.4] = np.nan
    return X


@pytest.mark.parametrize("n", [1, 3, 60])
def test_donors(n):
    X, donors = with_holes(12, 0), with_holes(n, 1)
    entries = np.argwhere(np.isnan(X))
    rows, starts = np.unique(entries[:, 0], return_index=True)
    starts = np.append(starts, len(entries))
    there = ~np.isnan(X[rows])
    present = np.ascontiguousarray(~np.isnan(donors.T)).astype(np.float64)
    given = [
        np.nan_to_num(X[rows]), there, np.ascontiguousarray(np.nan_to_num(donors.T)), present,
        starts, np.ascontiguousarray(entries[:, 1]),
    ]  # fmt: skip
    given = [read_only(part) for part in given]
    for n_threads in (1, 2):
        distances = np.full((len(entries), 3), np.inf)
        found = np.full((len(entries), 3), -1)
        nearest_donors(*given, 5, distances, found, n_threads=n_threads)
        for e, (i, j) in enumerate(entries):
            expected, squares = naive(X[i], j, donors, 3)
            assert_array_equal(found[e, : len(expected)], expected)
            assert (found[e, len(expected) :] == -1).all()
            assert_allclose(distances[e, : len(expected)], squares, rtol=1e-12)


def test_distances_over_shared_columns():
    sums, counts = np.empty((2, 2))
    columns = read_only(np.array([[1.0, 0.0], [5.0, 3.0]]))
    present = read_only(np.array([[1.0, 0.0], [1.0, 1.0]]))
    x = read_only(np.array([2.0, 3.0]))
    shared_distances(x, read_only(np.array([True, True])), columns, present, 0, 2, sums, counts)
    assert_array_equal(sums, [2.5, 0.0])
    shared_distances(x, read_only(np.array([True, False])), columns, present, 0, 2, sums, counts)
    assert sums[0] == 1.0
    assert np.isnan(sums[1])


def test_equally_near_ones_keep_their_order():
    distances, donors = np.full(2, np.inf), np.full(2, -1)
    for donor, distance in enumerate([1.0, 1.0, 0.5]):
        if distance < distances[-1]:
            keep_nearest(distance, donor, distances, donors)
    assert_array_equal(donors, [2, 0])
