"""Sammon's mapping: scaling in which small distances weigh more."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fastml._docs import documented
from fastml._progress import CallbackSupport, current_steps, fit_steps, telling
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view, validate_data
from fastml.kernels.manifold.sammon import sammon_pass
from fastml.manifold._classical_mds import ClassicalMDS, square_distances
from fastml.manifold._isomap import Isomap

BYTES_PER_PAIR = 24.0
HALVINGS = 20


@documented()
class SammonMapping(CallbackSupport, BaseEstimator):
    """Sammon's mapping of rows to few dimensions.

    Minimises ``E = 1 / Σ ρ · Σ_{i<j} (|y_i - y_j| - ρ_ij)² / ρ_ij`` for the distances ρ of rows by
    Newton steps along each coordinate, halved until E falls.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    weighting : {"sammon", "squared"}, default="sammon"
        "squared" minimises ``Σ_{i<j} (|y_i - y_j| - ρ_ij)² / ρ_ij²``.
    init : {"classical_mds", "random"} or ndarray, default="classical_mds"
        The start.
    max_iter : int, default=300
        Steps.
    tol : float, default=1e-7
        Ends where E falls by less than this share.
    metric : str or callable, default="euclidean"
        Distance of rows; "precomputed" means that X holds distances, "geodesic" the lengths of
        paths over neighbours, as in `Isomap`.
    metric_params : dict, default=None
        Parameters of the metric.
    n_neighbors : int, default=5
        Neighbours of a row where the metric is "geodesic".
    random_state : int, RandomState instance or None, default=None
        For a random start.
    {n_jobs}
    verbose : int, default=0
        Above 0, what the n × n arrays take is printed before they are made.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    stress_ : float
        E.
    n_iter_ : int
        Steps taken.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Sammon, "A nonlinear mapping for data structure analysis", IEEE Transactions on Computers 18
    (1969).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import SammonMapping
    >>> X = np.arange(12.0).reshape(6, 2) % 5
    >>> bool(SammonMapping().fit(X).stress_ < 1e-6)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "weighting": [StrOptions({"sammon", "squared"})],
        "init": [StrOptions({"classical_mds", "random"}), np.ndarray],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "metric": [str, callable],
        "metric_params": [dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        weighting="sammon",
        init="classical_mds",
        max_iter=300,
        tol=1e-7,
        metric="euclidean",
        metric_params=None,
        n_neighbors=5,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_components = n_components
        self.weighting = weighting
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.metric = metric
        self.metric_params = metric_params
        self.n_neighbors = n_neighbors
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
        X = validate_data(self, X, ensure_min_samples=2, dtype=np.float64)
        if self.metric == "geodesic":
            k = min(self.n_neighbors, len(X) - 1)
            search = Isomap(n_neighbors=k, n_components=1, n_jobs=self.n_jobs, verbose=self.verbose)
            paths = search.fit(X).dist_matrix_
            targets = np.minimum(paths, paths.T)
        else:
            targets = square_distances(self, X, self.metric, "SammonMapping", BYTES_PER_PAIR)
        targets = np.ascontiguousarray(targets, dtype=np.float64)
        problem = SammonStress(targets, 1 if self.weighting == "sammon" else 2, self.n_jobs)
        start = self._start(targets)
        with fit_steps(self, self.max_iter, X) as steps, telling(steps):
            self.embedding_, self.stress_, self.n_iter_ = self._descend(problem, start)
        return self.embedding_

    def _start(self, targets):
        n = len(targets)
        if isinstance(self.init, np.ndarray):
            if self.init.shape != (n, self.n_components):
                raise ValueError(
                    f"init must have shape {(n, self.n_components)}, got {self.init.shape}"
                )
            return np.array(self.init, dtype=np.float64)
        if self.init == "classical_mds" and self.n_components <= n:
            scaling = ClassicalMDS(self.n_components, metric="precomputed", n_jobs=self.n_jobs)
            return np.ascontiguousarray(scaling.fit_transform(targets))
        drawn = check_random_state(self.random_state).normal(size=(n, self.n_components))
        return drawn * max(float(targets.mean()), np.finfo(float).tiny)

    def _descend(self, problem, Y):
        value, slopes, curves = problem(Y)
        n_steps = 0
        while n_steps < self.max_iter:
            n_steps += 1
            told = current_steps().begin()
            step = slopes / np.maximum(np.abs(curves), np.finfo(float).tiny)
            share = 1.0
            for _ in range(HALVINGS):
                moved = Y - share * step
                found = problem(moved)
                if found[0] <= value:
                    break
                share *= 0.5
            else:
                told.end()
                break
            fall = value - found[0]
            Y = moved
            value, slopes, curves = found
            if told.end() or fall <= self.tol * value:
                break
        else:
            warnings.warn(
                f"Sammon's stress still fell after max_iter={self.max_iter} steps",
                ConvergenceWarning,
                stacklevel=4,
            )
        return Y, value, n_steps


class SammonStress:
    """E with its slopes and curvatures at any positions."""

    def __init__(self, targets, power, n_jobs):
        n = len(targets)
        self.targets, self.power = kernel_view(targets), power
        self.scale = 1.0
        if power == 1:
            self.scale = max(float(np.triu(targets, 1).sum()), np.finfo(float).tiny)
        self.rows = chunk_rows(n, 16.0 * n)
        self.threads = effective_n_threads(n_jobs, 16.0 * n * n)
        self.partial = np.empty(-(-n // self.rows))

    def __call__(self, Y):
        slopes, curves = np.empty_like(Y), np.empty_like(Y)
        sammon_pass(
            Y, self.targets, self.power, self.rows, slopes, curves, self.partial,
            n_threads=self.threads,
        )  # fmt: skip
        value = float(self.partial.sum()) / 2.0 / self.scale
        return value, slopes / self.scale, curves / self.scale
