"""linkage and AgglomerativeClustering against SciPy's and scikit-learn's."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.cluster.hierarchy as sch
import sklearn.cluster as skc
from assertions import assert_bit_equal
from numba import njit
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.neighbors import kneighbors_graph

from fastml.cluster import AgglomerativeClustering, linkage, linkage_tree, ward_tree

METHODS = ["single", "complete", "average", "weighted", "ward", "centroid", "median"]


def rows(n=400, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("condensed", [False, True])
def test_linkage_is_scipys(method, condensed):
    y = pdist(rows()) if condensed else rows()
    given = y.copy()
    Z = linkage(y, method)
    expected = sch.linkage(y, method)
    np.testing.assert_array_equal(Z[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(Z[:, 2], expected[:, 2], rtol=1e-9)
    np.testing.assert_array_equal(y, given)  # not overwritten
    assert sch.is_valid_linkage(Z)


@pytest.mark.parametrize(
    "metric", ["cityblock", "chebyshev", "cosine", "canberra", "correlation", "braycurtis"]
)
@pytest.mark.parametrize("method", ["single", "average"])
def test_other_metrics(method, metric):
    X = rows(60)
    np.testing.assert_allclose(
        linkage(X, method, metric), sch.linkage(X, method, metric), rtol=1e-9
    )


def test_minkowski_and_callables():
    X = rows(40)
    np.testing.assert_allclose(
        linkage(X, "average", "minkowski", p=3), sch.linkage(pdist(X, "minkowski", p=3), "average")
    )

    def gap(u, v):
        return abs(u[0] - v[0])

    np.testing.assert_allclose(linkage(X, "complete", gap), sch.linkage(X, "complete", gap))


@pytest.mark.parametrize("method", ["single", "average"])
@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("euclidean", {"w": [1.0, 0.0, 2.0, 5.0]}),
        ("minkowski", {"p": 3, "w": [1.0, 0.0, 2.0, 5.0]}),
        ("seuclidean", {"V": [1.0, 2.0, 3.0, 4.0]}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 3.0, 4.0])}),
        ("jensenshannon", {}),
    ],
)
def test_parameters_of_metrics_count(method, metric, parameters):
    X = np.abs(rows(40))
    expected = sch.linkage(pdist(X, metric, **parameters), method)
    np.testing.assert_allclose(linkage(X, method, metric, **parameters), expected, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_overflow_is_an_error(method):
    X = rows(30)
    np.testing.assert_allclose(linkage(1e140 * X, method)[:, 2], 1e140 * linkage(X, method)[:, 2])
    with pytest.raises(ValueError, match="finite"):
        linkage(1e200 * X, method)


@pytest.mark.parametrize("method", ["single", "average", "ward"])
def test_threads_do_not_matter(method):
    X = rows(1500, 12)
    assert_bit_equal(linkage(X, method, n_jobs=1), linkage(X, method, n_jobs=2))


def test_optimal_ordering():
    X = rows(30)
    np.testing.assert_allclose(
        linkage(X, "average", optimal_ordering=True),
        sch.linkage(X, "average", optimal_ordering=True),
    )


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (np.ones(4), {}, "condensed"),
        (-np.ones(3), {}, "non-negative"),
        (np.ones((1, 2)), {}, "two rows"),
        (np.ones((2, 2, 2)), {}, "dimension"),
        (rows(5), {"method": "nearest"}, "unknown method"),
        (rows(5), {"method": "ward", "metric": "cityblock"}, "Euclidean"),
        (rows(5), {"metric": "crowfly"}, "Unknown Distance Metric"),
        (rows(5), {"metric": "haversine"}, "2 dimensions"),
        (np.full(3, 1e200), {"method": "centroid"}, "finite"),
        (np.array([[0.0, np.nan], [1.0, 2.0]]), {}, "NaN"),
        (np.array([[1.0, 1.0], [1.0, 2.0]]), {"metric": "correlation"}, "finite"),
    ],
)
def test_bad_input(y, options, message):
    with pytest.raises(ValueError, match=message):
        linkage(y, **options)


@pytest.mark.parametrize("link", ["ward", "complete", "average", "single"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.filterwarnings("ignore:the number of connected components")
def test_trees_and_labels_are_scikit_learns(link, tied, structured):
    X = rows(150, 3)
    if tied and (structured or link != "ward"):  # rounding decides ties of Ward's distances
        X = np.round(X)
    graph = kneighbors_graph(X, 4) if structured else None
    for options in (
        {"n_clusters": 5, "compute_distances": True},
        {"n_clusters": None, "distance_threshold": 1.5},
        {"n_clusters": 120, "compute_full_tree": False},
    ):
        ours = AgglomerativeClustering(linkage=link, connectivity=graph, **options).fit(X)
        theirs = skc.AgglomerativeClustering(linkage=link, connectivity=graph, **options).fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_array_equal(ours.children_, theirs.children_)
        assert ours.n_clusters_ == theirs.n_clusters_
        assert ours.n_connected_components_ == theirs.n_connected_components_
        if hasattr(theirs, "distances_"):
            np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9, atol=1e-12)


def test_precomputed_and_callable_metrics():
    X = rows(60)
    D = skc.AgglomerativeClustering(linkage="average").fit(X).labels_
    from fastml.metrics import pairwise_distances

    for metric, data in (("precomputed", pairwise_distances(X)), (pairwise_distances, X)):
        ours = AgglomerativeClustering(linkage="average", metric=metric).fit(data)
        np.testing.assert_array_equal(ours.labels_, D)
    with pytest.raises(ValueError, match="square"):
        AgglomerativeClustering(linkage="average", metric="precomputed").fit(X)


@pytest.mark.parametrize("metric", ["cosine", "braycurtis", "sqeuclidean", "manhattan"])
@pytest.mark.parametrize("link", ["average", "single"])
def test_metrics_of_the_estimator_are_scikit_learns(link, metric):
    ours, theirs = (
        module(linkage=link, metric=metric, compute_distances=True).fit(rows(80))
        for module in (AgglomerativeClustering, skc.AgglomerativeClustering)
    )
    np.testing.assert_array_equal(ours.children_, theirs.children_)
    np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9)


@pytest.mark.parametrize("X", [np.full((30, 2), np.nan), 1e200 * rows(30, 2)])
@pytest.mark.parametrize("connectivity", [None, np.ones((30, 30)).tolist()])
@pytest.mark.parametrize("link", ["ward", "complete", "average", "single"])
def test_trees_of_no_distances(X, connectivity, link):
    tree = ward_tree if link == "ward" else partial(linkage_tree, linkage=link)
    with pytest.raises(ValueError, match=r"finite|NaN"):
        tree(X, connectivity=connectivity)


@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_tree_needs_two_rows(n_rows):
    for tree in (ward_tree, linkage_tree):
        with pytest.raises(ValueError, match="two rows"):
            tree(np.ones((n_rows, 2)))


def test_ward_tree():
    X = rows(50)
    for ours, theirs in zip(
        ward_tree(X, return_distance=True), skc.ward_tree(X, return_distance=True)
    ):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs)


# ---------------------------------------------------------------------------- beyond scikit-learn


@pytest.mark.parametrize("method", ["weighted", "centroid", "median"])
def test_more_linkages_cut_scipys_trees(method):
    X = rows(80, 2)
    Z = sch.linkage(X, method)
    model = AgglomerativeClustering(6, linkage=method, compute_distances=True).fit(X)
    np.testing.assert_array_equal(model.children_, Z[:, :2])
    np.testing.assert_allclose(model.distances_, Z[:, 2])
    n = len(X)
    groups = {i: {i} for i in range(n)}
    for step, (a, b) in enumerate(Z[: n - 6, :2].astype(int)):  # the merges that are left
        groups[n + step] = groups.pop(a) | groups.pop(b)
    found = {frozenset(np.flatnonzero(model.labels_ == label)) for label in range(6)}
    assert found == {frozenset(group) for group in groups.values()}
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    given = AgglomerativeClustering(6, linkage=method, metric="precomputed").fit(D)
    np.testing.assert_array_equal(given.labels_, model.labels_)
    children, _, _, _ = linkage_tree(X, linkage=method)
    np.testing.assert_array_equal(children, Z[:, :2])


def test_heights_that_fall():
    """An equilateral triangle: the centroid of two is nearer to the third than they were."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2], [9.0, 0.0]])
    model = AgglomerativeClustering(None, linkage="centroid", distance_threshold=0.9).fit(X)
    assert model.distances_[1] < 0.9 < model.distances_[0]  # the second merge never happens
    assert model.n_clusters_ == 4
    assert AgglomerativeClustering(None, linkage="centroid", distance_threshold=1.1).fit(
        X
    ).labels_.tolist() == [0, 0, 0, 1]


