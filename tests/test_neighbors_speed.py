"""`algorithm="auto"` picks well, brute search stays small, trees show their arrays."""

import time
import tracemalloc

import numpy as np
import pytest

from fastml.neighbors import BallTree, KDTree, NearestNeighbors

ALGORITHMS = ("brute", "kd_tree", "ball_tree")


def cpu_seconds(call, repeats):
    """Best of several, in time of this thread's processor: other processes do not count."""
    best = np.inf
    for _ in range(repeats):
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return best


def fit_and_query_seconds(algorithm, X, Q):
    """Time to fit X and to find the neighbours of as many queries."""
    search = NearestNeighbors(algorithm=algorithm, n_jobs=1)
    fit = cpu_seconds(lambda: search.fit(X), 2)
    return fit + cpu_seconds(lambda: search.kneighbors(Q), 2) * len(X) / len(Q)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("n", "d"),
    [(300, 2), (300, 20), (2_000, 2), (2_000, 6), (2_000, 20), (20_000, 2), (20_000, 4),
     (20_000, 7), (20_000, 20)],
)  # fmt: skip
def test_auto_is_near_the_best(n, d):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(min(n, 500), d))
    chosen = NearestNeighbors().fit(X)._fit_method
    assert chosen in ALGORITHMS
    for _ in range(4):
        seconds = {name: fit_and_query_seconds(name, X, Q) for name in ALGORITHMS}
        if seconds[chosen] <= 1.5 * min(seconds.values()):
            return
    pytest.fail(f"auto chose {chosen}: {seconds}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_brute_search_needs_little_memory(dtype):
    """Far less than 300 MB above inputs and outputs; the distances alone would be 320 MB."""
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(20_000, 512)).astype(dtype), rng.normal(size=(2_000, 512)).astype(dtype)
    search = NearestNeighbors(algorithm="brute").fit(X)
    search.kneighbors(Q[:20])
    tracemalloc.start()
    try:
        distances, indices = search.kneighbors(Q)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - distances.nbytes - indices.nbytes < 64e6


@pytest.mark.parametrize("tree_class", [KDTree, BallTree])
@pytest.mark.parametrize("n", [1, 16, 17, 300])
def test_arrays_of_a_tree(tree_class, n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    tree = tree_class(X)
    data, order, nodes, bounds = tree.get_arrays()
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    assert bounds.shape == (2 if tree_class is KDTree else 1, len(nodes), 3)
    leaves = nodes[nodes["is_leaf"] == 1]
    covered = [i for leaf in leaves for i in range(leaf["idx_start"], leaf["idx_end"])]
    assert sorted(covered) == list(range(n))
    for node, places in enumerate(nodes):
        inside = X[order[places["idx_start"] : places["idx_end"]]]
        if tree_class is KDTree:
            np.testing.assert_array_equal(bounds[:, node], [inside.min(0), inside.max(0)])
            reach = np.linalg.norm(bounds[1, node] - bounds[0, node]) / 2
        else:
            np.testing.assert_allclose(bounds[0, node], inside.mean(0))
            reach = np.linalg.norm(inside - bounds[0, node], axis=1).max()
        np.testing.assert_allclose(places["radius"], reach, atol=1e-12)


def test_arrays_of_a_tree_of_a_function():
    X = np.arange(6.0).reshape(3, 2)
    _, order, nodes, _ = BallTree(X, metric=lambda x, y: abs(x - y).sum()).get_arrays()
    np.testing.assert_array_equal(order, [0, 1, 2])
    assert (nodes["idx_start"][0], nodes["idx_end"][0], len(nodes)) == (0, 3, 1)
