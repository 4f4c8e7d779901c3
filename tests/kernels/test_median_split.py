import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.median_split import first_least, median_pass, unit_losses, weighted_median
from fastml.kernels.presort import key_of

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
