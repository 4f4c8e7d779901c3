"""Stochastic neighbour embedding: Gaussians on both sides."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from fastml._docs import documented
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import single_threaded_blas
from fastml._validation import validate_data
from fastml.manifold._affinities import all_others, conditional
from fastml.manifold._classical_mds import square_distances
from fastml.manifold._principal import principal_start

BYTES_PER_PAIR = 48.0
START_SPREAD = 0.1


@documented()
class SNE(CallbackSupport, BaseEstimator):
    """Stochastic neighbour embedding, which t-SNE was made of.

    Minimises ``C = Σ_i KL(P_i‖Q_i) = Σ_i Σ_j p_j|i log(p_j|i / q_j|i)`` with
    ``p_j|i ∝ exp(-|x_i - x_j|² / 2σ_i²)`` and ``q_j|i ∝ exp(-|y_i - y_j|²)``, by L-BFGS with the
    gradient ``2 Σ_j (p_j|i - q_j|i + p_i|j - q_i|j) (y_i - y_j)``.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    perplexity : float, default=30.0
        Effective number of neighbours, by which σ_i is found; less than the number of rows.
    sigma : float, default=None
        One σ for all rows in the place of the perplexity.
    init : {"pca", "random"} or ndarray, default="pca"
        The start.
    max_iter : int, default=500
        Steps.
    tol : float, default=1e-5
        Ends where the largest slope is below.
    metric : str or callable, default="euclidean"
        Distance of rows; "precomputed" means that X holds distances.
    metric_params : dict, default=None
        Parameters of the metric.
    random_state : int, RandomState instance or None, default=None
        For a random start.
    {n_jobs}
    verbose : int, default=0
        Above 0, what the n × n arrays take is printed before they are made.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    kl_divergence_ : float
        C.
    n_iter_ : int
        Steps taken.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Hinton and Roweis, "Stochastic neighbor embedding", NIPS 15 (2002).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import SNE
    >>> X = np.repeat(np.eye(3), 5, axis=0) + 0.01 * np.arange(15)[:, None]
    >>> SNE(perplexity=4).fit_transform(X).shape
    (15, 2)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "sigma": [None, Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"pca", "random"}), np.ndarray],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        perplexity=30.0,
        sigma=None,
        init="pca",
        max_iter=500,
        tol=1e-5,
        metric="euclidean",
        metric_params=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.sigma = sigma
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
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
        X = validate_data(self, X, ensure_min_samples=2)
        n = len(X)
        if self.sigma is None and self.perplexity >= n:
            raise ValueError(f"perplexity ({self.perplexity}) must be less than n_samples ({n})")
        distances = square_distances(self, X, self.metric, "SNE", BYTES_PER_PAIR)
        P = self.affinities(distances)
        with fit_steps(self, self.max_iter, X) as steps, single_threaded_blas():

            def report(intermediate_result):
                if steps.begin().end():
                    raise StopIteration  # SciPy's way to end early

            found = minimize(
                lambda flat: _cost(flat, P, self.n_components), self._start(X).ravel(), jac=True,
                method="L-BFGS-B", options={"maxiter": self.max_iter, "gtol": self.tol},
                callback=report if steps.told else None,
            )  # fmt: skip
        self.embedding_ = found.x.reshape(n, self.n_components)
        self.kl_divergence_ = float(found.fun)
        self.n_iter_ = max(int(found.nit), 1)
        return self.embedding_

    def affinities(self, distances):
        """p_j|i of all pairs, 0 on the diagonal.

        Parameters
        ----------
        distances : ndarray of shape (n_samples, n_samples)
            Distances of the rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_samples)
            Row i holds the distribution of i.
        """
        n = len(distances)
        others, columns = all_others(np.asarray(distances, dtype=np.float64))
        others = others**2
        if self.sigma is None:
            shares, _ = conditional(others, self.perplexity, self.n_jobs)
        else:
            shares = np.exp((others.min(axis=1, keepdims=True) - others) / (2.0 * self.sigma**2))
            shares /= shares.sum(axis=1, keepdims=True)
        P = np.zeros((n, n))
        np.put_along_axis(P, columns.astype(np.intp), shares, axis=1)
        return P

    def _start(self, X):
        n = len(X)
        if isinstance(self.init, np.ndarray):
            if self.init.shape != (n, self.n_components):
                raise ValueError(
                    f"init must have shape {(n, self.n_components)}, got {self.init.shape}"
                )
            return np.array(self.init, dtype=np.float64)
        if self.init == "pca" and self.metric != "precomputed":
            with single_threaded_blas():
                start = principal_start(X, self.n_components)
            if (spread := np.std(start[:, 0])) > 0:
                return start * (START_SPREAD / spread)
        drawn = check_random_state(self.random_state).normal(size=(n, self.n_components))
        return START_SPREAD * drawn


def _cost(flat, P, n_components):
    """C and its gradient at the positions ``flat``."""
    Y = flat.reshape(-1, n_components)
    squares = (Y * Y).sum(axis=1)
    logits = np.minimum(2.0 * (Y @ Y.T) - squares[:, None] - squares[None, :], 0.0)
    np.fill_diagonal(logits, -np.inf)
    logits -= logits.max(axis=1, keepdims=True)
    Q = np.exp(logits)
    totals = Q.sum(axis=1, keepdims=True)
    Q /= totals
    np.fill_diagonal(logits, 0.0)
    logs = np.log(np.where(P > 0, P, 1.0)) - (logits - np.log(totals))
    cost = float((P * logs).sum())
    M = P - Q
    M = M + M.T
    slopes = 2.0 * (M.sum(axis=1)[:, None] * Y - M @ Y)
    return cost, slopes.ravel()
