"""Models of one column given the class: what they learn, log-densities, draws.

A column comes as an array of its values and one of booleans that says where there is a value.
Missing values change nothing: neither what is learned nor the scores. A class without any value
has the distribution of all classes together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

VALUES_AT_ONCE = 1 << 20
"""Differences of rows and points that are held at a time."""


class ColumnModel:
    """Statistics of one column by class: they can be learned in parts, but for densities."""

    in_parts = True

    def __init__(self, n_classes: int):
        self.n_classes = n_classes

    def learn(self, values: NDArray, there: NDArray, codes: NDArray, weights: NDArray) -> None:
        """Add rows with values ``there``, their classes and weights."""
        raise NotImplementedError

    def finish(self, spread: float) -> None:
        """Make parameters of the statistics; ``spread`` is added to variances."""

    def scores(self, values: NDArray, there: NDArray) -> NDArray:
        """log p(value ∣ class) of each row and class; 0 where there is no value."""
        raise NotImplementedError

    def draw(self, codes: NDArray, rng: np.random.RandomState) -> NDArray:
        """A value for each of these classes."""
        raise NotImplementedError

    def _sums(self, codes, weights) -> NDArray:
        return np.bincount(codes, weights=weights, minlength=self.n_classes)


def with_all_classes(sums: NDArray, totals: NDArray) -> NDArray:
    """``sums`` (classes first) with those of all classes where a class has no weight."""
    empty = totals <= 0.0
    if not empty.any():
        return sums
    filled = np.array(sums, dtype=np.float64)
    filled[empty] = sums.sum(axis=0)
    return filled


class GaussianColumn(ColumnModel):
    """−½ [log 2π σ² + (x − θ)² / σ²]."""

    def __init__(self, n_classes: int):
        super().__init__(n_classes)
        self.counts, self.means, self.squares = np.zeros((3, n_classes))

    def learn(self, values, there, codes, weights):
        x, k, w = values[there].astype(np.float64), codes[there], weights[there]
        counts = self._sums(k, w)
        safe = np.where(counts > 0.0, counts, 1.0)
        means = self._sums(k, w * x) / safe
        squares = self._sums(k, w * (x - means[k]) ** 2)
        total = self.counts + counts
        safe = np.where(total > 0.0, total, 1.0)
        gap = means - self.means
        self.squares = self.squares + squares + gap**2 * self.counts * counts / safe
        self.means = self.means + gap * counts / safe
        self.counts = total

    def together(self) -> tuple[float, float]:
        """Mean and variance of all classes together."""
        total = self.counts.sum()
        if total <= 0.0:
            return 0.0, 1.0
        mean = self.counts @ self.means / total
        inner = self.squares.sum() + self.counts @ (self.means - mean) ** 2
        return float(mean), float(inner / total)

    def finish(self, spread):
        mean, variance = self.together()
        seen = self.counts > 0.0
        safe = np.where(seen, self.counts, 1.0)
        self.theta = np.where(seen, self.means, mean)
        self.var = np.where(seen, self.squares / safe, variance) + spread
        self.var = np.maximum(self.var, 1e-200)

    def scores(self, values, there):
        x = np.where(there, values, 0.0).astype(np.float64)[:, None]
        found = -0.5 * (np.log(2.0 * np.pi * self.var) + (x - self.theta) ** 2 / self.var)
        return np.where(there[:, None], found, 0.0)

    def draw(self, codes, rng):
        return self.theta[codes] + np.sqrt(self.var[codes]) * rng.standard_normal(len(codes))


class CountColumn(ColumnModel):
    """Poisson: x log λ − λ − log x!, λ = (Σ x + alpha m) / (n + alpha) with m the mean of all."""

    def __init__(self, n_classes: int, alpha: float):
        super().__init__(n_classes)
        self.alpha = alpha
        self.counts, self.sums = np.zeros((2, n_classes))

    def learn(self, values, there, codes, weights):
        x, k, w = values[there].astype(np.float64), codes[there], weights[there]
        self.counts = self.counts + self._sums(k, w)
        self.sums = self.sums + self._sums(k, w * x)

    def finish(self, spread):
        total = self.counts.sum()
        mean = self.sums.sum() / total if total > 0.0 else 1.0
        counts, sums = (with_all_classes(part, self.counts) for part in (self.counts, self.sums))
        weight = np.maximum(counts + self.alpha, 1e-300)
        self.rates = np.maximum((sums + self.alpha * mean) / weight, 1e-300)

    def scores(self, values, there):
        from scipy.special import gammaln

        x = np.where(there, values, 0.0).astype(np.float64)[:, None]
        found = x * np.log(self.rates) - self.rates - gammaln(x + 1.0)
        return np.where(there[:, None], found, 0.0)

    def draw(self, codes, rng):
        return rng.poisson(self.rates[codes]).astype(np.float64)


class CategoricalColumn(ColumnModel):
    """log (count + alpha) / (n + alpha · categories); what was never seen is as if missing."""

    def __init__(self, n_classes: int, alpha: float, categories=()):
        super().__init__(n_classes)
        self.alpha = alpha
        self.places = {value: i for i, value in enumerate(categories)}
        self.counts = np.zeros((n_classes, len(self.places)))

    @property
    def categories(self) -> list:
        return list(self.places)

    def _codes(self, values, there) -> NDArray:
        """Places of the values; −1 for the missing and the unknown."""
        codes = np.full(len(values), -1, dtype=np.intp)
        found, inverse = np.unique(values[there], return_inverse=True)
        known = np.array([self.places.get(value, -1) for value in found.tolist()], dtype=np.intp)
        codes[there] = known[inverse] if len(found) else -1
        return codes

    def learn(self, values, there, codes, weights):
        for value in np.unique(values[there]).tolist():
            self.places.setdefault(value, len(self.places))
        n = len(self.places)
        grown = np.zeros((self.n_classes, n))
        grown[:, : self.counts.shape[1]] = self.counts
        places = self._codes(values, there)
        flat = codes[there] * n + places[there]
        grown += np.bincount(flat, weights=weights[there], minlength=grown.size).reshape(
            grown.shape
        )
        self.counts = grown

    def finish(self, spread):
        counts = with_all_classes(self.counts, self.counts.sum(axis=1)) + self.alpha
        totals = counts.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            self.log_shares = np.log(counts / np.where(totals > 0.0, totals, 1.0))

    def scores(self, values, there):
        places = self._codes(values, there)
        padded = np.append(self.log_shares, np.zeros((self.n_classes, 1)), axis=1)
        return padded[:, places].T

    def draw(self, codes, rng):
        if not self.places:
            return np.full(len(codes), np.nan, dtype=object)
        steps = np.cumsum(np.exp(self.log_shares), axis=1)
        drawn = (rng.random_sample(len(codes))[:, None] >= steps[codes, :-1]).sum(axis=1)
        return np.array(self.categories, dtype=object)[drawn]


class BernoulliColumn(CategoricalColumn):
    """Categorical with the values 0 and 1, also where one of them was never seen."""

    def __init__(self, n_classes: int, alpha: float):
        super().__init__(n_classes, alpha, (0.0, 1.0))

    def learn(self, values, there, codes, weights):
        super().learn(_zero_or_one(values, there), there, codes, weights)

    def scores(self, values, there):
        return super().scores(_zero_or_one(values, there), there)

    def draw(self, codes, rng):
        return super().draw(codes, rng).astype(np.float64)


def _zero_or_one(values, there) -> NDArray:
    return (np.where(there, values, 0.0).astype(np.float64) > 0.0).astype(np.float64)


class DensityColumn(ColumnModel):
    """log Σ w_i φ((x − x_i) / h) / (h Σ w_i): a normal bump on each value of the class."""

    in_parts = False

    def __init__(self, n_classes: int, bandwidth):
        super().__init__(n_classes)
        self.bandwidth = bandwidth

    def learn(self, values, there, codes, weights):
        x, k, w = values[there].astype(np.float64), codes[there], weights[there]
        x, k, w = x[w > 0.0], k[w > 0.0], w[w > 0.0]
        self.points, self.weights, widths = [], [], []
        for c in range(self.n_classes):
            mine = k == c if (k == c).any() else np.ones(len(k), dtype=bool)
            points, own = (x[mine], w[mine]) if len(x) else (np.zeros(1), np.ones(1))
            self.points.append(points)
            self.weights.append(own / own.sum())
            widths.append(self._width(points, self.weights[-1]))
        self.widths = np.array(widths)

    def _width(self, points, shares) -> float:
        if self.bandwidth != "silverman":
            return float(self.bandwidth)
        mean = shares @ points
        spread = float(np.sqrt(shares @ (points - mean) ** 2))
        order = np.argsort(points, kind="stable")
        below = np.cumsum(shares[order])
        low, high = (points[order][min(int(np.searchsorted(below, q)), len(points) - 1)]
                     for q in (0.25, 0.75))  # fmt: skip
        inner = (high - low) / 1.34
        scale = min(spread, inner) if inner > 0.0 else spread
        effective = 1.0 / np.square(shares).sum()
        width = 0.9 * scale * effective**-0.2
        return float(width if width > 0.0 else max(1e-3 * abs(mean), 1e-3))

    def scores(self, values, there):
        from scipy.special import logsumexp

        x = np.where(there, values, 0.0).astype(np.float64)
        found = np.empty((len(x), self.n_classes))
        for c, (points, shares, h) in enumerate(zip(self.points, self.weights, self.widths)):
            rows = max(1, VALUES_AT_ONCE // len(points))
            constant = -np.log(h) - 0.5 * np.log(2.0 * np.pi)
            for first in range(0, len(x), rows):
                part = slice(first, first + rows)
                z = (x[part, None] - points) / h
                found[part, c] = logsumexp(-0.5 * z * z, axis=1, b=shares) + constant
        return np.where(there[:, None], found, 0.0)

    def draw(self, codes, rng):
        drawn = np.empty(len(codes))
        for c in range(self.n_classes):
            mine = np.flatnonzero(codes == c)
            centre = rng.choice(self.points[c], len(mine), p=self.weights[c])
            drawn[mine] = centre + self.widths[c] * rng.standard_normal(len(mine))
        return drawn
