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

HANDFUL = 32
"""Rows of a node that are put in order by comparing each with each."""


class Frame(NamedTuple):
    """The rows that a tree is grown on."""

    columns: np.ndarray  # (features, rows) codes or keys of the values
    y: np.ndarray  # (outputs, rows) targets or class codes
    weights: np.ndarray  # (rows,), or (trees, rows) of a block of trees


class Codes(NamedTuple):
    """What the codes of the columns mean."""

    n_codes: np.ndarray  # (features,), also the code of missing values
    low: np.ndarray  # (features, codes) least value of a code
    high: np.ndarray  # greatest value of a code


class Scratch(NamedTuple):
    """What the searches of a tree work in; few arrays, as each costs compile time."""

    state: np.ndarray  # (1,) of the random generator: the node's seed before a search
    features: np.ndarray  # features in the order drawn
    keys: np.ndarray  # per row of the node, and at least twice `HANDFUL`
    pairs: np.ndarray  # (2, rows) weights, and weights times targets
    slots: np.ndarray  # (3, slots) of the node, left, right; 5 rows for `class_split`
    numbers: np.ndarray  # per class, for `class_split`; one entry otherwise
    hist: np.ndarray  # (codes, slots), zero between two searches
    counts: np.ndarray  # rows per code, zero between two searches
    bits: np.ndarray  # set of codes, empty between two searches
    occupied: np.ndarray  # codes that occur
    cuts: np.ndarray  # (3, codes) up to each of them: weight, total, score of a cut


@kernel
def near_rows(frame, max_features):
    """Rows of a subtree that is worth a frame of its own; 0 if a search reads too few columns."""
    d = frame.columns.shape[0]
    if d > 16 * max_features:
        return 0
    return NEAR_BYTES // (d * frame.columns.itemsize + 8 * frame.y.shape[0] + 8)


@kernel
def fetch(source, rows, target):
    """Write the values of some rows to the front of ``target``."""
    for i in range(rows.shape[0]):
        target[i] = source[rows[i]]


@kernel
def fetch_rows(frame, rows, near):
    """Write rows of a frame to the front of the arrays of another, ``near``."""
    fetch(frame.weights, rows, near.weights)
    for o in range(frame.y.shape[0]):
        fetch(frame.y[o], rows, near.y[o])
    for f in range(frame.columns.shape[0]):
        fetch(frame.columns[f], rows, near.columns[f])
