"""A path of linear models for any loss and any penalties."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.multipliers import KinkedProblem, Pieces
from fastml._engines.smooth_linear.proximal import ClassesProblem, ProximalProblem
from fastml._sklearn import Interval, validate_params
from fastml._validation import FLOATS, check_array, check_sample_weight
from fastml.losses import Multinomial, RowLoss, Squared
from fastml.penalties import Penalty


class PenaltyPath(NamedTuple):
    """Models along a path; one entry, or row, per penalty."""

    coefs: NDArray
    """(n_penalties, n_features); of several classes (n_penalties, n_classes, n_features)."""

    intercepts: NDArray
    """Constants, 0 without them; of several classes (n_penalties, n_classes)."""

    objectives: NDArray
    """Mean loss plus penalty."""

    distances: NDArray
    """Largest distance of an entry from stationary, as ``Penalty.distance``."""

    n_iters: NDArray
    """Steps."""


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "penalties": [Penalty, list, tuple],
        "loss": [RowLoss, Multinomial],
        "sample_weight": ["array-like", None],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    },
    prefer_skip_nested_validation=True,
)
def penalty_path(
    X,
    y,
    penalties: Penalty | Sequence[Penalty],
    *,
    loss: RowLoss | Multinomial = Squared(),  # noqa: B008 (frozen)
    sample_weight=None,
    fit_intercept=True,
    tol=1e-6,
    max_iter=10_000,
    n_jobs=None,
) -> PenaltyPath:
    """Minimise the mean loss plus each penalty in turn, from the last solution.

    The objective is Σ u_i ℓ(y_i, w · x_i + w₀) / Σ u_i + g(w), by proximal gradients with momentum;
    the intercept is never penalised. Losses with kinks are rounded, and the rounding is shifted
    until it does not matter (the method of multipliers). For lasso and elastic net of squared
    losses `enet_path` is faster, for quantiles `QuantileRegressor`, for hinges `LinearSVC`.

    Under `Multinomial` every class has weights and an intercept; penalties see them as an array
    (features, classes), so that `GroupPenalty` keeps or drops a feature for all classes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; columns of like sizes help.
    y : array-like of shape (n_samples,)
        Targets, as the loss takes them; class numbers from 0 on for `Multinomial`.
    penalties : Penalty or list of them
        Of `fastml.penalties`: along a path the strongest first.
    loss : RowLoss or Multinomial, default=Squared()
        Of `fastml.losses`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights u_i; only their ratios matter.
    fit_intercept : bool, default=True
        Whether there is a w₀.
    tol : float, default=1e-6
        The end: no entry is farther from stationary than this times the largest entry of the
        gradient at w = 0. With kinks, slopes between those of both sides count, and the mean loss
        may be above their tangents by this share of the loss at w = 0.
    max_iter : int, default=10000
        Most steps for each penalty.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    path : PenaltyPath
        ``coefs``, ``intercepts``, ``objectives``, ``distances``, ``n_iters``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import penalty_path
    >>> from fastml.losses import Huber
    >>> from fastml.penalties import L1Penalty
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> y = np.array([0.0, 1.0, 2.0, 30.0])
    >>> path = penalty_path(X, y, [L1Penalty(a) for a in (1.0, 0.1)], loss=Huber())
    >>> path.coefs.round(2)
    array([[ 0.35,  0.  ],
           [ 2.24, -0.66]])
    """
    chosen = [penalties] if isinstance(penalties, Penalty) else list(penalties)
    if not chosen or not all(isinstance(each, Penalty) for each in chosen):
        raise ValueError("penalties must be one or several of fastml.penalties")
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=FLOATS)
    y = check_array(y, ensure_2d=False, dtype=np.float64)
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must have shape ({X.shape[0]},), got {y.shape}")
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def loss_at(raw):
        with np.errstate(over="ignore", invalid="ignore"):
            return loss.value(y, raw), loss.gradient(y, raw)

    design = SmoothDesign(X, n_jobs)
    problem: ProximalProblem | KinkedProblem
    if isinstance(loss, Multinomial):
        problem = ClassesProblem(design, loss_at, weights, fit_intercept, _codes(y))
    elif loss.has_kinks:
        pieces, value = _pieces(loss, y), partial(loss.value, y)
        problem = KinkedProblem(design, value, pieces, weights, fit_intercept)
    else:
        problem = ProximalProblem(design, loss_at, weights, fit_intercept)
    w, level = problem.start
    found, gaps = [], [0.0]
    for each in chosen:
        point = problem.solve(each, w, level, tol, max_iter)
        if isinstance(problem, KinkedProblem):
            gaps.append(problem.gap / max(problem.first_loss, np.finfo(float).tiny))
        w, level = point.w, point.level
        found.append(point)
    distances = np.array([point.distance for point in found])
    worst = float(distances.max())
    if not (worst <= tol * problem.scale and max(gaps) <= tol):
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"penalty_path did not converge in {max_iter} steps: a point is {worst:.2g} from "
            f"stationary, and {tol * problem.scale:.2g} was asked for{_of_kinks(gaps)}. Increase "
            "max_iter, scale the columns of X, or raise tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    # Of several classes (features, classes) each: turned.
    coefs = np.array([point.w.T for point in found])
    levels = np.array([point.level for point in found])
    return PenaltyPath(
        coefs, levels - coefs @ problem.means, np.array([point.value for point in found]),
        distances, np.array([point.n_iter for point in found]),
    )  # fmt: skip


def _codes(y: NDArray) -> NDArray:
    """Class numbers, each of which must have a row."""
    codes = y.astype(np.intp)
    if (codes != y).any() or codes.min() < 0 or not np.bincount(codes).all() or codes.max() < 1:
        raise ValueError(
            "y must hold the class numbers 0, 1, ... of at least two classes, none without rows"
        )
    return codes


def _pieces(loss: RowLoss, y: NDArray) -> Pieces:
    low, high = loss.kinks(y)
    low, high = np.broadcast_arrays(low, high)
    below, above = loss.gradient(y, low - 1.0), loss.gradient(y, high + 1.0)
    between = np.where(high > low, loss.gradient(y, (low + high) / 2.0), below)
    return Pieces(low, high, below, between, above)


def _of_kinks(gaps) -> str:
    return (
        f" (and the loss is {max(gaps):.2g} of its first value above its tangents)"
        if gaps[1:]
        else ""
    )
