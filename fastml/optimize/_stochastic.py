"""Descent along gradients of single rows or small batches."""

from __future__ import annotations

import numpy as np

from fastml.optimize._numeric import numeric_gradient
from fastml.optimize._run import Run, start_of
from fastml.optimize._steps import as_momentum, as_step


def stochastic_gradient(
    row_loss, start, n_rows, row_gradient=None, *, batch_size=1, replace=False, shuffle=True,
    step=0.01, momentum=0.0, nesterov=False, stop=None, random_state=None, keep_points=False,
):  # fmt: skip
    """Stochastic gradient descent: each step sees a batch of rows only.

    The mean gradient of rows drawn uniformly has the gradient of all as its mean. A batch of one
    row is the classical method, one of all rows gradient descent.

    Parameters
    ----------
    row_loss : callable
        ``row_loss(w, rows)``: the mean loss of the rows with these indices.
    start : array-like of shape (n,)
    n_rows : int
        How many rows there are.
    row_gradient : callable, default=None
        ``row_gradient(w, rows)``: its gradient; None: by differences.
    batch_size : int, default=1
    replace : bool, default=False
        Draw every batch anew from all rows; else every epoch passes over each row once.
    shuffle : bool, default=True
        Whether a pass is in random order.
    step : float, callable or step, default=0.01
        See `gradient_descent`; t counts batches.
    momentum : float, default=0.0
    nesterov : bool, default=False
    stop : stopping rule, default=None
        Asked after every epoch; None: ``GradientBelow(1e-6) | Steps(1000)``.
    random_state : int, RandomState instance or None, default=None
    keep_points : bool, default=False
        Whether the trace holds w after every batch.

    Returns
    -------
    optimum : Optimum
        The trace is by epoch; its losses and gradients are of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.optimize import Steps, stochastic_gradient
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    >>> found = stochastic_gradient(
    ...     lambda w, rows: np.mean((x[rows] * w[0] - y[rows]) ** 2), [0.0], 3,
    ...     lambda w, rows: np.array([np.mean(2 * x[rows] * (x[rows] * w[0] - y[rows]))]),
    ...     step=0.05, stop=Steps(30), random_state=0,
    ... )
    >>> found.point.round(3)
    array([2.])
    """
    from sklearn.utils import check_random_state

    point = start_of(start)
    if n_rows < 1 or not 1 <= batch_size <= n_rows:
        raise ValueError(f"batch_size must be from 1 to n_rows={n_rows}, got {batch_size}")
    momentum = as_momentum(momentum, nesterov)
    step = as_step(step, searches=False)
    draws = check_random_state(random_state)
    everything = np.arange(n_rows)

    def slope_at(w, rows):
        if row_gradient is None:
            return numeric_gradient(lambda v: row_loss(v, rows), w)
        return np.asarray(row_gradient(w, rows), dtype=np.float64)

    def goes_on(length=np.nan):
        norm = np.linalg.norm(slope_at(point, everything))
        return run.goes_on(point, row_loss(point, everything), norm, length)

    run = Run(stop, keep_points)
    run.keep(point)
    velocity = np.zeros_like(point)
    more, t, length = goes_on(), 0, np.nan
    while more:
        order = draws.permutation(n_rows) if shuffle and not replace else everything
        for first in range(0, n_rows, batch_size):
            t += 1
            if replace:
                rows = draws.randint(n_rows, size=batch_size)
            else:
                rows = order[first : first + batch_size]
            share = momentum(t) if callable(momentum) else momentum
            slope = slope_at(point + share * velocity if nesterov else point, rows)
            length = step.length(t, slope)
            velocity = share * velocity - length * slope
            point = point + velocity
            run.keep(point)
        more = goes_on(length if length > 0.0 else np.nan)
    return run.ended(lambda w: row_loss(w, everything))
