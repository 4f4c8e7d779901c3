"""Plain NumPy twins of the kernels of linear models with a squared loss."""

import numpy as np


def net_objective(A, b, w, l1, l2):
    return 0.5 * np.sum((b - A @ w) ** 2) + l1 * np.abs(w).sum() + 0.5 * l2 * np.sum(w**2)


def net_solution(A, b, l1, l2, positive=False, steps=3_000):
    """By accelerated proximal gradients with a fixed step, begun anew where the value rises."""
    w = previous = np.zeros(A.shape[1])
    bound = np.linalg.norm(A, 2) ** 2 + l2 + 1e-300
    age = 0
    for _ in range(steps):
        ahead = w + age / (age + 3.0) * (w - previous)
        z = ahead - (A.T @ (A @ ahead - b) + l2 * ahead) / bound
        z = np.sign(z) * np.maximum(np.abs(z) - l1 / bound, 0.0)
        z = np.maximum(z, 0.0) if positive else z
        age = 0 if (ahead - z) @ (z - w) > 0.0 else age + 1
        previous, w = w, z
    return w


def net_pass(gram, pull, w, order, l1, l2, positive):
    """One pass of coordinate descent: (w, pull, largest squared step, largest squared weight)."""
    w, pull, largest, size = w.copy(), pull.copy(), 0.0, 0.0
    for j in order:
        target = pull[j] + gram[j, j] * w[j]
        new = np.sign(target) * max(abs(target) - l1, 0.0)
        if positive:
            new = max(new, 0.0)
        new = new / (gram[j, j] + l2) if gram[j, j] + l2 > 0 else 0.0
        step, w[j] = new - w[j], new
        pull = pull - step * gram[: len(w), j]
        largest, size = max(largest, step**2 * gram[j, j]), max(size, new**2 * gram[j, j])
    return w, pull, largest, size


def dual_value(A, b, w, l1, l2, positive=False):
    """The best of the dual objective along the residual of [A; √l2 I] w = [b; 0]."""
    residual, weights = b - A @ w, -np.sqrt(l2) * w
    pulls = A.T @ residual + np.sqrt(l2) * weights
    steepest = max(pulls.max(initial=0.0), 0.0) if positive else np.abs(pulls).max(initial=0.0)
    whole = residual @ residual + weights @ weights
    scale = 1.0 if whole == 0.0 else (b @ residual) / whole
    if steepest * abs(scale) > l1:
        scale = np.sign(scale) * l1 / steepest
    if positive:
        scale = max(scale, 0.0)
    return scale * (b @ residual) - 0.5 * scale**2 * whole


def group_pass(gram, pull, W, order, l1, l2):
    """One pass over the rows of W: (W, pull, largest squared step, largest squared row)."""
    W, pull, largest, size = W.copy(), pull.copy(), 0.0, 0.0
    for j in order:
        own = gram[j, j]
        if own + l2 <= 0:
            continue
        target = pull[j] + own * W[j]
        length = np.linalg.norm(target)
        new = target * max(0.0, 1.0 - l1 / length) / (own + l2) if length > 0 else 0.0 * target
        step = new - W[j]
        W[j] = new
        pull = pull - np.outer(gram[: len(W), j], step)
        largest = max(largest, step @ step * own)
        size = max(size, new @ new * own)
    return W, pull, largest, size


def mix_of_steps(history):
    """Shares of the last steps, of sum one, whose mix is shortest (ridge of 1e-12)."""
    steps = np.diff(history, axis=0)
    K = steps @ steps.T
    K = K + 1e-12 * np.trace(K) * np.eye(len(K))
    shares = np.linalg.solve(K, np.ones(len(K)))
    return shares / shares.sum()
