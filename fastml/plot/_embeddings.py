"""Plots of embeddings: positions, how true to distances they are, graphs, distances themselves."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


def _positions(Y, n_dimensions=2):
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] < n_dimensions:
        raise ValueError(
            f"positions must be an array of rows with at least {n_dimensions} columns, got shape"
            f" {Y.shape}"
        )
    return Y


def _labels(y, n):
    if y is None:
        return None
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must hold one label for each of the {n} rows, got shape {y.shape}")
    return y


def embedding(Y, y=None, *, names=True, ax=None):
    """Positions in the plane, a colour for each label, its name at the middle of its rows.

    Parameters
    ----------
    Y : array-like of shape (n_samples, at least 2), or a fitted embedding
        Positions, or a model with ``embedding_``.
    y : array-like of shape (n_samples,), default=None
        Labels; of more than twenty different numbers, a scale of colours.
    names : bool, default=True
        Whether labels are written at the medians of their rows; else there is a legend.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.plot import embedding
    >>> ax = embedding([[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]], ["a", "a", "b"])  # doctest: +SKIP
    """
    Y = _positions(getattr(Y, "embedding_", Y))
    y = _labels(y, len(Y))
    ax = axes_or_new(ax)
    kinds = [None] if y is None else np.unique(y)
    if len(kinds) > 20 and y.dtype.kind in "iuf":
        drawn = ax.scatter(Y[:, 0], Y[:, 1], c=y, s=10)
        ax.figure.colorbar(drawn, ax=ax)
    else:
        for kind in kinds:
            own = slice(None) if kind is None else y == kind
            ax.scatter(Y[own, 0], Y[own, 1], s=10, alpha=0.7, label=kind)
            if kind is not None and names:
                middle = np.median(Y[own, :2], axis=0)
                ax.text(*middle, str(kind), ha="center", va="center", weight="bold")
        if y is not None and not names:
            ax.legend()
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def embeddings_beside(X, y=None, *, models=None, axes=None):
    """Several embeddings of the same rows beside each other: of PCA and t-SNE, or those given.

    Above each stands its trustworthiness, which is 1 where neighbours in the plane are neighbours.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,), default=None
        Labels.
    models : dict of estimators, default=None
        Names and embeddings with `fit_transform`; None means ``PCA(2)`` and ``TSNE()``.
    axes : list of matplotlib Axes, default=None
        Where to draw, one for each; None makes a new figure.

    Returns
    -------
    axes : list of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.plot import embeddings_beside
    >>> X = np.random.default_rng(0).normal(size=(90, 4))
    >>> axes = embeddings_beside(X)  # doctest: +SKIP
    """
    from sklearn.base import clone

    from fastml.manifold import trustworthiness

    X = np.asarray(X)
    if models is None:
        from fastml.decomposition import PCA
        from fastml.manifold import TSNE

        perplexity = min(30.0, max(1.0, (len(X) - 1) / 3.0))
        models = {"PCA": PCA(2), "t-SNE": TSNE(perplexity=perplexity, random_state=0)}
    if axes is None:
        first = axes_or_new(None)
        figure = first.figure
        first.remove()
        axes = list(np.ravel(figure.subplots(1, len(models))))
    if len(axes) != len(models):
        raise ValueError(f"axes must hold one for each of the {len(models)} models")
    n_neighbors = max(1, min(5, (len(X) - 1) // 2))
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        Y = clone(model).fit_transform(X)
        embedding(Y, y, ax=ax)
        kept = trustworthiness(X, Y, n_neighbors=n_neighbors)
        ax.set_title(f"{name}, trustworthiness {kept:.3f}")
    return list(axes)


def shepard_diagram(X, Y, *, metric="euclidean", monotone=True, ax=None):
    """Distances of positions against those of the rows, a point for each pair.

    On the diagonal nothing is lost; non-metric scaling asks for no more than a rising line, which
    is drawn (isotonic regression), with the stress about it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric="precomputed"``.
    Y : array-like of shape (n_samples, n_components), or a fitted embedding
        Positions, or a model with ``embedding_``.
    metric : str or callable, default="euclidean"
        Distance of rows.
    monotone : bool, default=True
        Whether the rising line is drawn.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.plot import shepard_diagram
    >>> X = [[0.0, 1.0, 0.0], [1.0, 3.0, 0.0], [2.0, 4.0, 1.0]]
    >>> ax = shepard_diagram(X, [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]])  # doctest: +SKIP
    """
    from fastml.metrics import pairwise_distances

    Y = _positions(getattr(Y, "embedding_", Y), 1)
    pairs = np.triu_indices(len(Y), 1)
    given = pairwise_distances(X, metric=metric)
    if given.shape != (len(Y), len(Y)):
        raise ValueError(f"X and Y must have equally many rows, got {len(given)} and {len(Y)}")
    given, found = given[pairs], pairwise_distances(Y)[pairs]
    ax = axes_or_new(ax)
    ax.scatter(given, found, s=4, alpha=0.4)
    if monotone:
        from scipy.optimize import isotonic_regression

        order = np.lexsort((found, given))
        fitted = isotonic_regression(found[order]).x
        total = np.sum(found**2)
        stress = np.sqrt(np.sum((found[order] - fitted) ** 2) / total) if total > 0 else 0.0
        ax.plot(given[order], fitted, color="k", label=f"stress {stress:.3f}")
        ax.legend()
    ax.set(xlabel="distance of rows", ylabel="distance of positions")
    return ax


def neighbor_graph(X, Y=None, y=None, *, n_neighbors=5, metric="euclidean", ax=None):
    """The graph of neighbours, drawn at the rows or at their positions in an embedding.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows among which neighbours are searched.
    Y : array-like of shape (n_samples, at least 2), default=None
        Where they are drawn; None means the first two columns of X.
    y : array-like of shape (n_samples,), default=None
        Labels.
    n_neighbors : int, default=5
        Neighbours of a row.
    metric : str or callable, default="euclidean"
        Distance of rows.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.plot import neighbor_graph
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]]
    >>> ax = neighbor_graph(X, n_neighbors=1)  # doctest: +SKIP
    """
    from matplotlib.collections import LineCollection
    from scipy.sparse.csgraph import connected_components

    from fastml.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, n_neighbors, metric=metric).tocoo()
    at = _positions(X if Y is None else getattr(Y, "embedding_", Y))[:, :2]
    if len(at) != graph.shape[0]:
        raise ValueError(f"X and Y must have equally many rows, got {graph.shape[0]} and {len(at)}")
    edges = np.unique(np.sort(np.c_[graph.row, graph.col], axis=1), axis=0)
    ax = axes_or_new(ax)
    ax.add_collection(LineCollection(at[edges], colors="0.7", linewidths=0.6, zorder=0))
    embedding(at, y, ax=ax)
    n_parts, _ = connected_components(graph, directed=False)
    ax.set_title(f"{n_neighbors} neighbours: {n_parts} part{'s' * (n_parts > 1)}")
    return ax


def distance_matrix(X, y=None, *, metric="euclidean", ax=None):
    """All distances of rows as an image, similar rows beside each other.

    Rows stand in the order of the leaves of a tree of average linkage; with labels, class by class
    and within each in that order. Clusters are then dark squares on the diagonal.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric="precomputed"``.
    y : array-like of shape (n_samples,), default=None
        Labels.
    metric : str or callable, default="euclidean"
        Distance of rows.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.plot import distance_matrix
    >>> ax = distance_matrix([[0.0], [5.0], [0.1], [5.1]])  # doctest: +SKIP
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    from fastml.metrics import pairwise_distances

    distances = pairwise_distances(X, metric=metric)
    n = len(distances)
    y = _labels(y, n)
    order = leaves_list(linkage(distances[np.triu_indices(n, 1)], "average")) if n > 1 else [0]
    ax = axes_or_new(ax)
    if y is not None:
        order = np.asarray(order)[np.argsort(y[order], kind="stable")]
        kinds, counts = np.unique(y, return_counts=True)
        ends = np.cumsum(counts)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="w", linewidth=0.8)
            ax.axvline(end - 0.5, color="w", linewidth=0.8)
        ax.set_yticks(ends - counts / 2.0 - 0.5, [str(kind) for kind in kinds])
    drawn = ax.imshow(distances[np.ix_(order, order)], interpolation="nearest")
    ax.figure.colorbar(drawn, ax=ax, label="distance")
    ax.set_xticks([])
    return ax
