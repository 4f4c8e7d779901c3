"""What a test between models returns, and how models become scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import safe_indexing


@dataclass(frozen=True)
class ModelTest:
    """Outcome of a test whether models are equally good.

    Attributes
    ----------
    method : str
        Name of the test.
    statistic : float
        Its statistic.
    degrees_of_freedom : float, tuple or None
        Of the statistic's distribution; None for an exact test.
    p_value : float
        Chance of such a statistic, or a more extreme one, among equally good models.
    meaning : str
        A sentence that says it in words.

    Examples
    --------
    >>> from fastml.model_selection import mcnemar_test
    >>> mcnemar_test([1] * 20, [1] * 20, [1] * 10 + [0] * 10).p_value < 0.01
    True
    """

    method: str
    statistic: float
    degrees_of_freedom: float | tuple | None
    p_value: float
    meaning: str


def is_model(value) -> bool:
    return hasattr(value, "fit") and not isinstance(value, type)


def says(p_value: float, level: float, better: str = "") -> str:
    """The beginning of a sentence about models."""
    if np.isnan(p_value):
        return "The scores do not vary: the test says nothing"
    if p_value < level:
        return f"The models differ (p = {p_value:.3g} < {level:g}){better}"
    return f"No difference is shown (p = {p_value:.3g} ≥ {level:g})"


def scores_of_splits(models, X, y, splits: Iterable, scoring) -> tuple[NDArray, list[float]]:
    """(splits, models) of scores, each model fitted on the same rows; and test / train sizes."""
    from sklearn.base import clone
    from sklearn.metrics import check_scoring

    scorers = [check_scoring(model, scoring=scoring) for model in models]
    found, ratios = [], []
    for train, test in splits:
        parts = [safe_indexing(a, rows) for rows in (train, test) for a in (X, y)]
        found.append(
            [
                scorer(clone(model).fit(*parts[:2]), *parts[2:])
                for model, scorer in zip(models, scorers)
            ]
        )
        ratios.append(len(test) / len(train))
    return np.array(found, dtype=np.float64), ratios


def check_data(X, y) -> None:
    if X is None or y is None:
        raise ValueError("X and y are needed to fit the models")


def finished(scores, name: str, shape: tuple | None = None) -> NDArray:
    """Scores that are already there, as float64."""
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be an estimator or finite scores")
    if shape is not None and values.shape != shape:
        if values.size != int(np.prod(shape)):
            raise ValueError(f"{name} must have scores of shape {shape}, got {values.shape}")
        values = values.reshape(shape)
    return values


def pair_of_kinds(first, second) -> bool:
    """Whether both are models; an error if only one of them is."""
    kinds = is_model(first), is_model(second)
    if kinds[0] != kinds[1]:
        raise TypeError("first and second must both be estimators, or both finished results")
    return kinds[0]
