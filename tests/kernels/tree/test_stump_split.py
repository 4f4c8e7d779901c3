"""Stumps from sums of blocks = every split tried."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.trees.grow import presort
from fastml.kernels.tree import stump_split
from fastml.kernels.tree.exact_split import ROW, GrowthRules
from fastml.kernels.tree.nodes import ENTROPY, ERROR, GINI
from fastml.kernels.tree.stump_split import N_CODES

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "error": ERROR}


def best_splits(X, classes, weights, n_classes, criterion, min_leaf, rows_per_block, chunks=2):
    """found of every column, and how many rows were gone through."""
    n, d = X.shape
    rules = GrowthRules(criterion, min_leaf=min_leaf)
    orders = presort(X)
    width = max(1, d - 1)  # two groups, the last with room to spare
    codes = np.zeros((-(-d // width), n, width), np.uint8)
    starts, inner = np.zeros((d, N_CODES + 1), np.intp), np.zeros((d, N_CODES), bool)
    n_blocks = np.zeros(d, np.intp)
    stump_split.code_columns(orders, rows_per_block, codes, starts, inner, n_blocks, n_threads=1)
    for f in range(d):
        for b in range(n_blocks[f]):
            rows = (orders[f, starts[f, b] : starts[f, b + 1]] & ROW).astype(int)
            assert_array_equal(codes[f // width, rows, f % width], b)
            assert inner[f, b] == (np.diff(np.sort(X[rows, f])) > 1e-7).any()
    sums = np.empty((chunks, len(codes), width * N_CODES * n_classes))
    stump_split.sum_blocks(
        codes, chunks, -(-n // chunks), classes, weights, n_classes, sums, n_threads=1
    )
    prefix, totals = np.empty((d, N_CODES + 1, n_classes)), np.empty((d, n_classes))
    bounds, found = np.full((d, N_CODES), -np.inf), np.zeros((d, 5))
    stump_split.score_ends(
        sums.reshape(chunks, -1, N_CODES, n_classes), starts, inner, n_blocks, rules,
        prefix, totals, bounds, found, n_threads=1,
    )  # fmt: skip
    for f in range(d):
        expected = np.bincount(classes, weights, n_classes)
        assert_allclose(totals[f], expected, atol=1e-15)
    known = found[:, 0].max()
    stump_split.score_rows(
        orders, starts, n_blocks, rules, prefix, totals, bounds, known, classes,
        weights, found, n_threads=1,
    )  # fmt: skip
    return found, int((bounds >= known).sum()), int(n_blocks.sum())


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("min_leaf", [1, 9])
def test_best_of_all_columns(criterion, n_classes, min_leaf):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(120, 4)).astype(np.float32)
    X[:, 1] = rng.integers(0, 7, 120)
    X[:, 2] = 1.0
    classes = rng.integers(0, n_classes, 120).astype(np.int32)
    weights = rng.random(120) ** 8
    found, *_ = best_splits(X, classes, weights, n_classes, CRITERIA[criterion], min_leaf, 7)
    every = [naive.stump_scores(x, classes, weights, n_classes, criterion, min_leaf) for x in X.T]
    best = max(range(4), key=lambda f: max(every[f].values(), default=-np.inf))
    assert found[:, 0].argmax() == best
    assert found[2, 0] == -np.inf
    p, top = int(found[best, 1]), max(every[best].values())
    assert_allclose(every[best][p], top, rtol=1e-12)
    for f in (0, 1, 3):  # other columns: never above their best, and a split that exists
        assert every[f][int(found[f, 1])] <= max(every[f].values()) + 1e-12


def test_few_blocks_are_gone_through():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)).astype(np.float32)
    classes = (X[:, 1] + rng.normal(size=2000) > 0).astype(np.int32)
    found, n_scanned, n_blocks = best_splits(X, classes, np.full(2000, 5e-4), 2, GINI, 1, 20)
    scores = naive.stump_scores(X[:, 1], classes, np.full(2000, 5e-4), 2, "gini", 1)
    assert int(found[1, 1]) == max(scores, key=scores.get)
    assert n_scanned < n_blocks / 10


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows(n):
    X = np.arange(n, dtype=np.float32).reshape(-1, 1)
    classes = np.arange(n, dtype=np.int32)
    found, *_ = best_splits(X, classes, np.ones(n), 2, GINI, 1, 32, chunks=1)
    assert found[0, 1] == (1 if n == 2 else -1)


def test_weights_next_to_nothing():
    """What is left of the total by subtraction is rounding error, and must not be
    taken for the best split."""
    X = np.arange(60, dtype=np.float32).reshape(-1, 1)
    classes = (np.arange(60) >= 20).astype(np.int32)
    classes[-3:] = 0
    weights = np.where(np.arange(60) < 57, 1.0, 1e-18)
    for criterion in CRITERIA.values():
        found, *_ = best_splits(X, classes, weights, 2, criterion, 1, 5)
        assert found[0, 1] == 20


def test_corners_bound_the_inside():
    rng = np.random.default_rng(1)
    for criterion in CRITERIA.values():
        for n_classes in (2, 3):
            low = rng.random(n_classes)
            high = low + 0.1 * rng.random(n_classes)
            total, scratch = high + rng.random(n_classes), np.empty((2, n_classes))
            args = (total, *scratch, criterion)
            bound = stump_split._corner_bound(low, high, *args)
            ends = [stump_split._score(end, total, scratch[1], criterion) for end in (low, high)]
            for share in rng.random((50, n_classes)):
                inside = low + share * (high - low)
                score = stump_split._score(inside, total, scratch[1], criterion)
                assert score <= max(bound, *ends) + 1e-12


def test_sides():
    rng = np.random.default_rng(0)
    x, classes = rng.normal(size=50).astype(np.float32), rng.integers(0, 3, 50).astype(np.int32)
    weights, sides = rng.random(50), np.zeros((3, 2, 3))
    stump_split.side_sums(3, 17, x, 0.2, classes, weights, sides, n_threads=1)
    for side, rows in enumerate((x <= 0.2, x > 0.2)):
        assert_allclose(sides.sum(axis=0)[side], np.bincount(classes[rows], weights[rows], 3))


def test_side_value_of_nothing():
    assert stump_split.side_value(np.zeros(2), GINI) == 0.0
