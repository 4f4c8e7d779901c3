import numpy as np
import pytest
from naive import node_loss
from numpy.testing import assert_allclose

from fastml.kernels.node_split import (
    Rows,
    choose,
    count_present,
    draw_columns,
    is_final,
    node_statistics,
)
from fastml.kernels.tree_nodes import ABSOLUTE_ERROR, ENTROPY, ERROR, GINI, POISSON, SQUARED_ERROR
from fastml.tree._grow import Options, _rules, presort, target_orders

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64
NAMES = {
    GINI: "gini",
    ENTROPY: "entropy",
    ERROR: "error",
    SQUARED_ERROR: "squared_error",
    POISSON: "poisson",
    ABSOLUTE_ERROR: "absolute_error",
}


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_statistics(criterion, n_outputs):
    rng = np.random.default_rng(0)
    n = 9
    y = rng.integers(0, 3, (n, n_outputs))
    w = rng.uniform(0.5, 2.0, n)
    classify = criterion <= ERROR
    values = None if classify else np.ascontiguousarray(y.T).astype(float)
    orders = presort(rng.normal(size=(n, 1)).astype(np.float32))
    places = None
    if criterion == ABSOLUTE_ERROR:
        orders = np.vstack([orders, target_orders(values)])
        places = np.empty((n_outputs, n), np.int32)
    data = Rows(
        orders, np.arange(n, dtype=np.int32), w, np.zeros(1, np.int8), np.zeros(1, np.intp),
        np.zeros(n, np.uint8),
    )  # fmt: skip
    rules = _rules(Options(criterion), n_classes=3 if classify else 1)
    classes = np.ascontiguousarray(y.T).astype(np.int32) if classify else None
    total = np.empty(n_outputs * rules.n_classes)
    weight, impurity = node_statistics(0, n, data, rules, classes, values, places, total)
    assert_allclose(weight, w.sum())
    assert_allclose(impurity, node_loss(y, w, NAMES[criterion]) / w.sum(), atol=1e-12)
    if classify:
        assert_allclose(total[:3], np.bincount(y[:, 0], w, 3))


def test_counts_of_classes_are_whole():
    """15 / 22 * 22 is not 15, and splits that tie would no longer."""
    n, classes = 22, np.zeros((1, 22), np.int32)
    classes[0, :15] = 1
    data = Rows(
        presort(np.zeros((n, 1), np.float32)), np.arange(n, dtype=np.int32), np.ones(n),
        np.zeros(1, np.int8), np.zeros(1, np.intp), np.zeros(n, np.uint8),
    )  # fmt: skip
    total = np.empty(2)
    node_statistics(0, n, data, _rules(Options(GINI), n_classes=2), classes, None, None, total)
    assert total.tolist() == [7.0, 15.0]


def test_no_counts_at_all_is_infinitely_impure():
    data = Rows(
        presort(np.zeros((2, 1), np.float32)), np.arange(2, dtype=np.int32), np.ones(2),
        np.zeros(1, np.int8), np.zeros(1, np.intp), np.zeros(2, np.uint8),
    )  # fmt: skip
    rules, total = _rules(Options(POISSON)), np.empty(1)
    assert node_statistics(0, 2, data, rules, None, np.zeros((1, 2)), None, total)[1] == np.inf


def test_ties_do_not_depend_on_the_draw():
    orders = presort(np.repeat(np.arange(8.0)[:, None], 10, axis=1).astype(np.float32))
    columns, found = np.empty(10, np.intp), np.zeros((10, 5))
    counts = np.zeros(10)
    for seed in range(2000):
        n_found = draw_columns(0, 8, orders, 10, 5, np.uint64(seed), columns)
        counts[columns[choose(n_found, columns, found, np.uint64(seed))]] += 1
    assert ((counts - 200.0) ** 2 / 200.0).sum() < 28.0  # chi-squared, 9 degrees: 0.1 %


def test_columns_drawn():
    X = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    X[:, 1] = 2.0
    X[:, 3] = np.linspace(0, 5e-8, 8)  # closer than a threshold may lie
    X[:4, 4] = np.nan
    orders, columns = presort(X), np.empty(5, np.intp)
    assert draw_columns(0, 8, orders, 5, 5, np.uint64(0), columns) == 3
    assert sorted(columns[:3]) == [0, 2, 4]
    seen = set()
    for seed in range(40):
        n_found = draw_columns(0, 8, orders, 5, 1, np.uint64(seed), columns)
        assert n_found == 1
        seen.add(columns[0])
    assert seen == {0, 2, 4}
    assert count_present(orders[4]) == 4
    assert count_present(orders[0]) == 8


def test_ties_do_not_favour_a_column():
    columns = np.arange(4)
    found = np.zeros((4, 5))
    winners = {choose(4, columns, found, np.uint64(seed)) for seed in range(60)}
    assert winners == {0, 1, 2, 3}
    found[:, 0] = -np.inf
    assert choose(4, columns, found, np.uint64(0)) == -1


def test_leaves_before_search():
    rules = _rules(Options(GINI, max_depth=3, min_split=4, min_leaf=2, min_weight=1.0))
    assert not is_final(5, 2, 5.0, 0.5, rules)
    for case in ((5, 3, 5.0, 0.5), (3, 2, 5.0, 0.5), (5, 2, 1.5, 0.5), (5, 2, 5.0, 0.0)):
        assert is_final(*case, rules)
