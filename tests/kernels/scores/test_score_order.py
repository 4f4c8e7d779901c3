"""Counts over sorted scores beside loops over all pairs."""

import naive_scores
import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.scores.score_order import (
    ordered_pairs,
    precision_area,
    split_scores,
    threshold_counts,
)

RNG = np.random.default_rng(0)
SCORES = {
    "none": (np.empty(0), np.empty(0)),
    "one positive": (np.ones(1), np.empty(0)),
    "one negative": (np.empty(0), np.ones(1)),
    "one of each, tied": (np.ones(1), np.ones(1)),
    "all tied": (np.zeros(7), np.zeros(5)),
    "apart": (np.arange(10.0, 15.0), np.arange(4.0)),
    "inverted": (np.arange(4.0), np.arange(10.0, 15.0)),
    "many ties": (np.sort(RNG.integers(4, size=40) / 2), np.sort(RNG.integers(5, size=30) / 2)),
    "random": (np.sort(RNG.normal(0.5, 1.0, 60)), np.sort(RNG.normal(size=50))),
}
every_case = pytest.mark.parametrize("scores", SCORES.values(), ids=list(SCORES))


@pytest.mark.small
@every_case
def test_ordered_pairs(scores):
    found = ordered_pairs(*map(read_only, scores))
    assert found == naive_scores.ordered_pairs(*scores)


@pytest.mark.small
@every_case
def test_precision_area(scores):
    found = precision_area(*map(read_only, scores))
    assert found == pytest.approx(naive_scores.precision_area(*scores), rel=1e-13)


@pytest.mark.small
@every_case
def test_threshold_counts(scores):
    arrays = [np.empty(scores[0].size + scores[1].size) for _ in range(3)]
    n = threshold_counts(*map(read_only, scores), *arrays)
    for found, expected in zip(arrays, naive_scores.threshold_counts(*scores)):
        np.testing.assert_array_equal(found[:n], expected)


@pytest.mark.small
@pytest.mark.parametrize("n", [0, 1, 2, 50])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_split_scores(n, share, dtype):
    rng = np.random.default_rng(n)
    scores, positive = rng.normal(size=n).astype(dtype), rng.random(n) < share
    split = np.empty(n)
    front = split_scores(read_only(positive), read_only(scores), split)
    assert front == positive.sum()
    np.testing.assert_array_equal(split[:front], scores[positive])
    np.testing.assert_array_equal(split[front:][::-1], scores[~positive])
