"""The forest plot of odds ratios."""

from __future__ import annotations

import numpy as np

from fastml.plot._axes import axes_or_new

MOST = 1e100
"""What an axis can show."""


def odds_ratios(ratios, *, ax=None):
    """Draw odds ratios with their intervals, one line a column, on a logarithmic scale.

    Parameters
    ----------
    ratios : OddsRatios
        From :func:`fastml.linear_model.odds_ratios`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes; the first column is at the top, several classes have a colour each. Ends of
        intervals that no axis can show are cut.

    Examples
    --------
    >>> from fastml.linear_model import LogisticRegression, odds_ratios
    >>> from fastml import plot
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = LogisticRegression(keep_summary=True).fit(X, y)
    >>> ax = plot.odds_ratios(odds_ratios(model))  # doctest: +SKIP
    """
    ratio = np.asarray(ratios.ratio, dtype=np.float64)
    labels = list(dict.fromkeys(ratios.classes))
    names = list(dict.fromkeys(ratios.names))
    ax = axes_or_new(ax)
    lower, upper = (np.clip(end, 1.0 / MOST, MOST) for end in (ratios.lower, ratios.upper))
    rows = np.array([names.index(name) for name in ratios.names], dtype=np.float64)
    for k, label in enumerate(labels):
        mine = np.array([other == label for other in ratios.classes], dtype=bool)
        heights = -rows[mine] - 0.6 * ((k + 0.5) / len(labels) - 0.5)
        around = np.stack([ratio[mine] - lower[mine], upper[mine] - ratio[mine]])
        ax.errorbar(
            ratio[mine], heights, xerr=np.maximum(around, 0.0), fmt="s", capsize=3,
            color=f"C{k % 10}", label=str(label),
        )  # fmt: skip
    ax.axvline(1.0, linestyle=":", color="k", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yticks(-np.arange(len(names), dtype=np.float64), names)
    share = f"{100 * ratios.confidence:g} %"
    ax.set_xlabel(f"odds ratio against {ratios.reference}, {share} interval")
    if len(labels) > 1:
        ax.legend()
    return ax
