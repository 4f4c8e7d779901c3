"""Probabilities from decision values: Platt's sigmoid, and coupling of pairs of classes."""

from __future__ import annotations

from functools import partial

import numpy as np

from fastml._engines.optimise import line_search, moved

MOST_NEWTON_STEPS = 100
SUFFICIENT = 1e-4
MOST_TRIALS = 34  # the last step is the last one above 1e-10
COUPLING_STEPS = 100


def sigmoid(values, slopes, offsets) -> np.ndarray:
    """1 / (1 + exp(a f + b)), without overflow."""
    power = values * slopes + offsets
    small = np.exp(-np.abs(power))
    return np.where(power >= 0, small, 1.0) / (1.0 + small)


def platt_fit(values, positive) -> tuple[float, float]:
    """(a, b) that maximise the likelihood of smoothed labels.

    Newton's method with a halving line search (Lin, Lin and Weng, "A note on Platt's probabilistic
    outputs for support vector machines", 2007).
    """
    n_positive = float(np.count_nonzero(positive))
    n_negative = positive.size - n_positive
    goals = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(a, b):
        power = values * a + b
        return float(
            np.sum(
                np.where(power >= 0, goals * power, (goals - 1) * power)
                + np.log1p(np.exp(-np.abs(power)))
            )
        )

    def loss_along(point, direction, step):
        return loss(*moved(point, direction, step))

    a, b = 0.0, float(np.log((n_negative + 1) / (n_positive + 1)))
    current = loss(a, b)
    for _ in range(MOST_NEWTON_STEPS):
        p = sigmoid(values, a, b)
        curvature = p * (1 - p)
        h11 = 1e-12 + float(values**2 @ curvature)
        h22 = 1e-12 + float(curvature.sum())
        h21 = float(values @ curvature)
        residual = goals - p
        g1, g2 = float(values @ residual), float(residual.sum())
        if abs(g1) < 1e-5 and abs(g2) < 1e-5:
            break
        determinant = h11 * h22 - h21 * h21
        da = -(h22 * g1 - h21 * g2) / determinant
        db = -(h11 * g2 - h21 * g1) / determinant
        slope = g1 * da + g2 * db
        found = line_search(
            partial(loss_along, (a, b), (da, db)), current, slope,
            sufficient=SUFFICIENT, most_trials=MOST_TRIALS, strictly=True,
        )  # fmt: skip
        if found is None:
            break
        step, current = found
        a, b = moved((a, b), (da, db), step)
    return a, b


def coupled_probabilities(pairs, n_classes: int) -> np.ndarray:
    """Class probabilities p that agree best with the pairs' r_ab = p_a / (p_a + p_b).

    The second method of Wu, Lin and Weng, "Probability estimates for multi-class classification by
    pairwise coupling", 2004: coordinate-wise on min Σ (r_ba p_a - r_ab p_b)².
    """
    n = pairs.shape[0]
    if n_classes == 2:
        return np.column_stack([pairs[:, 0], 1 - pairs[:, 0]])
    r = np.zeros((n, n_classes, n_classes))
    rows, columns = np.triu_indices(n_classes, 1)
    r[:, rows, columns] = pairs
    r[:, columns, rows] = 1 - pairs
    Q = -np.swapaxes(r, 1, 2) * r
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] = (r**2).sum(axis=1)
    p = np.full((n, n_classes), 1.0 / n_classes)
    active = np.arange(n)
    for _ in range(COUPLING_STEPS):
        Qa, pa = Q[active], p[active]
        Qp = np.einsum("nij,nj->ni", Qa, pa)
        pQp = np.einsum("ni,ni->n", pa, Qp)
        rest = np.abs(Qp - pQp[:, None]).max(axis=1) >= 0.005 / n_classes
        if not rest.any():
            break
        active, Qa, pa, Qp, pQp = active[rest], Qa[rest], pa[rest], Qp[rest], pQp[rest]
        for t in range(n_classes):
            change = (pQp - Qp[:, t]) / Qa[:, t, t]
            pa[:, t] += change
            scale = 1 + change
            pQp = (pQp + change * (change * Qa[:, t, t] + 2 * Qp[:, t])) / scale**2
            Qp = (Qp + change[:, None] * Qa[:, t]) / scale[:, None]
            pa /= scale[:, None]
        p[active] = pa
    return p
