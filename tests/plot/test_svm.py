"""Boundaries, margins and tubes are where the machines' values say."""

import numpy as np
import pytest

from fastml.plot import svm_boundary, svr_tube
from fastml.svm import SVC, SVR

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_boundary_margins_and_support():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]]), [0, 0, 1, 1]
    machine = SVC(kernel="linear", C=100).fit(X, y)
    ax = svm_boundary(machine, X, y)
    lines = [c for c in ax.collections if hasattr(c, "levels") and len(c.levels) == 3]
    drawn = [path.vertices[:, 0].mean() for path in lines[-1].get_paths()]
    np.testing.assert_allclose(drawn, [0.0, 1.0, 2.0], atol=0.02)
    rings = ax.collections[-1].get_offsets()
    assert {tuple(v) for v in rings} == {tuple(v) for v in machine.support_vectors_}
    with pytest.raises(ValueError, match="two classes"):
        svm_boundary(SVC().fit(X, [0, 1, 2, 2]), X)
    with pytest.raises(ValueError, match="two columns"):
        svm_boundary(machine, X[:, :1])


def test_boundary_of_classes_with_names():
    X, y = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]]), ["no", "no", "yes", "yes"]
    ax = svm_boundary(SVC(kernel="linear").fit(X, y), X, y)
    points = next(c for c in ax.collections if len(c.get_offsets()) == 4)
    np.testing.assert_array_equal(points.get_array(), [0, 0, 1, 1])


def test_tube():
    X = np.linspace(0, 6, 40)[:, None]
    y = np.sin(X.ravel())
    machine = SVR(epsilon=0.3).fit(X, y)
    ax = svr_tube(machine, X, y)
    curve = ax.lines[0].get_xydata()
    np.testing.assert_allclose(curve[:, 1], machine.predict(curve[:, :1]))
    walls = ax.collections[0].get_paths()[0].vertices
    assert walls[:, 1].max() == pytest.approx(curve[:, 1].max() + 0.3)
    assert len(ax.collections[-1].get_offsets()) == machine.support_.size
    with pytest.raises(ValueError, match="one column"):
        svr_tube(machine, np.ones((3, 2)), y)
