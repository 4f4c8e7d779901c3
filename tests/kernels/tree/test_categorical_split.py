import numpy as np
import pytest
from naive import best_subset_split, node_loss
from numpy.testing import assert_allclose

from fastml._engines.trees.grow import presort
from fastml.kernels.tree.categorical_split import group_by_category, write_bitset
from fastml.kernels.tree.predict import in_categories
from fastml.tree import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = [pytest.mark.small, pytest.mark.filterwarnings("ignore:overflow")]  # of uint64


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_best_of_all_subsets(criterion):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, 40)
    y = rng.integers(0, 2, 40) if criterion != "squared_error" else rng.normal(size=40)
    cls = DecisionTreeRegressor if criterion == "squared_error" else DecisionTreeClassifier
    model = cls(criterion=criterion, max_depth=1, categorical_features=[0], n_jobs=1)
    left = model.fit(codes[:, None], y).apply(codes[:, None]) == 1
    w, y = np.ones(40), y[:, None]
    loss = node_loss(y[left], w[left], criterion) + node_loss(y[~left], w[~left], criterion)
    assert_allclose(loss, best_subset_split(codes, y, w, criterion))


def test_groups_ascend_by_mean():
    codes = np.array([2, 0, 1, 2, 0, 1, np.nan], np.float32)
    values = np.array([[5.0, 1.0, 9.0, 5.0, 2.0, 9.0, 0.0]])
    entries = presort(codes[:, None])[0]
    out = np.empty_like(entries)
    assert group_by_category(entries, 6, 0, None, values, np.ones(7), out) == 3
    rows = (out & np.uint64(0xFFFFFFFF)).astype(int)
    np.testing.assert_array_equal(codes[rows], [0, 0, 2, 2, 1, 1, np.nan])


@pytest.mark.parametrize("default_left", [False, True])
def test_bitset(default_left):
    codes = np.array([0, 3, 40, 40, 7], np.float32)
    sides = np.array([1, 0, 1, 1, 0], np.uint8)
    words = np.zeros(4, np.uint32)
    assert write_bitset(presort(codes[:, None])[0], 5, sides, default_left, words) == 3
    for code in (0, 40):
        assert in_categories(words, 0, code)
    for code in (3, 7):
        assert not in_categories(words, 0, code)
    for unseen in (5, 99, -1, 0.5):
        assert in_categories(words, 0, unseen) == default_left
