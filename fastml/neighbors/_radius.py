"""Neighbours within a radius: the search, and a vote or mean over them."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.search.radius import (
    broadcast_radii,
    brute_radius,
    concatenate_runs,
    graph_radius,
    mark_blocks,
    matrix_radius,
    split_runs,
    tree_radius,
    without_self,
)
from fastml._sklearn import StrOptions, fit_context
from fastml._validation import kernel_view
from fastml.kernels.neighbors import radius as kernels
from fastml.kernels.neighbors import votes
from fastml.neighbors._base import DistanceBlocksMixin, NeighborsBase, csr_graph
from fastml.neighbors._docs import NEIGHBOR_ENTRIES
from fastml.neighbors._voting import NeighborsClassifierMixin


class RadiusNeighborsMixin(DistanceBlocksMixin):
    """`radius_neighbors` and `radius_neighbors_graph`."""

    def _mark_blocks(self):
        """Training rows, and the bits of those within ``radius`` of them, 64 to a word; None if
        they are not found by exhaustive search over vectors."""
        self._check_state()
        metric = getattr(self, "_kernel_metric", None)
        if self._tree is not None or metric is None or issparse(self._fit_X):
            return None
        X = kernel_view(self._fit_X)
        return mark_blocks(X, X, broadcast_radii(self.radius, len(X)), metric, self.n_jobs)

    def _within(self, X, radius, sort_results=False, with_distances=True):
        """CSR arrays of the neighbours within ``radius`` of the queries (None: training points).

        Without ``with_distances``, the distances of queries may be left out.
        """
        self._check_state()
        own = X is None
        X = self._fit_X if own else self._check_queries(X)
        if radius is None:
            radius = self.radius
        radii = broadcast_radii(radius, X.shape[0])
        if self._tree is not None:
            if issparse(X):
                raise ValueError(
                    f"{self._fit_method} does not work with sparse matrices. Densify the data, or "
                    "set algorithm='brute'"
                )
            runs = tree_radius(self._tree, X, radii, self.n_jobs)
        elif self.metric == "precomputed":
            runs = graph_radius(X, radius) if issparse(X) else matrix_radius(X, radii)
        elif getattr(self, "_kernel_metric", None) is not None and not issparse(X):
            runs = brute_radius(
                X, self._fit_X, radii, self._kernel_metric, self.n_jobs, with_distances or own
            )
        else:
            runs = concatenate_runs(
                [matrix_radius(block, radii[rows]) for rows, block in self._distance_blocks(X)]
            )
        if own:
            runs = without_self(runs)
        if sort_results:
            kernels.sort_runs(*runs)
        return runs

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """Find all training points within a radius of each query; the boundary counts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Queries. None means the training points; then no point is its own neighbour.
        radius : float, default=None
            The radius; None means the constructor's.
        return_distance : bool, default=True
            Whether to return distances.
        sort_results : bool, default=False
            Whether to sort each query's neighbours by distance.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries,) of arrays
            Distances; only with ``return_distance=True``.
        neigh_ind : ndarray of shape (n_queries,) of arrays
            Indices into the training points.

        Examples
        --------
        >>> from fastml.neighbors import NearestNeighbors
        >>> search = NearestNeighbors(radius=1.5).fit([[0.0], [1.0], [3.0]])
        >>> distances, indices = search.radius_neighbors([[0.5]])
        >>> indices[0]
        array([0, 1])
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        indptr, indices, distances = self._within(X, radius, sort_results, return_distance)
        found = split_runs(indptr, indices)
        return (split_runs(indptr, distances), found) if return_distance else found

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """The sparse graph of neighbours within a radius.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            Queries. None means the training points; then no point is its own neighbour.
        radius : float, default=None
            The radius; None means the constructor's.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether entries are ones or distances.
        sort_results : bool, default=False
            Whether to store each row by increasing distance (``mode="distance"`` only).

        Returns
        -------
        A : sparse CSR of shape (n_queries, n_samples_fit)
            Row q holds the neighbours of query q.
        """
        check_is_fitted(self)
        if mode not in ("connectivity", "distance"):
            raise ValueError(
                'Unsupported mode, must be one of "connectivity", or "distance" but got '
                f'"{mode}" instead'
            )
        with_distances = mode == "distance"
        indptr, indices, distances = self._within(X, radius, sort_results and with_distances)
        data = distances if with_distances else np.ones(indices.size)
        return csr_graph(data, indices, indptr, (indptr.size - 1, self.n_samples_fit_))

    def _run_weights(self, indptr, distances):
        """Weights of CSR neighbours; an empty array means all equal."""
        rule = self.weights
        if rule is None or (isinstance(rule, str) and rule == "uniform"):
            return np.empty(0)
        if callable(rule):
            weights = rule(split_runs(indptr, distances))
            if not distances.size:
                return np.empty(0)
            return np.concatenate([np.asarray(row, dtype=np.float64) for row in weights])
        with np.errstate(divide="ignore"):
            weights = 1.0 / distances
        for q in np.unique(np.searchsorted(indptr, np.flatnonzero(distances == 0.0), "right") - 1):
            run = slice(indptr[q], indptr[q + 1])
            weights[run] = distances[run] == 0.0
        return weights

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags


