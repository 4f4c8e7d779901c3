import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.inspection import shapley_values
from fastml.linear_model import LinearRegression
from fastml.plot import shap_summary, shap_waterfall


@pytest.fixture
def explained():
    X = np.random.default_rng(0).normal(size=(40, 12))
    yield shapley_values(LinearRegression().fit(X, X @ 4.0 ** np.arange(12.0)), X)
    plt.close("all")


def test_summary(explained):
    ax = shap_summary(explained, max_display=3)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["x9", "x10", "x11"]
    top = ax.collections[-1].get_offsets()
    assert_allclose(top[:, 0], explained.values[:, 11])
    assert np.abs(top[:, 1] - 2.0).max() <= 0.45
    with pytest.raises(ValueError, match="one output"):
        shap_summary(explained[0])


def test_waterfall(explained):
    row = explained[3]
    ax = shap_waterfall(row, max_display=4)
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert len(labels) == 4
    assert labels[0] == "9 others"
    bars = ax.patches
    assert_allclose(sum(bar.get_width() for bar in bars), row.values.sum())
    assert_allclose(bars[0].get_x() + min(bars[0].get_width(), 0) * 0, row.base_values)
    assert len(shap_waterfall(explained).patches) == 10
