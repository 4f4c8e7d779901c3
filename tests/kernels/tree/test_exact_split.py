"""Scans of one column against every split of it."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml._engines.trees.grow import presort, sorted_rows
from fastml.kernels.tree.exact_split import (
    ROW,
    Column,
    GrowthRules,
    Search,
    apart,
    respects,
    scan_classes,
    scan_means,
    scan_outputs,
    scan_plain_means,
    side_score,
)
from fastml.kernels.tree.node_split import OpenNode
from fastml.kernels.tree.nodes import ENTROPY, ERROR, GINI, POISSON, SQUARED_ERROR
from fastml.kernels.tree.presort import key_of

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64
CODES = {
    "gini": GINI,
    "entropy": ENTROPY,
    "error": ERROR,
    "squared_error": SQUARED_ERROR,
    "poisson": POISSON,
}
ANYWHERE = np.array([-np.inf, np.inf])
N_CLASSES = 3


def column_of(data, missing_left, first=1, last=None, sign=0):
    """The only column of ``data`` at a node of all rows, to be split anywhere by default."""
    entries = data.orders[0]
    m = int(np.searchsorted(entries >> np.uint64(32), np.uint64(0xFFFFFFFF)))
    if last is None:  # all values apart from the missing ones is a split too
        last = m if m < len(entries) and not missing_left else m - 1
    return Column(entries, m, first, last, missing_left, np.int8(sign))


def search_of(y, w, classify, gone_left, bounds=ANYWHERE):
    """What the node's rows sum to, and those that are on the left already."""

    def sums(rows):
        if classify:
            return np.concatenate([np.bincount(k[rows], w[rows], N_CLASSES) for k in y.T])
        return (w[rows, None] * y[rows]).sum(axis=0)

    total = sums(np.ones(len(y), bool))
    base = np.append(sums(gone_left), w[gone_left].sum())
    found, scratch = np.zeros((1, 5)), np.empty((2, len(total)))
    return Search(bounds, total, np.zeros(1, np.intp), found, base, *scratch)


def scanned(x, y, w, criterion, missing_left=False, sign=0, bounds=ANYWHERE, several=None, **rules):
    """(score, p) of the kernel, and the column; y is (n, n_outputs)."""
    classify, n_outputs = CODES[criterion] <= ERROR, y.shape[1]
    n_classes = N_CLASSES if classify else 1
    data = sorted_rows(presort(x[:, None].astype(np.float32)), 1, w, n_classes=n_classes)
    column = column_of(data, missing_left, sign=sign)
    search = search_of(y, w, classify, np.isnan(x) & missing_left, bounds)
    rules, weight = GrowthRules(CODES[criterion], **rules), w.sum()
    classes = np.ascontiguousarray(y.T).astype(np.int32) if classify else None
    values = None if classify else np.ascontiguousarray(y.T).astype(float)
    if several or n_outputs > 1:
        return *scan_outputs(column, data, rules, classes, values, weight, search), column
    if classify:
        return *scan_classes(column, data, rules, classes[0], weight, search), column
    return *scan_means(column, data, rules, values[0], weight, search), column


def problem(seed, n, n_outputs, kind):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).astype(np.float32).astype(float)
    if kind == "ties":
        x = np.round(x)
    if kind == "constant":
        x[:] = 2.0
    if kind == "missing" and n > 2:
        x[rng.choice(n, n // 3, replace=False)] = np.nan
    w = rng.uniform(0.5, 2.0, n) if kind == "weighted" else np.ones(n)
    return x, rng.integers(0, N_CLASSES, (n, n_outputs)), w


def side_of(column, p, missing_left):
    """Whether a row goes left in a split at p."""
    left = np.full(len(column.entries), missing_left)
    rows = (column.entries & ROW).astype(int)
    left[rows[: column.m]] = np.arange(column.m) < p
    return left


@pytest.mark.parametrize("criterion", CODES)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "weighted", "ties", "missing", "constant"])
@pytest.mark.parametrize("rules", [{}, {"min_leaf": 4}, {"min_weight": 3.5}], ids=str)
def test_best_of_all_splits(criterion, n_outputs, kind, rules):
    for seed, n in enumerate((1, 2, 13, 14)):
        x, y, w = problem(seed, n, n_outputs, kind)
        for missing_left in (False, True) if kind == "missing" and n > 2 else (False,):
            score, p, column = scanned(x, y, w, criterion, missing_left, **rules)
            losses = naive.losses_of_splits(x, y, w, criterion, missing_left, **rules)
            if not losses:
                assert (score, p) == (-np.inf, -1)
                continue
            assert column.first <= p <= column.last
            assert_allclose(losses[p], min(losses.values()), rtol=1e-9, atol=1e-9)
            left = side_of(column, p, missing_left)
            loss = sum(naive.node_loss(y[s], w[s], criterion) for s in (left, ~left))
            assert_allclose(loss, losses[p], atol=1e-12)


