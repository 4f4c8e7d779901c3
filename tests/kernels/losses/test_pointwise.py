"""Gradients are derivatives of the losses, and hessians of the gradients."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.losses import pointwise as kernels

pytestmark = pytest.mark.small

NAMES = (
    "SQUARED", "ABSOLUTE", "PINBALL", "HUBER", "POISSON", "GAMMA", "BINOMIAL", "MULTINOMIAL",
    "EXPONENTIAL",
)  # fmt: skip
FLAT = ("ABSOLUTE", "PINBALL", "HUBER")


def rows(name, n=11):
    rng = np.random.default_rng(0)
    n_trees = 3 if name == "MULTINOMIAL" else 1
    raw = rng.normal(size=(n_trees, n))
    y = rng.random(n) + 0.1
    if name in ("BINOMIAL", "MULTINOMIAL", "EXPONENTIAL"):
        y = rng.integers(0, max(2, n_trees), n).astype(float)
    return y, raw


def gradients_of(name, y, raw, weights):
    g, h = np.empty((2, *raw.shape), dtype=np.float32)
    statistics = np.zeros((1, len(raw), kernels.N_STATISTICS))
    code = getattr(kernels, name)
    rest = y, raw, weights, g, h, statistics
    if name == "MULTINOMIAL":
        kernels.multinomial_gradients(1, *rest, n_threads=1)
    else:
        kernels.loss_gradients(1, code, 0.3, *rest, n_threads=1)
    return g, h, statistics[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_gradient_hessian(name, weighted):
    y, raw = rows(name)
    weights = np.arange(1.0, 12.0) if weighted else np.empty(0)
    factor = weights if weighted else 1.0
    sums = np.zeros(1)
    kernels.loss_sums(1, getattr(kernels, name), 0.3, y, raw, weights, sums, n_threads=1)
    assert_allclose(sums[0], (naive.boosting_loss(name, 0.3, y, raw) * factor).sum())
    g, h, statistics = gradients_of(name, y, raw, weights)
    step = 1e-5
    for k in range(len(raw)):
        up, down = raw.copy(), raw.copy()
        up[k] += step
        down[k] -= step
        plus, minus = (naive.boosting_loss(name, 0.3, y, r) for r in (up, down))
        assert_allclose(g[k], (plus - minus) / (2 * step) * factor, atol=1e-4, rtol=1e-4)
        slopes = [gradients_of(name, y, r, weights)[0][k].astype(float) for r in (up, down)]
        if name in FLAT:
            assert_allclose(h[k], 1.0 * factor)
        else:
            assert_allclose(h[k], (slopes[0] - slopes[1]) / (2 * step), atol=0.2, rtol=0.05)
    sizes = np.abs(g).max(axis=1), np.abs(g).sum(axis=1), h.max(axis=1), h.sum(axis=1)
    assert_allclose(statistics, np.column_stack(sizes), rtol=1e-5)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("BINOMIAL", "MULTINOMIAL")])
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_one_row(name, y):
    code = getattr(kernels, name)
    for r in (-3.0, -0.2, 0.1, 0.8, 4.0):  # none at a kink
        g, h = kernels.element(code, 0.3, y, r)
        steps = r + 1e-5 * np.array([[1.0, -1.0]])
        up, down = naive.boosting_loss(name, 0.3, np.full(2, y), steps)
        assert_allclose(g, (up - down) / 2e-5, atol=1e-7, rtol=1e-6)
        slopes = [kernels.element(code, 0.3, y, s)[0] for s in steps[0]]
        if name in FLAT:
            assert h == 1.0
        else:
            assert_allclose(h, (slopes[0] - slopes[1]) / 2e-5, rtol=1e-6, atol=1e-9)


def test_far_raw_predictions_stay_finite():
    y, raw = np.array([0.0, 1.0]), np.array([[800.0, -800.0]])
    sums = np.zeros(1)
    kernels.loss_sums(1, kernels.BINOMIAL, 0.0, y, raw, np.empty(0), sums, n_threads=1)
    assert_allclose(sums[0], 1600.0)


def test_a_loss_of_the_user():
    y, raw = rows("SQUARED")
    g, h = np.empty((2, 1, 11), dtype=np.float32)
    statistics = np.zeros((1, 1, kernels.N_STATISTICS))
    for weights in (np.empty(0), np.arange(11.0)):
        kernels.user_gradients(kernels.sample_loss, y, raw, weights, g, h, statistics)
        factor = weights if len(weights) else np.ones(11)
        assert_allclose(g[0], 2 * (raw[0] - y) * factor, rtol=1e-6)
        assert_allclose(h[0], factor)
        slope = kernels.user_slope(kernels.sample_loss, 0.7, y, weights)
        assert_allclose(slope, (2 * (0.7 - y) * factor).sum())
        total = kernels.user_loss_sum(kernels.sample_loss_and_value, y, raw, weights)
        assert_allclose(total, ((raw[0] - y) ** 2 * factor).sum())
        origins = y + np.arange(11.0)
        places, shares = np.array([0.25, 0.75]), np.array([0.5, 0.5])  # exact for lines
        rise = kernels.user_loss_rise(kernels.sample_loss, origins, y, raw, weights, places, shares)
        expected = ((raw[0] - y) ** 2 - (origins - y) ** 2) * factor
        assert_allclose(rise, expected.sum(), rtol=1e-9)
    value = kernels.sample_loss_and_value(1.0, 3.0)
    assert value == (*kernels.sample_loss(1.0, 3.0), 4.0)
    nothing = np.empty(0)
    assert kernels.user_slope(kernels.sample_loss, 0.7, nothing, nothing) == 0.0
