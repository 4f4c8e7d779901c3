import numpy as np
import pytest
from arrays import read_only
from naive_bayes_twins import moments_by_class, normal_scores
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.bayes.gaussian import class_moments, gaussian_scores, take_half_squares

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_moments(n, weighted, dtype):
    rng = np.random.default_rng(n)
    X = rng.normal(loc=[0.0, 10.0, 1000.0], size=(n, 3)).astype(dtype)
    codes = rng.integers(0, 3, size=n)  # the last of four classes has no row
    weights = rng.random(n) if weighted else np.ones(n)
    given = weights if weighted else np.empty(0)
    for rows_per_chunk in (7, 1000):
        n_chunks = -(-n // rows_per_chunk)
        found = {}
        for n_threads in (1, 2):
            counts = np.zeros((n_chunks, 4))
            means, squares = np.zeros((2, n_chunks, 4, 3))
            class_moments(
                read_only(X), read_only(codes), read_only(given), rows_per_chunk,
                counts, means, squares, n_threads=n_threads,
            )  # fmt: skip
            found[n_threads] = counts, means, squares
        for one, two in zip(found[1], found[2]):
            assert_array_equal(one, two)
        for c in range(n_chunks):
            here = slice(c * rows_per_chunk, (c + 1) * rows_per_chunk)
            expected = moments_by_class(X[here], codes[here], weights[here], 4)
            for part, other in zip(found[1], expected):
                assert_allclose(part[c], other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_scores(n, dtype):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4)).astype(dtype)
    means, precisions = rng.normal(size=(3, 4)), rng.random(size=(3, 4))
    constants = np.array([0.5, -np.inf, -3.0])
    scores = np.empty((n, 3))
    given = [read_only(part) for part in (X, means, precisions, constants)]
    gaussian_scores(*given, 7, scores, n_threads=2)
    assert_allclose(scores, normal_scores(X, means, precisions, constants), rtol=1e-10)


def test_infinite_precision():
    """A feature without variance and without smoothing: as the formula has it."""
    scores = np.empty((2, 1))
    given = [np.array([[1.0], [2.0]]), np.array([[1.0]]), np.array([[1e300]]), np.array([0.0])]
    gaussian_scores(*map(read_only, given), 8, scores, n_threads=1)
    assert scores[0, 0] == 0.0
    assert scores[1, 0] < -1e299


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("width", [0, 1, 4])
def test_half_squares(n, width):
    rng = np.random.default_rng(n)
    z, scores = rng.normal(size=(n, 3 * width)), rng.normal(size=(n, 3))
    expected = scores - 0.5 * (z.reshape(n, 3, width) ** 2).sum(axis=2)
    take_half_squares(z, width, scores)
    assert_allclose(scores, expected, rtol=1e-12)
