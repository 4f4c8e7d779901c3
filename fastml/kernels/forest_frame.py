"""What the split search of a node reads, and the memory it works in.

Columns lie one after the other, as a search reads few of them. The deep half of a tree is made of
nodes whose rows are scattered over all of the training set: such a subtree first copies its rows
into a frame of its own that stays in the cache, and numbers them anew.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel

NEAR_BYTES = 1 << 18
"""Of a copied frame: half of a usual second-level cache."""


class Frame(NamedTuple):
    """Codes or keys of the values (features, rows), targets (outputs, rows), weights (rows)."""

    columns: np.ndarray
    y: np.ndarray
    weights: np.ndarray


class Codes(NamedTuple):
    """Codes per column, also the code of missing values; least and greatest value of each code."""

    n_codes: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Scratch(NamedTuple):
    """Per row of the node: ``keys``, ``weights``, ``totals`` (weight times target). Statistics of
    the node, left and right: ``slots``. Per code, all zero between two searches: ``hist``,
    ``counts``, ``bits``, ``upper_bits``. Codes that occur, with sums up to each: ``occupied``,
    ``cut_weights``, ``cut_totals``, ``cut_rows``; what a cut there is worth: ``scores``."""

    keys: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    slots: np.ndarray
    hist: np.ndarray
    counts: np.ndarray
    bits: np.ndarray
    upper_bits: np.ndarray
    occupied: np.ndarray
    cut_weights: np.ndarray
    cut_totals: np.ndarray
    cut_rows: np.ndarray
    scores: np.ndarray


@kernel
def new_scratch(n_rows, n_slots, n_codes, count_rows):
    """For nodes of at most ``n_rows`` rows; ``n_codes`` counts the one for missing values."""
    return Scratch(
        np.empty(n_rows, np.uint32),
        np.empty(n_rows),
        np.empty(n_rows),
        np.empty((3, n_slots)),
        np.zeros((n_codes, n_slots)),
        np.zeros(n_codes if count_rows else 1, np.int32),
        np.zeros((n_codes >> 6) + 1, np.uint64),
        np.zeros((n_codes >> 12) + 1, np.uint64),
        np.empty(n_codes + 1, np.int32),
        np.empty(n_codes + 1),
        np.empty(n_codes + 1),
        np.empty(n_codes if count_rows else 1, np.intp),
        np.empty(n_codes),
    )


@kernel
def near_rows(frame, max_features):
    """Rows of a subtree that is worth a frame of its own; 0 if a search reads too few columns."""
    d = frame.columns.shape[0]
    if d > 16 * max_features:
        return 0
    return NEAR_BYTES // (d * frame.columns.itemsize + 8 * frame.y.shape[0] + 8)


@kernel
def new_frame(like, n_rows):
    """Memory for the frame of a subtree."""
    columns = np.empty((like.columns.shape[0], n_rows), like.columns.dtype)
    return Frame(columns, np.empty((like.y.shape[0], n_rows)), np.empty(n_rows))


@kernel
def fetch_rows(frame, rows, near):
    """Copy rows of a frame to the front of another."""
    for i in range(rows.shape[0]):
        near.weights[i] = frame.weights[rows[i]]
    for o in range(frame.y.shape[0]):
        for i in range(rows.shape[0]):
            near.y[o, i] = frame.y[o, rows[i]]
    for f in range(frame.columns.shape[0]):
        for i in range(rows.shape[0]):
            near.columns[f, i] = frame.columns[f, rows[i]]
