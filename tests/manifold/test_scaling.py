"""Scaling and Isomap beside scikit-learn, weights and gaps, measures, worked examples."""

import numpy as np
import pytest
import sklearn.manifold as theirs
from assertions import assert_bit_equal
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial import procrustes as scipy_procrustes
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll

from fastml import manifold
from fastml.manifold import (
    MDS,
    ClassicalMDS,
    Isomap,
    LocallyLinearEmbedding,
    _isomap,
    _leading,
    procrustes,
    smacof,
)


def rows(n=40, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def distances(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("metric", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_smacof_is_scikit_learns(metric, d):
    D = distances(np.round(rows(), 1))  # with ties
    start = rows(40, d, seed=1)
    given = {"metric": metric, "init": start, "max_iter": 30, "return_n_iter": True}
    ours, other = smacof(D, **given), theirs.smacof(D, **given)
    assert_allclose(ours[0], other[0], rtol=1e-7, atol=1e-9)
    assert_allclose(ours[1], other[1], rtol=1e-8)
    assert ours[2] == other[2]


def test_edges_go_both_ways_by_the_shorter_length():
    stored = {(0, 1): 2.0, (1, 0): 1.5, (1, 2): 0.0, (3, 1): 7.0}
    graph = csr_array(
        (list(stored.values()), tuple(zip(*stored, strict=True))), shape=(4, 4), dtype=float
    )
    both = _isomap._both_directions(graph)
    assert_array_equal(both.indptr, [0, 1, 4, 5, 6])
    assert_array_equal(both.indices, [1, 0, 2, 3, 1, 1])
    assert_array_equal(both.data, [1.5, 1.5, 0.0, 7.0, 0.0, 7.0])


@pytest.mark.parametrize("n_neighbors", [6, 30])  # few edges; many, so that all pairs are taken
def test_paths_of_few_and_many_edges_are_scikit_learns(n_neighbors):
    X = rows(60)
    ours, other = (m.Isomap(n_neighbors=n_neighbors).fit(X) for m in (manifold, theirs))
    assert_allclose(ours.dist_matrix_, other.dist_matrix_, rtol=1e-12)


def test_stress_never_rises():
    D = distances(rows())
    stresses = [smacof(D, init=rows(40, 2, seed=1), max_iter=k, eps=0)[1] for k in range(1, 15)]
    assert np.all(np.diff(stresses) <= 0)


def test_weights_are_repeated_terms_and_gaps_are_weights_of_zero():
    D = distances(rows(12))
    start = rows(12, 2, seed=1)
    plain = smacof(D, init=start, max_iter=20)[0]
    weighted = smacof(D, init=start, max_iter=20, weights=np.ones((12, 12)))[0]
    assert_allclose(distances(weighted), distances(plain), atol=1e-9)
    hidden = D.copy()
    hidden[0, 1] = hidden[1, 0] = np.nan
    weights = np.where(np.isnan(hidden), 0.0, 1.0)
    gaps = smacof(hidden, init=start, max_iter=20)[0]
    wrong = np.where(np.isnan(hidden), 99.0, hidden)
    assert_array_equal(smacof(wrong, init=start, max_iter=20, weights=weights)[0], gaps)
    plane = rows(12, 2, seed=3)
    given = distances(plane)
    given[0, 1] = given[1, 0] = np.nan
    found = MDS(metric="precomputed", init="random", random_state=0, eps=1e-12, max_iter=2000)
    assert_allclose(distances(found.fit_transform(given)), distances(plane), atol=0.05)


def test_bad_weights_and_distances():
    D = distances(rows(6))
    apart = np.zeros((6, 6))
    apart[:3, :3] = apart[3:, 3:] = 1.0
    for weights, message in ((apart, "do not connect"), (-apart, "negative"), (apart[:3], "shape")):
        with pytest.raises(ValueError, match=message):
            smacof(D, weights=weights)
    for wrong, message in ((np.triu(D), "symmetric"), (-D, "Negative|negative")):
        with pytest.raises(ValueError, match=message):
            MDS(metric="precomputed", init="random").fit(wrong)
        with pytest.raises(ValueError, match=message):
            Isomap(metric="precomputed", n_neighbors=3).fit(wrong)
    lonely = distances(rows(6))
    lonely[0, 1] = np.nan
    with pytest.raises(ValueError, match="both sides"):
        smacof(lonely)


def test_classical_scaling(monkeypatch):
    X = rows(60, 5)
    ours, other = ClassicalMDS(3).fit(X), theirs.ClassicalMDS(3).fit(X)
    assert_allclose(ours.eigenvalues_, other.eigenvalues_)
    assert_allclose(ours.embedding_, other.embedding_, atol=1e-9)
    monkeypatch.setattr(_leading, "DENSE_UP_TO", 10)
    by_krylov = ClassicalMDS(3).fit(X)
    assert_allclose(by_krylov.embedding_, other.embedding_, atol=1e-7)


def test_worked_examples():
    triangle = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    found = ClassicalMDS(metric="precomputed").fit(triangle)
    assert_allclose(found.eigenvalues_, [12.9641479965, 3.70251867018])
    assert_allclose(distances(found.embedding_), triangle, atol=1e-9)
    X = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [2.0, 0.0], [-2.0, 0.0]]
    Y = [[0.0, 1.0], [-1.0, 0.0], [1.0, -1.0], [0.0, 2.0], [0.0, -2.0]]
    turned = procrustes(X, Y)
    assert_allclose(turned.rotation, [[0.0, -1.0], [1.0, 0.0]], atol=1e-12)
    assert_allclose(turned.residual, 0.0, atol=1e-12)
    assert_allclose(turned.singular_values, [10.1231056256, 1.87689437438])
    for k in (1, 2, 5, 30):
        assert_allclose(manifold.perplexity(np.full(k, 1.0 / k)), k)


def test_procrustes_with_scale_and_shift():
    X = rows(10, 3)
    turn = np.linalg.qr(rows(3, 3, seed=1))[0]
    Y = 2.5 * X @ turn.T + [1.0, -2.0, 3.0]
    found = procrustes(X, Y, scaling=True)
    assert_allclose(found.scale, 2.5)
    assert_allclose(found.transformed, Y, atol=1e-12)
    Z = rows(10, 3, seed=2)
    left = procrustes(Z, X, scaling=True).residual ** 2 / ((X - X.mean(axis=0)) ** 2).sum()
    assert_allclose(left, scipy_procrustes(X, Z)[2])
    with pytest.raises(ValueError, match="one shape"):
        procrustes(X, Y[:5])


@pytest.mark.parametrize("parameters", [{"n_neighbors": 6}, {"n_neighbors": None, "radius": 7.0}])
def test_isomap_is_scikit_learns(parameters):
    X, _ = make_swiss_roll(200, random_state=0)
    new = X[:7] + 0.01
    ours = Isomap(**parameters).fit(X)
    other = theirs.Isomap(eigen_solver="dense", **parameters).fit(X)
    assert_allclose(ours.dist_matrix_, other.dist_matrix_, rtol=1e-12)
    assert_allclose(ours.embedding_, other.embedding_, atol=1e-8)
    assert_allclose(ours.transform(new), other.transform(new), atol=1e-8)
    assert_allclose(ours.reconstruction_error(), other.reconstruction_error())
    batch = ours.transform(new)
    assert_bit_equal(batch, np.vstack([ours.transform(row[None]) for row in new]))


def test_landmarks():
    X, _ = make_swiss_roll(300, random_state=0)
    full = Isomap(n_neighbors=8).fit(X)
    few = Isomap(n_neighbors=8, n_landmarks=150).fit(X)
    assert few.dist_matrix_.shape == (150, 300)
    left = procrustes(few.embedding_, full.embedding_).residual
    assert left < 0.1 * np.linalg.norm(full.embedding_)
    assert_allclose(few.transform(X[:5]), few.embedding_[:5], atol=0.5)
    every = Isomap(n_neighbors=8, n_landmarks=300).fit(X)
    assert_allclose(every.embedding_, full.embedding_, atol=1e-8)


@pytest.mark.parametrize(
    "model", [Isomap(), Isomap(n_landmarks=20), LocallyLinearEmbedding(random_state=0)], ids=str
)
def test_a_batch_is_its_rows_one_by_one(model):  # umap#1224
    model.fit(rows(60))
    new = rows(6, seed=1)
    kept = model.embedding_.copy()
    single = np.vstack([model.transform(row[None]) for row in new])
    assert_allclose(model.transform(new), single, rtol=1e-9, atol=1e-12)
    assert_array_equal(model.embedding_, kept)


@pytest.mark.filterwarnings("ignore:Changing the sparsity structure")  # scikit-learn's
def test_a_graph_in_parts_is_joined_and_said():  # sk#21915
    X = np.vstack([rows(20, 2), rows(20, 2, seed=1) + 50.0])
    with pytest.warns(UserWarning, match="connected components of the neighbors graph is 2 > 1"):
        ours = Isomap(n_neighbors=4).fit(X)
    with pytest.warns(UserWarning, match="2 > 1"):
        other = theirs.Isomap(n_neighbors=4, eigen_solver="dense").fit(X)
    assert ours.n_connected_components_ == 2
    assert_allclose(ours.dist_matrix_, other.dist_matrix_, rtol=1e-12)
    assert np.isfinite(ours.embedding_).all()


def test_measures():
    X, Y = rows(50, 5), rows(50, 2, seed=1)
    for k in (3, 10):
        ours = manifold.trustworthiness(X, Y, n_neighbors=k)
        assert_allclose(ours, theirs.trustworthiness(X, Y, n_neighbors=k), rtol=1e-12)
        given = {"n_neighbors": k, "metric": "precomputed"}
        assert manifold.trustworthiness(distances(X), Y, **given) == ours
    assert manifold.neighborhood_preservation(X, X @ np.diag([2.0] * 5)) == 1.0
    near = [set(np.argsort(row)[1:6]) for row in distances(X)]
    other = [set(np.argsort(row)[1:6]) for row in distances(Y)]
    expected = np.mean([len(a & b) / 5 for a, b in zip(near, other)])
    assert_allclose(manifold.neighborhood_preservation(X, Y), expected)


@pytest.mark.parametrize("model", [MDS(init="random"), ClassicalMDS(), Isomap()])
def test_memory_is_said_before_it_is_taken(model):
    with config_context(working_memory=1), pytest.raises(MemoryError, match="500 x 500 pairs"):
        model.fit(rows(500))


@pytest.mark.parametrize(
    "model",
    [
        MDS(init="random", n_init=1, max_iter=2), ClassicalMDS(), Isomap(),
        manifold.SNE(perplexity=5, max_iter=2), manifold.SammonMapping(tol=0.5),
        manifold.SammonMapping(tol=0.5, metric="geodesic"),
        manifold.TSNE(method="exact", perplexity=5, max_iter=250),
    ],
)  # fmt: skip
def test_verbose_says_what_pairs_take(model, capsys):
    clone(model).fit(rows(50))
    assert not capsys.readouterr().out
    clone(model).set_params(verbose=1).fit(rows(50))
    first = capsys.readouterr().out.splitlines()[0]
    assert "arrays of 50 x 50 pairs: 0." in first
    assert first.endswith(f" MiB of {get_config()['working_memory']} MiB")


def test_no_order_without_a_dissimilarity():
    with pytest.raises(ValueError, match="not 0"):
        MDS(metric_mds=False, init="random").fit(np.ones((5, 2)))
