"""Columns of text among those of numbers → one array of numbers, categories as codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from fastml._engines.categories import factorise, is_nan, positions, sorted_factor


def has_text(X) -> bool:
    """Whether some column of an array, a list of rows or a frame holds no numbers."""
    return any(not _is_numeric(column) for column in _columns(X, just_look=True))


def _is_numeric(column) -> bool:
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return dtype.is_numeric() or str(dtype) == "Boolean"
    if getattr(dtype, "kind", "O") != "O":
        return dtype.kind in "biuf"
    if getattr(dtype, "name", "") == "category":
        return False
    return not any(isinstance(value, str) for value in np.asarray(column, dtype=object))


def _columns(X, just_look: bool = False) -> list:
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    array = X
    if not hasattr(X, "dtype"):
        try:
            array = np.asarray(X)
            if array.dtype.kind in "US":
                array = np.array(X, dtype=object)  # numbers beside text stay numbers
        except (ValueError, TypeError):  # no table
            array = np.empty((0, 0))
    if just_look and (getattr(array, "ndim", 0) != 2 or not isinstance(array, np.ndarray)):
        return []  # what is no table is refused elsewhere
    if just_look and array.dtype.kind in "biuf":
        return []
    return [array[:, j] for j in range(array.shape[1])]


def learned_codes(X, mask: NDArray) -> tuple[NDArray, list]:
    """(numbers, categories by column): codes in the order of the values where ``mask`` is set, NaN
    where they are missing; the other columns have no categories, but None."""
    columns = _columns(X)
    numbers = np.empty((len(columns[0]), len(columns)))
    categories: list = [None] * len(columns)
    for f, column in enumerate(columns):
        if not mask[f]:
            numbers[:, f] = _as_numbers(column)
            continue
        values, codes = sorted_factor(factorise(column))
        known = [value for value in values.tolist() if not _is_missing(value)]
        numbers[:, f] = np.where(codes < len(known), codes, np.nan)  # missing ones are the last
        text = all(isinstance(value, str) for value in known)
        categories[f] = np.array(known, dtype=str if text else object)
    return numbers, categories


def known_codes(X, categories: list) -> NDArray:
    """The numbers of new rows; a category that is not among those gets the code after them."""
    columns = _columns(X)
    if len(columns) != len(categories):
        raise ValueError(f"X has {len(columns)} columns, expected {len(categories)}")
    numbers = np.empty((len(columns[0]), len(columns)))
    for f, (column, known) in enumerate(zip(columns, categories)):
        if known is None:
            numbers[:, f] = _as_numbers(column)
            continue
        values, codes = factorise(column)
        places = positions(values.astype(object), known.astype(object)).astype(np.float64)
        places[places < 0] = len(known)
        places[[_is_missing(value) for value in values.tolist()]] = np.nan
        numbers[:, f] = places[codes]
    return numbers


def _is_missing(value) -> bool:
    return value is None or is_nan(value)


def _as_numbers(column) -> NDArray:
    return check_array(column, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan")
