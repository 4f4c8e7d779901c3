"""Plots of classifiers: the regions of their classes, accuracy by a parameter."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


def decision_regions(
    classifier, X, y=None, *, resolution=200, margin=0.1, probabilities=False, ax=None
):
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
    probabilities : bool, default=False
        Whether the colour of a class is the fainter the less probable it is (by `predict_proba`),
        down to none where all classes are equally probable; lines show where it is halfway.
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
    ax = axes_or_new(ax)
    span = {
        "vmin": 0,
        "vmax": max(classes.size - 1, 1),
        "cmap": "tab10" if classes.size <= 10 else "viridis",
    }
    strength = 0.35
    if probabilities:
        best = classifier.predict_proba(grid.reshape(-1, 2)).max(axis=1)
        sure = (best * classes.size - 1.0) / max(classes.size - 1, 1)
        strength = 0.7 * np.clip(sure, 0.0, 1.0).reshape(resolution, resolution)
        if strength.min() < 0.35 < strength.max():
            ax.contour(*sides, strength, levels=[0.35], colors="k", linewidths=0.6)
    ax.pcolormesh(*sides, shown, alpha=strength, shading="nearest", **span)
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
    ax = axes_or_new(ax)
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
