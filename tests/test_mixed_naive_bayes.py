"""Naive Bayes of mixed columns: each column is the naive Bayes of its kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, poisson
from sklearn import naive_bayes as theirs

from fastml.naive_bayes import NaiveBayes


def data(n=90):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, size=n)
    X = np.c_[
        rng.normal(size=n) + y,
        (y + rng.integers(0, 3, size=n)) % 4,
        rng.random(n) < 0.2 + 0.3 * y,
        rng.poisson(10.0 + 5.0 * y),
    ]
    return X, y, rng.uniform(0.0, 2.0, size=n)


def joint(model, X):
    return model.predict_joint_log_proba(X) - np.log(model.class_prior_)


@pytest.mark.parametrize("weighted", [False, True])
def test_each_column_is_scikit_learns(weighted):
    X, y, w = data()
    w = w if weighted else None
    model = NaiveBayes(alpha=0.7).fit(X, y, w)
    assert model.columns_ == ["gaussian", "categorical", "bernoulli", "counts"]
    peers = (
        theirs.GaussianNB(),
        theirs.CategoricalNB(alpha=0.7),
        theirs.BernoulliNB(alpha=0.7),
    )
    expected = np.log(model.class_prior_) * np.ones((90, 1))
    for j, peer in enumerate(peers):
        column = X[:, [j]]
        peer.fit(column, y, w)
        one = NaiveBayes(columns=[model.columns_[j]], alpha=0.7).fit(column, y, w)
        priors = peer.class_prior_ if j == 0 else np.exp(peer.class_log_prior_)
        their = peer.predict_joint_log_proba(column) - np.log(priors)
        assert_allclose(joint(one, column), their, rtol=1e-9)
        expected = expected + their
    rates = model.models_[3].rates
    weights = np.ones(90) if w is None else w
    mean = np.average(X[:, 3], weights=weights)
    sums, totals = (np.bincount(y, weights=weights * part) for part in (X[:, 3], 1.0))
    assert_allclose(rates, (sums + 0.7 * mean) / (totals + 0.7), rtol=1e-12)
    expected = expected + poisson.logpmf(X[:, [3]], rates)
    # Variances are smoothed by the largest of the Gaussian columns, of which there is one.
    assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-8)
    assert_array_equal(model.predict(X), expected.argmax(axis=1))


def test_kernel_density():
    X, y, w = data()
    X = X[:, :1]
    model = NaiveBayes(columns="kde", bandwidth=0.3).fit(X, y, w)
    for k in range(3):
        mine = y == k
        density = (w[mine] * norm.pdf(X, X[mine, 0], 0.3)).sum(axis=1) / w[mine].sum()
        assert_allclose(joint(model, X)[:, k], np.log(density), rtol=1e-9)
    grid = np.linspace(-8.0, 12.0, 2001)
    free = NaiveBayes(columns="kde").fit(X, y)
    assert_allclose(np.exp(joint(free, grid[:, None])).sum(axis=0) * 0.01, 1.0, rtol=1e-6)


def test_missing_values_say_nothing():
    X, y, w = data()
    gone = np.random.default_rng(1).random(X.shape) < 0.3
    holes = np.where(gone, np.nan, X)
    model = NaiveBayes().fit(holes, y, w)
    for j in range(4):
        there = ~gone[:, j]
        one = NaiveBayes(columns=[model.columns_[j]]).fit(X[there][:, [j]], y[there], w[there])
        assert_allclose(
            model.models_[j].scores(X[:, j], np.ones(90, dtype=bool)), joint(one, X[:, [j]])
        )
    nothing = model.predict_proba(np.full((1, 4), np.nan))
    assert_allclose(nothing[0], model.class_prior_)
    # A class without a value has the distribution of all.
    column = np.where(y == 0, np.nan, X[:, 0])[:, None]
    model = NaiveBayes(columns="gaussian", var_smoothing=0.0).fit(column, y)
    assert_allclose(model.models_[0].theta[0], np.nanmean(column))
    assert_allclose(model.models_[0].var[0], np.nanvar(column))


def test_text_names_and_unknown_categories():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"colour": ["red", "red", "blue", None], "size": [1.5, 1.0, np.nan, 7.5]})
    model = NaiveBayes(columns={"size": "kde"}).fit(table, ["a", "a", "b", "b"])
    assert model.columns_ == ["categorical", "kde"]
    assert model.models_[0].categories == ["blue", "red"]
    assert_allclose(np.exp(model.models_[0].log_shares), [[1 / 4, 3 / 4], [2 / 3, 1 / 3]])
    new = pd.DataFrame({"colour": ["green", "blue"], "size": [np.nan, np.nan]})
    assert_allclose(model.predict_proba(new), [[0.5, 0.5], [3 / 11, 8 / 11]])
    rows, labels = model.sample(50, random_state=0)
    assert set(rows[:, 0]) == {"red", "blue"}
    assert set(labels) == {"a", "b"}


def test_parts_are_as_the_whole_and_draws_are_alike():
    X, y, w = data()
    kinds = ["gaussian", "categorical", "bernoulli", "counts"]
    whole = NaiveBayes(columns=kinds).fit(X, y, w)
    parts = NaiveBayes(columns=kinds)
    for rows in np.array_split(np.arange(90), 4):
        parts.partial_fit(X[rows], y[rows], np.unique(y), w[rows])
    assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-9)
    drawn, labels = whole.sample(20_000, random_state=0)
    again = NaiveBayes(columns=kinds).fit(drawn, labels)
    assert_allclose(again.class_prior_, whole.class_prior_, atol=0.02)
    assert_allclose(again.models_[0].theta, whole.models_[0].theta, atol=0.06)
    assert_allclose(again.models_[0].var, whole.models_[0].var, rtol=0.1)
    assert_allclose(again.models_[3].rates, whole.models_[3].rates, rtol=0.02)


def test_bad_input():
    X, y, _ = data()
    with pytest.raises(ValueError, match="must be one of 'auto'"):
        NaiveBayes(columns="normal").fit(X, y)
    with pytest.raises(ValueError, match="columns names 'height'"):
        NaiveBayes(columns={"height": "kde"}).fit(X, y)
    with pytest.raises(ValueError, match="has 2 models, but X has 4"):
        NaiveBayes(columns=["kde", "kde"]).fit(X, y)
    with pytest.raises(ValueError, match="Negative values in column 0"):
        NaiveBayes(columns="counts").fit(-X, y)
    with pytest.raises(ValueError, match="holds fractions"):
        NaiveBayes(columns="counts").fit(np.abs(X), y)
    with pytest.raises(ValueError, match="holds text"):
        NaiveBayes(columns="gaussian").fit([["a"], ["b"]], [0, 1])
    model = NaiveBayes(columns="kde").partial_fit(X, y, [0, 1, 2])
    with pytest.raises(ValueError, match="cannot be learned in parts"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        NaiveBayes().partial_fit(X, y, [0, 1])
