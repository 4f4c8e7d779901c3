"""What the neighbour estimators share: parameters, fitting, and the choice of an algorithm."""

from __future__ import annotations

import numbers
import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MultiOutputMixin, is_classifier
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from fastml._engines.distances.names import COUNTING
from fastml._engines.search.brute import brute_kneighbors, smallest_in_rows
from fastml._engines.search.metric import (
    CODES,
    VALID_METRICS,
    VALID_METRICS_SPARSE,
    check_haversine,
    resolve_metric,
)
from fastml._sklearn import HasMethods, Interval, StrOptions, check_feature_names
from fastml._threads import effective_n_threads, thread_limit
from fastml._validation import FLOATS, check_fitted, refuse_text, validate_data
from fastml.kernels.distances import metrics
from fastml.kernels.neighbors import votes
from fastml.neighbors._graph_input import check_precomputed, kneighbors_from_graph
from fastml.neighbors._items import item_distances, items_of, kind_of_items
from fastml.neighbors._space_trees._base import named_metric
from fastml.neighbors._space_trees._trees import BallTree, KDTree

BLOCK_ENTRIES = 1 << 22  # distances at a time where a matrix is unavoidable: 32 MB


def _is_distance_metric(metric) -> bool:
    """Whether it is one of scikit-learn's DistanceMetric objects."""
    return hasattr(metric, "rdist_to_dist") and hasattr(metric, "pairwise")


