"""A column as levels (its distinct values, in order), counts and codes, and its type."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml._engines.categories import CategoryCodes, factorise
from fastml._validation import kernel_view
from fastml.explore._tables import RawColumn
from fastml.kernels.explore.levels import levels_of_sorted, subset_ranks

TYPES = ("binary", "numeric", "nominal", "ordinal", "datetime", "geographic")
QUANTITIES = ("numeric", "geographic", "datetime")
GROUPS = ("binary", "nominal", "ordinal")
MOST_GROUPS = 254
MOST_BINS = 16
FEW_WHOLE = 10
"""Whole numbers 0 … 10 are taken for an ordinal scale if there are 3 up to so many of them."""

LATITUDES = ("lat", "latitude")
LONGITUDES = ("lon", "lng", "long", "longitude")


class TableColumn:
    """Levels, how often each occurs, and each row's; ``len(levels)`` is the code of absent ones.

    ``levels`` of nominal columns are in order of appearance, of others in order of size.
    """

    def __init__(self, name, dtype, levels, counts, codes, *, n_infinite=0, order=None):
        self.name, self.dtype = name, dtype
        self.levels, self.counts, self.codes = levels, counts, codes
        self.n_infinite = n_infinite
        self.type = "nominal"
        self.notes: list[str] = []
        self._order = order
        self._values: NDArray | None = None  # the rows themselves, if they are float64

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @cached_property
    def n_present(self) -> int:
        return int(self.counts.sum())

    @property
    def n_missing(self) -> int:
        return self.n_rows - self.n_present - self.n_infinite

    @property
    def complete(self) -> bool:
        return self.n_present == self.n_rows

    @property
    def is_quantity(self) -> bool:
        return self.type in QUANTITIES

    @property
    def is_group(self) -> bool:
        return self.type in GROUPS

    @property
    def is_identifier(self) -> bool:
        """Whether every row has a level of its own, which says nothing of others."""
        return self.type == "nominal" and len(self.levels) == self.n_present > 2

    @property
    def has_order(self) -> bool:
        return self.type != "nominal"

    @cached_property
    def numbers(self) -> NDArray:
        """Of the levels: themselves, seconds of times, 0, 1, 2 … of ordered text."""
        if self.levels.dtype.kind == "M":
            return (self.levels - np.datetime64(0, "s")) / np.timedelta64(1, "s")
        if self.levels.dtype.kind in "biuf":
            return self.levels.astype(np.float64)
        return np.arange(len(self.levels), dtype=np.float64)

    @cached_property
    def numbers_and_nan(self) -> NDArray:
        return np.append(self.numbers, np.nan)

    def rows(self) -> NDArray:
        """The number of every row; NaN where there is none, or an infinite one."""
        return self.block(0, self.n_rows)

    def block(self, first: int, last: int) -> NDArray:
        """`rows` from one up to another."""
        if self._values is not None:
            return self._values[first:last]
        return self.numbers_and_nan[self.codes[first:last]]

    @cached_property
    def shape(self) -> dict[str, float]:
        """Mean, deviation, skewness and kurtosis."""
        return level_moments(self.numbers, self.counts, self.n_present)

    @cached_property
    def present(self) -> NDArray:
        return kernel_view(self.codes < len(self.levels))

    @cached_property
    def starts(self) -> NDArray:
        return kernel_view(np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64))

    @cached_property
    def order(self) -> NDArray:
        """Rows that are present, by level."""
        if self._order is None:
            small = self.codes.astype(np.uint16) if len(self.levels) < 1 << 16 else self.codes
            self._order = np.argsort(small, kind="stable")[: self.n_present]
            self._order = self._order.astype(_index_type(self.n_rows))
        return kernel_view(self._order)

    @cached_property
    def ranks(self) -> NDArray:
        """Of every row, from 1 on, means among ties; 0 where there is none."""
        if len(self.levels) == self.n_present:  # no ties
            ranks = self.codes + 1.0
            if not self.complete:
                ranks[~self.present] = 0.0
            return kernel_view(ranks)
        middle = self.starts[:-1] + 0.5 * (self.counts + 1.0)
        return kernel_view(np.append(middle, 0.0)[self.codes])

    def ranks_among(self, chosen: NDArray) -> tuple[NDArray, int, float]:
        """(ranks among the chosen rows that are present, how many, Σ t³ − t over ties)."""
        ranks = np.zeros(self.n_rows)
        n, ties = subset_ranks(self.order, self.starts, kernel_view(chosen), ranks)
        return ranks, n, ties

    @cached_property
    def groups(self) -> tuple[NDArray, int]:
        """(group of every row as uint8, number of groups), which is the code of absent ones.

        Quantities go into bins of nearly equal counts; the rarest of many levels are one group.
        """
        return self.binned(MOST_BINS)

    def binned(self, most: int) -> tuple[NDArray, int]:
        """`groups`, with so many bins at most."""
        if self.is_quantity and len(self.levels) == self.n_present > most**3:
            # No ties: the middle of each level is its code and a half. The same bins.
            found = ((self.codes + 0.5) * most / self.n_present).astype(np.uint8)
            if not self.complete:
                found[~self.present] = most
            return kernel_view(found), most
        table, n_groups = self.group_table(most)
        return kernel_view(np.append(table, n_groups).astype(np.uint8)[self.codes]), n_groups

    def group_table(self, most: int) -> tuple[NDArray, int]:
        """The group of every level, and how many groups there are."""
        n_levels = len(self.levels)
        if self.is_quantity:
            bins = int(np.clip(round(self.n_present ** (1 / 3)), 2, most))
            if n_levels <= bins:
                return np.arange(n_levels), n_levels
            middle = self.starts[:-1] + 0.5 * self.counts
            found = np.minimum((middle * bins / self.n_present).astype(np.intp), bins - 1)
            used = np.bincount(found, minlength=bins) > 0
            return (np.cumsum(used) - 1)[found], int(used.sum())
        if n_levels <= MOST_GROUPS:
            return np.arange(n_levels), n_levels
        table = np.full(n_levels, MOST_GROUPS - 1)
        table[self.by_count[: MOST_GROUPS - 1]] = np.arange(MOST_GROUPS - 1)
        return table, MOST_GROUPS

    @cached_property
    def by_count(self) -> NDArray:
        """Levels, the most frequent first."""
        return np.argsort(-self.counts, kind="stable")

    def most_frequent(self, top: int) -> NDArray:
        """The ``top`` first of `by_count`."""
        if len(self.levels) <= 64 * top:
            return self.by_count[:top]
        least = np.partition(self.counts, len(self.counts) - top)[len(self.counts) - top]
        above = np.flatnonzero(self.counts > least)
        ties = np.flatnonzero(self.counts == least)[: top - len(above)]
        found = np.concatenate([above, ties])
        return found[np.argsort(-self.counts[found], kind="stable")]

    def label(self, level: int) -> Any:
        """A level as it is shown: a number, a text or a time in ISO 8601."""
        return plain_value(self.levels[level])


def level_moments(numbers, counts, n) -> dict[str, float]:
    """Moments: as pandas' (of a sample), and of the rows alone."""
    if n == 0:
        nan = dict.fromkeys(("mean", "std", "skewness", "kurtosis", "centre"), np.nan)
        return nan | {f"population_{k}": np.nan for k in ("std", "skewness", "kurtosis")}
    start = numbers[len(numbers) // 2]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        each = len(counts) == n
        off = numbers - start
        mean = start + (off.sum() if each else (off * counts).sum()) / n
        off = numbers - mean
        square = off * off
        fourth = square * square if each else square * square * counts
        third = square * off if each else square * off * counts
        m2 = float((square if each else square * counts).sum()) / n
        m3, m4 = float(third.sum()) / n, float(fourth.sum()) / n
        if len(numbers) == 1:
            m2 = m3 = m4 = 0.0
        g1 = np.float64(m3) / np.float64(m2) ** 1.5
        g2 = np.float64(m4) / np.float64(m2) ** 2 - 3.0
        skewness = g1 * np.sqrt(n * (n - 1.0)) / (n - 2.0) if n > 2 else np.nan
        kurtosis = ((n + 1.0) * g2 + 6.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0)) if n > 3 else np.nan
    return {
        "mean": float(mean), "std": float(np.sqrt(m2 * n / (n - 1))) if n > 1 else np.nan,
        "skewness": float(skewness), "kurtosis": float(kurtosis), "centre": float(mean),
        "population_std": float(np.sqrt(m2)),
        "population_skewness": float(g1), "population_kurtosis": float(g2),
    }  # fmt: skip


