import numpy as np
import pytest
from naive import perceptron

from fastml.kernels.svm.perceptron import perceptron_block

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n, block", [(1, 1), (2, 2), (15, 15), (15, 4)])
def test_blocks_in_turn(n, block):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    K = X @ X.T
    signs = rng.choice([-1.0, 1.0], (2, n))
    order = rng.permutation(n)
    coefficients, delays, mistakes = np.zeros((2, n)), np.zeros((2, n)), np.zeros(2, np.intp)
    for first in range(0, n, block):
        rows = order[first : first + block]
        scores = K[rows] @ coefficients.T
        perceptron_block(K[rows], rows, signs, scores, coefficients, delays, mistakes, float(first))
    for k in range(2):
        path, n_mistakes = perceptron(K, signs[k], order)
        assert mistakes[k] == n_mistakes
        np.testing.assert_array_equal(coefficients[k], path[-1])
        np.testing.assert_allclose(coefficients[k] - delays[k] / n, path.mean(axis=0))
