"""Plots of clusterings: how many clusters, silhouettes, dendrograms."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


def choice_of_k(choice, *, ax=None):
    """Q(K) by K, with the chosen number of clusters; the rule's scores on an axis of their own.

    Parameters
    ----------
    choice : ChoiceOfK
        From :func:`fastml.cluster.choose_k`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes of Q(K).

    Examples
    --------
    >>> from fastml.cluster import choose_k
    >>> from fastml.plot import choice_of_k
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> ax = choice_of_k(choose_k(X, [2, 3], random_state=0))  # doctest: +SKIP
    """
    ax = axes_or_new(ax)
    ax.plot(choice.cost_ks, choice.costs, marker="o", label="Q(K)")
    ax.axvline(choice.k, linestyle=":", color="k", label=f"K = {choice.k}")
    ax.set_xlabel("number of clusters K")
    ax.set_ylabel("cost Q(K)")
    twin = ax.twinx()
    twin.plot(choice.ks, choice.scores, marker=".", color="tab:orange", label=choice.method)
    twin.set_ylabel(choice.method)
    lines = [*ax.get_lines(), *twin.get_lines()]
    ax.legend(lines, [line.get_label() for line in lines])
    return ax


def silhouette(X, labels, *, metric="euclidean", ax=None, **kwds):
    """Silhouette coefficients of all rows, sorted within their clusters, and their mean.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Rows, or their distances if ``metric='precomputed'``.
    labels : array-like of shape (n_samples,)
        Clusters of the rows.
    metric : str or callable, default='euclidean'
        As in :func:`fastml.metrics.silhouette_samples`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    **kwds : optional
        Parameters of the metric.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.plot import silhouette
    >>> ax = silhouette([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])  # doctest: +SKIP
    """
    from fastml.metrics import silhouette_samples

    labels = np.asarray(labels)
    coefficients = silhouette_samples(X, labels, metric=metric, **kwds)
    ax = axes_or_new(ax)
    bottom = 0
    for label in np.unique(labels):
        values = np.sort(coefficients[labels == label])
        top = bottom + values.size
        ax.fill_betweenx(np.arange(bottom, top), 0.0, values, step="mid", alpha=0.7)
        ax.text(min(0.0, values[0]), (bottom + top) / 2, f"{label} ", ha="right", va="center")
        bottom = top + max(1, labels.size // 100)
    ax.axvline(coefficients.mean(), linestyle=":", color="k", label=f"{coefficients.mean():.3f}")
    ax.set_yticks([])
    ax.set_xlabel("silhouette coefficient")
    ax.legend()
    return ax


def dendrogram(tree, *, ax=None, **options):
    """The tree of a hierarchical clustering.

    Parameters
    ----------
    tree : AgglomerativeClustering or array-like of shape (n_samples - 1, 4)
        A fitted estimator with ``distances_`` (``compute_distances=True`` or a distance threshold),
        or a linkage matrix.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure if None.
    **options
        For ``scipy.cluster.hierarchy.dendrogram``: ``truncate_mode``, ``p``, ``labels``, ...

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.cluster import linkage
    >>> from fastml.plot import dendrogram
    >>> ax = dendrogram(linkage([[0.0], [1.0], [5.0]], "average"))
    >>> ax.get_ylabel()
    'distance'
    """
    from scipy.cluster import hierarchy

    if hasattr(tree, "children_"):
        if not hasattr(tree, "distances_"):
            raise ValueError(
                "the tree has no heights: fit AgglomerativeClustering with compute_distances=True"
            )
        n = tree.n_leaves_
        if len(tree.children_) < n - 1:
            raise ValueError(
                "the tree has no root: fit AgglomerativeClustering with compute_full_tree=True"
            )
        sizes = np.ones(2 * n - 1)
        for step, pair in enumerate(tree.children_):
            sizes[n + step] = sizes[pair].sum()
        tree = np.column_stack([tree.children_, tree.distances_, sizes[n:]]).astype(np.float64)
    ax = axes_or_new(ax)
    hierarchy.dendrogram(np.asarray(tree, dtype=np.float64), ax=ax, **options)
    ax.set_ylabel("distance")
    return ax
