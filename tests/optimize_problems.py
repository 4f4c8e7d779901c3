"""Problems with known minima for the tests of `fastml.optimize`."""

import numpy as np


class Squares:
    """½ ‖Xw − y‖² / n."""

    def __init__(self, n=60, d=4, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, d)) * np.linspace(1.0, 0.5, d)
        self.y = self.X @ np.arange(1.0, d + 1) + rng.normal(size=n)
        self.n, self.start = n, np.zeros(d)
        self.gram = self.X.T @ self.X / n
        self.best = np.linalg.solve(self.gram, self.X.T @ self.y / n)
        self.largest = np.linalg.eigvalsh(self.gram)[-1]

    def loss(self, w):
        return 0.5 * np.mean((self.X @ w - self.y) ** 2)

    def gradient(self, w):
        return self.X.T @ (self.X @ w - self.y) / self.n

    def hessian(self, w):
        return self.gram

    def partial(self, w, j):
        return self.X[:, j] @ (self.X @ w - self.y) / self.n

    def row_loss(self, w, rows):
        return 0.5 * np.mean((self.X[rows] @ w - self.y[rows]) ** 2)

    def row_gradient(self, w, rows):
        return self.X[rows].T @ (self.X[rows] @ w - self.y[rows]) / len(rows)
