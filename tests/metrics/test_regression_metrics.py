"""Metrics of regression: scikit-learn's values for any input, and those that it has not."""

import tracemalloc

import numpy as np
import pytest
import sklearn.metrics
from sklearn.exceptions import UndefinedMetricWarning

from fastml import metrics

RNG = np.random.default_rng(0)
ANY_SIGN = (
    "explained_variance_score", "max_error", "mean_absolute_error",
    "mean_absolute_percentage_error", "mean_pinball_loss", "mean_squared_error",
    "median_absolute_error", "r2_score", "root_mean_squared_error", "d2_absolute_error_score",
    "d2_pinball_score", "mean_tweedie_deviance", "d2_tweedie_score",
)  # fmt: skip
POSITIVE = (
    "mean_gamma_deviance", "mean_poisson_deviance", "mean_squared_log_error",
    "root_mean_squared_log_error",
)  # fmt: skip
ONE_OUTPUT = {"max_error", "mean_gamma_deviance", "mean_poisson_deviance",
              "mean_tweedie_deviance", "d2_tweedie_score"}  # fmt: skip


def both(name, *arguments, **options):
    return [getattr(package, name)(*arguments, **options) for package in (metrics, sklearn.metrics)]


def targets(name, n=50, outputs=None):
    y, p = RNG.normal(size=(2, n) if outputs is None else (2, n, outputs))
    p = y + 0.3 * p
    return (np.abs(y) + 0.1, np.abs(p) + 0.1) if name in POSITIVE else (y, p)


