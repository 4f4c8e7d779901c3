"""Products, slopes and Gram matrices of dense rows, columns and sparse rows equal NumPy's."""

import naive_smooth as naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml.kernels.linalg.panel_products import PANEL
from fastml.kernels.linear import design as kernels

pytestmark = pytest.mark.small

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": csr_array}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (kernels.GRAM_ROWS + 9, 7), (40, 19)])
def test_three_passes(layout, n, d):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[:, 0] = 1.0  # a constant column
    rows = SmoothDesign(LAYOUTS[layout](X)).rows
    w, factors, weights = rng.normal(size=d + 1), rng.normal(size=n), rng.random(n)
    weights[0] = 0.0
    out = np.empty(n)
    kernels.products(2, -(-n // 2), rows, w, out, n_threads=1)
    assert_allclose(out, naive.with_ones(X) @ w, atol=1e-13)
    n_chunks = 1 if n == 1 else 2
    sums = np.empty((n_chunks, d + 1))
    kernels.slopes(-(-n // n_chunks), rows, factors, sums, n_threads=1)
    assert_allclose(sums.sum(axis=0), naive.with_ones(X).T @ factors, atol=1e-12)
    for extra in (np.empty(0), factors):
        size = d + 1 + (len(extra) > 0)
        width = -(-size // PANEL) * PANEL
        for u in (weights, np.empty(0)):
            grams = np.empty((n_chunks, width, width))
            kernels.grams(n, -(-n // n_chunks), rows, u, extra, d, grams, n_threads=1)
            u = u if len(u) else np.ones(n)
            expected = naive.weighted_gram(X, u, extra if len(extra) else None)
            found = np.triu(grams.sum(axis=0)[:size, :size])
            assert_allclose(found, np.triu(expected), atol=1e-11)


def test_columns_are_read_where_they_are():
    X = np.ones((7, 3), order="F")
    design = SmoothDesign(X)
    assert design.rows.by_columns
    assert np.shares_memory(design.rows.X, X)
    assert np.shares_memory(SmoothDesign(X.copy(order="C")[::1]).rows.X, X) is False


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fill_tile(layout):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 3)) * (rng.random((7, 3)) < 0.7)
    roots, tile = rng.random(4), np.full((5, 4), -1.0)
    kernels.fill_tile(2, 6, SmoothDesign(LAYOUTS[layout](X)).rows, roots, tile)
    assert_allclose(tile[:4, :3], roots[:, None] * X[2:6], atol=1e-15)
    assert (tile[4] == -1.0).all()