RADIUS_CONSTRAINTS = {
    **NeighborsBase._parameter_constraints,
    "weights": [StrOptions({"uniform", "distance"}), callable, None],
}
RADIUS_CONSTRAINTS.pop("n_neighbors")


@documented(NEIGHBOR_ENTRIES)
class RadiusNeighborsClassifier(RadiusNeighborsMixin, NeighborsClassifierMixin, NeighborsBase):
    """Classification by a vote of all training points within a radius.

    Parameters
    ----------
    {radius}
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        What a neighbour's vote is worth: the same, 1 / d, or a function of the distances.
    {algorithm}
    {leaf_size}
    {p}
    metric : str or callable, default="minkowski"
        Distance; see ``fastml.neighbors.VALID_METRICS``.
    outlier_label : label, list of labels, "most_frequent" or None, default=None
        Label of queries without neighbours, per output; None makes them an error.
    {metric_params}
    {n_jobs}

    Attributes
    ----------
    {classes_}
    {effective_metric_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}
    outlier_label_ : list or None
        Label of queries without neighbours, per output.
    {outputs_2d_}

    Examples
    --------
    >>> from fastml.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict_proba([[1.0]])
    array([[0.66666667, 0.33333333]])
    """

    _parameter_constraints: dict = {
        **RADIUS_CONSTRAINTS,
        "outlier_label": [Integral, str, "array-like", None],
    }

    def __init__(
        self,
        radius=1.0,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        outlier_label=None,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.weights = weights
        self.outlier_label = outlier_label

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Remember the training points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), \
                or (n_samples, n_samples) if metric == "precomputed"
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels.

        Returns
        -------
        self : RadiusNeighborsClassifier
        """
        self._fit(X, y)
        self.outlier_label_ = self._check_outlier_label()
        return self

    def _classes_by_output(self):
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _check_outlier_label(self):
        label = self.outlier_label
        all_classes = self._classes_by_output()
        if label is None:
            return None
        if isinstance(label, str) and label == "most_frequent":
            codes = self._y if self.outputs_2d_ else self._y[:, None]
            return [
                classes[np.bincount(codes[:, k]).argmax()] for k, classes in enumerate(all_classes)
            ]
        if np.ndim(label) == 0:
            labels = [label] * len(all_classes)
        elif len(label) != len(all_classes):
            raise ValueError(
                f"The length of outlier_label: {label} is inconsistent with the output length: "
                f"{len(all_classes)}"
            )
        else:
            labels = label
        for classes, one in zip(all_classes, labels):
            if np.ndim(one) != 0:
                raise TypeError(
                    f"The outlier_label of classes {classes} is supposed to be a scalar, got {one}."
                )
            if np.append(classes, one).dtype != classes.dtype:
                raise TypeError(
                    f"The dtype of outlier_label {one} is inconsistent with classes {classes} in y."
                )
        return labels

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Queries. None means the training points, each without itself.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Labels.
        """
        shares = self.predict_proba(X)
        if not self.outputs_2d_:
            shares = [shares]
        columns = []
        for output, (classes, share) in enumerate(zip(self._classes_by_output(), shares)):
            column = classes[share.argmax(axis=1)]
            lost = ~share.any(axis=1)
            if lost.any():
                column[lost] = self.outlier_label_[output]
            columns.append(column)
        return np.column_stack(columns) if self.outputs_2d_ else columns[0]

    def predict_proba(self, X):
        """Share of the vote of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Queries. None means the training points, each without itself.

        Returns
        -------
        p : ndarray of shape (n_queries, n_classes), or a list of them per output
            Shares, in the order of ``classes_``.
        """
        check_is_fitted(self, "_fit_method")
        indptr, indices, distances = self._within(X, None)
        outliers = np.flatnonzero(np.diff(indptr) == 0)
        if self.outlier_label_ is None and outliers.size:
            raise ValueError(
                f"No neighbors found for test samples {outliers!r}, you can try using larger "
                "radius, giving a label for outliers, or considering removing them from your "
                "dataset."
            )
        weights = self._run_weights(indptr, distances)
        codes = self._codes_of(indices)
        ballots = []
        for output, classes in enumerate(self._classes_by_output()):
            ballot = np.empty((indptr.size - 1, classes.size))
            votes.sum_ragged_votes(kernel_view(codes[:, output]), indptr, indices, weights, ballot)
            if outliers.size:
                known = np.flatnonzero(classes == self.outlier_label_[output])
                if known.size == 1:
                    ballot[outliers, known[0]] = 1.0
                else:
                    warnings.warn(
                        f"Outlier label {self.outlier_label_[output]} is not in training classes. "
                        "All class probabilities of outliers will be assigned with 0.",
                        stacklevel=2,
                    )
            votes.normalise_votes(ballot)
            ballots.append(ballot)
        return ballots if self.outputs_2d_ else ballots[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