def test_more_linkages_refuse():
    X = rows(20)
    with pytest.raises(ValueError, match="Centroid can only work with euclidean"):
        AgglomerativeClustering(linkage="centroid", metric="manhattan").fit(X)
    graph = kneighbors_graph(X, 5)
    with pytest.raises(ValueError, match="does not work with connectivity"):
        AgglomerativeClustering(linkage="weighted", connectivity=graph).fit(X)


@njit
def sum_of_gaps(x, y):
    total = 0.0
    for k in range(x.shape[0]):
        total += abs(x[k] - y[k])
    return total


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted"])
def test_compiled_metrics_of_two_rows(method):
    X = rows(50)
    ours = AgglomerativeClustering(5, linkage=method, metric=sum_of_gaps).fit(X)
    named = AgglomerativeClustering(5, linkage=method, metric="manhattan").fit(X)
    np.testing.assert_array_equal(ours.labels_, named.labels_)
    np.testing.assert_allclose(linkage(X, method, sum_of_gaps), linkage(X, method, "cityblock"))
    if method != "weighted":
        graph = kneighbors_graph(X, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = AgglomerativeClustering(
                5, linkage=method, metric=sum_of_gaps, connectivity=graph
            ).fit(X)
            named = AgglomerativeClustering(
                5, linkage=method, metric="manhattan", connectivity=graph
            ).fit(X)
        np.testing.assert_array_equal(ours.labels_, named.labels_)


def test_sparse_rows_are_refused():
    with pytest.raises(TypeError, match="must be dense"):
        linkage_tree(csr_array(np.eye(5)))
    with pytest.raises(ValueError, match="must be an array-like"):
        ward_tree(csr_array(np.eye(5)))
