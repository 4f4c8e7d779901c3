"""Plain NumPy twins of the kernels of logistic regression."""

import numpy as np


def probabilities(X, W):
    """Softmax of (x, 1) W."""
    raw = np.column_stack([X, np.ones(len(X))]) @ W
    e = np.exp(raw - raw.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax_loss_and_slopes(X, labels, weights, W):
    P = probabilities(X, W)
    rows = np.arange(len(X))
    residuals = P.copy()
    residuals[rows, labels] -= 1.0
    slopes = np.column_stack([X, np.ones(len(X))]).T @ (weights[:, None] * residuals)
    return float(-(weights * np.log(P[rows, labels])).sum()), slopes, P


def net_model(H, g, w, l1, passes=5000):
    """The minimum of g · δ + ½ δ' H δ + Σ l1 |w + δ|, as w + δ, by steps along the gradient."""
    size = np.linalg.norm(H, 2) + 1e-300
    v = w.copy()
    for _ in range(passes):
        v = v - (g + H @ (v - w)) / size
        v = np.sign(v) * np.maximum(np.abs(v) - l1 / size, 0.0)
    return v


def curvature(X, weights, P, l2, fit_intercept):
    """The Hessian of the mean loss, of weights (features and intercept, classes) in a row."""
    U = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    m, K = U.shape[1], P.shape[1]
    H = np.zeros((m * K, m * K))
    for u, p, weight in zip(U, P, weights):
        C = np.diag(p) - np.outer(p, p) if K > 1 else np.array([[p[0] * (1.0 - p[0])]])
        H += weight * np.kron(np.outer(u, u), C)
    H /= weights.sum()
    penalised = np.repeat(np.arange(m) < X.shape[1], K)
    return H + l2 * np.diag(penalised.astype(float))
