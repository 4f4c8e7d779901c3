"""Yardsticks that several families share. An answer is a fitted model or what it predicted."""

from __future__ import annotations

import numpy as np

from fastml._cases._case import Quality

BLOCK = 20_000


def inertia(data, answer) -> float:
    """Sum of squared distances to the nearest centre, in float64."""
    C = np.asarray(getattr(answer, "cluster_centers_", answer), dtype=np.float64)
    half_norms = (C * C).sum(axis=1) / 2
    total = 0.0
    for first in range(0, data.X.shape[0], BLOCK):
        X = data.X[first : first + BLOCK]
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        nearest = (half_norms - X @ C.T).argmin(axis=1)
        total += ((X - C[nearest]) ** 2).sum()
    return float(total)


def predicted(data, answer) -> np.ndarray:
    """What the model predicts for the new rows."""
    found = answer.predict(data.Q) if hasattr(answer, "predict") else np.asarray(answer)
    return found.argmax(axis=1) if found.ndim == 2 else found


def accuracy(data, answer) -> float:
    return float(np.mean(predicted(data, answer) == data.y_new))


def r2(data, answer) -> float:
    """1 − residual over total sum of squares, on the new rows."""
    residuals = predicted(data, answer) - data.y_new
    return float(1.0 - np.sum(residuals**2) / np.sum((data.y_new - data.y_new.mean()) ** 2))


def rmse(data, answer) -> float:
    return float(np.sqrt(np.mean((predicted(data, answer) - data.y_new) ** 2)))


def log_loss(data, model) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(data.y_new, model.predict_proba(data.Q)))


ACCURACY = Quality("test accuracy", accuracy, "more", 0.02, tiny=0.1)
SAME_ACCURACY = Quality("test accuracy", accuracy, tolerance=2e-3)
R2 = Quality("test R²", r2, "more", 0.02, tiny=0.1, scale=1.0)
SAME_R2 = Quality("test R²", r2, tolerance=2e-3)
LOG_LOSS = Quality("mean log-loss", log_loss, "less", 0.02, tiny=0.1)
