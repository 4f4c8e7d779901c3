"""Columns of any kind → distinct values and codes.

NumPy's text and numbers are hashed on threads; columns of Python objects by the addresses of the
objects where many share one, else by the strings' characters; pandas' and Arrow's text and
categories come with codes. Distinct values are few, and go through Python.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.python_text import addresses_of, item_words
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.preprocessing.codes import chunk_codes, merge_codes, renumber

ROWS_PER_CHUNK = 1 << 15
FEW_ROWS = 1 << 10
FEW_SHARE = 4
"""Python objects are looked at one by one where more than one in so many has its own address."""


class CategoryCodes(NamedTuple):
    """Distinct values, in any order, and the position of each row's among them."""

    values: NDArray
    codes: NDArray  # int64

    @property
    def counts(self) -> NDArray:
        return np.bincount(self.codes, minlength=len(self.values))


def is_nan(value) -> bool:
    """Whether a value is a float NaN, or pandas' NA, which scikit-learn takes for one."""
    if isinstance(value, float | np.floating):
        return value != value
    return type(value).__name__ == "NAType"


def by_library(column, array, pandas, polars, arrow):
    """The column read by the function for its library; what has none is made an array."""
    readers = {"pandas": pandas, "polars": polars, "pyarrow": arrow}
    kind = type(column).__module__.partition(".")[0]
    return readers[kind](column) if kind in readers else array(np.asarray(column))


def factorise(column) -> CategoryCodes:
    """Of an array, a pandas or polars series or an Arrow column."""
    return by_library(column, _of_array, _of_pandas, _of_polars, _of_arrow)


def ordered(values: NDArray) -> NDArray:
    """Positions that put distinct values in scikit-learn's order: sorted, None and NaN last."""
    if values.dtype != object:
        return np.argsort(values, kind="stable")
    listed = values.tolist()
    plain = [k for k, value in enumerate(listed) if value is not None and not is_nan(value)]
    try:
        plain.sort(key=listed.__getitem__)
    except TypeError as error:
        raise _mixed(listed) from error
    nothing = [k for k, value in enumerate(listed) if value is None]
    nan = [k for k, value in enumerate(listed) if value is not None and is_nan(value)]
    return np.array(plain + nothing + nan, dtype=np.intp)


def sorted_factor(factor: CategoryCodes) -> CategoryCodes:
    """With the values in order, each once: NaN of different objects are one."""
    order = ordered(factor.values)
    values = factor.values[order]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    n_nan = 0
    while n_nan < len(values) and is_nan(values[len(values) - 1 - n_nan]):
        n_nan += 1
    if n_nan > 1:
        values = values[: len(values) - n_nan + 1]
        ranks = np.minimum(ranks, len(values) - 1)
    return CategoryCodes(values, ranks[factor.codes])


def positions(values: NDArray, known: NDArray) -> NDArray:
    """Where each of ``values`` is among ``known``; −1 if nowhere. NaN is NaN, None is None."""
    if values.dtype.kind in "iufb" and known.dtype.kind in "iufb":
        return _numeric_positions(values, known)
    places: dict = {}
    nan_place = -1
    for k, value in enumerate(known.tolist()):
        if is_nan(value):
            nan_place = k
        else:
            places.setdefault(value, k)
    found = [nan_place if is_nan(v) else places.get(v, -1) for v in values.tolist()]
    return np.array(found, dtype=np.int64)


def _numeric_positions(values, known):
    if len(known) == 0:
        return np.full(len(values), -1, dtype=np.int64)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)
    place = order[place]
    found = known[place]
    same = (found == values) | ((found != found) & (values != values))
    return np.where(same, place, -1)


# ---------------------------------------------------------------------------- arrays


def _of_array(values: NDArray) -> CategoryCodes:
    if values.dtype == object:
        return _of_objects(values)
    if values.dtype.kind in "iub" and len(values):
        return _of_integers(values)
    return _hashed(values)


def _of_integers(values):
    low, high = int(values.min()), int(values.max())
    if high - low <= 4 * len(values) + 64:
        places = values.astype(np.int64) - low
        there = np.bincount(places, minlength=1) > 0
        found = np.flatnonzero(there)
        ranks = np.cumsum(there) - 1
        return CategoryCodes((found + low).astype(values.dtype), ranks[places])
    return _hashed(values)


def _hashed(values):
    """Text, bytes, numbers and times: by their bits."""
    if not len(values):
        return CategoryCodes(values, np.empty(0, dtype=np.int64))
    text = values.dtype.kind in "US"
    items = np.ascontiguousarray(values)
    if values.dtype.kind == "f":
        items = items.astype(np.float64) + 0.0  # one zero
        items[items != items] = np.nan  # and one NaN
    elif values.dtype.kind in "iub":
        items = items.astype(np.int64)
    elif text and items.dtype.itemsize % 4:  # bytes: padded to words
        items = items.astype(f"S{-(-max(items.dtype.itemsize, 1) // 4) * 4}")
    elif items.dtype.itemsize == 0:
        items = items.astype("U1")
    words = items.view(np.uint32).reshape(len(items), -1)
    firsts, codes = hash_codes(words, text)
    return CategoryCodes(values[firsts], codes)


