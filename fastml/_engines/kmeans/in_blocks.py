"""k-means of rows in blocks: scalable seeding, Lloyd's passes, empty clusters.

What a block's bounds know from one pass helps in the next (`kernels.cluster.hamerly`), and sums are
the same to the bit without them: so they are kept where there is room, and made anew elsewhere.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.columns import ColumnMoments, moments
from fastml._engines.kmeans.centers import finish_centers
from fastml._engines.kmeans.lloyd import run_kmeans
from fastml._engines.kmeans.rows import DenseRows
from fastml._engines.kmeans.seeding import seed
from fastml._engines.passes import Passes, RowBlock, refuse_nan

ROUNDS, OVERSAMPLING = 2, 2
"""Of the seeding: rounds, and rows drawn in each over clusters."""

CANDIDATE_STEPS = 30
FITS_REMEMBERED = 4
BYTES_PER_ROW = 40
"""Of labels and bounds that are kept."""


class KMeansFound(NamedTuple):
    """Centres less the shift, their inertia, steps, and clusters without rows."""

    centers: NDArray
    inertia: float
    n_iter: int
    n_empty: int


# ---------------------------------------------------------------------------- what a block tells


def block_column_moments(block: RowBlock) -> ColumnMoments:
    """Without weights."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = moments(block.X)
    if (found.counts != len(block.X)).any() or not np.isfinite(found.squares).all():
        refuse_nan(block)
    return found


def _rows(block: RowBlock, shift: NDArray) -> DenseRows:
    return DenseRows(block.X, block.weights, shift)


def block_weight_sum(block: RowBlock) -> float:
    return float(len(block.X)) if block.weights is None else float(block.weights.sum())


def block_drawn(block: RowBlock, wanted: dict[int, NDArray]) -> NDArray:
    """Rows at which the running sum of the weights passes each of the values wanted of it."""
    values = wanted.get(block.number)
    if values is None:
        return block.X[:0]
    weights = np.ones(len(block.X)) if block.weights is None else block.weights
    places = np.searchsorted(np.cumsum(weights), values, side="right")
    return np.asarray(block.X[np.minimum(places, len(block.X) - 1)])


def block_race(block: RowBlock, shift, centers, key: tuple[int, int], n_wanted: int):
    """(times, rows) of the first to arrive: those far from all centres are likely among them.

    Row i arrives after an exponential time of rate weight · squared distance: the first of all are
    a sample without replacement in proportion to these.
    """
    rows = _rows(block, shift)
    labels = rows.nearest(centers)
    shares = rows.distances_to_own_center(centers, labels).astype(np.float64)
    if block.weights is not None:
        shares *= block.weights
    draws = np.random.default_rng([*key, block.number]).random(len(shares))
    times = np.full(len(shares), np.inf)
    np.divide(-np.log1p(-draws), shares, out=times, where=shares > 0.0)
    first = np.argsort(times, kind="stable")[:n_wanted]
    first = first[np.isfinite(times[first])]
    return times[first], np.asarray(block.X[first])


def first_of_both(n_wanted: int, a, b):
    times, rows = (np.concatenate(both) for both in zip(a, b))
    first = np.argsort(times, kind="stable")[:n_wanted]
    return times[first], rows[first]


def block_masses(block: RowBlock, shift, centers) -> NDArray:
    """Weights of the rows nearest to each centre."""
    labels = _rows(block, shift).nearest(centers)
    return np.bincount(labels, weights=block.weights, minlength=len(centers)).astype(np.float64)


def block_sums(block: RowBlock, token: str, shift, centers) -> tuple[NDArray, NDArray]:
    """(sums of rows less the shift, weights) of every cluster."""
    known = _memory.get(token, block.number)
    if known is None:
        rows = _rows(block, shift)
        rows.prepare(len(centers))
        rows.begin_runs("lloyd")
        labels = np.full((1, len(block.X)), -1, dtype=np.int32)
    else:
        rows, labels, old = known
        step = np.subtract(centers, old, dtype=np.float64)
        np.sqrt(np.einsum("jd,jd->j", step, step), out=rows.moves[0])
    rows.set_centers(centers[None])
    rows.lloyd_pass(centers[None], labels)
    rows.merge()
    if rows.bounded:
        _memory.keep(token, block.number, (rows, labels, centers), len(block.X))
    return rows.total_sums[0].copy(), rows.total_masses[0].copy()


def block_inertia(block: RowBlock, shift, centers) -> tuple[float, NDArray]:
    rows = _rows(block, shift)
    labels, inertia = rows.nearest_and_inertia(centers)
    return inertia, np.bincount(labels, weights=block.weights, minlength=len(centers))


def block_farthest(block: RowBlock, shift, centers, n_wanted: int):
    """(squared distances, rows less the shift, weights, labels) of those farthest from a centre."""
    rows = _rows(block, shift)
    labels = rows.nearest(centers)
    distances = rows.distances_to_own_center(centers, labels).astype(np.float64)
    last = np.argsort(-distances, kind="stable")[:n_wanted]
    return distances[last], rows.take(last).astype(np.float64), rows.weights[last], labels[last]


def farthest_of_both(n_wanted: int, a, b):
    joined = [np.concatenate(both) for both in zip(a, b)]
    last = np.argsort(-joined[0], kind="stable")[:n_wanted]
    return tuple(part[last] for part in joined)


