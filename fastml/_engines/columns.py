"""Statistics of columns and what is done with them: moments, extremes, quantiles, scaling.

NaN counts as absent. Statistics of blocks of rows can be merged. Rows may lie in memory row by row
or column by column: results are the same to the bit.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.preprocessing.affine import (
    MULTIPLY_ADD,
    SUBTRACT_DIVIDE,
    affine,
)
from fastml.kernels.preprocessing.columns import column_extremes, column_moments, gather_columns

MOST_GATHERED = 64
"""ColumnCopies that are copied at once."""

MOST_SELECTED = 16
"""With more order statistics than this, a column is sorted."""

NO_WEIGHTS = kernel_view(np.empty(0))
NO_BOUNDS = (-np.inf, np.inf)


def as_lines(X: NDArray) -> tuple[NDArray, bool]:
    """X as kernels read it, and whether that is its transpose."""
    if not X.flags.c_contiguous and X.flags.f_contiguous:
        return kernel_view(X.T), True
    return kernel_view(X), False


def _chunks(X, operations: float) -> tuple[int, int]:
    """(chunks, rows of each)."""
    n, d = X.shape
    rows = chunk_rows(n, operations * d, at_least=16)
    return rows, -(-n // rows)


# ---------------------------------------------------------------------------- moments


class ColumnMoments(NamedTuple):
    """Weight of what is there, mean and sum of squares about it, of every column."""

    counts: NDArray
    means: NDArray
    squares: NDArray

    def merged(self, other: ColumnMoments) -> ColumnMoments:
        """Of both blocks of rows."""
        return merge_moments(*(np.stack(both) for both in zip(self, other)))

    @property
    def variances(self) -> NDArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.squares / self.counts


def merge_moments(counts, means, squares) -> ColumnMoments:
    """Of parts along the first axis (Chan, Golub & LeVeque, 1979); NaN where nothing is.

    Distances from the first mean are averaged: means that are all the same stay what they are.
    """
    total = counts.sum(axis=0)
    first = (counts != 0.0).argmax(axis=0)
    start = means[first, np.arange(means.shape[1])]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        off = np.where(counts != 0.0, means - start, 0.0)
        mean = start + (counts * off).sum(axis=0) / total
        off = np.where(counts != 0.0, means - mean, 0.0)
        square = squares.sum(axis=0) + (counts * off * off).sum(axis=0)
    mean[total == 0.0] = np.nan
    square[total == 0.0] = np.nan
    return ColumnMoments(total, mean, square)


def moments(X: NDArray, weights: NDArray | None = None, n_jobs=None) -> ColumnMoments:
    """Of every column of the dense X, from one pass."""
    rows, n_chunks = _chunks(X, 4.0)
    lines, by_column = as_lines(X)
    counts, means, squares = np.zeros((3, n_chunks, X.shape[1]))
    given = NO_WEIGHTS if weights is None else kernel_view(weights, dtype=np.float64)
    column_moments(
        lines, by_column, given, rows, counts, means, squares,
        n_threads=effective_n_threads(n_jobs, work=4.0 * X.size),
    )  # fmt: skip
    if n_chunks == 1 and (counts != 0.0).all():
        return ColumnMoments(counts[0], means[0], squares[0])
    return merge_moments(counts, means, squares)


def sparse_moments(X, weights: NDArray | None = None) -> ColumnMoments:
    """Of every column of a CSR or CSC matrix; what is not stored is 0."""
    n, d = X.shape
    rows, columns = _coordinates(X)
    data = X.data.astype(np.float64, copy=False)
    w = np.ones(len(data)) if weights is None else np.asarray(weights, dtype=np.float64)[rows]
    all_weights = float(n) if weights is None else float(np.sum(weights))
    there = data == data
    absent = _sums(columns[~there], w[~there], d)
    full = np.bincount(columns, minlength=d) == n
    data, columns, w = data[there], columns[there], w[there]
    stored = _sums(columns, w, d)
    zeros = np.where(full, 0.0, all_weights - absent - stored)
    counts = np.where(full, stored, all_weights - absent)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _sums(columns, w * data, d) / counts
        off = data - means[columns]
        left = (_sums(columns, w * off, d) - zeros * means) / counts  # by which the mean was off
        squares = _sums(columns, w * off * off, d) + zeros * means * means - counts * left * left
    return ColumnMoments(counts, means + left, np.maximum(squares, 0.0))


def _sums(columns, values, d) -> NDArray:
    """Of the values of each column."""
    return np.bincount(columns, weights=values, minlength=d).astype(np.float64, copy=False)


def _coordinates(X) -> tuple[NDArray, NDArray]:
    """(row, column) of every stored value of a CSR or CSC matrix."""
    lines = np.repeat(np.arange(len(X.indptr) - 1), np.diff(X.indptr))
    return (lines, X.indices) if X.format == "csr" else (X.indices, lines)


# ---------------------------------------------------------------------------- extremes


def extremes(X: NDArray, n_jobs=None) -> tuple[NDArray, NDArray]:
    """Least and greatest value of every column, of X's type; NaN where there is none."""
    rows, n_chunks = _chunks(X, 2.0)
    lines, by_column = as_lines(X)
    lows, highs = np.empty((2, n_chunks, X.shape[1]), dtype=X.dtype)
    column_extremes(
        lines, by_column, rows, lows, highs,
        n_threads=effective_n_threads(n_jobs, work=2.0 * X.size),
    )  # fmt: skip
    low, high = lows.min(axis=0), highs.max(axis=0)
    nothing = low > high
    low[nothing] = high[nothing] = np.nan
    return low, high


