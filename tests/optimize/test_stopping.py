"""Stopping rules are values that combine; traces say what happened."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from optimize_problems import Squares

from fastml.optimize import (
    DifferenceBelow,
    GradientBelow,
    LossBelow,
    Seconds,
    Steps,
    ValidationRises,
    gradient_descent,
)


def halving(stop):
    """w ← w / 2 from 1, loss w², gradient 2w."""
    return gradient_descent(lambda w: w @ w, [1.0], lambda w: 2 * w, step=0.25, stop=stop)


@pytest.mark.parametrize(
    ("stop", "n_steps", "reason"),
    [
        (Steps(5), 5, "5 steps"),
        (Steps(0), 0, "0 steps"),
        (GradientBelow(0.25), 3, "gradient below 0.25"),
        (DifferenceBelow(0.125), 3, "difference below 0.125"),
        (DifferenceBelow(0.2, of="loss"), 2, "difference below 0.2"),
        (LossBelow(0.0625), 2, "loss below 0.0625"),
        (Seconds(0.0), 0, "0 seconds"),
        (Steps(2) | GradientBelow(0.01), 2, "2 steps"),
        (Steps(20) | GradientBelow(0.25), 3, "gradient below 0.25"),
        (Steps(2) & GradientBelow(0.25), 3, "2 steps and gradient below 0.25"),
        (Steps(9) & GradientBelow(0.25) | LossBelow(1e-3), 5, "loss below 0.001"),
    ],
)
def test_rules(stop, n_steps, reason):
    found = halving(stop)
    assert found.n_steps == n_steps
    assert found.reason == reason
    assert halving(stop).n_steps == n_steps  # a rule has no memory
    assert_allclose(found.point, 0.5**n_steps)


def test_the_best_point_on_other_data_is_returned():
    train = Squares()

    def other(w):
        """As if long weights were noise."""
        return abs(np.linalg.norm(w) - np.linalg.norm(train.best) / 2)

    stop = ValidationRises(other, patience=3) | Steps(5000)
    found = gradient_descent(
        train.loss, train.start, train.gradient, step=0.2, stop=stop, keep_points=True
    )
    assert found.reason == "validation loss rises"
    validation = found.trace.validation
    assert_allclose(validation, [other(w) for w in found.trace.points])
    best = int(np.argmin(validation))
    assert best == found.n_steps - 3
    assert_allclose(found.point, found.trace.points[best])
    assert_allclose(found.value, train.loss(found.point))
    combined = gradient_descent(
        train.loss, train.start, train.gradient, step=0.2, stop=Steps(10) & stop
    )
    assert combined.n_steps == max(10, found.n_steps)


def test_trace():
    squares = Squares()
    found = gradient_descent(
        squares.loss, squares.start, squares.gradient, step=0.3, keep_points=True
    )
    trace = found.trace
    assert_allclose(trace.loss, [squares.loss(w) for w in trace.points])
    norms = [np.linalg.norm(squares.gradient(w)) for w in trace.points]
    assert_allclose(trace.gradient_norm, norms)
    assert np.isnan(trace.step[0])
    assert (trace.step[1:] == 0.3).all()
    assert (np.diff(trace.seconds) >= 0).all()
    assert np.isnan(trace.validation).all()
    assert gradient_descent(squares.loss, squares.start, step=0.3).trace.points is None


def test_plot():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    from fastml.plot import trace

    ax = Figure().subplots()
    runs = {"few": halving(Steps(3)), "many": halving(Steps(8))}
    assert trace(runs, ax=ax) is ax
    assert [len(line.get_ydata()) for line in ax.get_lines()] == [4, 9]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["few", "many"]
    assert ax.get_yscale() == "log"
    ax.clear()
    trace(runs["few"].trace, what="step", against="seconds", log=False, ax=ax)
    assert_allclose(ax.get_lines()[0].get_ydata()[1:], 0.25)
    assert ax.get_xlabel() == "seconds"
    assert ax.get_yscale() == "linear"
    with pytest.raises(ValueError, match="what"):
        trace(runs, what="time", ax=ax)