def plain_value(value) -> Any:
    """As JSON can hold it."""
    if isinstance(value, np.datetime64):
        text = str(value.astype("datetime64[us]"))
        return text.removesuffix(".000000").removesuffix("T00:00:00")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)


def _index_type(n_rows: int) -> type:
    return np.int32 if n_rows < 1 << 31 else np.int64


# ---------------------------------------------------------------------------- from raw columns


def coded_column(name: str, raw: RawColumn, wanted=None) -> TableColumn:
    """The column with its type; ``wanted`` is a type, or the levels of an ordinal one in order."""
    if raw.factor is not None:
        column = _of_factor(name, raw, wanted)
    elif raw.values is not None and raw.values.dtype.kind == "M":
        column = _of_times(name, raw)
    else:
        column = _of_numbers(name, raw)
    if raw.mixed:
        column.notes.append("values of several types")
    column.type = _type_of(column, raw) if wanted is None else _checked(column, wanted)
    if not column.n_present:
        column.notes.append("all missing" if not column.n_infinite else "no finite value")
    elif len(column.levels) == 1:
        column.notes.append("constant")
    elif column.is_identifier:
        column.notes.append("every value is different")
    if column.n_infinite:
        column.notes.append(f"infinite values: {column.n_infinite}, left out")
    return column


