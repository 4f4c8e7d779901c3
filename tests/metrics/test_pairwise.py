"""`fastml.metrics.pairwise` against scikit-learn and SciPy, and what goes beyond them."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.spatial.distance as scipy_distance
import sklearn.metrics.pairwise as theirs
from numba import njit
from sklearn.exceptions import DataConversionWarning

import fastml.metrics.pairwise as ours
from fastml._engines.distances.names import METRICS
from fastml._jit import jit_enabled

FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])
BOOLEAN = [name for name in ours.PAIRWISE_BOOLEAN_FUNCTIONS if name != "sokalmichener"]
REAL = [
    "euclidean",
    "l2",
    "sqeuclidean",
    "manhattan",
    "cityblock",
    "l1",
    "chebyshev",
    "cosine",
    "correlation",
    "hamming",
    "canberra",
    "braycurtis",
    "seuclidean",
    "mahalanobis",
]


def rows(n=20, d=5, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


X, Y = rows(), rows(13, seed=1)


# ---------------------------------------------------------------------------- the same answers


@FLOATS
@pytest.mark.parametrize("metric", REAL)
@pytest.mark.parametrize("d", [3, 20])
def test_metrics_are_scikit_learns(metric, dtype, d):
    X, Y = rows(d=d, dtype=dtype), rows(13, d=d, dtype=dtype, seed=1)
    X[3] = X[5]
    wide = {"V": np.linspace(0.5, 2, d)} if metric == "seuclidean" else {}
    if metric == "mahalanobis":
        wide = {"VI": np.cov(rows(50, d).T)}
    tolerance = {"rtol": 1e-9 if dtype == np.float64 else 1e-5, "atol": 1e-7}
    for other in (None, Y):
        expected = theirs.pairwise_distances(
            X.astype(float), None if other is None else other.astype(float), metric=metric, **wide
        )
        result = ours.pairwise_distances(X, other, metric=metric, **wide)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, **tolerance)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_parameters_from_the_data(metric):
    expected = theirs.pairwise_distances(X, metric=metric)
    np.testing.assert_allclose(ours.pairwise_distances(X, metric=metric), expected, atol=1e-12)
    with pytest.raises(ValueError, match="parameter is required"):
        ours.pairwise_distances(X, Y, metric=metric)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, 4, 7.7, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_minkowski(p, weighted):
    parameters = {"w": np.linspace(0, 2, X.shape[1])} if weighted else {}
    expected = scipy_distance.cdist(X, Y, "minkowski", p=p, **parameters)
    result = ours.pairwise_distances(X, Y, metric="minkowski", p=p, **parameters)
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize("metric", ["sqeuclidean", "chebyshev", "braycurtis", "hamming"])
def test_weights_of_coordinates(metric):
    weights = np.array([0.0, 1.0, 2.0, 0.5, 3.0])
    A, B = (np.round(each) for each in (X, Y))
    expected = scipy_distance.cdist(A, B, metric, w=weights)
    np.testing.assert_allclose(ours.pairwise_distances(A, B, metric=metric, w=weights), expected)


@pytest.mark.parametrize("metric", BOOLEAN)
@pytest.mark.parametrize("d", [5, 100])
def test_boolean_metrics(metric, d):
    A, B = rows(d=d) > 0.3, rows(13, d=d, seed=1) > 0
    A[2] = True
    for other in (A, B):
        expected = scipy_distance.cdist(A, other, metric)
        np.testing.assert_allclose(ours.pairwise_distances(A, other, metric=metric), expected)


def test_weighted_sets():
    A, B = rows(d=7) > 0.3, rows(13, d=7, seed=1) > 0
    weights = np.arange(1.0, 8.0)
    expected = scipy_distance.cdist(A, B, "jaccard", w=weights)
    result = ours.pairwise_distances(A, B, metric="jaccard", w=weights)
    np.testing.assert_allclose(result, expected)


def test_two_empty_sets_are_equal():
    A = np.zeros((2, 4), dtype=bool)
    assert not ours.pairwise_distances(A, metric="jaccard").any()
    assert not ours.pairwise_distances(A.astype(float), metric="weighted_jaccard").any()


def test_weighted_jaccard():
    A, B = np.abs(X), np.abs(Y)
    expected = [[1 - np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in B] for a in A]
    np.testing.assert_allclose(ours.pairwise_distances(A, B, metric="weighted_jaccard"), expected)
    with pytest.raises(ValueError, match="non-negative"):
        ours.pairwise_distances(X, metric="weighted_jaccard")


def test_boolean_metrics_tell_of_a_conversion():
    with pytest.warns(DataConversionWarning, match="converted to boolean for metric dice"):
        ours.pairwise_distances([[1, 0], [1, 1]], metric="dice")


@pytest.mark.parametrize("kind", [str, object, bool, int, np.float32])
def test_hamming_of_any_type(kind):
    values = np.random.default_rng(0).integers(0, 2, (9, 6))
    A = np.where(values, "yes", "no").astype(kind) if kind in (str, object) else values.astype(kind)
    expected = (values[:, None] != values[None]).mean(axis=2)
    np.testing.assert_allclose(ours.pairwise_distances(A, metric="hamming"), expected)
    np.testing.assert_allclose(ours.pairwise_distances(A, A[:4], metric="hamming"), expected[:, :4])


def test_missing_values():
    A = X.copy()
    A[np.random.default_rng(2).random(A.shape) < 0.3] = np.nan
    expected = theirs.nan_euclidean_distances(A)
    np.testing.assert_allclose(ours.nan_euclidean_distances(A), expected, atol=1e-7)
    result = ours.pairwise_distances(A, Y, metric="nan_euclidean", squared=True)
    np.testing.assert_allclose(result, theirs.nan_euclidean_distances(A, Y, squared=True))
    B = np.nan_to_num(A, nan=-9.0)
    result = ours.nan_euclidean_distances(B, missing_values=-9.0)
    np.testing.assert_allclose(result, expected, atol=1e-7)
    assert (B == -9.0).any(), "the input must stay as it was"


def test_haversine():
    A = np.random.default_rng(0).uniform(-1.5, 1.5, (8, 2))
    np.testing.assert_allclose(ours.haversine_distances(A), theirs.haversine_distances(A))


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("both", [True, False])
def test_sparse_rows(metric, both):
    A = np.where(rows() > 0.4, X, 0.0)
    B = np.where(rows(13) > 0.4, Y, 0.0)
    other = sp.csr_matrix(B) if both else B
    expected = ours.pairwise_distances(A, B, metric=metric)
    result = ours.pairwise_distances(sp.csr_array(A), other, metric=metric)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    expected = ours.pairwise_distances(A, metric=metric)
    result = ours.pairwise_distances(sp.coo_array(A), metric=metric)
    np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("column", [3, 7, -1, 2**31 - 1])
@pytest.mark.parametrize(
    "distances", [ours.euclidean_distances, ours.manhattan_distances, ours.cosine_distances]
)
def test_a_sparse_matrix_with_a_column_that_it_does_not_have(distances, column):
    """Kernels read by these indices without a check."""
    A, B = sp.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])), np.ones((2, 3))
    A.indices[1] = column
    for pair in ((A,), (A, B), (B, A)):
        with pytest.raises(ValueError, match=f"3 columns, and a value in column {column}"):
            distances(*pair)


def test_sparse_sets():
    A = rows(d=30) > 1.0
    expected = ours.pairwise_distances(A, metric="jaccard")
    np.testing.assert_allclose(ours.pairwise_distances(sp.csr_array(A), metric="jaccard"), expected)


# ---------------------------------------------------------------------------- exactness


@FLOATS
@pytest.mark.parametrize("d", [2, 8, 9, 64])
def test_near_duplicates(d, dtype):
    A = (100.0 + 1e-4 * rows(30, d)).astype(dtype)
    B = (100.0 + 1e-4 * rows(20, d, seed=1)).astype(dtype)
    gaps = A[:, None].astype(np.float64) - B[None].astype(np.float64)
    expected = np.sqrt((gaps**2).sum(axis=2))
    rtol = 1e-6 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(ours.euclidean_distances(A, B), expected, rtol=rtol)
    sparse = ours.euclidean_distances(sp.csr_array(A), sp.csr_array(B))
    np.testing.assert_allclose(sparse, expected, rtol=rtol)


@pytest.mark.parametrize("metric", sorted(set(METRICS) - {"haversine"}))
def test_symmetric_to_the_bit_and_zero_to_itself(metric):
    A = rows(70, 6) > 0 if metric in ours.PAIRWISE_BOOLEAN_FUNCTIONS else np.abs(rows(70, 6))
    if A.dtype == bool:
        A[:, 0] = True  # no empty sets: some metrics are 0 / 0 there, as in SciPy
    D = ours.pairwise_distances(A, metric=metric)
    np.testing.assert_array_equal(D, D.T)
    if metric not in ("russellrao",):
        np.testing.assert_allclose(np.diagonal(D), 0.0, atol=1e-15)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "canberra", "cosine", "jaccard"])
def test_threads_do_not_change_a_bit(metric):
    A, B = rows(300, 40), rows(301, 40, seed=1)
    if metric == "jaccard":
        A, B = A > 0, B > 0
    for other in (None, B):
        one = ours.pairwise_distances(A, other, metric=metric, n_jobs=1)
        two = ours.pairwise_distances(A, other, metric=metric, n_jobs=2)
        np.testing.assert_array_equal(one, two)


def test_read_only_fortran_and_sliced_input():
    A = rows(30, 8)
    expected = ours.pairwise_distances(A, metric="manhattan")
    for other in (np.asfortranarray(A), np.repeat(A, 2, axis=1)[:, ::2]):
        other.flags.writeable = False
        np.testing.assert_array_equal(ours.pairwise_distances(other, metric="manhattan"), expected)


# ---------------------------------------------------------------------------- out


@FLOATS
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "canberra", "nan_euclidean"])
def test_out(metric, dtype):
    out = np.empty((20, 13), dtype=dtype)
    assert ours.pairwise_distances(X, Y, metric=metric, out=out) is out
    np.testing.assert_allclose(out, ours.pairwise_distances(X, Y, metric=metric), rtol=1e-6)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((20, 12)), "out must have shape"),
        (np.empty((20, 13), dtype=int), "float32 or float64"),
        (np.empty((13, 20)).T, "C-contiguous"),
    ],
)
def test_bad_out(out, message):
    with pytest.raises(ValueError, match=message):
        ours.pairwise_distances(X, Y, out=out)


def test_out_must_not_be_the_input():
    A = rows(5, 5)
    with pytest.raises(ValueError, match="share memory"):
        ours.pairwise_distances(A, out=A)


# ---------------------------------------------------------------------------- nearest rows


@pytest.mark.parametrize("metric", [*REAL, "minkowski", "nan_euclidean", "correlation", "jaccard"])
@pytest.mark.parametrize("d", [3, 20])
def test_nearest_is_the_smallest_of_the_matrix(metric, d):
    A, B = rows(80, d), rows(90, d, seed=1)
    B[40] = B[3]
    A[7] = B[3]
    if metric == "jaccard":
        A, B = A > 0, B > 0
    extra = {
        "minkowski": {"p": 3},
        "seuclidean": {"V": np.ones(d)},
        "mahalanobis": {"VI": np.eye(d)},
    }
    parameters = extra.get(metric, {})
    D = ours.pairwise_distances(A, B, metric=metric, **parameters)
    arguments = {"metric": metric, "metric_kwargs": parameters}
    indices, distances = ours.pairwise_distances_argmin_min(A, B, **arguments)
    np.testing.assert_array_equal(indices, D.argmin(axis=1))
    np.testing.assert_allclose(distances, D.min(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.pairwise_distances_argmin(A, B, **arguments), indices)
    other = ours.pairwise_distances_argmin(A, B, axis=0, **arguments)
    np.testing.assert_array_equal(other, D.argmin(axis=0))


def test_chunks_add_up():
    D = ours.pairwise_distances(X, Y)
    chunks = list(ours.pairwise_distances_chunked(X, Y, working_memory=0))
    assert len(chunks) == len(X)
    np.testing.assert_array_equal(np.vstack(chunks), D)


# ---------------------------------------------------------------------------- functions as metrics


def test_python_function():
    expected = ours.pairwise_distances(X, Y, metric="manhattan")
    result = ours.pairwise_distances(X, Y, metric=lambda a, b: np.abs(a - b).sum())
    np.testing.assert_allclose(result, expected)


def test_python_function_takes_parameters_and_anything_as_rows():
    def apart(a, b, scale):
        return scale * abs(len(a) - len(b))

    result = ours.pairwise_distances(["a", "bbb"], metric=apart, scale=2)
    np.testing.assert_array_equal(result, [[0, 4], [4, 0]])


@pytest.mark.skipif(not jit_enabled(), reason="about compiled functions")
@FLOATS
def test_compiled_function(dtype):
    from numba import njit

    @njit
    def manhattan(a, b):
        total = 0.0
        for k in range(a.shape[0]):
            total += abs(a[k] - b[k])
        return total

    A, B = rows(80, dtype=dtype), rows(70, dtype=dtype, seed=1)
    for other in (None, B):
        expected = ours.pairwise_distances(A, other, metric="manhattan")
        result = ours.pairwise_distances(A, other, metric=manhattan, n_jobs=2)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.skipif(not jit_enabled(), reason="about compiled functions")
def test_two_compiled_functions_of_one_name_stay_apart():
    from numba import njit

    def make(factor):
        @njit
        def metric(a, b):
            return factor * abs(a[0] - b[0])

        return metric

    one, two = (ours.pairwise_distances(X, metric=make(factor)) for factor in (1.0, 2.0))
    np.testing.assert_array_equal(2.0 * one, two)


def test_precomputed():
    D = ours.pairwise_distances(X)
    assert ours.pairwise_distances(D, metric="precomputed") is D
    with pytest.raises(ValueError, match="non-negative"):
        ours.pairwise_distances(-D, metric="precomputed")
    with pytest.raises(ValueError, match="requires shape"):
        ours.pairwise_distances(D[:, :3], D, metric="precomputed")


# ---------------------------------------------------------------------------- kernels

KERNELS = sorted(ours.PAIRWISE_KERNEL_FUNCTIONS)
THEIR_KERNELS = sorted(theirs.PAIRWISE_KERNEL_FUNCTIONS)


@FLOATS
@pytest.mark.parametrize("kernel", THEIR_KERNELS)
@pytest.mark.parametrize("d", [4, 20])
def test_kernels_are_scikit_learns(kernel, dtype, d):
    A, B = (np.abs(rows(n, d, dtype, seed=n)) for n in (20, 13))
    for other in (None, B):
        expected = theirs.pairwise_kernels(A, other, metric=kernel)
        result = ours.pairwise_kernels(A, other, metric=kernel)
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == np.float32 else 1e-11)
        one = ours.pairwise_kernels(A, other, metric=kernel, n_jobs=1)
        np.testing.assert_allclose(one, result, rtol=1e-13)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
def test_kernels_of_sparse_rows(kernel):
    A = np.where(rows() > 0.4, X, 0.0)
    expected = ours.pairwise_kernels(A, metric=kernel)
    result = ours.pairwise_kernels(sp.csr_array(A), metric=kernel)
    np.testing.assert_allclose(result, expected, atol=1e-13)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k != "additive_chi2"])
def test_normalised_kernels_have_a_diagonal_of_ones(kernel):
    A, B = np.abs(X), np.abs(Y)
    K = ours.pairwise_kernels(A, metric=kernel, normalize=True)
    np.testing.assert_allclose(np.diagonal(K), 1.0)
    own_a, own_b = (np.diagonal(ours.pairwise_kernels(each, metric=kernel)) for each in (A, B))
    expected = ours.pairwise_kernels(A, B, metric=kernel) / np.sqrt(np.outer(own_a, own_b))
    result = ours.pairwise_kernels(A, B, metric=kernel, normalize=True)
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [(kernel, name) for kernel in sorted(ours.KERNEL_PARAMS) if kernel != "exponential"
     for name in sorted(ours.KERNEL_PARAMS[kernel])],
)  # fmt: skip
def test_parameters_of_kernels_in_an_array_of_one_value(kernel, name):
    X = np.abs(rows())
    for data in (X, sp.csr_array(X)) if kernel != "chi2" else (X,):
        for value in (np.array([0.5]), np.array([[2.0]]), np.array(2.0)):
            expected = theirs.pairwise_kernels(data, data[:3], metric=kernel, **{name: value})
            found = ours.pairwise_kernels(data, data[:3], metric=kernel, **{name: value})
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="one number"):
        ours.pairwise_kernels(X, metric=kernel, **{name: np.array([1.0, 2.0])})
    one = ours.pairwise_kernels(X, metric=kernel, **{name: np.array([2.0])}, normalize=True)
    np.testing.assert_allclose(np.diag(one), 1.0)


def test_a_normalised_kernel_is_0_where_its_diagonal_is():
    A = np.abs(X)
    assert not ours.pairwise_kernels(A, metric="additive_chi2", normalize=True).any()
    A[2] = 0.0
    K = ours.pairwise_kernels(A, metric="linear", normalize=True)
    assert not K[2].any()
    assert not K[:, 2].any()
    np.testing.assert_allclose(K, ours.cosine_similarity(A), atol=1e-12)
    with pytest.raises(ValueError, match="only where"):
        ours.pairwise_kernels(A, metric="sigmoid", gamma=0.0, coef0=-1.0, normalize=True)


def test_the_normalised_exponential_kernel_is_the_gaussian():
    np.testing.assert_allclose(ours.exponential_kernel(X, Y, gamma=0.3), np.exp(0.3 * X @ Y.T))
    found = ours.pairwise_kernels(X, Y, metric="exponential", gamma=0.3, normalize=True)
    np.testing.assert_allclose(found, ours.rbf_kernel(X, Y, gamma=0.15))
    sparse = ours.exponential_kernel(sp.csr_array(X), sp.csr_array(Y), gamma=0.3)
    np.testing.assert_allclose(sparse, np.exp(0.3 * X @ Y.T))


# ---------------------------------------------------------------------------- kernels of kernels


@njit
def shared_part(x, y):
    total = 0.0
    for k in range(x.shape[0]):
        total += min(abs(x[k]), abs(y[k]))
    return total


def linear_and(other):
    return ours.make_kernel("linear") + other


EXPRESSIONS = {
    "sum": (
        linear_and(ours.make_kernel("rbf", gamma=0.2)),
        lambda A, B: A @ B.T + ours.rbf_kernel(A, B, gamma=0.2),
    ),
    "number": (2.0 * linear_and(1.0) + 0.5, lambda A, B: 2.0 * (A @ B.T + 1.0) + 0.5),
    "product": (
        ours.make_kernel("poly", degree=2, gamma=1.0) * ours.make_kernel("laplacian", gamma=0.1),
        lambda A, B: (A @ B.T + 1.0) ** 2 * ours.laplacian_kernel(A, B, gamma=0.1),
    ),
    "power": (linear_and(3.0) ** 2, lambda A, B: (A @ B.T + 3.0) ** 2),
    "exponential": ((0.1 * ours.make_kernel("linear")).exp(), lambda A, B: np.exp(0.1 * A @ B.T)),
    "tensor product": (
        ours.make_kernel("linear").on([0, 1]) * ours.make_kernel("rbf", gamma=0.4).on([2]),
        lambda A, B: (A[:, :2] @ B[:, :2].T) * np.exp(-0.4 * (A[:, 2:3] - B[:, 2]) ** 2),
    ),
    "function": (
        linear_and(ours.make_kernel(shared_part)),
        lambda A, B: A @ B.T + np.minimum(np.abs(A)[:, None], np.abs(B)).sum(axis=2),
    ),
}
every_expression = pytest.mark.parametrize("name", EXPRESSIONS)


@every_expression
def test_kernels_made_of_kernels(name):
    kernel, by_hand = EXPRESSIONS[name]
    A, B = X[:, :4], Y[:, :4]
    np.testing.assert_allclose(kernel(A, B), by_hand(A, B), rtol=1e-10)
    np.testing.assert_allclose(ours.pairwise_kernels(A, metric=kernel), by_hand(A, A), rtol=1e-10)
    np.testing.assert_allclose(kernel.diagonal(A), np.diagonal(by_hand(A, A)), rtol=1e-10)
    unit = np.sqrt(np.outer(np.diagonal(by_hand(A, A)), np.diagonal(by_hand(B, B))))
    np.testing.assert_allclose(kernel.normalized()(A, B), by_hand(A, B) / unit, rtol=1e-10)
    if name != "function":
        np.testing.assert_allclose(
            kernel(sp.csr_array(A), sp.csr_array(B)), by_hand(A, B), rtol=1e-10
        )
    eigenvalues = np.linalg.eigvalsh(kernel(A))
    assert eigenvalues.min() > -1e-9 * eigenvalues.max()
    assert kernel == copy.deepcopy(kernel)
    assert pickle.loads(pickle.dumps(ours.make_kernel("rbf"))) == ours.make_kernel("rbf")


def test_what_is_no_kernel_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        _ = ours.make_kernel("rbf") * -1.0
    with pytest.raises(ValueError, match="powers"):
        _ = ours.make_kernel("rbf") ** 0.5
    with pytest.raises(ValueError, match="unknown kernel 'no'"):
        ours.make_kernel("no")
    with pytest.raises(TypeError, match="unexpected parameter 'degree'"):
        ours.make_kernel("rbf", degree=2)
    with pytest.raises(TypeError, match="made of kernels"):
        _ = ours.make_kernel("rbf") + None
    with pytest.raises(ValueError, match="on columns"):
        ours.make_kernel("rbf").on([9])(X[:, :4])


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("metric", [m for m in sorted(METRICS) if m != "haversine"])
def test_bad_arrays(metric):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        with pytest.raises(ValueError, match="Incompatible dimension"):
            ours.pairwise_distances(np.abs(X), np.abs(Y[:, :3]), metric=metric)
        with pytest.raises(ValueError, match="minimum of 1 is required"):
            ours.pairwise_distances(np.empty((0, 3)), metric=metric)
        with pytest.raises(ValueError, match="Expected 2D array"):
            ours.pairwise_distances(np.ones(3), metric=metric)


@pytest.mark.parametrize("metric", REAL)
def test_nan_and_complex_numbers(metric):
    A = X.copy()
    A[0, 0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        ours.pairwise_distances(A, Y, metric=metric)
    with pytest.raises(ValueError, match="Complex data not supported"):
        ours.pairwise_distances(X + 1j, metric=metric)


def test_unknown_names():
    with pytest.raises(ValueError, match=r"'metric' parameter of pairwise_distances.*'chebyshev'"):
        ours.pairwise_distances(X, metric="nonsense")
    with pytest.raises(ValueError, match=r"'metric' parameter of pairwise_kernels.*'rbf'"):
        ours.pairwise_kernels(X, metric="nonsense")
    with pytest.raises(TypeError, match="unexpected parameter 'q': metric 'minkowski' takes p, w"):
        ours.pairwise_distances(X, metric="minkowski", q=3)
    with pytest.raises(TypeError, match="unexpected parameter 'q': kernel 'rbf' takes gamma"):
        ours.pairwise_kernels(X, metric="rbf", q=3)
    ours.pairwise_kernels(X, metric="rbf", q=3, filter_params=True)


@pytest.mark.parametrize("p", [0, -1, np.nan, "2"])
def test_bad_power(p):
    with pytest.raises(ValueError, match="p must be a number > 0"):
        ours.pairwise_distances(X, metric="minkowski", p=p)


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("minkowski", {"w": [1.0]}),
        ("minkowski", {"w": -np.ones(5)}),
        ("seuclidean", {"V": [1.0]}),
        ("mahalanobis", {"VI": np.eye(3)}),
        ("haversine", {}),
    ],
)
def test_bad_parameters(metric, parameters):
    with pytest.raises(ValueError, match=r"must|only valid"):
        ours.pairwise_distances(X, metric=metric, **parameters)


def test_sparse_rows_where_there_is_no_kernel():
    with pytest.raises(TypeError, match="does not support sparse"):
        ours.pairwise_distances(sp.csr_array(X), metric="canberra")


# ---------------------------------------------------------------------------- equal or not, sets


def test_hamming_of_objects_compares_values_not_text():
    left = np.array([[1, "a"], [1.0, "a"], ["1", None], [True, np.nan]], dtype=object)
    expected = [[0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 1.0, 0.5], [1.0, 1.0, 0.0, 1.0]]
    found = ours.pairwise_distances(left, metric="hamming")
    np.testing.assert_array_equal(found[:3], expected)
    assert ours.pairwise_distances(left[3:], left[3:].copy(), metric="hamming") == 0.5  # NaN
    numbers = np.array([[1, 2]])
    words = np.array([["1", "2"]])
    assert ours.pairwise_distances(words, numbers, metric="hamming")[0, 0] == 1.0
    unhashable = np.empty((1, 2), dtype=object)
    unhashable[0] = [[1], 2]
    with pytest.raises(TypeError, match="hashable"):
        ours.pairwise_distances(unhashable, metric="hamming")


def test_hamming_of_long_integers():
    big = 2**53
    left = np.array([[big, 1], [big + 1, 1]])
    expected = [[0.0, 0.5], [0.5, 0.0]]
    np.testing.assert_array_equal(ours.pairwise_distances(left, metric="hamming"), expected)
    unsigned = left.astype(np.uint64)
    np.testing.assert_array_equal(
        ours.pairwise_distances(left, unsigned, metric="hamming"), expected
    )
    nearest = ours.pairwise_distances_argmin(left, left[::-1].copy(), metric="hamming")
    np.testing.assert_array_equal(nearest, [1, 0])


@pytest.mark.parametrize(
    "rows", [np.random.default_rng(0).integers(0, 3, (20, 7)), [["a", "b"], ["a", "c"]]]
)
def test_number_of_differences_and_whether_there_is_any(rows):
    rows = np.asarray(rows)
    differ = (rows[:, None] != rows[None]).sum(axis=2)
    np.testing.assert_array_equal(ours.pairwise_distances(rows, metric="l0"), differ)
    np.testing.assert_array_equal(ours.pairwise_distances(rows, metric="discrete"), differ > 0)
    out = np.empty(differ.shape)
    assert ours.pairwise_distances(rows, metric="l0", out=out) is out
    np.testing.assert_array_equal(out, differ)


def test_jaccard_of_sets():
    left = [{1, 2}, {2, 3, "x"}, set(), frozenset({1})]
    right = [{2}, set()]

    def distance(a, b):
        return 1.0 - len(a & b) / len(a | b) if a | b else 0.0

    expected = [[distance(a, b) for b in right] for a in left]
    np.testing.assert_allclose(ours.pairwise_distances(left, right, metric="jaccard"), expected)
    expected = [[distance(a, b) for b in left] for a in left]
    np.testing.assert_allclose(ours.pairwise_distances(left, metric="jaccard"), expected)
    assert ours.pairwise_distances([set()], metric="jaccard")[0, 0] == 0.0
    with pytest.raises(TypeError, match="weights"):
        ours.pairwise_distances(left, metric="jaccard", w=[1.0])


@pytest.mark.parametrize("metric", ["russellrao", "jaccard", "yule"])
def test_boolean_metrics_refuse_text_and_complex_numbers(metric):
    """Every text is true as a boolean: the distances would be those of ones."""
    for values in (np.array([["0", "1"], ["1", "1"]]), np.eye(2) * 1j):
        with pytest.raises(ValueError, match="takes real numbers or booleans"):
            ours.pairwise_distances(values, metric=metric)


@pytest.mark.parametrize("name", ["euclidean", "manhattan", "cosine"])
def test_paired_distances_of_dense_and_sparse(name):
    """As many rows as columns: squares of a matrix were matrix products."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 4, 4))
    distances = getattr(ours, f"paired_{name}_distances")
    expected = distances(X, Y)
    for A, B in ((X, sp.csr_matrix(Y)), (sp.csr_matrix(X), Y), (X, sp.csr_array(Y))):
        np.testing.assert_allclose(distances(A, B), expected)
