"""NearestNeighbors: the search itself as an estimator."""

from __future__ import annotations

from sklearn.base import _fit_context

from fastml.neighbors._base import KNeighborsMixin, NeighborsBase
from fastml.neighbors._radius import RadiusNeighborsMixin


class NearestNeighbors(KNeighborsMixin, RadiusNeighborsMixin, NeighborsBase):
    """Search for the nearest training points.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that `kneighbors` returns by default.
    radius : float, default=1.0
        Radius that `radius_neighbors` uses by default.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search; results do not depend on it.
    leaf_size : int, default=30
        Accepted without effect: leaves hold 16 points; results would not depend on it.
    metric : str or callable, default="minkowski"
        Distance; see ``fastml.neighbors.VALID_METRICS``. "precomputed" takes distance matrices.
    p : float, default=2
        Power of the Minkowski metric.
    metric_params : dict, default=None
        Further parameters of the metric.
    n_jobs : int, default=None
        Threads: None and -1 mean all cores.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric in use.
    effective_metric_params_ : dict
        Its parameters.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of columns, if they all had string names.
    n_samples_fit_ : int
        Number of training points.

    Examples
    --------
    >>> from fastml.neighbors import NearestNeighbors
    >>> search = NearestNeighbors(n_neighbors=2).fit([[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]])
    >>> search.kneighbors([[0.9, 0.0]], return_distance=False)
    array([[1, 0]])
    """

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=1.0,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Build the search structure.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), \
                or (n_samples, n_samples) if metric == "precomputed"
            Training points.
        y : Ignored
            Present for the API.

        Returns
        -------
        self : NearestNeighbors
        """
        return self._fit(X)
