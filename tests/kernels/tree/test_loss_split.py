"""The best constant of a loss, and the best cut by it, against plain searches."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fastml._jit import jit_enabled, kernel
from fastml.kernels.tree.loss_split import (
    best_constant,
    loss_at,
    sample_impurity_loss,
    search_columns,
    search_cuts,
)

pytestmark = pytest.mark.small


@kernel
def pinball(y, c):
    """Three quarters."""
    return 0.75 * (y - c) if y > c else 0.25 * (c - y)


@kernel
def logistic(y, c):
    """Of y = 0 or 1 and the logarithm of the odds."""
    return np.logaddexp(0.0, c) - y * c


LOSSES = {"squares": sample_impurity_loss, "pinball": pinball, "logistic": logistic}


def rows(kind, n=13, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) * 10 + 100
    if kind == "logistic":
        y = (rng.random(n) < 0.4).astype(float)
        y[:2] = 0.0, 1.0
    return y, rng.integers(1, 4, n).astype(float)


def least(loss, y, w):
    span = max(np.ptp(y), 1.0)
    bounds = (y.min() - 50 * span, y.max() + 50 * span)
    found = minimize_scalar(
        lambda c: loss_at(loss, c, y, w), bounds=bounds, method="bounded", options={"xatol": 1e-10}
    )
    return found.fun


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("start", [0.0, 500.0])
def test_the_bottom_of_the_valley(kind, start):
    loss, (y, w) = LOSSES[kind], rows(kind)
    assert loss_at(loss, 1.5, y, w) == pytest.approx(sum(w * [loss(v, 1.5) for v in y]))
    constant, total = best_constant(loss, y, w, start, 1.0, 1e-9)
    assert total == pytest.approx(loss_at(loss, constant, y, w))
    assert total <= least(loss, y, w) * (1 + 1e-9)
    if kind == "squares":
        assert constant == pytest.approx(np.average(y, weights=w), abs=1e-5)


def test_one_row_and_equal_rows():
    for y in (np.array([7.0]), np.full(4, 7.0)):
        constant, total = best_constant(sample_impurity_loss, y, np.ones(len(y)), 0.0, 1.0, 1e-10)
        assert constant == pytest.approx(7.0, abs=1e-6)
        assert total == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("kind", LOSSES)
def test_the_best_cut(kind):
    loss, (y, w) = LOSSES[kind], rows(kind, 12)
    cuts = np.array([2, 3, 5, 8, 11])
    sums = [least(loss, y[:c], w[:c]) + least(loss, y[c:], w[c:]) for c in cuts]
    total, place = search_cuts(loss, y, w, cuts, float(y.mean()), 1.0, 1e-8)
    assert total <= min(sums) * (1 + 1e-6) + 1e-6  # of one class the valley has no bottom
    if kind != "logistic":
        assert place == np.argmin(sums)
    assert search_cuts(loss, y, w, cuts[:0], 0.0, 1.0, 1e-8) == (np.inf, -1)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_columns_one_by_one(n_threads):
    made = [rows("squares", 9, seed) for seed in range(3)]
    y, w = (np.array([pair[i] for pair in made]) for i in (0, 1))
    cuts = np.array([[1, 4, 8], [2, 5, 0], [0, 0, 0]])
    n_cuts = np.array([3, 2, 0])
    found = np.empty((3, 2))
    search_columns(
        sample_impurity_loss, y, w, cuts, n_cuts, 100.0, 1.0, 1e-7, found, n_threads=n_threads
    )
    for f in range(3):
        own = cuts[f, : n_cuts[f]]
        alone = search_cuts(sample_impurity_loss, y[f], w[f], own, 100.0, 1.0, 1e-7)
        assert tuple(found[f]) == alone


@pytest.mark.skipif(not jit_enabled(), reason="about the cache")
def test_it_is_never_cached_on_disk():
    for each in (loss_at, best_constant, search_cuts, search_columns.serial):
        assert not each._cache._enabled
