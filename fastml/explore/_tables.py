"""Tables of any library → named columns: arrays of numbers or times, or levels and codes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.categories import CategoryCodes, by_library, factorise, is_nan

ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?Z?")


class RawColumn(NamedTuple):
    """What a table holds under a name: numbers, times, or a factor."""

    dtype: str
    values: NDArray | None = None  # bool, int, float or datetime64; NaN and NaT are missing
    factor: CategoryCodes | None = None  # its values: Python objects; codes below 0 are missing
    ordered: bool = False  # the factor's values come in order of size
    mixed: bool = False  # Python objects of several types


def read_table(table) -> tuple[list[str], list[Any], int]:
    """(names, columns as they are, rows); equal names get a number."""
    names, columns = _named_columns(table)
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns of table must be of one length, got {sorted(lengths)}")
    n = lengths.pop() if lengths else 0
    if not columns or n == 0:
        raise ValueError(f"table must have rows and columns, got {n} × {len(columns)}")
    return _distinct([str(name) for name in names], set(map(str, names))), columns, n


def _named_columns(table) -> tuple[list, list]:
    kind = type(table).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(table, "iloc"):
        if table.ndim == 1:
            table = table.to_frame()
        return list(table.columns), [table.iloc[:, k] for k in range(table.shape[1])]
    if kind == "polars":
        if hasattr(table, "collect"):
            table = table.collect()
        table = table.to_frame() if hasattr(table, "to_frame") else table
        return table.columns, table.get_columns()
    if kind == "pyarrow" and hasattr(table, "column_names"):
        return table.column_names, list(table.columns)
    if isinstance(table, Mapping):
        return list(table), [v if hasattr(v, "dtype") else _as_array(v) for v in table.values()]
    if hasattr(table, "tocsr"):
        raise TypeError("table must not be sparse; table.toarray() makes it dense")
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow

        return _named_columns(pyarrow.table(table))
    array = table if isinstance(table, np.ndarray) else _as_array(table)
    if array.dtype.names:
        return list(array.dtype.names), [array[name] for name in array.dtype.names]
    if array.ndim != 2:
        raise ValueError(
            f"table must have two dimensions, got {array.ndim}; a single column is values[:, None]"
        )
    return [f"x{j}" for j in range(array.shape[1])], list(array.T)


def _as_array(values) -> NDArray:
    """Numbers stay numbers; lists of text and numbers are not turned into text."""
    array = np.asarray(values)
    if array.dtype.kind not in "USO":
        return array
    return np.asarray(values, dtype=object)


def _distinct(names, taken) -> list[str]:
    """``a``, ``a`` → ``a``, ``a.1``."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        number = seen.get(name, 0)
        fresh = name
        while number and fresh in taken:
            fresh = f"{name}.{number}"
            number += 1
        seen[name] = max(number, 1)
        taken.add(fresh)
        found.append(fresh)
    return found


# ---------------------------------------------------------------------------- columns


def raw_column(column) -> RawColumn:
    """Of an array, a pandas or polars series or an Arrow column."""
    return by_library(column, _of_numpy, _of_pandas, _of_polars, _of_arrow)


def _of_pandas(series) -> RawColumn:
    from pandas.api import types

    dtype = series.dtype
    name = str(dtype)
    if name == "category":
        values = np.asarray(series.cat.categories.astype(object), dtype=object)
        factor = CategoryCodes(values, np.asarray(series.cat.codes))
        return RawColumn(name, factor=factor, ordered=bool(series.cat.ordered))
    if types.is_datetime64_any_dtype(dtype):
        if getattr(series.dt, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return RawColumn(name, values=np.asarray(series.to_numpy(dtype="datetime64[ns]")))
    if types.is_timedelta64_dtype(dtype):
        return RawColumn(name, values=_seconds(series.to_numpy(dtype="timedelta64[ns]")))
    if types.is_complex_dtype(dtype):
        return _of_factor(name, _objects_factor(np.asarray(series, dtype=object)))
    if types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype):
        if isinstance(dtype, np.dtype):
            return RawColumn(name, values=series.to_numpy())
        plain = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return RawColumn(name, values=plain)
    if name == "object":
        return _of_numpy(np.asarray(series, dtype=object))
    try:
        return _of_factor(name, factorise(series))
    except TypeError:
        return _of_factor(name, _objects_factor(np.asarray(series, dtype=object)))


