import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.decomposition import PCA, KernelPCA
from fastml.manifold import ClassicalMDS
from fastml.plot import (
    biplot,
    components_removed,
    explained_variance,
    reconstruction_error,
    scree,
)

X = np.random.default_rng(0).normal(size=(60, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_scree_shows_the_variances():
    model = PCA(3).fit(X)
    assert_allclose(scree(model).lines[0].get_ydata(), model.explained_variance_)


def test_scree_of_a_kernel_and_of_distances_shows_eigenvalues():
    for model in (KernelPCA(4, kernel="rbf").fit(X), ClassicalMDS(3).fit(X)):
        ax = scree(model)
        assert_allclose(ax.lines[0].get_ydata(), model.eigenvalues_)
        assert ax.get_ylabel() == "eigenvalue"


def test_components_are_counted_by_whole_numbers():
    model = PCA(3).fit(X)
    for draw in (scree, explained_variance, reconstruction_error):
        ticks = draw(model).get_xticks()
        assert_allclose(ticks, np.round(ticks))


def test_explained_variance_counts_components():
    model = PCA().fit(X)
    ax = explained_variance(model, share=0.8)
    assert_allclose(ax.lines[0].get_ydata(), np.cumsum(model.explained_variance_ratio_))
    k = int(np.argmax(np.cumsum(model.explained_variance_ratio_) >= 0.8)) + 1
    assert f"80% with {k}" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_reconstruction_error_is_the_bound_on_the_rows_fitted():
    model = PCA(3, ddof=0).fit(X)
    bound, error = (line.get_ydata() for line in reconstruction_error(model, X).lines)
    assert_allclose(bound, error, rtol=1e-10)
    back = model.inverse_transform(model.transform(X))
    assert_allclose(error[-1], np.mean(((X - back) ** 2).sum(axis=1)))
    assert_allclose(error[0], X.var(axis=0).sum())


def test_biplot_draws_rows_and_columns():
    ax = biplot(PCA(2).fit(X), X, y=np.arange(60) % 2, feature_names=list("abcde"))
    assert [text.get_text() for text in ax.texts if text.get_text()] == list("abcde")
    assert sum(len(c.get_offsets()) for c in ax.collections) == 60
    with pytest.raises(ValueError, match="two components"):
        biplot(PCA(1).fit(X), X)


def test_components_removed_one_after_the_other():
    model = PCA(4).fit(X)
    axes = components_removed(model, X, steps=3)
    assert len(axes) == 3
    for j, ax in enumerate(axes):
        assert_allclose(ax.collections[0].get_offsets(), model.transform(X)[:, j : j + 2])
    assert len(components_removed(model, X)) == 3  # all there are
    assert len(components_removed(PCA().fit(X), X)) == 4
    with pytest.raises(ValueError, match="steps"):
        components_removed(model, X, steps=4)
    with pytest.raises(ValueError, match="no component"):
        scree(PCA(2).fit(np.ones((5, 3))))
