"""Public losses: values, gradients, bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml import losses

ALL = [getattr(losses, name)() for name in losses.__all__ if name != "Multinomial"]


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_gradients_and_bounds(loss):
    rng = np.random.default_rng(0)
    y, r = rng.integers(0, 2, 200).astype(float), rng.uniform(-0.8, 4.0, 200)
    h = 1e-6
    slope = (loss.value(y, r + h) - loss.value(y, r - h)) / (2 * h)
    smooth = np.abs(loss.gradient(y, r + h) - loss.gradient(y, r - h)) < 1e-3
    assert smooth.sum() > 190
    assert_allclose(loss.gradient(y, r)[smooth], slope[smooth], atol=1e-4, rtol=1e-5)
    gaps = np.abs(loss.gradient(y, r + 0.3) - loss.gradient(y, r))
    assert np.all(gaps <= loss.lipschitz * 0.3 + 1e-12)
    assert loss.value(y[:6].reshape(2, 3), 0.5).shape == (2, 3)
    assert np.all(loss.curvature(y, r)[smooth] >= -1e-12) or isinstance(loss, losses.SquaredLog)


def test_surrogates_are_above_the_zero_one_loss():
    margin = np.linspace(-3, 3, 61)
    wrong = (margin < 0).astype(float)
    for loss in ALL:
        if loss.of_margin and not isinstance(loss, losses.PerceptronLoss):
            scale = np.log(2) if isinstance(loss, losses.Logistic) else 1.0
            assert np.all(loss.value(1, margin) / scale >= wrong)
            assert_allclose(loss.value(-1, -margin), loss.value(1, margin))


def test_many_classes():
    raw = np.array([[0.0, 0.0], [1.0, -1.0]])
    loss = losses.Multinomial()
    assert_allclose(loss.value([0, 1], raw), [np.log(2), np.log(1 + np.exp(2))])
    assert_allclose(loss.gradient([0, 1], raw).sum(axis=1), 0.0, atol=1e-15)
    two = losses.Logistic()
    assert_allclose(loss.value([0, 1], raw), two.value([1, 0], raw[:, 0] - raw[:, 1]))
    assert_allclose(loss.curvature([0, 1], raw)[:, 0], two.curvature(1, raw[:, 0] - raw[:, 1]))
    with pytest.raises(ValueError, match="class numbers below 2"):
        loss.value([0, 2], raw)
    with pytest.raises(ValueError, match="rows x classes"):
        loss.value([0, 1], raw[0])


def test_parameters_are_checked():
    for cls, given in (
        (losses.Huber, {"width": 0.0}),
        (losses.Pinball, {"quantile": 1.0}),
        (losses.Lp, {"power": 0.5}),
        (losses.EpsilonInsensitive, {"epsilon": -1.0}),
        (losses.Tweedie, {"link": "x"}),
    ):
        with pytest.raises(ValueError, match="must"):
            cls(**given)
    assert losses.Huber(2.0) == losses.Huber(2.0) != losses.Huber(1.0)
