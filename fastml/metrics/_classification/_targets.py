"""Checked labels and predictions, and the counts of their pairs.

scikit-learn's rules: both of one kind, one label per row (binary or multiclass) or an indicator
matrix (several labels per row).
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._validation import kernel_view
from fastml.kernels.scores.label_pairs import count_pairs
from fastml.metrics._checks import (
    ARRAYS,
    ARRAYS_OR_SPARSE,
    OPTIONAL_ARRAY,
    check_label_weights,
    is_indicator_matrix,
    is_plain,
    is_plain_weights,
)
from fastml.metrics._classification._labels import (
    encode_both,
    is_plain_labels,
    label_range,
    whole_numbers,
)

LABELS: dict = {"y_true": ARRAYS, "y_pred": ARRAYS, "sample_weight": OPTIONAL_ARRAY}
LABELS_OR_SPARSE: dict = {
    "y_true": ARRAYS_OR_SPARSE,
    "y_pred": ARRAYS_OR_SPARSE,
    "sample_weight": OPTIONAL_ARRAY,
}


class LabelSums(NamedTuple):
    """Weights of rows per label, or per row of an indicator matrix."""

    hits: NDArray  # predicted and true
    predicted: NDArray
    true: NDArray
    all: NDArray | float


class LabelPairs:
    """One label per row, true and predicted."""

    def __init__(self, y_true: NDArray, y_pred: NDArray, weights: NDArray | None):
        self.y_true, self.y_pred, self.weights = y_true, y_pred, weights
        self._table: NDArray | None = None
        if not self._from_small_range():
            self._from_codes()

    def _from_small_range(self) -> bool:
        """Count pairs of whole numbers at once, if the table is no larger than the data."""
        if self.weights is not None:
            return False
        whole_true = whole_numbers(self.y_true)
        whole_pred = None if whole_true is None else whole_numbers(self.y_pred)
        if whole_true is None or whole_pred is None:
            return False
        ranges = [label_range(whole_true), label_range(whole_pred)]
        low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
        if (high - low + 1) ** 2 > 4 * whole_true.shape[0] + 4096:
            return False
        table = np.zeros((high - low + 1, high - low + 1), dtype=np.int64)
        count_pairs(kernel_view(whole_true), kernel_view(whole_pred), low, table)
        in_true = np.asarray(table.any(axis=1))
        present = np.flatnonzero(in_true | table.any(axis=0))
        self.in_true = in_true[present]
        dtype = self.y_true.dtype
        if not self.in_true.all():
            dtype = np.result_type(dtype, self.y_pred.dtype)
        self.labels = (present + low).astype(dtype)
        self._table = table[np.ix_(present, present)]
        return True

    def _from_codes(self) -> None:
        self.labels, self._true, self._pred = encode_both(self.y_true, self.y_pred)
        k = self.labels.shape[0]
        self.in_true = np.bincount(self._true, minlength=k) > 0

    @property
    def kind(self) -> str:
        return "binary" if self.labels.shape[0] <= 2 else "multiclass"

    @cached_property
    def table(self) -> NDArray:
        """Weight of every pair (true label, predicted label)."""
        if self._table is not None:
            return self._table
        k = self.labels.shape[0]
        places = self._true * k + self._pred
        if self.weights is not None and self.weights.dtype.kind in "iub":
            found = np.zeros(k * k, dtype=np.int64)
            np.add.at(found, places, self.weights.astype(np.int64))
        else:
            found = np.bincount(places, weights=self.weights, minlength=k * k)
        return found.reshape(k, k)

    @cached_property
    def sums(self) -> LabelSums:
        if self._table is not None:
            table = self._table
            rows = self.y_true.shape[0]
            return LabelSums(np.diagonal(table), table.sum(axis=0), table.sum(axis=1), rows)
        k, weights = self.labels.shape[0], self.weights
        same = self._true == self._pred
        of_same = None if weights is None else weights[same]
        return LabelSums(
            np.bincount(self._true[same], weights=of_same, minlength=k),
            np.bincount(self._pred, weights=weights, minlength=k),
            np.bincount(self._true, weights=weights, minlength=k),
            self.y_true.shape[0] if weights is None else weights.sum(),
        )

    def sums_of(self, labels) -> LabelSums:
        """The sums for these labels, in their order; zero for one that does not occur."""
        if labels is None or labels is self.labels:
            return self.sums
        places = {label: place for place, label in enumerate(self.labels.tolist())}
        chosen = [places.get(label, -1) for label in np.asarray(labels).tolist()]
        hits, predicted, true = (
            np.append(each, each.dtype.type(0))[chosen] for each in self.sums[:3]
        )
        return LabelSums(hits, predicted, true, self.sums.all)

    def matrix(self, labels=None) -> NDArray:
        """The confusion matrix of these labels, of all if there are none given."""
        if labels is None:
            return self.table
        index = {label: place for place, label in enumerate(labels.tolist())}
        to = np.array([index.get(label, -1) for label in self.labels.tolist()], dtype=np.intp)
        kept = np.flatnonzero(to >= 0)
        found = np.zeros((labels.size, labels.size), dtype=self.table.dtype)
        found[np.ix_(to[kept], to[kept])] = self.table[np.ix_(kept, kept)]
        return found


class IndicatorPairs:
    """Several labels per row: two indicator matrices, dense and boolean or CSR."""

    kind = "multilabel-indicator"

    def __init__(self, y_true, y_pred, weights: NDArray | None):
        self.y_true, self.y_pred, self.weights = y_true, y_pred, weights
        self.labels = np.arange(y_true.shape[1])

    def _counts(self, matrix, axis: int):
        """Weighted counts of what is not zero, per column (axis 0) or row."""
        weights = self.weights
        if isinstance(matrix, np.ndarray):
            if weights is None:
                return np.count_nonzero(matrix, axis=axis)
            return weights @ matrix if axis == 0 else np.count_nonzero(matrix, axis=1) * weights
        from sklearn.utils.sparsefuncs import count_nonzero

        return count_nonzero(matrix.tocsr(), axis=axis, sample_weight=weights)

    def sums_of(self, labels=None, *, by_rows: bool = False) -> LabelSums:
        y_true, y_pred = self.y_true, self.y_pred
        if labels is not None and labels is not self.labels:
            columns = self._checked_columns(np.asarray(labels))
            y_true, y_pred = y_true[:, columns], y_pred[:, columns]
        dense = isinstance(y_true, np.ndarray)
        both = y_true & y_pred if dense else y_true.multiply(y_pred)
        axis = 1 if by_rows else 0
        n_rows, n_columns = y_true.shape
        weights = self.weights
        if by_rows:
            each = n_columns if weights is None else weights * n_columns
        else:
            each = n_rows if weights is None else weights.sum()
        hits, predicted, true = (self._counts(found, axis) for found in (both, y_pred, y_true))
        return LabelSums(hits, predicted, true, each)

    def _checked_columns(self, labels: NDArray) -> NDArray:
        last = self.labels[-1]
        if labels.max() > last:
            raise ValueError(
                "All labels must be in [0, n labels) for multilabel targets. "
                f"Got {labels.max():d} > {last:d}"
            )
        if labels.min() < 0:
            raise ValueError(
                "All labels must be in [0, n labels) for multilabel targets. "
                f"Got {labels.min():d} < 0"
            )
        return labels

    def row_differences(self) -> NDArray:
        """Number of labels of each row that differ."""
        if isinstance(self.y_true, np.ndarray):
            return np.count_nonzero(self.y_true != self.y_pred, axis=1)
        from sklearn.utils.sparsefuncs import count_nonzero

        return count_nonzero((self.y_true - self.y_pred).tocsr(), axis=1)


# ---------------------------------------------------------------------------- checks


def check_labels(y_true, y_pred, sample_weight=None) -> LabelPairs | IndicatorPairs:
    """Labels of one kind and length, with errors as of scikit-learn's metrics."""
    if is_plain(y_true, y_pred):
        plain = _are_plain_labels(y_true, y_pred) and is_plain_weights(sample_weight, y_true)
        if plain:
            return LabelPairs(y_true, y_pred, sample_weight)
    elif _are_plain_indicators(y_true, y_pred) and (
        sample_weight is None or is_plain_weights(sample_weight, y_true[:, 0])
    ):
        return IndicatorPairs(y_true.astype(bool), y_pred.astype(bool), sample_weight)
    return _checked_slowly(y_true, y_pred, sample_weight)


