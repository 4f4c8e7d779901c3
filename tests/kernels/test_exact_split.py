"""Splits of one column, through `search_column`, against all thresholds."""

import numpy as np
import pytest
from naive import best_threshold_split, node_loss
from numpy.testing import assert_allclose

from fastml.kernels.exact_split import apart, respects, side_score
from fastml.kernels.node_split import search_column
from fastml.kernels.presort import key_of
from fastml.kernels.tree_nodes import (
    ABSOLUTE_ERROR,
    ENTROPY,
    ERROR,
    GINI,
    POISSON,
    SQUARED_ERROR,
)
from fastml.tree._grow import Options, _rules, presort, target_orders

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64
CODES = {
    "gini": GINI,
    "entropy": ENTROPY,
    "error": ERROR,
    "squared_error": SQUARED_ERROR,
    "poisson": POISSON,
    "absolute_error": ABSOLUTE_ERROR,
}


def search(x, y, w, criterion, *, min_leaf=1, sign=0, bounds=(-np.inf, np.inf), categorical=False):
    """found of the kernel on one column; y is (n, n_outputs)."""
    n, n_outputs = y.shape
    code = CODES[criterion]
    classify = code <= ERROR
    classes = np.ascontiguousarray(y.T).astype(np.int32) if classify else None
    values = None if classify else np.ascontiguousarray(y.T).astype(float)
    n_classes = int(y.max()) + 1 if classify else 1
    rules = _rules(
        Options(code, min_leaf=min_leaf),
        n_classes=n_classes,
        unit=bool(np.all(w == 1)),
        monotonic=sign != 0,
    )
    total = np.zeros(n_outputs * n_classes)
    for o in range(n_outputs):
        if classify:
            total[o * n_classes : (o + 1) * n_classes] = np.bincount(y[:, o], w, n_classes)
        else:
            total[o] = w @ y[:, o]
    places = ys = ws = None
    ys = ws = np.zeros((0, 0))
    if code == ABSOLUTE_ERROR:
        rows = (target_orders(values) & np.uint64(0xFFFFFFFF)).astype(int)
        places = np.empty((n_outputs, n), np.int32)
        ys, ws = np.empty((n_outputs, n)), np.empty((n_outputs, n))
        for o in range(n_outputs):
            places[o, rows[o]] = np.arange(n)
            ys[o], ws[o] = values[o, rows[o]], w[rows[o]]
    several = np.zeros(1, np.intp) if n_outputs > 1 and places is None else None
    found = np.zeros(5)
    search_column(
        presort(x[:, None].astype(np.float32))[0], np.uint64(1), sign, categorical, rules, w, total,
        np.array([min_leaf, 0.0, w.sum()]), np.array(bounds), classes, values, places, several,
        ys, ws, found, np.empty((3, len(total) + 1)),
    )  # fmt: skip
    return found


def loss_of(found, x, y, w, criterion):
    left = np.where(np.isnan(x), found[2] > 0, x <= found[3])
    return node_loss(y[left], w[left], criterion) + node_loss(y[~left], w[~left], criterion)


@pytest.mark.parametrize("criterion", CODES)
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", ["plain", "weighted", "ties", "missing"])
def test_best_of_all_thresholds(criterion, n_outputs, kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = 14
        x = rng.normal(size=n).astype(np.float32).astype(float)
        if kind == "ties":
            x = np.round(x)
        if kind == "missing":
            x[rng.choice(n, 4, replace=False)] = np.nan
        y = rng.integers(0, 3, size=(n, n_outputs))
        w = rng.uniform(0.5, 2.0, n) if kind == "weighted" else np.ones(n)
        for min_leaf in (1, 4):
            found = search(x, y, w, criterion, min_leaf=min_leaf)
            best = best_threshold_split(x, y, w, criterion, min_leaf)
            if np.isinf(best):
                assert found[0] == -np.inf
            else:
                assert_allclose(loss_of(found, x, y, w, criterion), best, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_monotonic_constraint_forbids_a_falling_step(criterion):
    x = np.arange(8.0)
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0])[:, None]
    falls = 1 if criterion == "gini" else -1  # the kernel bounds the share of the first class
    assert search(x, y, np.ones(8), criterion, sign=falls)[0] > -np.inf
    assert search(x, y, np.ones(8), criterion, sign=-falls)[0] == -np.inf
    assert search(x, y, np.ones(8), criterion, sign=falls, bounds=(0.4, 0.6))[0] == -np.inf


def test_close_values_are_one():
    assert not apart(
        np.uint64(key_of(np.float32(0.0))) << np.uint64(32),
        np.uint64(key_of(np.float32(1e-8))) << np.uint64(32),
    )
    x = np.array([0.0, 1e-8, 1.0])
    found = search(x, np.array([[0], [1], [1]]), np.ones(3), "gini")
    assert found[1] == 2


def test_helpers():
    assert respects(1, -1.0, 1.0, 0.0, 0.5)
    assert not respects(1, -1.0, 1.0, 0.5, 0.0)
    assert not respects(0, -1.0, 0.2, 0.0, 0.5)
    assert side_score(np.array([2.0, 0.0]), 2.0, 2, ERROR) == 2.0
    assert side_score(np.array([0.0]), 2.0, 1, POISSON) == -np.inf