class _Memory:
    """Bounds of blocks by fit, in the process that works on them; the oldest fits are forgotten."""

    def __init__(self):
        self.lock = threading.Lock()
        self.fits: OrderedDict[str, dict] = OrderedDict()

    def get(self, token: str, number: int):
        with self.lock:
            return self.fits.get(token, {}).get(number)

    def keep(self, token: str, number: int, state, n_rows: int) -> None:
        from sklearn import get_config

        with self.lock:
            fit = self.fits.setdefault(token, {})
            room = get_config()["working_memory"] * (1 << 20)
            if number in fit or (len(fit) + 1) * n_rows * BYTES_PER_ROW <= room:
                fit[number] = state
            while len(self.fits) > FITS_REMEMBERED:
                self.fits.popitem(last=False)

    def forget(self, token: str) -> None:
        with self.lock:
            self.fits.pop(token, None)


_memory = _Memory()


# ---------------------------------------------------------------------------- the fit


class KMeansBlocks:
    """k-means of the rows of some passes; centres are given and returned less the shift."""

    def __init__(self, passes: Passes, n_clusters: int):
        self.passes, self.n_clusters = passes, n_clusters
        found = passes.reduced(block_column_moments, ColumnMoments.merged, name="means")
        self.shift = found.means.astype(passes.dtype)
        self.mean_variance = float(np.mean(found.variances))

    def seed(self, random_state) -> NDArray:
        """k-means|| (Bahmani et al., 2012) by races, then k-means++ among the candidates."""
        key = int(random_state.randint(np.iinfo(np.int32).max))
        n_wanted = OVERSAMPLING * self.n_clusters
        found = self.draw(1, random_state)
        for number in range(ROUNDS):
            centers = np.ascontiguousarray(found - self.shift)
            race = self.passes.reduced(
                block_race, _Partly(first_of_both, n_wanted), self.shift, centers, (key, number),
                n_wanted, name="seeding",
            )  # fmt: skip
            found = np.concatenate([found, race[1]])
        if len(found) <= self.n_clusters:
            return self._filled(found, random_state)
        candidates = np.ascontiguousarray(found - self.shift)
        masses = self.passes.reduced(
            block_masses, np.add, self.shift, candidates, name="candidates"
        )
        rows = DenseRows(candidates, masses)
        start = rows.take(seed(rows, self.n_clusters, random_state))
        options = {"max_iter": CANDIDATE_STEPS, "tol": 0.0, "algorithm": "lloyd"}
        return run_kmeans(rows, start, **options).centers

    def _filled(self, found, random_state) -> NDArray:
        """Fewer distinct rows than clusters: some stand for several."""
        more = self.draw(self.n_clusters - len(found), random_state)
        return np.ascontiguousarray(np.concatenate([found, more]) - self.shift)

    def draw(self, n_wanted: int, random_state) -> NDArray:
        """Rows in proportion to their weights, with replacement; not shifted."""
        if not n_wanted:
            return np.empty((0, self.passes.n_features), dtype=self.passes.dtype)
        sums = np.array(list(self.passes.results(block_weight_sum, name="weights")))
        ends = np.cumsum(sums)
        values = np.sort(random_state.random_sample(n_wanted)) * ends[-1]
        numbers = np.minimum(np.searchsorted(ends, values, side="right"), len(ends) - 1)
        wanted = {int(b): values[numbers == b] - (ends[b] - sums[b]) for b in np.unique(numbers)}
        rows = self.passes.results(block_drawn, wanted, name="draws")
        return np.concatenate(list(rows))

    def run(self, centers: NDArray, max_iter: int, tol: float) -> KMeansFound:
        """Lloyd's steps from ``centers`` until their squared moves sum up to at most ``tol``."""
        token = uuid.uuid4().hex
        moves = np.zeros((1, self.n_clusters))
        n_iter, moved = 0, np.array([np.inf])
        try:
            while n_iter < max_iter and not moved[0] <= tol:
                n_iter += 1
                sums, masses = self.passes.reduced(
                    block_sums, _both_sums, token, self.shift, centers, name="k-means"
                )
                if not masses.all():
                    self._relocate(sums, masses, centers)
                new = np.empty_like(centers)
                moved = finish_centers(sums[None], masses[None], centers[None], new[None], moves)
                centers = new
        finally:
            _memory.forget(token)
        inertia, masses = self.passes.reduced(
            block_inertia, _both_sums, self.shift, centers, name="inertia"
        )
        return KMeansFound(centers, float(inertia), n_iter, int((masses == 0).sum()))

    def _relocate(self, sums, masses, centers) -> None:
        """scikit-learn's rule: an empty cluster takes the row farthest from its centre."""
        empty = np.flatnonzero(masses == 0.0)
        distances, rows, weights, labels = self.passes.reduced(
            block_farthest, _Partly(farthest_of_both, len(empty)), self.shift, centers, len(empty),
            name="empty clusters",
        )  # fmt: skip
        doubles = np.finfo(np.float64).eps
        rounding = 4 * np.finfo(centers.dtype).eps + 8 * np.sqrt(self.passes.n_rows) * doubles
        if distances.max() <= rounding**2 * np.einsum("jd,jd->j", centers, centers).max():
            return
        for j, row, weight, label in zip(empty, rows, weights, labels):
            sums[label] -= row * weight
            sums[j] = row * weight
            masses[j] = weight
            masses[label] -= weight


class _Partly:
    """A merge with a number in front."""

    def __init__(self, function, number: int):
        self.function, self.number = function, number

    def __call__(self, a, b):
        return self.function(self.number, a, b)


def _both_sums(a, b):
    return a[0] + b[0], a[1] + b[1]
