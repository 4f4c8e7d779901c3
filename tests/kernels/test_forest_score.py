"""Scores of a set of rows against the naive twin."""

import naive
import numpy as np
import pytest

from fastml.kernels import forest_score as k
from fastml.kernels.node_split import choose

CODES = {"squared": k.SQUARED, "entropy": k.ENTROPY, "poisson": k.POISSON, "error": k.ERROR}


@pytest.mark.small
@pytest.mark.parametrize("criterion", CODES)
def test_pairs(criterion):
    rng = np.random.default_rng(0)
    weights, y = rng.integers(1, 4, 9).astype(float), rng.integers(0, 2, (9, 1)).astype(float)
    total = weights @ y[:, 0]
    found = k.pair_score(weights.sum(), total, CODES[criterion])
    of = None if criterion in ("squared", "poisson") else [2]
    assert found == pytest.approx(naive.forest_score(weights, y, criterion, of))
    assert k.pair_score(3.0, 0.0, k.POISSON) == k.WORST
    assert k.x_log_x(0.0) == 0.0
    assert k.leaf_split().score == k.INVALID


@pytest.mark.small
@pytest.mark.parametrize("criterion", CODES)
def test_slots(criterion):
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, 9).astype(float)
    is_class = criterion != "poisson"
    y = np.column_stack([rng.integers(0, 3, 9), rng.integers(0, 2, 9) + (not is_class)])
    n_classes = [3, 2] if is_class else [1, 1]
    offsets = np.cumsum([1, *n_classes])
    slots = np.zeros(offsets[-1])
    for i in range(9):
        k.add_row(slots, weights[i], np.ascontiguousarray(y.T, dtype=float), i, offsets, is_class)
    assert slots[0] == weights.sum()
    found = k.slots_score(slots, offsets, is_class, CODES[criterion])
    expected = naive.forest_score(weights, y, criterion, n_classes if is_class else None)
    assert found == pytest.approx(expected)
    if not is_class:
        slots[2] = 0.0
        assert k.slots_score(slots, offsets, is_class, k.POISSON) == k.WORST


@pytest.mark.small
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # with JIT off
def test_ties_and_draws_are_those_of_single_trees():
    seed = np.uint64(5)
    found = np.zeros((4, 5))
    for first in range(4):
        for second in range(4):
            best = k.leaf_split()._replace(feature=first, score=1.0)
            columns = np.array([first, second])
            expected = columns[choose(2, columns, found, seed)] != first
            assert k.is_better(best.score, second, best, seed) == expected
    state, features = np.array([5], np.uint64), np.array([2, 0, 1], np.int32)
    assert k.start_draws(state, features) == seed
    assert state[0] == ~seed
    assert features.tolist() == [0, 1, 2]
