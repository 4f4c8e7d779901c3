"""Cluster metrics: scikit-learn's answers, definitions spelled out, invariances, errors."""

import itertools

import naive
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics.cluster as theirs
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import fastml
from fastml import metrics
from fastml._engines.labels import Clusters, encode
from fastml.metrics import cluster
from fastml.metrics._clustering import _silhouette

SUPERVISED = [
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "completeness_score",
    "fowlkes_mallows_score",
    "homogeneity_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "rand_score",
    "v_measure_score",
]
two_labelings = st.integers(1, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def blobs(n_rows, n_features=3, n_blobs=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_blobs, size=n_rows)
    labels[:n_blobs] = np.arange(n_blobs)
    X = rng.normal(scale=3.0, size=(n_blobs, n_features))[labels]
    return X + rng.normal(size=(n_rows, n_features)), labels


# ---------------------------------------------------------------------------- beside classes


@pytest.mark.small
@given(two_labelings)
def test_as_scikit_learn(pair):
    for name in SUPERVISED:
        found, expected = (getattr(m, name)(*pair) for m in (cluster, theirs))
        assert type(found) is float
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), name
    np.testing.assert_array_equal(
        cluster.pair_confusion_matrix(*pair), theirs.pair_confusion_matrix(*pair)
    )
    found, expected = (m.contingency_matrix(*pair, sparse=True) for m in (cluster, theirs))
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    np.testing.assert_array_equal(found.toarray(), cluster.contingency_matrix(*pair))


@pytest.mark.small
@given(two_labelings)
def test_pair_scores_by_counting_pairs(pair):
    classes, clusters = pair
    pairs = list(itertools.combinations(range(len(classes)), 2))
    together = {(i, j) for i, j in pairs if classes[i] == classes[j]}
    found = {(i, j) for i, j in pairs if clusters[i] == clusters[j]}
    precision = len(together & found) / len(found) if found else 1.0
    recall = len(together & found) / len(together) if together else 1.0
    assert metrics.pair_precision_score(*pair) == pytest.approx(precision)
    assert metrics.pair_recall_score(*pair) == pytest.approx(recall)
    for beta in (0.5, 1.0, 2.0):
        if found and together:
            denominator = beta**2 * precision + recall
            f = (1 + beta**2) * precision * recall / denominator if denominator else 0.0
            assert metrics.pair_fbeta_score(*pair, beta=beta) == pytest.approx(f)


@pytest.mark.small
def test_purity_of_the_notes():
    counts = np.array([[5, 1, 0], [1, 4, 1], [2, 0, 3]])  # clusters by classes
    clusters, classes = np.repeat(np.indices((3, 3)).reshape(2, 9), counts.ravel(), axis=1)
    assert metrics.purity_score(classes, clusters) == pytest.approx(12 / 17)
    assert metrics.purity_score(classes, clusters, average="macro") == pytest.approx(0.7)


@pytest.mark.small
@pytest.mark.parametrize("name", [*SUPERVISED, "purity_score", "pair_precision_score"])
def test_no_rows(name):
    none = 0.0 if name in ("mutual_info_score", "fowlkes_mallows_score") else 1.0
    assert getattr(cluster, name)([], []) == none


def test_many_clusters_and_many_rows():
    rng = np.random.default_rng(0)
    pair = rng.integers(2000, size=3000), rng.integers(1500, size=3000)
    for name in SUPERVISED:
        found, expected = (getattr(m, name)(*pair) for m in (cluster, theirs))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), name


@pytest.mark.small
@pytest.mark.parametrize("average", ["min", "max", "geometric", "arithmetic"])
def test_averages(average):
    pair = [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2]
    for name in ("adjusted_mutual_info_score", "normalized_mutual_info_score"):
        found, expected = (
            getattr(m, name)(*pair, average_method=average) for m in (cluster, theirs)
        )
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.small
def test_measurements_are_warned_of():
    with pytest.warns(UserWarning, match="expects discrete values but received continuous"):
        metrics.rand_score([0.1, 0.2, 0.3], [0, 1, 1])


