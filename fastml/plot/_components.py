"""Plots of principal components."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


def _variances(model):
    """Variances of the components and of all columns together."""
    variances = np.asarray(model.explained_variance_, dtype=np.float64)
    shares = np.asarray(model.explained_variance_ratio_, dtype=np.float64)
    if len(variances) == 0 or not shares[0] > 0.0:
        raise ValueError("the model has no component with a variance to draw")
    return variances, variances[0] / shares[0]


def _whole_numbers(ax):
    """There is no component 1.5."""
    ax.xaxis.get_major_locator().set_params(integer=True)


def scree(model, *, ax=None):
    """Variance of every component: components before the elbow are worth keeping.

    Parameters
    ----------
    model : PCA, IncrementalPCA or TruncatedSVD, or KernelPCA or ClassicalMDS
        Fitted; of the latter two the eigenvalues are drawn.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.decomposition import PCA
    >>> from fastml.plot import scree
    >>> ax = scree(PCA().fit([[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]]))  # doctest: +SKIP
    """
    name = "variance"
    if not hasattr(model, "explained_variance_") and hasattr(model, "eigenvalues_"):
        name, variances = "eigenvalue", np.asarray(model.eigenvalues_, dtype=np.float64)
    else:
        variances, _ = _variances(model)
    ax = axes_or_new(ax)
    ax.plot(np.arange(1, len(variances) + 1), variances, marker="o")
    ax.set(xlabel="component", ylabel=name)
    _whole_numbers(ax)
    return ax


def explained_variance(model, *, share=0.9, ax=None):
    """Share of the variance that the first k components explain, and how many reach ``share``.

    Parameters
    ----------
    model : PCA, IncrementalPCA or TruncatedSVD
        Fitted.
    share : float, default=0.9
        Share to be marked; None marks none.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.decomposition import PCA
    >>> from fastml.plot import explained_variance
    >>> ax = explained_variance(PCA().fit([[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]]))  # doctest: +SKIP
    """
    variances, total = _variances(model)
    ax = axes_or_new(ax)
    sums = np.cumsum(variances) / total
    numbers = np.arange(1, len(variances) + 1)
    ax.bar(numbers, variances / total, color="tab:gray", label="each")
    ax.plot(numbers, sums, marker="o", label="together")
    if share is not None:
        ax.axhline(share, linestyle=":", color="k")
        if sums[-1] >= share:
            k = int(np.argmax(sums >= share)) + 1
            ax.axvline(k, linestyle=":", color="k", label=f"{share:.0%} with {k}")
    ax.set(xlabel="components", ylabel="share of the variance", ylim=(0.0, 1.05))
    _whole_numbers(ax)
    ax.legend()
    return ax


def reconstruction_error(model, X=None, *, ax=None):
    """Mean squared distance of rows from their projection on the first k components.

    Of the rows that were fitted it is the sum of the variances left out (the bound); ``X`` adds the
    error of other rows.

    Parameters
    ----------
    model : PCA or IncrementalPCA
        Fitted.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to be reconstructed.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.decomposition import PCA
    >>> from fastml.plot import reconstruction_error
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]]
    >>> ax = reconstruction_error(PCA().fit(X), X)  # doctest: +SKIP
    """
    variances, total = _variances(model)
    ax = axes_or_new(ax)
    numbers = np.arange(len(variances) + 1)
    left = np.maximum(total - np.concatenate([[0.0], np.cumsum(variances)]), 0.0)
    ax.plot(numbers, left, marker="o", label="variances left out")
    if X is not None:
        off = np.asarray(X, dtype=np.float64) - model.mean_
        squares = np.mean((off @ model.components_.T.astype(np.float64)) ** 2, axis=0)
        whole = np.mean((off * off).sum(axis=1))
        errors = np.maximum(whole - np.concatenate([[0.0], np.cumsum(squares)]), 0.0)
        ax.plot(numbers, errors, marker=".", label="error on X")
    ax.set(xlabel="components", ylabel="mean squared error")
    _whole_numbers(ax)
    ax.legend()
    return ax


def biplot(model, X, y=None, *, feature_names=None, ax=None):
    """Rows in terms of the first two components, and the columns as arrows.

    Parameters
    ----------
    model : PCA or IncrementalPCA
        Fitted, with at least two components.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,), default=None
        Labels by which rows are coloured.
    feature_names : list of str, default=None
        Of the columns; None: those of the fit, or x0, x1, ….
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.decomposition import PCA
    >>> from fastml.plot import biplot
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 4.0]]
    >>> ax = biplot(PCA(2).fit(X), X)  # doctest: +SKIP
    """
    if len(model.components_) < 2:
        raise ValueError("a biplot needs at least two components")
    Z = np.asarray(model.transform(X))[:, :2]
    ax = axes_or_new(ax)
    for label in [None] if y is None else np.unique(np.asarray(y)):
        own = slice(None) if label is None else np.asarray(y) == label
        ax.scatter(Z[own, 0], Z[own, 1], s=10, alpha=0.6, label=label)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    arrows = (model.components_[:2] * np.sqrt(model.explained_variance_[:2])[:, None]).T
    longest = np.abs(arrows).max()
    if not model.whiten and longest > 0.0:
        arrows = arrows * (0.8 * np.abs(Z).max() / longest)
    for j, (x, height) in enumerate(arrows):
        name = f"x{j}" if feature_names is None else feature_names[j]
        ax.annotate("", (x, height), (0.0, 0.0), arrowprops={"arrowstyle": "->", "color": "k"})
        ax.text(x, height, str(name))
    shares = model.explained_variance_ratio_
    ax.set(xlabel=f"component 1 ({shares[0]:.0%})", ylabel=f"component 2 ({shares[1]:.0%})")
    if y is not None:
        ax.legend()
    return ax


def components_removed(model, X, *, steps=None, axes=None):
    """Rows in two dimensions after the first 0, 1, 2, … components were taken out of them.

    Every panel shows the two components that have most variance among those left: structure that
    larger ones hide.

    Parameters
    ----------
    model : PCA or IncrementalPCA
        Fitted, with at least two components, and more than ``steps``.
    X : array-like of shape (n_samples, n_features)
        Rows.
    steps : int, default=None
        Number of panels; None: four, or as many as there are components less one.
    axes : list of matplotlib Axes, default=None
        Where to draw, one for each panel; None makes a new figure.

    Returns
    -------
    axes : list of matplotlib Axes

    Examples
    --------
    >>> from fastml.decomposition import PCA
    >>> from fastml.plot import components_removed
    >>> X = [[0.0, 1.0, 0.5], [1.0, 3.0, 0.1], [2.0, 4.0, 0.3]]
    >>> axes = components_removed(PCA(3).fit(X), X, steps=2)  # doctest: +SKIP
    """
    if steps is None:
        steps = max(1, min(4, len(model.components_) - 1))
    if not 1 <= steps < len(model.components_):
        raise ValueError(
            f"steps must be from 1 to the number of components - 1 = {len(model.components_) - 1}, "
            f"got {steps}"
        )
    Z = np.asarray(model.transform(X))
    if axes is None:
        first = axes_or_new(None)
        figure = first.figure
        first.remove()
        axes = list(np.ravel(figure.subplots(1, steps)))
    if len(axes) != steps:
        raise ValueError(f"axes must hold one for each of the {steps} panels, got {len(axes)}")
    for removed, ax in enumerate(axes):
        ax.scatter(Z[:, removed], Z[:, removed + 1], s=10, alpha=0.6)
        ax.set(
            title=f"{removed} removed", xlabel=f"component {removed + 1}",
            ylabel=f"component {removed + 2}",
        )  # fmt: skip
    return list(axes)
