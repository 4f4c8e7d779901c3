"""Classical scaling: positions from the eigenvectors of centred squared distances."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_symmetric

from fastml._docs import documented
from fastml._sklearn import Interval, fit_context
from fastml._validation import validate_data
from fastml.manifold._leading import leading_of_squares
from fastml.manifold._memory import check_square
from fastml.metrics import pairwise_distances


@documented()
class ClassicalMDS(BaseEstimator):
    """Classical multidimensional scaling.

    ``B = -½ J D² J`` with ``J = I - 1/n`` is the Gram matrix of the centred rows where D holds
    Euclidean distances; the positions are ``V sqrt(Λ)`` for its leading eigenvalues and vectors.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or callable, default="euclidean"
        Distance of rows; "precomputed" means that X holds distances.
    metric_params : dict, default=None
        Parameters of the metric.
    {n_jobs}
    verbose : int, default=0
        Above 0, what the n × n arrays take is printed before they are made.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    dissimilarity_matrix_ : ndarray of shape (n_samples, n_samples)
        The distances.
    eigenvalues_ : ndarray of shape (n_components,)
        The leading eigenvalues of B, largest first.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.manifold import ClassicalMDS
    >>> triangle = [[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]
    >>> Y = ClassicalMDS(metric="precomputed").fit_transform(triangle)
    >>> bool(abs(((Y[1] - Y[2]) ** 2).sum() - 25.0) < 1e-9)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self, n_components=2, *, metric="euclidean", metric_params=None, n_jobs=None, verbose=0
    ):
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def fit(self, X, y=None):
        """Compute the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The rows, or their distances.
        y : Ignored

        Returns
        -------
        self : object
        """
        self.fit_transform(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Compute and return the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The rows, or their distances.
        y : Ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        X = validate_data(self, X)
        distances = square_distances(self, X, self.metric, "ClassicalMDS", 24.0)
        n = len(distances)
        squares = np.square(distances, dtype=np.float64)
        k = min(self.n_components, n)
        values, vectors = leading_of_squares(squares, k, self.n_jobs)
        self.dissimilarity_matrix_ = distances
        self.embedding_ = np.sqrt(np.maximum(values, 0.0)) * vectors
        self.eigenvalues_ = values
        return self.embedding_


def square_distances(estimator, X, metric, who: str, bytes_per_pair: float):
    """The distances of all rows, given or computed; what they take is checked before."""
    check_square(who, X.shape[0], bytes_per_pair, "Embed fewer rows", estimator.verbose)
    if metric == "precomputed":
        if np.any(X < 0):
            raise ValueError(
                f"Negative values in data passed to {who}.fit(): distances are not negative"
            )
        return check_symmetric(X, raise_exception=True)
    return pairwise_distances(
        X, metric=metric, n_jobs=estimator.n_jobs, **(estimator.metric_params or {})
    )
