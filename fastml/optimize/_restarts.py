"""Many starts, for functions with many valleys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml.optimize._run import Optimum


@dataclass(frozen=True)
class Restarts:
    """The best of several runs."""

    best: Optimum
    values: NDArray  # of every run, in their order
    starts: list[NDArray]


def random_restarts(minimise, draw, n_restarts=100, *, random_state=None):
    """Minimise from many random starts and keep the best.

    Parameters
    ----------
    minimise : callable
        ``minimise(start)`` returns an `Optimum`, as all methods of this module do.
    draw : callable
        ``draw(random_state)`` returns a start; each has a RandomState of its own.
    n_restarts : int, default=100
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    restarts : Restarts
        ``best``, and ``values`` of all.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.optimize import gradient_descent, random_restarts
    >>> def wavy(w):
    ...     return np.cos(3 * w[0]) + w[0] ** 2 / 10
    >>> found = random_restarts(
    ...     lambda start: gradient_descent(wavy, start, step=0.05),
    ...     lambda random: random.uniform(-6, 6, size=1), 20, random_state=0,
    ... )
    >>> round(found.best.value, 3), np.abs(found.best.point).round(2)
    (-0.893, array([1.02]))
    """
    from sklearn.utils import check_random_state

    if n_restarts < 1:
        raise ValueError(f"n_restarts must be at least 1, got {n_restarts}")
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_restarts)
    starts = [np.asarray(draw(np.random.RandomState(seed)), dtype=np.float64) for seed in seeds]
    runs = [minimise(start) for start in starts]
    values = np.array([run.value for run in runs])
    finite = np.where(np.isfinite(values), values, np.inf)
    return Restarts(runs[int(np.argmin(finite))], values, starts)
