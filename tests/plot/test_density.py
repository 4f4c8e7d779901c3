"""The density plots show what the estimators say."""

import numpy as np
import pytest

from fastml.density import histogram_density
from fastml.neighbors import KernelDensity
from fastml.plot import density_contours, density_curve

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_curve_and_histogram(ax, rng):
    x = rng.normal(size=300)
    assert density_curve(x, 0.4, bins=20, ax=ax) is ax
    (line,) = ax.get_lines()
    where, height = line.get_data()
    exact = np.exp(KernelDensity(bandwidth=0.4).fit(x[:, None]).score_samples(where[:, None]))
    np.testing.assert_allclose(height, exact, atol=1e-4)
    stairs = ax.patches[0].get_data()
    np.testing.assert_allclose(stairs.values, histogram_density(x, 20).density)
    assert "bandwidth 0.4" in ax.get_legend().get_texts()[1].get_text()


def test_contours(ax, rng):
    X = rng.normal(size=(200, 2)) * [1.0, 100.0]
    assert density_contours(X, ax=ax) is ax
    assert len(ax.collections) >= 2  # contours and points
    low, high = ax.get_ylim()
    assert low < X[:, 1].min() < X[:, 1].max() < high
    with pytest.raises(ValueError, match="two columns"):
        density_contours(X[:, 0], ax=ax)


def test_default_axes(rng):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = density_curve(rng.normal(size=50))
    assert ax.get_ylabel() == "density"
    pyplot.close(ax.figure)
