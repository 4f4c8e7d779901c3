"""The multinomial loss and its gradient equal NumPy's, for dense and sparse rows."""

import naive_logistic as naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._threads import single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.linear import softmax as kernels

pytestmark = pytest.mark.small

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": csr_array}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "d", "K"), [(1, 1, 3), (2, 3, 2), (kernels.TILE_ROWS + 9, 4, 5)])
def test_softmax_pass(layout, n, d, K):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    labels = rng.integers(K, size=n)
    W = rng.normal(size=(d + 1, K))
    design = SmoothDesign(LAYOUTS[layout](X))
    for weights in (np.empty(0), rng.random(n) + 0.1):
        u = weights if len(weights) else np.ones(n)
        n_chunks = 1 if n == 1 else 2
        P, losses = np.empty((n, K)), np.empty(n_chunks)
        slopes = np.empty((n_chunks, d + 1, K))
        known = kernel_view(labels, dtype=np.intp), kernel_view(weights)
        with single_threaded_blas():
            kernels.softmax_pass(
                -(-n // n_chunks), design.rows, *known, W, P, slopes, losses, n_threads=1
            )
        loss, expected, probabilities = naive.softmax_loss_and_slopes(X, labels, u, W)
        assert_allclose(losses.sum(), loss, rtol=1e-12)
        assert_allclose(slopes.sum(axis=0), expected, atol=1e-12)
        assert_allclose(P, probabilities, rtol=1e-12)
        if layout == "CSR":
            out = np.full((d + 1, K), np.nan)
            kernels.column_slopes(2, -(-d // 2), design.columns(), *known, P, out, n_threads=1)
            assert_allclose(out[:-1], expected[:-1], atol=1e-12)
            again, empty = np.empty((n, K)), np.empty((n_chunks, 0, 0))
            kernels.softmax_pass(
                -(-n // n_chunks), design.rows, *known, W, again, empty, losses, n_threads=1
            )
            assert_allclose(again, P)


def test_scores_that_overflow_and_rows_without_weight():
    design = SmoothDesign(np.array([[1e4], [-1e4], [1.0]]))
    labels, weights = np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0])
    P, slopes, losses = np.empty((3, 2)), np.empty((1, 2, 2)), np.empty(1)
    W = np.array([[1.0, -1.0], [0.0, 0.0]])
    with single_threaded_blas():
        kernels.softmax_pass(
            3, design.rows, kernel_view(labels, dtype=np.intp), kernel_view(weights), W, P, slopes,
            losses, n_threads=1,
        )  # fmt: skip
    assert_allclose(P[:2], [[1.0, 0.0], [0.0, 1.0]])
    assert losses[0] == 0.0
    assert np.abs(slopes).max() == 0.0
