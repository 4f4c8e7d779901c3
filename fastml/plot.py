"""Plots of models. Matplotlib is loaded when a plot is drawn; every function returns the axes."""

from __future__ import annotations

import numpy as np

from fastml._plot_axes import axes_or_new as _axes
from fastml._plot_trees import importance_bars, oob_curve, plot_tree

__all__ = [
    "choice_of_k",
    "decision_regions",
    "dendrogram",
    "density_contours",
    "density_curve",
    "importance_bars",
    "oob_curve",
    "plot_tree",
    "silhouette",
    "svm_boundary",
    "svr_tube",
    "validation_curve",
]


def decision_regions(classifier, X, y=None, *, resolution=200, margin=0.1, ax=None):
    """Colour the plane by the class that a classifier of two columns predicts.

    Parameters
    ----------
    classifier : fitted classifier
        Anything with `predict` and ``classes_``.
    X : array-like of shape (n_samples, 2)
        Points that set the frame; drawn on top if y is given.
    y : array-like of shape (n_samples,), default=None
        Labels of the points.
    resolution : int, default=200
        Grid points per side.
    margin : float, default=0.1
        Margin around the points, as a share of their range.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.neighbors import KNeighborsClassifier
    >>> from fastml.plot import decision_regions
    >>> X, y = [[0.0, 0.0], [1.0, 1.0]], [0, 1]
    >>> ax = decision_regions(KNeighborsClassifier(1).fit(X, y), X, y)  # doctest: +SKIP
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have two columns, got shape {X.shape}")
    classes = np.asarray(classifier.classes_)
    low, high = X.min(axis=0), X.max(axis=0)
    pad = margin * np.where(high > low, high - low, 1.0)
    sides = [np.linspace(a, b, resolution) for a, b in zip(low - pad, high + pad)]
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    labels = classifier.predict(grid.reshape(-1, 2))
    codes = np.searchsorted(classes, labels).clip(0, classes.size - 1)
    refused = classes[codes] != labels
    shown = np.ma.masked_array(codes, mask=refused).reshape(resolution, resolution)
    ax = _axes(ax)
    span = {
        "vmin": 0,
        "vmax": max(classes.size - 1, 1),
        "cmap": "tab10" if classes.size <= 10 else "viridis",
    }
    ax.pcolormesh(*sides, shown, alpha=0.35, shading="nearest", **span)
    if y is not None:
        colours = np.searchsorted(classes, np.asarray(y))
        ax.scatter(*X.T, c=colours, edgecolors="k", linewidths=0.5, s=20, **span)
    return ax


def validation_curve(curve, *, ax=None):
    """Score by k, for validation and (if there) training rows, with the chosen k.

    Parameters
    ----------
    curve : ValidationCurve
        From :func:`fastml.neighbors.knn_validation_curve`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.neighbors import knn_validation_curve
    >>> from fastml.plot import validation_curve
    >>> X, y = [[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1]
    >>> ax = validation_curve(knn_validation_curve(X, y, [1, 2], cv="loo"))  # doctest: +SKIP
    """
    ax = _axes(ax)
    order = np.argsort(curve.n_neighbors)
    ks = curve.n_neighbors[order]
    for name, scores in (("validation", curve.test_scores), ("training", curve.train_scores)):
        if scores is None:
            continue
        mean, spread = scores[order].mean(axis=1), scores[order].std(axis=1)
        ax.plot(ks, mean, marker=".", label=name)
        ax.fill_between(ks, mean - spread, mean + spread, alpha=0.2)
    ax.axvline(
        curve.best_n_neighbors, linestyle=":", color="k", label=f"k = {curve.best_n_neighbors}"
    )
    ax.set_xlabel("number of neighbours k")
    ax.set_ylabel("score")
    ax.legend()
    return ax


def density_curve(x, bandwidth="isj", *, kernel="gaussian", bins="fd", sample_weight=None, ax=None):
    """Normalised histogram of one feature with its kernel density estimate.

    Parameters
    ----------
    x : array-like of shape (n_samples,) or (n_samples, 1)
    bandwidth : float or str, default="isj"
        See :class:`fastml.neighbors.KernelDensity`.
    kernel : str, default="gaussian"
        Any continuous kernel of :class:`fastml.neighbors.KernelDensity`.
    bins : int, str or array-like, default="fd"
        See :func:`fastml.density.histogram_density`.
    sample_weight : array-like of shape (n_samples,), default=None
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.plot import density_curve
    >>> ax = density_curve([1.0, 2.0, 2.5, 4.0], bandwidth=0.5)  # doctest: +SKIP
    """
    from fastml.density import histogram_density
    from fastml.neighbors import KernelDensity

    x = np.asarray(x, dtype=np.float64)
    x = x[:, None] if x.ndim == 1 else x
    model = KernelDensity(bandwidth=bandwidth, kernel=kernel).fit(x, sample_weight=sample_weight)
    histogram = histogram_density(x, bins, sample_weight=sample_weight)
    grid = model.score_grid()
    ax = _axes(ax)
    ax.stairs(histogram.density, histogram.edges, fill=True, alpha=0.35, label="histogram")
    ax.plot(grid.axes[0], grid.density, label=f"density, bandwidth {float(model.bandwidth_):.3g}")
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("density")
    ax.legend()
    return ax


def density_contours(X, bandwidth="scott", *, kernel="gaussian", levels=10, points=True, ax=None):
    """Contours of the kernel density estimate of two features.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
    bandwidth : float, array-like or str, default="scott"
        See :class:`fastml.neighbors.KernelDensity`; here "scott" and "silverman" measure the
        spread of each feature (:func:`fastml.density.bandwidth_scott`).
    kernel : str, default="gaussian"
        Any continuous kernel of :class:`fastml.neighbors.KernelDensity`.
    levels : int or array-like, default=10
        Contour levels.
    points : bool, default=True
        Draw the points too.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.plot import density_contours
    >>> ax = density_contours([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])  # doctest: +SKIP
    """
    from fastml import density
    from fastml.neighbors import KernelDensity

    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have two columns, got shape {X.shape}")
    if isinstance(bandwidth, str) and bandwidth in ("scott", "silverman"):
        bandwidth = getattr(density, f"bandwidth_{bandwidth}")(X)
    grid = KernelDensity(bandwidth=bandwidth, kernel=kernel).fit(X).score_grid()
    ax = _axes(ax)
    ax.contourf(*grid.axes, grid.density.T, levels=levels, cmap="Blues")
    if points:
        ax.scatter(*X.T, c="k", s=4, linewidths=0, alpha=0.5)
    return ax


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
    ax = _axes(ax)
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
    ax = _axes(ax)
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
    ax = _axes(ax)
    hierarchy.dendrogram(np.asarray(tree, dtype=np.float64), ax=ax, **options)
    ax.set_ylabel("distance")
    return ax


def svm_boundary(machine, X, y=None, *, resolution=200, margin=0.1, ax=None):
    """Decision boundary f = 0 of a two-class machine in the plane, its margins f = ±1, its support.

    Parameters
    ----------
    machine : estimator
        Fitted on two columns and two classes, with ``decision_function``; `fastml.svm.SVC` and
        others. Support vectors are ringed if it has them.
    X : array-like of shape (n_samples, 2)
        Points to draw; they set the frame.
    y : array-like of shape (n_samples,), default=None
        Their labels, for the colours.
    resolution : int, default=200
        Points of the grid along each axis.
    margin : float, default=0.1
        Room around the points, as a share of their range.
    ax : matplotlib Axes, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.plot import svm_boundary
    >>> from fastml.svm import SVC
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [3.0, 3.0], [4.0, 2.5]])
    >>> y = [0, 0, 1, 1]
    >>> ax = svm_boundary(SVC(kernel="linear").fit(X, y), X, y)  # doctest: +SKIP
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must have two columns, got shape {X.shape}")
    ax = _axes(ax)
    low, high = X.min(axis=0), X.max(axis=0)
    room = margin * np.where(high > low, high - low, 1.0)
    x0, x1 = (np.linspace(a, b, resolution) for a, b in zip(low - room, high + room))
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x0, x1)])
    values = np.asarray(machine.decision_function(grid))
    if values.ndim != 1:
        raise ValueError("svm_boundary needs a machine of two classes")
    values = values.reshape(resolution, resolution)
    reach = np.abs(values).max() + 1.0
    ax.contourf(x0, x1, values, levels=[-reach, 0, reach], alpha=0.2, cmap="coolwarm")
    ax.contour(x0, x1, values, levels=[-1, 0, 1], linestyles=["--", "-", "--"], colors="black")
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=15)
    vectors = getattr(machine, "support_vectors_", np.empty((0, 0)))
    if vectors.shape[1] == 2:
        ax.scatter(*vectors.T, s=80, facecolors="none", edgecolors="black", label="support vectors")
        ax.legend()
    return ax


