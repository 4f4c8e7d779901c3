"""Precomputed distances: dense matrices and sparse neighbour graphs."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import issparse

from fastml._validation import check_array

FORMATS = ("csr", "csc", "coo", "lil")  # formats that keep explicit zeros


def check_precomputed(X):
    """A distance matrix: dense and non-negative, or CSR with rows sorted by distance."""
    if not issparse(X):
        return check_array(X, ensure_non_negative=True, input_name="X")
    if X.format not in FORMATS:
        raise TypeError(
            f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
            "explicit zeros"
        )
    converted = X.format != "csr"
    graph = check_array(
        X,
        accept_sparse="csr",
        ensure_non_negative=True,
        input_name="precomputed distance matrix",
    )
    return sort_graph_by_row_values(graph, copy=not converted, warn_when_not_sorted=True)


def sort_graph_by_row_values(graph, copy=False, warn_when_not_sorted=True):
    """Sort a sparse graph so that each row is stored with increasing values.

    Parameters
    ----------
    graph : sparse matrix of shape (n_samples, n_samples)
        Distances to other samples; stored entries are the neighbours.
    copy : bool, default=False
        Sort a copy instead of the graph itself. Must be True if the format is not CSR.
    warn_when_not_sorted : bool, default=True
        Warn if there was something to sort.

    Returns
    -------
    graph : sparse matrix of shape (n_samples, n_samples)
        The graph in CSR format.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from fastml.neighbors import sort_graph_by_row_values
    >>> graph = csr_array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> sort_graph_by_row_values(graph, warn_when_not_sorted=False).data
    array([1., 3., 2., 3., 1., 2.])
    """
    if not issparse(graph):
        raise TypeError(f"graph must be a sparse matrix, got {type(graph).__name__}")
    if graph.format == "csr" and _is_sorted(graph):
        return graph
    if warn_when_not_sorted:
        from sklearn.exceptions import EfficiencyWarning

        warnings.warn(
            "Precomputed sparse input was not sorted by row values. Use the function "
            "fastml.neighbors.sort_graph_by_row_values to sort the input by row values, with "
            "warn_when_not_sorted=False to remove this warning.",
            EfficiencyWarning,
            stacklevel=2,
        )
    if graph.format not in FORMATS:
        raise TypeError(
            f"Sparse matrix in {graph.format!r} format is not supported due to its handling of "
            "explicit zeros"
        )
    if graph.format != "csr":
        if not copy:
            raise ValueError(
                "The input graph is not in CSR format. Use copy=True to allow the conversion to "
                "CSR format."
            )
        graph = graph.asformat("csr")
    elif copy:
        graph = graph.copy()
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    order = np.lexsort((graph.data, rows))  # stable, by row then value
    graph.data = graph.data[order]
    graph.indices = graph.indices[order]
    return graph


def _is_sorted(graph) -> bool:
    falls = graph.data[:-1] > graph.data[1:]
    ends = graph.indptr[1:-1] - 1
    ends = np.unique(ends[(ends >= 0) & (ends < falls.size)])
    return bool(falls.sum() == falls[ends].sum())


def kneighbors_from_graph(graph, k: int):
    """The first k entries of each row of a sorted graph."""
    counts = np.diff(graph.indptr)
    fewest = counts.min()
    if fewest < k:
        raise ValueError(
            f"{k} neighbors per samples are required, but some samples have only {fewest} "
            "neighbors in precomputed graph matrix. Decrease number of neighbors used or "
            "recompute the graph with more neighbors."
        )
    slots = graph.indptr[:-1, None] + np.arange(k)
    return graph.data[slots], graph.indices[slots]