@pytest.mark.small
@pytest.mark.parametrize(
    "labels, codes, k",
    [
        ([3, 3, 1], [1, 1, 0], 2),
        ([-5, 10**12], [0, 1], 2),
        (["b", "a", "b"], [1, 0, 1], 2),
        ([True, False], [1, 0], 2),
        ([], [], 0),
        ([2.5, 2.5], [0, 0], 1),
    ],
)
def test_encode(labels, codes, k):
    found, n = encode(np.array(labels))
    assert (found.tolist(), n) == (codes, k)


# ---------------------------------------------------------------------------- by shape


@pytest.mark.parametrize("metric", ["euclidean", "l2", "manhattan", "cosine", "sqeuclidean"])
@pytest.mark.parametrize("n_rows", [pytest.param(30, marks=pytest.mark.small), 700])
def test_silhouette_as_scikit_learn(n_rows, metric, dtype):
    X, labels = blobs(n_rows)
    X = X.astype(dtype)
    found = metrics.silhouette_samples(X, labels, metric=metric)
    expected = theirs.silhouette_samples(X, labels, metric=metric)
    assert found.dtype == dtype
    tolerance = 1e-10 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, expected, atol=tolerance)
    score = metrics.silhouette_score(X, labels, metric=metric)
    assert score == pytest.approx(expected.mean(), abs=tolerance)


def test_silhouette_without_room_for_sums():
    X, labels = blobs(900, n_blobs=7)
    clusters = Clusters(labels)
    found = _silhouette.euclidean_coefficients(X, clusters)
    other = _silhouette.euclidean_coefficients(X, clusters, budget=0)
    np.testing.assert_allclose(found, other, rtol=1e-10, atol=1e-13)


def test_silhouette_of_given_distances():
    X, labels = blobs(80)
    D = cdist(X, X)
    expected = naive.silhouettes(D, labels)
    for given_matrix in (D, sp.csr_matrix(D), np.asfortranarray(D)):
        found = metrics.silhouette_samples(given_matrix, labels, metric="precomputed")
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(metrics.silhouette_samples(X, labels), expected, atol=1e-12)
    by_function = metrics.silhouette_samples(X, labels, metric=lambda x, y: np.abs(x - y).max())
    np.testing.assert_allclose(
        by_function, naive.silhouettes(cdist(X, X, "chebyshev"), labels), atol=1e-12
    )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # 0 / 0, with JIT off
@pytest.mark.small
def test_own_row_is_left_out():
    """a is the mean over the *other* rows of the cluster."""
    assert metrics.silhouette_samples([[0.0], [1.0], [9.0]], [0, 0, 1])[0] == 1 - 1.0 / 9.0
    found = metrics.silhouette_samples(
        [[0.0], [1.0], [1.0], [2.0], [3.0], [3.0]], [0, 1, 1, 1, 2, 2]
    )
    assert found.tolist() == [0, 0.5, 0.5, 0, 1, 1]


def test_silhouette_of_a_sample():
    X, labels = blobs(100)
    found, expected = (
        m.silhouette_score(X, labels, sample_size=50, random_state=7) for m in (cluster, theirs)
    )
    assert found == pytest.approx(expected)


