import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.median_split import median_pass, weighted_median

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


def test_weighted_median():
    assert weighted_median(np.array([1.0, 2.0, 4.0]), np.ones(3)) == (2.0, 3.0)
    assert weighted_median(np.array([1.0, 3.0]), np.ones(2)) == (2.0, 2.0)
    assert weighted_median(np.array([1.0, 3.0]), np.array([1.0, 5.0]))[0] == 3.0