def svr_tube(machine, X, y, *, resolution=300, ax=None):
    """A regression of one feature with its ε-tube; support vectors are ringed.

    Parameters
    ----------
    machine : estimator
        A fitted regressor of one column, such as `fastml.svm.SVR`; without ``epsilon`` there is no
        tube.
    X : array-like of shape (n_samples, 1)
        The rows.
    y : array-like of shape (n_samples,)
        Their values.
    resolution : int, default=300
        Points of the curve.
    ax : matplotlib Axes, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.plot import svr_tube
    >>> from fastml.svm import SVR
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> ax = svr_tube(SVR().fit(X, np.sin(X.ravel())), X, np.sin(X.ravel()))  # doctest: +SKIP
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(f"X must have one column, got shape {X.shape}")
    ax = _axes(ax)
    grid = np.linspace(X.min(), X.max(), resolution)
    curve = machine.predict(grid[:, None])
    ax.plot(grid, curve, color="black")
    epsilon = getattr(machine, "epsilon", None)
    if epsilon is not None:
        ax.fill_between(grid, curve - epsilon, curve + epsilon, alpha=0.2, label=f"ε = {epsilon:g}")
    ax.scatter(X[:, 0], y, s=15)
    support = getattr(machine, "support_", np.empty(0, dtype=np.intp))
    if support.size:
        ax.scatter(
            X[support, 0],
            y[support],
            s=80,
            facecolors="none",
            edgecolors="black",
            label="support vectors",
        )
    ax.legend()
    return ax
