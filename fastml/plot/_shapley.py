"""Plots of Shapley values: all rows at once, or one."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new

UP, DOWN = "#d62748", "#1f77b4"


def _names(explanation, n_features) -> list[str]:
    if explanation.feature_names is None:
        return [f"x{j}" for j in range(n_features)]
    return [str(name) for name in explanation.feature_names]


def shap_summary(explanation, *, max_display=20, ax=None):
    """Shapley values of all rows, a line of dots per column, the most important on top.

    A dot's place is what the column adds for a row, its colour the column's value, from low (blue)
    to high (red). Dots of nearly the same place stand above each other.

    Parameters
    ----------
    explanation : Explanation
        Of one output: ``explanation[..., k]`` of several.
    max_display : int, default=20
        Most columns to show.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.inspection import shapley_values
    >>> from fastml.linear_model import LinearRegression
    >>> from fastml.plot import shap_summary
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> model = LinearRegression().fit(X, [0.0, 2.0, 4.0, 6.0])
    >>> len(shap_summary(shapley_values(model, X)).collections)
    2
    """
    values = np.asarray(explanation.values)
    if values.ndim != 2:
        raise ValueError("shap_summary draws one output: take explanation[..., k]")
    ax = axes_or_new(ax)
    order = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:max_display][::-1]
    names = _names(explanation, values.shape[1])
    data = np.asarray(explanation.data)
    for line, j in enumerate(order):
        colours = _ranks(data[:, j])
        ax.scatter(
            values[:, j], line + _spread(values[:, j]), c=colours, cmap="coolwarm", s=8, vmin=0,
            vmax=1,
        )  # fmt: skip
    ax.axvline(0.0, color="grey", linewidth=0.8)
    ax.set_yticks(range(len(order)), [names[j] for j in order])
    ax.set_xlabel("Shapley value")
    return ax


def _ranks(column) -> np.ndarray:
    """From 0 to 1; text by its order, what is missing in the middle."""
    _, codes = np.unique(column, return_inverse=True)
    return codes / max(codes.max(initial=0), 1)


def _spread(x) -> np.ndarray:
    """Heights within ±0.4 by which dots of one place stand apart."""
    if not len(x):
        return x
    width = np.ptp(x) / 60.0 or 1.0
    cells = np.floor((x - x.min()) / width).astype(np.intp)
    heights = np.zeros(len(x))
    most = np.bincount(cells).max()
    for cell in np.unique(cells):
        here = np.flatnonzero(cells == cell)
        sides = (np.arange(len(here)) + 1) // 2 * np.where(np.arange(len(here)) % 2, 1, -1)
        heights[here] = 0.8 * sides / max(most, 2)
    return heights


def shap_waterfall(explanation, *, max_display=10, ax=None):
    """How the columns of one row lead from the mean answer to the model's.

    Parameters
    ----------
    explanation : Explanation
        Of one row and one output: ``explanation[i]``; of several rows, the first is shown.
    max_display : int, default=10
        Most columns to show; the others are one bar.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.inspection import shapley_values
    >>> from fastml.linear_model import LinearRegression
    >>> from fastml.plot import shap_waterfall
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> model = LinearRegression().fit(X, [0.0, 2.0, 4.0, 6.0])
    >>> len(shap_waterfall(shapley_values(model, X)[0]).patches)
    2
    """
    values = np.asarray(explanation.values)
    if values.ndim == 2 and np.ndim(explanation.base_values) == 1:
        explanation = explanation[0]
        values = np.asarray(explanation.values)
    if values.ndim != 1:
        raise ValueError("shap_waterfall draws one row of one output")
    ax = axes_or_new(ax)
    names, data = _names(explanation, len(values)), np.asarray(explanation.data)
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[: max_display - (len(values) > max_display)], None
    steps = [(f"{names[j]} = {_text(data[j])}", values[j]) for j in shown]
    if len(shown) < len(values):
        rest = order[len(shown) :]
        steps.append((f"{len(rest)} others", values[rest].sum()))
    at = float(np.asarray(explanation.base_values))
    for line, (_, value) in enumerate(reversed(steps)):
        ax.barh(line, value, left=at, color=UP if value >= 0 else DOWN)
        ax.text(at + value, line, f"{value:+.3g}", va="center")
        at += value
    ax.axvline(at, color="grey", linewidth=0.8, linestyle="--")
    ax.set_yticks(range(len(steps)), [name for name, _ in reversed(steps)])
    ax.set_xlabel(f"from {float(np.asarray(explanation.base_values)):.3g} to {at:.3g}")
    return ax


def _text(value) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
