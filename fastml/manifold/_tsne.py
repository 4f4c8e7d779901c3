"""t-SNE: neighbours that stay neighbours."""

from __future__ import annotations

import time
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from scipy.special import xlogy
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative, check_symmetric

from fastml._docs import documented
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._threads import chunk_rows, effective_n_threads, single_threaded_blas
from fastml._validation import FLOATS, check_fitted, kernel_view, validate_data
from fastml.kernels.manifold import attraction, newcomers
from fastml.kernels.manifold.descent import EmbeddingDescent, Moving, advance
from fastml.kernels.manifold.spline_grid import SplineGrid
from fastml.manifold._affinities import all_others, conditional, joint, single_squares
from fastml.manifold._memory import check_square
from fastml.manifold._principal import principal_start
from fastml.manifold._repulsion import AllPairs, CellTree, PlanePairsOrGrid, Potential
from fastml.metrics import pairwise_distances
from fastml.neighbors import VALID_METRICS, NearestNeighbors

PAIRS_UP_TO = 2000
"""Rows: below, the sums over all pairs take less time than grid or tree.

In the plane with ν = 1 time decides, iteration by iteration: `PlanePairsOrGrid`.
"""

EXPLORATION = 250  # iterations with exaggeration
CHECK_EVERY = 50
START_SPREAD = 1e-4
LEAST_GAIN = 0.01
EXACT_BYTES = 40.0
"""Per pair, with method="exact": distances, affinities of both kinds, and their indices."""

LONGEST_STEP = 5.0
"""Along a coordinate, in one iteration: what leaves the embedding does not come back."""

ENTROPY_BLOCK = 1 << 20
PLACE_ITERATIONS = 250
PLACE_PAIRS_UP_TO = 4096
PLACE_MARGIN = 10.0


