"""Plots of linear and Gaussian classifiers: the sigmoid, coefficients by penalty, ellipses."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


def sigmoid(model=None, X=None, y=None, *, ax=None):
    """Draw p = 1 / (1 + exp(−score)); with a model and rows, where they lie on it.

    Parameters
    ----------
    model : fitted classifier of two classes, default=None
        Anything with `decision_function`; scores must be log-odds, as of logistic regression.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to mark on the curve.
    y : array-like of shape (n_samples,), default=None
        Their labels: rows are then drawn at 0 and 1, over and under the curve.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.plot import sigmoid
    >>> ax = sigmoid()  # doctest: +SKIP
    """
    from scipy.special import expit

    if (model is None) != (X is None):
        raise ValueError("model and X are given together, or neither")
    scores = np.zeros(0)
    if model is not None:
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        if scores.ndim != 1:
            raise ValueError(f"the model must have two classes, got {scores.shape[1]} scores a row")
    reach = max(6.0, 1.1 * float(np.abs(scores).max(initial=0.0)))
    grid = np.linspace(-reach, reach, 401)
    ax = axes_or_new(ax)
    ax.plot(grid, expit(grid))
    ax.axhline(0.5, linestyle=":", color="k", linewidth=0.8)
    ax.axvline(0.0, linestyle=":", color="k", linewidth=0.8)
    if model is not None:
        heights = expit(scores)
        if y is not None:
            heights = (np.asarray(y) == model.classes_[1]).astype(np.float64)
        ax.scatter(scores, heights, s=15, alpha=0.6, edgecolors="none", color="C1")
    ax.set_xlabel("score w · x + b")
    ax.set_ylabel("probability")
    return ax


def coefficient_path(penalties, coefficients, *, names=None, ax=None):
    """Draw each coefficient along the penalties of a path.

    Parameters
    ----------
    penalties : array-like of shape (n_penalties,)
        For example ``alphas`` of :func:`fastml.linear_model.lasso_path`, or ``Cs_``.
    coefficients : array-like of shape (n_features, n_penalties)
        What belongs to them.
    names : sequence of str, default=None
        Names of the features, for a legend.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes; penalties are on a logarithmic scale.

    Examples
    --------
    >>> from fastml.plot import coefficient_path
    >>> ax = coefficient_path([1.0, 0.1], [[0.0, 0.5], [0.0, -0.2]])  # doctest: +SKIP
    """
    penalties = np.asarray(penalties, dtype=np.float64)
    coefficients = np.asarray(coefficients, dtype=np.float64)
    if penalties.ndim != 1 or coefficients.ndim != 2 or coefficients.shape[1] != len(penalties):
        raise ValueError(
            "coefficients must have one column for each penalty, got shapes "
            f"{coefficients.shape} and {penalties.shape}"
        )
    if (penalties <= 0.0).any():
        raise ValueError("penalties must be positive: their scale is logarithmic")
    if names is not None and len(names) != len(coefficients):
        raise ValueError(f"names has {len(names)} entries for {len(coefficients)} features")
    order = np.argsort(penalties)
    ax = axes_or_new(ax)
    for j, row in enumerate(coefficients):
        ax.plot(penalties[order], row[order], label=None if names is None else str(names[j]))
    ax.axhline(0.0, linestyle=":", color="k", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("penalty")
    ax.set_ylabel("coefficient")
    if names is not None:
        ax.legend()
    return ax


def class_ellipses(model, X=None, y=None, *, levels=(1.0, 2.0), ax=None):
    """Draw the classes of a fitted discriminant analysis of two columns as ellipses.

    An ellipse holds the points whose distance (x − μ)'Σ⁻¹(x − μ) from the mean is the square of
    its level: with level 2, 86 % of a normal class.

    Parameters
    ----------
    model : fitted LinearDiscriminantAnalysis or QuadraticDiscriminantAnalysis
        Of two columns; the linear one with ``store_covariance=True`` or another solver than 'svd'.
    X : array-like of shape (n_samples, 2), default=None
        Points to draw.
    y : array-like of shape (n_samples,), default=None
        Their labels.
    levels : sequence of float, default=(1.0, 2.0)
        Distances of the ellipses from the mean, in standard deviations.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes.

    Examples
    --------
    >>> from fastml.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> from fastml.plot import class_ellipses
    >>> X = [[0.0, 0.0], [1.0, 0.5], [0.2, 1.0], [4.0, 4.0], [5.0, 4.5], [4.2, 5.0]]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> ax = class_ellipses(model, X, [0, 0, 0, 1, 1, 1])  # doctest: +SKIP
    """
    means = np.asarray(model.means_)
    if means.shape[1] != 2:
        raise ValueError(f"the model must be of two columns, got {means.shape[1]}")
    turns = np.linspace(0.0, 2.0 * np.pi, 181)
    circle = np.stack([np.cos(turns), np.sin(turns)])
    ax = axes_or_new(ax)
    for k, (label, root) in enumerate(zip(model.classes_, _roots(model))):
        colour = f"C{k % 10}"
        for level in levels:
            ax.plot(*(means[k][:, None] + level * root @ circle), color=colour)
        ax.plot(*means[k], marker="x", color=colour, linestyle="none", label=str(label))
        if X is not None and y is not None:
            mine = np.asarray(y) == label
            points = np.asarray(X, dtype=np.float64)[mine]
            ax.scatter(*points.T, s=12, alpha=0.5, color=colour, edgecolors="none")
    if X is not None and y is None:
        ax.scatter(*np.asarray(X, dtype=np.float64).T, s=12, alpha=0.5, color="0.5")
    ax.legend()
    return ax


def _roots(model):
    """Matrices R with R R' = Σ, one a class."""
    if hasattr(model, "rotations_"):
        return [R * np.sqrt(S) for R, S in zip(model.rotations_, model.scalings_)]
    if not hasattr(model, "covariance_"):
        raise ValueError("the model has no covariance_: fit it with store_covariance=True")
    values, vectors = np.linalg.eigh(np.asarray(model.covariance_))
    return [vectors * np.sqrt(np.maximum(values, 0.0))] * len(model.classes_)
