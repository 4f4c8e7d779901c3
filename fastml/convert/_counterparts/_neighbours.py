"""Neighbours, densities and embeddings: rows that are kept, and how they are searched."""

from __future__ import annotations

import numpy as np

from fastml.convert._counterparts._rules import Rule
from fastml.convert._errors import NotConvertible

# ---------------------------------------------------------------------------- neighbours

INDEX = ("_fit_method", "_fit_X", "_kernel_metric", "_tree")


def search_forth(converter, model, made) -> None:
    made._fit_X = converter.value(model._fit_X, "_fit_X")
    made._fit_method, made._tree = model._fit_method, None
    if model._tree is not None:
        made._tree = _their_tree(
            model._fit_method, made._fit_X, model.leaf_size, model.effective_metric_,
            model.effective_metric_params_,
        )  # fmt: skip


def _their_tree(kind: str, X, leaf_size: int, metric, params: dict, **more):
    from sklearn.neighbors import BallTree, KDTree

    tree = {"kd_tree": KDTree, "ball_tree": BallTree}[kind]
    given = {name: value for name, value in params.items() if value is not None}
    return tree(np.asarray(X), leaf_size, metric=metric, **given, **more)


def search_back(converter, model, made) -> None:
    made.effective_metric_params_ = {
        name: value
        for name, value in model.effective_metric_params_.items()
        if name != "p" or made.effective_metric_ == "minkowski"
    }
    if made.effective_metric_ == "minkowski":
        made.effective_metric_params_.setdefault("w", None)
    rows = model._fit_X
    if rows is None:  # made of a tree
        rows = np.asarray(model._tree.data)
    rows = converter.value(rows, "_fit_X")
    made._index(rows, made._choose_method(rows))


SEARCH = Rule(INDEX, INDEX, (), search_forth, search_back)


def votes_back(converter, model, made) -> None:
    search_back(converter, model, made)
    made.refusal_label_ = None


VOTES = SEARCH._replace(ours=(*INDEX, "refusal_label_"), back=votes_back)

# ---------------------------------------------------------------------------- densities


def density_forth(converter, model, made) -> None:
    if np.ndim(model.bandwidth_):
        raise NotConvertible("KernelDensity: scikit-learn's has one bandwidth, not one per feature")
    kind = made._choose_algorithm(made.algorithm, made.metric)
    weights = model._smoother.values[:, 0] if model._weighted else None
    params = dict(model.metric_params or {})
    X = np.array(model._smoother.X)
    made.bandwidth_ = float(model.bandwidth_)
    made.tree_ = _their_tree(kind, X, model.leaf_size, model.metric, params, sample_weight=weights)


def density_back(converter, model, made) -> None:
    X = np.array(model.tree_.data)
    weights = model.tree_.sample_weight
    made._weighted = weights is not None
    made._smooth(X, np.ones(len(X)) if weights is None else np.array(weights), model.bandwidth_)


DENSITY = Rule(
    ("_log_scale", "_smoother", "_weighted", "engine_", "bandwidth_"),
    ("tree_", "bandwidth_"),
    (),
    density_forth,
    density_back,
)

# ---------------------------------------------------------------------------- kernel PCA, Isomap


def _centerer(means, mean):
    from sklearn.preprocessing import KernelCenterer

    made = KernelCenterer.__new__(KernelCenterer)
    made.K_fit_rows_, made.K_fit_all_ = means, mean
    made.n_features_in_ = len(means)
    return made


def kernel_pca_forth(converter, model, made) -> None:
    made._centerer = _centerer(model._column_means.copy(), np.float64(model._mean))


def kernel_pca_back(converter, model, made) -> None:
    made._column_means = np.asarray(model._centerer.K_fit_rows_, np.float64)
    made._mean = float(model._centerer.K_fit_all_)


KERNEL_PCA = Rule(("_column_means", "_mean"), ("_centerer",), (), kernel_pca_forth, kernel_pca_back)


def isomap_forth(converter, model, made) -> None:
    from sklearn.decomposition import KernelPCA

    dtype = model.dist_matrix_.dtype
    inner = KernelPCA.__new__(KernelPCA)
    KernelPCA.__init__(
        inner,
        n_components=model.n_components,
        kernel="precomputed",
        eigen_solver=model.eigen_solver,
        tol=model.tol,
        max_iter=model.max_iter,
        n_jobs=model.n_jobs,
    )
    similar = -0.5 * np.square(model.dist_matrix_, dtype=np.float64)
    values = np.asarray(model.eigenvalues_, np.float64)
    roots = np.sqrt(np.maximum(values, 0.0))
    means = similar.mean(axis=0)
    inner.X_fit_ = similar.astype(dtype)
    inner.eigenvalues_ = values.astype(dtype)
    inner.eigenvectors_ = (model._projection * np.where(roots > 0, roots, 1.0)).astype(dtype)
    inner._centerer = _centerer(means, means.mean())
    inner.gamma_ = None
    inner.n_features_in_ = len(similar)
    made.kernel_pca_ = inner


def isomap_back(converter, model, made) -> None:
    from scipy.sparse.csgraph import connected_components

    inner = model.kernel_pca_
    roots = np.sqrt(np.maximum(np.asarray(inner.eigenvalues_, np.float64), 0.0))
    made.eigenvalues_ = inner.eigenvalues_.copy()
    made._projection = inner.eigenvectors_ / np.where(roots > 0, roots, 1.0)
    made._mean_squares = np.square(model.dist_matrix_, dtype=np.float64).mean(axis=0)
    made.landmarks_ = np.arange(len(model.dist_matrix_))
    search = made.nbrs_
    graph = (
        search.kneighbors_graph if model.n_neighbors is not None else search.radius_neighbors_graph
    )
    made.n_connected_components_ = int(connected_components(graph())[0])


ISOMAP = Rule(
    ("_mean_squares", "_projection", "eigenvalues_", "landmarks_", "n_connected_components_"),
    ("kernel_pca_",),
    (),
    isomap_forth,
    isomap_back,
)
