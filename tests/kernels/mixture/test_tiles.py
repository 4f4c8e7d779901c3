"""The pieces of a tile beside NumPy on the transposed rows."""

import naive
import numpy as np
import pytest

from fastml._engines.em import SHAPES
from fastml.kernels.mixture import tiles

pytestmark = pytest.mark.small
TILE_LANES = tiles.TILE_LANES


def tile_of(X, shift):
    depth = -(-X.shape[1] // 4) * 4
    panel = np.empty((depth, TILE_LANES))
    tiles.load_tile(X, shift, 0, X.shape[0], panel)
    return panel


@pytest.mark.parametrize("n_rows, n_features", [(1, 1), (TILE_LANES, 3), (50, 4), (7, 5)])
def test_load_tile(n_rows, n_features, dtype):
    X = np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(dtype)
    shift = np.arange(n_features, dtype=float)
    panel = tile_of(X, shift)
    np.testing.assert_array_equal(panel[:n_features, :n_rows], X.astype(float).T - shift[:, None])
    assert (panel[n_features:] == 0).all()
    assert (panel[:, n_rows:] == 0).all()


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 10])
def test_densities(n_features):
    rng = np.random.default_rng(n_features)
    X, means = rng.normal(size=(TILE_LANES, n_features)), rng.normal(size=(2, n_features))
    root = rng.normal(size=(2, n_features, n_features)) * 0.4
    covariances = root @ root.transpose(0, 2, 1) + np.eye(n_features)
    shape = SHAPES["full"]
    factors, log_det = shape.layout(shape.factor(covariances), 2, n_features)
    offsets = log_det - 0.5 * n_features * np.log(2 * np.pi)
    panel = tile_of(X, np.zeros(n_features))
    gaps, white, log_p = np.zeros_like(panel), np.zeros((4, TILE_LANES)), np.empty((2, TILE_LANES))
    tiles.log_densities(tiles.FULL, panel, n_features, means, factors, offsets, gaps, white, log_p)
    expected = naive.gaussian_log_densities(X, means, covariances).T
    np.testing.assert_allclose(log_p, expected, rtol=1e-11)
    # One factor for all: whitened once.
    tied = naive.gaussian_log_densities(X, means, covariances[[0, 0]]).T
    factor = factors[0, :n_features, :n_features]
    white_means = np.zeros((2, n_features + n_features % 2))
    white_means[:, :n_features] = means @ factor.T
    tiles.whitened_densities(
        panel, n_features, white_means, factors[0], offsets[[0, 0]], white, log_p
    )
    np.testing.assert_allclose(log_p, tied, rtol=1e-10)


def test_normalise_and_choose():
    log_p = np.random.default_rng(0).normal(scale=300.0, size=(3, TILE_LANES))
    log_p[:, 0] = -1e6
    log_p[1, 1] = -np.inf
    soft, hard = log_p.copy(), log_p.copy()
    top, total = np.empty(TILE_LANES), np.empty(TILE_LANES)
    tiles.normalise(soft, top, total)
    np.testing.assert_allclose(soft, np.exp(log_p - log_p.max(axis=0)), rtol=1e-14)
    np.testing.assert_allclose(top + np.log(total), np.logaddexp.reduce(log_p), rtol=1e-14)
    weight = np.ones(TILE_LANES)
    likelihood = tiles.log_likelihood_of(weight, top, total)
    assert likelihood == pytest.approx(np.logaddexp.reduce(log_p).sum())
    tiles.choose(hard, top, total)
    np.testing.assert_array_equal(hard.argmax(axis=0), log_p.argmax(axis=0))
    np.testing.assert_array_equal(hard.sum(axis=0), 1.0)
    np.testing.assert_array_equal(top, log_p.max(axis=0))


@pytest.mark.parametrize("n_features", [1, 2, 5, 8])
def test_statistics(n_features):
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(TILE_LANES, n_features)), rng.random(TILE_LANES)
    gaps = tile_of(X, np.zeros(n_features))
    shape = SHAPES["full"].moments_shape(n_features)
    first, second, white = np.zeros(n_features), np.zeros(shape), np.zeros((4, TILE_LANES))
    tiles.add_statistics(tiles.FULL, r, gaps, n_features, white, first, second)
    np.testing.assert_allclose(first, r @ X)
    expected = (r[:, None] * X).T @ X
    found = second[:n_features, :n_features]
    np.testing.assert_allclose(np.triu(found), np.triu(expected), rtol=1e-10, atol=1e-12)
    variances = np.zeros((1, n_features))
    tiles.add_statistics(tiles.DIAGONAL, r, gaps, n_features, white, first, variances)
    np.testing.assert_allclose(variances[0], np.diagonal(expected))
    assert tiles.lane_sum(r) == pytest.approx(r.sum())


def test_lanes():
    rng = np.random.default_rng(0)
    panel, mean = rng.normal(size=(4, TILE_LANES)), rng.normal(size=3)
    gaps = np.full((4, TILE_LANES), 9.0)
    tiles.subtract(panel, mean, 3, gaps)
    np.testing.assert_array_equal(gaps[:3], panel[:3] - mean[:, None])
    assert (gaps[3] == 9.0).all()
    row = panel[1].copy()
    tiles.scale_lanes(row, panel[2])
    np.testing.assert_array_equal(row, panel[1] * panel[2])
    tiles.fill(row, -2.5)
    assert (row == -2.5).all()


def test_most_probable_is_the_first_of_equals():
    log_p = np.random.default_rng(0).integers(0, 3, size=(5, TILE_LANES)).astype(float)
    log_p[:, 0] = -np.inf
    found = [tiles.most_probable(log_p, lane) for lane in range(TILE_LANES)]
    np.testing.assert_array_equal(found, log_p.argmax(axis=0))
