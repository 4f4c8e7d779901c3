"""Plots of support vector machines: margins in the plane, the tube of a regression."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new


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
        Their labels, for the colours; numbers or strings.
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
    ax = axes_or_new(ax)
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
    colours = y if y is None else np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    ax.scatter(*X.T, c=colours, cmap="coolwarm", s=15)
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
    ax = axes_or_new(ax)
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
