"""DBSCAN against scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster as skc
from sklearn.neighbors import NearestNeighbors

from fastml.cluster import DBSCAN, dbscan


def rows(n=1500, d=2, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-5, 5, size=(6, d))
    return centres[rng.integers(6, size=n)] + rng.normal(size=(n, d)) * 0.4


def same(ours, theirs):
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)
    np.testing.assert_array_equal(ours.components_, theirs.components_)


@pytest.mark.parametrize("eps", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_labels_are_scikit_learns(eps, d, dtype):
    X = rows(d=d).astype(dtype)
    eps *= d
    ours = DBSCAN(eps=eps, min_samples=8).fit(X)
    same(ours, skc.DBSCAN(eps=eps, min_samples=8).fit(X))


def test_integers_at_the_radius():
    X = np.random.default_rng(1).integers(0, 30, size=(600, 2)).astype(float)
    ours = DBSCAN(eps=1.0, min_samples=4).fit(X)
    same(ours, skc.DBSCAN(eps=1.0, min_samples=4).fit(X))


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "manhattan"},
        {"metric": "chebyshev"},
        {"metric": "minkowski", "p": 3},
        pytest.param(
            {"metric": "minkowski", "metric_params": {"p": 0.5}},
            marks=pytest.mark.filterwarnings("ignore:Mind that for 0 < p < 1"),
        ),
        {"metric": "cosine", "eps": 0.001},
        {"algorithm": "brute"},
        {"algorithm": "ball_tree"},
        {"metric": "canberra", "eps": 0.1},
    ],
)
def test_metrics_and_algorithms(options):
    X = rows(400)
    options = {"eps": 0.15, "min_samples": 5, **options}
    same(DBSCAN(**options).fit(X), skc.DBSCAN(**options).fit(X))


def test_sparse_and_precomputed():
    X = rows(300)
    graph = NearestNeighbors(radius=0.3).fit(X).radius_neighbors_graph(X, mode="distance")
    for options, data in (
        ({"metric": "precomputed"}, np.linalg.norm(X[:, None] - X, axis=2)),
        ({"metric": "precomputed"}, graph),
        ({}, sp.csr_array(X)),
    ):
        ours = DBSCAN(eps=0.2, **options).fit(data)
        np.testing.assert_array_equal(ours.labels_, skc.DBSCAN(eps=0.2).fit(X).labels_)


def test_weights_equal_repeated_rows():
    X = rows(200)
    weights = np.random.default_rng(0).integers(1, 4, size=200)
    repeated = DBSCAN(eps=0.2, min_samples=6).fit(np.repeat(X, weights, axis=0)).labels_
    first = np.concatenate([[0], np.cumsum(weights)[:-1]])
    weighted = DBSCAN(eps=0.2, min_samples=6).fit(X, sample_weight=weights).labels_
    np.testing.assert_array_equal(weighted, repeated[first])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_function_and_threads(n_jobs):
    X = rows(5000)
    core, labels = dbscan(X, eps=0.1, n_jobs=n_jobs)
    expected_core, expected = skc.dbscan(X, eps=0.1)
    np.testing.assert_array_equal(core, expected_core)
    np.testing.assert_array_equal(labels, expected)


def test_small_working_memory_gives_the_same():
    from sklearn import config_context

    X = rows(600)
    expected = DBSCAN(eps=0.2, algorithm="brute").fit(X).labels_
    with config_context(working_memory=0.1):  # lists of neighbours instead of bits
        found = DBSCAN(eps=0.2, algorithm="brute").fit(X).labels_
    np.testing.assert_array_equal(found, expected)


def test_every_row_a_neighbour_of_every_row():
    X = np.random.default_rng(0).random((300, 30))
    weights = np.where(np.arange(300) < 5, 3.0, 0.0)
    for options, given in (
        ({}, None),
        ({"min_samples": 16}, weights),
        ({"min_samples": 15}, weights),
    ):
        ours = DBSCAN(eps=9.0, **options).fit(X, sample_weight=given)
        theirs = skc.DBSCAN(eps=9.0, **options).fit(X, sample_weight=given)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_array_equal(ours.core_sample_indices_, theirs.core_sample_indices_)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"eps": 0}, "eps"), ({"min_samples": 0}, "min_samples"), ({"metric": "x"}, "metric")],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        DBSCAN(**options).fit(rows(20))
