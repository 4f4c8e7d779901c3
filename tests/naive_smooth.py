"""Plain NumPy twins of the kernels of smooth linear models and of stochastic gradient descent."""

import numpy as np


def loss(name, parameter, y, r):
    """A loss per row; y > 0 is the positive class."""
    d = np.abs(y - r)
    s = np.where(y > 0, 1.0, -1.0)
    p = parameter
    with np.errstate(all="ignore"):
        found = {
            "SQUARED": lambda: d**2 / 2,
            "ABSOLUTE": lambda: d,
            "PINBALL": lambda: np.where(y >= r, p * (y - r), (1 - p) * (r - y)),
            "HUBER": lambda: np.where(d <= p, d**2 / 2, p * d - p**2 / 2),
            "POISSON": lambda: np.exp(r) - y * r,
            "GAMMA": lambda: r + y * np.exp(-r),
            "BINOMIAL": lambda: np.logaddexp(0.0, r) - y * r,
            "EXPONENTIAL": lambda: np.exp(-s * r),
            "LP": lambda: d**p,
            "EPSILON_INSENSITIVE": lambda: np.maximum(d - p, 0),
            "SQUARED_EPSILON_INSENSITIVE": lambda: np.maximum(d - p, 0) ** 2,
            "SQUARED_LOG": lambda: (np.log1p(r) - np.log1p(y)) ** 2,
            "HINGE": lambda: np.maximum(1 - s * r, 0),
            "SQUARED_HINGE": lambda: np.maximum(1 - s * r, 0) ** 2,
            "PERCEPTRON": lambda: np.maximum(-s * r, 0),
            "MODIFIED_HUBER": lambda: np.where(
                s * r < -1, -4 * s * r, np.maximum(1 - s * r, 0) ** 2
            ),
            "TWEEDIE_LOG": lambda: tweedie(y, np.exp(r), p),
            "TWEEDIE_IDENTITY": lambda: (y - r) ** 2 / 2 if p == 0 else tweedie(y, r, p),
        }
        return found[name]()


def tweedie(y, mean, p):
    if p == 1:
        return mean - y * np.log(mean)
    if p == 2:
        return np.log(mean) + y / mean
    return mean ** (2 - p) / (2 - p) - y * mean ** (1 - p) / (1 - p)


def softmax_loss(y, raw):
    return np.log(np.exp(raw).sum(axis=1)) - raw[np.arange(len(y)), y.astype(int)]


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


def weighted_gram(X, weights, extra=None):
    U = with_ones(X)
    if extra is not None:
        U = np.column_stack([U, extra])
    return (U * weights[:, None]).T @ U


def scaled_huber_objective(width, scale, y, weights, raw):
    return float((weights * scale * (1 + 2 * loss("HUBER", width, y / scale, raw / scale))).sum())


def xorshift_order(order, seed):
    """scikit-learn's Fisher-Yates shuffle by a 32-bit xorshift, with Python's integers."""
    order, state, full = list(order), seed or 1, 0xFFFFFFFF
    for i in range(len(order) - 1):
        state ^= (state << 13) & full
        state ^= state >> 17
        state ^= (state << 5) & full
        j = i + state % 2**31 % (len(order) - i)
        order[i], order[j] = order[j], order[i]
    return order


def sgd(X, y, weights, order, epochs, eta0, power, alpha, l1, slope):
    """Weights and intercept after some epochs in one order, l2 part as decay, l1 cumulative."""
    w, b, paid, debt, t = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1]), 0.0, 1
    for _ in range(epochs):
        for i in order:
            eta = eta0 / t**power
            update = -eta * weights[i] * slope(y[i], X[i] @ w + b)
            w = w * max(0.0, 1 - (1 - l1) * eta * alpha) + update * X[i]
            b += update
            debt += l1 * eta * alpha
            before = w.copy()
            w = np.where(before > 0, np.maximum(0, w - (debt + paid)), w)
            w = np.where(before < 0, np.minimum(0, before + (debt - paid)), w)
            paid += w - before
            t += 1
    return w, b
