"""Sums over rows equal NumPy's; slopes and curvatures are derivatives, weights factors."""

import naive_smooth as naive
import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose

from fastml.kernels.losses import definitions, smooth

pytestmark = pytest.mark.small

LOSSES = [
    ("SQUARED", 0.0), ("POISSON", 0.0), ("GAMMA", 0.0), ("BINOMIAL", 0.0), ("TWEEDIE_LOG", 1.5),
    ("SQUARED_HINGE", 0.0),
]  # fmt: skip


def run(name, parameter, y, weights, z, direction, step):
    slopes, curvatures = np.empty((2, len(y)))
    sums = np.empty(max(1, -(-len(y) // smooth.ROWS)))
    smooth.losses_along(
        getattr(definitions, name), parameter, read_only(y), read_only(weights), z, direction,
        step, slopes, curvatures, sums, n_threads=1,
    )  # fmt: skip
    return sums, slopes, curvatures


@pytest.mark.parametrize("n", [0, 1, 50])
@pytest.mark.parametrize(("name", "parameter"), LOSSES)
def test_losses_along_a_direction(name, parameter, n):
    rng = np.random.default_rng(n)
    z, direction = rng.normal(size=(2, n))
    y = (rng.random(n) < 0.5) + (0.0 if name in ("BINOMIAL", "SQUARED_HINGE") else 0.1)
    raw = z + 0.3 * direction
    for weights in (np.empty(0), rng.integers(0, 3, n).astype(float)):
        factor = weights if len(weights) else np.ones(n)
        sums, slopes, curvatures = run(name, parameter, y, weights, z, direction, 0.3)
        assert_allclose(sums.sum(), (factor * naive.loss(name, parameter, y, raw)).sum())
        up, down = (naive.loss(name, parameter, y, raw + h) for h in (1e-4, -1e-4))
        assert_allclose(slopes, factor * (up - down) / 2e-4, rtol=1e-5, atol=1e-6)
        middle = naive.loss(name, parameter, y, raw)
        assert_allclose(curvatures, factor * (up + down - 2 * middle) / 1e-8, rtol=0.1, atol=1e-4)


def test_many_rows_in_chunks():
    n = 2 * smooth.ROWS + 7
    z, y = np.linspace(-1, 1, n), np.ones(n)
    sums, _, _ = run("POISSON", 0.0, y, np.empty(0), z, np.zeros(n), 1.0)
    assert len(sums) == 3
    assert_allclose(sums.sum(), (np.exp(z) - z).sum())


def test_where_tweedie_curves_downwards_the_expected_curvature_stands():
    y, z = np.array([9.0]), np.array([0.0])
    _, _, curvatures = run("TWEEDIE_LOG", 0.0, y, np.empty(0), z, z, 0.0)
    assert curvatures[0] == 1.0
    assert definitions.tweedie_log(9.0, 0.0, 0.0)[2] < 0.0


@pytest.mark.parametrize("n", [1, 2, 40])
def test_huber_with_its_scale(n):
    rng = np.random.default_rng(n)
    y, raw = rng.normal(size=(2, n))
    for weights in (np.empty(0), rng.random(n)):
        factor = weights if len(weights) else np.ones(n)

        def run(raw, scale, above=False, weights=weights):
            slopes, curvatures, extra = np.empty((3, n))
            sums = np.empty((1, smooth.N_HUBER_SUMS))
            smooth.scaled_huber(
                1.35, scale, above, read_only(y), read_only(weights), raw, slopes, curvatures,
                extra, sums, n_threads=1,
            )  # fmt: skip
            return sums[0], slopes, curvatures, extra

        def objective(raw, scale, factor=factor):
            return naive.scaled_huber_objective(1.35, scale, y, factor, raw)

        sums, slopes, curvatures, extra = run(raw, 0.6)
        assert_allclose(sums[smooth.HUBER_LOSS], objective(raw, 0.6))
        slope = (objective(raw, 0.6 + 1e-6) - objective(raw, 0.6 - 1e-6)) / 2e-6
        assert_allclose(sums[smooth.HUBER_SLOPE], slope, atol=1e-5)
        for i in range(min(n, 3)):
            e = 1e-6 * np.eye(n)[i]
            slope = (objective(raw + e, 0.6) - objective(raw - e, 0.6)) / 2e-6
            assert_allclose(slopes[i], slope, atol=1e-5)
        parabola = run(raw, 0.6, above=True)[2]
        for t in (-2.0, -0.5, 1.5):  # nowhere below the loss
            rise = objective(raw + t, 0.6) - objective(raw, 0.6)
            assert slopes.sum() * t + parabola.sum() * t * t / 2 >= rise - 1e-9
        mixed = (run(raw, 0.6 + 1e-6)[1] - run(raw, 0.6 - 1e-6)[1]) / 2e-6
        assert_allclose(curvatures * extra, mixed, atol=1e-4)
        twice = (run(raw, 0.6 + 1e-6)[0] - run(raw, 0.6 - 1e-6)[0])[smooth.HUBER_SLOPE] / 2e-6
        assert_allclose((curvatures * extra**2).sum(), twice, atol=1e-4)