@documented()
class TSNE(
    CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):  # fmt: skip
    """t-distributed stochastic neighbour embedding.

    The positions y minimise ``KL(P‖Q) = Σ p_ij log(p_ij / q_ij)``, where

    - ``p_ij = (p_j|i + p_i|j) / 2n``, ``p_j|i ∝ exp(-β_i |x_i - x_j|²)`` over the neighbours j
      of i, β_i such that the perplexity of p_·|i is the one asked for;
    - ``q_ij ∝ w_ij = (1 + |y_i - y_j|² / ν)^(-(ν+1)/2)``.

    The gradient is ``2 (ν+1)/ν Σ_j (p_ij - q_ij) (1 + |y_i - y_j|² / ν)^-1 (y_i - y_j)``
    (scikit-learn's has w in the place of the last factor but one, which is the same for ν = 1
    only). Its sum over q is taken over all pairs, over cells of a tree (Barnes and Hut), or as a
    convolution on a grid by FFT.

    Callbacks (`set_callbacks`) see ``kl_divergence_`` and ``embedding_`` of every iteration, which
    `fastml.plot.embedding` draws.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    perplexity : float, default=30.0
        The effective number of neighbours; less than the number of rows.
    early_exaggeration : float, default=12.0
        Factor of P during the first 250 iterations.
    learning_rate : float or "auto", default="auto"
        "auto" is ``max(n / early_exaggeration / 4, 50)``.
    max_iter : int, default=1000
        Iterations, at least 250.
    n_iter_without_progress : int, default=300
        Ends after so many iterations without a smaller divergence; looked at every 50.
    min_grad_norm : float, default=1e-7
        Ends where the norm of the gradient is below.
    metric : str or callable, default="euclidean"
        Distance of rows; "precomputed" means that X holds distances, or a sparse graph of them.
    metric_params : dict, default=None
        Parameters of the metric.
    init : {"random", "pca"} or ndarray of shape (n_samples, n_components), default="pca"
        The start. The principal components are scaled to a standard deviation of 1e-4; rows
        without any variance start at random.
    verbose : int, default=0
        1 tells of the stages, and before what the n × n arrays of "exact" take, 2 of the divergence
        every 50 iterations.
    random_state : int, RandomState instance or None, default=None
        For a random start.
    method : {"barnes_hut", "exact"}, default="barnes_hut"
        "exact" takes the affinities of all pairs. Otherwise the ``3 * perplexity + 1`` nearest
        neighbours of each row have affinities.
    angle : float, default=0.5
        Of the tree: cells that look smaller count as points.
    {n_jobs}
    repulsion : {"auto", "pairs", "tree", "grid"}, default="auto"
        How the sum over q is taken. "auto" takes pairs for "exact" and few rows, else the grid in
        one and two dimensions and the tree in three. In two dimensions it chooses in every
        iteration by what takes less time: up to 2,000 rows pairs; more, as long as they are close
        together, the grid.
    affinities : {"perplexity", "uniform"}, default="perplexity"
        "uniform" gives the ``k = int(perplexity)`` nearest neighbours ``p_j|i = 1/k``.
    degrees_of_freedom : float, default=None
        ν; None is ``max(n_components - 1, 1)``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The positions.
    kl_divergence_ : float
        The divergence at the end.
    learning_rate_ : float
        The one used.
    n_iter_ : int
        Number of the last iteration, counted from 0.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    van der Maaten and Hinton, "Visualizing data using t-SNE", JMLR 9 (2008). van der Maaten,
    "Accelerating t-SNE using tree-based algorithms", JMLR 15 (2014). Linderman et al., "Fast
    interpolation-based t-SNE", Nature Methods 16 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import TSNE
    >>> X = np.repeat(np.eye(3), 10, axis=0) + 0.01 * np.arange(30)[:, None]
    >>> found = TSNE(perplexity=5, random_state=0).fit(X)
    >>> found.embedding_.shape
    (30, 2)
    >>> found.transform(X[:2]).shape
    (2, 2)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "early_exaggeration": [Interval(Real, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 250, None, closed="left")],
        "n_iter_without_progress": [Interval(Integral, -1, None, closed="left")],
        "min_grad_norm": [Interval(Real, 0, None, closed="left")],
        "metric": [StrOptions({*VALID_METRICS["brute"], "precomputed"}), callable],
        "metric_params": [dict, None],
        "init": [StrOptions({"pca", "random"}), np.ndarray],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "method": [StrOptions({"barnes_hut", "exact"})],
        "angle": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": [None, Integral],
        "repulsion": [StrOptions({"auto", "pairs", "tree", "grid"})],
        "affinities": [StrOptions({"perplexity", "uniform"})],
        "degrees_of_freedom": [None, Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        perplexity=30.0,
        early_exaggeration=12.0,
        learning_rate="auto",
        max_iter=1000,
        n_iter_without_progress=300,
        min_grad_norm=1e-7,
        metric="euclidean",
        metric_params=None,
        init="pca",
        verbose=0,
        random_state=None,
        method="barnes_hut",
        angle=0.5,
        n_jobs=None,
        repulsion="auto",
        affinities="perplexity",
        degrees_of_freedom=None,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.n_jobs = n_jobs
        self.repulsion = repulsion
        self.affinities = affinities
        self.degrees_of_freedom = degrees_of_freedom

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Embed the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The rows; distances where the metric is "precomputed".
        y : Ignored

        Returns
        -------
        self : object
        """
        self._fit(X)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X, y=None):
        """Embed the rows of X and return their positions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            The rows; distances where the metric is "precomputed".
        y : Ignored

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        self._fit(X)
        return self.embedding_

    def _fit(self, X):
        X = self._checked(X)
        n = X.shape[0]
        if self.learning_rate == "auto":
            self.learning_rate_ = max(n / self.early_exaggeration / 4, 50)
        else:
            self.learning_rate_ = self.learning_rate
        graph = self._joint(X)
        start = self._start(X)
        with fit_steps(self, self.max_iter, X) as steps:
            embedding, divergence, last = self._descend(graph, start, steps)
        self.n_iter_ = last
        self.kl_divergence_ = divergence
        self._fit_X = X
        self.embedding_ = embedding

    def _checked(self, X):
        formats = ["csr"] if self.method == "barnes_hut" else ["csr", "csc", "coo"]
        X = validate_data(self, X, accept_sparse=formats, ensure_min_samples=2, dtype=FLOATS)
        if self.perplexity >= X.shape[0]:
            raise ValueError(
                f"perplexity ({self.perplexity}) must be less than n_samples ({X.shape[0]})"
            )
        if self.metric == "precomputed":
            if isinstance(self.init, str) and self.init == "pca":
                raise ValueError(
                    'The parameter init="pca" cannot be used with metric="precomputed".'
                )
            if X.shape[0] != X.shape[1]:
                raise ValueError("X should be a square distance matrix")
            check_non_negative(
                X,
                "TSNE.fit(). With metric='precomputed', X should contain positive distances.",
            )
            if self.method == "exact" and issparse(X):
                raise TypeError(
                    'TSNE with method="exact" does not accept sparse precomputed distance matrix. '
                    'Use method="barnes_hut" or provide the dense distance matrix.'
                )
            if not issparse(X):
                check_symmetric(X, tol=1e-6 * float(X.max(initial=0.0)), raise_exception=True)
        if self.metric == "mahalanobis" and not {"V", "VI"} & {*(self.metric_params or {})}:
            raise ValueError("Must provide either V or VI for Mahalanobis distance")
        if self.method == "barnes_hut" and self.n_components > 3:
            raise ValueError(
                "'n_components' should be inferior to 4 for the barnes_hut algorithm as it relies "
                "on quad-tree or oct-tree."
            )
        if self.repulsion == "grid" and self.n_components > 2:
            raise ValueError(
                "repulsion='grid' is for one and two components, got n_components="
                f"{self.n_components}"
            )
        if self.repulsion == "tree" and self.n_components > 3:
            raise ValueError(
                f"repulsion='tree' is for up to three components, got {self.n_components}"
            )
        if self.affinities == "uniform" and self.perplexity < 1:
            raise ValueError(
                f"affinities='uniform' needs a perplexity of at least 1, got {self.perplexity}"
            )
        return X

    def _say(self, text, level=1):
        if self.verbose >= level:
            print(f"[t-SNE] {text}")  # noqa: T201

    # ------------------------------------------------------------------ affinities

    def _n_neighbors(self, n_others):
        if self.affinities == "uniform":
            return min(n_others, int(self.perplexity))
        return min(n_others, int(3.0 * self.perplexity + 1))

    def _joint(self, X):
        """P as float32 rows of neighbours."""
        if self.method == "exact":
            check_square(
                "TSNE with method='exact'", X.shape[0], EXACT_BYTES, "Take 'barnes_hut'",
                self.verbose,
            )  # fmt: skip
            distances, near = all_others(self._matrix(X))
        else:
            distances, near = self._neighbours(X)
        if self.affinities == "uniform":
            if self.method == "exact":
                k = self._n_neighbors(near.shape[1])
                nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
                near = np.take_along_axis(near, nearest, axis=1)
            return joint(near, np.full(near.shape, 1.0 / near.shape[1]))
        began = time.perf_counter()
        squares, factors = single_squares(distances)  # however the distances were got
        del distances
        shares, betas = conditional(squares, self.perplexity, self.n_jobs)
        del squares
        graph = joint(near, shares)
        self._say(f"Mean sigma: {np.mean(np.sqrt(1.0 / betas) / factors):f}")
        self._say(
            f"Computed conditional probabilities in {time.perf_counter() - began:.3f}s", level=2
        )
        return graph

    def _matrix(self, X):
        """All distances, as float64."""
        if self.metric == "precomputed":
            return X.astype(np.float64)
        self._say("Computing pairwise distances...")
        distances = pairwise_distances(
            X, metric=self.metric, n_jobs=self.n_jobs, **(self.metric_params or {})
        )
        if np.any(distances < 0):
            raise ValueError("All distances should be positive, the metric given is not correct")
        return distances.astype(np.float64, copy=False)

    def _search(self, X):
        return NearestNeighbors(
            n_neighbors=self._n_neighbors(X.shape[0] - 1),
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(X)

    def _neighbours(self, X):
        """Distances to the nearest others and their numbers, in the order of the latter."""
        n = X.shape[0]
        self._say(f"Computing {self._n_neighbors(n - 1)} nearest neighbors...")
        began = time.perf_counter()
        search = self._search(X)
        self._say(f"Indexed {n} samples in {time.perf_counter() - began:.3f}s...")
        began = time.perf_counter()
        distances, near = search.kneighbors()
        self._say(f"Computed neighbors for {n} samples in {time.perf_counter() - began:.3f}s...")
        return np.asarray(distances, dtype=np.float64), near.astype(np.int32)

    # ------------------------------------------------------------------ descent

    def _start(self, X):
        n = X.shape[0]
        if isinstance(self.init, np.ndarray):
            if self.init.shape != (n, self.n_components):
                raise ValueError(
                    f"init must have shape {(n, self.n_components)}, got {self.init.shape}"
                )
            return np.array(self.init, dtype=np.float64)
        if self.init == "pca":
            with single_threaded_blas():
                start = principal_start(X, self.n_components)
            spread = np.std(start[:, 0])
            if spread > 0:
                return (start / spread * START_SPREAD).astype(np.float32).astype(np.float64)
        drawn = check_random_state(self.random_state).standard_normal((n, self.n_components))
        return (START_SPREAD * drawn).astype(np.float32).astype(np.float64)

    def _nu(self):
        if self.degrees_of_freedom is not None:
            return float(self.degrees_of_freedom)
        return float(max(self.n_components - 1, 1))

    def _repulsion(self, n):
        kind = self.repulsion
        if kind == "auto":
            if self.method == "exact":
                kind = "pairs"
            elif self.n_components == 2 and self._nu() == 1.0:
                return PlanePairsOrGrid(n, self.n_jobs)
            elif n <= PAIRS_UP_TO:
                kind = "pairs"
            else:
                kind = "grid" if self.n_components <= 2 else "tree"
        if kind == "tree":
            return CellTree(n, self._nu(), self.n_jobs, self.angle)
        return (AllPairs if kind == "pairs" else Potential)(n, self._nu(), self.n_jobs)

    def _descend(self, graph, start, steps):
        """Positions, divergence and the number of the last iteration."""
        objective = Divergence(graph, start, self._nu(), self._repulsion(len(start)), self.n_jobs)
        divergence, last, ended = self._phase(
            objective, 0, EXPLORATION, self.early_exaggeration, 0.5, EXPLORATION, steps
        )
        self._say(
            f"KL divergence after {last + 1} iterations with early exaggeration: {divergence:f}"
        )
        if ended or last + 1 == self.max_iter:
            divergence = objective.value()
        else:
            divergence, last, _ = self._phase(
                objective, last + 1, self.max_iter, 1.0, 0.8, self.n_iter_without_progress, steps
            )
        self._say(f"KL divergence after {last + 1} iterations: {divergence:f}")
        return objective.moving.Y.astype(np.float32), divergence, last

    def _phase(self, objective, first, stop, exaggeration, momentum, patience, steps):
        """Iterations first..stop: (divergence, last iteration, whether a callback ended it)."""
        objective.rest()
        divergence = best = np.finfo(float).max
        best_at = last = first
        began = time.perf_counter()
        for last in range(first, stop):
            step = steps.begin()
            checked = (last + 1) % CHECK_EVERY == 0
            forces = objective.forces()
            if checked or last == stop - 1 or steps.told:
                divergence = objective.value(exaggeration)
            norm = objective.advance(*forces, exaggeration, self.learning_rate_, momentum)
            if step.end(lambda kl=divergence: objective.attributes(kl)):
                return divergence, last, True
            if not checked:
                continue
            self._say(
                f"Iteration {last + 1}: error = {divergence:.7f}, gradient norm = {norm:.7f}"
                f" ({CHECK_EVERY} iterations in {time.perf_counter() - began:0.3f}s)",
                level=2,
            )
            began = time.perf_counter()
            if divergence < best:
                best, best_at = divergence, last
            elif last - best_at > patience:
                self._say(
                    f"Iteration {last + 1}: did not make any progress during the last {patience} "
                    "episodes. Finished.",
                    level=2,
                )
                break
            if norm <= self.min_grad_norm:
                self._say(f"Iteration {last + 1}: gradient norm {norm:f}. Finished.", level=2)
                break
        return divergence, last, False

    # ------------------------------------------------------------------ new rows

    def transform(self, X):
        """Positions of new rows in the embedding, which stays as it is.

        Each row is placed alone, so that a batch gives what its rows give one by one: it minimises
        the divergence of its affinities to the rows learned from the similarities of its position
        to theirs. A row that was learned stands where it was put.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_learned)
            The rows; distances to the rows learned where the metric is "precomputed".

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            The positions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csr"], dtype=FLOATS, reset=False)
        if getattr(self, "_fit_X", None) is None:
            raise ValueError(
                "this TSNE was converted from scikit-learn's, which does not keep the rows of fit "
                "that transform needs"
            )
        n = self._fit_X.shape[0]
        check_fitted(self, "embedding_", self.embedding_, (n, self.n_components))
        search = self._search(self._fit_X)
        k = min(n, self._n_neighbors(n))
        distances, near = search.kneighbors(X, k)
        squares, _ = single_squares(np.asarray(distances, dtype=np.float64))
        if self.affinities == "uniform":
            shares = np.full(squares.shape, 1.0 / k)
        else:
            shares, _ = conditional(squares, min(self.perplexity, 0.999 * k), self.n_jobs)
        placed = self.embedding_[near[:, 0]].astype(np.float32)  # where a learned row stands
        if len(new := np.flatnonzero(squares[:, 0] != 0.0)):
            placed[new] = self._placed(near[new], shares[new])
        return placed

    def _placed(self, near, shares):
        Y = np.ascontiguousarray(self.embedding_, dtype=np.float64)
        n, nu = len(Y), self._nu()
        low, high = Y.min(axis=0) - PLACE_MARGIN, Y.max(axis=0) + PLACE_MARGIN
        grid, potential, work = SplineGrid(0.0, 0.0, 1.0), np.empty((0, 0)), 4.0 * n
        if n > PLACE_PAIRS_UP_TO and self.n_components <= 2:
            field = Potential(n, nu, self.n_jobs)
            field.place(low, high)
            field.solve(Y)
            grid, potential, work = field.grid, np.ascontiguousarray(field.values), 64.0
        learned = newcomers.Learned(kernel_view(Y), nu, grid, kernel_view(potential), low, high)
        out = np.empty((len(near), self.n_components))
        work = PLACE_ITERATIONS * (work + 8.0 * near.shape[1])
        newcomers.place_rows(
            kernel_view(near, np.intp), kernel_view(shares), learned, PLACE_ITERATIONS,
            chunk_rows(len(near), work), out,
            n_threads=effective_n_threads(self.n_jobs, work * len(near)),
        )  # fmt: skip
        return out

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # float32 always, as scikit-learn's
        return tags


