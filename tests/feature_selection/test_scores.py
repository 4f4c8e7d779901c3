"""Scores of single columns beside scikit-learn's and SciPy's."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from naive_selection import moments_of_groups
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import feature_selection as theirs

from fastml import feature_selection as ours


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    X = rng.normal(size=(n, 5)) + y[:, None] * np.array([2.0, 1.0, 0.3, 0.0, 0.0])
    X[:, 3] = np.round(X[:, 3])
    X[:, 4] = (y == 1) ^ (rng.random(n) < 0.2)
    return X, y, X[:, 0] + np.sin(3.0 * X[:, 1])


@pytest.mark.parametrize("k", [1, 3, 7])
def test_information_with_labels(k):
    X, y, _ = table()
    for mask in ("auto", [3, 4], np.array([False, False, False, True, True])):
        options = {"n_neighbors": k, "random_state": 0, "discrete_features": mask}
        found = ours.mutual_info_classif(X, y, **options)
        assert_allclose(found, theirs.mutual_info_classif(X, y, **options), atol=1e-10)
    few = np.where(np.arange(200) < 2, 9, y)  # a class of two, whose neighbours are one
    few[5] = 8  # and one that is alone
    assert_allclose(
        ours.mutual_info_classif(X, few, n_neighbors=k, random_state=1),
        theirs.mutual_info_classif(X, few, n_neighbors=k, random_state=1),
        atol=1e-10 if k == 1 else 1e-3,  # of two rows, scikit-learn's distances are rounded
    )


@pytest.mark.parametrize("k", [1, 3])
def test_information_with_numbers(k):
    X, _, t = table()
    for mask in (False, [4]):
        options = {"n_neighbors": k, "random_state": 0, "discrete_features": mask}
        found = ours.mutual_info_regression(X, t, **options)
        assert_allclose(found, theirs.mutual_info_regression(X, t, **options), atol=1e-10)
    with pytest.raises(ValueError, match="n_neighbors"):
        ours.mutual_info_regression(X[:3], t[:3], n_neighbors=3)


def test_information_is_never_above_an_entropy_nor_below_zero():
    """sk#30772, sk#16355."""
    y = np.array([0, 1] * 20)
    X = np.c_[np.full(40, 7.0), y, np.arange(40.0)]
    for found in (
        ours.mutual_info_classif(X, y, discrete_features=True),
        ours.information_gain(X, y),
    ):
        assert found[0] == 0.0
        assert (found >= 0.0).all()
        assert (found <= np.log(2.0)).all()


def test_unlike_labels_are_refused():
    with pytest.raises(ValueError, match="occurs twice"):
        ours.mutual_info_classif(np.eye(3), ["a", "b", "c"])
    with pytest.raises(ValueError, match="continuous"):
        ours.mutual_info_classif(sp.csr_array(np.eye(3)), [0, 1, 1], discrete_features=False)


@pytest.mark.parametrize("contain", [np.asarray, sp.csr_array, sp.csc_array])
def test_tests_are_scikit_learns(contain):
    X, y, t = table()
    names = np.array(list("abc"))[y]
    assert_allclose(ours.f_classif(contain(X), names), theirs.f_classif(X, names), rtol=1e-9)
    counts = np.floor(np.abs(3.0 * X))
    assert_allclose(ours.chi2(contain(counts), y), theirs.chi2(counts, y), rtol=1e-9)
    for center in (True, False):
        assert_allclose(
            ours.r_regression(contain(X), t, center=center),
            theirs.r_regression(X, t, center=center),
            rtol=1e-9,
        )
        assert_allclose(
            ours.f_regression(contain(X), t, center=center),
            theirs.f_regression(X, t, center=center),
            rtol=1e-8,
        )


def test_one_way_is_scipys():
    X, y, _ = table()
    groups = [X[y == k][:, :4] for k in range(3)]
    assert_allclose(ours.f_oneway(*groups), stats.f_oneway(*groups), rtol=1e-9)
    assert_allclose(
        ours.f_oneway(sp.csr_array(groups[0]), *groups[1:]), stats.f_oneway(*groups), rtol=1e-9
    )


def test_no_digits_are_lost_far_from_zero():
    X, y, _ = table()
    near, _ = ours.f_classif(X[:, :2], y)
    far, _ = ours.f_classif(X[:, :2] + 1e8, y)
    assert_allclose(far, near, rtol=1e-5)
    with np.errstate(all="ignore"):
        off, _ = theirs.f_classif(X[:, :2] + 1e8, y)
    assert not np.abs(off - near).max() < 0.01 * near.max(), "scikit-learn's loses them"
    counts, means, squares = moments_of_groups(X, y, 3)
    centre = (counts[:, None] * means).sum(axis=0) / counts.sum()
    between = (counts[:, None] * (means - centre) ** 2).sum(axis=0) / 2
    assert_allclose(
        ours.f_classif(X, y)[0], between / (squares.sum(axis=0) / (len(y) - 3)), rtol=1e-9
    )


def test_constant_columns():
    X = np.c_[np.full(6, 14.62), np.arange(6.0)]
    y = np.arange(6) % 2
    with pytest.warns(UserWarning, match="Features \\[0\\] are constant"):
        f, p = ours.f_classif(X, y)
    assert np.isnan(f[0])
    assert_array_equal(ours.r_regression(X, np.arange(6.0)), [0.0, 1.0])
    f, p = ours.f_regression(X, np.arange(6.0))
    assert f[0] == 0.0
    assert p[0] == 1.0
    assert f[1] > 1e15
    with pytest.raises(ValueError, match="non-negative"):
        ours.chi2(-X, y)


def test_total_variation():
    y = np.array([0, 0, 1, 1, 1, 1])
    X = np.array([[0, 0], [1, 0], [1, 0], [1, 0], [2, 0], [2, 0]])
    assert_allclose(ours.total_variation(X, y, bins="values"), [0.5, 0.0])
    assert_allclose(ours.total_variation(X, y, bins=2), [0.5, 0.0])
    assert_allclose(ours.total_variation(X, y, bins=[0.0, 1.5, 2.0]), [0.5, 0.0])
    three = np.array([0, 0, 1, 1, 2, 2])
    assert_allclose(ours.total_variation(three[:, None], three, bins="values"), [1.0])


def test_information_gain_is_the_table():
    X, y, _ = table()
    from sklearn.metrics import mutual_info_score

    found = ours.information_gain(X[:, 3:], y)
    assert_allclose(found, [mutual_info_score(X[:, j], y) for j in (3, 4)], atol=1e-12)
    assert (ours.information_gain(X, y, bins=8) <= np.log(3.0)).all()


def test_variances_pass_over_what_is_missing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1.0, 10.0, 0.0, 1.0] + 14.62
    X[::7, 0] = np.nan
    found = ours.VarianceThreshold().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = theirs.VarianceThreshold().fit(X)
    assert_allclose(found.variances_, expected.variances_, rtol=1e-9, atol=1e-20)
    assert found.variances_[2] == 0.0
    assert_array_equal(found.get_support(), [True, True, False, True])
    sparse = sp.csr_array(np.where(np.abs(X - 14.0) < 1.0, 0.0, X))
    assert_allclose(
        ours.VarianceThreshold(0.1).fit(sparse).variances_,
        theirs.VarianceThreshold(0.1).fit(sparse).variances_,
        rtol=1e-9,
    )


def test_chi2_of_numbers_is_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        ours.chi2([[1.0], [2.0], [0.0]], [0.1, 0.2, 0.35])
