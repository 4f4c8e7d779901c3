"""FasterPAM ends where no swap helps, and its bookkeeping is right all along."""

import itertools

import numpy as np
import pytest
from naive import medoid_loss
from scipy.spatial.distance import cdist

from fastml.cluster._prototypes import _medoids
from fastml.kernels.cluster import pam

pytestmark = pytest.mark.small


def run(D, medoids):
    n, k = len(D), len(medoids)
    two = pam.NearestTwo(np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n), np.empty(n))
    removal, change = np.empty(k), np.empty(k)
    loss = pam.assign(D, medoids, two)
    np.testing.assert_allclose(loss, medoid_loss(D, medoids))
    pam.removal_losses(two, removal)
    for m in range(k):
        rest = np.delete(medoids, m)
        np.testing.assert_allclose(loss + removal[m], medoid_loss(D, rest), rtol=1e-12)
    last, swaps, done = n, 0, False
    losses = [loss]
    while not done and (last < n or len(losses) == 1):
        last, swaps, loss, done = pam.swap_round(
            D,
            0,
            n,
            np.arange(n),
            last,
            swaps,
            loss,
            medoids,
            two,
            removal,
            change,
        )
        losses.append(loss)
    ranked = np.sort(D[medoids], axis=0)
    np.testing.assert_allclose(two.near_distance, ranked[0], rtol=1e-12)
    np.testing.assert_allclose(two.second_distance, ranked[1], rtol=1e-12)
    np.testing.assert_array_equal(two.near[medoids], np.arange(k))
    return losses


@pytest.mark.parametrize(("n", "k"), [(4, 2), (30, 2), (40, 5)])
def test_no_swap_is_left(n, k):
    D = cdist(*[np.random.default_rng(n).normal(size=(n, 2))] * 2)
    medoids = np.arange(k)
    losses = run(D, medoids)
    assert (np.diff(losses) <= 0).all()
    np.testing.assert_allclose(losses[-1], medoid_loss(D, medoids))
    for m, c in itertools.product(range(k), range(n)):
        other = medoids.copy()
        other[m] = c
        assert medoid_loss(D, other) >= losses[-1] * (1 - 1e-12)


def test_duplicates_and_constants():
    D = cdist(*[np.repeat([[0.0], [5.0]], 4, axis=0)] * 2)
    assert run(D, np.array([0, 1]))[-1] == 0.0
    assert run(np.zeros((5, 5)), np.array([0, 1]))[-1] == 0.0


@pytest.mark.parametrize("entries", [40, 10**9])
def test_build_takes_the_best_row_each_time(entries, monkeypatch):
    monkeypatch.setattr(_medoids, "ENTRIES_PER_CALL", entries)
    D = cdist(*[np.random.default_rng(3).normal(size=(20, 2))] * 2)
    medoids = _medoids._build(D, 3)
    for m in range(3):
        losses = [medoid_loss(D, np.append(medoids[:m], c)) for c in range(20)]
        np.testing.assert_allclose(medoid_loss(D, medoids[: m + 1]), min(losses))


def test_best_addition_is_the_largest_fall_of_the_loss():
    D = cdist(*[np.random.default_rng(4).normal(size=(12, 2))] * 2)
    nothing, taken = np.full(12, np.inf), np.zeros(12, np.bool_)
    first, gain = pam.best_addition(D, 0, 12, nothing, taken, -1, -np.inf)
    assert first == D.sum(axis=1).argmin()
    assert gain == pytest.approx(-D.sum(axis=1).min())
    nearest = D[first].copy()
    taken[first] = True
    gains = nearest.sum() - np.minimum(nearest, D).sum(axis=1)
    best, gain = pam.best_addition(D, 0, 12, nearest, taken, -1, -np.inf)
    assert best == gains.argmax()
    assert gain == pytest.approx(gains.max())
    # A part of the candidates only, a gain that none of them reaches, and all of them taken.
    assert pam.best_addition(D, 3, 6, nearest, taken, -1, -np.inf)[0] == 3 + gains[3:6].argmax()
    assert pam.best_addition(D, 0, 12, nearest, taken, 7, 1e9) == (7, 1e9)
    taken[:] = True
    assert pam.best_addition(D, 0, 12, nearest, taken, -1, -np.inf) == (-1, -np.inf)
