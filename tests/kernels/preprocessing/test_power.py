import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose
from scipy import special, stats

from fastml.kernels.preprocessing.power import (
    box_cox,
    exp_moments,
    inverse_box_cox,
    inverse_yeo_johnson,
    power_columns,
    yeo_johnson,
)

pytestmark = pytest.mark.small

POWERS = [-1.5, 0.0, 0.3, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("power", POWERS)
def test_transforms(power):
    for x in (-3.0, -0.5, 0.0, 0.7, 5.0):
        assert_allclose(
            yeo_johnson(x, power), stats.yeojohnson(np.array([x]), power)[0], atol=1e-12
        )
        assert_allclose(inverse_yeo_johnson(yeo_johnson(x, power), power), x, atol=1e-9)
        if x > 0:
            assert_allclose(box_cox(x, power), special.boxcox(x, power), atol=1e-12)
            assert_allclose(inverse_box_cox(box_cox(x, power), power), x, atol=1e-9)


def test_what_is_no_result_is_nan():
    assert np.isnan(inverse_box_cox(5.0, -1.0))
    assert np.isnan(inverse_yeo_johnson(5.0, -1.0))
    assert np.isnan(inverse_yeo_johnson(-5.0, 3.0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns(dtype):
    X = np.random.default_rng(0).random((12, len(POWERS))).astype(dtype) + 0.5
    X[3, 2] = np.nan
    powers = read_only(np.array(POWERS))
    single = [yeo_johnson, box_cox, inverse_yeo_johnson, inverse_box_cox]
    for mode, function in enumerate(single):
        out = np.empty_like(X)
        power_columns(read_only(X), powers, mode, 5, out, n_threads=2)
        for (i, j), x in np.ndenumerate(X):
            expected = x if np.isnan(x) else function(np.float64(x), POWERS[j])
            assert_allclose(out[i, j], expected, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_moments_of_powers(n):
    logs = np.random.default_rng(n).normal(size=n)
    counts, means, squares = np.empty((3, -(-n // 7), 1))
    exp_moments(read_only(logs), 1.7, 0.4, 7, counts, means, squares, n_threads=2)
    for c in range(len(counts)):
        y = np.expm1(1.7 * logs[c * 7 : (c + 1) * 7] - 0.4)
        assert counts[c, 0] == len(y)
        assert_allclose(means[c, 0], y.mean(), rtol=1e-12)
        assert_allclose(squares[c, 0], ((y - y.mean()) ** 2).sum(), rtol=1e-9, atol=1e-12)
