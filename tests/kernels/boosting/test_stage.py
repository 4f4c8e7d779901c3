"""A stage of boosting: residuals, sums for the line search, update, drawn rows."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.boosting import stage as kernels
from fastml.kernels.losses import pointwise as codes

pytestmark = pytest.mark.small

NAMES = ("SQUARED", "ABSOLUTE", "PINBALL", "HUBER", "BINOMIAL", "MULTINOMIAL", "EXPONENTIAL")
CLASSES = ("BINOMIAL", "MULTINOMIAL", "EXPONENTIAL")


def rows(name, n):
    rng = np.random.default_rng(n)
    n_trees = 3 if name == "MULTINOMIAL" else 1
    y = rng.normal(size=n)
    if name in CLASSES:
        y = rng.integers(0, max(2, n_trees), n).astype(float)
    return y, rng.normal(size=(n_trees, n)), rng


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_residuals(name, n):
    y, raw, _ = rows(name, n)
    if name not in CLASSES:
        raw[:, : n // 2] = y[: n // 2]  # the kink belongs to the upper side
    out = np.empty_like(raw)
    kernels.loss_residuals(1, getattr(codes, name), 0.3, y, raw, out, n_threads=1)
    assert_allclose(out, naive.stage_residuals(name, 0.3, y, raw), rtol=1e-12, atol=1e-15)


def test_far_raw_predictions_keep_their_residuals():
    y, raw = np.array([0.0, 1.0, 1.0, 0.0]), np.array([[800.0, 800.0, -800.0, -50.0]])
    out = np.empty_like(raw)
    kernels.loss_residuals(1, codes.BINOMIAL, 0.0, y, raw, out, n_threads=1)
    assert_allclose(out[0], [-1.0, 0.0, 1.0, -np.exp(-50.0)], rtol=1e-12)
    assert_allclose(kernels.binomial_residual(1.0, 40.0), np.exp(-40.0), rtol=1e-12)
    row = np.empty((2, 1))
    kernels.multinomial_residuals(0, np.ones(1), np.array([[800.0], [-800.0]]), row)
    assert_allclose(row[:, 0], [-1.0, 1.0])


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 40])
def test_newton_sums(name, weighted, n):
    y, raw, rng = rows(name, n)
    k = len(raw) - 1
    residuals = rng.normal(size=n)
    leaves, weights = rng.integers(0, 5, n), rng.integers(0, 3, n) * 0.5
    sums = np.zeros((6, 3))
    given = weights if weighted else None
    kernels.newton_sums(getattr(codes, name), k, y, residuals, given, leaves, sums)
    factor = weights if weighted else np.ones(n)
    expected = naive.newton_leaf_sums(name, k, y, residuals, factor, leaves, 6)
    assert_allclose(sums, expected, atol=1e-14)


def test_rows_of_weight_zero_cannot_spoil_a_leaf():
    sums = np.zeros((1, 3))
    residuals, weights = np.array([np.inf, 0.5]), np.array([0.0, 1.0])
    leaves = np.zeros(2, np.intp)
    kernels.newton_sums(codes.EXPONENTIAL, 0, np.ones(2), residuals, weights, leaves, sums)
    assert_array_equal(sums, [[1.0, 0.5, 0.5]])


@pytest.mark.parametrize("n", [0, 1, 30])
def test_add_leaf_values(n):
    rng = np.random.default_rng(n)
    values, leaves, raw = rng.normal(size=4), rng.integers(0, 4, n), rng.normal(size=n)
    expected = raw + 0.1 * values[leaves]
    kernels.add_leaf_values(1, 0.1, values, leaves, raw, n_threads=1)
    assert_array_equal(raw, expected)


@pytest.mark.parametrize(("n", "n_inside"), [(1, 1), (2, 1), (100, 37), (50, 50)])
def test_draw_mask(n, n_inside):
    from sklearn.ensemble._gradient_boosting import _random_sample_mask

    uniform, mask = np.random.RandomState(3).uniform(size=n), np.empty(n, np.bool_)
    kernels.draw_mask(uniform, n_inside, mask)
    assert mask.sum() == n_inside
    assert_array_equal(mask, naive.selection_mask(uniform, n_inside))
    assert_array_equal(mask, _random_sample_mask(n, n_inside, np.random.RandomState(3)))
