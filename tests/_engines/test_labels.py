"""Labels of any type become codes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from fastml._engines.labels import classes_and_codes


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, -2, 3, 7]),
        np.array([10**12, 5, 10**12]),
        np.array([250, 3, 250], dtype=np.uint8),
        np.array(["b", "a", "b"]),
        np.array([True, False, True]),
        np.array([1.0, 0.0, 2.0]),
        np.array(["b", "a"], dtype=object),
    ],
    ids=str,
)
def test_labels_of_every_type(y):
    classes, codes = classes_and_codes(y)
    assert_array_equal(classes, np.unique(y))
    assert classes.dtype == y.dtype
    assert_array_equal(classes[codes], y)


def test_numbers_that_are_no_labels():
    with pytest.raises(ValueError, match="Unknown label type"):
        classes_and_codes(np.array([0.5, 1.7, 2.2]))
