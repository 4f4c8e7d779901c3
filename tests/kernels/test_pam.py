"""FasterPAM ends where no swap helps, and its bookkeeping is right all along."""

import itertools

import numpy as np
import pytest
from naive import medoid_loss
from scipy.spatial.distance import cdist

from fastml.cluster import _medoids
from fastml.kernels import pam

pytestmark = pytest.mark.small


def run(D, medoids):
    n, k = len(D), len(medoids)
    near, second = np.empty(n, np.intp), np.empty(n, np.intp)
    near_distance, second_distance = np.empty(n), np.empty(n)
    removal, change = np.empty(k), np.empty(k)
    loss = pam.assign(D, medoids, near, second, near_distance, second_distance)
    np.testing.assert_allclose(loss, medoid_loss(D, medoids))
    pam.removal_losses(near, near_distance, second_distance, removal)
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
            near,
            second,
            near_distance,
            second_distance,
            removal,
            change,
        )
        losses.append(loss)
    ranked = np.sort(D[medoids], axis=0)
    np.testing.assert_allclose(near_distance, ranked[0], rtol=1e-12)
    np.testing.assert_allclose(second_distance, ranked[1], rtol=1e-12)
    np.testing.assert_array_equal(near[medoids], np.arange(k))
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
