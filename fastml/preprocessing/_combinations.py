"""New columns from two or more others: sums, ratios, radii, angles, interval indicators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations as subsets
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import StrOptions, check_feature_names_in, fit_context
from fastml._threads import effective_n_threads
from fastml._validation import FLOATS, validate_data

BLOCK_ROWS = 4096
"""Rows whose columns are made together: NumPy's calls are few, and what is written lies near."""

WORK = 4.0
"""Multiply-adds that a value costs, about."""


class Operation(NamedTuple):
    """``write(columns, out, zero_division)``, and how many columns it takes."""

    write: Callable
    at_least: int
    at_most: float


def _fold(ufunc, columns, out, zero_division):
    """ufunc(… ufunc(ufunc(a, b), c) …)."""
    ufunc(columns[0], columns[1], out=out)
    for column in columns[2:]:
        ufunc(out, column, out=out)


def _of_one(ufunc, columns, out, zero_division):
    ufunc(columns[0], out=out)


def _divided(top, bottom, out, zero_division):
    np.divide(top, bottom, out=out)
    zero = bottom == 0.0
    if zero.any():
        out[zero & (top == top)] = zero_division


def _ratio(columns, out, zero_division):
    _divided(columns[0], columns[1], out, zero_division)


def _contrast(columns, out, zero_division):
    a, b = columns
    _divided(a - b, a + b, out, zero_division)


def _squares(ufunc, columns, out, zero_division):
    np.multiply(columns[0], columns[0], out=out)
    for column in columns[1:]:
        ufunc(out, column * column, out=out)


OPERATIONS = {
    "sum": Operation(partial(_fold, np.add), 2, np.inf),
    "difference": Operation(partial(_fold, np.subtract), 2, 2),
    "product": Operation(partial(_fold, np.multiply), 2, np.inf),
    "ratio": Operation(_ratio, 2, 2),
    "contrast": Operation(_contrast, 2, 2),
    "radius": Operation(partial(_fold, np.hypot), 2, np.inf),
    "square_sum": Operation(partial(_squares, np.add), 2, np.inf),
    "square_difference": Operation(partial(_squares, np.subtract), 2, 2),
    "sin": Operation(partial(_of_one, np.sin), 1, 1),
    "cos": Operation(partial(_of_one, np.cos), 1, 1),
}
INTERVAL = "interval"
SIDES = {"left": (ge, lt), "right": (gt, le), "both": (ge, le), "neither": (gt, lt)}


def _indicator(columns, bounds, closed, out):
    """The product of the indicators; NaN where a column is NaN."""
    above, below = SIDES[closed]
    out[:] = 1.0
    for column, (low, high) in zip(columns, bounds):
        inside = above(column, low) & below(column, high)
        out *= np.where(np.isnan(column), np.nan, inside)


def _number(value) -> str:
    """As short as it can be said: 700.0 is "700"."""
    return f"{value:.15g}" if float(f"{value:.15g}") == value else repr(float(value))


