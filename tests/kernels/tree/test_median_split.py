import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml._engines.trees.grow import presort, sorted_rows
from fastml.kernels.tree.exact_split import Column, GrowthRules, Search
from fastml.kernels.tree.median_split import (
    TargetLists,
    first_least,
    median_pass,
    scan_medians,
    unit_losses,
    weighted_median,
)
from fastml.kernels.tree.nodes import ABSOLUTE_ERROR
from fastml.kernels.tree.presort import key_of

pytestmark = pytest.mark.small


def best_loss(y, w):
    return min((w @ np.abs(y - c) for c in y), default=0.0)


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("n, m", [(1, 1), (2, 2), (5, 3), (12, 12), (13, 9)])
def test_losses_of_prefixes_and_suffixes(forward, drop, n, m):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.round(rng.normal(size=n), 1 if seed else 8)
        w = np.ones(n) if seed < 2 else rng.uniform(0.2, 3.0, n)
        order = np.argsort(y, kind="stable")
        places = np.empty(n, np.int32)
        places[order] = np.arange(n)
        rows = rng.permutation(n)
        losses, medians = np.zeros(m + 1), np.zeros(m + 1)
        scratch = np.empty(n, np.int32), np.empty(n, np.int32)
        median_pass(
            rows.astype(np.uint64), m, forward, drop, places, y[order], w[order], *scratch, losses,
            medians,
        )  # fmt: skip
        for p in range(m + 1):
            side = rows[p:m] if forward else rows[:p]
            side = side if drop else np.concatenate([side, rows[m:]])
            assert_allclose(losses[p], best_loss(y[side], w[side]), atol=1e-9)
            if len(side) and seed < 2:
                assert medians[p] == pytest.approx(np.median(y[side]))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 16, 17, 40])
@pytest.mark.parametrize("decimals", [8, 1, 0])
def test_losses_of_all_splits_with_unit_weights(n, decimals):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.round(rng.normal(size=n), decimals)
        order = np.argsort(y, kind="stable")
        places = np.empty(n, np.int32)
        places[order] = np.arange(n)
        rows = rng.permutation(n)
        losses = np.empty(n)
        unit_losses(rows.astype(np.uint64), places, y[order], losses)
        ones = np.ones(n)
        for p in range(1, n):
            left, right = rows[:p], rows[p:]
            expected = best_loss(y[left], ones[left]) + best_loss(y[right], ones[right])
            assert_allclose(losses[p], expected, atol=1e-12)


def test_the_first_of_the_least_losses_counts():
    values = np.array([1, 2, 2, 3, 4, 5], np.float32)
    entries = np.array([int(key_of(v)) << 32 | i for i, v in enumerate(values)], np.uint64)
    losses = np.array([0.0, 3.0, 1.0, 2.0, 2.0, 2.0])
    assert first_least(entries, 1, 5, 1, 0.0, losses) == (-2.0, 3)  # not between equal values
    assert first_least(entries, 1, 5, 2, 0.0, losses) == (-2.0, 3)
    assert first_least(entries, 4, 4, 1, 0.0, losses) == (-2.0, 4)
    assert first_least(entries, 1, 5, 1, 2.5, losses) == (-2.0, 3)
    assert first_least(entries, 1, 5, 4, 0.0, losses) == (-np.inf, -1)
    losses[1] = 2.0 - 1e-13
    assert first_least(entries, 1, 5, 1, 0.0, losses)[1] == 1


def test_weighted_median():
    assert weighted_median(np.array([1.0, 2.0, 4.0]), np.ones(3)) == (2.0, 3.0)
    assert weighted_median(np.array([1.0, 3.0]), np.ones(2)) == (2.0, 2.0)
    assert weighted_median(np.array([1.0, 3.0]), np.array([1.0, 5.0]))[0] == 3.0


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_missing", [0, 4])
@pytest.mark.parametrize("rules", [{}, {"min_leaf": 3}, {"min_weight": 3.5}], ids=str)
@pytest.mark.filterwarnings("ignore:overflow")  # of uint64
def test_best_of_all_splits(n_outputs, weighted, n_missing, rules):
    for seed, n in enumerate((2, 13, 14)):
        rng = np.random.default_rng(seed)
        x, y = np.round(rng.normal(size=n), 1), rng.integers(0, 5, (n, n_outputs)) * 1.0
        w = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
        m = n - n_missing if n > n_missing else n
        x[m:] = np.nan
        start = 3  # the node's targets lie in the middle of the lists
        shape = n_outputs, n + 5
        lists = TargetLists(np.empty((n_outputs, n), np.int32), np.empty(shape), np.empty(shape))
        for o in range(n_outputs):
            order = np.argsort(y[:, o], kind="stable")
            lists.places[o, order] = np.arange(n)
            lists.ys[o, start : start + n], lists.ws[o, start : start + n] = y[order, o], w[order]
        empty = np.empty(n_outputs)
        search = Search(
            np.array([-np.inf, np.inf]), empty, np.zeros(1, np.intp), np.zeros((1, 5)),
            np.empty(n_outputs + 1), empty, empty,
        )  # fmt: skip
        data = sorted_rows(presort(x[:, None].astype(np.float32)), 1, w)
        for missing_left in (False, True) if m < n else (False,):
            last = m if m < n and not missing_left else m - 1
            column = Column(data.orders[0], m, 1, last, missing_left, np.int8(0))
            score, p = scan_medians(
                column, data, GrowthRules(ABSOLUTE_ERROR, **rules), lists, start, w.sum(),
                search,
            )  # fmt: skip
            losses = naive.losses_of_splits(x, y, w, "absolute_error", missing_left, **rules)
            if not losses:
                assert (score, p) == (-np.inf, -1)
                continue
            assert_allclose(losses[p], min(losses.values()), rtol=1e-9)
            assert_allclose(-score, n_outputs * losses[p], rtol=1e-9, atol=1e-12)
            assert p == next(q for q, loss in losses.items() if loss <= losses[p] + 1e-9)
