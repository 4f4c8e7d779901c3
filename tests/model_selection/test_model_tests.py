"""Tests between models beside mlxtend 0.25 (its numbers are kept here), SciPy and simulations."""

import warnings

import numpy as np
import pytest
import scipy.stats
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fastml.model_selection import (
    cochrans_q_test,
    combined_5x2cv_f_test,
    friedman_test,
    mcnemar_test,
    nemenyi_critical_difference,
    paired_5x2cv_t_test,
    resampled_t_test,
)

A = [[0.91, 0.83], [0.86, 0.9], [0.9, 0.88], [0.81, 0.85], [0.9, 0.95]]
B = [[0.74, 0.79], [0.75, 0.71], [0.8, 0.75], [0.77, 0.7], [0.71, 0.75]]


def three_models():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=100)
    return y, [np.where(rng.random(100) < p, y, 1 - y) for p in (0.9, 0.8, 0.7)]


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, (X[:, 0] + rng.normal(scale=0.5, size=120) > 0).astype(int)


def test_numbers_of_mlxtend():
    t = paired_5x2cv_t_test(A, B)
    assert (t.statistic, t.p_value) == pytest.approx((2.8177225625601316, 0.03720823937612271))
    f = combined_5x2cv_f_test(A, B)
    assert (f.statistic, f.p_value) == pytest.approx((5.653846153846149, 0.03482794739989961))
    with pytest.warns(UserWarning, match="far too often"):
        plain = resampled_t_test(np.ravel(A), np.ravel(B), correction=False)
    assert (plain.statistic, plain.p_value) == pytest.approx(
        (7.048986659638152, 5.992617745430222e-05)
    )
    y, models = three_models()
    q = cochrans_q_test(y, models)
    assert (q.statistic, q.p_value) == pytest.approx((11.358490566037736, 0.0034161356863409227))
    for options, statistic, p in (
        ({"exact": False}, 10.027777777777779, 0.0015419695689399518),
        ({"exact": False, "correction": False}, 11.11111111111111, 0.0008581206663936758),
        ({"exact": True}, 8.0, 0.0011932429624721408),
    ):
        found = mcnemar_test(y, models[0], models[2], **options)
        assert (found.statistic, found.p_value) == pytest.approx((statistic, p)), options
    assert [t.degrees_of_freedom, f.degrees_of_freedom, plain.degrees_of_freedom] == [5, (10, 5), 9]
    assert "first has the higher score" in t.meaning


