"""Losses of gradient boosting: targets, start values, links; the loops are in the kernel file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml.kernels.losses import pointwise as kernels

NO_WEIGHTS = np.empty(0)
PLACES, SHARES = (np.polynomial.legendre.leggauss(16)[k] * 0.5 + (0.5, 0.0)[k] for k in (0, 1))
"""Gauss's rule of quadrature on [0, 1]."""


class Loss:
    """A loss by its code; ``parameter`` is the quantile, or Huber's width."""

    root_counts = False
    """Whether a tree without a split adds a value (scikit-learn's adds none)."""

    def __init__(self, code: int, *, n_trees: int = 1, parameter: float = 0.0):
        self.code = code
        self.n_trees = n_trees
        self.parameter = parameter
        self.differentiable = code not in (kernels.ABSOLUTE, kernels.PINBALL)
        self.constant_hessian = code in (
            kernels.SQUARED,
            kernels.ABSOLUTE,
            kernels.PINBALL,
            kernels.HUBER,
        )
        self.log_link = code in (kernels.POISSON, kernels.GAMMA)
        self.classifies = code in (kernels.BINOMIAL, kernels.MULTINOMIAL)

    def prepare(self, y: NDArray, raw: NDArray, weights: NDArray | None) -> None:
        """Before an iteration; Huber's width follows the residuals."""

    def set_origin(self, y: NDArray, baseline: NDArray) -> None:
        """Before the first iteration; a loss known by its gradients only needs an origin."""

    def gradients(self, y, raw, weights, gradients, hessians, *, n_jobs=None):
        """Fill both arrays (trees x rows); returns the statistics (trees x 4)."""
        self.prepare(y, raw, weights)
        n_chunks = max(1, -(-y.shape[0] // kernels.ROWS))
        statistics = np.zeros((n_chunks, self.n_trees, kernels.N_STATISTICS))
        weights = NO_WEIGHTS if weights is None else weights
        rest = y, raw, weights, gradients, hessians, statistics
        n_threads = effective_n_threads(n_jobs, 16.0 * raw.size)
        if self.code == kernels.MULTINOMIAL:
            kernels.multinomial_gradients(n_chunks, *rest, n_threads=n_threads)
        else:
            parameter = float(self.parameter)
            kernels.loss_gradients(n_chunks, self.code, parameter, *rest, n_threads=n_threads)
        return _merged(statistics)

    def mean(self, y, raw, weights=None, n_jobs=None) -> float:
        """Weighted mean of the loss."""
        n_chunks = max(1, -(-y.shape[0] // kernels.ROWS))
        sums = np.zeros(n_chunks)
        kernels.loss_sums(
            n_chunks,
            self.code,
            float(self.parameter),
            y,
            raw,
            NO_WEIGHTS if weights is None else weights,
            sums,
            n_threads=effective_n_threads(n_jobs, 16.0 * raw.size),
        )
        return float(sums.sum() / (y.shape[0] if weights is None else weights.sum()))

    def baseline(self, y: NDArray, weights: NDArray | None) -> NDArray:
        """The best constant raw prediction, one per tree."""
        if self.code == kernels.MULTINOMIAL:
            shares = [np.average(y == k, weights=weights) for k in range(self.n_trees)]
            logs = np.log(np.clip(shares, np.finfo(np.float64).eps, 1 - np.finfo(np.float64).eps))
            return logs - logs.mean()
        if self.code in (kernels.ABSOLUTE, kernels.PINBALL):
            return np.array([self.leaf_value(y, weights)])
        if self.code == kernels.HUBER:
            return np.array([quantile_of(y, weights, 0.5)])
        mean = float(np.average(y, weights=weights))
        if self.log_link:
            return np.array([np.log(mean)])
        if self.code == kernels.BINOMIAL:
            eps = np.finfo(np.float64).eps
            mean = min(max(mean, eps), 1 - eps)
            return np.array([np.log(mean / (1 - mean))])
        return np.array([mean])

    def leaf_value(self, residuals: NDArray, weights: NDArray | None, tree: int = 0) -> float:
        """Where the loss has no curvature: the best constant for the residuals of a leaf."""
        level = 0.5 if self.code == kernels.ABSOLUTE else self.parameter
        return quantile_of(residuals, weights, level)

    def predictions(self, raw: NDArray) -> NDArray:
        """Raw predictions of a regression on the scale of y."""
        return np.exp(raw) if self.log_link else raw

    def predict_proba(self, raw: NDArray) -> NDArray:
        """Probabilities from raw predictions of shape (n_samples, n_trees)."""
        if raw.shape[1] == 1:
            p = np.empty((raw.shape[0], 2))
            with np.errstate(over="ignore"):
                np.negative(raw[:, 0], out=p[:, 0])
                np.exp(p[:, 0], out=p[:, 0])
                np.add(p[:, 0], 1.0, out=p[:, 0])
                np.divide(1.0, p[:, 0], out=p[:, 1])
            np.subtract(1.0, p[:, 1], out=p[:, 0])
            return p
        p = np.exp(raw - raw.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


class HuberLoss(Loss):
    """Quadratic up to a width, then linear; the width is a quantile of the absolute residuals."""

    def __init__(self, quantile: float):
        super().__init__(kernels.HUBER)
        self.quantile = quantile
        self.parameter = 1.0

    def prepare(self, y, raw, weights):
        width = quantile_of(np.abs(y - raw[0]), weights, self.quantile)
        self.parameter = max(width, float(np.finfo(np.float64).tiny))


class QuantilesLoss(Loss):
    """The pinball losses of several quantiles side by side, a tree each."""

    def __init__(self, levels: NDArray):
        super().__init__(kernels.PINBALL, n_trees=len(levels))
        self.parts = [Loss(kernels.PINBALL, parameter=level) for level in levels]

    def gradients(self, y, raw, weights, gradients, hessians, *, n_jobs=None):
        statistics = [
            part.gradients(
                y,
                raw[k : k + 1],
                weights,
                gradients[k : k + 1],
                hessians[k : k + 1],
                n_jobs=n_jobs,
            )[0]
            for k, part in enumerate(self.parts)
        ]
        return np.array(statistics)

    def mean(self, y, raw, weights=None, n_jobs=None):
        losses = [
            part.mean(y, raw[k : k + 1], weights, n_jobs) for k, part in enumerate(self.parts)
        ]
        return float(np.mean(losses))

    def baseline(self, y, weights):
        return np.array([part.leaf_value(y, weights) for part in self.parts])

    def leaf_value(self, residuals, weights, tree=0):
        return self.parts[tree].leaf_value(residuals, weights)


class UserLoss(Loss):
    """A compiled function ``(y, raw)`` of the user that returns gradient and hessian, and perhaps
    the loss.

    Without the loss, it is the integral of the gradients: from y where it is least there (so that
    a loss of 0 at y is meant), else from the best constant.
    """

    root_counts = True

    def __init__(self, function, link: Loss, n_values: int):
        super().__init__(link.code)
        self.function = function
        self.n_values = n_values
        self.constant_hessian = False
        self.from_target, self.origin = False, 0.0

    def gradients(self, y, raw, weights, gradients, hessians, *, n_jobs=None):
        statistics = np.zeros((1, 1, kernels.N_STATISTICS))
        given = NO_WEIGHTS if weights is None else weights
        kernels.user_gradients(self.function, y, raw, given, gradients, hessians, statistics)
        if not (np.isfinite(gradients).all() and np.isfinite(hessians).all()):
            raise ValueError("loss returned a gradient or hessian that is not finite")
        return _merged(statistics)

    def mean(self, y, raw, weights=None, n_jobs=None):
        given = NO_WEIGHTS if weights is None else weights
        if self.n_values == 3:
            total = kernels.user_loss_sum(self.function, y, raw, given)
        else:
            origins = y if self.from_target else np.full(len(y), self.origin)
            rule = PLACES, SHARES
            total = kernels.user_loss_rise(self.function, origins, y, raw, given, *rule)
        return float(total / (y.shape[0] if weights is None else weights.sum()))

    def baseline(self, y, weights):
        given = NO_WEIGHTS if weights is None else weights
        constant = zero_of(lambda c: kernels.user_slope(self.function, c, y, given))
        return np.array([constant])

    def set_origin(self, y, baseline):
        """Where the loss is integrated from."""
        self.origin = float(baseline[0])
        if self.n_values == 3 or self.classifies:
            return
        around = 1e-6 * (1.0 + np.abs(y))
        signs, unused = np.empty((2, 1, len(y)), dtype=np.float32)
        statistics = np.zeros((1, 1, kernels.N_STATISTICS))
        self.from_target = True
        for side in (-1.0, 1.0):
            raw = (y + side * around).reshape(1, -1)
            kernels.user_gradients(self.function, y, raw, NO_WEIGHTS, signs, unused, statistics)
            self.from_target &= bool(np.all(side * signs >= 0.0))


def zero_of(slope) -> float:
    """Where an increasing function passes zero, or nearly reaches it; 0 if it does neither."""
    first = slope(0.0)
    if first == 0.0 or not np.isfinite(first):
        return 0.0
    near, step = 0.0, 1.0
    for _ in range(200):
        far = near - np.sign(first) * step
        found = slope(far)
        if not np.isfinite(found):
            step /= 4.0
        elif abs(found) <= 1e-12 * abs(first):
            return float(far)
        elif found * first < 0.0:
            from scipy.optimize import brentq

            return float(brentq(slope, near, far, xtol=1e-13 * (1.0 + abs(far)), maxiter=200))
        else:
            near, step = far, 2.0 * step
    return 0.0


class ForeignLoss(Loss):
    """An object with the methods of scikit-learn's losses (``sklearn._loss.BaseLoss``)."""

    def __init__(self, loss, n_trees: int):
        super().__init__(kernels.SQUARED, n_trees=n_trees)
        self.loss = loss
        self.differentiable = loss.differentiable
        self.constant_hessian = False
        self.classifies = hasattr(loss, "predict_proba")

    def gradients(self, y, raw, weights, gradients, hessians, *, n_jobs=None):
        given = raw[0] if self.n_trees == 1 else np.ascontiguousarray(raw.T)
        g, h = self.loss.gradient_hessian(y, given, sample_weight=weights)
        gradients[:] = g.reshape(raw.shape[1], -1).T
        hessians[:] = h.reshape(raw.shape[1], -1).T
        statistics = np.empty((self.n_trees, kernels.N_STATISTICS))
        for column, values in ((0, np.abs(gradients)), (2, np.abs(hessians))):
            statistics[:, column] = values.max(axis=1)
            statistics[:, column + 1] = values.sum(axis=1)
        return statistics

    def mean(self, y, raw, weights=None, n_jobs=None):
        given = raw[0] if self.n_trees == 1 else np.ascontiguousarray(raw.T)
        return float(self.loss(y, given, sample_weight=weights))

    def baseline(self, y, weights):
        return np.reshape(self.loss.fit_intercept_only(y, weights), -1).astype(np.float64)

    def leaf_value(self, residuals, weights, tree=0):
        return float(self.loss.fit_intercept_only(residuals, weights))

    def predictions(self, raw):
        return self.loss.link.inverse(raw)

    def predict_proba(self, raw):
        return self.loss.predict_proba(raw)


def _merged(statistics: NDArray) -> NDArray:
    """Statistics of all chunks: largest sizes, and sums in the order of the chunks."""
    merged = np.add.reduce(statistics, axis=0)
    for column in (kernels.MOST_GRADIENT, kernels.MOST_HESSIAN):
        merged[:, column] = statistics[:, :, column].max(axis=0)
    return merged


def quantile_of(values: NDArray, weights: NDArray | None, level: float) -> float:
    if weights is None:
        return float(np.median(values) if level == 0.5 else np.quantile(values, level))
    from fastml._sklearn import weighted_percentile

    return float(weighted_percentile(values, weights, 100 * level))
