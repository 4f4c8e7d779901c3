"""choose_k finds the number of blobs by every rule, and its figures are what they claim to be."""

import numpy as np
import pytest

from fastml import plot
from fastml.cluster import ChoiceOfK, KMeans, choose_k, elbow_ratios
from fastml.metrics import silhouette_samples, silhouette_score
from fastml.mixture import GaussianMixture


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    return np.concatenate([rng.normal(c, 0.7, size=(40, 2)) for c in centers])


@pytest.mark.parametrize("method", ["elbow", "benefit", "silhouette", "gap", "bic"])
def test_finds_four(X, method):
    choice = choose_k(X, range(2, 8), method=method, random_state=0)
    assert isinstance(choice, ChoiceOfK)
    assert choice.k == 4
    assert choice.ks.tolist() == list(range(2, 8))
    assert choice.scores.shape == (6,)
    assert set(choice.ks) <= set(choice.models)


def test_scores_are_what_they_claim(X):
    choice = choose_k(X, [2, 3, 4], method="silhouette", estimator=KMeans(n_init=2), random_state=0)
    for k, score in zip(choice.ks, choice.scores):
        labels = choice.models[k].labels_
        assert score == silhouette_score(X, labels)
    assert dict(zip(choice.cost_ks, choice.costs)) == {
        k: model.inertia_ for k, model in choice.models.items()
    }


def test_elbow_fits_the_neighbours_too(X):
    choice = choose_k(X, [4], random_state=0)
    assert choice.cost_ks.tolist() == [3, 4, 5]
    costs = dict(zip(choice.cost_ks.tolist(), choice.costs))
    assert choice.scores[0] == elbow_ratios(costs)[4]


def test_benefit_minus_cost(X):
    free = choose_k(X, [1, 4, len(X)], method="benefit", cost=0.0, random_state=0)
    assert free.scores[-1] == pytest.approx(len(X))  # singletons: all similarities are one
    dear = choose_k(X, [1, 4, len(X)], method="benefit", cost=1e9, random_state=0)
    assert dear.k == 1
    own = choose_k(X, [2], method="benefit", similarity=lambda d, v: 0 * d, cost=3.0)
    assert own.scores.tolist() == [-6.0]


@pytest.mark.small
def test_elbow_ratio_of_equal_costs_is_not_defined():
    ratios = elbow_ratios({1: 5.0, 2: 5.0, 3: 1.0})
    assert np.isnan(ratios[2])


@pytest.mark.small
@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"k_range": []}, ValueError, "at least one"),
        ({"k_range": 3}, ValueError, "at least one"),
        ({"k_range": [0, 1]}, ValueError, "within 1"),
        ({"k_range": [161]}, ValueError, "n_samples=160"),
        ({"k_range": [1.5]}, TypeError, "whole"),
        ({"k_range": ["two", 3]}, TypeError, "whole"),
        ({"k_range": [2], "method": "gap", "n_references": 0}, ValueError, "n_references"),
        ({"k_range": [2], "method": "benefit", "cost": "much"}, TypeError, "cost"),
        ({"k_range": [2], "estimator": 3}, TypeError, "n_clusters or n_components"),
        ({"k_range": [2], "method": "guess"}, ValueError, "method"),
        ({"k_range": [2], "method": "bic", "estimator": KMeans()}, TypeError, "bic"),
        ({"k_range": [1], "method": "silhouette"}, ValueError, "widen"),
        ({"k_range": [2], "method": "benefit", "similarity": "likes"}, ValueError, "similarity"),
    ],
)
def test_bad_input(X, arguments, error, message):
    with pytest.raises(error, match=message):
        choose_k(X, **arguments)


def test_mixture_as_estimator(X):
    estimator = GaussianMixture(covariance_type="diag")
    choice = choose_k(X, [3, 4, 5], method="bic", estimator=estimator, random_state=0)
    assert choice.k == 4
    assert choice.scores[1] == choice.models[4].bic(X)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_gap_of_mixtures_is_that_of_their_labels(X, scale):
    choice = choose_k(
        scale * X, [3, 4, 5], method="gap", estimator=GaussianMixture(reg_covar=0), random_state=0
    )
    assert choice.k == 4
    again = choose_k(
        scale * X, [3, 4, 5], method="gap", estimator=GaussianMixture(reg_covar=0), random_state=0
    )
    np.testing.assert_array_equal(choice.scores, again.scores)


def test_plots(X):
    plt = pytest.importorskip("matplotlib.pyplot")
    choice = choose_k(X, [3, 4, 5], random_state=0)
    ax = choice.plot()
    assert ax.get_lines()[0].get_ydata().tolist() == choice.costs.tolist()
    labels = choice.models[4].labels_
    ax = plot.silhouette(X, labels)
    mean = silhouette_samples(X, labels).mean()
    assert ax.get_lines()[0].get_xdata()[0] == pytest.approx(mean)
    plt.close("all")
