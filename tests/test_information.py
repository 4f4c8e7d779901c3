"""Information of distributions: against sums written out, and the identities between them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import mutual_info_score

from fastml.information import (
    conditional_entropy,
    cross_entropy,
    entropy,
    kl_divergence,
    mutual_information,
    perplexity,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("base", [None, 2, 10.0])
def test_against_scipy(rng, base):
    p, q = rng.dirichlet(np.ones(5), size=(2, 7))
    p[0] = [0.5, 0.5, 0.0, 0.0, 0.0]
    assert_allclose(entropy(p, base=base), stats.entropy(p, axis=1, base=base))
    assert_allclose(kl_divergence(p, q, base=base), stats.entropy(p, q, axis=1, base=base))
    assert_allclose(
        cross_entropy(p, q, base=base), entropy(p, base=base) + kl_divergence(p, q, base=base)
    )
    assert_allclose(perplexity(p), 2.0 ** entropy(p, base=2))


def test_pairs(rng):
    joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
    x, y = joint.sum(axis=1), joint.sum(axis=0)
    assert_allclose(mutual_information(joint), kl_divergence(joint.ravel(), np.outer(x, y).ravel()))
    assert_allclose(mutual_information(joint), entropy(y) - conditional_entropy(joint))
    many = np.stack([joint, np.outer(x, y)])
    assert_allclose(mutual_information(many), [mutual_information(joint), 0.0], atol=1e-15)
    a, b = rng.integers(0, 3, size=(2, 50))
    counts = np.zeros((3, 3))
    np.add.at(counts, (a, b), 1)
    assert_allclose(mutual_information(counts, normalise=True), mutual_info_score(a, b))


def test_never_negative_and_never_above_the_entropy(rng):
    constant = np.zeros((4, 5))
    constant[2] = rng.dirichlet(np.ones(5))
    assert mutual_information(constant) == 0.0
    for seed in range(50):
        x, y = np.random.default_rng(seed).dirichlet(np.ones(6), size=2)
        assert mutual_information(np.outer(x, y)) >= 0.0
        assert mutual_information(np.diag(x)) <= entropy(x)
        assert kl_divergence(x, x) == 0.0


def test_impossible_outcomes():
    assert entropy([1.0, 0.0]) == 0.0
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert cross_entropy([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == np.log(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entropy([0.5, 0.6]), "sum to 1"),
        (lambda: entropy([1.5, -0.5]), "not negative"),
        (lambda: entropy([np.nan, 1.0]), "not negative"),
        (lambda: entropy([]), "not be empty"),
        (lambda: entropy([0.0, 0.0], normalise=True), "all zero"),
        (lambda: entropy([0.5, 0.5], base=1), "base"),
        (lambda: kl_divergence([0.5, 0.5], [1.0]), "not the same"),
        (lambda: mutual_information([0.5, 0.5]), "2 dimensions"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
