"""Expected mutual information beside SciPy's hypergeometric distribution."""

import naive
import numpy as np
import pytest
from scipy.special import gammaln

from fastml.kernels.scores.contingency import expected_information


@pytest.mark.small
@pytest.mark.parametrize(
    "a, b",
    [([1], [1]), ([3, 2], [5]), ([2, 2], [1, 3]), ([7, 7, 1], [5, 5, 5]), ([30, 2], [16] * 2)],
)
def test_expected_information(a, b):
    numbers = np.arange(sum(a) + 1.0)
    tables = gammaln(numbers + 1.0), np.log(np.maximum(numbers, 1.0))
    sizes = [np.unique(sizes, return_counts=True) for sizes in (a, b)]
    found = expected_information(*sizes[0], *sizes[1], *tables)
    assert found == pytest.approx(naive.expected_mutual_information(a, b), rel=1e-10, abs=1e-15)
