"""Rules for outliers: bounds, and what is done beyond."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml.outliers import BoxPlotRule, MedianRule, PercentileRule, ZScoreRule, trim, winsorize

X = np.random.default_rng(0).normal(size=(300, 3))
X[5], X[6, 1] = 50.0, np.nan

BOUNDS = {
    BoxPlotRule: lambda x: (
        np.percentile(x, [25, 75])
        + 1.5 * np.subtract(*np.percentile(x, [75, 25])) * np.array([-1, 1])
    ),
    PercentileRule: lambda x: np.percentile(x, [3, 97]),
    ZScoreRule: lambda x: x.mean() + 3.0 * x.std() * np.array([-1, 1]),
    MedianRule: lambda x: (
        np.median(x)
        + 3.5 * 1.482602218505602 * np.median(np.abs(x - np.median(x))) * np.array([-1, 1])
    ),
}


@pytest.mark.parametrize("rule", BOUNDS)
def test_bounds_and_actions(rule):
    model = rule().fit(X)
    for j in range(3):
        expected = BOUNDS[rule](X[~np.isnan(X[:, j]), j])
        assert_allclose([model.lower_[j], model.upper_[j]], expected, rtol=1e-10)
    mask = model.transform(X)
    assert_array_equal(mask, model.is_outlier(X))
    assert mask[5].all()
    assert not mask[6, 1]
    clipped = rule(action="clip").fit_transform(X)
    assert_array_equal(clipped[5], model.upper_)
    assert np.isnan(clipped[6, 1])
    assert_array_equal(rule(action="drop").fit_transform(X), X[~mask.any(axis=1)])
    assert_array_equal(rule(action="keep").fit_transform(X), X)


def test_wrong_settings():
    with pytest.raises(ValueError, match="low must not be above high"):
        PercentileRule(60, 40).fit(X)
    with pytest.raises(ValueError, match="share"):
        trim([1.0], share=0.5)
    with pytest.raises(ValueError, match="NaN"):
        winsorize([1.0, np.nan])
    assert_array_equal(winsorize([], 0.1), [])