def _are_plain_labels(y_true: NDArray, y_pred: NDArray) -> bool:
    """Numbers with numbers or words with words, as their types tell."""
    kinds = {"U" if y.dtype.kind == "U" else "number" for y in (y_true, y_pred)}
    return is_plain_labels(y_true) and is_plain_labels(y_pred) and len(kinds) == 1


def _are_plain_indicators(y_true, y_pred) -> bool:
    """Dense matrices of zeros and ones, of one shape."""
    both = is_indicator_matrix(y_true) and is_indicator_matrix(y_pred)
    return both and y_true.shape == y_pred.shape


def _checked_slowly(y_true, y_pred, sample_weight) -> LabelPairs | IndicatorPairs:
    from sklearn.utils.multiclass import type_of_target, unique_labels
    from sklearn.utils.validation import check_consistent_length, column_or_1d

    from fastml._sklearn import num_samples

    check_consistent_length(y_true, y_pred, sample_weight)
    if np.ma.is_masked(y_true) or np.ma.is_masked(y_pred):
        raise TypeError("masked labels are not supported: leave these rows out")
    kinds = [
        type_of_target(y_true, input_name="y_true"),
        type_of_target(y_pred, input_name="y_pred"),
    ]
    if num_samples(y_true) < 1:
        raise ValueError(
            "Found empty input array (e.g., `y_true` or `y_pred`) while a minimum of 1 sample is "
            "required."
        )
    weights = None if sample_weight is None else check_label_weights(sample_weight, y_true)
    kind = kinds[0]
    if kinds[0] != kinds[1]:
        if set(kinds) != {"binary", "multiclass"}:
            raise ValueError(
                f"Classification metrics can't handle a mix of {kinds[0]} and {kinds[1]} targets"
            )
        kind = "multiclass"
    if kind not in ("binary", "multiclass", "multilabel-indicator"):
        raise ValueError(f"{kind} is not supported")
    if kind == "multilabel-indicator":
        unique_labels(y_true, y_pred, ys_types={kind})  # the same number of columns
        return _sparse_indicators(y_true, y_pred, weights)
    try:
        y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    except TypeError as error:
        if "Sparse data was passed" in str(error):
            raise TypeError(
                "Sparse input is only supported when targets are of multilabel type"
            ) from error
        raise
    if not _are_numbers(y_true, y_pred):
        unique_labels(y_true, y_pred, ys_types={kind})  # no mix of words and numbers, no masks
    return LabelPairs(y_true, y_pred, weights)


def _are_numbers(*arrays: NDArray) -> bool:
    return all(type(y) is np.ndarray and y.dtype.kind in "iubf" for y in arrays)


def _sparse_indicators(y_true, y_pred, weights) -> IndicatorPairs:
    from scipy.sparse import csr_array

    return IndicatorPairs(csr_array(y_true), csr_array(y_pred), weights)


def refuse_indicators(targets) -> LabelPairs:
    if isinstance(targets, IndicatorPairs):
        raise ValueError(f"{targets.kind} is not supported")
    return targets
