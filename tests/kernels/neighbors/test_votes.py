"""Votes, ties and means over neighbours."""

import numpy as np
import pytest
from naive import neighbour_votes

from fastml.kernels.neighbors import votes

pytestmark = pytest.mark.small

LABELS = np.array([0, 1, 2, 1])


def test_votes_are_sums_of_weights():
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 4, size=(6, 3))
    weights = rng.random((6, 3))
    out = np.empty((6, 3))
    votes.sum_votes(LABELS, indices, weights, out)
    np.testing.assert_allclose(out, neighbour_votes(LABELS, indices, weights, 3))
    votes.count_votes(LABELS, indices, out)
    np.testing.assert_array_equal(out, neighbour_votes(LABELS, indices, np.ones((6, 3)), 3))
    votes.normalise_votes(out)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)


def test_ragged_votes_and_means():
    indptr, indices = np.array([0, 2, 2, 3]), np.array([0, 1, 3])
    out = np.empty((3, 3))
    votes.sum_ragged_votes(LABELS, indptr, indices, np.empty(0), out)
    np.testing.assert_array_equal(out, [[1, 1, 0], [0, 0, 0], [0, 1, 0]])
    means = np.empty((3, 1))
    targets = np.array([[1.0], [3.0], [5.0], [7.0]])
    votes.ragged_mean_targets(targets, indptr, indices, np.array([1.0, 3.0, 2.0]), means)
    np.testing.assert_array_equal(means[[0, 2], 0], [2.5, 7.0])
    assert np.isnan(means[1, 0])


@pytest.mark.parametrize(
    ("rule", "distances", "expected"),
    [
        (votes.REFUSE, [1.0, 2.0], -1),
        (votes.NEAREST_CLASS, [1.0, 2.0], 1),
        (votes.NEAREST_CLASS, [1.0, 1.0], -1),
    ],
)
def test_ties(rule, distances, expected):
    indices = np.array([[1, 0]])  # labels 1, 0
    ballot = np.empty((1, 3))
    votes.count_votes(LABELS, indices, ballot)
    winner = np.empty(1, np.intp)
    votes.elect(ballot, winner)
    assert winner[0] == 0  # the usual rule: the smallest label
    votes.break_ties(rule, ballot, LABELS, np.array([distances]), indices, winner)
    assert winner[0] == expected


def test_no_tie_is_left_alone():
    ballot = np.array([[0.0, 2.0, 1.0]])
    winner = np.array([1])
    votes.break_ties(votes.REFUSE, ballot, LABELS, np.zeros((1, 1)), np.array([[1]]), winner)
    assert winner[0] == 1


def test_a_query_is_dropped_from_its_neighbours():
    indices = np.array([[0, 2], [2, 0], [1, 2]])
    distances = np.arange(6.0).reshape(3, 2)
    out_distances, out = np.empty((3, 1)), np.empty((3, 1), np.intp)
    votes.drop_self(distances, indices, out_distances, out)
    np.testing.assert_array_equal(out[:, 0], [2, 0, 1])  # row 1: the first goes
    np.testing.assert_array_equal(out_distances[:, 0], [1.0, 3.0, 4.0])


def test_weighted_means():
    targets = np.array([[1.0, 0.0], [3.0, 1.0]])
    indices, weights = np.array([[0, 1]]), np.array([[1.0, 3.0]])
    out = np.empty((1, 2))
    votes.weighted_mean_targets(targets, indices, weights, out)
    np.testing.assert_array_equal(out, [[2.5, 0.75]])
    votes.mean_targets(targets, indices, out)
    np.testing.assert_array_equal(out, [[2.0, 0.5]])
