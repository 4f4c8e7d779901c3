"""Values of the columns → integer codes for split search: bins, or ranks of distinct values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.forest.codes import assign_codes
from fastml.kernels.forest.frame import Codes

MAX_BINS = 255
"""One more code is for missing values."""

EXACT_ROWS = 10_000
"""Up to here 'auto' uses ranks: exact, and as fast."""

SAMPLE = 200_000
"""Rows that the bins of larger data are chosen from."""


def encode(X: NDArray, exact: bool, n_threads: int) -> tuple[NDArray, Codes]:
    """Codes (d, n) of a float32 array: ranks, or bins of about equal numbers of rows.

    Columns of at most `MAX_BINS` distinct values are coded exactly either way. Missing values get
    the code after the last.
    """
    n, d = X.shape
    meaning = codes_of_sample(X[:: 1 if exact else max(1, n // SAMPLE)], exact)
    most = meaning.n_codes.max()
    codes = np.empty((d, n), np.uint8 if most <= MAX_BINS else np.uint32)
    assign_codes(kernel_view(X), meaning.high, meaning.n_codes, codes, n_threads=n_threads)
    return codes, meaning


def codes_of_sample(X: NDArray, exact: bool) -> Codes:
    """What the codes of the columns mean, from some rows."""
    d = X.shape[1]
    columns, lows = [], []
    for f in range(d):
        ordered = np.sort(X[:, f])  # NaN last
        if np.isnan(ordered[-1]):
            ordered = ordered[: np.searchsorted(ordered, np.nan)]
        if not len(ordered):
            columns.append(np.zeros(1, np.float32))
            lows.append(np.zeros(1, np.float32))
            continue
        fresh = np.empty(len(ordered), bool)
        fresh[0] = True
        np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
        distinct = ordered[fresh]
        if exact or len(distinct) <= MAX_BINS:
            columns.append(distinct)
            lows.append(distinct)
            continue
        # A bin ends at the value of a quantile; the next begins at the next distinct value.
        ends = np.arange(1, MAX_BINS + 1) * len(ordered) // MAX_BINS - 1
        at = np.unique(np.cumsum(fresh)[ends] - 1)
        columns.append(distinct[at])
        lows.append(distinct[np.concatenate([[0], at[:-1] + 1])])
    n_codes = np.array([len(column) for column in columns], dtype=np.int64)
    high = np.full((d, int(n_codes.max())), np.inf, np.float32)
    low = high.copy()
    for f in range(d):
        high[f, : n_codes[f]] = columns[f]
        low[f, : n_codes[f]] = lows[f]
    return Codes(kernel_view(n_codes), kernel_view(low), kernel_view(high))