def test_silhouette_is_the_same_for_any_number_of_threads():
    X, labels = blobs(2000)
    one, two = (metrics.silhouette_samples(X, labels, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_dunn_index(metric):
    X, labels = blobs(300, n_blobs=4)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    between, within = naive.dunn(D, labels)
    rows = D if metric == "precomputed" else X
    assert metrics.dunn_index(rows, labels, metric=metric) == pytest.approx(between / within)


@pytest.mark.small
def test_dunn_index_by_centroids():
    X, labels = [[0.0], [2.0], [5.0], [9.0]], [0, 0, 1, 1]
    assert metrics.dunn_index(X, labels) == 3.0 / 4.0
    assert metrics.dunn_index(X, labels, separation="centroid") == 6.0 / 4.0
    assert metrics.dunn_index([[0.0], [0.0], [1.0]], [0, 0, 1]) == np.inf
    with pytest.raises(ValueError, match="centroid"):
        metrics.dunn_index(np.zeros((3, 3)), [0, 0, 1], metric="precomputed", separation="centroid")


@pytest.mark.small
@pytest.mark.parametrize("name", ["calinski_harabasz_score", "davies_bouldin_score"])
def test_spread_as_scikit_learn(name, dtype):
    X, labels = blobs(90)
    found, expected = (getattr(m, name)(X.astype(dtype), labels) for m in (cluster, theirs))
    assert found == pytest.approx(expected, rel=1e-9 if dtype == np.float64 else 1e-4)


@pytest.mark.small
def test_within_cluster_distance():
    from fastml.cluster import KMeans

    X, _ = blobs(60)
    model = KMeans(3, n_init=1, random_state=0, tol=0).fit(X)
    assert metrics.within_cluster_distance(X, model.labels_) == pytest.approx(model.inertia_)
    given_centers = metrics.within_cluster_distance(
        X, model.labels_, centers=model.cluster_centers_, metric="euclidean"
    )
    own = np.linalg.norm(X - model.cluster_centers_[model.labels_], axis=1).sum()
    assert given_centers == pytest.approx(own)
    rows, labels = [[0.0], [1.0], [10.0], [4.0]], [0, 0, 0, 1]
    assert metrics.within_cluster_distance(rows, labels, metric="manhattan") == 10.0
    weights = [2.0, 1.0, 1.0, 5.0]
    repeated = np.repeat(np.arange(4), [2, 1, 1, 5])
    for metric in ("sqeuclidean", "manhattan"):
        assert metrics.within_cluster_distance(
            rows, labels, metric=metric, sample_weight=weights
        ) == pytest.approx(
            metrics.within_cluster_distance(
                np.array(rows)[repeated], np.array(labels)[repeated], metric=metric
            )
        )


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scores_of_huge_and_tiny_rows(scale):
    X, labels = blobs(90)
    np.testing.assert_allclose(
        metrics.silhouette_samples(scale * X, labels), metrics.silhouette_samples(X, labels)
    )
    assert metrics.dunn_index(scale * X, labels) == pytest.approx(metrics.dunn_index(X, labels))


def test_information_of_an_empty_table():
    assert metrics.mutual_info_score(None, None, contingency=np.zeros((2, 2), dtype=int)) == 0.0


# ---------------------------------------------------------------------------- bad input

X4 = np.arange(8.0).reshape(4, 2)
BAD = [
    ("silhouette_score", (X4, [0, 0, 0, 0]), {}, "Number of labels is 1"),
    ("silhouette_score", (X4, [0, 1, 2, 3]), {}, "Number of labels is 4"),
    ("silhouette_score", (X4, [0, 1]), {}, "inconsistent numbers of samples"),
    ("silhouette_score", (X4, [0, 0, 1, np.nan]), {}, "NaN"),
    ("silhouette_score", (X4, [0, 0, 1, 1]), {"metric": "nonsense"}, "nonsense"),
    ("silhouette_score", (X4, [0, 0, 1, 1]), {"metric": "precomputed"}, "square"),
    ("silhouette_samples", (np.ones((3, 3)), [0, 0, 1]), {"metric": "precomputed"}, "non-zero"),
    ("davies_bouldin_score", (X4, [0, 0, 0, 0]), {}, "Number of labels is 1"),
    ("calinski_harabasz_score", (np.full((4, 1), np.inf), [0, 0, 1, 1]), {}, "infinity"),
    ("within_cluster_distance", (X4, [0, 0, 1, 1]), {"centers": [[1.0, 2.0]]}, "shape"),
    ("rand_score", ([0, 1], [0, 1, 1]), {}, "inconsistent numbers of samples"),
    ("rand_score", ([[0, 1]], [0, 1]), {}, "labels_true must be 1D"),
    ("contingency_matrix", ([0, 1], [0, 1, 1]), {}, "inconsistent numbers of samples"),
    ("contingency_matrix", ([[0, 1]], [0, 1]), {}, "labels_true must be 1D"),
    ("contingency_matrix", (None, [0, 1]), {}, "labels_true must be 1D"),
    ("purity_score", ([0, 1], [0, 1]), {"average": "mean"}, "average"),
]


@pytest.mark.small
@pytest.mark.parametrize("name, arguments, parameters, message", BAD)
def test_bad_input(name, arguments, parameters, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(*arguments, **parameters)


def test_a_thread_limit_is_kept():
    X, labels = blobs(600)
    with fastml.thread_limit(1):
        assert np.isfinite(metrics.silhouette_score(X, labels))
