"""Curves are the losses' values."""

import numpy as np
import pytest

from fastml import losses
from fastml.plot import losses as plot_losses

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_surrogates_and_the_zero_one_loss():
    ax = plot_losses()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["0-1", "Logistic", "Hinge", "SquaredHinge", "Exponential", "PerceptronLoss"]
    hinge = ax.lines[2].get_xydata()
    np.testing.assert_allclose(hinge[:, 1], np.maximum(0, 1 - hinge[:, 0]))
    logistic = ax.lines[1].get_xydata()
    at_zero = np.interp(0.0, *logistic.T)
    assert at_zero == pytest.approx(1.0, abs=1e-4)


def test_losses_of_distances_are_another_kind():
    ax = plot_losses([losses.Squared(), losses.Huber(1.0)], width=2.0)
    assert len(ax.lines) == 2
    np.testing.assert_allclose(ax.lines[1].get_ydata()[-1], 1.5)
    with pytest.raises(ValueError, match="one kind"):
        plot_losses([losses.Squared(), losses.Hinge()])
