"""Locally linear and spectral embedding beside scikit-learn, and where they must refuse."""

import warnings

import numpy as np
import pytest
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import make_swiss_roll

from fastml.manifold import (
    LocallyLinearEmbedding,
    SpectralEmbedding,
    locally_linear_embedding,
    spectral_embedding,
    trustworthiness,
)
from fastml.manifold import _smallest as smallest


def roll(n, seed=0):
    return make_swiss_roll(n, random_state=seed)[0]


def signed(columns):
    largest = np.abs(columns).argmax(axis=0)
    return columns * np.sign(columns[largest, range(columns.shape[1])])


METHODS = ["standard", "hessian", "modified", "ltsa"]


@pytest.mark.filterwarnings("ignore:The neighbors graph is not connected")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [90, 260])  # dense, Lanczos
@pytest.mark.parametrize("n_neighbors", [8, 2])  # more than dimensions, fewer
def test_locally_linear_is_scikit_learns(method, n, n_neighbors):
    n_components = 2 if n_neighbors == 8 else 1
    if n_neighbors == 2 and method == "hessian":
        pytest.skip("needs more neighbours")
    params = {
        "n_neighbors": n_neighbors,
        "n_components": n_components,
        "method": method,
        "reg": 1e-2,
        "random_state": 0,
        "tol": 0.0,
    }
    if n_neighbors == 2:
        params["eigen_solver"] = "dense"  # the graph falls apart
    ours = LocallyLinearEmbedding(**params).fit(roll(n))
    with np.errstate(invalid="ignore"):
        theirs = sklearn.manifold.LocallyLinearEmbedding(**params).fit(roll(n))
    assert_allclose(ours.reconstruction_error_, theirs.reconstruction_error_, atol=1e-12)
    if n_neighbors == 2:
        return  # many eigenvalues 0: any basis of these will do
    both = [model.transform(roll(7, seed=1)) for model in (ours, theirs)]
    if n == 90:  # LAPACK's signs
        assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-8)
        assert_allclose(*both, atol=1e-8)
    else:
        assert_allclose(ours.embedding_, signed(theirs.embedding_), atol=1e-7)
        assert_allclose(ours.embedding_, signed(ours.embedding_))


def test_locally_linear_keeps_neighbours_of_a_sheet():
    X = roll(600)
    for method in METHODS:
        params = {"n_neighbors": 12, "n_components": 2, "method": method, "random_state": 0}
        Y, error = locally_linear_embedding(X, **params)
        assert trustworthiness(X, Y, n_neighbors=12) > 0.85
        assert 0 <= error < 1e-2
        for n_jobs in (1, 2):
            assert_array_equal(locally_linear_embedding(X, n_jobs=n_jobs, **params)[0], Y)


def test_weights_make_up_new_rows():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = LocallyLinearEmbedding(n_neighbors=12, n_components=2, reg=1e-9, method="ltsa").fit(X)
    # Where rows lie in a plane, positions are a linear map of it, new rows included.
    design = np.c_[np.ones(300), X]
    linear, *_ = np.linalg.lstsq(design, model.embedding_, rcond=None)
    assert_allclose(design @ linear, model.embedding_, atol=1e-6)
    new = np.random.default_rng(1).normal(size=(20, 2))
    assert_allclose(model.transform(new), np.c_[np.ones(20), new] @ linear, atol=1e-5)
    assert_allclose(model.transform(new[:1]), model.transform(new)[:1], atol=0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_components": 4}, "output dimension must be less"),
        ({"n_neighbors": 30}, "Expected n_neighbors < n_samples"),
        ({"method": "hessian", "n_neighbors": 5}, "must be greater than"),
        ({"method": "modified", "n_neighbors": 1}, "requires n_neighbors"),
        ({"eigen_solver": "lobpcg"}, "eigen_solver"),
    ],
)
def test_locally_linear_refuses(params, words):
    with pytest.raises(ValueError, match=words):
        LocallyLinearEmbedding(**params).fit(roll(30))


def test_constant_rows_have_no_embedding():
    with pytest.raises(ValueError, match="Error in determining null-space"):
        LocallyLinearEmbedding(n_neighbors=2, n_components=1, eigen_solver="arpack").fit(
            np.ones((210, 3))
        )


def two_blobs(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)) + 3.0 * (np.arange(n) % 2)[:, None]


