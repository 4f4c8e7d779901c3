"""NearestNeighbors: the search itself as an estimator."""

from __future__ import annotations

from fastml._docs import documented
from fastml._sklearn import fit_context
from fastml.neighbors._base import KNeighborsMixin, NeighborsBase
from fastml.neighbors._docs import NEIGHBOR_ENTRIES
from fastml.neighbors._radius import RadiusNeighborsMixin


@documented(NEIGHBOR_ENTRIES)
class NearestNeighbors(KNeighborsMixin, RadiusNeighborsMixin, NeighborsBase):
    """Search for the nearest training points.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that `kneighbors` returns by default.
    radius : float, default=1.0
        Radius that `radius_neighbors` uses by default.
    {algorithm}
    {leaf_size}
    {metric}
    {p}
    {metric_params}
    {n_jobs}

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric in use.
    {effective_metric_params_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}

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

    @fit_context(prefer_skip_nested_validation=False)
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
