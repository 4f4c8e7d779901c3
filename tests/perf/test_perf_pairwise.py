"""Distance matrices beside scikit-learn, SciPy and others (two threads each)."""

import numpy as np
import pytest

from fastml.metrics import pairwise

LIBRARIES = pytest.mark.parametrize("library", ["fastml", "sklearn", "scipy"], indirect=True)


def rows(n, d, dtype=np.float64):
    return np.random.default_rng(0).random((n, d)).astype(dtype)


def distances(library, X, metric, **parameters):
    """A call without arguments that computes the whole matrix."""
    if library == "fastml":
        return lambda: pairwise.pairwise_distances(X, metric=metric, n_jobs=2, **parameters)
    if library == "sklearn":
        from sklearn.metrics import pairwise_distances

        return lambda: pairwise_distances(X, metric=metric, n_jobs=2, **parameters)
    from scipy.spatial.distance import cdist

    name = "cityblock" if metric == "manhattan" else metric
    return lambda: cdist(X, X, name, **parameters)


def check(result, X, metric, **parameters):
    from scipy.spatial.distance import cdist

    name = "cityblock" if metric == "manhattan" else metric
    expected = cdist(X[:20], X, name, **parameters)
    np.testing.assert_allclose(result[:20], expected, rtol=1e-5, atol=1e-5)


@LIBRARIES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine"])
def test_real_metrics(measure, size, library, metric, dtype):
    X = rows(size(small=100, full=6000), 64, dtype)
    check(measure(distances(library, X, metric)), X, metric)


@LIBRARIES
def test_low_dimension(measure, size, library):
    X = rows(size(small=100, full=6000), 3)
    check(measure(distances(library, X, "euclidean")), X, "euclidean")


@LIBRARIES
@pytest.mark.parametrize("p", [3, 1.5])
def test_minkowski(measure, size, library, p):
    X = rows(size(small=100, full=3000 if p == 3 else 1000), 64)
    check(measure(distances(library, X, "minkowski", p=p)), X, "minkowski", p=p)


@LIBRARIES
@pytest.mark.parametrize("metric", ["jaccard", "hamming"])
def test_booleans(measure, size, library, metric):
    X = rows(size(small=100, full=6000), 64) > 0.5
    check(measure(distances(library, X, metric)), X, metric)


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_nearest_row(measure, size, library, metric):
    X, Y = rows(size(small=200, full=20_000), 64), rows(size(small=50, full=2000), 64)[::-1]
    if library == "fastml":
        find = pairwise.pairwise_distances_argmin
    else:
        from sklearn.metrics import pairwise_distances_argmin as find
    indices = measure(find, X, Y, metric=metric)
    np.testing.assert_array_equal(indices[: len(Y)], np.arange(len(Y))[::-1])


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "chi2"])
def test_kernels(measure, size, library, kernel):
    X = rows(size(small=100, full=3000), 64)
    if library == "fastml":
        call = pairwise.pairwise_kernels
    else:
        from sklearn.metrics.pairwise import pairwise_kernels as call
    result = measure(call, X, metric=kernel)
    np.testing.assert_allclose(result, result.T, rtol=1e-10)


@pytest.mark.parametrize("library", ["fastml", "sklearn"], indirect=True)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse(measure, size, library, metric):
    import scipy.sparse as sp

    n = size(small=100, full=2000)
    X = sp.random_array((n, 1000), density=0.01, format="csr", rng=np.random.default_rng(0))
    result = measure(distances(library, X, metric))
    dense = pairwise.pairwise_distances(X[:20].toarray(), X.toarray(), metric=metric)
    np.testing.assert_allclose(result[:20], dense, rtol=1e-6, atol=1e-6)
