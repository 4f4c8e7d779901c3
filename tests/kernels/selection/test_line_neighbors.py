import numpy as np
import pytest
from arrays import read_only
from naive_selection import class_sum, closer
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.selection.line_neighbors import class_neighbor_sums, reach_sums

pytestmark = pytest.mark.small


def lines(n, d=3):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(d, n))
    X[1] = np.round(X[1])  # ties
    X[2] = 5.0  # nothing but ties
    return X


@pytest.mark.parametrize("k", [1, 3, 30])
@pytest.mark.parametrize("n", [2, 4, 41])
def test_class_sums(n, k):
    X = lines(n)
    rng = np.random.default_rng(n)
    codes = np.sort(np.arange(n) % min(3, n // 2))
    rng.shuffle(codes)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    table = rng.normal(size=n + 1)
    given = [np.argsort(X, axis=1), X, codes, starts]
    for n_threads in (1, 2):
        sums = np.empty(3)
        class_neighbor_sums(*map(read_only, given), k, read_only(table), sums, n_threads=n_threads)
        assert_allclose(sums, [class_sum(x, codes, k, table) for x in X], atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 41])
def test_reach_sums(n):
    X = lines(n)
    rng = np.random.default_rng(n)
    which = np.array([2, 0, 1, 0])
    reaches = rng.random(size=(4, n)) * (rng.random(size=(4, n)) < 0.8)
    reaches[3] = np.inf
    table = rng.normal(size=n + 1)
    expected = [
        sum(table[closer(X[w], i, reach[i])] for i in range(n)) for w, reach in zip(which, reaches)
    ]
    given = [np.argsort(X, axis=1), X, which, reaches, table]
    for n_threads in (1, 2):
        sums = np.empty(4)
        reach_sums(*map(read_only, given), sums, n_threads=n_threads)
        assert_allclose(sums, expected, atol=1e-12)
    assert_array_equal(which, [2, 0, 1, 0])
