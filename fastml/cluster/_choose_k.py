"""choose_k: how many clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from fastml._engines.labels import Clusters
from fastml._validation import FLOATS, check_choice
from fastml.cluster._kmeans._kmeans import KMeans

METHODS = ("elbow", "benefit", "silhouette", "gap", "bic")
SIMILARITIES: dict[str, Callable] = {
    "gaussian": lambda squared, scale: np.exp(-0.5 * squared / scale),
    "inverse": lambda squared, scale: 1.0 / (1.0 + np.sqrt(squared / scale)),
}
"""Of a row and its centre: 1 at distance zero; ``scale`` is the variance of all rows."""


@dataclass(frozen=True)
class ChoiceOfK:
    """What `choose_k` found.

    Attributes
    ----------
    k : int
        The number of clusters chosen.
    method : str
        By which rule.
    ks : ndarray of int
        The numbers that were compared.
    scores : ndarray of float
        The rule's figure for each; NaN where it is not defined.
    cost_ks : ndarray of int
        The numbers of clusters for which the cost was computed.
    costs : ndarray of float
        Q(K): within-cluster cost, or minus the log-likelihood for mixtures.
    models : dict of int to estimator
        The fitted models.
    """

    k: int
    method: str
    ks: NDArray
    scores: NDArray
    cost_ks: NDArray
    costs: NDArray
    models: dict = field(repr=False, compare=False)

    def plot(self, ax=None):
        """Draw Q(K) and the scores; see `fastml.plot.choice_of_k`."""
        from fastml.plot import choice_of_k

        return choice_of_k(self, ax=ax)


def elbow_ratios(costs: dict[int, float]) -> dict[int, float]:
    """D(K) = |Q(K+1) - Q(K)| / |Q(K) - Q(K-1)|, for each K with both neighbours.

    NaN where Q(K) = Q(K-1).

    Parameters
    ----------
    costs : dict of int to float
        Q(K) by K.

    Returns
    -------
    ratios : dict of int to float
        D(K) by K; the elbow is where it is smallest.

    Examples
    --------
    >>> from fastml.cluster import elbow_ratios
    >>> elbow_ratios({1: 100.0, 2: 20.0, 3: 16.0, 4: 13.0})
    {2: 0.05, 3: 0.75}
    """
    ratios = {}
    for k in sorted(costs):
        if k - 1 in costs and k + 1 in costs:
            before = abs(costs[k] - costs[k - 1])
            after = abs(costs[k + 1] - costs[k])
            ratios[k] = float(after / before) if before > 0 else float("nan")
    return ratios


def choose_k(
    X,
    k_range,
    *,
    method="elbow",
    estimator=None,
    cost=None,
    similarity="gaussian",
    n_references=10,
    random_state=None,
    n_jobs=None,
):
    """Choose the number of clusters.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows to cluster.
    k_range : iterable of int
        Numbers of clusters to compare.
    method : {'elbow', 'benefit', 'silhouette', 'gap', 'bic'}, default='elbow'
        - 'elbow': the smallest :math:`D(K) = |Q(K+1) - Q(K)| / |Q(K) - Q(K-1)|`; clusterings for
          the neighbours of the range are made as well.
        - 'benefit': the largest :math:`V(K) = \\sum_i s(x_i, c_i) - K p`: similarity of rows to
          their centres, less the price p of a cluster.
        - 'silhouette': the largest mean silhouette coefficient.
        - 'gap': the smallest K with :math:`G(K) \\ge G(K+1) - s_{K+1}`, where
          :math:`G(K) = E \\log Q^*(K) - \\log Q(K)` compares with uniform rows in the same box; if
          there is none, the K of the largest G. For mixtures, Q is the cost of their labels.
        - 'bic': the mixture with the smallest Bayesian information criterion.
    estimator : estimator, default=None
        Cloned for every K. None means `KMeans`, or `GaussianMixture` for 'bic'.
    cost : float, default=None
        The price p of 'benefit'; None means n_samples / 20.
    similarity : {'gaussian', 'inverse'} or callable, default='gaussian'
        Of 'benefit': exp(-d² / 2v), 1 / (1 + d / sqrt(v)) with v the variance of all rows, or a
        function of the squared distances d² and v.
    n_references : int, default=10
        Uniform data sets of 'gap'.
    random_state : int, RandomState instance or None, default=None
        Seed of the models and of the uniform data.
    n_jobs : int, default=None
        Threads; None means all cores.

    Returns
    -------
    choice : ChoiceOfK
        ``k``, the scores per K, the costs Q(K), the fitted models, and a plot.

    References
    ----------
    R. Tibshirani, G. Walther, T. Hastie, "Estimating the number of clusters in a data set via the
    gap statistic", J. Royal Statistical Society B 63 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import choose_k
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, (50, 2)) for c in (0, 5, 10)])
    >>> choose_k(X, range(2, 7), method="silhouette", random_state=0).k
    3
    """
    check_choice("method", method, METHODS)
    if not isinstance(n_references, Integral) or n_references < 1:
        raise ValueError(f"n_references must be a whole number from 1 on, got {n_references!r}")
    if not (cost is None or isinstance(cost, Real)):
        raise TypeError(f"cost must be a number or None, got {cost!r}")
    X = check_array(X, dtype=FLOATS)
    ks = _check_range(k_range, X.shape[0])
    search = _Search(X, estimator, method, random_state, n_jobs)
    if method == "elbow":
        scores = _elbow(search, ks)
        best = _k_of_least(ks, scores)
    elif method == "benefit":
        scores = _benefit(search, ks, cost, similarity)
        best = _k_of_least(ks, -scores)
    elif method == "silhouette":
        scores = _silhouette(search, ks)
        best = _k_of_least(ks, -scores)
    elif method == "gap":
        scores, best = _gap(search, ks, n_references)
    else:
        scores = np.array([search.model(k).bic(X) for k in ks])
        best = _k_of_least(ks, scores)
    costs = search.costs
    return ChoiceOfK(
        k=best,
        method=method,
        ks=np.array(ks),
        scores=scores,
        cost_ks=np.array(sorted(costs)),
        costs=np.array([costs[k] for k in sorted(costs)]),
        models=search.models,
    )


def _check_range(k_range: Iterable, n_rows: int) -> list[int]:
    ks = set(k_range) if isinstance(k_range, Iterable) else None
    if not ks:
        raise ValueError(f"k_range must hold at least one number of clusters, got {k_range!r}")
    for k in ks:
        if isinstance(k, bool) or not isinstance(k, Integral):
            raise TypeError(f"k_range must hold whole numbers, got {k!r}")
        if not 1 <= int(k) <= n_rows:
            raise ValueError(f"k_range must be within 1 and n_samples={n_rows}, got {k}")
    return sorted(int(k) for k in ks)


def _k_of_least(ks, values) -> int:
    """The k of the smallest value, the smaller of equals."""
    if np.isnan(values).all():
        raise ValueError(f"no K of {ks} has a defined score: widen k_range")
    return ks[int(np.nanargmin(values))]


class _Search:
    """One model per K, fitted when asked for."""

    def __init__(self, X, estimator, method, random_state, n_jobs):
        self.X = X
        self.n_jobs = n_jobs
        self.random_state = check_random_state(random_state)
        self.seed = int(self.random_state.randint(np.iinfo(np.int32).max))
        self.estimator = estimator if estimator is not None else self._default(method)
        names = getattr(self.estimator, "get_params", dict)()
        self.parameter = "n_clusters" if "n_clusters" in names else "n_components"
        if self.parameter not in names:
            raise TypeError(
                f"estimator must have a parameter n_clusters or n_components: {self.estimator!r}"
            )
        if method == "bic" and not hasattr(self.estimator, "bic"):
            raise TypeError(f"method='bic' needs an estimator with a method bic: {estimator!r}")
        self.models: dict = {}
        self.costs: dict[int, float] = {}

    @staticmethod
    def _default(method):
        if method == "bic":
            from fastml.mixture import GaussianMixture

            return GaussianMixture()
        return KMeans(n_init=4)

    def fit(self, k: int, X):
        model = clone(self.estimator).set_params(**{self.parameter: k})
        names = model.get_params()
        if names.get("random_state", 0) is None:
            model.set_params(random_state=self.seed)
        if names.get("n_jobs", 0) is None:
            model.set_params(n_jobs=self.n_jobs)
        return model.fit(X)

    def model(self, k: int):
        if k not in self.models:
            model = self.models[k] = self.fit(k, self.X)
            self.costs[k] = self.cost(model, self.X)
        return self.models[k]

    def cost(self, model, X) -> float:
        """Within-cluster cost, or minus the log-likelihood of a model without clusters."""
        if hasattr(model, "inertia_") or hasattr(model, "labels_"):
            return within_cost(model, X)
        return -model.score(X) * X.shape[0]

    def labels(self, k: int):
        return labels_of(self.model(k), self.X)


def labels_of(model, X):
    return model.labels_ if hasattr(model, "labels_") else model.predict(X)


def within_cost(model, X) -> float:
    """inertia_, else the squared distances to the means of the model's labels."""
    if hasattr(model, "inertia_"):
        return float(model.inertia_)
    from fastml.metrics import within_cluster_distance

    return within_cluster_distance(X, labels_of(model, X))


