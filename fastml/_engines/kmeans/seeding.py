"""Starting centres: k-means++ and the simpler rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.kmeans.rows import KMeansRows

ROWS_PER_BLOCK = 65_536
ROWS_PER_SHARE = 256  # divides ROWS_PER_BLOCK


def seed(rows: KMeansRows, n_clusters: int, random_state, n_trials: int | None = None) -> NDArray:
    """Indices of the rows that greedy k-means++ chooses.

    Random numbers are drawn as scikit-learn draws them, so the same state gives the same rows.
    """
    if n_trials is None:
        n_trials = 2 + int(np.log(n_clusters))
    steps = SeedingSteps(rows, n_trials)
    chosen = np.empty(n_clusters, dtype=np.intp)
    chosen[0] = sampler_of(rows).draw(random_state.random_sample(1))[0]
    potential = steps.start(chosen[0])
    for c in range(1, n_clusters):
        chosen[c], potential = steps.advance(random_state.uniform(size=n_trials) * potential)
    return chosen


class SeedingSteps:
    """Squared distances to the nearest centre so far, and the sampling by them."""

    def __init__(self, rows: KMeansRows, n_trials: int):
        rows.prepare(n_trials)
        self.rows = rows
        self.closest = np.full(rows.n_rows, np.finfo(rows.dtype).max, dtype=rows.dtype)
        # Lowered distances of all candidates are kept where they are small beside the data;
        # otherwise those of the winner are computed again.
        self.keep = 2 * n_trials <= rows.n_features
        self.kept = np.empty((n_trials if self.keep else 0, rows.n_rows), dtype=rows.dtype)
        self.potentials = np.empty((rows.n_chunks, n_trials))
        self.winner = 0
        self.tiles = rows.seeding_tiles()

    def _visit(self, centers, keep, kept, potentials):
        self.rows.seeding_pass(self.tiles, centers, self.closest, keep, kept, potentials)

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


class RowSampler:
    """Draws rows with probabilities in proportion to their weights.

    The draws are those of NumPy's ``choice`` with probabilities, to the bit, but without its three
    float64 arrays as long as the weights: of the running sums of the weights' shares only every
    256th is kept, and those between two of them are computed again where a draw falls there.
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
            kept.append(running[ROWS_PER_SHARE - 1 :: ROWS_PER_SHARE].copy())
        self.running = np.concatenate(kept)
        self.last = before

    def _shares(self, rows) -> NDArray:
        return (self.weights[rows] / self.total).astype(np.float64)

    def draw(self, u: NDArray) -> NDArray:
        """The rows at which the running share passes each u in [0, 1)."""
        part = np.searchsorted(self.running[1:] / self.last, u, side="right")
        rows = part[:, None] * ROWS_PER_SHARE + np.arange(ROWS_PER_SHARE)
        n_rows = self.weights.shape[0]
        running = self._shares(np.minimum(rows, n_rows - 1))
        running[rows >= n_rows] = 0.0
        running[:, 0] += self.running[part]
        np.cumsum(running, axis=1, out=running)
        return rows[:, 0] + (running / self.last <= u[:, None]).sum(axis=1)


def sampler_of(rows: KMeansRows) -> RowSampler:
    """The sampler of these rows, made once: every start draws from it."""
    if rows.sampler is None:
        rows.sampler = RowSampler(rows.weights)
    return rows.sampler


def random_rows(rows: KMeansRows, n_clusters: int, random_state) -> NDArray:
    """Distinct random rows as centres (Forgy's rule)."""
    return distinct_rows(sampler_of(rows), n_clusters, random_state)


def distinct_rows(sampler: RowSampler, n_clusters: int, random_state) -> NDArray:
    """Distinct rows, drawn in proportion to their weights, as NumPy draws them."""
    if sampler.n_positive < n_clusters:
        raise ValueError(
            f"init='random' needs n_clusters={n_clusters} rows of positive weight, got "
            f"{sampler.n_positive}"
        )
    chosen = np.empty(0, dtype=np.intp)
    while chosen.shape[0] < n_clusters:
        if chosen.shape[0]:  # some were drawn twice: those found are left out from now on
            remaining = sampler.weights.copy()
            remaining[chosen] = 0
            sampler = RowSampler(remaining, sampler.total)
        drawn = sampler.draw(random_state.random_sample(n_clusters - chosen.shape[0]))
        first_seen = np.sort(np.unique(drawn, return_index=True)[1])
        chosen = np.concatenate([chosen, drawn[first_seen]])
    return chosen


def random_partition(rows: KMeansRows, n_clusters: int, random_state) -> NDArray:
    """The means of a random partition, in which no part is empty."""
    rows.prepare(n_clusters)
    labels = random_state.randint(0, n_clusters, rows.n_rows).astype(np.int32)
    labels[random_state.permutation(rows.n_rows)[:n_clusters]] = np.arange(n_clusters)
    return rows.means(labels)
