"""Neighbour graphs as functions and as transformers."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._sklearn import Interval, StrOptions, fit_context, validate_params
from fastml.neighbors._base import KNeighborsMixin, NeighborsBase
from fastml.neighbors._docs import NEIGHBOR_ENTRIES
from fastml.neighbors._nearest import NearestNeighbors
from fastml.neighbors._radius import RadiusNeighborsMixin

SHARED = {
    "mode": [StrOptions({"connectivity", "distance"})],
    "metric": NeighborsBase._parameter_constraints["metric"],
    "p": [Interval(Real, 0, None, closed="right"), None],
    "metric_params": [dict, None],
    "include_self": ["boolean", StrOptions({"auto"})],
    "n_jobs": [Integral, None],
}


def _check_same(search, **params):
    """Raise unless a fitted search was made with the same parameters."""
    have = search.get_params()
    for name, value in params.items():
        if value != have[name]:
            raise ValueError(
                f"Got {value} for {name}, while the estimator has {have[name]} for the same "
                "parameter."
            )


def _queries(X, include_self, mode):
    if include_self == "auto":
        include_self = mode == "connectivity"
    return X._fit_X if include_self else None


@validate_params(
    {
        "X": ["array-like", "sparse matrix", KNeighborsMixin],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        **SHARED,
    },
    prefer_skip_nested_validation=False,
)
def kneighbors_graph(
    X,
    n_neighbors,
    *,
    mode="connectivity",
    metric="minkowski",
    p=2,
    metric_params=None,
    include_self=False,
    n_jobs=None,
):
    """The sparse graph of k nearest neighbours of points among themselves.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or fitted search
        Points, or an estimator with `kneighbors` fitted on them.
    n_neighbors : int
        Neighbours per point.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are ones or distances.
    metric : str or callable, default="minkowski"
        Distance.
    p : float, default=2
        Power of the Minkowski metric.
    metric_params : dict, default=None
        Further parameters of the metric.
    include_self : bool or "auto", default=False
        Whether a point is its own first neighbour; "auto": for ``mode="connectivity"`` only.
    n_jobs : int, default=None
        Threads: None and -1 mean all cores.

    Returns
    -------
    A : sparse CSR of shape (n_samples, n_samples)
        Row i holds the neighbours of point i.

    Examples
    --------
    >>> from fastml.neighbors import kneighbors_graph
    >>> kneighbors_graph([[0], [3], [1]], 1).toarray()
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 0., 0.]])
    """
    if not isinstance(X, KNeighborsMixin):
        X = NearestNeighbors(
            n_neighbors=n_neighbors, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs
        ).fit(X)
    else:
        _check_same(X, metric=metric, p=p, metric_params=metric_params)
    return X.kneighbors_graph(X=_queries(X, include_self, mode), n_neighbors=n_neighbors, mode=mode)


@validate_params(
    {
        "X": ["array-like", "sparse matrix", RadiusNeighborsMixin],
        "radius": [Interval(Real, 0, None, closed="both")],
        **SHARED,
    },
    prefer_skip_nested_validation=False,
)
def radius_neighbors_graph(
    X,
    radius,
    *,
    mode="connectivity",
    metric="minkowski",
    p=2,
    metric_params=None,
    include_self=False,
    n_jobs=None,
):
    """The sparse graph of neighbours within a radius of points among themselves.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or fitted search
        Points, or an estimator with `radius_neighbors` fitted on them.
    radius : float
        The radius.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are ones or distances.
    metric : str or callable, default="minkowski"
        Distance.
    p : float, default=2
        Power of the Minkowski metric.
    metric_params : dict, default=None
        Further parameters of the metric.
    include_self : bool or "auto", default=False
        Whether a point is its own neighbour; "auto": for ``mode="connectivity"`` only.
    n_jobs : int, default=None
        Threads: None and -1 mean all cores.

    Returns
    -------
    A : sparse CSR of shape (n_samples, n_samples)
        Row i holds the neighbours of point i.

    Examples
    --------
    >>> from fastml.neighbors import radius_neighbors_graph
    >>> radius_neighbors_graph([[0], [3], [1]], 1.5, mode="distance").toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    if not isinstance(X, RadiusNeighborsMixin):
        X = NearestNeighbors(
            radius=radius, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs
        ).fit(X)
    else:
        _check_same(X, metric=metric, p=p, metric_params=metric_params)
    return X.radius_neighbors_graph(_queries(X, include_self, mode), radius, mode)


class _GraphTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeighborsBase):
    """What the two transformers share; `_graph_of` makes the difference."""

    _parameter_constraints: dict = {
        **NeighborsBase._parameter_constraints,
        "mode": [StrOptions({"distance", "connectivity"})],
    }

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
        self : object
        """
        self._fit(X)
        self._n_features_out = self.n_samples_fit_
        return self

    def fit_transform(self, X, y=None):
        """Fit on X and return its graph, where each point is its own neighbour.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : Ignored
            Present for the API.

        Returns
        -------
        Xt : sparse CSR of shape (n_samples, n_samples)
            The graph.
        """
        return self.fit(X).transform(X)

    def transform(self, X):
        """The graph from queries to training points.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        Xt : sparse CSR of shape (n_queries, n_samples_fit)
            The graph; a training point is its own neighbour.
        """
        check_is_fitted(self)
        return self._graph_of(X)

    def _graph_of(self, X):
        raise NotImplementedError


@documented(NEIGHBOR_ENTRIES)
class KNeighborsTransformer(KNeighborsMixin, _GraphTransformer):
    """Points → the sparse graph of their k nearest training points.

    Parameters
    ----------
    {mode}
    n_neighbors : int, default=5
        Neighbours per point; with ``mode="distance"`` one more, since a point is its own neighbour.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search.
    {leaf_size}
    metric : str or callable, default="minkowski"
        Distance.
    {p}
    {metric_params}
    {n_jobs}

    Attributes
    ----------
    {effective_metric_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}

    Examples
    --------
    >>> from fastml.neighbors import KNeighborsTransformer
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """

    _parameter_constraints: dict = {**_GraphTransformer._parameter_constraints}
    _parameter_constraints.pop("radius")

    def __init__(
        self,
        *,
        mode="distance",
        n_neighbors=5,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            radius=None,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.mode = mode

    def _graph_of(self, X):
        own = self.mode == "distance"
        return self.kneighbors_graph(X, mode=self.mode, n_neighbors=self.n_neighbors + own)


@documented(NEIGHBOR_ENTRIES)
class RadiusNeighborsTransformer(RadiusNeighborsMixin, _GraphTransformer):
    """Points → the sparse graph of training points within a radius.

    Parameters
    ----------
    {mode}
    {radius}
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search.
    {leaf_size}
    metric : str or callable, default="minkowski"
        Distance.
    {p}
    {metric_params}
    {n_jobs}

    Attributes
    ----------
    {effective_metric_}
    {n_features_in_}
    {feature_names_in_}
    {n_samples_fit_}

    Examples
    --------
    >>> from fastml.neighbors import RadiusNeighborsTransformer
    >>> RadiusNeighborsTransformer(radius=1.5).fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """

    _parameter_constraints: dict = {**_GraphTransformer._parameter_constraints}
    _parameter_constraints.pop("n_neighbors")

    def __init__(
        self,
        *,
        mode="distance",
        radius=1.0,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(
            n_neighbors=None,
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.mode = mode

    def _graph_of(self, X):
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)
