"""Values are the formulas', gradients and curvatures are derivatives of the values."""

import naive_smooth as naive
import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose

from fastml.kernels.losses import definitions as kernels

pytestmark = pytest.mark.small

PARAMETERS = {
    "SQUARED": (0.0,), "ABSOLUTE": (0.0,), "PINBALL": (0.3,), "HUBER": (0.7,), "POISSON": (0.0,),
    "GAMMA": (0.0,), "BINOMIAL": (0.0,), "EXPONENTIAL": (0.0,), "LP": (1.0, 1.5, 2.0, 3.0),
    "EPSILON_INSENSITIVE": (0.2,), "SQUARED_EPSILON_INSENSITIVE": (0.2,), "SQUARED_LOG": (0.0,),
    "HINGE": (0.0,), "SQUARED_HINGE": (0.0,), "PERCEPTRON": (0.0,),
    "MODIFIED_HUBER": (0.0,),
    "TWEEDIE_LOG": (0.0, 1.0, 1.5, 2.0, 3.0), "TWEEDIE_IDENTITY": (0.0, 1.0, 1.5, 2.0, 3.0),
}  # fmt: skip
ROWS = [(name, parameter) for name, values in PARAMETERS.items() for parameter in values]
TWO_CLASSES = ("BINOMIAL", "EXPONENTIAL", "HINGE", "SQUARED_HINGE", "PERCEPTRON", "MODIFIED_HUBER")


def data(name):
    """No row within 0.01 of a kink."""
    rng = np.random.default_rng(0)
    r = rng.uniform(0.05, 3.0, 40) if name == "TWEEDIE_IDENTITY" else rng.uniform(-0.9, 3.0, 40)
    y = rng.uniform(0.1, 3.0, 40)
    if name in TWO_CLASSES:
        r, y = rng.uniform(-3.0, 3.0, 40), np.arange(40.0) % 2
    kinks = np.abs(np.abs(r - y)[:, None] - [0.0, 0.2, 0.7]).min(axis=1)
    kinks = np.minimum(kinks, np.abs(np.abs(r)[:, None] - [0.0, 1.0]).min(axis=1))
    return read_only(y[kinks > 0.01].copy()), read_only(r[kinks > 0.01].copy())


def everything(name, parameter, y, r):
    found = np.empty((3, len(y)))
    kernels.loss_of_each(getattr(kernels, name), parameter, y, r, *found)
    return found


@pytest.mark.parametrize(("name", "parameter"), ROWS)
def test_value_gradient_curvature(name, parameter):
    y, r = data(name)
    assert len(y) > 20
    value, gradient, curvature = everything(name, parameter, y, r)
    assert_allclose(value, naive.loss(name, parameter, y, r), rtol=1e-12, atol=1e-12)
    h = 1e-5
    up, down = (everything(name, parameter, y, read_only(r + step)) for step in (h, -h))
    assert_allclose(gradient, (up[0] - down[0]) / (2 * h), rtol=1e-6, atol=1e-7)
    assert_allclose(curvature, (up[1] - down[1]) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("y", "r"), [(1.0, 0.4), (0.0, 0.4), (1.0, 2.5)])
def test_a_code_means_its_function(y, r):
    single = {
        "SQUARED": kernels.squared(y, r),
        "ABSOLUTE": kernels.absolute(y, r),
        "POISSON": kernels.poisson(y, r),
        "GAMMA": kernels.gamma(y, r),
        "BINOMIAL": kernels.logistic(y, r),
        "EXPONENTIAL": kernels.exponential(y, r),
        "SQUARED_LOG": kernels.squared_log(y, r),
        "HINGE": kernels.hinge(y, r),
        "SQUARED_HINGE": kernels.squared_hinge(y, r),
        "PERCEPTRON": kernels.perceptron(y, r),
        "MODIFIED_HUBER": kernels.modified_huber(y, r),
        "PINBALL": kernels.pinball(y, r, 0.3),
        "HUBER": kernels.huber(y, r, 0.3),
        "LP": kernels.lp(y, r, 0.3),
        "EPSILON_INSENSITIVE": kernels.epsilon_insensitive(y, r, 0.3),
        "SQUARED_EPSILON_INSENSITIVE": kernels.squared_epsilon_insensitive(y, r, 0.3),
        "TWEEDIE_LOG": kernels.tweedie_log(y, r, 0.3),
        "TWEEDIE_IDENTITY": kernels.tweedie_identity(y, r, 0.3),
    }
    assert single.keys() == PARAMETERS.keys()
    for name, own in single.items():
        assert kernels.by_code(getattr(kernels, name), 0.3, y, r) == own, name


def test_far_predictions_stay_finite_and_outside_is_infinite():
    assert kernels.logistic(1.0, -800.0)[0] == 800.0
    assert kernels.logistic(0.0, 800.0) == (800.0, 1.0, 0.0)
    for r in (-800.0, -1.5, 0.0, 2.5, 800.0):
        # The one divides by 1 + exp(−r), the other by 1 + exp(−|r|).
        both = kernels.logistic_slopes(0.25, r), kernels.logistic(0.25, r)[1:]
        np.testing.assert_allclose(*both, rtol=1e-15, atol=1e-300)
        assert kernels.logistic_of(0.25, r, np.exp(-abs(r))) == pytest.approx(
            kernels.logistic(0.25, r), rel=1e-15, abs=1e-300
        )
    assert kernels.squared_log(1.0, -1.0)[0] == np.inf
    assert kernels.tweedie_identity(1.0, 0.0, 1.5)[0] == np.inf
    assert kernels.lp(1.0, 1.0, 1.5) == (0.0, 0.0, 0.0)


def test_logarithm_between_1_and_2():
    for m in (1.0, 1.0 + 2.0**-52, 1.25, 2.0**0.5, np.nextafter(2.0**0.5, 2.0), 1.9, 2.0):
        np.testing.assert_allclose(kernels._log_between_1_and_2(m), np.log(m), rtol=4e-16)
    assert np.isnan(kernels._log_between_1_and_2(np.nan))


@pytest.mark.parametrize("n", [0, 1, 9])
def test_softmax(n):
    rng = np.random.default_rng(n)
    raw, y = rng.normal(size=(n, 3)), rng.integers(0, 3, n).astype(float)

    def found(raw):
        values, gradients, curvatures = np.empty(n), np.empty((n, 3)), np.empty((n, 3))
        kernels.softmax_of_each(read_only(y), read_only(raw), values, gradients, curvatures)
        return values, gradients, curvatures

    values, gradients, curvatures = found(raw)
    assert_allclose(values, naive.softmax_loss(y, raw), rtol=1e-12)
    for k in range(3):
        up, down = raw.copy(), raw.copy()
        up[:, k] += 1e-5
        down[:, k] -= 1e-5
        slope = (naive.softmax_loss(y, up) - naive.softmax_loss(y, down)) / 2e-5
        assert_allclose(gradients[:, k], slope, atol=1e-8)
        assert_allclose(
            curvatures[:, k], (found(up)[1][:, k] - found(down)[1][:, k]) / 2e-5, atol=1e-8
        )