@pytest.mark.parametrize("criterion", CODES)
def test_one_output_scans_as_several_do(criterion):
    for kind in ("plain", "weighted", "ties", "missing"):
        x, y, w = problem(5, 20, 1, kind)
        assert scanned(x, y, w, criterion)[1] == scanned(x, y, w, criterion, several=True)[1]


def test_of_equal_scores_the_first_counts():
    x, y = np.arange(6.0), np.array([[0], [1], [1], [1], [1], [0]])
    for criterion in CODES:
        if criterion != "poisson":  # which needs counts on both sides
            assert scanned(x, y, np.ones(6), criterion)[1] == 1


def test_only_the_splits_asked_for():
    x, y = np.arange(8.0), np.array([0, 1, 1, 1, 1, 1, 0, 0])[:, None]
    data = sorted_rows(presort(x[:, None].astype(np.float32)), 1, n_classes=3)
    search = search_of(y, np.ones(8), True, np.zeros(8, bool))
    classes = y[:, 0].astype(np.int32)
    for first, last, expected in ((1, 7, 6), (2, 5, 5), (3, 3, 3)):
        column = column_of(data, False, first, last)
        found = scan_classes(column, data, GrowthRules(GINI), classes, 8.0, search)
        assert found[1] == expected


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_monotonic_constraint_forbids_a_falling_step(criterion):
    x, w = np.arange(8.0), np.ones(8)
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0])[:, None]
    falls = 1 if criterion == "gini" else -1  # the kernel bounds the share of the first class
    assert scanned(x, y, w, criterion, sign=falls)[1] == 4
    assert scanned(x, y, w, criterion, sign=-falls)[0] == -np.inf
    assert scanned(x, y, w, criterion, sign=falls, bounds=np.array([0.4, 0.6]))[0] == -np.inf


def test_close_values_are_one():
    assert not apart(
        np.uint64(key_of(np.float32(0.0))) << np.uint64(32),
        np.uint64(key_of(np.float32(1e-8))) << np.uint64(32),
    )
    x = np.array([0.0, 1e-8, 1.0])
    for several in (False, True):
        found = scanned(x, np.array([[0], [1], [1]]), np.ones(3), "gini", several=several)
        assert found[1] == 2


def test_respects():
    assert respects(1, np.array([-1.0, 1.0]), 0.0, 0.5)
    assert not respects(1, np.array([-1.0, 1.0]), 0.5, 0.0)
    assert not respects(0, np.array([-1.0, 0.2]), 0.0, 0.5)


@pytest.mark.parametrize("criterion", CODES)
def test_score_of_a_side_falls_as_its_loss_rises(criterion):
    """Score = what does not depend on the split - loss: both sides by a third and a half."""
    rng = np.random.default_rng(0)
    y, w = rng.integers(0, 3, (12, 2)), rng.uniform(0.5, 2.0, 12)
    classify, n_classes = CODES[criterion] <= ERROR, N_CLASSES if CODES[criterion] <= ERROR else 1
    both = []
    for cut in (4, 6):
        score = loss = 0.0
        for rows in (slice(0, cut), slice(cut, 12)):
            part, weights = y[rows], w[rows]
            total = search_of(part, weights, classify, np.zeros(len(part), bool)).total
            score += side_score(total, weights.sum(), n_classes, CODES[criterion])
            loss += 2 * naive.node_loss(part, weights, criterion)  # a mean of two outputs
        both.append((score, loss))
    assert_allclose(both[0][0] - both[1][0], both[1][1] - both[0][1], atol=1e-12)
    assert side_score(np.array([0.0]), 2.0, 1, POISSON) == -np.inf


@pytest.mark.parametrize("n", [2, 3, 40])
@pytest.mark.parametrize("min_leaf", [1, 2, 5])
@pytest.mark.parametrize("kind", ["normal", "ties", "constant"])
def test_plain_scan_has_the_bits_of_the_other(n, min_leaf, kind):
    x, y, _ = problem(n, n, 1, kind)
    rules = GrowthRules(SQUARED_ERROR, min_leaf=min_leaf)
    data = sorted_rows(presort(x.astype(np.float32)[:, None]), 1)
    values = y.T / 7.0
    whole = np.array([values.sum()])
    search = Search(
        ANYWHERE, whole, np.arange(1), np.zeros((1, 5)), np.zeros(2), np.empty(1), np.empty(1)
    )
    expected = scan_means(column_of(data, False), data, rules, values[0], float(n), search)
    node = OpenNode(0, n, np.uint64(0), float(n))
    found = scan_plain_means(0, node, data.orders, values, min_leaf, whole[0])
    assert found == expected
