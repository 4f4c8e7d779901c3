"""Shares, sums and objective of soft k-means and fuzzy c-means."""

import numpy as np
import pytest
from arrays import read_only
from naive import fuzzy_shares, soft_shares

from fastml.kernels.cluster import soft_means

pytestmark = pytest.mark.small


def data(dtype):
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 3)).astype(dtype), rng.normal(size=(4, 3))


@pytest.mark.parametrize(
    ("form", "strength", "plain"),
    [(soft_means.SOFT, 0.7, soft_shares), (soft_means.FUZZY, 1.8, fuzzy_shares)],
)
def test_statistics(dtype, n_threads, form, strength, plain):
    X, centers = data(dtype)
    weights = np.random.default_rng(1).random(30)
    X, panel = read_only(X), read_only(np.ascontiguousarray(centers.T))
    shares = np.empty((30, 4))
    soft_means.row_shares(7, form, strength, X, panel, shares, n_threads=n_threads)
    X64 = X.astype(np.float64)
    expected = plain(X64, centers, strength)
    np.testing.assert_allclose(shares, expected, rtol=1e-11)

    sums, masses, objective = np.empty((5, 4, 3)), np.empty((5, 4)), np.empty((5, 1))
    soft_means.statistics(
        7, form, strength, X, weights, panel, sums, masses, objective, n_threads=n_threads
    )
    total_sums, total_masses = np.zeros((4, 3)), np.zeros(4)
    value = soft_means.merge(sums, masses, objective, total_sums, total_masses)
    squares = ((X64[:, None] - centers) ** 2).sum(axis=2)
    if form == soft_means.SOFT:
        parts = expected
        wanted = -(weights * np.log(np.exp(-strength * squares).sum(axis=1))).sum() / strength
    else:
        parts = expected**strength
        wanted = (weights[:, None] * parts * squares).sum()
    parts = parts * weights[:, None]
    np.testing.assert_allclose(total_masses, parts.sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(total_sums, parts.T @ X64, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, wanted, rtol=1e-10)


def test_a_row_on_a_centre_and_far_away():
    centers = np.array([[0.0], [1.0]])
    out = np.empty((2, 2))
    X = read_only(np.array([[1.0], [1e9]]))
    panel = read_only(np.ascontiguousarray(centers.T))
    for form in (soft_means.SOFT, soft_means.FUZZY):
        soft_means.row_shares(2, form, 2.0, X, panel, out, n_threads=1)
        assert np.isfinite(out).all()
        np.testing.assert_allclose(out.sum(axis=1), 1.0)
    np.testing.assert_array_equal(out[0], [0.0, 1.0])
