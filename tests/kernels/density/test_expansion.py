"""Sums by Taylor series against plain sums; what they cannot do is said to be not done."""

import naive
import numpy as np
import pytest

from fastml._engines.smoothing.smoother import Smoother
from fastml._jit import jit_enabled
from fastml.kernels.density.expansion import HALF, REACH, TERMS, expansion_sums, fill_cells

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
N = 2_000 if jit_enabled() else 200


def expansion(x, values, queries, relative=1e-10):
    numbers = np.floor(x / (2 * HALF))
    n_cells = np.unique(numbers).shape[0]
    cells, series = np.empty(n_cells, dtype=np.intp), np.zeros((n_cells, values.shape[1], TERMS))
    fill_cells(x, values, cells, series)
    np.testing.assert_array_equal(cells, np.unique(numbers))
    sums, done = np.zeros((queries.shape[0], values.shape[1])), np.empty(queries.shape[0], bool)
    total = values[:, 0].sum()
    expansion_sums(queries, 7, cells, series, total, relative, 0.0, sums, done, n_threads=1)
    return sums, done


def test_sums_are_right_where_they_are_done():
    rng = np.random.default_rng(0)
    x = np.sort(np.concatenate([rng.gamma(3.0, 4.0, size=N), [150.0, 150.2]]))
    values = np.column_stack([rng.random(x.shape[0]) + 0.01, rng.normal(size=x.shape[0])])
    Q = np.linspace(-15.0, 170.0, 400)
    sums, done = expansion(x, values, Q)
    K = np.exp(-0.5 * (Q[:, None] - x[None]) ** 2)
    assert 100 < done.sum() < 400
    np.testing.assert_allclose(sums[done, 0], (K @ values[:, 0])[done], rtol=2e-10)
    bound = np.abs(K) @ np.abs(values[:, 1])
    assert np.all(np.abs(sums[:, 1] - K @ values[:, 1])[done] <= 1e-6 * bound[done])
    far = np.abs(Q[:, None] - x[None]).min(axis=1) > REACH + 2 * HALF
    assert far.any()
    assert not done[far].any()


def test_one_point_and_cell_borders():
    x = np.array([0.0, 1.0, 1.0, 2.0])
    sums, done = expansion(x, np.ones((4, 1)), np.array([0.0, 1.0, 2.0, 0.5, 3.0]))
    expected = np.exp(-0.5 * (np.array([0.0, 1.0, 2.0, 0.5, 3.0])[:, None] - x) ** 2).sum(axis=1)
    assert done.all()
    np.testing.assert_allclose(sums[:, 0], expected, rtol=1e-11)
    sums, done = expansion(np.zeros(1), np.ones((1, 1)), np.array([0.0, 5.0, -11.0, 1e300, -1e300]))
    np.testing.assert_array_equal(done, [True, True, False, False, False])


@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 20.0])
def test_smoother_uses_it_and_leaves_the_rest_to_tiles(bandwidth):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(4 * N, 1)) * bandwidth, [[40.0]]]) + 1e5
    w = rng.random(X.shape[0]) + 0.1
    smoother = Smoother(X, w[:, None], "gaussian", bandwidth)
    assert smoother.engine == "expansion"
    Q = X.mean() + np.linspace(-60.0, 60.0, 50)[:, None] * np.array([[1.0]])
    expected = naive.log_kernel_sums("gaussian", X, Q, w, bandwidth)
    np.testing.assert_allclose(smoother.log_sums(Q), expected, rtol=1e-9, atol=2e-9)
    some = np.concatenate([np.arange(0, X.shape[0], 97), [X.shape[0] - 1]])
    expected = naive.log_kernel_sums("gaussian", X, X[some], w, bandwidth, some)
    np.testing.assert_allclose(smoother.log_sums(X[some], some), expected, rtol=1e-9, atol=2e-9)


def test_sparse_lines_stay_with_tiles():
    X = np.arange(100.0)[:, None]
    assert Smoother(X, np.ones((100, 1)), "gaussian", 0.1).engine == "tiles"
