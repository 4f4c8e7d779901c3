"""Distributions of targets and links to the linear score: what a likelihood needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LINKS = ("identity", "log", "logit")
POWERS = {"gaussian": 0.0, "poisson": 1.0, "gamma": 2.0, "inverse_gaussian": 3.0}
FAMILIES = (*POWERS, "binomial", "tweedie")
USUAL_LINK = {"gaussian": "identity", "binomial": "logit"}

LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}
BY_CLASS = {"PoissonRegressor": "poisson", "GammaRegressor": "gamma", "TweedieRegressor": "tweedie"}


@dataclass(frozen=True)
class Family:
    """Mean μ = inverse link of the score η, and variance dispersion · V(μ)."""

    name: str
    link: str
    power: float = 0.0

    @property
    def is_least_squares(self) -> bool:
        return self.name == "gaussian" and self.link == "identity"

    @property
    def has_free_dispersion(self) -> bool:
        return self.name not in ("poisson", "binomial")

    def mean(self, score: NDArray) -> NDArray:
        from scipy.special import expit

        return {"identity": np.asarray, "log": np.exp, "logit": expit}[self.link](score)

    def slope(self, mean: NDArray) -> NDArray:
        """dμ/dη."""
        if self.link == "identity":
            return np.ones_like(mean)
        return mean if self.link == "log" else mean * (1.0 - mean)

    def score_of(self, mean: float) -> float:
        """The link itself."""
        if self.link == "identity":
            return mean
        return float(np.log(mean) if self.link == "log" else np.log(mean / (1.0 - mean)))

    def variance(self, mean: NDArray) -> NDArray:
        return mean * (1.0 - mean) if self.name == "binomial" else mean**self.power

    def deviances(self, y: NDArray, mean: NDArray) -> NDArray:
        """Twice what each row's log-likelihood lacks to the best possible, times the dispersion."""
        from scipy.special import xlogy

        p = self.power
        if self.name == "binomial":
            return 2.0 * (
                xlogy(y, y) - xlogy(y, mean) + xlogy(1 - y, 1 - y) - xlogy(1 - y, 1 - mean)
            )
        if p == 0.0:
            return (y - mean) ** 2
        if p == 1.0:
            return 2.0 * (xlogy(y, y) - xlogy(y, mean) - y + mean)
        if p == 2.0:
            return 2.0 * (y / mean - 1.0 - np.log(y / mean))
        return 2.0 * (
            np.maximum(y, 0.0) ** (2.0 - p) / ((1.0 - p) * (2.0 - p))
            - y * mean ** (1.0 - p) / (1.0 - p)
            + mean ** (2.0 - p) / (2.0 - p)
        )

    def log_likelihoods(self, y: NDArray, mean: NDArray, dispersion: NDArray) -> NDArray:
        """Of every row; the dispersion may differ by row. NaN where there is no closed form."""
        from scipy.special import gammaln, xlogy

        if self.name == "binomial":
            return (xlogy(y, mean) + xlogy(1 - y, 1 - mean)) / dispersion
        if self.power == 0.0:
            return -0.5 * ((y - mean) ** 2 / dispersion + np.log(2.0 * np.pi * dispersion))
        if self.power == 1.0:
            return (xlogy(y, mean) - mean - gammaln(y + 1.0)) / dispersion
        if self.power == 2.0:
            shape = 1.0 / dispersion
            ratio = shape * y / mean
            return shape * np.log(ratio) - ratio - gammaln(shape) - np.log(y)
        if self.power == 3.0:
            square = (y - mean) ** 2 / (y * mean**2 * dispersion)
            return -0.5 * (square + np.log(2.0 * np.pi * dispersion * y**3))
        return np.full_like(mean, np.nan)

    def check_targets(self, y: NDArray) -> None:
        name = self.name.replace("_", " ")
        if self.name == "binomial" and not np.all((y >= 0.0) & (y <= 1.0)):
            raise ValueError("y must be between 0 and 1, or two classes, for the family 'binomial'")
        if self.power >= 2.0 and not np.all(y > 0.0):
            raise ValueError(f"y must be positive for the family {name!r}")
        if 1.0 <= self.power < 2.0 and not np.all(y >= 0.0):
            raise ValueError(f"y must not be negative for the family {name!r}")


def family_of(model, family: str, link: str) -> Family:
    """The family and link asked for, or those that the model's class means ('auto')."""
    is_classifier = getattr(model, "classes_", None) is not None
    classes = {cls.__name__ for cls in type(model).__mro__}
    named = [BY_CLASS[name] for name in classes & set(BY_CLASS)]
    chosen, power = family, 0.0
    if family == "auto":
        is_log_loss = getattr(model, "loss", None) in ("log_loss", "log")
        if named:
            chosen = named[0]
        elif classes & LOGISTIC or (is_classifier and is_log_loss):
            chosen = "binomial"
        elif is_classifier:
            raise ValueError(
                f"{type(model).__name__} is no model of probabilities: there is no likelihood to "
                "summarise; give family='gaussian' to treat its score as a regression"
            )
        else:
            chosen = "gaussian"
    if chosen == "tweedie":
        power = float(getattr(model, "power", 1.5))
        if 0.0 < power < 1.0:
            raise ValueError(f"no distribution has the Tweedie power {power}")
        chosen = next((name for name, p in POWERS.items() if p == power), "tweedie")
    else:
        power = POWERS.get(chosen, 0.0)
    if link == "auto":
        own = getattr(model, "link", "auto") if named else "auto"
        usual = "identity" if named == ["tweedie"] and power <= 0.0 else None
        link = own if own != "auto" else usual or USUAL_LINK.get(chosen, "log")
    return Family(chosen, link, power)
