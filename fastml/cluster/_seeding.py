"""Starting centres: k-means++ and the simpler rules."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, validate_params

from fastml._validation import FLOATS, check_weights
from fastml.cluster._rows import DenseRows, Rows, make_rows
from fastml.kernels import kmeans_plusplus as kernels
from fastml.kernels.simd_lloyd import TILE

ROWS_PER_BLOCK = 65_536
ROWS_PER_TICKET = 256  # a divisor of the other
LEAST_FEATURES_FOR_TILES = 8
"""Narrower rows are transposed in every step: a copy would weigh too much beside the data."""


def seed(rows: Rows, n_clusters: int, random_state, n_trials: int | None = None) -> NDArray:
    """Indices of the rows that greedy k-means++ chooses.

    Random numbers are drawn as scikit-learn draws them, so the same state gives the same rows.
    """
    if n_trials is None:
        n_trials = 2 + int(np.log(n_clusters))
    if isinstance(rows, DenseRows):
        steps = SeedingSteps(rows, n_trials)
    else:
        from fastml.cluster._sparse_rows import SparseSeedingSteps

        steps = SparseSeedingSteps(rows, n_trials)
    chosen = np.empty(n_clusters, dtype=np.intp)
    chosen[0] = lottery_of(rows).draw(random_state.random_sample(1))[0]
    potential = steps.start(chosen[0])
    for c in range(1, n_clusters):
        chosen[c], potential = steps.advance(random_state.uniform(size=n_trials) * potential)
    return chosen


class SeedingSteps:
    """Squared distances to the nearest centre so far, and the sampling by them."""

    def __init__(self, rows: Rows, n_trials: int):
        rows.prepare(n_trials)
        self.rows = rows
        self.closest = np.full(rows.n_rows, np.finfo(rows.dtype).max, dtype=rows.dtype)
        # Lowered distances of all candidates are kept where they are small beside the data;
        # otherwise those of the winner are computed again.
        self.keep = 2 * n_trials <= rows.n_features
        self.kept = np.empty((n_trials if self.keep else 0, rows.n_rows), dtype=rows.dtype)
        self.potentials = np.empty((rows.n_chunks, n_trials))
        self.winner = 0
        self._lay_out()

    def _lay_out(self):
        rows = self.rows
        few = rows.n_features < LEAST_FEATURES_FOR_TILES
        self.tiles = pack_tiles(rows.X[:0] if few else rows.X, rows.shift)

    def _visit(self, centers, keep, kept, potentials):
        rows = self.rows
        kernels.seeding_chunks(
            rows.n_chunks,
            rows.rows_per_chunk // TILE,
            rows.X,
            rows.shift,
            self.tiles,
            rows.weights,
            centers,
            self.closest,
            keep,
            kept,
            potentials,
            n_threads=rows.n_threads,
        )

    def start(self, row: int) -> float:
        potentials = np.empty((self.rows.n_chunks, 1))
        self._visit(self.rows.take([row]), True, self.closest[None], potentials)
        self.potentials[:, 0] = potentials[:, 0]
        self.winner = 0
        return float(self.potentials[:, 0].sum())

    def advance(self, values: NDArray) -> tuple[int, float]:
        """Sample a candidate for each value, keep the best: (its row, the new potential)."""
        candidates = sample_rows(
            values,
            self.rows.rows_per_chunk,
            self.closest,
            self.rows.weights,
            self.potentials[:, self.winner],
        )
        centers = self.rows.take(candidates)
        self._visit(centers, self.keep, self.kept, self.potentials)
        totals = np.add.reduce(self.potentials, axis=0)
        self.winner = winner = int(totals.argmin())
        if self.keep:
            self.closest[:] = self.kept[winner]
        else:
            scratch = np.empty((self.rows.n_chunks, 1))
            self._visit(centers[winner : winner + 1], True, self.closest[None], scratch)
        return candidates[winner], totals[winner]


def pack_tiles(X: NDArray, shift: NDArray) -> NDArray:
    """All rows as tiles (tile, dimension, row); unused lanes of the last one are zero."""
    n_rows, n_features = X.shape
    tiles = np.zeros((-(-n_rows // TILE), n_features, TILE), dtype=X.dtype)
    whole = n_rows // TILE
    blocks = X[: whole * TILE].reshape(whole, TILE, n_features)
    np.subtract(blocks.transpose(0, 2, 1), shift[:, None], out=tiles[:whole])
    if rest := n_rows - whole * TILE:
        tiles[whole, :, :rest] = (X[whole * TILE :] - shift).T
    return tiles


def sample_rows(values, rows_per_chunk, closest, weights, potentials) -> NDArray:
    """For each value, the first row at which the running sum of weight × distance reaches it.

    ``potentials`` are the sums of the chunks: only the chunk that holds a value is summed up.
    """
    running = np.cumsum(potentials)
    rows = np.empty(values.shape[0], dtype=np.intp)
    for t, value in enumerate(values):
        chunk = min(int(running.searchsorted(value)), running.shape[0] - 1)
        part = slice(chunk * rows_per_chunk, (chunk + 1) * rows_per_chunk)
        shares = np.multiply(weights[part], closest[part], dtype=np.float64)
        if chunk:
            shares[0] += running[chunk - 1]
        rows[t] = part.start + np.cumsum(shares).searchsorted(value)
    return np.minimum(rows, closest.shape[0] - 1)


class Lottery:
    """Draws rows with probabilities in proportion to their weights.

    What NumPy's ``choice`` does with probabilities, to the bit, but it would make three float64
    arrays as long as the weights. Of the running shares of the weights, every 256th is kept; those
    between are summed up again where a draw falls.
    """

    def __init__(self, weights: NDArray, total=None):
        self.weights = weights
        self.n_positive = np.count_nonzero(weights)
        self.total = weights.sum() if total is None else total
        before = 0.0
        kept = [np.zeros(1)]
        for first in range(0, weights.shape[0], ROWS_PER_BLOCK):
            running = self._shares(slice(first, first + ROWS_PER_BLOCK))
            running[0] += before
            np.cumsum(running, out=running)
            before = running[-1]
            kept.append(running[ROWS_PER_TICKET - 1 :: ROWS_PER_TICKET].copy())
        self.running = np.concatenate(kept)
        self.last = before

    def _shares(self, rows) -> NDArray:
        return (self.weights[rows] / self.total).astype(np.float64)

    def draw(self, u: NDArray) -> NDArray:
        """The rows at which the running share passes each u in [0, 1)."""
        ticket = np.searchsorted(self.running[1:] / self.last, u, side="right")
        rows = ticket[:, None] * ROWS_PER_TICKET + np.arange(ROWS_PER_TICKET)
        n_rows = self.weights.shape[0]
        running = self._shares(np.minimum(rows, n_rows - 1))
        running[rows >= n_rows] = 0.0
        running[:, 0] += self.running[ticket]
        np.cumsum(running, axis=1, out=running)
        return rows[:, 0] + (running / self.last <= u[:, None]).sum(axis=1)


def lottery_of(rows: Rows) -> Lottery:
    """The rows' own, made once: every start draws from it."""
    if rows.lottery is None:
        rows.lottery = Lottery(rows.weights)
    return rows.lottery


