"""What `summary` returns: numbers by name, questions that need rows again, and a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml.linear_model._summary import _checks
from fastml.linear_model._summary._design import Design, row_blocks, scores
from fastml.linear_model._summary._family import Family
from fastml.linear_model._summary._rows import checked_rows
from fastml.linear_model._summary._table import as_text


class Prediction(NamedTuple):
    """Predicted means with their errors, and where a new target is to be expected."""

    mean: NDArray
    std_error: NDArray  # of the mean
    mean_lower: NDArray
    mean_upper: NDArray
    lower: NDArray  # of a new target; NaN unless the model is least squares
    upper: NDArray


class RowInfluence(NamedTuple):
    """What single rows do to the model."""

    leverage: NDArray  # diagonal of the hat matrix
    cooks_distance: NDArray
    studentized: NDArray  # residual / its standard error
    external: NDArray  # the same, with the variance of the model without the row
    dffits: NDArray  # change of the row's own prediction without it, in standard errors


@dataclass(frozen=True, repr=False)
class LinearSummary:
    """Standard errors, tests and checks of a linear model; p × p numbers, no rows.

    ``print`` shows it as a table; ``to_dict`` gives the coefficients as columns, ready for
    ``pandas.DataFrame``. What needs rows again (`predict`, `influence`, `white`) takes them.
    """

    title: str
    names: list[str]  # of the coefficients, the intercept first
    coef: NDArray
    std_error: NDArray  # NaN where the data do not determine the coefficient
    statistic: NDArray  # t or z
    p_value: NDArray
    interval: NDArray  # (n_coef, 2)
    covariance: NDArray  # (n_coef, n_coef) of the coefficients
    covariance_kind: str
    confidence: float
    uses_t: bool

    n_samples: float  # rows, or the sum of frequency weights
    rank: int
    df_model: int
    df_residual: float
    df_inference: float  # of t and F: those of the residuals, or groups − 1
    r2: float  # share of the deviance that the model explains
    adjusted_r2: float
    dispersion: float  # variance of the errors, or by what a GLM's variance is multiplied
    residual_standard_error: float
    f_value: float  # all coefficients but the constant are zero; NaN of a GLM
    f_p_value: float
    likelihood_ratio: float  # the same question of a GLM
    likelihood_ratio_p_value: float
    log_likelihood: float
    aic: float
    bic: float
    deviance: float
    null_deviance: float
    pearson_chi2: float

    condition_number: float  # of the columns as they are
    scaled_condition_number: float  # of columns of unit length, centred beside an intercept
    flat_directions: list[dict[str, float]]  # combinations of columns without variance
    checks: dict[str, _checks.AssumptionCheck]
    notes: list[str]

    family: Family
    design: Design = field(repr=False)
    middle: NDArray = field(repr=False)  # the covariance is root · middle · root'

    def __str__(self) -> str:
        return as_text(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, list]:
        """The coefficients as columns: name, coef, std_error, statistic, p_value, lower, upper."""
        columns: dict[str, Any] = {
            "name": self.names, "coef": self.coef, "std_error": self.std_error,
            "statistic": self.statistic, "p_value": self.p_value,
            "lower": self.interval[:, 0], "upper": self.interval[:, 1],
        }  # fmt: skip
        return {name: list(values) for name, values in columns.items()}

    @property
    def _slopes(self) -> tuple[NDArray, float]:
        if self.design.intercept:
            return self.coef[1:], float(self.coef[0])
        return self.coef, 0.0

    def _quantile(self, confidence: float) -> float:
        from scipy.special import ndtri, stdtrit

        upper = 0.5 + confidence / 2.0
        return float(stdtrit(self.df_inference, upper) if self.uses_t else ndtri(upper))

    def predict(self, X, *, offset=None, confidence=None) -> Prediction:
        """Means at new rows, their standard errors √(x'Vx), and intervals.

        Intervals of means of a GLM are those of the linear score, taken through the link.
        """
        X = checked_rows(X, len(self.design.center))
        score = scores(X, *self._slopes) + (0.0 if offset is None else np.asarray(offset))
        variance = np.empty(len(score))
        for rows, block in row_blocks(X):
            spread = self.design.standardised(block) @ self.design.root
            variance[rows] = np.einsum("ij,ij->i", spread @ self.middle, spread)
        error = np.sqrt(np.maximum(variance, 0.0))
        times = self._quantile(self.confidence if confidence is None else confidence)
        mean, low, high = (self.family.mean(score + s * times * error) for s in (0.0, -1.0, 1.0))
        if self.family.is_least_squares:
            around = times * np.sqrt(variance + self.dispersion)
            return Prediction(mean, error, low, high, mean - around, mean + around)
        nowhere = np.full_like(mean, np.nan)
        return Prediction(mean, self.family.slope(mean) * error, low, high, nowhere, nowhere)

    def residuals(self, X, y, *, offset=None) -> tuple[NDArray, NDArray]:
        """Fitted means and what the targets are above them."""
        X = checked_rows(X, len(self.design.center))
        score = scores(X, *self._slopes) + (0.0 if offset is None else np.asarray(offset))
        mean = self.family.mean(score)
        return mean, np.asarray(y, dtype=np.float64) - mean

    def influence(self, X, y, *, sample_weight=None, offset=None) -> RowInfluence:
        """Leverage, Cook's distance and studentised residuals of the rows that were summarised.

        ``sample_weight`` are those of the summary, if they are variance weights.
        """
        X = checked_rows(X, len(self.design.center))
        mean, residual = self.residuals(X, y, offset=offset)
        weight = np.ones(len(mean)) if sample_weight is None else np.asarray(sample_weight, float)
        pearson = residual * np.sqrt(weight / self.family.variance(mean))
        curvature = weight * self.family.slope(mean) ** 2 / self.family.variance(mean)
        leverage = np.empty(len(mean))
        for rows, block in row_blocks(X):
            leverage[rows] = curvature[rows] * self.design.leverage(block)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = 1.0 - leverage
            studentized = pearson / np.sqrt(self.dispersion * rest)
            cooks = studentized**2 * leverage / rest / self.rank
            if self.family.is_least_squares:
                df = self.df_residual
                without = (df * self.dispersion - pearson**2 / rest) / (df - 1.0)
                external = pearson / np.sqrt(without * rest)
            else:
                external = np.full_like(studentized, np.nan)
            dffits = external * np.sqrt(leverage / rest)
        return RowInfluence(leverage, cooks, studentized, external, dffits)

    def white(self, X, y) -> _checks.AssumptionCheck:
        """White's test of equal variance: squared errors on all products of two columns."""
        X = checked_rows(X, len(self.design.center))
        return _checks.white(X, self.residuals(X, y)[1])
