"""The residual plots show what the model leaves over."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from fastml.linear_model import summary
from fastml.plot import residuals

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    return LinearRegression().fit(X, y), X, y


def test_views(fit, ax):
    model, X, y = fit
    left = y - model.predict(X)
    assert residuals(model, X, y, kind="fitted", ax=ax) is ax
    np.testing.assert_allclose(ax.collections[0].get_offsets(), np.c_[model.predict(X), left])
    ax.clear()
    residuals(model, X, y, kind="order", ax=ax)
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), left)
    ax.clear()
    residuals(model, X, y, kind="quantiles", ax=ax)
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), np.sort(left))
    assert np.all(np.diff(ax.get_lines()[0].get_xdata()) > 0)
    ax.clear()
    residuals(model, X, y, kind="histogram", sample_weight=np.full(80, 4.0), ax=ax)
    edges = ax.patches[0].get_data().edges
    np.testing.assert_allclose([edges[0], edges[-1]], [2 * left.min(), 2 * left.max()])


def test_all_four_of_a_summary(fit):
    import matplotlib.pyplot as plt

    model, X, y = fit
    axes = residuals(summary(model, X, y), X, y)
    assert axes.shape == (2, 2)
    assert [a.get_xlabel() for a in axes.ravel()] == [
        "residual", "fitted value", "row", "normal quantile",
    ]  # fmt: skip
    plt.close("all")
    residuals(model, X, model.predict(X))  # nothing is left over
    plt.close("all")


def test_bad_input(fit, ax):
    model, X, y = fit
    with pytest.raises(ValueError, match="kind"):
        residuals(model, X, y, kind="bar", ax=ax)
    with pytest.raises(ValueError, match="one view"):
        residuals(model, X, y, ax=ax)
    with pytest.raises(ValueError, match="one target"):
        residuals(model, X, np.c_[y, y])