def random_rows(rows: Rows, n_clusters: int, random_state) -> NDArray:
    """Forgy's rule."""
    return distinct_rows(lottery_of(rows), n_clusters, random_state)


def distinct_rows(lottery: Lottery, n_clusters: int, random_state) -> NDArray:
    """Distinct rows, drawn in proportion to their weights, as NumPy draws them."""
    if lottery.n_positive < n_clusters:
        raise ValueError(
            f"init='random' needs n_clusters={n_clusters} rows of positive weight, got "
            f"{lottery.n_positive}"
        )
    chosen = np.empty(0, dtype=np.intp)
    while chosen.shape[0] < n_clusters:
        if chosen.shape[0]:  # some were drawn twice: those found are left out from now on
            remaining = lottery.weights.copy()
            remaining[chosen] = 0
            lottery = Lottery(remaining, lottery.total)
        drawn = lottery.draw(random_state.random_sample(n_clusters - chosen.shape[0]))
        first_seen = np.sort(np.unique(drawn, return_index=True)[1])
        chosen = np.concatenate([chosen, drawn[first_seen]])
    return chosen


def random_partition(rows: Rows, n_clusters: int, random_state) -> NDArray:
    """The means of a random partition, in which no part is empty."""
    rows.prepare(n_clusters)
    labels = random_state.randint(0, n_clusters, rows.n_rows).astype(np.int32)
    labels[random_state.permutation(rows.n_rows)[:n_clusters]] = np.arange(n_clusters)
    return rows.means(labels)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "sample_weight": ["array-like", None],
        "x_squared_norms": ["array-like", None],
        "random_state": ["random_state"],
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def kmeans_plusplus(
    X,
    n_clusters,
    *,
    sample_weight=None,
    x_squared_norms=None,
    random_state=None,
    n_local_trials=None,
    n_jobs=None,
):
    """Choose starting centres by greedy k-means++.

    Each further centre is the best of a few candidate rows, which are drawn with probability
    :math:`w_i D_i^2 / \\sum_j w_j D_j^2`, where :math:`D_i` is the distance to the nearest centre
    chosen so far; the best is the one that leaves the least :math:`\\sum_i w_i D_i^2`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows to choose from.
    n_clusters : int
        The number of centres.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; None means equal weights.
    x_squared_norms : array-like of shape (n_samples,), default=None
        Only its length is checked: distances are computed without norms here.
    random_state : int, RandomState instance or None, default=None
        The same state gives the rows that scikit-learn chooses.
    n_local_trials : int, default=None
        Candidates per step; None means ``2 + int(log(n_clusters))``, and 1 is the plain method.
    n_jobs : int, default=None
        Threads; None means all cores.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
        The chosen rows.
    indices : ndarray of shape (n_clusters,)
        Their indices in ``X``.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import kmeans_plusplus
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centers, indices = kmeans_plusplus(X, n_clusters=2, random_state=0)
    >>> centers
    array([[10,  2],
           [ 1,  0]])
    >>> indices
    array([3, 2])
    """
    floats = check_array(X, accept_sparse="csr", dtype=FLOATS, order="C")
    weights = check_weights(sample_weight, floats, dtype=floats.dtype)
    n_samples = floats.shape[0]
    if n_samples < n_clusters:
        raise ValueError(f"n_samples={n_samples} should be >= n_clusters={n_clusters}.")
    if x_squared_norms is not None:
        norms = check_array(x_squared_norms, dtype=floats.dtype, ensure_2d=False)
        if norms.shape[0] != n_samples:
            raise ValueError(
                f"The length of x_squared_norms {norms.shape[0]} should be equal to "
                f"the length of n_samples {n_samples}."
            )
    rows = make_rows(floats, weights, n_jobs=n_jobs)
    indices = seed(rows, n_clusters, check_random_state(random_state), n_local_trials)
    if sp.issparse(X):
        return X.tocsr()[indices].toarray(), indices
    return np.asarray(X)[indices], indices
