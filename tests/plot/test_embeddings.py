import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import pdist, squareform

from fastml.decomposition import PCA
from fastml.manifold import MDS, ClassicalMDS, trustworthiness
from fastml.plot import (
    distance_matrix,
    embedding,
    embeddings_beside,
    neighbor_graph,
    shepard_diagram,
)

y = np.arange(40) % 2
X = np.random.default_rng(0).normal(size=(40, 4)) + 9.0 * y[:, None]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_embedding_has_a_colour_and_a_name_for_each_label():
    model = ClassicalMDS().fit(X)
    ax = embedding(model, np.where(y, "one", "zero"))
    assert [text.get_text() for text in ax.texts] == ["one", "zero"]
    assert_allclose(ax.texts[0].get_position(), np.median(model.embedding_[y == 1], axis=0))
    assert_allclose(ax.collections[1].get_offsets(), model.embedding_[y == 0])
    legend = embedding(X, y, names=False).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1"]
    shades = embedding(X, np.arange(40.0)).collections[0]
    assert_array_equal(shades.get_array(), np.arange(40.0))
    assert len(embedding(X).collections) == 1
    with pytest.raises(ValueError, match="at least 2 columns"):
        embedding(X[:, :1])
    with pytest.raises(ValueError, match="one label for each of the 40"):
        embedding(X, y[:5])


def test_pca_stands_beside_tsne():
    left, right = embeddings_beside(X, y)
    Y = PCA(2).fit_transform(X)
    assert_allclose(left.collections[0].get_offsets(), Y[y == 0])
    assert left.get_title() == f"PCA, trustworthiness {trustworthiness(X, Y):.3f}"
    assert right.get_title().startswith("t-SNE")
    assert sum(len(c.get_offsets()) for c in right.collections) == 40
    given = plt.subplots(1, 3)[1]
    with pytest.raises(ValueError, match="2 models"):
        embeddings_beside(X, axes=list(given))
    (only,) = embeddings_beside(X, models={"scaling": ClassicalMDS()})
    assert only.get_title().startswith("scaling")


def test_shepard_diagram_has_all_pairs_and_a_rising_line():
    model = MDS(metric_mds=False, init="classical_mds", n_init=1, random_state=0).fit(X)
    ax = shepard_diagram(X, model)
    pairs = ax.collections[0].get_offsets()
    assert_allclose(pairs, np.c_[pdist(X), pdist(model.embedding_)])
    order = np.argsort(pdist(X))
    found = pdist(model.embedding_)[order]
    fitted = isotonic_regression(found).x
    assert_allclose(ax.lines[0].get_ydata(), fitted)
    stress = np.sqrt(np.sum((found - fitted) ** 2) / np.sum(found**2))
    assert ax.get_legend().get_texts()[0].get_text() == f"stress {stress:.3f}"
    exact = shepard_diagram(squareform(pdist(X)), X, metric="precomputed")
    assert exact.get_legend().get_texts()[0].get_text() == "stress 0.000"
    assert not shepard_diagram(X, X, monotone=False).lines
    with pytest.raises(ValueError, match="equally many rows"):
        shepard_diagram(X, X[:5])


def test_neighbor_graph_draws_every_edge_once():
    distances = squareform(pdist(X))
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1)[:, :3]
    expected = {tuple(sorted((i, j))) for i in range(40) for j in near[i]}
    ax = neighbor_graph(X, y=y, n_neighbors=3)
    segments = ax.collections[0].get_segments()
    assert len(segments) == len(expected)
    for segment, (i, j) in zip(segments, sorted(expected), strict=True):
        assert_allclose(segment, X[[i, j], :2])
    assert "2 parts" in ax.get_title()
    positions = ClassicalMDS().fit(X)
    moved = neighbor_graph(X, positions, n_neighbors=3).collections[0].get_segments()
    assert_allclose(moved[0], positions.embedding_[list(min(expected))])
    with pytest.raises(ValueError, match="equally many rows"):
        neighbor_graph(X, X[:5])


def test_distance_matrix_puts_groups_together():
    image = distance_matrix(X).images[0].get_array()
    assert_allclose(np.sort(image, axis=None), np.sort(squareform(pdist(X)), axis=None))
    assert image[:20, :20].max() < image[:20, 20:].min()  # two dark squares
    ax = distance_matrix(squareform(pdist(X)), np.where(y, "b", "a"), metric="precomputed")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    own = squareform(pdist(X))[np.ix_(y == 0, y == 0)]
    assert_allclose(np.sort(ax.images[0].get_array()[:20, :20], axis=None), np.sort(own, axis=None))
    assert distance_matrix(X[:1]).images[0].get_array().shape == (1, 1)
