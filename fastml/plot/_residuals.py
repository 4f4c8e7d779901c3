"""Plots of what a regression leaves over."""

from __future__ import annotations

import numpy as np

from fastml._validation import check_choice
from fastml.plot._axes import axes_or_new
from fastml.plot._densities import density_curve

KINDS = ("histogram", "fitted", "order", "quantiles")


def residuals(model, X, y, *, kind=None, sample_weight=None, ax=None):
    """Residuals y − ŷ in four views: what least squares assumes of them can be seen.

    A histogram with its density (normal?), against fitted values (equal variance, a straight
    line?), in the order of rows (serial correlation?), and sorted against normal quantiles.

    Parameters
    ----------
    model : estimator or LinearSummary
        Whatever predicts.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    kind : {'histogram', 'fitted', 'order', 'quantiles'}, default=None
        One view; None draws all four in a new figure.
    sample_weight : array-like of shape (n_samples,), default=None
        Residuals are multiplied by the root of these.
    ax : matplotlib Axes, default=None
        Where to draw one view; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes, or an array of four

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from fastml.plot import residuals
    >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 1.5, 2.5]
    >>> axes = residuals(LinearRegression().fit(X, y), X, y)  # doctest: +SKIP
    """
    fitted = model.predict(X)
    fitted = np.asarray(getattr(fitted, "mean", fitted) if isinstance(fitted, tuple) else fitted)
    y = np.asarray(y, dtype=np.float64)
    if fitted.shape != y.shape or y.ndim != 1:
        raise ValueError(f"one target is drawn; y has shape {y.shape}, predictions {fitted.shape}")
    errors = y - fitted
    if sample_weight is not None:
        errors = errors * np.sqrt(np.asarray(sample_weight, dtype=np.float64))
    if kind is not None:
        check_choice("kind", kind, KINDS)
        return DRAWN[kind](axes_or_new(ax), errors, fitted)
    if ax is not None:
        raise ValueError("ax is for one view: give its kind too")
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("plots need Matplotlib: pip install fastml[plot]") from missing
    axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")[1]
    for each, one in zip(axes.ravel(), KINDS):
        DRAWN[one](each, errors, fitted)
    return axes


def _histogram(ax, errors, fitted):
    spread = errors.std()
    if spread > 0.0:
        density_curve(errors, "silverman", ax=ax)
        grid = np.linspace(errors.min(), errors.max(), 200)
        normal = np.exp(-0.5 * ((grid - errors.mean()) / spread) ** 2)
        ax.plot(grid, normal / (spread * np.sqrt(2 * np.pi)), "k--", linewidth=1, label="normal")
        ax.legend()
    else:
        ax.hist(errors)
    ax.set_xlabel("residual")
    return ax


def _against_fitted(ax, errors, fitted):
    ax.scatter(fitted, errors, s=8, linewidths=0, alpha=0.5)
    ax.axhline(0.0, color="k", linewidth=1)
    ax.set_xlabel("fitted value")
    ax.set_ylabel("residual")
    return ax


def _in_order(ax, errors, fitted):
    ax.plot(np.arange(len(errors)), errors, ".", markersize=3)
    ax.axhline(0.0, color="k", linewidth=1)
    ax.set_xlabel("row")
    ax.set_ylabel("residual")
    return ax


def _quantiles(ax, errors, fitted):
    from scipy.special import ndtri

    n = len(errors)
    expected = ndtri((np.arange(n) + 0.5) / n)
    found = np.sort(errors)
    ax.plot(expected, found, ".", markersize=3)
    ax.axline((0.0, errors.mean()), slope=errors.std(), color="k", linewidth=1)
    ax.set_xlabel("normal quantile")
    ax.set_ylabel("residual")
    return ax


DRAWN = dict(zip(KINDS, (_histogram, _against_fitted, _in_order, _quantiles)))
