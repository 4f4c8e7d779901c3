"""Leaves of forests: one or a few rows whose means and shares are plain."""

import numpy as np
import pytest

from fastml.kernels.forest.frame import Frame
from fastml.kernels.forest.leaf import leaf_of
from fastml.kernels.tree.nodes import GINI, POISSON, SQUARED_ERROR

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning")


def leaf(y, *, offsets=None, is_class=False, poisson=False, columns=1, bounds=(-np.inf, np.inf)):
    criterion = GINI if is_class else POISSON if poisson else SQUARED_ERROR
    y = np.ascontiguousarray(np.asarray(y, dtype=float).T)
    frame = Frame(np.empty((0, 3), np.uint8), y, np.array([1.0, 2.0, 1.0]))
    values = np.empty(columns)
    slots = np.empty(1 if offsets is None else offsets[-1])
    rows = np.arange(3, dtype=np.uint32)
    return *leaf_of(frame, offsets, criterion, rows, slots, *bounds, values), values


@pytest.mark.small
def test_one_mean():
    weight, impurity, pure, values = leaf([[1.0], [2.0], [5.0]])
    assert (weight, pure, values[0]) == (4.0, -1, 2.5)
    assert impurity == pytest.approx((1 + 2 * 4 + 25) / 4 - 2.5**2)
    assert leaf([[1.0], [2.0], [5.0]], bounds=(3.0, 9.0))[3][0] == 3.0
    impurity = leaf([[0.0], [2.0], [4.0]], poisson=True)[1]
    assert impurity == pytest.approx((4 * np.log(2.0) + 4 * np.log(4.0)) / 4 - 2 * np.log(2.0))


@pytest.mark.small
def test_two_classes():
    weight, _, pure, values = leaf([[0], [1], [1]], is_class=True, columns=2)
    assert (weight, pure) == (4.0, -1)
    np.testing.assert_array_equal(values, [0.25, 0.75])
    assert leaf([[1], [1], [1]], is_class=True, columns=2)[2] == 1
    assert leaf([[0], [0], [0]], is_class=True, columns=1)[2] == 0


@pytest.mark.small
def test_slots():
    offsets = np.array([1, 4])
    *_, pure, values = leaf([[0], [2], [2]], offsets=offsets, is_class=True, columns=3)
    assert pure == -1
    np.testing.assert_array_equal(values, [0.25, 0.0, 0.75])
    assert leaf([[2], [2], [2]], offsets=offsets, is_class=True, columns=3)[2] == 2
    offsets = np.array([1, 4, 6])
    values = leaf([[0, 1], [2, 1], [2, 0]], offsets=offsets, is_class=True, columns=6)[3]
    np.testing.assert_array_equal(values, [0.25, 0.0, 0.75, 0.25, 0.75, 0.0])
    offsets = np.array([1, 2, 3])
    for poisson in (False, True):
        Y = [[1.0, 1.0], [2.0, 1.0], [5.0, 1.0]]
        _, impurity, _, values = leaf(Y, offsets=offsets, columns=2, poisson=poisson)
        np.testing.assert_array_equal(values, [2.5, 1.0])
        alone = leaf([[1.0], [2.0], [5.0]], poisson=poisson)[1]
        assert impurity == pytest.approx(alone / 2)
