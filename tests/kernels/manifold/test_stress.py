import numpy as np
import pytest
from arrays import read_only
from naive_manifold import squares_between
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.isotonic import isotonic_regression

from fastml.kernels.manifold import stress
from fastml.kernels.manifold.stress import PooledRuns

pytestmark = pytest.mark.small


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 11])
def test_guttman(n, d, weighted):
    rng = np.random.default_rng(n)
    Y, targets = rng.normal(size=(n, d)), rng.random((n, n))
    Y[n // 2] = Y[0]
    weights = rng.integers(0, 3, size=(n, n)).astype(float) if weighted else np.empty((0, 0))
    w = weights if weighted else np.ones((n, n))
    distances = np.sqrt(squares_between(Y, Y))
    ratio = w * targets / np.where(distances > 0, distances, 1e-5)
    expected = (ratio[:, :, None] * (Y[:, None] - Y[None])).sum(axis=1)
    found = []
    for n_threads in (1, 2):
        out, sums = np.empty((n, d)), np.empty((-(-n // 4), 2))
        given = (Y, read_only(targets), read_only(weights))
        stress.guttman(*given, 4, out, sums, n_threads=n_threads)
        found.append((out, sums))
    for one, two in zip(*found):
        assert_array_equal(one, two)
    assert_allclose(out, expected, rtol=1e-10, atol=1e-12)
    total = [(w * (distances - targets) ** 2).sum(), (w * distances**2).sum()]
    assert_allclose(sums.sum(axis=0), total, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_pairs(d):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(6, d))
    rows, columns = rng.integers(0, 6, size=(2, 20)).astype(np.uint32)
    out = np.empty(20)
    stress.pair_distances(Y, read_only(rows), read_only(columns), 7, out, n_threads=2)
    assert_allclose(out, np.linalg.norm(Y[rows] - Y[columns], axis=1))


@pytest.mark.parametrize("per_chunk", [3, 100])
@pytest.mark.parametrize("kind", ["random", "falling", "rising", "constant", "groups", "one"])
def test_pooling(kind, per_chunk):
    rng = np.random.default_rng(0)
    n = 1 if kind == "one" else 24
    values = {"falling": -np.arange(24.0), "rising": np.arange(24.0), "constant": np.ones(24)}.get(
        kind, rng.random(n)
    )
    begins = np.r_[0, 2, 3, 7, 8, 15, 24] if kind == "groups" else np.arange(n + 1)
    begins = begins.astype(np.intp)
    sizes = np.diff(begins)
    means = np.add.reduceat(values, begins[:-1]) / sizes
    g = len(means)
    expected = isotonic_regression(means, sample_weight=sizes)
    for n_threads in (1, 2):
        blocks = PooledRuns(np.empty(g), np.empty(g), np.empty(g, dtype=np.intp))
        ends, fitted = np.empty(-(-g // per_chunk), dtype=np.intp), np.empty(g)
        stress.pool_chunks(values, begins, per_chunk, blocks, ends, n_threads=n_threads)
        squares = stress.pool_rest(per_chunk, ends, blocks, fitted)
        assert_allclose(fitted, expected, rtol=1e-12)
        assert_allclose(squares, (sizes * expected**2).sum())


def test_targets():
    groups = np.array([[-1, 0], [1, -1]], dtype=np.int32)
    out = np.empty((2, 2))
    stress.fill_targets(read_only(groups), np.array([3.0, 5.0]), 2.0, 1, out, n_threads=2)
    assert_array_equal(out, [[0.0, 6.0], [10.0, 0.0]])
