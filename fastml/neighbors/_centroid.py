"""NearestCentroid: one point per class."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import validate_data
from fastml.neighbors._docs import NEIGHBOR_ENTRIES


def _is_euclidean(self) -> bool:
    return self.metric == "euclidean"


@documented(NEIGHBOR_ENTRIES)
class NearestCentroid(ClassifierMixin, BaseEstimator):
    """Classification by the nearest class centroid, optionally with shrunken centroids.

    With s_j the pooled within-class deviation of feature j plus its median over features and
    m_c = sqrt(1 / n_c - 1 / n), the deviation of class c is d_cj = (x̄_cj - x̄_j) / (m_c s_j); a
    threshold pulls it towards zero by soft thresholding, and with it the centroid.

    Parameters
    ----------
    metric : {"euclidean", "manhattan"}, default="euclidean"
        Distance; centroids are means, or medians for "manhattan".
    shrink_threshold : float, default=None
        Threshold of the deviations.
    priors : {"uniform", "empirical"} or array-like of shape (n_classes,), default="uniform"
        Class probabilities.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_classes, n_features)
        The centroids.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities.
    deviations_ : ndarray of shape (n_classes, n_features)
        Deviations of the centroids from the overall mean, shrunk if asked for.
    within_class_std_dev_ : ndarray of shape (n_features,)
        Pooled within-class standard deviation.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    R. Tibshirani, T. Hastie, B. Narasimhan, G. Chu, "Diagnosis of multiple cancer types by shrunken
    centroids of gene expression", PNAS 99 (2002).

    Examples
    --------
    >>> from fastml.neighbors import NearestCentroid
    >>> model = NearestCentroid().fit([[-2, -1], [-1, -1.5], [1, 1], [2, 1.5]], [1, 1, 2, 2])
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    """

    _parameter_constraints: dict = {
        "metric": [StrOptions({"manhattan", "euclidean"})],
        "shrink_threshold": [Interval(Real, 0, None, closed="neither"), None],
        "priors": ["array-like", StrOptions({"empirical", "uniform"})],
    }

    def __init__(self, metric="euclidean", *, shrink_threshold=None, priors="uniform"):
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Compute the centroids.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : NearestCentroid
        """
        formats = ["csc"] if self.metric == "manhattan" else ["csr", "csc"]
        X, y = validate_data(self, X, y, accept_sparse=formats)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        n_samples, n_classes = X.shape[0], classes.size
        if n_classes < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {n_classes} class"
            )
        prior = self._check_priors(codes, n_classes)
        counts = np.bincount(codes)
        centroids = np.stack([self._centroid(X, codes == c) for c in range(n_classes)])
        gaps = np.asarray(X - centroids[codes])
        deviation = np.sqrt((gaps**2).sum(axis=0) / (n_samples - n_classes))
        spread = (X.max(axis=0) - X.min(axis=0)).toarray() if issparse(X) else np.ptp(X, axis=0)
        if not np.any(spread):
            raise ValueError("All features have zero variance. Division by zero.")
        if (deviation == 0).any():
            warnings.warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation."
                "Inputs within the same classes for at least 1 feature are identical.",
                stacklevel=2,
            )
        overall = np.asarray(X.mean(axis=0)).ravel()
        unit = np.sqrt(1.0 / counts - 1.0 / n_samples)[:, None] * (deviation + np.median(deviation))
        deviations = (centroids - overall) / unit
        if self.shrink_threshold:
            deviations = np.sign(deviations) * np.maximum(
                np.abs(deviations) - self.shrink_threshold, 0.0
            )
            centroids = overall + unit * deviations
        self.classes_ = classes
        self.class_prior_ = prior
        self.centroids_ = centroids
        self.within_class_std_dev_ = deviation
        self.deviations_ = deviations
        return self

    def _check_priors(self, codes, n_classes):
        if isinstance(self.priors, str):
            if self.priors == "uniform":
                return np.full(n_classes, 1.0 / n_classes)
            return np.bincount(codes) / codes.size
        prior = np.asarray(self.priors, dtype=np.float64)
        if (prior < 0).any():
            raise ValueError("priors must be non-negative")
        if prior.shape != (n_classes,):
            raise ValueError(
                f"priors must hold one number per class ({n_classes}), got {prior.shape}"
            )
        if not np.isclose(prior.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.",
                UserWarning,
                stacklevel=3,
            )
            prior = prior / prior.sum()
        return prior

    def _centroid(self, X, members):
        rows = X[np.flatnonzero(members)]
        if self.metric == "euclidean":
            return np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        if issparse(X):
            from sklearn.utils.sparsefuncs import csc_median_axis_0

            return csc_median_axis_0(rows)
        return np.median(rows, axis=0).astype(np.float64)

    def predict(self, X):
        """Predict labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        if not np.isclose(self.class_prior_, 1.0 / self.classes_.size).all():
            return self.classes_[self._scores(X).argmax(axis=1)]
        from fastml.metrics import pairwise_distances_argmin

        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return self.classes_[pairwise_distances_argmin(X, self.centroids_, metric=self.metric)]

    def _scores(self, X):
        """Discriminant scores: 2 log prior - |x - centroid|² in units of the deviations."""
        from fastml.metrics import pairwise_distances

        check_is_fitted(self)
        X = validate_data(self, X, copy=True, reset=False, accept_sparse="csr", dtype=np.float64)
        scale = np.where(self.within_class_std_dev_ != 0, self.within_class_std_dev_, 1.0)
        if issparse(X):
            from scipy.sparse import diags

            X = (X @ diags(1.0 / scale)).tocsr()
        else:
            X /= scale
        distances = pairwise_distances(X, self.centroids_ / scale, metric=self.metric)
        return 2.0 * np.log(self.class_prior_) - distances**2

    @available_if(_is_euclidean)
    def decision_function(self, X):
        """Discriminant scores; for two classes, those of the second less the first's.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    @available_if(_is_euclidean)
    def predict_log_proba(self, X):
        """Logarithms of class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        scores = scores - scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    @available_if(_is_euclidean)
    def predict_proba(self, X):
        """Class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
