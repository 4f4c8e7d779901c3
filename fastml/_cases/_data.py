"""Data that several families are measured on. Each function returns a namespace of arrays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def blobs(n: int, d: int, k: int, scale: float = 3.0) -> SimpleNamespace:
    """Overlapping Gaussian clusters, their centres and labels, and k points to start from."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=scale, size=(k, d))
    truth = rng.integers(k, size=n)
    X = centres[truth] + rng.normal(size=(n, d))
    start = X[rng.choice(n, k, replace=False)]
    return SimpleNamespace(X=X, truth=truth, centres=centres, start=start)


def with_test(X, y, n: int, **more) -> SimpleNamespace:
    """The first n rows to learn from, the others as new ones."""
    return SimpleNamespace(X=X[:n], y=y[:n], Q=X[n:], y_new=y[n:], **more)


def labelled_blobs(n: int, d: int, k: int = 2, noise: float = 0.05) -> SimpleNamespace:
    """Four Gaussian blobs per class and a share of wrong labels; as many new rows."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(4 * k, d))
    blob = rng.integers(4 * k, size=2 * n)
    X = centres[blob] + rng.normal(scale=2.0, size=(2 * n, d))
    y = blob % k
    wrong = rng.random(2 * n) < noise
    y[wrong] = rng.integers(k, size=wrong.sum())
    return with_test(X, y, n)


def curve(n: int, d: int) -> SimpleNamespace:
    """A smooth function of four features with noise; as many new rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.5 * X[:, 2] * X[:, 3]
    return with_test(X, y + rng.normal(scale=0.2, size=2 * n), n)


def with_outliers(n: int, d: int, factor: float = 2.0) -> SimpleNamespace:
    """Normal rows, of which the first in a hundred lie farther out."""
    X = np.random.default_rng(0).normal(size=(n, d))
    X[: n // 100] *= factor
    return SimpleNamespace(X=X)


def sparse_rows(n: int, d: int, k: int) -> SimpleNamespace:
    """CSR rows of k values, low columns more often, on two sides of a plane."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    columns = (d * rng.random(n * k) ** 2).astype(np.int32)
    starts = np.arange(0, n * k + 1, k, dtype=np.int32)
    X = csr_array((rng.random(n * k), columns, starts), shape=(n, d))
    X.sum_duplicates()
    y = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0
    return SimpleNamespace(X=X, y=y.astype(np.intp))


def few_rows(dtype, n: int = 60, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Three blobs of positive numbers on a deterministic grid, for warm-up: (X, labels)."""
    grid = np.arange(n * d, dtype=np.float64).reshape(n, d)
    labels = np.arange(n) % 3
    wave = np.sin(grid * 12.9898)
    noise = wave * 43758.5453 % 1.0  # without it, columns depend on each other
    return (1.0 + wave + 0.1 * noise + 4.0 * labels[:, None]).astype(dtype), labels
