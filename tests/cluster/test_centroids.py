"""KCentroids: known machines are special cases, and every centre is the best there is."""

import itertools

import numpy as np
import pytest
from numba import njit
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from fastml.cluster import KCentroids, KMeans, KMedians, KMedoids
from fastml.cluster._prototypes._centroids import geometric_median


def blobs(n=240, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d))[rng.integers(k, size=n)] * 6.0 + rng.normal(size=(n, d))


X = blobs()
START = X[[3, 50, 100, 150]]
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_means_and_medians(weights):
    for metric, other, scale in (
        ("sqeuclidean", KMeans(4, init=START, n_init=1, tol=0.0, algorithm="lloyd"), 1.0),
        ("manhattan", KMedians(4, init=START), 1.0),
    ):
        ours = KCentroids(4, metric=metric, init=START).fit(X, sample_weight=weights)
        other.fit(X, sample_weight=weights)
        np.testing.assert_array_equal(ours.labels_, other.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, other.cluster_centers_)
        assert ours.inertia_ == pytest.approx(scale * other.inertia_)
        np.testing.assert_array_equal(ours.predict(X), ours.labels_)


@njit
def largest_gap(x, y):
    gap = 0.0
    for k in range(x.shape[0]):
        gap = max(gap, abs(x[k] - y[k]))
    return gap


PAIRS = [
    ("sqeuclidean", "auto"),
    ("euclidean", "auto"),
    ("manhattan", "auto"),
    ("cosine", "auto"),
    ("hamming", "auto"),
    ("canberra", "auto"),
    (largest_gap, "auto"),
    ("chebyshev", lambda rows, weights: (rows.min(axis=0) + rows.max(axis=0)) / 2),
    ("euclidean", "mean"),
    ("manhattan", "medoid"),
]


@pytest.mark.parametrize(("metric", "center"), PAIRS, ids=lambda value: str(value)[:14])
def test_the_sum_is_that_of_the_labels_and_no_round_raises_it(metric, center):
    rows = np.round(X) if metric == "hamming" else X
    sums = []
    for rounds in range(1, 6):
        model = KCentroids(4, metric=metric, center=center, init=rows[:4], max_iter=rounds)
        try:
            model.fit(rows)
        except UserWarning:  # not converged yet: warnings are errors
            continue
        sums.append(model.inertia_)
    model = KCentroids(4, metric=metric, center=center, init=rows[:4]).fit(rows)
    name = "chebyshev" if metric is largest_gap else {"manhattan": "cityblock"}.get(metric, metric)
    D = cdist(rows, model.cluster_centers_, name)
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    assert model.inertia_ == pytest.approx(D.min(axis=1).sum())
    np.testing.assert_allclose(model.transform(rows), D, atol=1e-9)
    assert all(later <= earlier for earlier, later in itertools.pairwise(sums))
    start = cdist(rows, rows[:4], name).min(axis=1).sum()
    assert model.inertia_ <= start


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "sqeuclidean", "hamming"])
def test_no_other_centre_is_better(metric):
    rows = np.round(np.abs(X)) if metric == "hamming" else X
    model = KCentroids(3, metric=metric, random_state=0).fit(rows)
    name = {"manhattan": "cityblock"}.get(metric, metric)
    rng = np.random.default_rng(0)
    for c in range(3):
        own = rows[model.labels_ == c]
        centre = model.cluster_centers_[c]
        best = cdist(own, centre[None], name).sum()
        others = [centre + rng.normal(scale=s, size=3) for s in (1e-3, 0.1, 1.0) for _ in range(30)]
        others = np.array([*others, *own])
        others = np.round(others) if metric == "hamming" else others
        assert cdist(own, others, name).sum(axis=0).min() >= best * (1 - 1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_geometric_median(seed):
    rng = np.random.default_rng(seed)
    rows, w = rng.normal(size=(25, 2)), rng.random(25)

    def cost(c):
        return w @ np.sqrt(((rows - c) ** 2).sum(axis=1))

    found = geometric_median(rows, w, rows[0])  # starts on a row
    best = minimize(cost, rows.mean(axis=0), method="Nelder-Mead", options={"xatol": 1e-10})
    assert cost(found) <= best.fun * (1 + 1e-6)
    heavy = np.where(np.arange(25) == 7, 100.0, w)
    np.testing.assert_allclose(geometric_median(rows, heavy, rows[7]), rows[7])
    assert cost(geometric_median(rows[:1], w[:1], rows[0] + 1.0)) == pytest.approx(cost(rows[0]))


def test_medoids_are_rows():
    model = KCentroids(4, metric="canberra", init=START).fit(X)
    for c, centre in enumerate(model.cluster_centers_):
        own = X[model.labels_ == c]
        sums = cdist(own, own, "canberra").sum(axis=0)
        np.testing.assert_array_equal(centre, own[sums.argmin()])
    exchanged = KMedoids(4, metric="canberra", random_state=0).fit(X)
    assert exchanged.inertia_ <= model.inertia_ * 1.2


def test_weights_are_repeated_rows():
    for metric in ("euclidean", "manhattan", "hamming"):
        rows = np.round(X / 4) if metric == "hamming" else X
        start = rows[[3, 50, 100, 150]]
        weighted = KCentroids(4, metric=metric, init=start).fit(rows, sample_weight=WEIGHTS)
        repeated = KCentroids(4, metric=metric, init=start)
        repeated.fit(np.repeat(rows, WEIGHTS.astype(int), axis=0))
        np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        KCentroids(4).fit(X[:3])
    with pytest.raises(ValueError, match="center must return 3 finite numbers"):
        KCentroids(4, center=lambda rows, weights: rows[0, :2]).fit(X)
    with pytest.raises(ValueError, match="distances must be finite"):
        KCentroids(4, metric="correlation").fit(np.ones((9, 3)))
