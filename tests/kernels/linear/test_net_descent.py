"""Coordinate descent ends where plain steps along the gradient end."""

import naive_logistic as naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._validation import kernel_view
from fastml.kernels.linear import net_descent as kernels

pytestmark = pytest.mark.small


@pytest.mark.parametrize("d", [1, 2, 6])
def test_matrix_descent(d):
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d + 3, d))
    H, g, w = A.T @ A / d, rng.normal(size=d), rng.normal(size=d)
    H[0], H[:, 0], g[0] = 0.0, 0.0, 0.0  # nothing is known of this weight: it stays
    l1 = np.full(d, 0.2)
    expected = naive.net_model(H[1:, 1:], g[1:], w[1:], 0.2)
    found, slopes = w.copy(), g.copy()
    passes = kernels.matrix_descent(H, slopes, found, l1, 1e-13, 2000)
    assert 0 < passes < 2000
    assert_allclose(found, np.append(w[0], expected), atol=1e-8)
    assert_allclose(slopes, g + H @ (found - w), atol=1e-9)
    assert kernels.matrix_descent(H, slopes, found, l1, 1e-13, 0) == 0


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_column_descent(K, sparse, weighted):
    rng = np.random.default_rng(K)
    n, d, l1, l2 = 12, 4, 0.03, 0.1
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    X[:, 1] = 0.0
    design = SmoothDesign(csr_array(X) if sparse else X)
    W = np.zeros((d + 1, K))
    W[0], W[-1] = 0.3, 0.1
    u = rng.random(n) + 0.5 if weighted else np.ones(n)
    if K == 1:
        P = 1.0 / (1.0 + np.exp(-(X @ W[:-1] + W[-1])))
    else:
        P = naive.probabilities(X, W)
    Y = np.eye(K)[rng.integers(K, size=n)] if K > 1 else rng.integers(2, size=(n, 1)).astype(float)
    V = u[:, None] * (P - Y)
    g = np.column_stack([X, np.ones(n)]).T @ V / u.sum()
    g[:-1] += l2 * W[:-1]
    H = naive.curvature(X, u, P, l2, True)
    factors = np.repeat(np.arange(d + 1) < d, K) * l1
    expected = naive.net_model(H, g.ravel(), W.ravel(), factors).reshape(d + 1, K)
    terms = kernels.NetTerms(
        kernel_view(u if weighted else np.empty(0)), float(u.sum()), l1, l2, True
    )
    found, slopes = W.copy(), np.ascontiguousarray(V.T)
    passes = kernels.column_descent(
        design.columns(), np.arange(d), terms, kernel_view(np.ascontiguousarray(P.T)), slopes,
        found, 1e-12, 5000,
    )  # fmt: skip
    assert passes < 5000
    assert_allclose(found[:-1], expected[:-1], atol=1e-6)
    # Equal changes of all intercepts change nothing.
    assert_allclose(found[-1] - found[-1, 0], expected[-1] - expected[-1, 0], atol=1e-6)
    change = (found - W)[:-1].ravel()
    both = (np.arange(d + 1) < d).repeat(K)
    model = (g.ravel() + H @ (found - W).ravel())[both] - l2 * found[:-1].ravel()
    assert_allclose((X.T @ slopes.T / u.sum()).ravel(), model, atol=1e-10)
    assert change.any()
