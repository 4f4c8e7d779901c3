"""Tests of what least squares assumes: normal errors, of equal variance, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtr

from fastml.linear_model._summary._design import Design, learn_design, weighted_sums


class AssumptionCheck(NamedTuple):
    """A test of an assumption: a small ``p_value`` speaks against it."""

    assumption: str
    statistic: float
    p_value: float  # NaN where the statistic has no simple distribution
    degrees: float  # of freedom
    f_value: float = np.nan  # the same test as an F test, where there is one
    f_p_value: float = np.nan


def dot(a: NDArray, b: NDArray) -> float:
    """Without BLAS: threads do not pay for a vector, and wait for each other on a busy machine."""
    return float(np.einsum("i,i->", a, b))


class ErrorShape(NamedTuple):
    """Of residuals about their mean."""

    n: float
    skewness: float
    kurtosis: float


def moments(errors: NDArray, repeats: NDArray | None) -> ErrorShape:
    n = float(len(errors) if repeats is None else repeats.sum())
    centred = errors - np.average(errors, weights=repeats)
    largest = np.frexp(np.abs(centred).max(initial=0.0))[1]
    centred = np.ldexp(centred, -largest)  # a power of 2: no digit is lost, no square overflows
    square = centred * centred
    weighted = square if repeats is None else square * repeats
    second = float(weighted.sum()) / n
    third, fourth = dot(weighted, centred) / n, dot(weighted, square) / n
    if not second > 0.0:
        return ErrorShape(n, np.nan, np.nan)
    return ErrorShape(n, third / second**1.5, fourth / second**2)


def jarque_bera(m: ErrorShape) -> AssumptionCheck:
    """n/6 (skewness² + (kurtosis − 3)²/4), χ² with two degrees (Jarque & Bera, 1980)."""
    value = m.n / 6.0 * (m.skewness**2 + (m.kurtosis - 3.0) ** 2 / 4.0)
    return AssumptionCheck("normal errors", value, float(chdtrc(2, value)), 2)


def omnibus(m: ErrorShape) -> AssumptionCheck:
    """Squared normal scores of skewness and kurtosis, summed (D'Agostino & Pearson, 1973)."""
    if m.n < 8:
        return AssumptionCheck("normal errors", np.nan, np.nan, 2)
    value = _skewness_score(m) ** 2 + _kurtosis_score(m) ** 2
    return AssumptionCheck("normal errors", value, float(chdtrc(2, value)), 2)


def _skewness_score(m: ErrorShape) -> float:
    n = m.n
    y = m.skewness * np.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta = 3.0 * (n * n + 27 * n - 70) * (n + 1) * (n + 3)
    beta /= (n - 2.0) * (n + 5) * (n + 7) * (n + 9)
    w2 = -1.0 + np.sqrt(2.0 * (beta - 1.0))
    return float(np.arcsinh(y / np.sqrt(2.0 / (w2 - 1.0))) / np.sqrt(0.5 * np.log(w2)))


def _kurtosis_score(m: ErrorShape) -> float:
    n = m.n
    expected = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3.0) * (n + 5))
    x = (m.kurtosis - expected) / np.sqrt(variance)
    skew = 6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    skew *= np.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6.0 + 8.0 / skew * (2.0 / skew + np.sqrt(1.0 + 4.0 / skew**2))
    below = 1.0 + x * np.sqrt(2.0 / (a - 4.0))
    root = np.sign(below) * np.abs((1.0 - 2.0 / a) / below) ** (1 / 3) if below else np.nan
    return float((1.0 - 2.0 / (9.0 * a) - root) / np.sqrt(2.0 / (9.0 * a)))


def durbin_watson(errors: NDArray) -> AssumptionCheck:
    """Σ (e_i − e_{i−1})² / Σ e_i²: 2 without serial correlation (Durbin & Watson, 1950).

    The p value is of the normal approximation with mean 2 and variance 4/n.
    """
    step = np.diff(errors)
    value = dot(step, step) / dot(errors, errors) if errors.any() else np.nan
    p = 2.0 * float(ndtr(-abs(value - 2.0) * np.sqrt(len(errors)) / 2.0))
    return AssumptionCheck("no serial correlation", value, p, np.nan)


def ljung_box(errors: NDArray, n_lags: int) -> AssumptionCheck:
    """n (n + 2) Σ r_k² / (n − k), χ² with as many degrees as lags (Ljung & Box, 1978)."""
    n = len(errors)
    centred = errors - errors.mean()
    variance = dot(centred, centred)
    n_lags = min(n_lags, n - 1)
    if n_lags < 1 or variance <= 0.0:
        return AssumptionCheck("no serial correlation", np.nan, np.nan, max(n_lags, 0))
    lags = np.arange(1, n_lags + 1)
    r = np.array([dot(centred[k:], centred[:-k]) for k in lags]) / variance
    value = float(n * (n + 2.0) * np.sum(r**2 / (n - lags)))
    return AssumptionCheck("no serial correlation", value, float(chdtrc(n_lags, value)), n_lags)


def breusch_pagan(X, design: Design, errors: NDArray) -> AssumptionCheck:
    """n R² of the squared errors on the columns, χ² (Breusch & Pagan, 1979; Koenker, 1981).

    ``design`` is of the same rows, without weights, with an intercept.
    """
    squares = errors**2
    squares -= squares.mean()
    explained = design.root[1:].T @ (weighted_sums(X, squares) / design.scale)
    return _of_squares(squares, float(explained @ explained), design.rank - 1)


def white(X, errors: NDArray) -> AssumptionCheck:
    """n R² of the squared errors on the columns, their squares and products (White, 1980)."""
    first, second = np.triu_indices(X.shape[1])
    products = ProductColumns(X, first, second)
    design = learn_design(products, None, True)
    return breusch_pagan(products, design, errors)._replace(assumption="equal variance")


class ProductColumns:
    """Rows of which each has its columns and all their products; made when a slice is taken."""

    def __init__(self, X, first: NDArray, second: NDArray):
        self.X, self.first, self.second = X, first, second
        self.shape = (X.shape[0], X.shape[1] + len(first))

    def __getitem__(self, rows) -> NDArray:
        block = self.X[rows]
        block = block.toarray() if hasattr(block, "toarray") else np.asarray(block, dtype=float)
        return np.hstack([block, block[:, self.first] * block[:, self.second]])


def _of_squares(squares: NDArray, explained: float, degrees: int) -> AssumptionCheck:
    n = len(squares)
    total = dot(squares, squares)
    if total <= 0.0 or degrees < 1:
        return AssumptionCheck("equal variance", np.nan, np.nan, degrees)
    r2 = explained / total
    left = n - degrees - 1
    f = r2 / degrees / ((1.0 - r2) / left) if left > 0 else np.nan
    return AssumptionCheck(
        "equal variance", n * r2, float(chdtrc(degrees, n * r2)), degrees,
        f, float(fdtrc(degrees, left, f)) if left > 0 else np.nan,
    )  # fmt: skip
