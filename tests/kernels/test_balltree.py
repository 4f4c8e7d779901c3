"""A ball tree finds what sorting finds, for any metric."""

import numpy as np
import pytest
from naive import nearest_rows
from scipy.spatial.distance import cdist

from fastml.neighbors import BallTree


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 17, 50])
def test_query_equals_sorting(n, dtype):
    rng = np.random.default_rng(n)
    X = rng.integers(0, 4, size=(n, 2)).astype(dtype)
    Q = rng.normal(size=(5, 2)).astype(dtype)
    k = min(n, 4)
    found = BallTree(X, metric="manhattan").query(Q, k=k)
    expected = nearest_rows(Q.astype(float), X.astype(float), k, lambda x, y: abs(x - y).sum())
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("euclidean", {}),
        ("canberra", {}),
        ("hamming", {}),
        ("seuclidean", {"V": np.array([1.0, 2.0, 3.0])}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 3.0])}),
        ("minkowski", {"p": 3}),
        ("jaccard", {}),
        ("dice", {}),
    ],
)
def test_every_kind_of_metric(metric, params):
    rng = np.random.default_rng(0)
    if metric in ("jaccard", "dice", "hamming"):
        X, Q = rng.integers(0, 2, (300, 3)).astype(float), rng.integers(0, 2, (40, 3)).astype(float)
    else:
        X, Q = rng.normal(size=(300, 3)), rng.normal(size=(40, 3))
    found, _ = BallTree(X, metric=metric, **params).query(Q, k=5)
    boolean = metric in ("jaccard", "dice")
    with np.errstate(invalid="ignore"):
        D = cdist(
            Q.astype(bool) if boolean else Q, X.astype(bool) if boolean else X, metric, **params
        )
    D = np.nan_to_num(D, nan=np.finfo(float).max)
    np.testing.assert_allclose(found, np.sort(D, axis=1)[:, :5], rtol=1e-9)


def test_haversine_near_the_date_line():
    X = np.radians([[0.0, 179.0], [0.0, -179.0], [0.0, 0.0]])
    distances, indices = BallTree(X, metric="haversine").query(np.radians([[0.0, -179.9]]), k=2)
    np.testing.assert_array_equal(indices, [[1, 0]])
    np.testing.assert_allclose(distances, np.radians([[0.9, 1.1]]))