@pytest.mark.parametrize(
    ("n", "params"),
    [
        (60, {}),
        (500, {}),  # many neighbours: Lanczos on the Laplacian
        (500, {"n_neighbors": 12}),  # few: on its inverse
        (500, {"affinity": "rbf", "n_components": 3}),
        (80, {"affinity": "rbf", "gamma": 0.5}),
    ],
)
def test_spectral_is_scikit_learns(n, params):
    X = two_blobs(n)
    ours = SpectralEmbedding(**params).fit(X)
    theirs = sklearn.manifold.SpectralEmbedding(**params, random_state=0).fit(X)
    assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-9)
    for n_jobs in (1, 2):
        again = SpectralEmbedding(**params, n_jobs=n_jobs).fit_transform(X)
        assert_array_equal(again, ours.embedding_)
    for name in ("n_neighbors_", "gamma_"):
        if hasattr(theirs, name):
            assert getattr(ours, name) == getattr(theirs, name)


def test_spectral_of_graphs_given():
    X = two_blobs(70)
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    A = np.exp(-squares / 4.0)
    expected = SpectralEmbedding(affinity="rbf").fit_transform(X)
    for given in (A, csr_array(A)):
        found = SpectralEmbedding(affinity="precomputed").fit_transform(given)
        assert_allclose(found, expected, atol=1e-10)
    found = SpectralEmbedding(affinity=lambda rows: A).fit_transform(X)
    assert_allclose(found, expected, atol=1e-10)
    by_distance = SpectralEmbedding(affinity="precomputed_nearest_neighbors", n_neighbors=9)
    theirs = sklearn.manifold.SpectralEmbedding(**by_distance.get_params())
    assert_allclose(
        by_distance.fit_transform(np.sqrt(squares)), theirs.fit_transform(np.sqrt(squares)),
        atol=1e-10,
    )  # fmt: skip
    for norm_laplacian in (True, False):
        for drop_first in (True, False):
            params = {"n_components": 3, "norm_laplacian": norm_laplacian, "drop_first": drop_first}
            theirs = sklearn.manifold.spectral_embedding(A, random_state=0, **params)
            assert_allclose(spectral_embedding(A, **params), theirs, atol=1e-9)
    assert spectral_embedding(A.astype(np.float32)).dtype == np.float32


def test_each_way_to_the_smallest_eigenvalues_is_the_same(monkeypatch):
    X = two_blobs(320)
    A = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    expected = spectral_embedding(A, n_components=4)  # by products of the whole
    sparse = csr_array(np.where(A > 1e-300, A, 0.0))
    assert_allclose(spectral_embedding(sparse, n_components=4), expected, atol=1e-9)
    monkeypatch.setattr(smallest, "MOST_PRODUCTS", 1)  # by factors
    assert_allclose(spectral_embedding(A, n_components=4), expected, atol=1e-9)
    assert_allclose(spectral_embedding(sparse, n_components=4), expected, atol=1e-9)
    monkeypatch.setattr(smallest, "DENSE_UP_TO", 320)
    assert_allclose(spectral_embedding(A, n_components=4), expected, atol=1e-9)


def test_parts_are_counted_and_told_apart():
    graph = np.kron(np.eye(2), np.ones((5, 5)))
    for given in (graph, csr_array(graph)):
        with pytest.warns(UserWarning, match="not fully connected.* 2 connected components"):
            Y = spectral_embedding(given, n_components=1, drop_first=False)
        assert np.ptp(Y[:5]) < 1e-12
        assert np.ptp(Y[5:]) < 1e-12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spectral_embedding(graph + 0.01, n_components=2)


def test_spectral_refuses():
    with pytest.warns(UserWarning, match="needs 6 eigenvectors.* 4 components"):
        assert spectral_embedding(np.ones((5, 5)), n_components=5).shape == (5, 4)
    with pytest.raises(ValueError, match="square"):
        spectral_embedding(np.ones((5, 4)))
    with pytest.warns(UserWarning, match="not symmetric"):
        spectral_embedding(np.triu(np.ones((6, 6))), n_components=1)
    with pytest.warns(UserWarning, match="does not support sparse input"):
        model = SpectralEmbedding().fit(csr_array(two_blobs(30)))
    assert model.affinity == "nearest_neighbors"


def test_negative_weights_are_served():
    A = np.random.default_rng(0).normal(size=(320, 320))
    A = A + A.T + 40.0
    L = np.diag(A.sum(axis=1)) - A
    vectors = np.linalg.eigh(L)[1][:, 1:3]
    found = spectral_embedding(A, n_components=2, norm_laplacian=False)
    assert_allclose(np.abs(found.T @ vectors), np.eye(2), atol=1e-8)


@pytest.mark.parametrize("method", ["standard", "modified"])
def test_locally_linear_embedding_counts_parts(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 100.0 * (np.arange(40) % 2)[:, None]
    for fit in (
        LocallyLinearEmbedding(method=method, random_state=0).fit,
        lambda X: locally_linear_embedding(X, n_neighbors=5, n_components=2, method=method),
    ):
        with pytest.warns(UserWarning, match="not connected, it has 2 connected components"):
            fit(X)