def test_plain_t_is_scipys_and_the_correction_widens():
    a, b = np.ravel(A), np.ravel(B)
    expected = scipy.stats.ttest_rel(a, b)
    with pytest.warns(UserWarning, match="far too often"):
        plain = resampled_t_test(a, b, correction=False)
    assert (plain.statistic, plain.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    corrected = resampled_t_test(a, b, test_size=0.1)
    ratio = np.sqrt((1 / 10) / (1 / 10 + 1 / 9))
    assert corrected.statistic == pytest.approx(plain.statistic * ratio)


def test_the_correction_finds_nothing_where_nothing_is():
    """Two random guessers: at 5 % the corrected test errs about as often, the plain one more."""
    found = {True: 0, False: 0}
    n, k = 60, 25
    for seed in range(150):
        rng = np.random.default_rng(seed)
        gain = rng.normal(size=n)  # of the one over the other, by row
        splits = [rng.permutation(n)[: n // 2] for _ in range(k)]
        differences = np.array([gain[rows].mean() for rows in splits])
        for correction in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                test = resampled_t_test(
                    differences, np.zeros(k), test_size=0.5, correction=correction
                )
            found[correction] += test.p_value < 0.05
    assert found[True] <= 12
    assert found[False] >= 60


@pytest.mark.parametrize(
    "test", [resampled_t_test, paired_5x2cv_t_test, combined_5x2cv_f_test], ids=lambda t: t.__name__
)
def test_estimators_are_scored_on_the_same_splits(test):
    X, y = data()
    more = {"n_splits": 6} if test is resampled_t_test else {}
    good, bad = LogisticRegression(), DecisionTreeClassifier(max_depth=1, random_state=0)
    found = test(good, bad, X, y, random_state=1, **more)
    again = test(good, bad, X, y, random_state=1, **more)
    assert found == again
    swapped = test(bad, good, X, y, random_state=1, **more)
    assert swapped.p_value == pytest.approx(found.p_value)
    by_loss = test(good, bad, X, y, random_state=1, scoring="neg_log_loss", **more)
    assert by_loss.statistic != found.statistic
    same = test(good, good, X, y, random_state=1, **more)
    assert np.isnan(same.statistic)
    assert "says nothing" in same.meaning
    with pytest.raises(ValueError, match="X and y"):
        test(good, bad)
    with pytest.raises(TypeError, match="both"):
        test(good, [0.5] * 10)


def test_fitted_models_predict_for_mcnemar_and_cochran():
    X, y = data()
    models = [DecisionTreeClassifier(max_depth=d, random_state=0).fit(X, y) for d in (1, 2, 6)]
    told = [m.predict(X) for m in models]
    assert mcnemar_test(y, *models[:2], X) == mcnemar_test(y, *told[:2])
    assert cochrans_q_test(y, models, X) == cochrans_q_test(y, told)
    with pytest.raises(ValueError, match="X is needed"):
        mcnemar_test(y, *models[:2])
    pair = cochrans_q_test(y, [told[0], told[2]])
    uncorrected = mcnemar_test(y, told[0], told[2], exact=False, correction=False)
    assert pair.statistic == pytest.approx(uncorrected.statistic), "Q of two is McNemar's"
    assert cochrans_q_test(y, [told[0], told[0]]).p_value == 1.0
    assert mcnemar_test(y, told[0], told[0]).p_value == 1.0


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_is_scipys(ties):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(12, 4)) + np.array([0.0, 0.5, 1.0, 1.5])
    scores = np.round(scores) if ties else scores
    expected = scipy.stats.friedmanchisquare(*scores.T)
    found = friedman_test(scores)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    f = 11 * found.statistic / (12 * 3 - found.statistic)
    assert found.f_statistic == pytest.approx(f)
    assert found.f_p_value == pytest.approx(scipy.stats.f.sf(f, 3, 33))
    np.testing.assert_allclose(
        friedman_test(-scores, greater_is_better=False).mean_ranks, found.mean_ranks
    )


def test_nemenyi_is_in_demsars_table():
    """q of table 5 (a) of Demšar (2006) for two to ten models, over the root of 2."""
    table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, q in zip(range(2, 11), table):
        expected = q * np.sqrt(k * (k + 1) / (6 * 14))
        assert nemenyi_critical_difference(k, 14) == pytest.approx(expected, abs=1e-3)
    # his example: four methods on fourteen data sets, mean ranks 3.143, 2.000, 2.893, 1.964
    assert nemenyi_critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_which_models_are_alike():
    rng = np.random.default_rng(0)
    quality = np.array([0.0, 0.1, 3.0, 3.1])
    scores = {name: q + rng.normal(size=30) for name, q in zip("abcd", quality)}
    found = friedman_test(scores)
    assert found.names == tuple("abcd")
    assert sorted(map(sorted, found.alike())) == [["a", "b"], ["c", "d"]]
    assert found.pair_p_values[0, 1] > 0.05 > found.pair_p_values[0, 3]
    ranks = found.mean_ranks
    close = np.abs(ranks[:, None] - ranks) <= found.critical_difference
    np.testing.assert_array_equal(found.pair_p_values >= 0.05, close)


def test_friedman_of_estimators():
    X, y = data()
    models = {"line": LogisticRegression(), "stump": DecisionTreeClassifier(max_depth=1)}
    found = friedman_test(models, [(X, y), (X[::-1], y[::-1]), (X[:80], y[:80])], cv=3)
    assert found.n_blocks == 3
    assert found.names == ("line", "stump")
    with pytest.raises(ValueError, match="datasets"):
        friedman_test(models)
    with pytest.raises(ValueError, match="at least 2"):
        friedman_test([[1.0, 2.0]])