def hash_codes(words: NDArray, text: bool) -> tuple[NDArray, NDArray]:
    """(first row of each distinct item, code of every row) of (n × w) 32-bit words."""
    n = len(words)
    rows_per_chunk = ROWS_PER_CHUNK if n > FEW_ROWS else FEW_ROWS
    n_chunks = -(-n // rows_per_chunk)
    codes, rows = np.empty((2, n), dtype=np.int64)
    n_found = np.empty(n_chunks, dtype=np.int64)
    threads = effective_n_threads(None, work=16.0 * words.size)
    words = kernel_view(words)
    chunk_codes(
        words, text, rows_per_chunk, 2 * rows_per_chunk, codes, rows, n_found, n_threads=threads
    )
    total = int(n_found.sum())
    table = np.full(1 << max(4, (2 * total).bit_length()), -1, dtype=np.int64)
    common, firsts = np.empty(n, dtype=np.int64), np.empty(total, dtype=np.int64)
    n_common = merge_codes(words, text, rows_per_chunk, n_found, rows, table, common, firsts)
    renumber(rows_per_chunk, common, np.arange(n_common), codes, n_threads=threads)
    return firsts[:n_common], codes


def _of_objects(values):
    """Distinct addresses or texts by hashing, then distinct values among what they hold."""
    if len(values) > FEW_ROWS:
        shared = _share_objects(values)
        if shared:
            words = addresses_of(values).view(np.uint32).reshape(len(values), -1)
        else:
            words = item_words(values)
        if words is not None:
            firsts, codes = hash_codes(words, False)
            if FEW_SHARE * len(firsts) <= len(values):
                few = _of_few_objects(values[firsts])
                return CategoryCodes(few.values, few.codes[codes])
    return _of_few_objects(values)


def _share_objects(values) -> bool:
    """Whether few addresses occur among some of the rows."""
    some = values[:: max(1, len(values) // FEW_ROWS)]
    return FEW_SHARE * len(set(map(id, some.tolist()))) <= 3 * len(some)


def _of_few_objects(values):
    """By a dictionary; NaN of different objects stay apart."""
    listed = values.tolist()
    try:
        places = dict.fromkeys(listed)
    except TypeError as error:
        raise _mixed(listed) from error
    for place, value in enumerate(places):
        places[value] = place
    found = np.empty(len(places), dtype=object)
    found[:] = list(places)
    return CategoryCodes(found, np.fromiter(map(places.__getitem__, listed), np.int64, len(listed)))


def _mixed(listed) -> TypeError:
    types = sorted({type(value).__qualname__ for value in listed})
    return TypeError(
        f"Encoders require their input argument must be uniformly strings or numbers. Got {types}"
    )


# ---------------------------------------------------------------------------- columns of tables


def _with_missing(values: NDArray, codes: NDArray, missing) -> CategoryCodes:
    """Codes of −1 are one more value."""
    codes = np.asarray(codes, dtype=np.int64)
    absent = codes < 0
    if absent.any():
        codes = np.where(absent, len(values), codes)
        values = np.append(values, np.array([missing], dtype=values.dtype))
    return CategoryCodes(values, codes)


def _only_used(factor: CategoryCodes) -> CategoryCodes:
    """Without values that no row has."""
    there = factor.counts > 0
    if there.all():
        return factor
    return CategoryCodes(factor.values[there], (np.cumsum(there) - 1)[factor.codes])


def _of_pandas(series):
    if series.dtype.name == "category":
        categories = series.cat.categories
        values = np.asarray(categories)
        if values.dtype.kind not in "iufb":
            values = values.astype(object)
        codes = np.asarray(series.cat.codes)
        if (codes < 0).any() and values.dtype.kind in "iub":
            values = values.astype(np.float64)
        return _only_used(_with_missing(values, codes, np.nan))
    if type(series.dtype).__name__ in ("StringDtype", "ArrowDtype"):
        codes, values = series.factorize()
        values = np.asarray(values)
        if values.dtype.kind not in "iufb":
            values = values.astype(object)
        elif (codes < 0).any():
            values = values.astype(np.float64)
        return _with_missing(values, codes, np.nan)
    return _of_array(np.asarray(series.array))


def _of_polars(series):
    import polars

    if series.dtype in (polars.String, polars.Categorical, polars.Enum):
        series = series.cast(polars.Categorical) if series.dtype == polars.String else series
        physical = _of_array(series.to_physical().cast(polars.Int64).fill_null(-1).to_numpy())
        rows = np.empty(len(physical.values), dtype=np.int64)
        rows[physical.codes[::-1]] = np.arange(len(physical.codes))[::-1]
        values = series.gather(rows).cast(polars.String).to_list()
        return CategoryCodes(np.array(values, dtype=object), physical.codes)
    return _of_array(series.to_numpy())


def _of_arrow(column):
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if not pyarrow.types.is_dictionary(column.type):
        if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
            return _of_array(column.to_numpy(zero_copy_only=False))
        column = column.dictionary_encode()
    values = np.array(column.dictionary.to_pylist(), dtype=object)
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _only_used(_with_missing(values, codes, None))
