import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.boosting.reweight import raise_weights

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_one_round(n):
    rng = np.random.default_rng(n)
    wrong, weights = rng.random(n) < 0.4, rng.random(n)
    expected = np.where(wrong, weights * 9.0, weights)
    raise_weights(wrong, 3.0, weights)
    assert_allclose(weights, expected)


def test_right_rows_keep_their_weights():
    weights = np.array([0.25, 0.5])
    raise_weights(np.array([False, True]), np.inf, weights)
    assert_array_equal(weights, [0.25, np.inf])
