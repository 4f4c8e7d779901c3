"""What KDTree and BallTree share: input checks, query loops, scikit-learn's methods."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.search.brute import smallest_in_rows
from fastml._engines.search.metric import check_haversine, resolve_metric
from fastml._engines.search.radius import broadcast_radii, split_runs, tree_radius
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import FLOATS, check_fitted, kernel_view
from fastml.kernels.neighbors import kdtree, radius
from fastml.kernels.neighbors.space_tree import LEAF_POINTS, Partition, build_nodes

TOP_LEVELS = 4  # cut one level at a time, then 2^TOP_LEVELS subtrees side by side
QUERIES_PER_CALL = 1 << 12  # then Python may see Ctrl-C: in many dimensions a query takes 0.1 ms
SHORT_CALL = 0.05  # seconds; after a call that took less, the next one has more queries
FEW_QUERIES = 256  # are answered in the order in which they came
BLOCK_ENTRIES = 1 << 22

NODE = np.dtype(
    [("idx_start", np.intp), ("idx_end", np.intp), ("is_leaf", np.intp), ("radius", np.float64)]
)

DISTANCE_METRIC_CLASSES = {
    "EuclideanDistance": "euclidean",
    "ManhattanDistance": "manhattan",
    "ChebyshevDistance": "chebyshev",
    "HaversineDistance": "haversine",
    "CanberraDistance": "canberra",
    "BrayCurtisDistance": "braycurtis",
    "HammingDistance": "hamming",
    "JaccardDistance": "jaccard",
}
"""scikit-learn's DistanceMetric objects without parameters, by class."""


def named_metric(metric):
    """The name of a DistanceMetric object, or what was given."""
    return DISTANCE_METRIC_CLASSES.get(type(metric).__name__.rstrip("0123456789"), metric)


class TreeQueries(NamedTuple):
    """Queries, and where their answers go."""

    Q: NDArray  # (n_queries, n_features)
    leaves: NDArray | None  # (n_queries,) where each lies, if they are visited leaf by leaf
    distances: NDArray  # (n_queries, k)
    indices: NDArray
    rows: int  # queries of a chunk
    n_threads: int


def build_levels(n_leaves: int) -> list[tuple[NDArray, bool]]:
    """Tasks of `build_nodes`, in order: single nodes of the top levels, then whole subtrees."""
    calls = []
    tasks = [(0, 0, n_leaves)]
    for level in range(TOP_LEVELS + 1):
        whole = level == TOP_LEVELS or n_leaves < 2 * TOP_LEVELS
        calls.append((np.array(tasks, dtype=np.intp), whole))
        children = []
        for node, first, last in tasks:
            if last - first > 1:
                cut = first + (last - first + 1) // 2
                children += [(node + 1, first, cut), (node + 2 * (cut - first), cut, last)]
        tasks = children
        if whole or not tasks:
            break
    return calls


