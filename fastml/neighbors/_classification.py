"""KNeighborsClassifier: a vote of the k nearest."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import StrOptions, fit_context
from fastml._validation import kernel_view
from fastml.kernels.neighbors import votes
from fastml.neighbors._base import KNeighborsMixin, NeighborsBase
from fastml.neighbors._docs import NEIGHBOR_ENTRIES
from fastml.neighbors._voting import (
    WEIGHT_CONSTRAINTS,
    NeighborsClassifierMixin,
    WeightedNeighborsMixin,
)

TIE_RULES = {
    "smallest": votes.SMALLEST_CLASS,
    "nearest": votes.NEAREST_CLASS,
    "refuse": votes.REFUSE,
}


@documented(NEIGHBOR_ENTRIES)
class KNeighborsClassifier(
    WeightedNeighborsMixin, KNeighborsMixin, NeighborsClassifierMixin, NeighborsBase
):
    """Classification by a vote of the k nearest training points.

    The vote for class c at query x is the sum of the weights w_s of its neighbours of that class,

        a(x) = argmax_c  sum_s w_s [y_s = c].

    Parameters
    ----------
    {n_neighbors}
    weights : str, callable or None, default="uniform"
        What a neighbour's vote is worth. scikit-learn's: "uniform" (also None), "distance" (1 / d),
        or a function from the array of distances to an array of weights. Beyond it, by rank s:
        "linear" ((k + 1 - s) / k) and "geometric" (ratio^s); by a kernel K(d / h): "gaussian",
        "epanechnikov", "triangular", "rectangular". Where a kernel leaves no neighbour any weight,
        all count alike.
    {algorithm}
    {leaf_size}
    {p}
    {metric}
    {metric_params}
    {n_jobs}
    on_tie : {"smallest", "nearest", "refuse"}, default="smallest"
        Which class wins equal votes: the smallest label, as in scikit-learn; the one with the
        nearest neighbour, and refusal if those are equally near; or refusal.
    refusal_label : int, str or None, default=None
        What `predict` returns when it refuses: not a class. None means the first of 0, -1, -2, …
        that is no class, or "refused" among strings.
    {bandwidth}
    {ratio}

    Attributes
    ----------
    {classes_}
    effective_metric_ : str or callable
        The metric in use: "minkowski" with p = 2 becomes "euclidean", and so on.
    {effective_metric_params_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}
    refusal_label_ : int, str or None
        What `predict` returns when it refuses; None if it never does.
    {outputs_2d_}

    References
    ----------
    T. M. Cover, P. E. Hart, "Nearest neighbor pattern classification", IEEE Trans. Information
    Theory 13 (1967).

    Examples
    --------
    >>> from fastml.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.1]])
    array([0])
    >>> model.predict_proba([[0.9]])
    array([[0.66666667, 0.33333333]])
    """

    _parameter_constraints: dict = {
        **NeighborsBase._parameter_constraints,
        **WEIGHT_CONSTRAINTS,
        "on_tie": [StrOptions(set(TIE_RULES))],
        "refusal_label": [Integral, str, None],
    }
    _parameter_constraints.pop("radius")

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        on_tie="smallest",
        refusal_label=None,
        bandwidth="next",
        ratio=0.5,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.weights = weights
        self.on_tie = on_tie
        self.refusal_label = refusal_label
        self.bandwidth = bandwidth
        self.ratio = ratio

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
        self : KNeighborsClassifier
        """
        self._fit(X, y)
        self.refusal_label_ = self._checked_refusal() if self.on_tie != "smallest" else None
        return self

    def _classes_by_output(self):
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _checked_refusal(self):
        """A label that is no class, and of the type of the labels."""
        outputs = self._classes_by_output()
        label = self.refusal_label
        known = {each for classes in outputs for each in classes.tolist()}
        if label is None:
            text = any(classes.dtype.kind in "US" for classes in outputs)
            label = "refused" if text else 0
            while label in known:
                label = label + "_" if text else label - 1
        if label in known:
            raise ValueError(
                f"refusal_label {label!r} is a class: a refusal could not be told from it"
            )
        for classes in outputs:
            if np.append(classes, label).dtype.kind != classes.dtype.kind:
                raise TypeError(
                    f"refusal_label {label!r} is not of the type of the labels ({classes.dtype})"
                )
        return label

    def _ballots(self, indices, weights):
        """Votes per output, arrays of shape (n_queries, n_classes)."""
        if weights is not None and not (weights != 0).any(axis=1).all():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
                "avoid this case if you are using a user-defined function."
            )
        labels = self._codes_of(indices)
        ballots = []
        for output, classes in enumerate(self._classes_by_output()):
            ballot = np.empty((indices.shape[0], classes.size))
            codes = kernel_view(labels[:, output])
            if weights is None:
                votes.count_votes(codes, kernel_view(indices), ballot)
            else:
                votes.sum_votes(codes, kernel_view(indices), kernel_view(weights), ballot)
            ballots.append(ballot)
        return ballots

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), \
                or (n_queries, n_indexed) if metric == "precomputed", or None
            Queries. None means the training points, each without itself: leave-one-out.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
            Labels.
        """
        check_is_fitted(self, "_fit_method")
        return self._predict_from(*self._neighbours_and_weights(X))

    def _predict_from(self, distances, indices, weights):
        ballots = self._ballots(indices, weights)
        labels = self._codes_of(indices)
        columns = []
        for output, (classes, ballot) in enumerate(zip(self._classes_by_output(), ballots)):
            winners = np.empty(ballot.shape[0], dtype=np.intp)
            votes.elect(ballot, winners)
            if self.on_tie == "smallest":
                columns.append(classes[winners])
                continue
            votes.break_ties(
                TIE_RULES[self.on_tie],
                ballot,
                kernel_view(labels[:, output]),
                kernel_view(distances, np.float64),
                kernel_view(indices),
                winners,
            )
            columns.append(np.append(classes, self.refusal_label_)[winners])  # -1 is the last
        return np.column_stack(columns) if self.outputs_2d_ else columns[0]

    def predict_proba(self, X):
        """Share of the vote of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), \
                or (n_queries, n_indexed) if metric == "precomputed", or None
            Queries. None means the training points, each without itself.

        Returns
        -------
        p : ndarray of shape (n_queries, n_classes), or a list of them per output
            Shares, in the order of ``classes_``.
        """
        check_is_fitted(self, "_fit_method")
        return self._shares_from(*self._neighbours_and_weights(X))

    def _shares_from(self, distances, indices, weights):
        ballots = self._ballots(indices, weights)
        for ballot in ballots:
            votes.normalise_votes(ballot)
        return ballots if self.outputs_2d_ else ballots[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