class NeighborsBase(MultiOutputMixin, BaseEstimator):
    """Parameters, `_fit` and the rule behind ``algorithm="auto"``."""

    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0, None, closed="right"), None],
        "metric": [
            StrOptions({name for names in VALID_METRICS.values() for name in names}),
            callable,
            HasMethods(["pairwise", "rdist_to_dist"]),
        ],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors=None,
        radius=None,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.metric_params = metric_params
        self.p = p
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ fitting

    def _fit(self, X, y=None):
        prefitted = isinstance(X, (KDTree, BallTree, NeighborsBase))
        items = getattr(X, "_items", None) if prefitted else kind_of_items(X, self.metric)
        self._items = items
        if items is not None and not prefitted:
            return self._fit_items(X, y)
        finite = "allow-nan" if self.metric == "nan_euclidean" else True
        checks = {"accept_sparse": "csr", "order": "C", "ensure_all_finite": finite}
        if not callable(self.metric):
            checks["dtype"] = FLOATS
            refuse_text(X)
        if self.__sklearn_tags__().target_tags.required:
            if not prefitted:
                X, y = validate_data(self, X, y, multi_output=True, **checks)
            self._set_targets(y)
        elif not prefitted:
            X = validate_data(self, X, **checks)
        self._check_algorithm_metric()
        self._set_effective_metric()
        if prefitted:
            return self._adopt(X)
        if self.metric == "precomputed":
            X = check_precomputed(X)
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} "
                    "matrix."
                )
            self.n_features_in_ = X.shape[1]
        if X.shape[0] == 0:
            raise ValueError("n_samples must be greater than 0")
        return self._index(X, self._choose_method(X))

    def _fit_items(self, X, y):
        """Keep sets, strings or text as they are; every query is compared with all of them."""
        if self.algorithm not in ("auto", "brute"):
            raise ValueError(f"algorithm={self.algorithm!r} does not take {self._items}: use brute")
        check_feature_names(self, X, reset=True)
        rows = items_of(X, self._items)
        if self.__sklearn_tags__().target_tags.required:
            y = check_array(y, ensure_2d=False, dtype=None)
            check_consistent_length(rows, y)
            self._set_targets(y)
        self._set_effective_metric()
        self.n_features_in_ = rows.shape[1]
        self._kernel_metric = self._tree = None
        self._fit_X, self._fit_method, self.n_samples_fit_ = rows, "brute", len(rows)
        return self

    def _index(self, X, method):
        """Keep the rows in the way that queries search by."""
        tree = None
        if method in ("kd_tree", "ball_tree"):
            tree_class = KDTree if method == "kd_tree" else BallTree
            parameters = self.effective_metric_params_
            with thread_limit(effective_n_threads(self.n_jobs)):
                tree = tree_class(X, self.leaf_size, metric=self.effective_metric_, **parameters)
        elif isinstance(self.effective_metric_, str) and not issparse(X):
            self._kernel_metric = self._resolve_brute_metric(X)
        self._fit_X = X.copy() if issparse(X) else X
        self._tree = tree
        self._fit_method = method
        self.n_samples_fit_ = X.shape[0]
        return self

    def _resolve_brute_metric(self, X):
        name = self.effective_metric_
        if name in COUNTING or name in ("precomputed", "nan_euclidean"):
            return None
        return resolve_metric(name, self.effective_metric_params_, X)

    def _set_targets(self, y):
        if not is_classifier(self):
            self._y = y
            return
        from sklearn.exceptions import DataConversionWarning
        from sklearn.utils.multiclass import check_classification_targets

        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
            y = y.ravel()
        check_classification_targets(y)
        self.outputs_2d_ = y.ndim == 2
        columns = y.T if self.outputs_2d_ else [y]
        found = [np.unique(column, return_inverse=True) for column in columns]
        codes = [codes.astype(np.intp, copy=False) for _, codes in found]
        if self.outputs_2d_:
            self.classes_ = [classes for classes, _ in found]
            self._y = np.column_stack(codes)
        else:
            self.classes_ = found[0][0]
            self._y = codes[0]

    def _check_algorithm_metric(self):
        metric = self.metric
        if callable(metric) and not _is_distance_metric(metric):
            if self.algorithm == "kd_tree":
                raise ValueError(
                    f"kd_tree does not support callable metric '{metric}': use ball_tree or brute"
                )
        elif not _is_distance_metric(metric):
            table = self.algorithm
            if table == "auto":
                table = "ball_tree" if metric in VALID_METRICS["ball_tree"] else "brute"
            if metric not in VALID_METRICS[table]:
                raise ValueError(
                    f"Metric '{metric}' not valid for algorithm='{self.algorithm}'. It must be one "
                    f"of {VALID_METRICS[table]} "
                    f"(fastml.neighbors.VALID_METRICS['{table}']), or a callable."
                )
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ "
                "is ignored.",
                SyntaxWarning,
                stacklevel=4,
            )

    def _set_effective_metric(self):
        params = dict(self.metric_params or {})
        metric = named_metric(self.metric)
        if metric == "minkowski":
            p = params.pop("p", self.p)
            w = params.pop("w", None)
            special = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
            if p in special and w is None:
                metric = special[p]
            else:
                params["p"] = p
                params["w"] = w
        self.effective_metric_ = metric
        self.effective_metric_params_ = params

    def _adopt(self, fitted):
        """Take over a tree or the state of a fitted neighbour estimator."""
        if isinstance(fitted, NeighborsBase):
            self._fit_X = fitted._fit_X
            self._tree = fitted._tree
            self._fit_method = fitted._fit_method
            self.n_samples_fit_ = fitted.n_samples_fit_
            if hasattr(fitted, "_kernel_metric"):
                self._kernel_metric = fitted._kernel_metric
        else:
            self._fit_X = fitted.data
            self._tree = fitted
            self._fit_method = "kd_tree" if isinstance(fitted, KDTree) else "ball_tree"
            self.n_samples_fit_ = fitted.data.shape[0]
        self.n_features_in_ = self._fit_X.shape[1]
        return self

    def _choose_method(self, X) -> str:
        """The algorithm for these data: the one asked for, or by a measured crossover."""
        metric, params = self.effective_metric_, self.effective_metric_params_
        if issparse(X):
            if self.algorithm not in ("auto", "brute"):
                warnings.warn("cannot use tree with sparse input: using brute force", stacklevel=5)
            if isinstance(metric, str) and metric not in VALID_METRICS_SPARSE["brute"]:
                raise ValueError(
                    f"Metric '{metric}' not valid for sparse input. It must be one of "
                    f"{VALID_METRICS_SPARSE['brute']} or a callable."
                )
            return "brute"
        semimetric = metric == "minkowski" and params["p"] < 1
        method = self.algorithm
        if method == "auto":
            by_function = metric == "pyfunc"
            method = "ball_tree" if by_function else "brute"
            if not by_function and not semimetric:
                method = self._fastest_method(X)
        if semimetric:
            if method != "brute":
                raise ValueError(
                    f'algorithm="{method}" does not support 0 < p < 1 for the Minkowski metric. To '
                    'resolve this problem either set p >= 1 or algorithm="brute".'
                )
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`.",
                stacklevel=5,
            )
        if method == "kd_tree" and metric == "minkowski" and params.get("w") is not None:
            raise ValueError(
                "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter "
                "'w': try algorithm='ball_tree' or algorithm='brute' instead."
            )
        return method

    def _fastest_method(self, X) -> str:
        metric, params = self.effective_metric_, self.effective_metric_params_
        if metric == "precomputed":
            return "brute"
        n_samples, n_features = X.shape
        few = self.n_neighbors is None or self.n_neighbors < n_samples // 2
        if not isinstance(metric, str):
            return "ball_tree" if few and n_features <= 15 else "brute"
        weighted = metric == "minkowski" and params.get("w") is not None
        if metric in VALID_METRICS["kd_tree"] and not weighted:
            tree = "kd_tree"
        elif metric in VALID_METRICS["ball_tree"]:
            tree = "ball_tree"
        else:
            return "brute"
        return tree if few and tree_pays(tree, metric, n_samples, n_features) else "brute"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = tags.input_tags.pairwise
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    # ------------------------------------------------------------------ queries

    def _check_state(self):
        """Whether what kernels read still fits together; attributes may have been set."""
        shape = (self.n_samples_fit_, self.n_features_in_)
        check_fitted(self, "_fit_X", self._fit_X, shape)
        if self._tree is not None:
            check_fitted(self, "data of the tree", self._tree.data, shape)

    def _codes_of(self, indices):
        """Codes of the labels, a column per output, checked for the neighbours ``indices``."""
        codes = self._y if self.outputs_2d_ else self._y[:, None]
        outputs = self.classes_ if self.outputs_2d_ else [self.classes_]
        check_fitted(self, "_y", codes, (self.n_samples_fit_, len(outputs)))
        for output, classes in enumerate(outputs):
            used = codes[:, output][indices.ravel()]
            if used.size and not 0 <= used.min() <= used.max() < len(classes):
                raise ValueError(
                    f"classes_ of {type(self).__name__} was altered: it has {len(classes)} labels, "
                    f"and training points have the codes 0 to {used.max()}"
                )
        return codes

    def _check_queries(self, X):
        if getattr(self, "_items", None) is not None:
            check_feature_names(self, X, reset=False)
            return items_of(X, self._items, self.n_features_in_)
        if self.metric == "precomputed":
            X = check_precomputed(X)
            if X.shape[1] != self.n_samples_fit_:
                raise ValueError(
                    f"X must hold distances to the {self.n_samples_fit_} training points, got "
                    f"{X.shape[1]} columns"
                )
            return X
        if (kernel_metric := getattr(self, "_kernel_metric", None)) is not None:
            check_haversine(kernel_metric.code, self.n_features_in_)
        finite = "allow-nan" if self.metric == "nan_euclidean" else True
        dtype = "numeric" if callable(self.metric) else FLOATS
        refuse_text(X)
        return validate_data(
            self,
            X,
            dtype=dtype,
            ensure_all_finite=finite,
            accept_sparse="csr",
            reset=False,
            order="C",
        )


def tree_pays(tree: str, metric: str, n_samples: int, n_features: int) -> bool:
    """Whether a tree beats exhaustive search (measured with as many queries as points)."""
    if n_samples < 800:
        return False
    code = CODES[metric]
    if tree == "kd_tree":
        if code <= metrics.SQEUCLIDEAN:
            return n_features <= 4.2 + 0.5 * np.log2(n_samples / 10_000)
        return n_features <= 7.0 + 0.8 * np.log2(n_samples / 10_000)  # no vector code to beat
    if code == metrics.HAVERSINE:
        return True
    if code > metrics.MAHALANOBIS:
        return False  # balls of these metrics are too large to leave anything out
    return n_features <= 2.0 + 0.65 * np.log2(n_samples / 20_000)


class DistanceBlocksMixin:
    """Distances of a block of queries at a time, for sparse rows, callables and NaN."""

    def _distance_blocks(self, X):
        from fastml.metrics import pairwise_distances

        step = max(1, BLOCK_ENTRIES // self.n_samples_fit_)
        for start in range(0, X.shape[0], step):
            rows = slice(start, min(start + step, X.shape[0]))
            if getattr(self, "_items", None) is not None:
                found = X[rows], self._fit_X, self._items, self.effective_metric_
                yield rows, item_distances(*found, self.n_jobs, self.effective_metric_params_)
                continue
            yield (
                rows,
                pairwise_distances(
                    X[rows],
                    self._fit_X,
                    metric=self.effective_metric_,
                    n_jobs=self.n_jobs,
                    **self.effective_metric_params_,
                ),
            )


class KNeighborsMixin(DistanceBlocksMixin):
    """`kneighbors` and `kneighbors_graph`."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the k nearest neighbours of each query.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), \
                or (n_queries, n_indexed) if metric == "precomputed", default=None
            Queries. None means the training points; then no point is its own neighbour.
        n_neighbors : int, default=None
            Number of neighbours; None means the constructor's.
        return_distance : bool, default=True
            Whether to return distances.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances, ascending; only with ``return_distance=True``.
        neigh_ind : ndarray of shape (n_queries, n_neighbors)
            Indices into the training points. Equal distances are ordered by index.

        Examples
        --------
        >>> from fastml.neighbors import NearestNeighbors
        >>> search = NearestNeighbors(n_neighbors=1).fit([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
        >>> search.kneighbors([[1.0, 1.5]])
        (array([[0.5]]), array([[2]]))
        """
        check_is_fitted(self)
        self._check_state()
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        elif n_neighbors <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
        elif not isinstance(n_neighbors, numbers.Integral):
            raise TypeError(
                f"n_neighbors does not take {type(n_neighbors)} value, enter integer value"
            )
        own = X is None
        X = self._fit_X if own else self._check_queries(X)
        if n_neighbors + own > self.n_samples_fit_:
            relation = "<" if own else "<="
            raise ValueError(
                f"Expected n_neighbors {relation} n_samples_fit, but n_neighbors = {n_neighbors}, "
                f"n_samples_fit = {self.n_samples_fit_}, n_samples = {X.shape[0]}"
            )
        distances, indices = self._nearest(X, int(n_neighbors) + own)
        if own:
            found_distances, found = np.ascontiguousarray(distances), np.ascontiguousarray(indices)
            distances = np.empty((X.shape[0], n_neighbors), dtype=found_distances.dtype)
            indices = np.empty((X.shape[0], n_neighbors), dtype=found.dtype)
            votes.drop_self(found_distances, found, distances, indices)
        return (distances, indices) if return_distance else indices

    def _nearest(self, X, k):
        """Distances and indices of the k nearest training points of checked queries."""
        if self._tree is not None:
            if issparse(X):
                raise ValueError(
                    f"{self._fit_method} does not work with sparse matrices. Densify the data, or "
                    "set algorithm='brute'"
                )
            return self._tree._kneighbors(X, k, self.n_jobs)
        if self.metric == "precomputed":
            if issparse(X):
                return kneighbors_from_graph(X, k)
            return smallest_in_rows(X, k, self.n_jobs)
        metric = getattr(self, "_kernel_metric", None)
        if metric is not None and not issparse(X):
            return brute_kneighbors(X, self._fit_X, k, metric, self.n_jobs)
        return self._nearest_by_matrix(X, k)

    def _nearest_by_matrix(self, X, k):
        """For sparse rows, callables and NaN: distances of a block of queries at a time."""
        distances = np.empty((X.shape[0], k))
        indices = np.empty((X.shape[0], k), dtype=np.intp)
        for rows, block in self._distance_blocks(X):
            distances[rows], indices[rows] = smallest_in_rows(block, k, self.n_jobs)
        return distances, indices

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The sparse graph of k nearest neighbours.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Queries. None means the training points; then no point is its own neighbour.
        n_neighbors : int, default=None
            Number of neighbours; None means the constructor's.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are ones or distances.

        Returns
        -------
        A : sparse CSR of shape (n_queries, n_samples_fit)
            Row q holds the neighbours of query q.
        """
        check_is_fitted(self)
        if n_neighbors is None:
            n_neighbors = self.n_neighbors
        if mode == "connectivity":
            indices = self.kneighbors(X, n_neighbors, return_distance=False)
            data = np.ones(indices.size)
        elif mode == "distance":
            distances, indices = self.kneighbors(X, n_neighbors, return_distance=True)
            data = distances.ravel()
        else:
            raise ValueError(
                'Unsupported mode, must be one of "connectivity", or "distance" but got '
                f'"{mode}" instead'
            )
        indptr = np.arange(0, indices.size + 1, n_neighbors)
        return csr_graph(data, indices.ravel(), indptr, (indices.shape[0], self.n_samples_fit_))


def csr_graph(data, indices, indptr, shape):
    """A CSR graph: matrix or array as scikit-learn's configuration says."""
    from scipy.sparse import csr_array, csr_matrix

    graph = csr_array((data, indices, indptr), shape=shape)
    try:
        from fastml._sklearn import align_api_if_sparse
    except ImportError:  # scikit-learn before 1.9
        return csr_matrix(graph)
    return align_api_if_sparse(graph)
