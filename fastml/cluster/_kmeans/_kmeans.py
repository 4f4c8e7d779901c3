"""KMeans and k_means."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, gen_batches

from fastml._engines.kmeans.in_blocks import KMeansBlocks
from fastml._engines.kmeans.lloyd import run_starts
from fastml._engines.kmeans.make_rows import make_rows
from fastml._engines.kmeans.once import warn_of_empty_clusters
from fastml._engines.kmeans.scaling import column_means, scaled_tolerance
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import StrOptions, fit_context, validate_params
from fastml._validation import relative_weights
from fastml.cluster._kmeans._base import BaseKMeans
from fastml.kernels.cluster.lloyd import same_partition

LABELS_AT_ONCE = 1 << 16
"""Of two runs, when they are compared."""


class KMeans(CallbackSupport, BaseKMeans):
    """K-means clustering.

    Finds centres :math:`c_1 … c_k` and labels that minimise the inertia
    :math:`\\sum_i w_i \\|x_i - c_{l_i}\\|^2` locally, by Lloyd's iteration: label every row by its
    nearest centre (ties: the lowest index), move every centre to the weighted mean of its rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    init : {'k-means++', 'random', 'random-partition'}, callable or array-like of shape \
            (n_clusters, n_features), default='k-means++'
        Starting centres: greedy k-means++; rows drawn at random; the means of a random partition
        (not in scikit-learn); the centres themselves; or a function of
        ``(X, n_clusters, random_state)`` that returns them.
    n_init : 'auto' or int, default='auto'
        Runs from different starts, of which the one with the least inertia is kept. 'auto' means 1
        for 'k-means++' and arrays, else 10.
    max_iter : int, default=300
        Most iterations of a run.
    tol : float, default=1e-4
        A run stops when the squared moves of the centres sum up to at most ``tol`` times the mean
        variance of the features.
    verbose : int, default=0
        Print the inertia of every iteration.
    random_state : int, RandomState instance or None, default=None
        Randomness of the starting centres; drawn from as scikit-learn does.
    copy_x : bool, default=True
        For compatibility: ``X`` is never modified.
    algorithm : {'lloyd', 'elkan', 'auto'}, default='lloyd'
        All give the same labels. 'lloyd' and 'auto' choose by shape between plain tiles and
        bounds that let most rows be skipped; 'elkan' always uses bounds.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of every row.
    inertia_ : float
        Weighted sum of squared distances of the rows to their centres.
    n_iter_ : int
        Iterations of the run that was kept.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    S. Lloyd, "Least squares quantization in PCM", IEEE Trans. Information Theory 28 (1982).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import KMeans
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> kmeans = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> kmeans.labels_
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> kmeans.predict([[0, 0], [12, 3]])
    array([1, 0], dtype=int32)
    >>> kmeans.cluster_centers_
    array([[10.,  2.],
           [ 1.,  2.]])
    """

    _parameter_constraints: dict = {
        **BaseKMeans._parameter_constraints,
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan", "auto"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init="k-means++",
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="lloyd",
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows to cluster.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; they count in the starting centres too, unless those are given.

        Returns
        -------
        self : object
        """
        X = self._validate(X)
        self._check_params_vs_input(X, default_n_init=10)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
                stacklevel=2,
            )
        random_state = check_random_state(self.random_state)
        weights, unit = relative_weights(sample_weight, X, dtype=X.dtype)
        init = self._check_init(X)
        shift = None if sp.issparse(X) else column_means(X)
        if shift is not None and isinstance(init, np.ndarray):
            init -= shift
        rows = make_rows(X, weights, shift, self.n_jobs)
        tol = scaled_tolerance(X, self.tol, shift)

        best = None
        smallest_label = np.min_scalar_type(self.n_clusters)
        at_once = min(self._n_init, rows.runs_at_once(self.n_clusters, self.algorithm))
        with fit_steps(self, self._n_init, X) as steps:
            if self.verbose or steps.told:  # they report one after the other
                at_once = 1
            for first in range(0, self._n_init, at_once):
                starts = [
                    self._initial_centers(rows, init, self.n_clusters, random_state)
                    for _ in range(first, min(first + at_once, self._n_init))
                ]
                if self.verbose:
                    print("Initialization complete")  # noqa: T201
                own = steps.begin("start", self.max_iter)
                for run in run_starts(
                    rows,
                    np.stack(starts),
                    max_iter=self.max_iter,
                    tol=tol,
                    algorithm=self.algorithm,
                    verbose=self.verbose,
                    steps=own if steps.told else None,
                ):
                    if best is None or self._is_better(run, best):
                        best = run
                        if self._n_init > 1:  # a small copy: labels are views of those of all runs
                            best = run._replace(labels=run.labels.astype(smallest_label))
                del run
                if own.end():
                    break

        warn_of_empty_clusters(best.labels, self.n_clusters)
        self._X_mean = shift
        self.cluster_centers_ = best.centers if shift is None else best.centers + shift
        self._n_features_out = self.n_clusters
        self.labels_ = best.labels.astype(np.int32, copy=False)
        self.inertia_ = best.inertia * unit
        self.n_iter_ = best.n_iter
        return self

    def _fit_blocks(self, passes):
        r"""As `fit`; 'k-means++' is its form for blocks, k-means\|\| (Bahmani et al., 2012)."""
        shape = SimpleNamespace(
            shape=(passes.n_rows, passes.n_features), dtype=np.dtype(passes.dtype)
        )
        self._check_params_vs_input(shape, default_n_init=10)
        if callable(self.init) or (isinstance(self.init, str) and self.init == "random-partition"):
            raise ValueError("on blocks init must be 'k-means++', 'random' or an array")
        given = self._check_init(shape)
        random_state = check_random_state(self.random_state)
        rows = KMeansBlocks(passes, self.n_clusters)
        best = None
        for _ in range(self._n_init):
            if not isinstance(given, str):
                start = given - rows.shift
            elif given == "k-means++":
                start = rows.seed(random_state)
            else:
                start = rows.draw(self.n_clusters, random_state) - rows.shift
            start = np.ascontiguousarray(start, dtype=passes.dtype)
            found = rows.run(start, self.max_iter, self.tol * rows.mean_variance)
            if best is None or found.inertia < best.inertia:
                best = found
        if best.n_empty:
            warn_of_empty_clusters(np.arange(self.n_clusters - best.n_empty), self.n_clusters)
        self._X_mean = rows.shift
        self.cluster_centers_ = best.centers + rows.shift
        self._n_features_out = self.n_clusters
        self.inertia_, self.n_iter_ = best.inertia, best.n_iter

    def _is_better(self, run, best):
        """Rounding may lower the inertia of one and the same partition: that is no better run."""
        if run.inertia >= best.inertia:
            return False
        mapping = np.full(self.n_clusters, -1, dtype=np.int32)
        return not all(
            same_partition(run.labels[block], best.labels[block].astype(np.int32), mapping)
            for block in gen_batches(len(run.labels), LABELS_AT_ONCE)
        )


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "sample_weight": ["array-like", None],
        "return_n_iter": [bool],
    },
    prefer_skip_nested_validation=False,
)
def k_means(
    X,
    n_clusters,
    *,
    sample_weight=None,
    init="k-means++",
    n_init="auto",
    max_iter=300,
    verbose=False,
    tol=1e-4,
    random_state=None,
    copy_x=True,
    algorithm="lloyd",
    return_n_iter=False,
    n_jobs=None,
):
    """K-means clustering as a function; see `KMeans`, whose parameters it takes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows to cluster.
    n_clusters : int
        The number of clusters.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    init, n_init, max_iter, verbose, tol, random_state, copy_x, algorithm, n_jobs
        As in `KMeans`.
    return_n_iter : bool, default=False
        Whether to return the number of iterations too.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    labels : ndarray of shape (n_samples,)
    inertia : float
    n_iter : int
        Only with ``return_n_iter=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import k_means
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centers, labels, inertia = k_means(X, n_clusters=2, random_state=0)
    >>> labels
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> inertia
    16.0
    """
    fitted = KMeans(
        n_clusters=n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        verbose=verbose,
        tol=tol,
        random_state=random_state,
        copy_x=copy_x,
        algorithm=algorithm,
        n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)
    found = fitted.cluster_centers_, fitted.labels_, fitted.inertia_
    return (*found, fitted.n_iter_) if return_n_iter else found
