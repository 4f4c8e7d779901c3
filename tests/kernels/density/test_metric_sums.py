"""Kernel sums of other metrics against SciPy's distances."""

import naive
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fastml._engines.search.metric import NO_VALUES
from fastml._engines.smoothing.names import SMOOTHING_KERNELS
from fastml._engines.smoothing.smoother import Smoother
from fastml._validation import kernel_view
from fastml.kernels.density.metric_sums import metric_sums
from fastml.kernels.density.smoothing import GAUSSIAN_KERNEL
from fastml.kernels.density.sums import SumRule
from fastml.kernels.distances import metrics
from fastml.kernels.distances.metrics import Metric

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


@pytest.mark.parametrize("n", [1, 2, 30])
def test_rows_first_to_last_in_chunks(n, n_threads):
    """Gaussian: the unit makes K = 2^-(unit r)²; the other rows are not touched."""
    rng = np.random.default_rng(n)
    X, Q, values = rng.normal(size=(n, 3)), rng.normal(size=(9, 3)), rng.random((n, 2))
    itself = np.array([-1, 0, -1, 0, -1, -1, -1, 0, -1])
    rule = SumRule(GAUSSIAN_KERNEL, 1.0, 1.0, 1.0, 1e-9, 0.0)
    metric = Metric(metrics.MANHATTAN, 2.0, NO_VALUES)
    sums, shifts = np.zeros((9, 2)), np.zeros(9)
    metric_sums(
        1, 8, 3, rule, 0.7, metric, kernel_view(Q), itself, kernel_view(X), kernel_view(values),
        sums, shifts, n_threads=n_threads,
    )  # fmt: skip
    K = np.exp2(-((0.7 * cdist(Q, X, "cityblock")) ** 2))
    K[itself == 0, 0] = 0.0
    K[[0, 8]] = 0.0
    np.testing.assert_allclose(sums * np.exp2(-shifts)[:, None], K @ values, rtol=1e-9)


def test_far_away_and_alone():
    X = np.zeros((1, 2))
    smoother = Smoother(X, np.ones((1, 1)), "gaussian", 1.0, metric="manhattan")
    np.testing.assert_allclose(smoother.log_sums(np.array([[1e3, 1e3]])), -0.5 * 2e3**2)
    assert np.isneginf(smoother.log_sums(X, np.array([0])))