def _of_factor(name, raw, wanted) -> TableColumn:
    values, codes = raw.factor
    codes = np.asarray(codes, dtype=np.int64)
    if wanted == "numeric":
        table = np.append([_as_number(name, value) for value in values], np.nan)
        return _of_numbers(name, RawColumn(raw.dtype, values=table[codes]))
    if isinstance(wanted, list | tuple):
        values, codes = _in_given_order(name, values, codes, wanted)
    elif not raw.ordered and (wanted == "ordinal" or len(values) == 2):
        listed = list(values)
        try:
            order = sorted(range(len(listed)), key=listed.__getitem__)
        except TypeError:
            order = sorted(range(len(listed)), key=lambda k: str(listed[k]))
        ranks = np.empty(len(order) + 1, dtype=np.int64)
        ranks[order], ranks[-1] = np.arange(len(order)), -1
        values, codes = values[order], ranks[codes]
    codes = np.where(codes < 0, len(values), codes).astype(_index_type(len(codes)))
    counts = np.bincount(codes, minlength=len(values) + 1)[: len(values)]
    used = counts > 0
    if not used.all():
        places = np.append(np.where(used, np.cumsum(used) - 1, 0), used.sum()).astype(codes.dtype)
        values, counts, codes = values[used], counts[used], places[codes]
    return TableColumn(name, raw.dtype, values, counts, codes)


def _as_number(name, value) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} cannot be numeric: it has {value!r}") from None


def _in_given_order(name, values, codes, wanted):
    places = {value: k for k, value in enumerate(wanted)}
    missing = [value for value in values if value not in places]
    if missing:
        raise ValueError(f"types of {name!r} lacks the value {missing[0]!r}")
    table = np.array([places[value] for value in values] + [-1], dtype=np.int64)
    ordered = np.empty(len(wanted), dtype=object)
    ordered[:] = list(wanted)
    return ordered, table[codes]


def _of_times(name, raw) -> TableColumn:
    values = raw.values
    whole = values.astype(np.int64)
    absent = np.isnat(values)
    column = _of_ordered(name, raw.dtype, whole, absent)
    column.levels = column.levels.astype(np.int64).view(values.dtype)
    return column


