"""Labels of any kind → clusters as codes, sizes and ranges of sorted rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def encode(labels: NDArray) -> tuple[NDArray, int]:
    """Codes 0..k-1 in the order of the sorted labels, and k.

    Whole numbers of a small range are counted, all else is sorted.
    """
    labels = np.asarray(labels)
    if labels.dtype.kind in "iub" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low <= 4 * labels.size + 64:
            places = labels.astype(np.intp) - low
            ranks = np.cumsum(np.bincount(places) > 0) - 1
            return ranks[places], int(ranks[-1]) + 1
    values, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1), values.shape[0]


def classes_and_codes(y: NDArray) -> tuple[NDArray, NDArray]:
    """Sorted labels of classes, and the position of each row's among them.

    Numbers that are no labels are an error, as scikit-learn's.
    """
    from sklearn.utils.multiclass import check_classification_targets

    if y.dtype.kind not in "iubU":  # those can only be labels
        check_classification_targets(y)
    codes, n_classes = encode(y)
    classes = np.empty(n_classes, dtype=y.dtype)
    classes[codes] = y
    return classes, codes.astype(np.intp, copy=False)


class Clusters:
    """A partition of rows.

    Attributes
    ----------
    codes : the cluster of every row
    order : rows sorted by cluster, each cluster in the order of the rows
    sorted_codes : clusters of the sorted rows
    bounds : cluster c is ``order[bounds[c] : bounds[c + 1]]``
    """

    def __init__(self, labels):
        self.codes, self.n_clusters = encode(labels)
        self.sizes = np.bincount(self.codes, minlength=self.n_clusters)
        self.bounds = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.intp)
        self.order = np.argsort(self.codes, kind="stable")
        self.sorted_codes = self.codes[self.order]

    def sort(self, X: NDArray) -> NDArray:
        """Rows sorted by cluster, in float64."""
        return X[self.order].astype(np.float64, copy=False)

    def means(self, sorted_rows: NDArray) -> NDArray:
        return np.add.reduceat(sorted_rows, self.bounds[:-1], axis=0) / self.sizes[:, None]
