import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold.affinities import gaussian_affinities

pytestmark = pytest.mark.small


def run(squares, perplexity, n_threads=2):
    out, betas = np.empty(squares.shape), np.empty(len(squares))
    gaussian_affinities(read_only(squares), np.log(perplexity), 3, out, betas, n_threads=n_threads)
    return out, betas


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_entropy_is_met(n):
    squares = np.random.default_rng(n).random((n, 12)) * 10.0 ** np.arange(-4, 5)[:n, None]
    out, betas = run(squares, 4.0)
    expected = np.exp(-betas[:, None] * (squares - squares.min(axis=1, keepdims=True, initial=9e9)))
    assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)
    assert_allclose(np.exp(-(out * np.log(out)).sum(axis=1)), 4.0, rtol=2e-5)
    assert_array_equal(out, run(squares, 4.0, n_threads=1)[0])


def test_equal_distances_share_equally():
    out, _ = run(np.array([[0.0, 0.0, 0.0], [7.0, 7.0, 7.0]]), 2.0)
    assert_allclose(out, 1 / 3)
