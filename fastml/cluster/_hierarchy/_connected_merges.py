"""Trees of clusters that merge along the edges of a graph only."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from fastml._progress import current_steps
from fastml.cluster._hierarchy._linkage import METHODS, check_finite, linkage_matrix
from fastml.kernels.cluster import connected_merges as graph

NEIGHBOURS_PER_CALL = 500_000
"""New neighbours of merged nodes between two chances for Ctrl-C, less than a second."""


def graph_tree(X, linkage, affinity, connectivity, n_clusters, return_distance):
    """As `fastml.cluster.linkage_tree` returns it."""
    n = X.shape[0]
    edges, n_components = _complete_graph(X, connectivity, affinity)
    if n_clusters is not None and n_clusters > n:
        raise ValueError(
            f"Cannot provide more clusters than samples. {n_clusters} n_clusters was asked, "
            f"and there are {n} samples."
        )
    n_nodes = 2 * n - (1 if n_clusters is None else n_clusters)
    edges = edges.tocoo()
    keep = edges.row != edges.col
    rows, cols = edges.row[keep].astype(np.intp), edges.col[keep].astype(np.intp)
    order = np.lexsort((cols, rows))
    rows, cols = rows[order], cols[order]
    sums = np.empty((0, 0))
    distance = np.zeros(rows.shape[0])
    if linkage == "ward":
        sums = np.zeros((n_nodes, X.shape[1]))
        sums[:n] = X
    elif isinstance(affinity, str) and affinity == "precomputed":
        distance = np.array(X[rows, cols], dtype=np.float64)
    else:
        distance = _paired(X, rows, cols, affinity)
    check_finite(distance)
    if linkage == "single":
        return _single_graph_tree(
            n, n_nodes, n_clusters, rows, cols, distance, n_components, return_distance
        )
    tree = _merge_along_edges(METHODS[linkage], n, n_nodes, rows, cols, distance, sums)
    check_finite(tree.heights)  # those of Ward's method come from X
    found = tree.children, n_components, n, tree.parent
    if not return_distance:
        return found
    return (*found, np.sqrt(2.0 * tree.heights) if linkage == "ward" else tree.heights)


def _merge_along_edges(method, n, n_nodes, rows, cols, distance, sums) -> graph.MergeTree:
    """Allocate, and give the kernel more room and the user a chance for Ctrl-C now and then."""
    n_edges = rows.shape[0]
    nodes = graph.MergeNodes(
        np.ones(n_nodes),
        sums,
        np.ones(n_nodes, dtype=np.bool_),
        np.full(n_nodes + 1, -1, dtype=np.intp),
        np.zeros(n_nodes, dtype=np.intp),
        np.empty(n_nodes, dtype=np.intp),
        np.empty(n_nodes),
    )
    first = np.full(n_nodes, -1, dtype=np.intp)
    lists = graph.NeighbourLists(first, np.full(n_edges, -1, dtype=np.intp), cols, distance)
    candidates = graph.CandidateEdges(
        np.empty(n_edges), np.empty((n_edges, 2), dtype=np.intp), np.empty(n_edges, dtype=np.intp)
    )
    tree = graph.MergeTree(
        np.empty((n_nodes - n, 2), dtype=np.intp),
        np.empty(n_nodes - n),
        np.arange(n_nodes, dtype=np.intp),
    )
    counts = np.array([n, 0, 0, 0])
    graph.start_merges(method, rows, nodes, lists, candidates, counts)
    status = graph.MORE_ROOM
    while status != graph.FINISHED:
        if status == graph.MORE_ROOM:
            live = 2 * n - counts[graph.NODES]
            room = 2 * (counts[graph.ENTRIES] + 2 * live)
            lists = graph.NeighbourLists(first, *(_grown(array, room) for array in lists[1:]))
            room = 2 * (counts[graph.CANDIDATES] + live)
            candidates = graph.CandidateEdges(*(_grown(array, room) for array in candidates))
        step = current_steps().begin("merges")
        status = graph.merge_some(
            method, n, NEIGHBOURS_PER_CALL, nodes, lists, candidates, counts, tree
        )
        step.end()
    return tree


def _grown(array, size):
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[: array.shape[0]] = array
    return larger


def _complete_graph(X, connectivity, affinity):
    """The graph made symmetric, with an edge between the nearest points of its components."""
    from scipy.sparse.csgraph import connected_components

    n = X.shape[0]
    if not sparse.issparse(connectivity):
        connectivity = np.asarray(connectivity)
    if connectivity.shape != (n, n):
        raise ValueError(
            f"Wrong shape for connectivity matrix: {connectivity.shape} when X is {X.shape}"
        )
    edges = connectivity + connectivity.T
    if not sparse.issparse(edges):
        edges = sparse.csr_array(edges)
    edges = edges.tolil()
    n_components, labels = connected_components(edges)
    if n_components > 1:
        from fastml._sklearn import fix_connected_components

        warnings.warn(
            f"the number of connected components of the connectivity matrix is {n_components} > 1. "
            "Completing it to avoid stopping the tree early.",
            stacklevel=5,
        )
        edges = fix_connected_components(
            X=X,
            graph=edges,
            n_connected_components=n_components,
            component_labels=labels,
            metric=affinity,
            mode="connectivity",
        )
    return edges, int(n_components)


def _paired(X, rows, cols, metric):
    """Distances of given pairs of rows."""
    from sklearn.metrics.pairwise import paired_distances

    return np.ascontiguousarray(paired_distances(X[rows], X[cols], metric=metric), np.float64)


def _single_graph_tree(n, n_nodes, n_clusters, rows, cols, distance, n_components, with_distance):
    from scipy.sparse.csgraph import minimum_spanning_tree

    # The graph routines take a stored zero for no edge at all.
    nothing = np.finfo(np.float64).eps
    distance = np.where(distance == 0, nothing, distance)
    tree = minimum_spanning_tree(sparse.csr_array((distance, (rows, cols)), shape=(n, n))).tocoo()
    heights = np.where(tree.data == nothing, 0.0, tree.data)
    Z = linkage_matrix(
        np.column_stack([tree.row, tree.col]), heights, "single", smaller_first=False
    )
    children = Z[:, :2].astype(np.intp)
    parent = np.arange(n_nodes, dtype=np.intp)
    for node, pair in enumerate(children[: n_nodes - n], n):
        parent[pair[pair < n_nodes]] = node
    found = children, n_components, n, parent
    return (*found, Z[:, 2]) if with_distance else found
