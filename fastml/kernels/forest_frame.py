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
    """Few arrays, as each costs compile time.

    Per row of the node: ``keys``, and ``pairs``, weights above weights times targets. Of the node,
    left and right: ``slots``. Per code, all zero between two searches: ``hist``, ``counts``,
    ``bits``. Codes that occur: ``occupied``; sums of weights, of totals, up to each and what a cut
    there is worth: ``cuts``.
    """

    keys: np.ndarray
    pairs: np.ndarray
    slots: np.ndarray
    hist: np.ndarray
    counts: np.ndarray
    bits: np.ndarray
    occupied: np.ndarray
    cuts: np.ndarray


@kernel
def near_rows(frame, max_features):
    """Rows of a subtree that is worth a frame of its own; 0 if a search reads too few columns."""
    d = frame.columns.shape[0]
    if d > 16 * max_features:
        return 0
    return NEAR_BYTES // (d * frame.columns.itemsize + 8 * frame.y.shape[0] + 8)


@kernel
def fetch(source, rows, target):
    """Copy the values of some rows to the front."""
    for i in range(rows.shape[0]):
        target[i] = source[rows[i]]


@kernel
def fetch_rows(frame, rows, near):
    """Copy rows of a frame to the front of another."""
    fetch(frame.weights, rows, near.weights)
    for o in range(frame.y.shape[0]):
        fetch(frame.y[o], rows, near.y[o])
    for f in range(frame.columns.shape[0]):
        fetch(frame.columns[f], rows, near.columns[f])