@documented()
class CombinationFeatures(TransformerMixin, BaseEstimator):
    """New columns from two or more others, chosen by name.

    ===================== =====================================================
    name                  of the columns a, b, …
    ===================== =====================================================
    ``sum``               a + b + …
    ``difference``        a − b
    ``product``           a · b · …
    ``ratio``             a / b
    ``contrast``          (a − b) / (a + b)
    ``radius``            √(a² + b² + …), without overflow on the way
    ``square_sum``        a² + b² + …
    ``square_difference`` a² − b²
    ``sin``, ``cos``      sin a, cos a
    ``interval``          [low ≤ a < high] · [low' ≤ b < high'] · …, 0 or 1
    ===================== =====================================================

    Rows are independent of each other, and nothing but the columns is learned. NaN in a column
    that is used gives NaN; what is too large for the type becomes infinite.

    Parameters
    ----------
    combinations : str or list, default=('sum', 'difference', 'product', 'ratio')
        Each entry is a name, for all pairs of columns a before b (``sin`` and ``cos``: all
        columns); or a tuple of a name and the columns, as ``('ratio', 'weight', 'height')``; or
        ``('interval', {'area': (700, 800), 'rooms': (1, 3)})``. Columns are given by name, or by
        position from 0 (from the end if negative).
    closed : {'left', 'right', 'both', 'neither'}, default='left'
        The ends that belong to an interval; 'left': low ≤ a < high.
    zero_division : float, default=0.0
        The value of ``ratio`` and ``contrast`` where the divisor is 0; NaN marks it as missing.
    include_input : bool, default=False
        The columns of X first.

    Attributes
    ----------
    combinations_ : list of tuple
        (name, positions of the columns, their bounds) of each new column.
    n_output_features_ : int
        Number of columns of the result.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PolynomialFeatures : All products of columns up to a degree.
    EdgeDiscretizer : Bins between given edges.

    Examples
    --------
    >>> from fastml.preprocessing import CombinationFeatures
    >>> X = [[3.0, 4.0], [6.0, 0.0]]
    >>> CombinationFeatures(["sum", "ratio", "radius"]).fit_transform(X)
    array([[7.  , 0.75, 5.  ],
           [6.  , 0.  , 6.  ]])
    >>> both = CombinationFeatures([("difference", 1, 0), ("interval", {0: (3, 5), 1: (0, 9)})])
    >>> both.fit_transform(X)
    array([[ 1.,  1.],
           [-6.,  0.]])
    >>> both.get_feature_names_out()
    array(['difference(x1 x0)', 'interval(x0 3 5 x1 0 9)'], dtype=object)
    """

    _parameter_constraints: dict = {
        "combinations": [StrOptions(set(OPERATIONS)), list, tuple],
        "closed": [StrOptions(set(SIDES))],
        "zero_division": [Real],
        "include_input": ["boolean"],
    }

    def __init__(
        self,
        combinations=("sum", "difference", "product", "ratio"),
        *,
        closed="left",
        zero_division=0.0,
        include_input=False,
    ):
        self.combinations = combinations
        self.closed = closed
        self.zero_division = zero_division
        self.include_input = include_input

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        d = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan").shape[1]
        entries = [self.combinations] if isinstance(self.combinations, str) else self.combinations
        found = [combination for entry in entries for combination in self._spelled_out(entry, d)]
        if not found:
            raise ValueError("combinations must name one or more, got none")
        seen: set[tuple] = set()
        for combination in found:
            if combination in seen:
                raise ValueError(f"combinations has {combination[:2]} twice")
            seen.add(combination)
        self.combinations_ = found
        self.n_output_features_ = len(found) + (d if self.include_input else 0)
        return self

    def _spelled_out(self, entry, d) -> list[tuple]:
        """(name, positions, bounds) of all columns that the entry asks for."""
        name, *columns = [entry] if isinstance(entry, str) else self._parts(entry)
        if name == INTERVAL:
            return [self._interval(columns, d)]
        if name not in OPERATIONS:
            known = ", ".join(map(repr, (*OPERATIONS, INTERVAL)))
            raise ValueError(f"combinations has the unknown name {name!r}; known are {known}")
        _, at_least, at_most = OPERATIONS[name]
        if not columns:
            if d < at_least:
                raise ValueError(
                    f"{name!r} in combinations takes {at_least} of the columns, got "
                    f"n_features = {d}"
                )
            return [(name, chosen, ()) for chosen in subsets(range(d), at_least)]
        if not at_least <= len(columns) <= at_most:
            more = "" if at_least == at_most else " or more"
            raise ValueError(
                f"{name!r} in combinations takes {at_least}{more} of the columns, got {entry!r}"
            )
        return [(name, tuple(self._position(column, d) for column in columns), ())]

    @staticmethod
    def _parts(entry):
        if not (isinstance(entry, list | tuple) and entry and isinstance(entry[0], str)):
            raise ValueError(
                f"combinations must have names and tuples that begin with a name, got {entry!r}"
            )
        return entry

    def _interval(self, given, d) -> tuple:
        if len(given) != 1 or not isinstance(given[0], Mapping) or not given[0]:
            raise ValueError(
                "'interval' in combinations takes a dict of columns and their bounds, as "
                f"('interval', {{'area': (700, 800)}}), got {given!r}"
            )
        bounds = []
        for column, ends in given[0].items():
            pair = isinstance(ends, list | tuple) and len(ends) == 2
            if not (pair and all(isinstance(end, Real) for end in ends) and ends[0] <= ends[1]):
                raise ValueError(
                    f"'interval' in combinations takes bounds (low, high) with low <= high, got "
                    f"{ends!r} for column {column!r}"
                )
            bounds.append((float(ends[0]), float(ends[1])))
        return INTERVAL, tuple(self._position(column, d) for column in given[0]), tuple(bounds)

    def _position(self, column, d) -> int:
        if isinstance(column, str):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise ValueError(f"combinations has column {column!r}, but X has no column names")
            places = np.flatnonzero(names == column)
            if not len(places):
                raise ValueError(f"combinations has column {column!r}, which is not in X")
            return int(places[0])
        if not isinstance(column, Integral) or isinstance(column, bool):
            raise ValueError(f"combinations has {column!r}, neither a name nor a position")
        if not -d <= column < d:
            raise ValueError(f"combinations has column {column}, but X has n_features = {d}")
        return int(column) % d

    def transform(self, X):
        """The new columns of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Xt : ndarray of shape (n_samples, n_output_features_)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False)
        n = len(X)
        result = np.empty((n, self.n_output_features_), dtype=X.dtype)
        write = partial(self._write_block, X, result)
        starts = range(0, n, BLOCK_ROWS)
        n_threads = min(effective_n_threads(None, work=WORK * result.size), len(starts))
        if n_threads == 1:
            list(map(write, starts))
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(write, starts))
        return result

    def _write_block(self, X, result, start):
        """Write the rows of ``result`` from ``start`` on."""
        rows = slice(start, start + BLOCK_ROWS)
        columns = np.ascontiguousarray(X[rows].T)
        made = np.empty((len(self.combinations_), columns.shape[1]), dtype=X.dtype)
        with np.errstate(all="ignore"):
            for (name, positions, bounds), out in zip(self.combinations_, made):
                used = [columns[position] for position in positions]
                if name == INTERVAL:
                    _indicator(used, bounds, self.closed, out)
                else:
                    OPERATIONS[name].write(used, out, self.zero_division)
        n_input = result.shape[1] - len(made)
        result[rows, :n_input] = X[rows, :n_input]
        result[rows, n_input:] = made.T

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: "ratio(a b)" for a / b, "interval(a 0 1)" for 0 ≤ a < 1.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X, instead of those seen by fit.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self)
        names = check_feature_names_in(self, input_features)
        found = list(names) if self.n_output_features_ > len(self.combinations_) else []
        for name, positions, bounds in self.combinations_:
            parts = [names[position] for position in positions]
            if bounds:
                parts = [" ".join([part, *map(_number, ends)]) for part, ends in zip(parts, bounds)]
            found.append(f"{name}({' '.join(parts)})")
        return np.asarray(found, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
