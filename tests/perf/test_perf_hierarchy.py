"""Speed of linkage, DBSCAN and KMedoids beside the fastest peers."""

import numpy as np
import pytest


def blobs(n, d, k=20):
    rng = np.random.default_rng(0)
    return rng.normal(scale=3.0, size=(k, d))[rng.integers(k, size=n)] + rng.normal(size=(n, d))


@pytest.mark.parametrize("library", ["fastml.cluster", "fastcluster"], indirect=True)
@pytest.mark.parametrize("method", ["average", "ward", "single"])
def test_linkage(measure, size, library, method):
    from importlib import import_module

    from scipy.cluster.hierarchy import linkage

    X = blobs(size(small=200, full=10_000), 10)
    Z = measure(import_module(library).linkage, X, method)
    if len(X) < 1000:
        np.testing.assert_allclose(Z[:, 2], linkage(X, method)[:, 2], rtol=1e-9)


def test_single_linkage_beside_genie(measure, size):
    genieclust = pytest.importorskip("genieclust")
    from fastml.cluster import linkage

    X = blobs(size(small=200, full=10_000), 10)
    model = genieclust.Genie(n_clusters=2, gini_threshold=1.0, coarser=False)
    found = measure(model.fit, X).distances_
    np.testing.assert_allclose(np.sort(found), linkage(X, "single")[:, 2], rtol=1e-6)


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
def test_dbscan(measure, size, library):
    from importlib import import_module

    X = blobs(size(small=1_000, full=200_000), 2)
    model = import_module(f"{library}.cluster").DBSCAN(eps=0.05, min_samples=10, n_jobs=2)
    assert measure(model.fit, X).labels_.shape == (len(X),)


@pytest.mark.parametrize("library", ["fastml", "kmedoids"], indirect=True)
def test_medoids(measure, size, library):
    from scipy.spatial.distance import pdist, squareform

    n = size(small=200, full=5_000)
    D, start = squareform(pdist(blobs(n, 10))), np.arange(20)
    if library == "fastml":
        from fastml.cluster import KMedoids

        loss = measure(KMedoids(20, metric="precomputed", init=start).fit, D).inertia_
    else:
        from kmedoids import fasterpam

        loss = measure(lambda: fasterpam(D, start.astype(np.uint64), n_cpu=1)).loss
    assert 0 < loss < D[start].min(axis=0).sum()
