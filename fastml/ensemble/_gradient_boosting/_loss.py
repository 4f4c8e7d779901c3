"""Losses of `GradientBoosting*`: residuals, the line search in the leaves, links."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml.ensemble._hist_gradient_boosting._loss import Loss
from fastml.kernels.boosting.stage import loss_residuals, newton_sums
from fastml.kernels.losses import pointwise as codes

EPSILON = float(np.finfo(np.float64).eps)
LONGEST_STEP = 128.0
FLAT = 1e-150
"""Below this mean curvature a leaf stays as it is: its rows are predicted with certainty."""

CODES = {
    "squared_error": codes.SQUARED,
    "absolute_error": codes.ABSOLUTE,
    "huber": codes.HUBER,
    "quantile": codes.PINBALL,
    "exponential": codes.EXPONENTIAL,
}


def inverted_cdf(values: NDArray, weights: NDArray | None, level: float) -> float:
    """The smallest value at which the share ``level`` of the weight is reached."""
    level = 100 * level / 100  # scikit-learn's way through percentages, to the bit
    if weights is None:
        rank = int(np.ceil(level * len(values))) - 1
        rank = min(max(rank, 0), len(values) - 1)
        return float(np.partition(values, rank)[rank])
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = level * reached[-1]
    if wanted == 0.0:
        wanted = np.nextafter(0.0, 1.0)
    return float(values[order[min(np.searchsorted(reached, wanted), len(values) - 1)]])


class StageLoss(Loss):
    """A loss by its name; Huber's width is a quantile (``alpha``) of the absolute residuals."""

    def __init__(self, name: str, n_classes: int = 0, alpha: float = 0.9):
        code = CODES.get(name, codes.MULTINOMIAL if n_classes > 2 else codes.BINOMIAL)
        super().__init__(code, n_trees=n_classes if n_classes > 2 else 1, parameter=alpha)
        self.alpha = alpha
        if code == codes.HUBER:
            self.parameter = 0.5  # scikit-learn's width until the first residuals are known
        self.classifies = n_classes > 0
        self.factor = 2.0 if code in (codes.SQUARED, codes.BINOMIAL) else 1.0
        """Scores are reported without the half that these two losses have by definition."""

    def __call__(self, y_true, raw_prediction, sample_weight=None) -> float:
        raw = np.asarray(raw_prediction, dtype=np.float64).reshape(len(y_true), -1)
        y = np.ascontiguousarray(y_true, dtype=np.float64)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return self.mean(y, np.ascontiguousarray(raw.T), weights)

    def score(self, y: NDArray, raw: NDArray, weights: NDArray | None, n_jobs=None) -> float:
        """What ``train_score_`` holds."""
        return self.factor * self.mean(y, raw, weights, n_jobs)

    def prepare(self, y, raw, weights):
        if self.code == codes.HUBER:
            self.parameter = inverted_cdf(np.abs(y - raw[0]), weights, self.alpha)

    def residuals(self, y: NDArray, raw: NDArray, weights, out: NDArray, n_jobs=None) -> None:
        """Negative gradients (trees x rows); the weights are for Huber's width only."""
        self.prepare(y, raw, weights)
        n_threads = effective_n_threads(n_jobs, 16.0 * raw.size)
        n_chunks = -(-y.shape[0] // codes.ROWS)
        loss_residuals(n_chunks, self.code, float(self.parameter), y, raw, out, n_threads=n_threads)

    def leaf_values(self, k: int, y, raw, residuals, weights, leaves, is_leaf) -> NDArray:
        """The line search: per node of tree k the best value, 0 where a node is not a leaf.

        Classification takes one Newton step from zero, the others the best constant for the rows
        of the leaf; rows of weight zero do not count.
        """
        if self.code in (codes.BINOMIAL, codes.MULTINOMIAL, codes.EXPONENTIAL):
            return self._newton(k, y, residuals, weights, leaves, len(is_leaf))
        rest = y - raw
        if weights is not None:
            inside = weights != 0.0
            rest, weights, leaves = rest[inside], weights[inside], leaves[inside]
            if np.all(weights == weights[0]):
                weights = None
        order = np.argsort(leaves.astype(np.min_scalar_type(len(is_leaf))), kind="stable")
        ends = np.cumsum(np.bincount(leaves, minlength=len(is_leaf)))
        values = np.zeros(len(is_leaf))
        for leaf in np.flatnonzero(is_leaf):
            rows = order[ends[leaf - 1] if leaf else 0 : ends[leaf]]
            own = None if weights is None else weights[rows]
            values[leaf] = self.constant(rest[rows], own)
        return values

    def step(self, k: int, y, raw, weights, direction, n_jobs=None) -> float:
        """The factor of ``direction``, added to row k of ``raw``, that lowers the loss most.

        The loss is convex along a line: the factor is where its slope changes sign. A classifier
        may be ever surer of rows that the direction separates: its steps end at `LONGEST_STEP`.
        """
        from scipy.optimize import brentq

        weighted = direction if weights is None else weights * direction
        moved, gradients = raw.copy(), np.empty_like(raw)
        n_threads = effective_n_threads(n_jobs, 16.0 * raw.size)
        n_chunks = -(-y.shape[0] // codes.ROWS)
        parameter = float(self.parameter)

        def rise(length: float) -> float:
            np.multiply(direction, length, out=moved[k])
            moved[k] += raw[k]
            loss_residuals(n_chunks, self.code, parameter, y, moved, gradients, n_threads=n_threads)
            return -float((weighted * gradients[k]).sum())

        if not rise(0.0) < 0.0:
            return 0.0
        longest = LONGEST_STEP if self.classifies else np.inf
        low, high = 0.0, 1.0
        while rise(high) < 0.0:
            low, high = high, 2.0 * high
            if high >= longest or not np.isfinite(high):
                return low
        return float(brentq(rise, low, high, xtol=1e-12 * high, rtol=1e-10))

    def constant(self, y: NDArray, weights: NDArray | None) -> float:
        """The best constant prediction of a regression loss."""
        if self.code == codes.PINBALL:
            return inverted_cdf(y, weights, self.alpha)
        middle = inverted_cdf(y, weights, 0.5)
        if self.code == codes.HUBER:  # one step from the median, Friedman (2001), section 4.4
            gaps = np.clip(y - middle, -self.parameter, self.parameter)
            middle += float(np.average(gaps, weights=weights))
        return middle

    def _newton(self, k, y, residuals, weights, leaves, n_nodes) -> NDArray:
        sums = np.zeros((n_nodes, 3))
        newton_sums(self.code, k, y, residuals, weights, leaves, sums)
        with np.errstate(all="ignore"):
            slope, curvature = sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]
            if self.code == codes.MULTINOMIAL:
                slope *= (self.n_trees - 1) / self.n_trees
            steps = np.where(np.abs(curvature) >= FLAT, slope / curvature, 0.0)
        if np.isinf(steps).any():
            warnings.warn("overflow in the line search of a leaf", RuntimeWarning, stacklevel=2)
        return steps

    def link(self, predictions: NDArray) -> NDArray:
        """Raw predictions (rows x trees) of an estimator's probabilities or values."""
        if not self.classifies:
            return predictions.reshape(-1, 1).astype(np.float64)
        p = np.clip(predictions, EPSILON, 1.0 - EPSILON, dtype=np.float64)
        if self.code == codes.MULTINOMIAL:
            logs = np.log(p)
            return logs - logs.mean(axis=1, keepdims=True)
        p = p[:, 1]
        half = 0.5 if self.code == codes.EXPONENTIAL else 1.0
        return half * np.log(p / (1.0 - p)).reshape(-1, 1)

    def predict_proba(self, raw):
        raw = raw.reshape(raw.shape[0], -1)
        return super().predict_proba(2.0 * raw if self.code == codes.EXPONENTIAL else raw)
