"""The contingency table of two partitions: n_ij = rows of class i in cluster j."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_consistent_length

from fastml._engines.labels import encode
from fastml._sklearn import Interval, validate_params

TWO_LABELINGS: dict = {"labels_true": ["array-like"], "labels_pred": ["array-like"]}
BETA: dict = {"beta": [Interval(Real, 0, None, closed="left")]}


class Table(NamedTuple):
    """A contingency table by its entries that are not zero."""

    rows: NDArray
    columns: NDArray
    counts: NDArray
    row_sums: NDArray
    column_sums: NDArray


def table_of(labels_true, labels_pred) -> Table:
    """The table of two checked label arrays; a dense count if that is not larger than the data."""
    classes, n_classes = encode(labels_true)
    clusters, n_clusters = encode(labels_pred)
    pairs = classes * n_clusters + clusters
    if n_classes * n_clusters <= 4 * pairs.size + 1024:
        counts = np.bincount(pairs, minlength=n_classes * n_clusters)
        cells = np.flatnonzero(counts)
        counts = counts[cells]
    else:
        cells, counts = np.unique(pairs, return_counts=True)
    rows, columns = np.divmod(cells, max(n_clusters, 1))
    return Table(
        rows,
        columns,
        counts.astype(np.int64),
        np.bincount(classes, minlength=n_classes).astype(np.int64),
        np.bincount(clusters, minlength=n_clusters).astype(np.int64),
    )


def check_labels(labels_true, labels_pred) -> tuple[NDArray, NDArray]:
    """Two label arrays of one length; a warning if they look like measurements."""
    checked = []
    for labels in (labels_true, labels_pred):
        checked.append(check_array(labels, ensure_2d=False, ensure_min_samples=0, dtype=None))
    if any(labels.dtype.kind == "f" for labels in checked):
        from sklearn.utils.multiclass import type_of_target

        kinds = [type_of_target(labels) for labels in checked]
        if "continuous" in kinds:
            warnings.warn(
                "Clustering metrics expects discrete values but received "
                f"{kinds[0]} values for label, and {kinds[1]} values for target",
                UserWarning,
                stacklevel=4,
            )
    _check_shapes(*checked)
    return checked[0], checked[1]


def _check_shapes(labels_true: NDArray, labels_pred: NDArray) -> None:
    for name, labels in (("labels_true", labels_true), ("labels_pred", labels_pred)):
        if labels.ndim != 1:
            raise ValueError(f"{name} must be 1D: shape is {labels.shape!r}")
    check_consistent_length(labels_true, labels_pred)


def checked_table(labels_true, labels_pred) -> Table:
    return table_of(*check_labels(labels_true, labels_pred))


@validate_params(
    {
        "labels_true": ["array-like", None],
        "labels_pred": ["array-like", None],
        "eps": [Interval(Real, 0, None, closed="left"), None],
        "sparse": ["boolean"],
        "dtype": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def contingency_matrix(labels_true, labels_pred, *, eps=None, sparse=False, dtype=np.int64):
    """Number of rows of every class in every cluster.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Classes.
    labels_pred : array-like of shape (n_samples,)
        Clusters.
    eps : float, default=None
        Added to all entries.
    sparse : bool, default=False
        Whether to return a sparse CSR matrix.
    dtype : numeric type, default=np.int64
        Type of the entries, where ``eps`` is None.

    Returns
    -------
    contingency : {ndarray, sparse matrix} of shape (n_classes, n_clusters)
        In the order of the sorted labels.

    Examples
    --------
    >>> from fastml.metrics.cluster import contingency_matrix
    >>> contingency_matrix([0, 0, 1, 1, 2, 2], [1, 0, 2, 1, 0, 2])
    array([[1, 1, 0],
           [0, 1, 1],
           [1, 0, 1]])
    """
    if eps is not None and sparse:
        raise ValueError("Cannot set 'eps' when sparse=True")
    labels_true, labels_pred = np.asarray(labels_true), np.asarray(labels_pred)
    _check_shapes(labels_true, labels_pred)
    table = table_of(labels_true, labels_pred)
    shape = (table.row_sums.size, table.column_sums.size)
    if sparse:
        from fastml._sklearn import align_api_if_sparse

        entries = (table.counts.astype(dtype), (table.rows, table.columns))
        return align_api_if_sparse(sp.coo_array(entries, shape=shape)).tocsr()
    matrix = np.zeros(shape, dtype=dtype)
    matrix[table.rows, table.columns] = table.counts
    return matrix if eps is None else matrix + eps
