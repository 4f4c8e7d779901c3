"""Plain twins of the kernels of resampling and of replaced columns."""

import numpy as np


def area_under_roc(y, scores, weights):
    """Share of pairs of a positive and a negative in the right order, a tie one half."""
    pairs = wins = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            weight = weights[i] * weights[j]
            pairs += weight
            wins += weight * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
    return wins / pairs if pairs > 0 else np.nan


def average_precision(y, scores, weights):
    """Sum over the different scores of the gain of recall times precision."""
    total = float(weights[y == 1].sum())
    if total == 0:
        return np.nan
    found, before = 0.0, 0.0
    for threshold in np.unique(scores)[::-1]:
        above = scores >= threshold
        hits = float(weights[above & (y == 1)].sum())
        whole = float(weights[above].sum())
        if whole > 0:
            found += (hits - before) / total * hits / whole
        before = hits
    return found


def delong_covariance(y, scores):
    """Covariance matrix of areas by its definition (DeLong et al., 1988); scores (models, rows)."""
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)

    def psi(a, b):
        return 1.0 if a > b else 0.5 if a == b else 0.0

    V = [[np.mean([psi(s[i], s[j]) for j in negative]) for i in positive] for s in scores]
    W = [[np.mean([psi(s[i], s[j]) for i in positive]) for j in negative] for s in scores]
    return np.cov(V) / len(positive) + np.cov(W) / len(negative)


def leaf_of(nodes, row):
    """The leaf of a row in a tree of `nodes.NODE` without categories."""
    node = 0
    while nodes[node]["feature"] != -1:
        feature = int(nodes[node]["feature"])
        value = row[feature & ((1 << 29) - 1)]
        left = bool(feature & (1 << 29)) if np.isnan(value) else value <= nodes[node]["threshold"]
        node = node + 1 if left else int(nodes[node]["right"])
    return node
