"""KDTree and BallTree."""

from __future__ import annotations

import functools

import numpy as np

from fastml._engines.search.metric import BALL_TREE_METRICS, KD_TREE_METRICS, every_metric
from fastml._validation import kernel_view
from fastml.kernels.distances import metrics
from fastml.kernels.neighbors import balltree, kdtree, packets
from fastml.kernels.neighbors.balltree import BallTreeArrays
from fastml.kernels.neighbors.kdtree import KDTreeArrays
from fastml.kernels.neighbors.packet_code import PACKET
from fastml.kernels.neighbors.space_tree import LEAF_POINTS
from fastml.neighbors._space_trees._base import BinaryTree, build_levels, named_metric, partition


class KDTree(BinaryTree):
    """Binary space partition by medians of coordinates, with tight boxes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    leaf_size : int, default=40
        Accepted and kept, without effect: leaves hold 16 points, which vectorises best. As in
        scikit-learn, results do not depend on it.
    metric : str, default="minkowski"
        One of ``KDTree.valid_metrics``.
    **kwargs
        Parameters of the metric: ``p`` for "minkowski".

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The points.
    valid_metrics : list of str
        Metrics that this tree takes.

    References
    ----------
    J. L. Bentley, "Multidimensional binary search trees used for associative searching", CACM 18
    (1975).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.neighbors import KDTree
    >>> tree = KDTree(np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]))
    >>> distances, indices = tree.query([[0.0, 0.0]], k=2)
    >>> indices
    array([[0, 2]])
    >>> distances
    array([[0., 1.]])
    """

    valid_metrics = KD_TREE_METRICS

    def _build(self, X, n_threads):
        tree = partition(X, n_threads)
        n_leaves = -(-X.shape[0] // LEAF_POINTS)
        blocks = np.empty((n_leaves, X.shape[1], LEAF_POINTS), dtype=X.dtype)
        order = np.empty(n_leaves * LEAF_POINTS, dtype=np.intp)
        kdtree.pack_leaves(tree.rows, tree.order, blocks, order)
        self._tree = KDTreeArrays(blocks, order, tree.low, tree.high, tree.axis, tree.smallest)

    def _shapes(self):
        n, d = self.data.shape
        n_leaves = -(-n // LEAF_POINTS)
        n_nodes = 2 * n_leaves - 1
        shapes = [(n_leaves, d, LEAF_POINTS), (n_leaves * LEAF_POINTS,), (n_nodes, d), (n_nodes, d)]
        return list(zip(self._tree._fields, self._tree, [*shapes, (n_nodes,), (n_nodes,)]))

    def _cells(self):
        return self._tree.low, self._tree.axis

    def _node_bounds(self):
        return self._tree.low, self._tree.high

    def _node_radii(self):
        low, high = (corner.astype(np.float64) for corner in self._node_bounds())
        code, p, v = self._metric
        halves = kernel_view(0.5 * (high - low))
        origin = kernel_view(np.zeros((1, halves.shape[1])))
        radii = [metrics.rdist(code, halves, i, origin, 0, p, v) for i in range(len(halves))]
        return [metrics.rdist_to_dist(code, radius, p) for radius in radii]

    def _search(self, search, visit):
        Q, leaves, distances, indices, rows, n_threads = search
        code = self._metric.code
        if leaves is None or distances.shape[1] > PACKET or code > metrics.SQEUCLIDEAN:
            kdtree.kdtree_query(
                self._metric, self._tree, Q, visit, rows, distances, indices, n_threads=n_threads
            )
            return
        packets.packets_query(
            code == metrics.SQEUCLIDEAN,
            self._tree,
            Q,
            visit,
            leaves,
            PACKET * -(-rows // PACKET),
            distances,
            indices,
            n_threads=n_threads,
        )


class BallTree(BinaryTree):
    """Binary tree of balls, for metrics that have no coordinates to cut at.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    leaf_size : int, default=40
        Accepted and kept, without effect: leaves hold 16 points. As in scikit-learn, results do
        not depend on it.
    metric : str or callable, default="minkowski"
        One of ``BallTree.valid_metrics``, or a function of two rows.
    **kwargs
        Parameters of the metric: ``p`` and ``w`` for "minkowski", ``V`` for "seuclidean", ``V`` or
        ``VI`` for "mahalanobis".

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The points.
    valid_metrics : list of str
        Metrics that this tree takes.

    References
    ----------
    S. M. Omohundro, "Five balltree construction algorithms", ICSI TR-89-063 (1989).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.neighbors import BallTree
    >>> paris, oslo, rome = [0.853, 0.041], [1.046, 0.188], [0.731, 0.218]
    >>> tree = BallTree(np.array([paris, oslo, rome]), metric="haversine")
    >>> distances, indices = tree.query([[0.899, -0.002]], k=1)  # London
    >>> indices
    array([[0]])
    """

    valid_metrics = BALL_TREE_METRICS

    def _build(self, X, n_threads):
        tree = partition(X, n_threads)
        n_nodes = tree.axis.shape[0]
        self._low, self._axis = tree.low, tree.axis
        self._tree = BallTreeArrays(
            tree.rows,
            tree.order,
            np.empty_like(tree.low),
            np.empty(n_nodes),
            tree.smallest,
        )
        for tasks, whole in build_levels(-(-X.shape[0] // LEAF_POINTS)):
            balltree.enclose_nodes(
                every_metric(self._metric.code),
                self._metric,
                self._tree,
                tasks,
                whole,
                n_threads=n_threads,
            )

    def _user_function(self, metric, params):
        if isinstance(metric, str):
            if metric != "pyfunc":
                return None
            if "func" not in params:
                raise TypeError("metric='pyfunc' needs the function of two rows as func")
            return params.pop("func")
        if named_metric(metric) is not metric:
            return None
        if not callable(metric):
            raise TypeError(f"metric must be a name or a function of two rows, got {metric!r}")
        if not params:
            return metric
        return functools.partial(metric, **params)

    def _shapes(self):
        n, d = self.data.shape
        n_nodes = 2 * -(-n // LEAF_POINTS) - 1
        shapes = [(n, d), (n,), (n_nodes, d), (n_nodes,), (n_nodes,)]
        cells = [("low", self._low, (n_nodes, d)), ("axis", self._axis, (n_nodes,))]
        return [*zip(self._tree._fields, self._tree, shapes), *cells]

    def _cells(self):
        return self._low, self._axis

    def _node_bounds(self):
        return (self._tree.centres,)

    def _node_radii(self):
        return self._tree.radii

    def _search(self, search, visit):
        Q, _, distances, indices, rows, n_threads = search
        balltree.balltree_query(
            every_metric(self._metric.code),
            self._metric,
            self._tree,
            Q,
            visit,
            rows,
            distances,
            indices,
            n_threads=n_threads,
        )
