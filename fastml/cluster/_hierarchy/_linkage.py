"""linkage: SciPy's function on kernels of our own, and what it shares with the estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastml._engines.distances.named import callable_matrix, is_compiled
from fastml._engines.distances.names import METRICS
from fastml._progress import current_steps, told
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view, lookup
from fastml.kernels.cluster import linkage as agglomeration
from fastml.kernels.cluster import mst, ward_chain
from fastml.kernels.cluster.linkage import ClusterSlots
from fastml.kernels.distances.metrics import (
    CHEBYSHEV,
    CUBIC,
    EUCLIDEAN,
    MAHALANOBIS,
    MANHATTAN,
    QUARTIC,
    SQEUCLIDEAN,
)

if TYPE_CHECKING:
    from fastml._engines.search.metric import Metric

METHODS = {
    "single": agglomeration.SINGLE,
    "complete": agglomeration.COMPLETE,
    "average": agglomeration.AVERAGE,
    "weighted": agglomeration.WEIGHTED,
    "ward": agglomeration.WARD,
    "centroid": agglomeration.CENTROID,
    "median": agglomeration.MEDIAN,
}
OF_MEANS = ("ward", "centroid", "median")
"""Methods that are defined by Euclidean distances, and work on their squares."""

PARAMETERS = {"minkowski": {"p", "w"}, "seuclidean": {"V"}, "mahalanobis": {"VI"}}
"""What the kernels of a metric take."""

POWER_OF_GAPS = {EUCLIDEAN: 2, SQEUCLIDEAN: 2, MANHATTAN: 1, CHEBYSHEV: 1, CUBIC: 3, QUARTIC: 4}
"""Metrics of `kernels.distances.pairwise.gap_tiles`, and what they sum up."""

ENTRIES_PER_CALL = 200_000_000
"""Matrix entries that a kernel reads before it returns to Python (about half a second)."""

MERGES_PER_CALL = ENTRIES_PER_CALL // 25
"""The same of a matrix that merges write to: down a column, every entry is another page."""


ENTRIES_PER_PAGE = 512
PAGES_AT_ONCE = 1 << 24

TILE_WORK = 4e9
"""Multiply-adds for distances between returns to Python, in at most 512 tiles of new memory."""


def _new_slots(n: int) -> tuple[ClusterSlots, NDArray, NDArray, NDArray, NDArray]:
    """n clusters of one point: slots, state, and room for moves, merges and heights."""
    slots = ClusterSlots(
        sizes=np.ones(n),
        blocked=np.zeros(n),
        leaf=np.arange(n, dtype=np.intp),
        near=np.zeros(n, dtype=np.intp),
        near_distance=np.zeros(n),
        seen=np.full(n, -1, dtype=np.intp),
        born=np.zeros(n, dtype=np.intp),
        chain=np.zeros(n + 1, dtype=np.intp),
    )
    state = np.array([n, n, 0, 0, 0], dtype=np.intp)
    return (
        slots,
        state,
        np.empty(n, dtype=np.intp),
        np.empty((n - 1, 2), dtype=np.intp),
        np.empty(n - 1),
    )


def square_distances(X: NDArray, metric: Metric, n_jobs=None) -> NDArray:
    """All distances between the rows of X as a square float64 matrix."""
    from fastml.kernels.distances import pairwise

    n = X.shape[0]
    code, p, v = metric
    rows = kernel_view(X, np.float64)
    out = np.empty((n, n))
    _touch(out)
    by_gaps = code in POWER_OF_GAPS
    if by_gaps:
        check_extent(X, code)
    size = 128 if by_gaps else 64
    across = -(-n // size)
    n_tiles = across * (across + 1) // 2
    n_threads = effective_n_threads(n_jobs, work=0.5 * n * n * X.shape[1])
    per_pair = 4.0 + X.shape[1] * (X.shape[1] if code == MAHALANOBIS else 1)
    step = max(2, min(512, int(TILE_WORK / (size * size * per_pair))))
    for first in told("distances", range(0, n_tiles, step)):
        last = min(first + step, n_tiles)
        if by_gaps:
            pairwise.gap_tiles(
                first, last, size, code, rows, rows, 0.0, True, out, n_threads=n_threads
            )
        else:
            pairwise.row_tiles(
                first, last, size, code, rows, rows, p, v, 0.0, True, out, n_threads=n_threads
            )
    if not by_gaps:
        check_finite(out)
    return out


def _touch(out: NDArray) -> None:
    """Have the system give all pages of new memory, which takes a second for two gigabytes.

    Tiles write down columns: the first of them alone would make it give all.
    """
    flat = out.reshape(-1)
    for start in range(0, flat.size, PAGES_AT_ONCE):
        flat[start : start + PAGES_AT_ONCE : ENTRIES_PER_PAGE] = 0.0


def check_finite(D: NDArray) -> None:
    """Merges are undefined for NaN (the correlation with a constant row, say) and infinity."""
    if not np.isfinite(D).all():
        raise ValueError("the distance matrix must contain only finite values")


def check_extent(X: NDArray, code: int, times: int = 1) -> None:
    """`check_finite` of ``times`` the largest sum over gaps there can be, without a matrix."""
    with np.errstate(over="ignore", invalid="ignore"):
        extent = X.max(axis=0).astype(np.float64) - X.min(axis=0)
        check_finite(times * (extent ** POWER_OF_GAPS[code]).sum())


def merge_by_matrix(D: NDArray, n: int, method: str) -> tuple[NDArray, NDArray]:
    """Merges (pairs of leaves) and heights; overwrites D, square or condensed."""
    square = D.ndim == 2
    flat = D.reshape(-1)
    if method == "single":
        return _prim_on_matrix(flat, square, n)
    if method in OF_MEANS:
        with np.errstate(over="ignore"):
            np.multiply(flat, flat, out=flat)
            check_finite(n * flat.max(initial=0.0))
    slots, state, moved, merges, heights = _new_slots(n)
    rows = np.empty((2, n))
    steps = agglomeration.chain_merges
    if method in ("centroid", "median"):
        steps = agglomeration.closest_merges
    code = METHODS[method]
    bits = rows.view(np.int64)
    budget = MERGES_PER_CALL
    while state[agglomeration.N_ACTIVE] > 1:
        step = current_steps().begin("merges")
        steps(flat, square, code, slots, state, rows, bits, moved, merges, heights, budget)
        step.end()
    return merges, np.sqrt(heights) if method in OF_MEANS else heights


def merge_by_ward(X: NDArray, n_jobs=None) -> tuple[NDArray, NDArray]:
    """Ward's merges and heights from the rows themselves, without a distance matrix."""
    n, d = X.shape
    slots, state, moved, merges, heights = _new_slots(n)
    panel = np.array(X.T, dtype=np.float64, order="C")
    slots.near_distance.fill(np.inf)
    slots.seen.fill(0)
    n_rows = min(64, chunk_rows(n, n * d))
    n_threads = effective_n_threads(n_jobs, work=float(n) * n * d)
    per_call = max(64, ENTRIES_PER_CALL // n)
    for first in told("neighbours", range(0, n, per_call)):
        ward_chain.nearest_of_all(
            first,
            min(first + per_call, n),
            n_rows,
            panel,
            slots.sizes,
            slots.blocked,
            slots.near,
            slots.near_distance,
            n_threads=n_threads,
        )
    budget = max(1, 10 * ENTRIES_PER_CALL // (d + 10))
    while state[agglomeration.N_ACTIVE] > 1:
        step = current_steps().begin("merges")
        ward_chain.ward_merges(panel, slots, state, moved, merges, heights, budget)
        step.end()
    return merges, np.sqrt(heights)


def merge_by_prim(X: NDArray, code: int, n_jobs=None) -> tuple[NDArray, NDArray]:
    """Single linkage from the rows, for metrics up to `mst.LAST_PANEL_METRIC`."""
    n, d = X.shape
    panel = np.array(X.T[:, 1:], dtype=np.float64, order="C")
    index = np.arange(1, n, dtype=np.intp)
    best = np.full(n - 1, np.inf)
    bits = best.view(np.int64)
    point = np.array(X[0], dtype=np.float64)
    visited = np.zeros(n, dtype=np.intp)
    heights = np.empty(n - 1, dtype=np.int64)
    columns = chunk_rows(n, d)
    n_blocks = max(1, -(-columns // mst.COLUMNS_PER_BLOCK))
    n_chunks = -(-n // (n_blocks * mst.COLUMNS_PER_BLOCK))
    smallest, where = np.empty(n_chunks, dtype=np.int64), np.empty(n_chunks, dtype=np.intp)
    width, done = n - 1, 0
    while width:
        n_steps = min(width, max(1, width // 5, 64), max(1, ENTRIES_PER_CALL // (width * d)))
        slots = np.empty((n_steps, 2), dtype=np.int64)
        n_threads = effective_n_threads(n_jobs, work=float(width) * d)
        step = current_steps().begin("merges")
        mst.panel_steps(
            n_steps,
            n_blocks,
            code,
            panel,
            width,
            point,
            best,
            bits,
            smallest,
            where,
            slots,
            n_threads=n_threads,
        )
        visited[done + 1 : done + 1 + n_steps] = index[slots[:, 0]]
        heights[done : done + n_steps] = slots[:, 1]
        done += n_steps
        width = mst.close_gaps(panel, index, bits, width)
        step.end()
    distances = heights.view(np.float64)
    if code == EUCLIDEAN:
        distances = np.sqrt(distances)
    return np.column_stack([visited[:-1], visited[1:]]), distances


def _prim_on_matrix(flat: NDArray, square: bool, n: int) -> tuple[NDArray, NDArray]:
    """Single linkage from stored distances, square or condensed."""
    best = np.full(n, np.inf)
    bits = best.view(np.int64)
    bits[0] = mst.IN_TREE
    row, blocked = np.empty(n), np.zeros(n)
    slots = np.empty((n - 1, 2), dtype=np.int64)
    per_call = max(1, ENTRIES_PER_CALL // n)
    vertex = 0
    for first in told("merges", range(0, n - 1, per_call)):
        n_steps = min(per_call, n - 1 - first)
        vertex = mst.matrix_steps(
            n_steps, flat, square, vertex, best, bits, row, blocked, slots[first:]
        )
    visited = np.concatenate([[0], slots[:, 0]])
    heights = np.ascontiguousarray(slots[:, 1]).view(np.float64)
    return np.column_stack([visited[:-1], visited[1:]]), heights


def linkage_matrix(
    merges: NDArray, heights: NDArray, method: str, smaller_first: bool = True
) -> NDArray:
    """SciPy's linkage matrix: merges by rising height, clusters numbered as they form."""
    n = heights.shape[0] + 1
    Z = np.empty((n - 1, 4))
    scratch = np.empty((3, n), dtype=np.intp)
    if method in ("centroid", "median"):  # heights may fall: keep the order of the merges
        order = np.arange(n - 1)
    else:
        order = np.argsort(heights, kind="stable")
    merges = np.ascontiguousarray(merges, dtype=np.intp)
    agglomeration.label_merges(merges, heights, order, smaller_first, *scratch, Z)
    return Z


def metric_of_rows(name: str, params: dict, X: NDArray, codes: dict[str, int]) -> Metric:
    """The kernel arguments of a metric that may be unknown, or not for such rows."""
    from fastml._engines.search.metric import check_haversine, resolve_metric

    lookup(codes, name, "metric")
    metric = resolve_metric(name, params, X, codes)
    check_haversine(metric.code, X.shape[1])
    return metric


def linkage_of_rows(
    X: NDArray, method: str, metric: Metric, n_jobs=None, *, smaller_first=True
) -> NDArray:
    """Linkage matrix of the rows of X."""
    n = X.shape[0]
    if method == "ward":
        check_extent(X, EUCLIDEAN, times=n)
        return linkage_matrix(*merge_by_ward(X, n_jobs), method)
    if method == "single" and metric.code <= mst.LAST_PANEL_METRIC:
        check_extent(X, metric.code)
        return linkage_matrix(*merge_by_prim(X, metric.code, n_jobs), method, smaller_first)
    D = square_distances(X, metric, n_jobs)
    return linkage_matrix(*merge_by_matrix(D, n, method), method, smaller_first)


def linkage(
    y, method="single", metric="euclidean", optimal_ordering=False, *, n_jobs=None, **metric_params
):
    """Hierarchical clustering as SciPy's linkage matrix.

    Clusters merge in order of rising distance, starting from single rows. The distance
    of the union of A and B to another cluster C is

    ========== ==============================================================================
    single     :math:`\\min(d_{AC}, d_{BC})`
    complete   :math:`\\max(d_{AC}, d_{BC})`
    average    :math:`(|A| d_{AC} + |B| d_{BC}) / (|A| + |B|)`
    weighted   :math:`(d_{AC} + d_{BC}) / 2`
    centroid   the distance of the means
    median     the same, where the mean of a union is the middle of the two means
    ward       :math:`\\sqrt{2|A||B| / (|A|+|B|)}` times the distance of the means
    ========== ==============================================================================

    Single linkage of rows comes from a minimum spanning tree and Ward's from centroids, both in
    memory proportional to the rows; the other methods store the distances.

    Parameters
    ----------
    y : array-like of shape (n_samples, n_features) or (n_samples * (n_samples - 1) / 2,)
        Rows, or their distances as a condensed vector (as from ``scipy.spatial.distance.pdist``).
    method : {'single', 'complete', 'average', 'weighted', 'centroid', 'median', 'ward'}, \
            default='single'
        How clusters are compared. The last three are defined for Euclidean distances only.
    metric : str or callable, default='euclidean'
        Distance of two rows; ignored for a condensed vector. A callable takes two rows; one under
        Numba's ``njit`` runs compiled and in parallel. What fastml has no kernel for is left to
        ``scipy.spatial.distance.pdist``.
    optimal_ordering : bool, default=False
        Reorder the tree so that neighbouring leaves are close (by SciPy; slow).
    n_jobs : int, default=None
        Threads; None means all cores.
    **metric_params
        What the metric needs: ``p``, ``w``, ``V``, ``VI``.

    Returns
    -------
    Z : ndarray of shape (n_samples - 1, 4)
        Row i: the two clusters that merge into cluster n_samples + i, their distance, and the
        number of rows in the union.

    Examples
    --------
    >>> from fastml.cluster import linkage
    >>> linkage([[0.0], [1.0], [5.0], [7.0]], method="average")
    array([[0. , 1. , 1. , 2. ],
           [2. , 3. , 2. , 2. ],
           [4. , 5. , 5.5, 4. ]])
    """
    from scipy.spatial.distance import pdist
    from sklearn.utils import check_array

    lookup(METHODS, method, "method")
    y = check_array(y, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="y")
    if y.ndim == 1:
        n = round((1 + np.sqrt(1 + 8 * y.shape[0])) / 2)
        if n * (n - 1) // 2 != y.shape[0]:
            raise ValueError(
                "y must be a condensed distance matrix of n (n - 1) / 2 entries, "
                f"got {y.shape[0]} entries"
            )
        if (y < 0).any():
            raise ValueError("distances must be non-negative")
        Z = linkage_matrix(*merge_by_matrix(np.array(y), n, method), method)
    elif y.ndim == 2:
        if y.shape[0] < 2:
            raise ValueError(f"linkage needs at least two rows, got {y.shape[0]}")
        if method in OF_MEANS and metric not in ("euclidean", "l2"):
            raise ValueError(
                f"method={method!r} requires the distance metric to be Euclidean, got {metric!r}"
            )
        if is_compiled(metric) and not metric_params:
            D = callable_matrix(metric, y, None, n_jobs=n_jobs)
            check_finite(D)
            Z = linkage_matrix(*merge_by_matrix(D, y.shape[0], method), method)
        elif metric in METRICS and set(metric_params) <= PARAMETERS.get(metric, set()):
            Z = linkage_of_rows(
                y, method, metric_of_rows(metric, metric_params, y, METRICS), n_jobs
            )
        else:
            D = pdist(y, metric, **metric_params)
            check_finite(D)
            Z = linkage_matrix(*merge_by_matrix(D, y.shape[0], method), method)
    else:
        raise ValueError(f"y must be 1 or 2 dimensional, got {y.ndim} dimensions")
    if optimal_ordering:
        from scipy.cluster.hierarchy import optimal_leaf_ordering

        distances = y if y.ndim == 1 else pdist(y, metric, **metric_params)
        Z = optimal_leaf_ordering(Z, distances)
    return Z
