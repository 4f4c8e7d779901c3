"""Columns of any table as arrays, and which model suits them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MODELS = ("gaussian", "categorical", "bernoulli", "counts", "kde")
FEW = 20
"""Whole numbers of at most so many values are categories to 'auto'."""


def column_of(X, j: int) -> tuple[NDArray, NDArray]:
    """Values of column j, as float64 if they are numbers, else as text, and where there are any."""
    values = np.asarray(X[:, j])
    if values.dtype.kind in "iub":
        return values.astype(np.float64), np.ones(len(values), dtype=bool)
    if values.dtype.kind == "f":
        return values.astype(np.float64), ~np.isnan(values)
    there = np.array([value is not None and value == value for value in values], dtype=bool)
    try:
        numbers = np.full(len(values), np.nan)
        if any(isinstance(value, str) for value in values[there]):
            raise ValueError
        numbers[there] = values[there].astype(np.float64)
    except (TypeError, ValueError):
        text = np.full(len(values), "", dtype=object)
        text[there] = [str(value) for value in values[there]]
        return text, there
    return numbers, there & ~np.isnan(numbers)


def suited(values: NDArray, there: NDArray) -> str:
    """Text is categorical, zeros and ones are Bernoulli, whole numbers from 0 are categories if
    they are few and counts if not, anything else is Gaussian."""
    if values.dtype == object:
        return "categorical"
    seen = np.unique(values[there])
    if len(seen) and np.isin(seen, (0.0, 1.0)).all():
        return "bernoulli"
    if len(seen) and seen[0] >= 0.0 and (seen == np.floor(seen)).all():
        return "categorical" if len(seen) <= min(FEW, max(2, int(there.sum()) // 5)) else "counts"
    return "gaussian"


def checked(values: NDArray, there: NDArray, model: str, name) -> None:
    """Refuse what the model has no probability for."""
    if model == "categorical":
        return
    if values.dtype == object:
        raise ValueError(f"column {name!r} holds text, which model {model!r} cannot take")
    if model == "counts":
        seen = values[there]
        if (seen < 0.0).any():
            raise ValueError(f"Negative values in column {name!r}, which are no counts")
        if (seen != np.floor(seen)).any():
            raise ValueError(f"column {name!r} holds fractions, which are no counts")


def chosen_models(columns, names, n_features: int) -> list[str]:
    """The model of each column; 'auto' where none is given."""
    if isinstance(columns, str):
        found = [columns] * n_features
    elif isinstance(columns, dict):
        found = ["auto"] * n_features
        places = {name: j for j, name in enumerate(names)} if names is not None else {}
        for key, model in columns.items():
            j: Any = places.get(key, key)
            if isinstance(j, bool) or not hasattr(j, "__index__") or not -n_features <= j < (
                n_features
            ):  # fmt: skip
                raise ValueError(f"columns names {key!r}, which X with {n_features} columns lacks")
            found[int(j)] = model
    else:
        found = list(columns)
        if len(found) != n_features:
            raise ValueError(f"columns has {len(found)} models, but X has {n_features} columns")
    for model in found:
        if model != "auto" and model not in MODELS:
            listed = ", ".join(repr(m) for m in ("auto", *MODELS))
            raise ValueError(f"a model of columns must be one of {listed}; got {model!r}")
    return found
