"""New rows of classes that are normal distributions."""

from __future__ import annotations

import numpy as np


def draw_classes(classes, priors, means, spread_of, n_samples, random_state):
    """Rows and labels; class k is its mean plus ``spread_of(k)`` times standard normal numbers."""
    from sklearn.utils import check_random_state

    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}")
    random = check_random_state(random_state)
    codes = random.choice(len(classes), size=n_samples, p=priors / priors.sum())
    X = means[codes]
    for k in np.unique(codes):
        rows = np.flatnonzero(codes == k)
        spread = spread_of(k)
        X[rows] += random.normal(size=(len(rows), spread.shape[1])) @ spread.T
    return X, classes[codes]
