"""Scores of a set of rows against the naive twin."""

import naive
import numpy as np
import pytest

from fastml.kernels.forest import score as k
from fastml.kernels.tree import nodes
from fastml.kernels.tree.node_split import choose

CODES = {
    "gini": ("squared", nodes.GINI, True),
    "entropy": ("entropy", nodes.ENTROPY, True),
    "error": ("error", nodes.ERROR, True),
    "squared error": ("squared", nodes.SQUARED_ERROR, False),
    "poisson": ("poisson", nodes.POISSON, False),
}
"""Name of the score in `naive`, code, whether targets are classes."""


@pytest.mark.small
@pytest.mark.parametrize("x", [-1.0, 0.0, 1e-300, 0.5, 1.0, 7.0])
def test_x_log_x(x):
    assert k.x_log_x(x) == pytest.approx(x * np.log(x) if x > 0.0 else 0.0)


@pytest.mark.small
@pytest.mark.parametrize("kind", CODES)
def test_pairs(kind):
    criterion, code, is_class = CODES[kind]
    rng = np.random.default_rng(0)
    for n in (1, 2, 9):
        weights = rng.integers(1, 4, n).astype(float)
        y = rng.integers(0, 2, (n, 1)).astype(float)
        y[0] = 1.0
        found = k.pair_score(weights.sum(), weights @ y[:, 0], code)
        # Gini of two classes is worked out for class 1 alone.
        of = [2] if is_class and kind != "gini" else None
        assert found == pytest.approx(naive.forest_score(weights, y, criterion, of))
    assert k.pair_score(3.0, 0.0, nodes.POISSON) == k.WORST
    assert k.is_squared(code) == (criterion == "squared")
    assert k.leaf_split().score == k.INVALID


@pytest.mark.small
@pytest.mark.parametrize("kind", CODES)
def test_cuts(kind):
    code = CODES[kind][1]
    rng = np.random.default_rng(0)
    for _ in range(5):
        (a, b), shares = rng.random(2) + 1.0, rng.random(2)
        both = k.pair_score(a, a * shares[0], code) + k.pair_score(b, b * shares[1], code)
        assert k.cut_score(a, a * shares[0], b, b * shares[1], code) == pytest.approx(both)


@pytest.mark.small
@pytest.mark.parametrize("kind", CODES)
def test_slots(kind):
    criterion, code, is_class = CODES[kind]
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, 9).astype(float)
    y = np.column_stack([rng.integers(0, 3, 9), rng.integers(0, 2, 9) + (not is_class)])
    n_classes = [3, 2] if is_class else [1, 1]
    offsets = np.cumsum([1, *n_classes])
    slots = np.zeros(offsets[-1])
    for i in range(9):
        k.add_row(slots, weights[i], np.ascontiguousarray(y.T, dtype=float), i, offsets, is_class)
    assert slots[0] == weights.sum()
    found = k.slots_score(slots, offsets, code)
    expected = naive.forest_score(weights, y, criterion, n_classes if is_class else None)
    assert found == pytest.approx(expected)
    if kind == "poisson":
        slots[2] = 0.0
        assert k.slots_score(slots, offsets, code) == k.WORST


@pytest.mark.small
@pytest.mark.parametrize("kind", CODES)
def test_scores_become_impurities(kind):
    """What a split gains, times the factor, is the fall of weight times impurity."""
    _, code, is_class = CODES[kind]
    rng = np.random.default_rng(2)
    weights, y = rng.integers(1, 4, 20).astype(float), rng.integers(0, 2, (20, 1)).astype(float)
    y[[0, 10]] = 1.0
    loss = {"gini": "gini", "squared error": "squared_error"}.get(kind, kind)
    parts = [slice(0, 20), slice(0, 10), slice(10, 20)]
    losses = [naive.node_loss(y[part], weights[part], loss) for part in parts]
    sums = [(weights[part].sum(), weights[part] @ y[part, 0]) for part in parts]
    gain = k.cut_score(*sums[1], *sums[2], code) - k.pair_score(*sums[0], code)
    fall = losses[0] - losses[1] - losses[2]
    assert gain * k.impurity_factor(code, True) == pytest.approx(fall)
    if is_class:
        slots = [np.array([w, w - s, s]) for w, s in sums]
        whole, left, right = (k.slots_score(each, np.array([1, 3]), code) for each in slots)
        assert (left + right - whole) * k.impurity_factor(code, False) == pytest.approx(fall)


@pytest.mark.small
@pytest.mark.parametrize(
    ("sign", "lower", "upper", "breaks"),
    [
        (0, -np.inf, np.inf, False),
        (1, -np.inf, np.inf, False),
        (-1, -np.inf, np.inf, True),
        (1, 1.0, 2.0, False),
        (1, 1.1, 2.0, True),
        (0, 1.0, 1.9, True),
    ],
)
def test_directions(sign, lower, upper, breaks):
    assert k.breaks_direction(sign, lower, upper, (1.0, 2.0)) == breaks
    assert k.breaks_direction(-sign, lower, upper, (2.0, 1.0)) == breaks
    assert not k.breaks_direction(sign, lower, upper, (1.5, 1.5))


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
