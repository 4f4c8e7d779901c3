"""A hint changes nothing, whatever the type and the size."""

import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.numeric.prefetch import prefetch_row

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_columns", [0, 1, 50])
def test_rows_stay_as_they_are(dtype, n_columns):
    X = np.arange(3 * n_columns, dtype=dtype).reshape(3, n_columns)
    before = X.copy()
    for i in range(3):
        assert prefetch_row(read_only(X), i) is None
    assert np.array_equal(X, before)