def sparse_extremes(X) -> tuple[NDArray, NDArray]:
    """Least and greatest value of every column of a CSR or CSC matrix, its zeros included."""
    n, d = X.shape
    _, columns = _coordinates(X)
    there = X.data == X.data
    low, high = np.full(d, np.inf, dtype=X.dtype), np.full(d, -np.inf, dtype=X.dtype)
    np.minimum.at(low, columns[there], X.data[there])
    np.maximum.at(high, columns[there], X.data[there])
    not_full = np.bincount(columns, minlength=d) < n
    low[not_full] = np.minimum(low[not_full], 0.0)
    high[not_full] = np.maximum(high[not_full], 0.0)
    nothing = low > high
    low[nothing] = high[nothing] = np.nan
    return low, high


# ---------------------------------------------------------------------------- order


class ColumnCopies:
    """ColumnCopies of X, copied a few at a time, each handed to a function on a thread.

    ``infinite`` tells whether an infinite value was met.
    """

    def __init__(self, X: NDArray, n_jobs=None):
        self.X, self.n_jobs = X, n_jobs
        self.lines, self.by_column = as_lines(X)
        self.infinite = False

    def each(self, function) -> list:
        """``function(values)`` of every column: its values that are no NaN, free to be changed."""
        n, d = self.X.shape
        found: list = []
        threads = effective_n_threads(self.n_jobs, work=16.0 * self.X.size)
        for first in range(0, d, MOST_GATHERED):
            width = min(MOST_GATHERED, d - first)
            rows = chunk_rows(n, 4.0 * width, at_least=16)
            absent = np.zeros((-(-n // rows), width), dtype=np.intp)
            columns = np.empty((width, n), dtype=self.X.dtype)
            gather_columns(
                self.lines, self.by_column, first, rows, columns, absent, n_threads=threads
            )
            odd = np.asarray(absent.any(axis=0))
            jobs = [(function, columns[k], bool(odd[k])) for k in range(width)]
            if threads > 1 and width > 1:
                with ThreadPoolExecutor(threads) as pool:
                    found += list(pool.map(self._one, jobs))
            else:
                found += [self._one(job) for job in jobs]
        return found

    def _one(self, job):
        function, values, odd = job
        if odd:
            values = values[values == values]
            if np.isinf(values).any():
                self.infinite = True
        return function(values)


def quantiles_of(values: NDArray, shares: NDArray) -> NDArray:
    """Quantiles of unsorted values, which are reordered; linear between neighbours, as NumPy's."""
    n = len(values)
    if n == 0:
        return np.full(len(shares), np.nan)
    place = shares * (n - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, n - 1)
    if len(shares) > MOST_SELECTED:
        values.sort()
    else:
        put_in_place(values, np.unique(np.concatenate([below, above])))
    low, high = values[below].astype(np.float64), values[above].astype(np.float64)
    with np.errstate(invalid="ignore"):
        gap, weight = high - low, place - below
        return np.where(weight >= 0.5, high - gap * (1.0 - weight), low + gap * weight)


def put_in_place(values: NDArray, ranks: NDArray) -> None:
    """Put the values of these ranks, ascending, where sorting would.

    One rank at a time: NumPy then has vector instructions, and is several times faster than with
    all ranks at once.
    """
    if not len(ranks):
        return
    middle = len(ranks) // 2
    if middle and ranks[middle - 1] == ranks[middle] - 1:
        middle -= 1  # so that the next one is the least of what is left
    rank = ranks[middle]
    values.partition(rank)
    put_in_place(values[:rank], ranks[:middle])
    rest, others = values[rank + 1 :], ranks[middle + 1 :] - (rank + 1)
    if len(others) and others[0] == 0:
        least = rest.argmin()
        rest[0], rest[least] = rest[least], rest[0]
        rest, others = rest[1:], others[1:] - 1
    put_in_place(rest, others)


def quantiles(X: NDArray, shares, n_jobs=None) -> tuple[NDArray, bool]:
    """(shares × columns) quantiles of X, NaN left out, and whether X has an infinite value."""
    shares = np.asarray(shares, dtype=np.float64)
    columns = ColumnCopies(X, n_jobs)
    found = columns.each(lambda values: quantiles_of(values, shares))
    return np.array(found, dtype=np.float64).reshape(X.shape[1], len(shares)).T, columns.infinite


# ---------------------------------------------------------------------------- scaling


def subtract_divide(X, shifts, factors, *, bounds=NO_BOUNDS, in_place=False, n_jobs=None):
    """((x − shift) / factor of every column, whether X has an infinite value)."""
    return _affine(X, SUBTRACT_DIVIDE, shifts, factors, bounds, in_place, n_jobs)


def multiply_add(X, factors, shifts, *, bounds=NO_BOUNDS, in_place=False, n_jobs=None):
    """(x · factor + shift of every column, whether X has an infinite value)."""
    return _affine(X, MULTIPLY_ADD, shifts, factors, bounds, in_place, n_jobs)


def _affine(X, mode, shifts, factors, bounds, in_place, n_jobs):
    d = X.shape[1]
    shifts = np.zeros(d) if shifts is None else shifts
    factors = np.ones(d) if factors is None else factors
    lines, by_column = as_lines(X)
    out = np.empty(lines.shape, dtype=X.dtype)
    if in_place and X.flags.c_contiguous:
        out = X
    elif in_place and X.flags.f_contiguous:
        out = X.T
    rows, n_chunks = _chunks(X, 2.0)
    infinite = np.zeros(n_chunks, dtype=np.intp)
    affine(
        lines, by_column, mode, kernel_view(shifts, dtype=np.float64),
        kernel_view(factors, dtype=np.float64), (float(bounds[0]), float(bounds[1])), rows, out,
        infinite, n_threads=effective_n_threads(n_jobs, work=2.0 * X.size),
    )  # fmt: skip
    result = out.T if by_column else out
    if in_place and result is not X and not np.shares_memory(result, X):
        X[...] = result
        result = X
    return result, bool(infinite.any())


def scale_sparse_columns(X, factors):
    """Multiply the columns of a CSR or CSC matrix by ``factors``, in place."""
    _, columns = _coordinates(X)
    X.data *= np.asarray(factors).astype(X.dtype, copy=False)[columns]