@pytest.mark.parametrize("name", ANY_SIGN + POSITIVE)
@pytest.mark.parametrize("n", [2, 50, 9000])
def test_one_output(name, n):
    y, p = targets(name, n)
    np.testing.assert_allclose(*both(name, y, p), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(*both(name, y.tolist(), p[:, None]), rtol=1e-12, atol=1e-14)
    single = y.astype(np.float32), p.astype(np.float32)
    np.testing.assert_allclose(*both(name, *single), rtol=2e-3, atol=1e-5)
    if name != "max_error":
        weights = RNG.random(n)
        np.testing.assert_allclose(*both(name, y, p, sample_weight=weights), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["r2_score", "mean_absolute_error", "root_mean_squared_error"])
def test_float32_is_summed_in_float64_without_a_copy(name):
    y, p = (each.astype(np.float32) + np.float32(1e3) for each in targets(name, 200_000))
    metric = getattr(metrics, name)
    exact = getattr(sklearn.metrics, name)(y.astype(float), p.astype(float))
    assert metric(y, p) == pytest.approx(exact, rel=1e-10)
    tracemalloc.start()
    metric(y, p)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < y.nbytes / 2


@pytest.mark.parametrize("name", sorted({*ANY_SIGN, *POSITIVE} - ONE_OUTPUT))
@pytest.mark.parametrize("multioutput", ["raw_values", "uniform_average", [0.2, 0.3, 0.5]])
def test_several_outputs(name, multioutput):
    y, p = targets(name, outputs=3)
    found, expected = both(name, y, p, multioutput=multioutput)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("name", ["r2_score", "explained_variance_score"])
@pytest.mark.parametrize("force_finite", [True, False])
def test_constant_targets(name, force_finite):
    constant = np.full(5, 0.1)
    for p in (constant, constant + 1.0, np.arange(5.0)):
        with np.errstate(divide="ignore", invalid="ignore"):
            pair = both(name, constant, p, force_finite=force_finite)
        np.testing.assert_array_equal(*pair)
    y = np.column_stack([constant, np.arange(5.0)])
    pair = both(name, y, y + 0.5 * y[::-1], multioutput="variance_weighted")
    np.testing.assert_allclose(*pair)


def test_half_the_absolute_error_is_a_pinball_loss():
    y, p = targets("", 5000)
    assert metrics.mean_absolute_error(y, p) == 2 * metrics.mean_pinball_loss(y, p)


def test_overflow_is_not_an_error():
    y = np.array([1e200, -1e200, 0.0])
    with np.errstate(over="ignore"):
        assert metrics.mean_squared_error(y, np.zeros(3)) == np.inf
    assert metrics.max_error(np.array([1.7e308, 1.7e308]), np.zeros(2)) == 1.7e308


@pytest.mark.parametrize("name", ANY_SIGN + POSITIVE)
@pytest.mark.parametrize(
    "y, p",
    [
        (np.array([1.0, np.nan]), np.ones(2)),
        (np.ones(2), np.array([1.0, np.inf])),
        (np.ones(3), np.ones(2)),
        (np.empty(0), np.empty(0)),
        (np.ones((2, 2)), np.ones((2, 3))),
        (np.array(["a", "b"]), np.ones(2)),
    ],
    ids=["NaN", "infinity", "lengths", "empty", "outputs", "words"],
)
def test_bad_input_is_refused_in_the_same_words(name, y, p):
    if y.dtype.kind == "U" and name in ("max_error", "median_absolute_error"):
        pytest.skip("these two take other numbers than floats in scikit-learn: other words")
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (words are compared)
        getattr(sklearn.metrics, name)(y, p)
    with pytest.raises(ValueError) as found:  # noqa: PT011 (words are compared)
        getattr(metrics, name)(y, p)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("weights", [[1.0, np.nan, 1.0], [1.0, 1.0], np.ones((3, 2))])
def test_bad_weights(weights):
    y = np.arange(3.0)
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (words are compared)
        sklearn.metrics.mean_squared_error(y, y, sample_weight=weights)
    with pytest.raises(ValueError) as found:  # noqa: PT011 (words are compared)
        metrics.mean_squared_error(y, y, sample_weight=weights)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("name", ["r2_score", "d2_tweedie_score", "d2_pinball_score"])
def test_one_row_has_no_score(name):
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        assert np.isnan(getattr(metrics, name)([1.0], [2.0]))


def test_parameters_are_checked():
    for options in ({"multioutput": "none"}, {"sample_weight": 3}, {"multioutput": [1, 2, 3]}):
        with pytest.raises(ValueError):  # noqa: PT011 (words are compared)
            metrics.mean_squared_error(np.ones(3), np.ones(3), **options)
    with pytest.raises(ValueError, match="'alpha' parameter of mean_pinball_loss"):
        metrics.mean_pinball_loss([1.0], [1.0], alpha=1.5)
    with pytest.raises(ValueError, match="'y_true' parameter of mean_squared_error"):
        metrics.mean_squared_error(3.0, [1.0])


# ---------------------------------------------------------------------------- beyond scikit-learn


def test_beyond_scikit_learn():
    y, p = targets("", 40)
    w = RNG.random(40)
    rss, tss = ((y - p) ** 2).sum(), ((y - y.mean()) ** 2).sum()
    assert metrics.residual_sum_of_squares(y, p) == pytest.approx(rss)
    assert metrics.total_sum_of_squares(y) == pytest.approx(tss)
    assert metrics.residual_sum_of_squares(y, p, sample_weight=w) == pytest.approx(
        (w * (y - p) ** 2).sum()
    )
    assert metrics.relative_squared_error(y, p) == pytest.approx(rss / tss)
    assert metrics.relative_squared_error(y, p, root=True) == pytest.approx(np.sqrt(rss / tss))
    assert metrics.adjusted_r2_score(y, p, 3) == pytest.approx(1 - rss / 36 / (tss / 39))
    assert metrics.residual_standard_error(y, p, 3) == pytest.approx(np.sqrt(rss / 36))
    absolute = np.abs(y - p).sum() / np.abs(y - y.mean()).sum()
    assert metrics.relative_absolute_error(y, p) == pytest.approx(absolute)
    d = np.abs(y - p)
    huber = np.where(d <= 0.2, d**2 / 2, 0.2 * (d - 0.1)).mean()
    assert metrics.mean_huber_error(y, p, epsilon=0.2) == pytest.approx(huber)


def test_too_many_features():
    with pytest.raises(ValueError, match="n_features=3"):
        metrics.adjusted_r2_score([1.0, 2.0, 3.0], [1.0, 2.0, 2.0], 3)


def test_relative_errors_of_constant_targets():
    assert metrics.relative_squared_error([1.0, 1.0], [1.0, 2.0]) == np.inf
    assert metrics.relative_absolute_error([1.0, 1.0], [1.0, 1.0]) == 0.0
