import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.losses.penalties import Net, group_prox, group_share, net_prox, shrunk

pytestmark = pytest.mark.small


@pytest.mark.parametrize(
    ("target", "curvature", "net", "expected"),
    [
        (3.0, 2.0, Net(1.0, 2.0, False), 0.5),
        (-3.0, 2.0, Net(1.0, 2.0, False), -0.5),
        (-3.0, 2.0, Net(1.0, 2.0, True), 0.0),
        (0.5, 2.0, Net(1.0, 0.0, False), 0.0),
        (5.0, 0.0, Net(1.0, 0.0, False), 0.0),
    ],
)
def test_shrunk(target, curvature, net, expected):
    assert shrunk(target, curvature, net) == expected


def net_value(v, z, net):
    return 0.5 * (v - z) ** 2 + net.l1 * np.abs(v) + 0.5 * net.l2 * v * v


@pytest.mark.parametrize("net", [Net(0.0, 0.0, False), Net(0.7, 0.3, False), Net(0.7, 0.3, True)])
def test_net_prox(net):
    z = np.array([-2.0, -0.7, 0.0, 0.5, 3.0])
    out = np.empty(5)
    net_prox(z, net, out)
    grid = np.linspace(0.0 if net.positive else -4.0, 4.0, 4001)
    best = [grid[net_value(grid, each, net).argmin()] for each in z]
    assert_allclose(out, best, atol=2e-3)
    net_prox(np.empty(0), net, np.empty(0))


@pytest.mark.parametrize(
    ("length", "curvature", "expected"), [(4.0, 1.0, 0.25), (2.0, 1.0, 0.0), (4.0, -1.0, 0.0)]
)
def test_group_share(length, curvature, expected):
    assert group_share(length, curvature, 2.0, 1.0) == expected


def test_group_prox():
    z = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    out = np.empty((3, 2))
    group_prox(z, 1.0, 1.0, out)
    assert_allclose(out, [[1.2, 1.6], [0.0, 0.0], [0.0, 0.0]])
    group_prox(np.empty((0, 2)), 1.0, 1.0, np.empty((0, 2)))
