"""Labels of any kind → codes 0..k-1 in the order of the sorted labels."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.scores.label_pairs import encode_words, least_and_largest

MOST_WORDS = 4096
"""Distinct strings that the hash table takes; with more, strings are sorted."""


class Encoded(NamedTuple):
    """Distinct labels, sorted, and the place among them of the label of every row."""

    labels: NDArray
    codes: NDArray


def is_plain_labels(y: NDArray) -> bool:
    """Whether a plain array plainly holds labels: whole numbers, booleans or words."""
    if y.dtype.kind == "f":
        return whole_numbers(y) is not None
    return y.dtype.kind in "ibU" or y.dtype.char in "BHI"


def whole_numbers(y: NDArray) -> NDArray | None:
    """Integers, booleans, and floats that are whole, as int64; None for all else."""
    if y.dtype.kind in "ib" or y.dtype.char in "BHI":
        return y.astype(np.int64, copy=False)
    if y.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = y.astype(np.int64)
        return whole if (whole == y).all() else None
    return None


def label_range(whole: NDArray) -> tuple[int, int]:
    least, largest = least_and_largest(kernel_view(whole))
    return int(least), int(largest)


def encode_labels(y: NDArray) -> Encoded:
    """Distinct labels and codes of a checked array of one axis."""
    whole = whole_numbers(y) if y.dtype.kind in "iubf" else None
    if whole is not None:
        low, high = label_range(whole)
        if high - low <= 4 * whole.shape[0] + 64:
            places = whole - low
            present = np.bincount(places) > 0
            labels = (np.flatnonzero(present) + low).astype(y.dtype)
            return Encoded(labels, places if present.all() else (np.cumsum(present) - 1)[places])
    elif y.dtype.kind == "U" and y.dtype.itemsize and (found := _encode_words(y)) is not None:
        return found
    elif y.dtype.kind == "O":
        return _encode_objects(y)
    labels, codes = np.unique(y, return_inverse=True)
    return Encoded(labels, codes.reshape(-1))


def _encode_words(y: NDArray) -> Encoded | None:
    """By a hash table of few distinct strings; None if they are many."""
    words = np.ascontiguousarray(y).view(np.uint32).reshape(y.shape[0], -1)
    codes, firsts = np.empty(y.shape[0], dtype=np.intp), np.empty(MOST_WORDS, dtype=np.intp)
    slots = np.full(2 * MOST_WORDS, -1, dtype=np.intp)
    n_codes = encode_words(kernel_view(words), slots, firsts, codes)
    if n_codes < 0:
        return None
    return _sorted_codes(y[firsts[:n_codes]], codes)


def _encode_objects(y: NDArray) -> Encoded:
    """By a dictionary; labels must be comparable with each other."""
    seen: defaultdict = defaultdict()
    seen.default_factory = seen.__len__
    codes = np.fromiter(map(seen.__getitem__, y), dtype=np.intp, count=y.shape[0])
    return _sorted_codes(np.array(list(seen)), codes)


def _sorted_codes(labels: NDArray, codes: NDArray) -> Encoded:
    order = np.argsort(labels)
    ranks = np.empty(order.shape[0], dtype=np.intp)
    ranks[order] = np.arange(order.shape[0])
    return Encoded(labels[order], ranks[codes])


def check_pos_label(pos_label, y: NDArray, labels: NDArray):
    """The positive label: 1 by default, if the distinct ``labels`` of ``y`` leave no doubt."""
    from fastml._sklearn import check_pos_label_consistency

    usual = labels.dtype.kind in "ib" and labels.tolist() in ([0, 1], [-1, 1])
    if pos_label is None and usual:
        return 1
    return check_pos_label_consistency(pos_label, y)


def encode_both(y_true: NDArray, y_pred: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Labels of both arrays together, and the codes of each."""
    first, second = encode_labels(y_true), encode_labels(y_pred)
    if first.labels.shape == second.labels.shape and (first.labels == second.labels).all():
        return first.labels, first.codes, second.codes
    labels = np.unique(np.concatenate([first.labels, second.labels]))
    if labels.shape == first.labels.shape:  # none is new in the second: their type stays
        labels = first.labels
    places = [np.searchsorted(labels, each.labels) for each in (first, second)]
    return labels, places[0][first.codes], places[1][second.codes]