def _elbow(search: _Search, ks) -> NDArray:
    n_rows = search.X.shape[0]
    wanted = {k + step for k in ks for step in (-1, 0, 1)}
    for k in sorted(wanted):
        if 1 <= k <= n_rows:
            search.model(k)
    ratios = elbow_ratios(search.costs)
    return np.array([ratios.get(k, np.nan) for k in ks])


def _benefit(search: _Search, ks, cost, similarity) -> NDArray:
    X = search.X.astype(np.float64, copy=False)
    price = X.shape[0] / 20.0 if cost is None else float(cost)
    if not callable(similarity):
        check_choice("similarity", similarity, SIMILARITIES)
        similarity = SIMILARITIES[similarity]
    scale = X.var(axis=0).sum()
    values = []
    for k in ks:
        labels = search.labels(k)
        squared = ((X - _means(X, labels)) ** 2).sum(axis=1)
        values.append(float(np.sum(similarity(squared, scale or 1.0))) - k * price)
    return np.array(values)


def _means(X, labels):
    """The mean of every row's cluster."""
    clusters = Clusters(labels)
    return clusters.means(clusters.sort(X))[clusters.codes]


def _silhouette(search: _Search, ks) -> NDArray:
    from fastml.metrics import silhouette_score

    scores = []
    for k in ks:
        labels = search.labels(k)
        defined = 1 < np.unique(labels).size < search.X.shape[0]
        scores.append(
            silhouette_score(search.X, labels, n_jobs=search.n_jobs) if defined else np.nan
        )
    return np.array(scores)


def _gap(search: _Search, ks, n_references) -> tuple[NDArray, int]:
    X = search.X.astype(np.float64, copy=False)
    low, high = X.min(axis=0), X.max(axis=0)
    logs = np.empty((n_references, len(ks)))
    for b in range(n_references):
        reference = search.random_state.uniform(low, high, size=X.shape).astype(search.X.dtype)
        for j, k in enumerate(ks):
            logs[b, j] = _log(within_cost(search.fit(k, reference), reference))
    own = np.array([_log(within_cost(search.model(k), search.X)) for k in ks])
    gaps = logs.mean(axis=0) - own
    errors = logs.std(axis=0) * np.sqrt(1.0 + 1.0 / n_references)
    for j in range(len(ks) - 1):
        if gaps[j] >= gaps[j + 1] - errors[j + 1]:
            return gaps, ks[j]
    return gaps, _k_of_least(ks, -gaps)


def _log(cost: float) -> float:
    """log Q, where a perfect fit counts as the smallest number."""
    return float(np.log(max(cost, np.finfo(np.float64).tiny)))
