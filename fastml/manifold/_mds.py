"""Metric and non-metric scaling by majorising stress."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_symmetric

from fastml._docs import documented
from fastml._progress import CallbackSupport, current_steps, fit_steps, telling
from fastml._sklearn import Hidden, Interval, StrOptions, fit_context, validate_params
from fastml._threads import chunk_rows, effective_n_threads, single_threaded_blas
from fastml._validation import check_array, kernel_view, validate_data
from fastml.kernels.manifold import stress as kernels
from fastml.manifold._classical_mds import ClassicalMDS, square_distances

EQUAL = 1e-15
"""Dissimilarities that differ by less count as one, as in scikit-learn's isotonic regression."""

BYTES_PER_PAIR = {True: 24.0, False: 48.0}


class Majoriser:
    """One problem: targets δ (or ranks of dissimilarities), weights, and runs from any start."""

    def __init__(self, distances, *, metric: bool, weights=None, n_jobs=None):
        n = self.n = len(distances)
        self.metric = metric
        missing = np.isnan(distances)
        if missing.any():
            weights = np.where(missing, 0.0, np.ones((n, n)) if weights is None else weights)
            distances = np.where(missing, 0.0, distances)
        self.weights = np.empty((0, 0))
        self.inverse = None
        if weights is not None:
            self.weights, self.inverse = kernel_view(weights, np.float64), _inverse(weights)
        self.weights = kernel_view(self.weights)
        self.rows = chunk_rows(n, 8.0 * n)
        self.threads = effective_n_threads(n_jobs, 8.0 * n * n)
        self.sums = np.empty((-(-n // self.rows), 2))
        self.targets = np.ascontiguousarray(distances, dtype=np.float64)
        if not metric:
            self._sort(self.targets)

    def _sort(self, distances):
        """Pairs in the order of their dissimilarities, equal ones as one group; 0 is missing."""
        first, second = np.triu_indices(self.n, 1)
        values = distances[first, second]
        kept = values != 0
        if not kept.any():
            raise ValueError("non-metric scaling needs a dissimilarity that is not 0")
        first, second, values = first[kept], second[kept], values[kept]
        order = np.argsort(values)  # equal ones are one group: their order is of no matter
        first, second, values = first[order], second[order], values[order]
        new = np.r_[True, np.diff(values) >= EQUAL][: len(values)]
        self.begins = np.r_[np.flatnonzero(new), len(values)].astype(np.intp)
        groups = (np.cumsum(new) - 1).astype(np.int32)
        self.groups = np.full((self.n, self.n), -1, dtype=np.int32)
        self.groups[first, second] = groups
        self.groups[second, first] = groups
        self.pairs = kernel_view(first, np.uint32), kernel_view(second, np.uint32)
        self.unique = values[new]
        self.lengths = np.empty(len(values))
        n_groups = len(self.unique)
        self.fitted = np.empty(n_groups)
        self.blocks = kernels.PooledRuns(
            np.empty(n_groups), np.empty(n_groups), np.empty(n_groups, dtype=np.intp)
        )
        self.groups_per_chunk = chunk_rows(n_groups, 32.0)
        self.ends = np.empty(-(-n_groups // self.groups_per_chunk), dtype=np.intp)
        self.targets = np.empty((self.n, self.n))

    def _disparities(self, Y, first: bool):
        """Set the targets of a non-metric run for the positions Y."""
        if first:
            self.fitted[:] = self.unique
            squares = float(np.sum(np.diff(self.begins) * self.unique**2))
        else:
            size = len(self.lengths)
            kernels.pair_distances(
                Y, *self.pairs, chunk_rows(size, 8.0), self.lengths, n_threads=self.threads
            )
            kernels.pool_chunks(
                self.lengths, self.begins, self.groups_per_chunk, self.blocks, self.ends,
                n_threads=self.threads,
            )  # fmt: skip
            squares = kernels.pool_rest(self.groups_per_chunk, self.ends, self.blocks, self.fitted)
        scale = np.sqrt(self.n * (self.n - 1) / 2 / squares) if squares > 0 else 0.0
        kernels.fill_targets(
            kernel_view(self.groups), self.fitted, scale, self.rows, self.targets,
            n_threads=self.threads,
        )  # fmt: skip

    def _pass(self, Y, out):
        """Write the Guttman sums to ``out``; return (stress, Σ w d²)."""
        kernels.guttman(
            Y, kernel_view(self.targets), self.weights, self.rows, out, self.sums,
            n_threads=self.threads,
        )  # fmt: skip
        stress, squares = self.sums.sum(axis=0) / 2.0
        return float(stress), float(squares)

    def _moved(self, sums):
        if self.inverse is None:
            return sums / self.n
        with single_threaded_blas():
            return self.inverse @ sums

    def run(self, start, *, max_iter, eps, verbose=0, normalized=False):
        """Positions, stress and the number of iterations."""
        Y = np.array(start, dtype=np.float64)
        sums = np.empty_like(Y)
        old = None
        if self.metric:
            self._pass(Y, sums)
        for iteration in range(max_iter):
            step = current_steps().begin()
            if not self.metric:
                self._disparities(Y, iteration == 0)
                self._pass(Y, sums)
            Y = np.ascontiguousarray(self._moved(sums))
            stress, squares = self._pass(Y, sums)
            if verbose >= 2:
                print(f"Iteration {iteration}, stress {stress:.4f}")  # noqa: T201
            ended = step.end()
            if old is not None and (squares <= 0 or (old - stress) / squares < eps):
                if verbose:
                    print(f"Convergence criterion reached (iteration {iteration}).")  # noqa: T201
                break
            old = stress
            if ended:
                break
        if normalized:
            stress = float(np.sqrt(stress / squares)) if squares > 0 else 0.0
        return Y, stress, iteration + 1


def _inverse(weights):
    """The pseudo-inverse of the Laplacian of the weights."""
    weights = np.asarray(weights, dtype=np.float64)
    n = len(weights)
    laplacian = -weights
    np.fill_diagonal(laplacian, 0.0)
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    with single_threaded_blas():
        try:
            found = np.linalg.inv(laplacian + 1.0 / n) - 1.0 / n
        except np.linalg.LinAlgError:
            found = np.full((n, n), np.inf)
    scale = np.abs(laplacian).max() * np.abs(found).max()
    if not scale < 1e14:
        raise ValueError(
            "the pairs with a positive weight and a known distance do not connect all rows"
        )
    return found


def _check_weights(weights, n):
    weights = check_array(weights, dtype=np.float64)
    if weights.shape != (n, n):
        raise ValueError(f"weights must have shape {(n, n)}, got {weights.shape}")
    if (weights < 0).any():
        raise ValueError("weights must not be negative")
    return check_symmetric(weights, raise_exception=True)


@validate_params(
    {
        "dissimilarities": ["array-like"],
        "metric": ["boolean"],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "init": ["array-like", None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "eps": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "return_n_iter": ["boolean"],
        "normalized_stress": ["boolean", StrOptions({"auto"})],
        "weights": ["array-like", None],
    },
    prefer_skip_nested_validation=True,
)
@documented()
def smacof(
    dissimilarities,
    *,
    metric=True,
    n_components=2,
    init=None,
    n_init=1,
    n_jobs=None,
    max_iter=300,
    verbose=0,
    eps=1e-6,
    random_state=None,
    return_n_iter=False,
    normalized_stress="auto",
    weights=None,
):
    """Positions whose distances are close to given ones, by majorising stress.

    ``stress = Σ_{i<j} w_ij (|y_i - y_j| - δ_ij)²`` never rises under the Guttman transform
    ``y_i ← 1/n Σ_j δ_ij / |y_i - y_j| (y_i - y_j)``.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_samples, n_samples)
        Symmetric; NaN means that a distance is not known.
    metric : bool, default=True
        False: δ are the monotone function of the dissimilarities that is closest to the distances,
        and a dissimilarity of 0 is not known.
    n_components : int, default=2
        Dimension, unless ``init`` has another.
    init : array-like of shape (n_samples, n_components), default=None
        The start; None draws it.
    n_init : int, default=1
        Random starts, of which the one with the smallest stress is kept.
    {n_jobs}
    max_iter : int, default=300
        Iterations of a run.
    verbose : int, default=0
        2 prints the stress of every iteration.
    eps : float, default=1e-6
        A run ends where the stress falls by less than this share of ``Σ d²``.
    random_state : int, RandomState instance or None, default=None
        For random starts.
    return_n_iter : bool, default=False
        Whether to return the number of iterations.
    normalized_stress : bool or "auto", default="auto"
        Whether to return ``sqrt(stress / Σ d²)``; "auto": if not metric.
    weights : array-like of shape (n_samples, n_samples), default=None
        Symmetric weights w of pairs; None: all 1.

    Returns
    -------
    X : ndarray of shape (n_samples, n_components)
        The positions.
    stress : float
        Their stress.
    n_iter : int
        Iterations of the best run, with ``return_n_iter``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import smacof
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> Y, stress = smacof(D, random_state=0)
    >>> Y.shape, stress < 1e-3
    ((3, 2), True)
    """
    distances = check_array(dissimilarities, ensure_all_finite="allow-nan")
    distances = check_symmetric_with_gaps(distances)
    if weights is not None:
        weights = _check_weights(weights, len(distances))
    if normalized_stress == "auto":
        normalized_stress = not metric
    n = len(distances)
    if init is not None:
        init = np.array(init, dtype=np.float64)
        if init.ndim != 2 or len(init) != n:
            columns = init.shape[1] if init.ndim == 2 else n_components
            raise ValueError(f"init matrix should be of shape ({n}, {columns})")
        if n_init != 1:
            warnings.warn(
                "Explicit initial positions passed: performing only one init of the MDS instead of "
                f"{n_init}",
                stacklevel=2,
            )
            n_init = 1
    problem = Majoriser(distances, metric=metric, weights=weights, n_jobs=n_jobs)
    generator = check_random_state(random_state)
    best = None
    for _ in range(n_init):
        start = init
        if start is None:
            start = generator.uniform(size=n * n_components).reshape(n, n_components)
        found = problem.run(
            start, max_iter=max_iter, eps=eps, verbose=verbose, normalized=normalized_stress
        )
        if best is None or found[1] < best[1]:
            best = found
    return best if return_n_iter else best[:2]


def check_symmetric_with_gaps(distances):
    """scikit-learn's check, where NaN stands at both places of a pair."""
    missing = np.isnan(distances)
    if not missing.any():
        return check_symmetric(distances, raise_exception=True)
    if (missing != missing.T).any():
        raise ValueError("a distance that is not known must be NaN on both sides of the diagonal")
    filled = check_symmetric(np.where(missing, 0.0, distances), raise_exception=True)
    return np.where(missing, np.nan, filled)


@documented()
class MDS(CallbackSupport, BaseEstimator):
    """Multidimensional scaling: positions whose distances are close to those of the rows.

    Minimises ``stress = Σ_{i<j} w_ij (|y_i - y_j| - δ_ij)²``; see `smacof`.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric_mds : bool, default=True
        False: only the order of the distances counts.
    n_init : int, default=1
        Random starts, of which the one with the smallest stress is kept.
    init : {"random", "classical_mds"}, default="random"
        The start. The default will be "classical_mds", as in scikit-learn, which warns of it.
    max_iter : int, default=300
        Iterations of a run.
    verbose : int, default=0
        1 prints what the n × n arrays take before they are made, 2 the stress of every iteration.
    eps : float, default=1e-6
        A run ends where the stress falls by less than this share of ``Σ d²``.
    {n_jobs}
    random_state : int, RandomState instance or None, default=None
        For random starts.
    dissimilarity : {"euclidean", "precomputed"}
        Deprecated as in scikit-learn: use ``metric``.
    metric : str or callable, default="euclidean"
        Distance of rows; "precomputed" means that X holds distances, NaN where one is not known.
    metric_params : dict, default=None
        Parameters of the metric.
    normalized_stress : bool or "auto", default="auto"
        Whether ``stress_`` is ``sqrt(stress / Σ d²)``; "auto": if not ``metric_mds``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    stress_ : float
        Their stress.
    dissimilarity_matrix_ : ndarray of shape (n_samples, n_samples)
        The distances of the rows.
    n_iter_ : int
        Iterations of the best run.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import MDS
    >>> X = np.arange(12.0).reshape(6, 2) % 5
    >>> MDS(init="classical_mds").fit_transform(X).shape
    (6, 2)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric_mds": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left"), Hidden(StrOptions({"warn"}))],
        "init": [StrOptions({"random", "classical_mds"}), Hidden(StrOptions({"warn"}))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "eps": [Interval(Real, 0.0, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "dissimilarity": [
            StrOptions({"euclidean", "precomputed"}),
            Hidden(StrOptions({"deprecated"})),
        ],
        "metric": [str, callable, Hidden("boolean")],
        "metric_params": [dict, None],
        "normalized_stress": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_components=2,
        *,
        metric_mds=True,
        n_init=1,
        init="warn",
        max_iter=300,
        verbose=0,
        eps=1e-6,
        n_jobs=None,
        random_state=None,
        dissimilarity="deprecated",
        metric="euclidean",
        metric_params=None,
        normalized_stress="auto",
    ):
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = "precomputed" in (self.dissimilarity, self.metric)
        return tags

    def fit(self, X, y=None, init=None, weights=None):
        """Compute the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The rows, or their distances.
        y : Ignored
        init : ndarray of shape (n_samples, n_components), default=None
            The start.
        weights : array-like of shape (n_samples, n_samples), default=None
            Weights of pairs.

        Returns
        -------
        self : object
        """
        self.fit_transform(X, init=init, weights=weights)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None, init=None, weights=None):
        """Compute and return the positions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            The rows, or their distances.
        y : Ignored
        init : ndarray of shape (n_samples, n_components), default=None
            The start.
        weights : array-like of shape (n_samples, n_samples), default=None
            Weights of pairs.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        metric, metric_mds, kind = self._renamed()
        gaps = "allow-nan" if metric == "precomputed" else True
        X = validate_data(self, X, ensure_all_finite=gaps)
        if X.shape[0] == X.shape[1] and metric != "precomputed":
            warnings.warn(
                "The provided input is a square matrix. Note that ``fit`` constructs a "
                "dissimilarity matrix from data and will treat rows as samples and columns as "
                "features. To use a pre-computed dissimilarity matrix, set "
                "``metric='precomputed'``.",
                stacklevel=2,
            )
        known = X
        if metric == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"array must be 2-dimensional and square. shape = {X.shape}")
            known = np.where(np.isnan(X), 0.0, X)
        distances = square_distances(self, known, metric, "MDS", BYTES_PER_PAIR[metric_mds])
        if metric == "precomputed":
            distances = check_symmetric_with_gaps(X)
        if init is None and kind == "classical_mds":
            if np.isnan(distances).any():
                raise ValueError("init='classical_mds' needs all distances; some are NaN")
            scaling = ClassicalMDS(self.n_components, metric="precomputed", n_jobs=self.n_jobs)
            init = scaling.fit_transform(distances)
        with fit_steps(self, None, X) as steps, telling(steps):
            self.embedding_, self.stress_, self.n_iter_ = smacof(
                distances,
                metric=metric_mds,
                n_components=self.n_components,
                init=init,
                n_init=self.n_init,
                n_jobs=self.n_jobs,
                max_iter=self.max_iter,
                verbose=self.verbose,
                eps=self.eps,
                random_state=self.random_state,
                return_n_iter=True,
                normalized_stress=self.normalized_stress,
                weights=weights,
            )
        self.dissimilarity_matrix_ = distances
        return self.embedding_

    def _renamed(self):
        """(metric, metric_mds, init) with scikit-learn's warnings of names that change."""
        kind = self.init
        if kind == "warn":
            warnings.warn(
                "The default value of `init` will change from 'random' to 'classical_mds' in 1.10. "
                "To suppress this warning, provide some value of `init`.",
                FutureWarning,
                stacklevel=4,
            )
            kind = "random"
        metric, metric_mds = self.metric, self.metric_mds
        if self.dissimilarity != "deprecated":
            if not isinstance(metric, bool) and metric != "euclidean":
                raise ValueError(
                    "You provided both `dissimilarity` and `metric`. Please use only `metric`."
                )
            warnings.warn(
                "The `dissimilarity` parameter is deprecated and will be removed in 1.10. Use "
                "`metric` instead.",
                FutureWarning,
                stacklevel=4,
            )
            metric = self.dissimilarity
        if isinstance(self.metric, bool):
            warnings.warn(
                f"Use metric_mds={self.metric} instead of metric={self.metric}. The support for "
                "metric={True/False} will be dropped in 1.10.",
                FutureWarning,
                stacklevel=4,
            )
            metric_mds = self.metric
            if self.dissimilarity == "deprecated":
                metric = "euclidean"
        return metric, metric_mds, kind
