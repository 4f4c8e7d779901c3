import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.tree.nodes import LEAF, NODE
from fastml.kernels.tree.prune import kept_nodes, last_below, weakest_links

pytestmark = pytest.mark.small


def chain():
    """Root with a left branch of three leaves: 0(1(2(3,4),5),6)."""
    nodes = np.zeros(7, NODE)
    nodes["feature"] = [0, 0, 0, LEAF, LEAF, LEAF, LEAF]
    nodes["right"] = [6, 5, 4, 0, 0, 0, 0]
    return nodes, np.array([1.0, 0.5, 0.3, 0.1, 0.1, 0.1, 0.1])


def test_weakest_links_first():
    nodes, risks = chain()
    alphas, impurities, at = np.empty(8), np.empty(8), np.empty(7, np.intp)
    steps = weakest_links(nodes, risks, np.inf, alphas, impurities, at)
    # 2: 0.3 - 0.2 = 0.1, 1: (0.5 - 0.3) / 2 = 0.1, 0: (1 - 0.4) / 3 = 0.2
    assert steps in (3, 4)  # the first two are a tie
    assert_allclose(impurities[steps - 1], 1.0)
    assert np.all(np.diff(alphas[:steps]) >= -1e-12)
    assert at[0] == steps - 1


def test_stops_at_alpha():
    nodes, risks = chain()
    alphas, impurities, at = np.empty(8), np.empty(8), np.empty(7, np.intp)
    assert weakest_links(nodes, risks, 0.05, alphas, impurities, at) == 1
    assert np.all(at == -1)
    risks[1] = 0.9
    steps = weakest_links(nodes, risks, 0.15, alphas, impurities, at)
    assert steps == 2
    assert at[2] == 1


def test_kept_nodes():
    nodes, _ = chain()
    leaf_now = np.zeros(7, bool)
    leaf_now[2] = True
    kept = np.empty(7, np.intp)
    assert list(kept[: kept_nodes(nodes, leaf_now, kept)]) == [0, 1, 2, 5, 6]
    assert last_below(nodes, 1) == 5