def _of_polars(series) -> RawColumn:
    import polars

    dtype = series.dtype
    name = str(dtype)
    if dtype == polars.Enum:
        values = np.array(dtype.categories.to_list(), dtype=object)
        codes = series.to_physical().cast(polars.Int64).fill_null(-1).to_numpy()
        return RawColumn(name, factor=CategoryCodes(values, codes), ordered=True)
    if dtype == polars.Boolean:
        return RawColumn(name, values=series.cast(polars.Float64).to_numpy())
    if dtype.is_numeric():
        whole = dtype.is_integer() and not series.null_count()
        return RawColumn(name, values=(series if whole else series.cast(polars.Float64)).to_numpy())
    if dtype == polars.Duration:
        return RawColumn(name, values=_seconds(series.to_numpy()))
    if dtype in (polars.Date, polars.Datetime):
        return RawColumn(name, values=series.to_numpy().astype("datetime64[us]"))
    if dtype in (polars.String, polars.Categorical):
        return _of_factor(name, factorise(series))
    return _of_factor(name, _objects_factor(_object_array(series.to_list())))


def _of_arrow(column) -> RawColumn:
    import pyarrow
    from pyarrow import types

    kind = column.type
    name = str(kind)
    if types.is_dictionary(kind):
        if kind.ordered:
            whole = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
            values = _object_array(whole.dictionary.to_pylist())
            codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            return RawColumn(name, factor=CategoryCodes(values, codes), ordered=True)
        return _of_factor(name, factorise(column))
    if types.is_boolean(kind):
        column = column.cast(pyarrow.int8())
        kind = column.type
    if types.is_integer(kind) and not column.null_count:
        return RawColumn(name, values=column.to_numpy())
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        plain = column.cast(pyarrow.float64())
        chunked = isinstance(column, pyarrow.ChunkedArray)
        return RawColumn(name, values=plain.to_numpy(**({} if chunked else _COPY)))
    if types.is_timestamp(kind) or types.is_date(kind):
        plain = column.cast(pyarrow.timestamp("us"))
        chunked = isinstance(column, pyarrow.ChunkedArray)
        return RawColumn(name, values=plain.to_numpy(**({} if chunked else _COPY)))
    if types.is_duration(kind):
        chunked = isinstance(column, pyarrow.ChunkedArray)
        return RawColumn(name, values=_seconds(column.to_numpy(**({} if chunked else _COPY))))
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_factor(name, factorise(column))
    return _of_factor(name, _objects_factor(_object_array(column.to_pylist())))


_COPY = {"zero_copy_only": False}


def _of_numpy(values: NDArray) -> RawColumn:
    name = values.dtype.name if values.dtype.kind != "U" else "str"
    if values.ndim != 1:
        raise ValueError(f"a column of table must have one dimension, got {values.ndim}")
    if values.dtype.kind in "biuf":
        return RawColumn(name, values=values)
    if values.dtype.kind == "M":
        return RawColumn(name, values=values)
    if values.dtype.kind == "m":
        return RawColumn(name, values=_seconds(values))
    if values.dtype.kind in "US":
        return _of_factor(name, factorise(values))
    return _of_factor(name, _objects_factor(values.astype(object)))


def _seconds(values) -> NDArray:
    found = values / np.timedelta64(1, "s")
    return np.where(np.isnat(values), np.nan, found)


def _object_array(values) -> NDArray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _objects_factor(values: NDArray) -> CategoryCodes:
    """Of Python objects; what has no hash goes by its text."""
    try:
        return factorise(values)
    except TypeError:
        return factorise(_object_array([v if _is_missing(v) else str(v) for v in values]))


def _is_missing(value) -> bool:
    if value is None or is_nan(value):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ == "NaTType"


def _of_factor(dtype: str, factor: CategoryCodes) -> RawColumn:
    """Numbers and times among Python objects are found by their distinct values."""
    listed = [v.item() if isinstance(v, np.generic) and v.dtype.kind in "biufUS" else v
              for v in factor.values]  # fmt: skip
    there = [not _is_missing(value) for value in listed]
    kept = [value for value, keep in zip(listed, there) if keep]
    if kept and all(isinstance(value, Real) for value in kept):
        table = np.array([float(v) if k else np.nan for v, k in zip(listed, there)])
        return RawColumn(dtype, values=table[factor.codes])
    if kept and (_are_times(kept) or _are_iso(kept)):
        plain = [_as_time(v) if k else np.datetime64("NaT") for v, k in zip(listed, there)]
        return RawColumn(dtype, values=np.array(plain, dtype="datetime64[us]")[factor.codes])
    places = np.where(there, np.cumsum(there) - 1, -1)
    codes = places[factor.codes] if len(places) else factor.codes
    mixed = len({type(value) for value in kept}) > 1
    return RawColumn(dtype, factor=CategoryCodes(_object_array(kept), codes), mixed=mixed)


def _are_times(values) -> bool:
    return all(isinstance(value, datetime.date | np.datetime64) for value in values)


def _are_iso(values) -> bool:
    """Whether every text is a time as ISO 8601 writes it, and one that there is."""
    if not all(isinstance(value, str) and ISO_TIME.fullmatch(value) for value in values):
        return False
    try:
        np.array([_as_time(value) for value in values], dtype="datetime64[us]")
    except ValueError:
        return False
    return True


def _as_time(value):
    if isinstance(value, str):
        value = value.rstrip("Z")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value)