def partition(X: NDArray, n_threads: int) -> Partition:
    """Points in leaf order with their boxes (see `kernels.neighbors.space_tree`)."""
    n_points, n_features = X.shape
    n_nodes = 2 * -(-n_points // LEAF_POINTS) - 1
    tree = Partition(
        order=np.arange(n_points, dtype=np.intp),
        rows=np.array(X, order="C"),
        low=np.empty((n_nodes, n_features), dtype=X.dtype),
        high=np.empty((n_nodes, n_features), dtype=X.dtype),
        axis=np.empty(n_nodes, dtype=np.int32),
        smallest=np.empty(n_nodes, dtype=np.intp),
    )
    for tasks, whole in build_levels(-(-n_points // LEAF_POINTS)):
        build_nodes(tree, tasks, whole, n_threads=n_threads)  # one twin: half the compile time
    return tree


class BinaryTree:
    """What both trees share: input checks, query loops, pickling by arrays."""

    valid_metrics: list[str] = []
    _tree: Any

    def __init__(self, X, leaf_size: int = 40, metric="minkowski", **kwargs):
        from sklearn.utils import check_array

        if leaf_size < 1:
            raise ValueError("leaf_size must be greater than or equal to 1")
        X = check_array(X, dtype=FLOATS, order="C", input_name="X")
        self.leaf_size = leaf_size
        self.metric = metric
        self.data = X
        self._function = self._user_function(metric, kwargs)
        if self._function is not None:
            return
        self._metric = self._resolve(metric, kwargs, X)
        threads = effective_n_threads(None, work=20.0 * X.size)
        self._build(kernel_view(X), threads)

    def _user_function(self, metric, params):
        """A user's distance of two rows, or None; no kernel can call it, so no tree is built."""
        return None

    def _distances_by_function(self, Q):
        """Blocks of (rows, distances to all points) by the user's function."""
        from fastml.metrics import pairwise_distances

        step = max(1, BLOCK_ENTRIES // self.data.shape[0])
        for start in range(0, Q.shape[0], step):
            rows = slice(start, start + step)
            yield rows, pairwise_distances(Q[rows], self.data, metric=self._function)

    def _resolve(self, metric, params, X):
        name = type(self).__name__
        if not isinstance(metric, str):
            metric = named_metric(metric)
        if metric not in self.valid_metrics:
            raise ValueError(
                f"metric {metric!r} is not valid for {name}; it must be one of {self.valid_metrics}"
            )
        if metric in ("minkowski", "p") and float(params.get("p", 2.0)) < 1:
            raise ValueError(f"p must be at least 1 for {name}, got {params['p']}")
        resolved = resolve_metric(metric, params, X)
        check_haversine(resolved.code, X.shape[1])
        return resolved

    def _build(self, X, n_threads):
        raise NotImplementedError

    def _search(self, search: TreeQueries, visit: NDArray) -> None:
        """Answer the queries ``visit``."""
        raise NotImplementedError

    def _cells(self):
        """(boxes' low corners, axes) that order the queries."""
        raise NotImplementedError

    def _shapes(self) -> list[tuple[str, NDArray, tuple[int, ...]]]:
        """(name, array, shape it must have) of all that kernels read."""
        raise NotImplementedError

    def _check_arrays(self) -> None:
        """Whether the arrays still fit together, by their shapes."""
        if self._function is None:
            for name, array, shape in self._shapes():
                check_fitted(self, name, array, shape)
            v = self._metric.v
            if v.size:
                check_fitted(self, "a parameter of the metric", v[:1], (1, self.data.shape[1]))

    def __setstate__(self, state) -> None:
        """Take over pickled state, if its indices are within the arrays."""
        self.__dict__.update(state)
        self._check_arrays()
        if self._function is not None:
            return
        n_points, n_features = self.data.shape
        axis = self._cells()[1]
        order, smallest = self._tree.order[:n_points], self._tree.smallest
        for name, values, size in (
            ("axis", axis, n_features),
            ("order", order, n_points),
            ("smallest", smallest, n_points),
        ):
            if values.size and not -1 <= values.min() <= values.max() < size:
                raise ValueError(
                    f"{name} of {type(self).__name__} was altered: it leads outside of the points"
                )

    def _check_queries(self, X) -> NDArray:
        from sklearn.utils import check_array

        X = check_array(X, dtype=self.data.dtype, order="C", allow_nd=True, input_name="X")
        if X.shape[-1] != self.data.shape[1]:
            raise ValueError(
                f"query data dimension must match training data dimension: X has {X.shape[-1]} "
                f"columns, the tree {self.data.shape[1]}"
            )
        return X

    def _visit_order(self, Q: NDArray, n_threads: int) -> tuple[NDArray, NDArray | None]:
        """Order of the queries, leaf by leaf, so that consecutive ones visit the same leaves; and
        the leaf of each, or None where queries are too few to be ordered."""
        n_queries = Q.shape[0]
        if n_queries < FEW_QUERIES:
            return np.arange(n_queries, dtype=np.intp), None
        low, axis = self._cells()
        n_leaves = (axis.shape[0] + 1) // 2
        leaves, visit = (np.empty(n_queries, dtype=np.intp) for _ in range(2))
        kdtree.leaves_of(low, axis, n_leaves, Q, 256, leaves, n_threads=n_threads)
        shift = (n_leaves // (4 * n_queries)).bit_length()
        kdtree.order_by_leaf(leaves, n_leaves, shift, visit)
        return visit, leaves

    def _kneighbors(self, Q: NDArray, k: int, n_jobs: int | None = None) -> tuple[NDArray, NDArray]:
        """Distances and indices of the k nearest points, sorted by (distance, index)."""
        self._check_arrays()
        Q = kernel_view(Q, self.data.dtype)
        n_queries = Q.shape[0]
        distances = np.empty((n_queries, k))
        indices = np.empty((n_queries, k), dtype=np.intp)
        if n_queries == 0:
            return distances, indices
        if self._function is not None:
            for part, block in self._distances_by_function(Q):
                distances[part], indices[part] = smallest_in_rows(block, k, n_jobs)
            return distances, indices
        per_query = 100.0 * (k + LEAF_POINTS) * Q.shape[1]
        threads = effective_n_threads(n_jobs, work=n_queries * per_query)
        visit, leaves = self._visit_order(Q, threads)
        search = TreeQueries(
            Q, leaves, distances, indices, chunk_rows(n_queries, per_query), threads
        )
        start, step = 0, QUERIES_PER_CALL
        while start < n_queries:
            begun = time.perf_counter()
            self._search(search, visit[start : start + step])
            start += step
            if time.perf_counter() - begun < SHORT_CALL:
                step *= 4
        return distances, indices

    def query(
        self,
        X,
        k: int = 1,
        return_distance: bool = True,
        dualtree: bool = False,
        breadth_first: bool = False,
        sort_results: bool = True,
    ):
        """Find the k nearest neighbours of each point of X.

        Parameters
        ----------
        X : array-like of shape (..., n_features)
            Query points.
        k : int, default=1
            Number of neighbours.
        return_distance : bool, default=True
            Whether to return distances too.
        dualtree, breadth_first, sort_results : bool
            Accepted for compatibility; results are always sorted.

        Returns
        -------
        d : ndarray of shape X.shape[:-1] + (k,)
            Distances, ascending; only with ``return_distance=True``.
        i : ndarray of shape X.shape[:-1] + (k,)
            Indices of the neighbours.
        """
        X = self._check_queries(X)
        if k < 1 or k > self.data.shape[0]:
            raise ValueError(
                "k must be less than or equal to the number of training points "
                f"({self.data.shape[0]}) and at least 1, got {k}"
            )
        distances, indices = self._kneighbors(X.reshape(-1, X.shape[-1]), k)
        shape = (*X.shape[:-1], k)
        if return_distance:
            return distances.reshape(shape), indices.reshape(shape)
        return indices.reshape(shape)

    def query_radius(
        self,
        X,
        r,
        return_distance: bool = False,
        count_only: bool = False,
        sort_results: bool = False,
    ):
        """Find all points within a radius of each point of X; the boundary counts.

        Parameters
        ----------
        X : array-like of shape (..., n_features)
            Query points.
        r : float or array-like of shape X.shape[:-1]
            Radius, for all or for each.
        return_distance : bool, default=False
            Whether to return distances too.
        count_only : bool, default=False
            Return the numbers of neighbours only.
        sort_results : bool, default=False
            Whether to sort by distance; needs ``return_distance=True``.

        Returns
        -------
        count : ndarray of shape X.shape[:-1]
            With ``count_only=True``.
        ind : ndarray of shape X.shape[:-1] of arrays
            Indices of the neighbours.
        dist : ndarray of shape X.shape[:-1] of arrays
            Distances, with ``return_distance=True``.
        """
        if count_only and return_distance:
            raise ValueError("count_only and return_distance cannot both be true")
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True")
        X = self._check_queries(X)
        shape = X.shape[:-1]
        if np.ndim(r) and np.shape(r) != shape:
            raise ValueError(f"r must be broadcastable to {shape}, got {np.shape(r)}")
        Q = X.reshape(-1, X.shape[-1])
        indptr, indices, distances = tree_radius(self, Q, broadcast_radii(r, Q.shape[0]), None)
        if count_only:
            return np.diff(indptr).reshape(shape)
        if sort_results:
            radius.sort_runs(indptr, indices, distances)
        found = split_runs(indptr, indices).reshape(shape)
        if return_distance:
            return found, split_runs(indptr, distances).reshape(shape)
        return found

    def two_point_correlation(self, X, r, dualtree: bool = False) -> NDArray:
        """Number of pairs (point of the tree, point of X) within each distance of r.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query points.
        r : array-like
            Distances.
        dualtree : bool, default=False
            Accepted for compatibility.

        Returns
        -------
        counts : ndarray of the shape of r
            Pairs within each distance.
        """
        r = np.asarray(r, dtype=np.float64)
        counts = [
            int(self.query_radius(X, one, count_only=True).sum())
            for one in np.atleast_1d(r).ravel()
        ]
        return np.array(counts).reshape(np.atleast_1d(r).shape)

    def kernel_density(
        self,
        X,
        h: float,
        kernel: str = "gaussian",
        atol: float = 0,
        rtol: float = 1e-8,
        breadth_first: bool = True,
        return_log: bool = False,
    ) -> NDArray:
        """Sum of normalised kernels at the points of X: n times the density estimate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Query points.
        h : float
            Bandwidth.
        kernel : str, default="gaussian"
            See :class:`fastml.neighbors.KernelDensity`.
        atol, rtol : float
            Tolerances; the answer is at least as exact.
        breadth_first : bool, default=True
            Accepted for compatibility.
        return_log : bool, default=False
            Whether to return logarithms.

        Returns
        -------
        density : ndarray of shape (n_samples,)
        """
        from fastml.neighbors._smoothers._density import KernelDensity

        metric = named_metric(self.metric)
        model = KernelDensity(bandwidth=h, kernel=kernel, metric=metric, atol=atol, rtol=rtol)
        log_density = model.fit(self.data).score_samples(X) + np.log(self.data.shape[0])
        return log_density if return_log else np.exp(log_density)

    # ------------------------------------------------------------------ what the tree looks like

    @property
    def idx_array(self) -> NDArray:
        """Indices of the points, leaf by leaf."""
        if self._function is not None:
            return np.arange(self.data.shape[0])
        return self._tree.order[: self.data.shape[0]].copy()

    @property
    def node_data(self) -> NDArray:
        """One record per node: its points are ``idx_array[idx_start:idx_end]``.

        Nodes are numbered depth first, children after their parent. ``radius`` is that of the ball
        around a ball tree's centre; half of the box's diagonal in a kd-tree.
        """
        n_points = self.data.shape[0]
        n_leaves = 1 if self._function is not None else -(-n_points // LEAF_POINTS)
        nodes = np.zeros(2 * n_leaves - 1, dtype=NODE)
        waiting = [(0, 0, n_leaves)]
        while waiting:
            node, first, last = waiting.pop()
            nodes[node]["idx_start"] = first * LEAF_POINTS
            nodes[node]["idx_end"] = n_points if last == n_leaves else last * LEAF_POINTS
            nodes[node]["is_leaf"] = last - first == 1
            if last - first > 1:
                cut = first + (last - first + 1) // 2
                waiting += [(node + 1, first, cut), (node + 2 * (cut - first), cut, last)]
        nodes["radius"] = np.inf if self._function is not None else self._node_radii()
        return nodes

    @property
    def node_bounds(self) -> NDArray:
        """Corners of the boxes (2, n_nodes, n_features), or centres of the balls (1, ...)."""
        if self._function is not None:
            return self.data.mean(axis=0)[None, None]
        return np.stack(self._node_bounds())

    def get_arrays(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """``data``, ``idx_array``, ``node_data`` and ``node_bounds``.

        Returns
        -------
        arrays : tuple of four ndarrays
        """
        return self.data, self.idx_array, self.node_data, self.node_bounds

    def _node_radii(self) -> NDArray:
        raise NotImplementedError

    def _node_bounds(self) -> tuple[NDArray, ...]:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.data.shape[0]
