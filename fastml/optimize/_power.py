"""The largest eigenvalue, by multiplying again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastml.optimize._run import Run, Trace, start_of
from fastml.optimize._stopping import GradientBelow, Steps


@dataclass(frozen=True)
class Eigenpair:
    """K vector = value · vector."""

    value: float
    vector: NDArray  # of length one
    reason: str
    n_steps: int
    trace: Trace  # loss: eigenvalues with a minus; gradient: ‖K v − value v‖


def power_iteration(matrix, start=None, *, stop=None, random_state=None, keep_points=False):
    """Power iteration, v ← K v / ‖K v‖: v turns to the eigenvector of the largest ∣eigenvalue∣.

    The error shrinks by ∣λ₂ / λ₁∣ in every step. The value is v'Kv (Rayleigh's quotient).

    Parameters
    ----------
    matrix : array-like of shape (n, n), sparse matrix or callable
        K, or a function that returns K v.
    start : array-like of shape (n,), default=None
        Any vector that is not orthogonal to the eigenvector; None draws one. Needed for a function.
    stop : stopping rule, default=None
        The gradient is ‖K v − value v‖. None: ``GradientBelow(1e-10) | Steps(10_000)``, relative
        to ‖K v‖ at the start.
    random_state : int, RandomState instance or None, default=None
    keep_points : bool, default=False
        Whether the trace holds every v.

    Returns
    -------
    eigenpair : Eigenpair

    Examples
    --------
    >>> from fastml.optimize import power_iteration
    >>> found = power_iteration([[2.0, 0.8], [0.8, 0.6]], [1.0, 0.0])
    >>> round(found.value, 4), (found.vector[0] / found.vector[1]).round(4)
    (2.363, np.float64(2.2038))
    """
    from scipy.sparse import issparse
    from sklearn.utils import check_random_state

    if callable(matrix):
        product = matrix
        if start is None:
            raise ValueError("start is needed where the matrix is a function")
    else:
        K = matrix if issparse(matrix) else np.asarray(matrix, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"matrix must be square, got shape {K.shape}")
        product = K.__matmul__
        if start is None:
            start = check_random_state(random_state).normal(size=K.shape[0])
    v = start_of(start)
    if not v.any():
        raise ValueError("start must not be zero")
    v /= np.linalg.norm(v)
    image = np.asarray(product(v), dtype=np.float64)
    scale = np.linalg.norm(image) or 1.0
    run = Run(GradientBelow(1e-10 * scale) | Steps(10_000) if stop is None else stop, keep_points)
    run.keep(v)
    value = float(v @ image)
    goes_on = run.goes_on(v, -value, np.linalg.norm(image - value * v))
    while goes_on:
        norm = np.linalg.norm(image)
        if norm == 0.0:
            run.reason = "the vector has become zero"
            break
        v = image / norm
        run.keep(v)
        image = np.asarray(product(v), dtype=np.float64)
        value = float(v @ image)
        goes_on = run.goes_on(v, -value, np.linalg.norm(image - value * v), norm)
    trace = run.trace
    return Eigenpair(value, v, str(run.reason), len(trace.loss) - 1, trace)
