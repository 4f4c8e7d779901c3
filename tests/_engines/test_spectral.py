import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.spectral import blocks, factors, scatter, sketch
from fastml._engines.spectral.lanczos import leading_eigenpairs
from fastml._engines.spectral.operators import CentredRows, projected, symmetric_product
from fastml._engines.spectral.signs import flipped


def rows(n=120, d=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.linspace(3.0, 0.5, d) + rng.normal(size=d)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "width"), [(1, 1), (9, 3), (203, 8), (700, 11)])
def test_symmetric_product(n, width, dtype):
    """Of the upper triangle alone, of the same bits for any number of threads."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(n, n)).astype(dtype)
    K, V = K + K.T, rng.normal(size=(n, width))
    expected = K @ V
    K[np.tril_indices(n, -1)] = np.nan
    found = symmetric_product(K, V, 1)
    assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-10)
    for order in ("C", "F"):
        assert_array_equal(symmetric_product(K, np.asarray(V, order=order), 2), found)


@pytest.mark.parametrize("values", [[5.0, 5.0, 5.0, 3.0, 3.0, 1.0], [0.0], [1.0, -9.0, -9.0]])
def test_leading_eigenpairs_of_a_known_spectrum(values):
    """Eigenvalues that occur several times, none but zeros, and large negative ones."""
    n, k = 90, 5
    spectrum = np.concatenate([values, np.zeros(n - len(values))])
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    A = (Q * spectrum) @ Q.T
    found = leading_eigenpairs(lambda V: A @ V, n, k)
    assert found.converged
    assert_allclose(found.values, np.sort(spectrum)[::-1][:k], atol=1e-12)
    assert_allclose(found.vectors.T @ found.vectors, np.eye(k), atol=1e-12)
    assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-11)


def test_leading_eigenpairs_restart_and_tell_their_error():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(300, 300))
    A = A + A.T
    exact = np.linalg.eigvalsh(A)[::-1]
    found = leading_eigenpairs(lambda V: A @ V, 300, 3, basis=30)
    assert found.converged
    assert found.products > 30
    assert_allclose(found.values, exact[:3], rtol=1e-11)
    short = leading_eigenpairs(lambda V: A @ V, 300, 3, most_products=40)
    assert not short.converged
    assert short.products <= 48
    off = np.linalg.norm(A @ short.vectors - short.vectors * short.values, axis=0)
    assert_allclose(short.residuals, off, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_scatter_is_that_of_centred_rows_and_merges(weighted, offset):
    X = rows() + offset
    u = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float) if weighted else None
    many = X if u is None else np.repeat(X, u.astype(int), axis=0)
    products = np.cov(many.T, bias=True) * len(many)
    whole = scatter.scatter_of(X, u)
    cut = lambda s: None if u is None else u[s]  # noqa: E731
    parts = [scatter.scatter_of(X[s], cut(s)) for s in (slice(0, 50), slice(50, None))]
    merged = scatter.merge(*parts)
    spread = scatter.spread_of(X, u)
    for found in (whole, merged):
        assert found.total == len(many)
        assert_allclose(found.mean, many.mean(axis=0), rtol=1e-13)
        assert_allclose(found.products, products, atol=1e-6 if offset else 1e-10)
    assert_allclose(spread.products, np.diag(products), rtol=1e-7)
    assert_allclose(scatter.covariance(whole), products / (len(many) - 1), atol=1e-6)


def test_sparse_statistics_are_those_of_dense_rows():
    X = rows() * (np.random.default_rng(0).random((120, 9)) < 0.3)
    u = np.random.default_rng(1).random(120)
    for matrix in (sp.csr_array(X), sp.csc_array(X)):
        assert_allclose(scatter.scatter_of(matrix, u).products, scatter.scatter_of(X, u).products)
        assert_allclose(scatter.spread_of(matrix, u).products, scatter.spread_of(X, u).products)


@pytest.mark.parametrize("shape", [(120, 9), (9, 120)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
def test_products_of_centred_rows(shape, container):
    X = rows(*shape)
    u = np.random.default_rng(1).random(shape[0])
    mean = u @ X / u.sum()
    A = CentredRows(container(X), mean, u)
    dense = (X - mean) * np.sqrt(u)[:, None]
    V, P = np.eye(shape[1])[:, :4], np.eye(shape[0])[:, 1:4]
    assert_allclose(A.product(V), dense @ V, atol=1e-12)
    assert_allclose(A.transposed(P), dense.T @ P, atol=1e-12)
    assert_allclose(A.gram_product(V), dense.T @ dense @ V, atol=1e-11)
    assert_allclose(A.outer_product(P), dense @ dense.T @ P, atol=1e-11)
    small = dense.T @ dense if shape[1] < shape[0] else dense @ dense.T
    assert_allclose(A.smaller_gram(), small, atol=1e-11)
    assert_allclose(A.dense(), dense, atol=1e-12)
    assert_allclose(projected(container(X), V.T, mean), (X - mean) @ V, atol=1e-12)


def test_blocks_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(blocks, "SMALL", 0)
    X = rows(9000, 40)
    A = {n: CentredRows(X, X.mean(axis=0), n_jobs=n) for n in (1, 2)}
    V = np.random.default_rng(0).normal(size=(40, 3))
    assert_array_equal(A[1].gram_product(V), A[2].gram_product(V))
    one, two = (scatter.scatter_of(X, n_jobs=n) for n in (1, 2))
    assert_array_equal(one.products, two.products)
    assert_array_equal(factors.triangle(A[1]), factors.triangle(A[2]))
    assert_allclose(factors.triangle(A[1]).T @ factors.triangle(A[1]), one.products, rtol=1e-9)


@pytest.mark.parametrize("shape", [(3000, 60), (60, 3000)])
def test_sparse_products_in_one_pass_do_not_depend_on_threads(shape):
    X = sp.random_array(shape, density=0.2, rng=np.random.default_rng(0), format="csr")
    V = np.random.default_rng(0).normal(size=(min(shape), 40))
    name = "gram_product" if shape[1] < shape[0] else "outer_product"
    mean = np.asarray(X.mean(axis=0)).ravel()
    A = {n: CentredRows(X, mean, n_jobs=n) for n in (1, 2)}
    assert A[1].sparse.parts(min(shape)) == 8
    found = {n: getattr(A[n], name)(V) for n in (1, 2)}
    assert_array_equal(found[1], found[2])
    dense = X.toarray() - mean
    square = dense.T @ dense if shape[1] < shape[0] else dense @ dense.T
    assert_allclose(found[1], square @ V, atol=1e-10)
    few = sp.csr_array(X[:20, :20])  # too few entries: two products
    B = CentredRows(few, None)
    assert B.sparse.parts(20) < 2
    assert_allclose(B.gram_product(np.eye(20)), (few.T @ few).toarray(), atol=1e-12)


def test_sketches_merge_to_the_rows_themselves():
    X = rows()
    merged = sketch.merge_sketches(sketch.sketch_of(X[:30]), sketch.sketch_of(X[30:]))
    centred = X - X.mean(axis=0)
    assert_allclose(merged.rows.T @ merged.rows, centred.T @ centred, atol=1e-10)
    assert_allclose(merged.squares, (centred**2).sum(axis=0))
    singular, right = merged.cut(2).factors()
    exact = np.linalg.svd(centred, full_matrices=False)
    assert_allclose(singular[:2], exact[1][:2])
    assert_allclose(right[:2], flipped(exact[2][:2]), atol=1e-10)


def test_the_largest_entry_is_positive():
    assert_array_equal(flipped(np.array([[1.0, -2.0], [3.0, 1.0], [0.0, 0.0]])),
                       [[-1.0, 2.0], [3.0, 1.0], [0.0, 0.0]])  # fmt: skip
