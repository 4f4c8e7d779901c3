import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.tree.finish import depth_first, leaf_statistics
from fastml.kernels.tree.nodes import LEAF, NODE

pytestmark = pytest.mark.small


def test_depth_first_order():
    lefts, rights = np.array([2, -1, 3, -1, -1]), np.array([1, -1, 4, -1, -1])
    source = np.empty(5, np.intp)
    depth_first(lefts, rights, 5, source)
    assert_array_equal(source, [0, 2, 3, 4, 1])
    assert_array_equal(rights, [4, 3, -1, -1, -1])


@pytest.mark.parametrize("classify", [True, False])
def test_values_of_leaves(classify):
    nodes = np.zeros(3, NODE)
    nodes["feature"], nodes["right"] = [0, LEAF, LEAF], [2, 0, 2]
    y = np.array([[0, 1, 1, 1]])
    w = np.array([1.0, 3.0, 1.0, 1.0])
    n_columns = 2 if classify else 1
    out = np.empty(2, np.int32), np.empty(2), np.empty((2, n_columns))
    classes, values = (y.astype(np.int32), None) if classify else (None, y.astype(float))
    rows = np.arange(4, dtype=np.int32)
    leaf_statistics(nodes, np.array([0, 2, 4], np.int32), rows, classes, values, w, n_columns, out)
    assert_array_equal(out[0], [2, 2])
    assert_array_equal(out[1], [4.0, 2.0])
    assert_allclose(out[2], [[0.25, 0.75], [0.0, 1.0]] if classify else [[0.75], [1.0]])
