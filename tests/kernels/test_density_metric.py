"""Kernel sums of other metrics against SciPy's distances."""

import naive
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fastml._registry import SMOOTHING_KERNELS
from fastml.kernels.density_metric import metric_sums
from fastml.neighbors._smoother import Smoother

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]


@pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)
@pytest.mark.parametrize(
    "metric, params",
    [("cityblock", {}), ("chebyshev", {}), ("minkowski", {"p": 3}), ("canberra", {})],
)
def test_sums(kernel, metric, params):
    rng = np.random.default_rng(0)
    X, Q, w = rng.normal(size=(70, 3)), rng.normal(size=(9, 3)), rng.random(70) + 0.1
    smoother = Smoother(X, w[:, None], kernel, 0.8, metric=metric, metric_params=params)
    assert smoother.engine == "pairs"
    with np.errstate(divide="ignore"):
        K = naive.smoothing_kernel(kernel, cdist(Q, X, metric, **params) / 0.8)
        np.testing.assert_allclose(smoother.log_sums(Q), np.log(K @ w), rtol=1e-9, atol=1e-9)
        K = naive.smoothing_kernel(kernel, cdist(X, X, metric, **params) / 0.8)
        np.fill_diagonal(K, 0.0)
        left = smoother.log_sums(X, np.arange(70))
        np.testing.assert_allclose(left, np.log(K @ w), rtol=1e-9, atol=1e-9)


def test_far_away_and_alone():
    X = np.zeros((1, 2))
    smoother = Smoother(X, np.ones((1, 1)), "gaussian", 1.0, metric="manhattan")
    np.testing.assert_allclose(smoother.log_sums(np.array([[1e3, 1e3]])), -0.5 * 2e3**2)
    assert np.isneginf(smoother.log_sums(X, np.array([0])))
    assert metric_sums.__name__ == "metric_sums"