def _of_numbers(name, raw) -> TableColumn:
    values = raw.values
    if values.dtype.kind in "biu":
        return _of_whole(name, raw)
    values = np.ascontiguousarray(values, dtype=np.float64)
    bad = ~np.isfinite(values)
    n_infinite = int(np.isinf(values).sum()) if bad.any() else 0
    if n_infinite:
        values = np.where(bad, np.nan, values)
    column = _of_ordered(name, raw.dtype, values, bad)
    column.n_infinite = n_infinite
    column._values = values
    return column


def _of_whole(name, raw) -> TableColumn:
    values = raw.values
    factor: CategoryCodes = factorise(values)
    if len(factor.values) > 1 and not (factor.values[1:] > factor.values[:-1]).all():
        wide = values.astype(np.float64 if values.dtype == np.uint64 else np.int64)
        return _of_ordered(name, raw.dtype, wide, np.zeros(len(values), dtype=bool))
    codes: NDArray = factor.codes.astype(_index_type(len(values)))
    counts = np.bincount(codes, minlength=len(factor.values))
    return TableColumn(name, raw.dtype, factor.values, counts, codes)


def _of_ordered(name, dtype, values, absent) -> TableColumn:
    """By sorting."""
    n = len(values)
    if absent.any():
        rows = np.flatnonzero(~absent)
        order = rows[np.argsort(values[rows])]
    else:
        order = np.argsort(values)
    ordered = values[order]
    index = _index_type(n)
    order = order.astype(index)
    levels = np.empty(len(order), dtype=ordered.dtype)
    starts = np.empty(len(order) + 1, dtype=np.int64)
    codes: NDArray = np.full(n, -1, dtype=index)
    found = levels_of_sorted(kernel_view(ordered), kernel_view(order), levels, starts, codes)
    if len(order) < n:
        codes[absent] = found
    column = TableColumn(
        name, dtype, levels[:found], np.diff(starts[: found + 1]), codes, order=order
    )
    column.starts = kernel_view(starts[: found + 1])
    return column


# ---------------------------------------------------------------------------- types


def _type_of(column: TableColumn, raw: RawColumn) -> str:
    levels = column.levels
    if levels.dtype.kind == "M":
        return "datetime"
    if raw.values is None:
        if len(levels) == 2:
            return "binary"
        return "ordinal" if raw.ordered else "nominal"
    if levels.dtype.kind == "b":
        return "binary"
    whole = bool(len(levels)) and bool((levels == np.floor(levels)).all())
    if whole and len(levels) == 2:
        return "binary"
    if whole and 3 <= len(levels) <= FEW_WHOLE and levels[0] >= 0 and levels[-1] <= FEW_WHOLE:
        return "ordinal" if column.n_present > 3 * len(levels) else "numeric"
    return "numeric"


def _checked(column: TableColumn, wanted) -> str:
    if isinstance(wanted, list | tuple):
        return "ordinal"
    if wanted not in TYPES:
        raise ValueError(f"types of {column.name!r} must be one of {TYPES}, got {wanted!r}")
    if wanted == "binary" and len(column.levels) > 2:
        raise ValueError(f"column {column.name!r} cannot be binary: {len(column.levels)} values")
    number = column.levels.dtype.kind in "biuf"
    if wanted in ("numeric", "geographic") and not number and len(column.levels):
        raise ValueError(f"column {column.name!r} cannot be {wanted}: it holds {column.dtype}")
    if wanted == "datetime" and column.levels.dtype.kind != "M":
        raise ValueError(f"column {column.name!r} cannot be datetime: it holds {column.dtype}")
    return wanted


def mark_places(columns: list[TableColumn]) -> tuple[int, int] | None:
    """Make latitude and longitude geographic, where both are there; (longitude, latitude)."""

    def find(names, reach):
        for k, column in enumerate(columns):
            numbers = column.levels if column.levels.dtype.kind in "iuf" else ()
            known = column.type in ("numeric", "geographic")
            named = known and column.name.strip().lower() in names and len(numbers) > 0
            if named and abs(numbers[0]) <= reach and abs(numbers[-1]) <= reach:
                return k
        return None

    east, north = find(LONGITUDES, 180.0), find(LATITUDES, 90.0)
    if east is None or north is None:
        return None
    columns[east].type = columns[north].type = "geographic"
    return east, north
