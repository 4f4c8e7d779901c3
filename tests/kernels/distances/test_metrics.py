"""Every metric of two rows against its formula."""

from itertools import product

import naive
import numpy as np
import pytest
from arrays import read_only

from fastml._engines.distances.names import METRICS, TREE_METRICS, metric_code
from fastml.kernels.distances import metrics as m

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:(invalid|divide|overflow):RuntimeWarning"),
]
NONE = np.empty((0, 0))
FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])
REAL = {
    "euclidean": m.EUCLIDEAN,
    "sqeuclidean": m.SQEUCLIDEAN,
    "manhattan": m.MANHATTAN,
    "chebyshev": m.CHEBYSHEV,
    "cosine": m.COSINE,
    "correlation": m.CORRELATION,
    "hamming": m.HAMMING,
    "canberra": m.CANBERRA,
    "braycurtis": m.BRAYCURTIS,
    "braycurtis_absolute": m.BRAYCURTIS_ABSOLUTE,
    "weighted_jaccard": m.WEIGHTED_JACCARD,
    "nan_squares": m.NAN_SQUARES,
    "chi_squares": m.CHI_SQUARES,
}
BOOLEAN = {
    "jaccard": m.JACCARD,
    "dice": m.DICE,
    "matching": m.MATCHING,
    "rogerstanimoto": m.ROGERSTANIMOTO,
    "russellrao": m.RUSSELLRAO,
    "sokalsneath": m.SOKALSNEATH,
    "yule": m.YULE,
    "kulsinski": m.KULSINSKI,
}


def rows(dtype, n=9, d=7, seed=0):
    """Random rows with a zero row, a constant one and a duplicate; read-only as from wrappers."""
    X = np.random.default_rng(seed).random((n, d)).astype(dtype)
    X[0] = 0.0
    X[1] = 0.5
    X[2] = X[3]
    X[4, ::2] = X[5, ::2]
    X.flags.writeable = False
    return X


def distance(code, X, i, Y, j, p, v):
    X, Y = read_only(X), read_only(Y)
    return m.rdist_to_dist(code, m.rdist(code, X, i, Y, j, p, v), p)


def matrix(code, X, Y, p=2.0, v=NONE):
    return np.array(
        [[distance(code, X, i, Y, j, p, v) for j in range(len(Y))] for i in range(len(X))]
    )


@FLOATS
@pytest.mark.parametrize("name", REAL)
def test_real_metrics(name, dtype):
    X, Y = rows(dtype), rows(dtype, seed=1)
    expected = naive.pairs(lambda x, y: naive.real_distance(name, x, y), X, Y)
    np.testing.assert_allclose(matrix(REAL[name], X, Y), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", BOOLEAN)
def test_boolean_metrics(name):
    X = (rows(np.float64, d=11) > 0.5).astype(np.float64)
    X[6] = 1.0
    expected = naive.pairs(lambda x, y: naive.boolean_distance(name, x, y), X, X)
    np.testing.assert_allclose(matrix(BOOLEAN[name], X, X), expected, rtol=1e-14)


@pytest.mark.parametrize("name", BOOLEAN)
def test_boolean_metrics_from_counts(name):
    for n, both, only_x, only_y in product(range(1, 4), range(3), range(3), range(3)):
        if both + only_x + only_y <= n:
            x = np.zeros(n, dtype=bool)
            y = x.copy()
            x[: both + only_x] = True
            y[:both] = y[both + only_x : both + only_x + only_y] = True
            counts = map(np.float64, (n, both, only_x, only_y))
            found = m.boolean_distance(BOOLEAN[name], *counts)
            expected = naive.boolean_distance(name, x, y)
            np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=f"{x} {y}")


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 4.0, 7.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_minkowski(p, weighted):
    X = rows(np.float64)
    weights = np.linspace(0.0, 2.0, X.shape[1])[None] if weighted else None
    code = metric_code(m.POWER, p, weighted=weighted)
    v = NONE if weights is None else weights
    expected = naive.pairs(lambda x, y: naive.real_distance("minkowski", x, y, p, weights), X, X)
    np.testing.assert_allclose(matrix(code, X, X, p, v), expected, rtol=1e-13, atol=1e-15)
    gaps = np.abs(X[3] - X[4])
    terms = [m.gap_term(code, gaps[k], k, p, v) for k in range(gaps.size)]
    assert m.rdist(code, X, 3, X, 4, p, v) == pytest.approx(sum(terms), rel=1e-13)


def test_chebyshev_is_minkowski_with_infinite_p():
    assert metric_code(m.POWER, np.inf) == m.CHEBYSHEV


