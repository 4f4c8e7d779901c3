"""Naive Bayes equals scikit-learn's; parts equal the whole; what peers got wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.naive_bayes as theirs
from numpy.testing import assert_allclose, assert_array_equal

import fastml.naive_bayes as ours

COUNTS = ("MultinomialNB", "ComplementNB", "BernoulliNB")
ALL = (*COUNTS, "GaussianNB", "CategoricalNB")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, size=300)
    X = rng.poisson(1.0 + y[:, None] * np.array([0.0, 0.5, 1.0, 0.1, 2.0])).astype(float)
    return X, np.array(["a", "b", "c", "d"])[y], rng.uniform(0.0, 2.0, size=300)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("weighted", [False, True])
def test_as_scikit_learn(data, name, weighted):
    X, y, w = data
    w = w if weighted else None
    mine, other = (getattr(module, name)().fit(X, y, w) for module in (ours, theirs))
    assert_array_equal(mine.classes_, other.classes_)
    for attribute in [a for a in vars(other) if a.endswith("_") and a != "classes_"]:
        found, expected = getattr(mine, attribute), getattr(other, attribute)
        if not isinstance(expected, list):  # of arrays, one for each column
            found, expected = [found], [expected]
        for a, b in zip(found, expected, strict=True):
            assert_allclose(a, b, rtol=1e-10, err_msg=attribute)
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        assert_allclose(getattr(mine, method)(X), getattr(other, method)(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(mine.predict(X), other.predict(X))


@pytest.mark.parametrize("name", COUNTS)
def test_sparse_rows_give_the_same(data, name):
    X, y, w = data
    dense = getattr(ours, name)().fit(X, y, w)
    sparse = getattr(ours, name)().fit(sp.csr_array(X), y, w)
    assert_allclose(sparse.feature_log_prob_, dense.feature_log_prob_, rtol=1e-12)
    assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_parts_are_as_the_whole(data, name):
    X, y, w = data
    whole = getattr(ours, name)().fit(X, y, w)
    parts = getattr(ours, name)()
    for rows in np.array_split(np.arange(300), 7):
        parts.partial_fit(X[rows], y[rows], np.unique(y), w[rows])
    assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-9)
    if name == "GaussianNB":
        assert_allclose(parts.epsilon_, whole.epsilon_)


def test_smoothing_is_by_all_rows_seen():
    """scikit-learn's goes by the last batch, and takes away more than it added (#14054)."""
    wide, narrow = np.array([[0.0], [100.0]] * 5), np.array([[0.0], [1e-4]] * 5)
    y = np.array([0, 1] * 5)
    parts = ours.GaussianNB().partial_fit(wide, y, [0, 1]).partial_fit(narrow, y)
    whole = ours.GaussianNB().fit(np.vstack([wide, narrow]), np.r_[y, y])
    assert_allclose(parts.var_, whole.var_, rtol=1e-12)
    assert (parts.var_ > 0).all()


def test_a_class_without_rows_yet(data):
    X, y, _ = data
    model = ours.GaussianNB().partial_fit(X[y == "a"], y[y == "a"], ["a", "b", "c", "d"])
    assert set(model.predict(X)) == {"a"}
    assert_allclose(model.class_prior_, [1.0, 0.0, 0.0, 0.0])


def test_large_means_keep_their_digits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 2))
    y = (X[:, 0] > 0).astype(int)
    near, far = ours.GaussianNB().fit(X, y), ours.GaussianNB().fit(X + 1e8, y)
    assert_allclose(far.var_, near.var_, rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_unknown_classes_and_bad_weights(data, name):
    X, y, _ = data
    model = getattr(ours, name)().partial_fit(X, y, ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=r"label\(s\) \['z'\] in y do not exist"):
        model.partial_fit(X[:2], ["a", "z"])
    with pytest.raises(ValueError, match=r"sample_weight"):
        getattr(ours, name)().fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match="classes must be passed"):
        getattr(ours, name)().partial_fit(X, y)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "CategoricalNB"])
def test_negative_counts(data, name):
    X, y, _ = data
    with pytest.raises(ValueError, match="Negative values"):
        getattr(ours, name)().fit(-X, y)


def test_priors(data):
    X, y, _ = data
    model = ours.GaussianNB(priors=[0.1, 0.2, 0.3, 0.4]).fit(X, y)
    assert_array_equal(model.class_prior_, [0.1, 0.2, 0.3, 0.4])
    wrong = {
        "match number": [0.5, 0.5],
        "should be 1": [0.5, 0.5, 0.5, 0.5],
        "non-negative": [1.5, -0.5, 0.0, 0.0],
    }
    for message, priors in wrong.items():
        with pytest.raises(ValueError, match=message):
            ours.GaussianNB(priors=priors).fit(X, y)
    with pytest.raises(ValueError, match="match number"):
        ours.MultinomialNB(class_prior=[1.0]).fit(X, y)


def test_new_categories_in_later_parts():
    model = ours.CategoricalNB().partial_fit([[0], [1]], [0, 1], [0, 1])
    model.partial_fit([[5]], [1])
    assert model.n_categories_.tolist() == [6]
    model.partial_fit([[0]], [1])
    assert model.n_categories_.tolist() == [6]  # none is forgotten
    whole = ours.CategoricalNB().fit([[0], [1], [5], [0]], [0, 1, 1, 1])
    assert_allclose(model.feature_log_prob_[0], whole.feature_log_prob_[0])


def test_a_code_of_a_billion_does_not_take_all_memory():
    """Counts are by number: scikit-learn asks for 24 GB here, and the system may end it."""
    X = np.array([[10**9], [3], [5]])
    with pytest.raises(MemoryError, match="OrdinalEncoder"):
        ours.CategoricalNB().fit(X, [0, 1, 2])


def test_equally_impossible_classes_share_the_probability():
    """Columns of one value have no variance: every density elsewhere is 0."""
    model = ours.GaussianNB().fit(np.ones((9, 2)), np.arange(9) % 3)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(model.predict_proba([[0.5, 2.0]]), 1.0 / 3.0)
