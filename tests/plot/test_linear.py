"""Regions with probabilities, the sigmoid, coefficients by penalty, ellipses of classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from fastml.linear_model import LogisticRegression, SGDClassifier, odds_ratios
from fastml.naive_bayes import GaussianNB
from fastml.plot import class_ellipses, coefficient_path, decision_regions, sigmoid
from fastml.plot import odds_ratios as forest

pytest.importorskip("matplotlib")


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    return rng.normal(size=(60, 2)) + 2.0 * y[:, None], y


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_regions_fade_with_the_probability(points, ax):
    X, y = points
    model = GaussianNB().fit(X, y)
    decision_regions(model, X, y, probabilities=True, resolution=20, ax=ax)
    mesh = next(
        c for c in ax.collections if c.get_array() is not None and c.get_array().size == 400
    )
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.1 * (high - low)
    sides = [np.linspace(a, b, 20) for a, b in zip(low - pad, high + pad)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    best = model.predict_proba(grid).max(axis=1)
    assert_allclose(np.ravel(mesh.get_alpha()), 0.7 * (2.0 * best - 1.0), atol=1e-12)


def test_sigmoid(points, ax):
    X, y = points
    model = SGDClassifier("log_loss", random_state=0).fit(X, y)
    sigmoid(model, X, ax=ax)
    curve = ax.lines[0].get_xydata()
    assert_allclose(curve[:, 1], 1.0 / (1.0 + np.exp(-curve[:, 0])))
    marks = ax.collections[0].get_offsets()
    assert_allclose(marks[:, 1], model.predict_proba(X)[:, 1])
    sigmoid(model, X, y, ax=ax)
    assert_allclose(ax.collections[1].get_offsets()[:, 1], y)
    with pytest.raises(ValueError, match="together"):
        sigmoid(model)
    with pytest.raises(ValueError, match="two classes"):
        sigmoid(SGDClassifier().fit(X, np.arange(60) % 3), X)


def test_coefficients_by_penalty(ax):
    penalties, coefficients = [1.0, 0.1, 0.01], np.arange(6.0).reshape(2, 3)
    coefficient_path(penalties, coefficients, names=["a", "b"], ax=ax)
    assert_allclose(ax.lines[1].get_xydata(), [[0.01, 5.0], [0.1, 4.0], [1.0, 3.0]])
    assert ax.get_xscale() == "log"
    for bad in (([1.0], coefficients), ([0.0, 1.0, 2.0], coefficients)):
        with pytest.raises(ValueError, match="penalt"):
            coefficient_path(*bad)
    with pytest.raises(ValueError, match="names has 1"):
        coefficient_path(penalties, coefficients, names=["a"])


@pytest.mark.parametrize(
    "model",
    [QuadraticDiscriminantAnalysis(store_covariance=True), LinearDiscriminantAnalysis("eigen")],
)
def test_ellipses_are_the_level_sets(points, ax, model):
    X, y = points
    model.fit(X, y)
    class_ellipses(model, X, y, levels=[2.0], ax=ax)
    covariances = model.covariance_
    if not isinstance(covariances, list):
        covariances = [covariances] * 2
    for k in range(2):
        off = ax.lines[2 * k].get_xydata() - model.means_[k]
        distances = np.einsum("ij,jk,ik->i", off, np.linalg.inv(covariances[k]), off)
        assert_allclose(distances, 4.0, rtol=1e-9)


def test_ellipses_need_two_columns_and_a_covariance(points):
    X, y = points
    with pytest.raises(ValueError, match="two columns"):
        class_ellipses(QuadraticDiscriminantAnalysis().fit(np.c_[X, X[:, 0] ** 2], y))
    with pytest.raises(ValueError, match="store_covariance"):
        class_ellipses(LinearDiscriminantAnalysis().fit(X, y))


def test_forest_of_odds_ratios(points, ax):
    X, y = points
    found = odds_ratios(LogisticRegression().fit(X, y), X, y, feature_names=["a", "b"])
    forest(found, ax=ax)
    container = ax.containers[0]
    assert_allclose(container.lines[0].get_xdata(), found.ratio)
    ends = np.array([segment[:, 0] for segment in container.lines[2][0].get_segments()])
    assert_allclose(ends, np.stack([found.lower, found.upper], axis=1))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_xscale() == "log"


def test_forest_of_several_classes_with_an_endless_interval(points, ax):
    X, y = points
    three = y + (X[:, 0] > 3.0)
    found = odds_ratios(LogisticRegression().fit(X, three), X, three)
    found.upper[0], found.lower[0] = np.inf, 0.0
    forest(found, ax=ax)
    ax.figure.canvas.draw()
    assert len(ax.containers) == 2
    assert len(ax.get_yticklabels()) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2"]
