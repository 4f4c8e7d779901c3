"""Silhouette coefficients and the Dunn index: what needs the distances of all pairs of rows."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from fastml._engines.distances.names import METRICS
from fastml._engines.labels import Clusters
from fastml._sklearn import Interval, StrOptions, validate_params
from fastml._threads import effective_n_threads
from fastml._validation import check_X_y, kernel_view
from fastml.kernels.scores import silhouette as kernels
from fastml.metrics._clustering._checks import check_number_of_labels

SUMS_BUDGET = 1 << 27
"""Bytes of distance sums (rows x clusters) kept at once; beyond, tiles are visited twice."""
WORK_PER_CALL = 4e9

_METRIC = [StrOptions(set(METRICS) | {"nan_euclidean", "precomputed"}), callable]


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "labels": ["array-like"],
        "metric": _METRIC,
        "sample_size": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def silhouette_score(X, labels, *, metric="euclidean", sample_size=None, random_state=None, **kwds):
    """Mean silhouette coefficient of all rows.

    See `silhouette_samples`. Needs no matrix of distances: memory grows with the number of rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric='precomputed'``.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.
    metric : str or callable, default='euclidean'
        Any metric of `fastml.metrics.pairwise_distances`, or 'precomputed'.
    sample_size : int, default=None
        Take only this many rows, drawn at random.
    random_state : int, RandomState instance or None, default=None
        Randomness of that draw.
    **kwds : optional
        Parameters of the metric, and ``n_jobs``.

    Returns
    -------
    score : float
        Between -1 and 1; the larger, the better.

    Examples
    --------
    >>> from fastml.metrics import silhouette_score
    >>> silhouette_score([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    0.79...
    """
    if sample_size is not None:
        X, labels = check_X_y(X, labels, accept_sparse=["csc", "csr"])
        chosen = check_random_state(random_state).permutation(X.shape[0])[:sample_size]
        labels = labels[chosen]
        X = X[chosen]
        if isinstance(metric, str) and metric == "precomputed":
            X = X[:, chosen]
    return float(np.mean(silhouette_samples(X, labels, metric=metric, **kwds)))


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "labels": ["array-like"],
        "metric": _METRIC,
    },
    prefer_skip_nested_validation=True,
)
def silhouette_samples(X, labels, *, metric="euclidean", **kwds):
    """Silhouette coefficient of every row.

    :math:`s = (b - a) / \\max(a, b)`, where a is the mean distance to the other rows of the own
    cluster (the row itself is left out) and b the mean distance to the rows of the nearest other
    cluster. A row that is alone in its cluster has s = 0.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric='precomputed'``: then with zeros on the diagonal.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.
    metric : str or callable, default='euclidean'
        Any metric of `fastml.metrics.pairwise_distances`, or 'precomputed'.
    **kwds : optional
        Parameters of the metric, and ``n_jobs``.

    Returns
    -------
    coefficients : ndarray of shape (n_samples,)
        Between -1 and 1.

    References
    ----------
    P. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis", J. Computational and Applied Mathematics 20 (1987).

    Examples
    --------
    >>> from fastml.metrics import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    array([0.81..., 0.77..., 0.77..., 0.81...])
    """
    X, labels = check_X_y(X, labels, accept_sparse=["csr"])
    precomputed = isinstance(metric, str) and metric == "precomputed"
    if precomputed:
        _check_diagonal(X)
    clusters = Clusters(labels)
    check_number_of_labels(clusters.n_clusters, X.shape[0])
    n_jobs = kwds.pop("n_jobs", None)
    if precomputed:
        found = _from_blocks(_given_blocks(X, clusters), clusters)
    elif _is_euclidean(X, metric, kwds):
        found = euclidean_coefficients(X, clusters, n_jobs)
    else:
        found = _from_blocks(_blocks(X, clusters, metric, n_jobs, kwds), clusters)
    out = np.empty(X.shape[0], dtype=np.float32 if X.dtype == np.float32 else np.float64)
    out[clusters.order] = found
    return out


def _is_euclidean(X, metric, kwds) -> bool:
    named = isinstance(metric, str) and metric in ("euclidean", "l2")
    return named and not sp.issparse(X) and not set(kwds) - {"working_memory"}


def _check_diagonal(X):
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"Precomputed distances must be a square matrix, got the shape {X.shape}")
    diagonal = np.abs(X.diagonal())
    allowed = np.finfo(X.dtype).eps * 100 if X.dtype.kind == "f" else 0
    if (diagonal > allowed).any():
        raise ValueError(
            "The precomputed distance matrix contains non-zero "
            "elements on the diagonal. Use np.fill_diagonal(X, 0)."
        )


def _sorted_rows(X, clusters) -> tuple[np.ndarray, float]:
    """Rows sorted by label, centred, in float64, padded to an even number of features; and the
    power of two they are divided by, so that no square is too large or too small."""
    n_rows, n_features = X.shape
    rows = np.zeros((n_rows, n_features + n_features % 2))
    rows[:, :n_features] = X[clusters.order]
    rows[:, :n_features] -= rows[:, :n_features].mean(axis=0)
    unit = float(np.ldexp(1.0, np.frexp(np.abs(rows).max())[1] - 1))
    rows /= unit
    return kernel_view(rows), unit


def _tasks(rows, n_jobs) -> tuple[int, int, int]:
    """(number of blocks, blocks per launch, threads) of a pass over half of all pairs."""
    n = rows.shape[0]
    work = 0.5 * n * n * (rows.shape[1] + 4.0)
    n_threads = effective_n_threads(n_jobs, work=work)
    n_blocks = -(-n // kernels.TILE_SIDE)
    return n_blocks, max(n_threads, int(WORK_PER_CALL * n_blocks / (2.0 * work))), n_threads


def euclidean_coefficients(X, clusters: Clusters, n_jobs=None, budget=SUMS_BUDGET) -> np.ndarray:
    """Coefficients of the sorted rows, by tiles; sums take at most ``budget`` bytes."""
    rows, _ = _sorted_rows(X, clusters)
    n_blocks, step, n_threads = _tasks(rows, n_jobs)
    found = np.empty(rows.shape[0])
    arguments = (rows, clusters.sorted_codes, clusters.bounds)
    if rows.shape[0] * clusters.n_clusters * 8 > budget:
        for first in range(0, n_blocks, step):
            last = min(first + step, n_blocks)
            kernels.silhouette_rows(first, last, *arguments, found, n_threads=n_threads)
        return found
    sums = np.zeros((rows.shape[0], clusters.n_clusters))
    kernels.distance_sum_pairs(0, n_blocks, *arguments, sums, n_threads=n_threads)
    for turn in range(1, n_blocks + n_blocks % 2):
        n_tasks = (n_blocks + 1) // 2
        kernels.distance_sum_pairs(turn, n_tasks, *arguments, sums, n_threads=n_threads)
    kernels.coefficients(sums, clusters.sorted_codes, clusters.bounds, found)
    return found


def _blocks(X, clusters, metric, n_jobs, parameters):
    """(first row, distances to all rows), block by block, rows and columns sorted by label."""
    from fastml.metrics.pairwise import pairwise_distances_chunked

    first = 0
    X = X[clusters.order]
    if X.dtype == np.float32:
        X = X.astype(np.float64)
    for block in pairwise_distances_chunked(X, metric=metric, n_jobs=n_jobs, **parameters):
        yield first, block
        first += block.shape[0]


def _given_blocks(D, clusters):
    """The same of a given matrix."""
    from sklearn.utils import gen_batches

    size = max(1, (1 << 23) // D.shape[0])
    for rows in gen_batches(D.shape[0], size):
        block = D[clusters.order[rows]][:, clusters.order]
        yield rows.start, block.toarray() if sp.issparse(block) else block


def _from_blocks(blocks, clusters: Clusters) -> np.ndarray:
    found = np.empty(clusters.order.size)
    for first, block in blocks:
        rows = slice(first, first + block.shape[0])
        sums = np.empty((block.shape[0], clusters.n_clusters))
        distances = kernel_view(block, dtype=np.float64)
        kernels.sums_of_runs(distances, clusters.bounds, sums)
        kernels.coefficients(sums, clusters.sorted_codes[rows], clusters.bounds, found[rows])
    return found


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "labels": ["array-like"],
        "metric": _METRIC,
        "separation": [StrOptions({"single", "centroid"})],
    },
    prefer_skip_nested_validation=True,
)
def dunn_index(X, labels, *, metric="euclidean", separation="single", **kwds):
    """Least separation of two clusters over the largest diameter of one.

    The diameter of a cluster is the largest distance of two of its rows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric='precomputed'``.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.
    metric : str or callable, default='euclidean'
        Any metric of `fastml.metrics.pairwise_distances`, or 'precomputed'.
    separation : {'single', 'centroid'}, default='single'
        Of two clusters: the least distance of two rows (Dunn), or the distance of the means.
    **kwds : optional
        Parameters of the metric, and ``n_jobs``.

    Returns
    -------
    index : float
        The larger, the better; infinite where all diameters are zero.

    References
    ----------
    J. Dunn, "Well-separated clusters and optimal fuzzy partitions", J. Cybernetics 4 (1974).

    Examples
    --------
    >>> from fastml.metrics import dunn_index
    >>> dunn_index([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1])
    2.0
    """
    X, labels = check_X_y(X, labels, accept_sparse=["csr"])
    clusters = Clusters(labels)
    check_number_of_labels(clusters.n_clusters, X.shape[0])
    n_jobs = kwds.pop("n_jobs", None)
    precomputed = isinstance(metric, str) and metric == "precomputed"
    if precomputed:
        _check_diagonal(X)
    if separation == "centroid" and (precomputed or sp.issparse(X)):
        raise ValueError("separation='centroid' needs dense rows, not distances or sparse rows")
    if _is_euclidean(X, metric, kwds):
        between, within = _euclidean_extremes(X, clusters, n_jobs)
    else:
        blocks = (
            _given_blocks(X, clusters)
            if precomputed
            else _blocks(X, clusters, metric, n_jobs, kwds)
        )
        between, within = _extremes_of_blocks(blocks, clusters)
    if separation == "centroid":
        from fastml.metrics.pairwise import pairwise_distances

        means = clusters.means(clusters.sort(X))
        distances = pairwise_distances(means, metric=metric, n_jobs=n_jobs, **kwds)
        between = distances[np.triu_indices_from(distances, 1)].min()
    return float(between / within) if within > 0 else float("inf")


def _euclidean_extremes(X, clusters, n_jobs) -> tuple[float, float]:
    rows, unit = _sorted_rows(X, clusters)
    n_blocks, step, n_threads = _tasks(rows, n_jobs)
    found = np.tile([np.inf, 0.0], (n_blocks, 1))
    for first in range(0, n_blocks, step):
        last = min(first + step, n_blocks)
        kernels.extremes(first, last, rows, clusters.sorted_codes, found, n_threads=n_threads)
    return unit * found[:, 0].min(), unit * found[:, 1].max()


def _extremes_of_blocks(blocks, clusters) -> tuple[float, float]:
    between, within = np.inf, 0.0
    for first, block in blocks:
        own = clusters.sorted_codes[first : first + block.shape[0], None] == clusters.sorted_codes
        within = max(within, np.max(block, where=own, initial=0.0))
        between = min(between, np.min(block, where=~own, initial=np.inf))
    return between, within