class Divergence:
    """KL(P‖Q) as a function of positions, its two forces, and steps down its slope."""

    def __init__(self, graph, start, nu, repulsion, n_jobs):
        n, d = start.shape
        self.graph, self.nu, self.repel = graph, nu, repulsion
        self.inverse_nu = np.float32(1.0 / nu)
        self.factor = 2.0 * (nu + 1.0) / nu
        self.moving = Moving(
            start, start.astype(np.float32), np.zeros_like(start), np.ones_like(start)
        )
        self.rounded = self.moving.rounded.view()
        self.rounded.flags.writeable = False
        self.pull = np.empty((n, d), dtype=np.float32)
        self.push = np.empty((n, d))
        work = 4.0 * len(graph.data) / max(n, 1)
        self.rows, self.threads = chunk_rows(n, work), effective_n_threads(n_jobs, work * n)
        self.partial = np.empty(-(-n // self.rows))
        self.step_rows = chunk_rows(n, 16.0 * d)
        n_chunks = -(-n // self.step_rows)
        self.step_threads = effective_n_threads(n_jobs, 16.0 * d * n)
        self.lows, self.highs = np.empty((2, n_chunks, d))
        self.norms = np.empty(n_chunks)
        self.low, self.high = start.min(axis=0), start.max(axis=0)
        self.mass, self.entropy = _mass_and_entropy(graph.data)
        self.total = 1.0

    def rest(self):
        """Forget steps and gains."""
        self.moving.steps.fill(0.0)
        self.moving.gains.fill(1.0)

    def forces(self):
        """Σ p u (y_i - y_j), and Σ w u (y_i - y_j), of which Σ w is kept."""
        attraction.attract(
            self.graph, self.rounded, self.inverse_nu, self.rows, self.pull,
            n_threads=self.threads,
        )  # fmt: skip
        total = self.repel(self.moving.Y, self.low, self.high, self.push)
        self.total = max(total, np.finfo(float).tiny)
        return self.pull, self.push

    def gradient(self, exaggeration=1.0):
        """The slope of `value` by the positions."""
        pull, push = self.forces()
        return self.factor * (exaggeration * pull - push * (self.mass / self.total))

    def value(self, exaggeration=1.0):
        """Σ p log(p / q) for p times the exaggeration, after `forces`."""
        attraction.log_kernel(
            self.graph, self.rounded, self.nu, self.rows, self.partial, n_threads=self.threads
        )
        logs = 0.5 * (self.nu + 1.0) * self.partial.sum()
        mass = self.mass * (np.log(self.total) + np.log(exaggeration))
        return float(exaggeration * (self.entropy + logs + mass))

    def advance(self, pull, push, exaggeration, step, momentum):
        """Move all rows; return the norm of the gradient times gains."""
        rule = EmbeddingDescent(
            self.factor * exaggeration,
            -self.factor / self.total,
            float(step),
            momentum,
            LEAST_GAIN,
            LONGEST_STEP,
        )
        advance(
            rule, pull, push, self.moving, self.step_rows, self.lows, self.highs, self.norms,
            n_threads=self.step_threads,
        )  # fmt: skip
        norm = float(np.sqrt(self.norms.sum()))
        self.low, self.high = self.lows.min(axis=0), self.highs.max(axis=0)
        return norm

    def attributes(self, divergence):
        """What a copy of the estimator needs to show the state."""
        return {
            "embedding_": self.moving.Y.astype(np.float32),
            "kl_divergence_": divergence,
        }


def _mass_and_entropy(shares):
    """Σ p and Σ p log p, block by block: there are 150 affinities a row."""
    mass = entropy = 0.0
    for begin in range(0, len(shares), ENTROPY_BLOCK):
        block = shares[begin : begin + ENTROPY_BLOCK].astype(np.float64)
        mass += float(block.sum())
        entropy += float(xlogy(block, block).sum())
    return mass, entropy