def test_haversine_also_of_close_points():
    X = np.array([[0.3, -1.0], [0.3, -1.0], [0.3 + 1e-9, -1.0], [-0.3, 2.0], [1.5, 3.0]])
    expected = naive.pairs(lambda x, y: naive.real_distance("haversine", x, y), X, X)
    np.testing.assert_allclose(matrix(m.HAVERSINE, X, X), expected, rtol=1e-12)


def test_haversine_of_antipodes_is_pi():
    X = np.array([[0.0, 0.0], [0.0, np.pi]])
    assert distance(m.HAVERSINE, X, 0, X, 1, 2.0, NONE) == pytest.approx(np.pi)


def test_mahalanobis():
    X = rows(np.float64, d=3)
    inverse = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 4.0]])
    expected = naive.pairs(lambda x, y: naive.real_distance("mahalanobis", x, y, v=inverse), X, X)
    np.testing.assert_allclose(matrix(m.MAHALANOBIS, X, X, v=inverse), expected, atol=1e-14)


def test_weighted_hamming():
    X = rows(np.float64)
    weights = np.arange(X.shape[1], dtype=np.float64)[None]
    expected = naive.pairs(lambda x, y: naive.real_distance("hamming", x, y, v=weights), X, X)
    np.testing.assert_allclose(matrix(m.WEIGHTED_HAMMING, X, X, v=weights), expected)


def test_missing_values_are_left_out():
    X = rows(np.float64).copy()
    X[3, 1:4] = np.nan
    X[4, 4:] = np.nan
    X[5] = np.nan
    expected = naive.pairs(lambda x, y: naive.real_distance("nan_squares", x, y), X, X)
    np.testing.assert_allclose(matrix(m.NAN_SQUARES, X, X), expected, rtol=1e-13)


@pytest.mark.parametrize("code", [*range(m.WEIGHTED_HAMMING), *BOOLEAN.values()])
def test_reduced_distances_come_back(code):
    for distance in (0.0, 1e-3, 0.7):
        reduced = m.dist_to_rdist(code, distance, 2.5)
        assert m.rdist_to_dist(code, reduced, 2.5) == pytest.approx(distance, rel=1e-13)


@pytest.mark.parametrize("code", [m.EUCLIDEAN, m.MANHATTAN, m.CHEBYSHEV, m.QUARTIC, m.CANBERRA])
def test_a_row_against_many(code):
    X = rows(np.float32)
    out = np.full(6, -1.0)
    m.rdist_to_rows(code, X, 7, X, 2, 7, 2.0, NONE, out)
    assert out[5] == -1.0
    assert list(out[:5]) == [m.rdist(code, X, 7, X, j, 2.0, NONE) for j in range(2, 7)]


EVERY = [None] * 2 + [(None,)] * 8 + [(True,)] * 22  # by code


@pytest.mark.parametrize("code", [*range(m.LAST_BOOLEAN_METRIC + 1), m.NAN_SQUARES, m.CHI_SQUARES])
def test_the_chosen_family_gives_the_same_distance(code):
    """What kernels compiled for some metrics say is what `rdist` says, row by row or at once."""
    X = rows(np.float64)
    if code == m.HAVERSINE:
        X = np.ascontiguousarray(X[:, :2])
    v = np.eye(X.shape[1]) if code == m.MAHALANOBIS else np.ones((1, X.shape[1]))
    expected = [m.rdist(code, X, 4, X, j, 1.7, v) for j in range(2, 9)]
    found = [m.chosen_rdist(EVERY[code], code, X, 4, X, j, 1.7, v) for j in range(2, 9)]
    at_once = np.empty(9)
    m.chosen_rdist_to_rows(EVERY[code], code, X, 4, X, 2, 9, 1.7, v, at_once)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(at_once[:7], expected, rtol=1e-14)


def test_float32_rows_are_subtracted_in_float64():
    X = np.array([[1.0, 1.0]], dtype=np.float32)
    Y = np.array([[1e-9, 1e-9]], dtype=np.float32)
    exact = 2.0 * (1.0 - np.float64(np.float32(1e-9)))
    assert m.rdist(m.MANHATTAN, X, 0, Y, 0, 1.0, NONE) == exact


def test_every_code_of_the_tables_is_a_constant_of_the_kernel_file():
    codes = {value for name, value in vars(m).items() if name.isupper()}
    assert set(METRICS.values()) <= codes
    assert set(TREE_METRICS.values()) <= codes
    assert "cosine" not in TREE_METRICS
