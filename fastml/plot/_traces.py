"""Plots of how descent methods went."""

from __future__ import annotations

import numpy as np

from fastml._validation import check_choice
from fastml.plot._axes import axes_or_new

QUANTITIES = {
    "loss": "loss",
    "gradient_norm": "norm of the gradient",
    "step": "step",
    "validation": "validation loss",
}


def trace(runs, *, what="loss", against="step", log=None, ax=None):
    """Loss, gradient norm or step of descent methods, step by step or over time.

    Parameters
    ----------
    runs : Optimum, Trace or dict
        One run, or runs by name.
    what : {'loss', 'gradient_norm', 'step', 'validation'}, default='loss'
    against : {'step', 'seconds'}, default='step'
    log : bool, default=None
        Whether the ordinate is logarithmic; None: if all values are positive.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from fastml.optimize import gradient_descent
    >>> from fastml.plot import trace
    >>> run = gradient_descent(lambda w: w @ w, [2.0], lambda w: 2 * w)
    >>> ax = trace({"constant step": run}, what="gradient_norm")  # doctest: +SKIP
    """
    check_choice("what", what, QUANTITIES)
    check_choice("against", against, ("step", "seconds"))
    named = runs if isinstance(runs, dict) else {None: runs}
    traces = {name: getattr(run, "trace", run) for name, run in named.items()}
    ax = axes_or_new(ax)
    drawn = []
    for name, found in traces.items():
        values = np.asarray(getattr(found, what))
        where = found.seconds if against == "seconds" else np.arange(len(values))
        ax.plot(where, values, label=name)
        drawn.append(values[np.isfinite(values)])
    together = np.concatenate(drawn)
    if log if log is not None else bool(len(together) and together.min() > 0.0):
        ax.set_yscale("log")
    ax.set_xlabel(against if against == "seconds" else "step")
    ax.set_ylabel(QUANTITIES[what])
    if isinstance(runs, dict):
        ax.legend()
    return ax
