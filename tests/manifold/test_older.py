"""Sammon's mapping and SNE: gradients, worked examples, descent."""

import numpy as np
import pytest
from naive_manifold import sammon_sum, squares_between
from numpy.testing import assert_allclose
from sklearn.datasets import make_swiss_roll

from fastml.manifold import SNE, ClassicalMDS, Isomap, SammonMapping, trustworthiness
from fastml.manifold._sammon import SammonStress
from fastml.manifold._sne import _cost


def rows(n=30, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("power", [1, 2])
def test_sammon_gradient(power):
    targets = np.sqrt(squares_between(rows(12), rows(12)))
    Y = rows(12, 2, seed=1)
    problem = SammonStress(targets, power, 1)
    scale = np.triu(targets).sum() if power == 1 else 1.0
    value, slopes, _ = problem(Y)
    assert_allclose(value, sammon_sum(Y, targets, power) / scale)
    for i, f in ((0, 0), (5, 1), (11, 0)):
        up, down = Y.copy(), Y.copy()
        up[i, f] += 1e-6
        down[i, f] -= 1e-6
        assert_allclose(slopes[i, f], (problem(up)[0] - problem(down)[0]) / 2e-6, rtol=1e-5)


def test_sammon_is_better_than_its_start():
    X = rows(60, 5)
    targets = np.sqrt(squares_between(X, X))
    start = ClassicalMDS().fit_transform(X)
    model = SammonMapping(max_iter=1000).fit(X)
    scale = np.triu(targets).sum()
    assert_allclose(model.stress_, sammon_sum(model.embedding_, targets, 1) / scale)
    assert model.stress_ < 0.8 * sammon_sum(start, targets, 1) / scale
    slopes = SammonStress(targets, 1, 1)(model.embedding_)[1]
    assert np.abs(slopes).max() < 1e-4


def test_sammon_on_geodesic_distances():
    X, _ = make_swiss_roll(150, random_state=0)
    found = SammonMapping(metric="geodesic", n_neighbors=10, max_iter=1000).fit(X)
    paths = Isomap(n_neighbors=10).fit(X).dist_matrix_
    paths = np.minimum(paths, paths.T)
    assert_allclose(found.stress_, sammon_sum(found.embedding_, paths, 1) / np.triu(paths).sum())
    with pytest.raises(ValueError, match="Negative"):
        SammonMapping(metric="precomputed").fit(-paths)


def test_sne_worked_example():
    x, z = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [0.5], [2.0]])
    P = SNE(sigma=1.0).affinities(np.sqrt(squares_between(x, x)))
    expected = [
        [0.0, 0.982013790038, 0.0179862099621],
        [0.817574476194, 0.0, 0.182425523806],
        [0.0758581800212, 0.924141819979, 0.0],
    ]
    assert_allclose(P, expected, rtol=1e-9)
    assert_allclose(_cost(z.ravel(), P, 1)[0], 0.0417672600571, rtol=1e-9)


def test_sne_gradient():
    P = SNE(perplexity=4).affinities(np.sqrt(squares_between(rows(10), rows(10))))
    flat = rows(10, 2, seed=1).ravel()
    _, slopes = _cost(flat, P, 2)
    for i in (0, 7, 19):
        up, down = flat.copy(), flat.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        slope = (_cost(up, P, 2)[0] - _cost(down, P, 2)[0]) / 2e-6
        assert_allclose(slopes[i], slope, rtol=1e-5, atol=1e-7)


def test_sne_keeps_neighbours():
    X = rows(90) + 8.0 * (np.arange(90) % 3)[:, None]
    model = SNE(perplexity=10).fit(X)
    assert trustworthiness(X, model.embedding_) > 0.93
    with pytest.raises(ValueError, match="must be less than n_samples"):
        SNE(perplexity=90).fit(X)
