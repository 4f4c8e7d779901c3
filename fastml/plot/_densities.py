"""Plots of densities: a curve over a histogram, contours in the plane."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


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
    ax = axes_or_new(ax)
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
    ax = axes_or_new(ax)
    ax.contourf(*grid.axes, grid.density.T, levels=levels, cmap="Blues")
    if points:
        ax.scatter(*X.T, c="k", s=4, linewidths=0, alpha=0.5)
    return ax
