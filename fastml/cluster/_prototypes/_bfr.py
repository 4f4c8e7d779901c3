"""BFR: k-means over chunks of data larger than memory."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches

from fastml._engines.kmeans.make_rows import make_rows
from fastml._progress import fit_steps, telling, told
from fastml._sklearn import Interval, fit_context
from fastml.cluster._kmeans._kmeans import KMeans
from fastml.cluster._prototypes._base import CenterClusters


class Summary(NamedTuple):
    """Groups of rows as counts, means and sums of squared deviations per feature."""

    counts: NDArray  # (g,)
    means: NDArray  # (g, d)
    squares: NDArray  # (g, d)

    def variances(self) -> NDArray:
        return self.squares / np.maximum(self.counts, 1.0)[:, None]

    def take(self, groups) -> Summary:
        return Summary(self.counts[groups], self.means[groups], self.squares[groups])


def summarise(X: NDArray, labels: NDArray, n_groups: int) -> Summary:
    """Statistics of a block of rows, group by group."""
    counts = np.bincount(labels, minlength=n_groups).astype(np.float64)
    means = np.zeros((n_groups, X.shape[1]))
    np.add.at(means, labels, X)
    means /= np.maximum(counts, 1.0)[:, None]
    squares = np.zeros_like(means)
    np.add.at(squares, labels, (X - means[labels]) ** 2)
    return Summary(counts, means, squares)


def merge(a: Summary, b: Summary) -> Summary:
    """Group by group union (T. Chan, G. Golub, R. LeVeque, 1979)."""
    counts = a.counts + b.counts
    share = (b.counts / np.maximum(counts, 1.0))[:, None]
    gap = b.means - a.means
    means = a.means + gap * share
    squares = a.squares + b.squares + gap**2 * (a.counts[:, None] * share)
    return Summary(counts, means, squares)


def stack(a: Summary, b: Summary) -> Summary:
    return Summary(*(np.concatenate(pair) for pair in zip(a, b)))


class BFR(CenterClusters):
    """K-means over a stream of chunks, by Bradley, Fayyad and Reina.

    Rows are forgotten once they are summarised by counts, means and variances. The *discard set*
    holds the k clusters; a row joins one if its Mahalanobis distance (axes taken as independent) is
    below ``threshold`` times :math:`\\sqrt d`. What is near no cluster is clustered by itself:
    tight groups become the *compression set*, the rest is the *retained set* of plain rows. At the
    end of `fit`, and for ``cluster_centers_``, both are added to their nearest clusters.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    threshold : float, default=2.0
        Rows within ``threshold * sqrt(n_features)`` standard deviations join a cluster.
    merge_threshold : float, default=1.0
        Two groups of the compression set merge if no feature's standard deviation in the union
        exceeds this many times the mean standard deviation of the clusters.
    chunk_size : int, default=100_000
        Rows per chunk of `fit`; `partial_fit` takes each call as a chunk.
    random_state : int, RandomState instance or None, default=None
        Randomness of the k-means runs inside.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters, with compression and retained set added.
    counts_ : ndarray of shape (n_clusters,)
        Rows in each.
    discard_set_, compression_set_ : Summary
        Counts, means and sums of squared deviations of the groups.
    retained_set_ : ndarray of shape (n_retained, n_features)
        Rows in no group.
    labels_ : ndarray of shape (n_samples,)
        Nearest centres of the rows given to `fit`.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    P. S. Bradley, U. Fayyad, C. Reina, "Scaling clustering algorithms to large databases",
    KDD 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.cluster import BFR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)) + 20 * (np.arange(300) % 2)[:, None]
    >>> fitted = BFR(2, random_state=0)
    >>> for chunk in np.split(X, 3):
    ...     fitted = fitted.partial_fit(chunk)
    >>> np.sort(fitted.cluster_centers_.round().astype(int), axis=0)
    array([[ 0,  0],
           [20, 20]])
    """

    _parameter_constraints: dict = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "merge_threshold": [Interval(Real, 0, None, closed="neither")],
        "chunk_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        threshold=2.0,
        merge_threshold=1.0,
        chunk_size=100_000,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.threshold = threshold
        self.merge_threshold = merge_threshold
        self.chunk_size = chunk_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Cluster the rows of ``X``, chunk by chunk (``X`` may be memory-mapped).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored

        Returns
        -------
        self : object
        """
        X = self._begin(X)
        chunks = gen_batches(len(X), max(self.chunk_size, self.n_clusters))
        with fit_steps(self, None, X) as steps, telling(steps):
            for chunk in told("chunk", chunks):
                self._take_in(X[chunk])
        self._finish()
        self.labels_ = self._nearest(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Take in one more chunk of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The chunk; the first one needs at least ``n_clusters`` rows.
        y : Ignored

        Returns
        -------
        self : object
        """
        if hasattr(self, "discard_set_"):
            X = self._check_new_rows(X)
        else:
            X = self._begin(X)
        self._take_in(X)
        self._finish()
        return self

    _blocks_in_order = True  # one after the other: a single worker may as well do all

    def _fit_blocks(self, passes):
        """A block is a chunk; the first one needs at least ``n_clusters`` rows."""
        for number, block in enumerate(passes.in_order("chunks")):
            X = np.asarray(block.X)
            if not number:
                X = self._begin(X)
            self._take_in(X)
        self._finish()

    def _begin(self, X):
        X = self._check_rows(X)
        self._random_state = check_random_state(self.random_state)
        self._dtype = np.dtype(X.dtype.type)
        if hasattr(self, "discard_set_"):
            del self.discard_set_
        return X

    def _kmeans(self, X, k):
        seed = self._random_state.randint(np.iinfo(np.int32).max)
        return KMeans(k, random_state=seed, n_jobs=self.n_jobs).fit(X).labels_

    def _take_in(self, X):
        X = np.asarray(X, dtype=np.float64)
        k, d = self.n_clusters, X.shape[1]
        if not hasattr(self, "discard_set_"):
            labels = self._kmeans(X, k)
            self.discard_set_ = summarise(X, labels, k)
            self.compression_set_ = Summary(np.empty(0), np.empty((0, d)), np.empty((0, d)))
            self.retained_set_ = np.empty((0, d))
            return
        labels, near = self._join(self.discard_set_, X)
        self.discard_set_ = merge(self.discard_set_, summarise(X[near], labels[near], k))
        rest = X[~near]
        if len(self.compression_set_.counts) and len(rest):
            labels, near = self._join(self.compression_set_, rest)
            found = summarise(rest[near], labels[near], len(self.compression_set_.counts))
            self.compression_set_ = merge(self.compression_set_, found)
            rest = rest[~near]
        rows = np.concatenate([self.retained_set_, rest])
        self._compress(rows)

    def _join(self, groups: Summary, X):
        """Nearest group by Mahalanobis distance, and whether it is near enough."""
        spread = groups.variances()
        floor = 1e-12 * max(float(spread.max(initial=0.0)), float(np.finfo(np.float64).tiny))
        scale = 1.0 / np.maximum(spread, floor)
        labels = np.empty(len(X), dtype=np.intp)
        best = np.empty(len(X))
        for rows in gen_batches(len(X), 65_536):
            squares = np.empty((X[rows].shape[0], len(scale)))
            for g in range(len(scale)):
                squares[:, g] = ((X[rows] - groups.means[g]) ** 2) @ scale[g]
            labels[rows] = squares.argmin(axis=1)
            best[rows] = squares.min(axis=1)
        return labels, best < self.threshold**2 * X.shape[1]

    def _compress(self, rows):
        """Cluster the rows that are left over: tight groups are summarised, others are kept."""
        k = 3 * self.n_clusters
        if len(rows) <= k:
            self.retained_set_ = rows
            return
        with warnings.catch_warnings():  # equal rows: some of the groups are empty
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = self._kmeans(rows, k)
        groups = summarise(rows, labels, k)
        tight = (groups.counts > 1) & self._is_tight(groups)
        self.retained_set_ = rows[~tight[labels]]
        self.compression_set_ = self._merge_close(stack(self.compression_set_, groups.take(tight)))

    def _is_tight(self, groups: Summary):
        limit = self.merge_threshold * np.sqrt(self.discard_set_.variances()).mean(axis=0)
        return (np.sqrt(groups.variances()) <= limit).all(axis=1)

    def _merge_close(self, groups: Summary) -> Summary:
        """Merge nearest pairs while their union is tight."""
        while len(groups.counts) > 1:
            gaps = ((groups.means[:, None] - groups.means[None]) ** 2).sum(axis=2)
            np.fill_diagonal(gaps, np.inf)
            pairs = np.unique(np.sort(np.c_[np.arange(len(gaps)), gaps.argmin(axis=1)]), axis=0)
            union = merge(groups.take(pairs[:, 0]), groups.take(pairs[:, 1]))
            good = np.flatnonzero(self._is_tight(union))
            if not len(good):
                break
            pick = good[np.argmin(gaps[pairs[good, 0], pairs[good, 1]])]
            keep = np.setdiff1d(np.arange(len(groups.counts)), pairs[pick])
            groups = stack(groups.take(keep), union.take([pick]))
        return groups

    def _finish(self):
        """Centres with compression and retained set added to their nearest clusters."""
        d = self.discard_set_.means.shape[1]
        single = Summary(np.ones(len(self.retained_set_)), self.retained_set_, np.zeros((0, d)))
        counts, means = self.discard_set_.counts.copy(), self.discard_set_.means.copy()
        sums = means * counts[:, None]
        for others in (self.compression_set_, single):
            if len(others.counts):
                nearest = self._nearest(others.means, means)
                np.add.at(counts, nearest, others.counts)
                np.add.at(sums, nearest, others.means * others.counts[:, None])
        self.counts_ = counts
        centers = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1.0)[:, None], means)
        self.cluster_centers_ = centers.astype(self._dtype)

    def _nearest(self, X, centers=None):
        centers = self.cluster_centers_ if centers is None else centers
        centers = centers.astype(np.float64)
        shift = centers.mean(axis=0)
        labels = np.empty(len(X), dtype=np.intp)
        for chunk in gen_batches(len(X), self.chunk_size):
            rows = make_rows(np.asarray(X[chunk], dtype=np.float64), None, shift, self.n_jobs)
            labels[chunk] = rows.nearest(centers - shift)
        return labels

    def predict(self, X):
        """The nearest centre of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._nearest(self._check_new_rows(X))
