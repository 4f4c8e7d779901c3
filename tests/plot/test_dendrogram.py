"""The dendrogram of a fitted tree is that of its linkage matrix."""

import numpy as np
import pytest

from fastml.cluster import AgglomerativeClustering, linkage
from fastml.plot import dendrogram

plt = pytest.importorskip("matplotlib.pyplot")


def test_estimator_and_matrix_draw_the_same_tree():
    X = np.random.default_rng(0).normal(size=(12, 2))
    fitted = AgglomerativeClustering(linkage="average", compute_distances=True).fit(X)
    drawn = [dendrogram(tree) for tree in (fitted, linkage(X, "average"))]
    links = [np.concatenate([c.get_segments() for c in ax.collections]) for ax in drawn]
    np.testing.assert_allclose(links[0], links[1])
    assert len(links[0]) == 11
    plt.close("all")


def test_a_tree_without_heights_is_refused():
    with pytest.raises(ValueError, match="compute_distances"):
        dendrogram(AgglomerativeClustering().fit([[0.0], [1.0], [3.0]]))


def test_a_tree_without_a_root_is_refused():
    rows = np.arange(150.0)[:, None]
    part = AgglomerativeClustering(
        120, connectivity=np.ones((150, 150)), compute_full_tree=False, compute_distances=True
    ).fit(rows)
    with pytest.raises(ValueError, match="compute_full_tree"):
        dendrogram(part)
