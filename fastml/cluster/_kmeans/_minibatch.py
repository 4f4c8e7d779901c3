"""MiniBatchKMeans: centres as running means over random batches."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from types import SimpleNamespace

import numpy as np
from sklearn.utils import check_random_state, gen_batches

from fastml._engines.kmeans.make_rows import make_rows
from fastml._engines.kmeans.rows import KMeansRows
from fastml._engines.kmeans.scaling import scaled_tolerance
from fastml._engines.passes import RowBlock, finite_block
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, fit_context
from fastml._validation import check_fitted, relative_weights
from fastml.cluster._kmeans._base import BaseKMeans
from fastml.kernels.cluster.lloyd import INERTIA, LABELS, SUMS


def block_batch_inertia(block: RowBlock, centers) -> float:
    """Of one block, which may not have been read before: whether it is finite is checked."""
    X = np.ascontiguousarray(finite_block(block).X, dtype=centers.dtype)
    weights = None if block.weights is None else np.array(block.weights, dtype=X.dtype)
    return float(make_rows(X, weights).nearest_and_inertia(centers)[1])


class MiniBatchKMeans(CallbackSupport, BaseKMeans):
    """K-means on random batches of rows.

    A step labels a batch by the nearest centres and moves each centre to the mean of all rows that
    were ever given to it,
    :math:`c \\leftarrow (N c + \\sum_{i \\in B_c} w_i x_i) / (N + \\sum w_i)`.
    Now and then centres with few rows are put on random rows of the batch.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {'k-means++', 'random', 'random-partition'}, callable or array-like of shape \
            (n_clusters, n_features), default='k-means++'
        Starting centres, as in `KMeans`.
    max_iter : int, default=100
        Most passes over the data.
    batch_size : int, default=1024
        Rows in a batch.
    verbose : int, default=0
        Print every step.
    compute_labels : bool, default=True
        Whether to label all rows when done.
    random_state : int, RandomState instance or None, default=None
        Randomness of starts, batches and reassignment.
    tol : float, default=0.0
        Stop when the squared moves of the centres in a step sum up to at most ``tol`` times the
        mean variance of the features; 0 switches that off.
    max_no_improvement : int, default=10
        Stop after this many steps without a better smoothed inertia; None switches that off.
    init_size : int, default=None
        Random rows used for the starting centres; None means three batches, or three times
        ``n_clusters`` if that is more than three batches.
    n_init : 'auto' or int, default='auto'
        Starts tried, of which the best is run. 'auto' means 1 for 'k-means++' and arrays, else 3.
    reassignment_ratio : float, default=0.01
        Centres with less than this share of the heaviest centre's count may be put elsewhere.
    n_jobs : int, default=None
        Threads; None means all cores.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of every row, with ``compute_labels``.
    inertia_ : float
        Weighted sum of squared distances of the rows to their centres; without ``compute_labels``
        an estimate from the batches.
    n_iter_ : int
        Passes over the data.
    n_steps_ : int
        Batches processed.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    D. Sculley, "Web-scale k-means clustering", WWW 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import MiniBatchKMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 0], [4, 4],
    ...               [4, 5], [0, 1], [2, 2], [3, 2], [5, 5], [1, -1]])
    >>> kmeans = MiniBatchKMeans(n_clusters=2, random_state=0, batch_size=6)
    >>> kmeans = kmeans.partial_fit(X[:6]).partial_fit(X[6:])
    >>> kmeans.cluster_centers_
    array([[3.375, 3.  ],
           [0.75 , 0.5 ]])
    >>> kmeans.predict([[0, 0], [4, 4]])
    array([1, 0], dtype=int32)
    """

    _parameter_constraints: dict = {
        **BaseKMeans._parameter_constraints,
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "compute_labels": ["boolean"],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
        "init_size": [Interval(Integral, 1, None, closed="left"), None],
        "reassignment_ratio": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        max_iter=100,
        batch_size=1024,
        verbose=0,
        compute_labels=True,
        random_state=None,
        tol=0.0,
        max_no_improvement=10,
        init_size=None,
        n_init="auto",
        reassignment_ratio=0.01,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.n_jobs = n_jobs

    def _check_params_vs_input(self, X):
        super()._check_params_vs_input(X, default_n_init=3)
        self._batch_size = min(self.batch_size, X.shape[0])
        init_size = self.init_size
        if init_size is None:
            init_size = 3 * self._batch_size
            if init_size < self.n_clusters:
                init_size = 3 * self.n_clusters
        elif init_size < self.n_clusters:
            warnings.warn(
                f"init_size={init_size} should be larger than n_clusters={self.n_clusters}. "
                "Setting it to min(3*n_clusters, n_samples)",
                RuntimeWarning,
                stacklevel=3,
            )
            init_size = 3 * self.n_clusters
        self._init_size = min(init_size, X.shape[0])

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of ``X`` by random batches.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to cluster.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: the probabilities of being drawn into a batch.

        Returns
        -------
        self : object
        """
        X = self._validate(X)
        self._check_params_vs_input(X)
        random_state = check_random_state(self.random_state)
        weights, unit = relative_weights(sample_weight, X, dtype=X.dtype)
        n_samples = X.shape[0]
        centers = self._best_start(X, weights, self._check_init(X), random_state)
        tol = scaled_tolerance(X, self.tol)

        self._counts = np.zeros(self.n_clusters, dtype=X.dtype)
        self._ewa_inertia = None
        self._ewa_inertia_min = None
        self._no_improvement = 0
        self._n_since_last_reassign = 0
        n_steps = (self.max_iter * n_samples) // self._batch_size
        total_weight = weights.sum()
        probabilities = weights / total_weight
        with fit_steps(self, n_steps, X) as steps:
            for step in range(n_steps):
                told = steps.begin("batch")
                batch = random_state.choice(
                    n_samples, self._batch_size, p=probabilities, replace=True
                )
                # Weights decide what is drawn, so they do not count again.
                rows = make_rows(X[batch], n_jobs=self.n_jobs)
                old_centers = centers
                centers, inertia = self._step(rows, centers, random_state, self._random_reassign())
                squared_move = float(((centers - old_centers) ** 2).sum()) if tol > 0.0 else 0.0
                ends = told.end(partial(self._attributes_of, centers))
                if ends or self._has_converged(
                    step, n_steps, n_samples, squared_move, tol, inertia
                ):
                    break

        self.cluster_centers_ = centers
        self._n_features_out = self.n_clusters
        self.n_steps_ = step + 1
        self.n_iter_ = int(np.ceil(((step + 1) * self._batch_size) / n_samples))
        if self.compute_labels:
            rows = make_rows(X, weights, n_jobs=self.n_jobs)
            self.labels_, inertia = rows.nearest_and_inertia(centers)
            self.inertia_ = inertia * unit
        else:
            self.inertia_ = self._ewa_inertia * total_weight * unit
        return self

    _blocks_in_order = True  # one after the other: a single worker may as well do all

    def _fit_blocks(self, passes):
        """Batches are rows of a block, shuffled, block after block."""
        shape = SimpleNamespace(
            shape=(passes.n_rows, passes.n_features), dtype=np.dtype(passes.dtype)
        )
        self._check_params_vs_input(shape)
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        drawn = random_state.choice(passes.n_rows, self._init_size, replace=False)
        X, _, weights = passes.rows_at(np.sort(drawn))
        X = np.ascontiguousarray(X, dtype=shape.dtype)
        weights = np.ones(len(X), X.dtype) if weights is None else weights.astype(X.dtype)
        centers = self._best_start(X, weights, self._check_init(shape), random_state)
        tol = scaled_tolerance(X, self.tol)
        self._counts = np.zeros(self.n_clusters, dtype=X.dtype)
        self._ewa_inertia = self._ewa_inertia_min = None
        self._no_improvement = self._n_since_last_reassign = 0
        n_steps = self.max_iter * passes.n_rows // self._batch_size
        step, ends = 0, False
        for epoch in range(self.max_iter):
            for block in passes.in_order("batches"):
                order = np.random.default_rng([seed, epoch, block.number]).permutation(len(block.X))
                for batch in gen_batches(len(order), self._batch_size):
                    X = np.ascontiguousarray(block.X[order[batch]], dtype=shape.dtype)
                    own = None
                    if block.weights is not None:
                        own = np.asarray(block.weights)[order[batch]].astype(X.dtype)
                    old, rows = centers, make_rows(X, own, n_jobs=self.n_jobs)
                    due = self._random_reassign()
                    centers, inertia = self._step(rows, centers, random_state, due)
                    squared_move = float(((centers - old) ** 2).sum()) if tol > 0.0 else 0.0
                    inertia *= self._batch_size / len(X)
                    ends = self._has_converged(
                        step, n_steps, passes.n_rows, squared_move, tol, inertia
                    )
                    step += 1
                    if ends:
                        break
                if ends:
                    break
            if ends:
                break
        self.cluster_centers_ = centers
        self._n_features_out = self.n_clusters
        self.n_steps_ = step
        self.n_iter_ = int(np.ceil(step * self._batch_size / passes.n_rows))
        self.inertia_ = float(sum(passes.results(block_batch_inertia, centers, name="inertia")))

    def _attributes_of(self, centers) -> dict:
        """What a copy needs to predict."""
        return {"cluster_centers_": centers, "_n_features_out": self.n_clusters}

    def _best_start(self, X, weights, init, random_state):
        """The best of ``n_init`` starting centres by their inertia on random rows."""
        validation = random_state.randint(0, X.shape[0], self._init_size)
        rows = make_rows(X[validation], weights[validation], n_jobs=self.n_jobs)
        best_inertia = best = None
        for attempt in range(self._n_init):
            self._say(f"Init {attempt + 1}/{self._n_init} with method {init}")
            centers = self._init_centroids(
                X, None, init, random_state, weights, init_size=self._init_size
            )
            inertia = rows.nearest_and_inertia(centers)[1]
            self._say(f"Inertia for init {attempt + 1}/{self._n_init}: {inertia}")
            if best_inertia is None or inertia < best_inertia:
                best_inertia, best = inertia, centers
        return best

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """One step on the batch ``X``; the first call chooses the starting centres.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A batch.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of its rows.

        Returns
        -------
        self : object
        """
        started = hasattr(self, "cluster_centers_")
        X = self._validate(X, reset=not started)
        weights, unit = relative_weights(sample_weight, X, dtype=X.dtype)
        if not started:
            self._check_params_vs_input(X)
            init = self._check_init(X)
            self._random_state = check_random_state(self.random_state)
            centers = self._init_centroids(
                X, None, init, self._random_state, weights, init_size=self._init_size
            )
            self._counts = np.zeros(self.n_clusters, dtype=X.dtype)
            self._n_since_last_reassign = 0
        else:
            if not hasattr(self, "_random_state"):
                self._random_state = check_random_state(self.random_state)
            centers = self._centers_for(X)
            check_fitted(self, "_counts", self._counts, (len(centers),))
        rows = make_rows(X, weights, n_jobs=self.n_jobs)
        due = self._random_reassign()
        centers, _ = self._step(rows, centers, self._random_state, due, unit)
        self.cluster_centers_ = centers
        if self.compute_labels:
            self.labels_, inertia = rows.nearest_and_inertia(centers)
            self.inertia_ = inertia * unit
        self.n_steps_ = getattr(self, "n_steps_", 0) + 1
        self._n_features_out = self.n_clusters
        return self

    def _step(self, rows: KMeansRows, centers, random_state, reassign, unit=1.0):
        """Centres after one batch, and the inertia of the batch before; counts are updated.

        The weights of ``rows`` are in ``unit``, a power of two; the counts are not.
        """
        labels = np.full(rows.n_rows, -1, dtype=np.int32)
        rows.prepare(self.n_clusters)
        rows.set_centers(centers[None])
        rows.visit(LABELS | SUMS | INERTIA, centers[None], labels[None])
        rows.merge()
        batch_sums, batch_masses = rows.total_sums[0], rows.total_masses[0]
        counts = self._counts
        old = counts.astype(np.float64) / unit
        new = old + batch_masses
        hit = batch_masses > 0
        moved = centers.copy()
        sums = centers[hit] * old[hit, None] + batch_sums[hit]
        moved[hit] = sums / new[hit, None]
        counts[hit] = new[hit] * unit
        if reassign and self.reassignment_ratio > 0:
            self._reassign(rows, moved, random_state)
        return moved, float(rows.statistics.inertia.sum())

    def _reassign(self, rows: KMeansRows, centers, random_state):
        """Put centres with few rows on random rows of the batch, at most half as many as it has."""
        counts = self._counts
        light = counts < self.reassignment_ratio * counts.max()
        if light.sum() > 0.5 * rows.n_rows:
            light[np.argsort(counts)[int(0.5 * rows.n_rows) :]] = False
        n_light = light.sum()
        if n_light:
            picked = random_state.choice(rows.n_rows, replace=False, size=n_light)
            self._say(f"[MiniBatchKMeans] Reassigning {n_light} cluster centers.")
            centers[light] = rows.take(picked)
        # The least count of the others: enough not to be reassigned again at once.
        counts[light] = np.min(counts[~light])

    def _random_reassign(self):
        """Whether it is time: a centre is empty, or 10 rows per centre were seen since the last."""
        self._n_since_last_reassign += self._batch_size
        due = self._n_since_last_reassign >= 10 * self.n_clusters
        if (self._counts == 0).any() or due:
            self._n_since_last_reassign = 0
            return True
        return False

    def _has_converged(self, step, n_steps, n_samples, squared_move, tol, inertia):
        """Whether to stop, from the exponentially smoothed inertia of the batches."""
        inertia /= self._batch_size
        step += 1
        progress = f"Minibatch step {step}/{n_steps}: mean batch inertia: {inertia}"
        if step == 1:  # that is the inertia of the start
            self._say(progress)
            return False
        if self._ewa_inertia is None:
            self._ewa_inertia = inertia
        else:
            alpha = min(self._batch_size * 2.0 / (n_samples + 1), 1)
            self._ewa_inertia = self._ewa_inertia * (1 - alpha) + inertia * alpha
        self._say(f"{progress}, ewa inertia: {self._ewa_inertia}")
        if tol > 0.0 and squared_move <= tol:
            self._say(f"Converged (small centers change) at step {step}/{n_steps}")
            return True
        if self._ewa_inertia_min is None or self._ewa_inertia < self._ewa_inertia_min:
            self._no_improvement = 0
            self._ewa_inertia_min = self._ewa_inertia
        else:
            self._no_improvement += 1
        limit = self.max_no_improvement
        if limit is not None and self._no_improvement >= limit:
            self._say(f"Converged (lack of improvement in inertia) at step {step}/{n_steps}")
            return True
        return False

    def _say(self, message):
        if self.verbose:
            print(message)  # noqa: T201
