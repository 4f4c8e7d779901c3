from itertools import pairwise

import numpy as np
import pytest
from naive import svm_kernel

from fastml._engines.gram.sources import FORMS, normed_rows
from fastml._threads import single_threaded_blas
from fastml.kernels.svm.rows import DotKernel
from fastml.kernels.svm.support_sums import QUERIES, kernel_sums

pytestmark = pytest.mark.small


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
@pytest.mark.parametrize(("n", "starts"), [(1, [0, 1]), (5, [0, 0, 4]), (140, [0, 2, 520, 521])])
def test_sums_are_products_with_the_kernel(name, n, starts):
    rng = np.random.default_rng(n)
    starts = np.array(starts)
    Q, S = rng.normal(size=(n, 3)), rng.normal(size=(starts[-1], 3))
    coefficients = rng.normal(size=(2, starts[-1]))
    K = svm_kernel(name, Q, S)
    expected = np.stack([K[:, a:b] @ coefficients[:, a:b].T for a, b in pairwise(starts)], axis=1)
    results = []
    for n_threads in (1, 2):
        out = np.full(expected.shape, np.nan)
        with single_threaded_blas():
            kernel_sums(
                0, -(-n // QUERIES), DotKernel(FORMS[name], 0.5, 0.3, 3), normed_rows(name, Q),
                normed_rows(name, S), coefficients, starts, out, n_threads=n_threads,
            )  # fmt: skip
        np.testing.assert_allclose(out, expected, atol=1e-9)
        results.append(out)
    np.testing.assert_array_equal(*results)
