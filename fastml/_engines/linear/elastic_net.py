"""Paths of solutions of ½ \\|b − A w\\|² + l1 \\|w\\|₁ + l2/2 \\|w\\|² over decreasing penalties.

Tall X with few columns: coordinate descent on its Gram matrix, the whole path in one kernel. Other
X: working sets. No l1 and no bound: ridge regression, in closed form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.moments import Centred, careful_moments
from fastml._engines.linear.ridge import ridge
from fastml._engines.linear.working_sets import WorkingSets
from fastml.kernels.linear.gram_descent import Net, gram_path, objective_and_gap
from fastml.kernels.linear.group_descent import group_descend, group_gap

GRAM_AT_ONCE, GRAM_FOR_PATHS = 200, 2_000
"""Columns up to which the Gram matrix is made, for one penalty and for a path."""


BOUND_TOL = 1e-12
"""Tolerance of the solutions among which that with a bound on its penalty is looked for."""


class Path(NamedTuple):
    """Weights (penalties, features) or (penalties, features, targets), gaps, passes over them."""

    coefs: NDArray
    gaps: NDArray
    passes: NDArray


class Squares(NamedTuple):
    """A'A, A'b and \\|b\\|²: all that descent on the Gram matrix reads."""

    gram: NDArray
    cross: NDArray
    square: float


def uses_gram(shape: tuple[int, int], n_penalties: int) -> bool:
    n, d = shape
    return d <= n and d <= (GRAM_AT_ONCE if n_penalties == 1 else GRAM_FOR_PATHS)


def squares_of(X, Y: NDArray, weights, centre: bool) -> tuple[Squares, Centred]:
    """Squares for the targets together; ``cross`` is one vector if there is one target."""
    centred = Centred.of(careful_moments(X, Y, weights, centre), centre)
    cross = centred.cross[:, 0] if Y.shape[1] == 1 else centred.cross
    return Squares(centred.gram, np.ascontiguousarray(cross), float(centred.squares.sum())), centred


def path_on_gram(
    squares: Squares, l1, l2, *, tol: float, most: int, positive=False, start=None, shuffle=None
) -> Path:
    """Solutions for the pairs of ``l1`` and ``l2``, to gaps of ``tol`` · \\|b\\|²."""
    gram, cross, square = squares
    order = None
    if shuffle is not None:
        order = shuffle.permutation(len(cross))
        gram, cross = gram[np.ix_(order, order)], cross[order]
    gram = np.ascontiguousarray(gram, dtype=np.float64)
    cross = np.array(cross, dtype=np.float64)
    first = np.zeros(cross.shape)
    if start is not None:
        first[:] = start if order is None else start[order]
    coefs = np.empty((len(l1), *cross.shape))
    gaps, passes = np.empty(len(l1)), np.empty(len(l1), dtype=np.intp)
    if cross.ndim == 1:
        gram_path(
            gram, cross, square, np.asarray(l1, dtype=np.float64),
            np.asarray(l2, dtype=np.float64), bool(positive), float(tol), most,
            first, coefs, gaps, passes,
        )  # fmt: skip
    else:
        everything = np.arange(len(cross))
        W, pull = first, cross - gram @ first
        for a in range(len(l1)):
            gaps[a], passes[a] = group_descend(
                gram, cross, square, pull, W, everything, l1[a], l2[a], float(tol), most
            )
            coefs[a] = W
    if order is not None:
        back = np.empty_like(coefs)
        back[:, order] = coefs
        coefs = back
    return Path(coefs, gaps, passes)


def path_on_columns(
    design: CentredDesign, b: NDArray, l1, l2, *, tol, most, positive=False, start=None,
    shuffle=None,
) -> Path:  # fmt: skip
    """As `path_on_gram`, from A and b themselves."""
    sets = WorkingSets(design, b, positive, start, shuffle)
    coefs = np.empty((len(l1), *sets.w.shape))
    gaps, passes = np.empty(len(l1)), np.empty(len(l1), dtype=np.intp)
    before = None
    for a in range(len(l1)):
        gaps[a], passes[a] = sets.solve(float(l1[a]), float(l2[a]), float(tol), most, before)
        coefs[a] = sets.w
        before = float(l1[a])
    return Path(coefs, gaps, passes)


def without_l1(X, Y: NDArray, l2, weights, centre: bool) -> Path:
    """Ridge regression for every l2, with the gaps of that form; needs l2 > 0."""
    design = CentredDesign(X, weights, centre)
    b, _ = design.targets(Y)
    coefs = np.stack([ridge(X, Y, np.full(Y.shape[1], p), weights, centre).coef for p in l2])
    gaps = np.empty(len(l2))
    everything = np.arange(X.shape[1])
    cross, square = design.transposed(b), float((b * b).sum())
    for a, p in enumerate(l2):
        pull = design.transposed(b - design.product(coefs[a]))
        if Y.shape[1] == 1:
            one = Net(0.0, float(p), False)
            gaps[a] = objective_and_gap(
                cross[:, 0].copy(), square, pull[:, 0].copy(), coefs[a][:, 0].copy(), everything,
                one,
            )[1]  # fmt: skip
        else:
            gaps[a] = group_gap(cross, square, pull, coefs[a], everything, 0.0, float(p))
    coefs = coefs[:, :, 0] if Y.shape[1] == 1 else coefs
    return Path(coefs, gaps, np.ones(len(l2), dtype=np.intp))


def largest_penalty(cross: NDArray, total: float, l1_ratio: float, positive: bool) -> float:
    """The smallest alpha that leaves no weight: max \\|A'b\\| / (total · l1_ratio)."""
    if positive:
        steepest = max(0.0, float(cross.max(initial=0.0)))
    elif cross.ndim == 1:
        steepest = float(np.abs(cross).max(initial=0.0))
    else:
        steepest = float(np.sqrt((cross**2).sum(axis=1).max(initial=0.0)))
    return steepest / (total * l1_ratio)


def penalty_grid(largest: float, eps: float, n_alphas: int) -> NDArray:
    """From the largest penalty to ``eps`` times it, by equal ratios."""
    smallest = np.finfo(np.float64).resolution
    if largest <= smallest:
        return np.full(n_alphas, smallest)
    return np.geomspace(largest, largest * eps, num=n_alphas)


class Problem(NamedTuple):
    """Rows, targets and how they are read: what is the same for every penalty."""

    X: NDArray
    Y: NDArray
    weights: NDArray | None = None
    centre: bool = True
    joint: bool = False  # targets share which weights are 0
    gram: NDArray | bool | None = None  # A'A, or whether to make it; None chooses
    means: NDArray | None = None  # of the columns of sparse X, if given


class Found(NamedTuple):
    """Weights (penalties, features, targets); gaps and passes (penalties, targets or 1); means."""

    coefs: NDArray
    gaps: NDArray
    passes: NDArray
    x_means: NDArray
    y_means: NDArray
    squares: NDArray  # of b, by target or of all


def solve(
    problem: Problem, l1, l2, *, tol, most, positive=False, start=None, shuffle=None
) -> Found:
    """Solutions for the pairs of ``l1`` and ``l2`` in turn; ``start`` is (features, targets)."""
    X, Y, weights, centre, joint, gram, means = problem
    l1, l2 = np.asarray(l1, dtype=np.float64), np.asarray(l2, dtype=np.float64)
    design: Any = None  # made where products with X itself are needed
    b: Any = None
    cross: Any = None
    joint = joint and Y.shape[1] > 1
    groups = [slice(None)] if joint else [slice(t, t + 1) for t in range(Y.shape[1])]
    options = {"tol": tol, "most": most, "positive": positive, "shuffle": shuffle}
    if not positive and means is None and (l1 == 0.0).all() and (l2 > 0.0).all():
        design = CentredDesign(X, weights, centre)
        b, y_means = design.targets(Y)
        parts = [without_l1(X, Y[:, g], l2, weights, centre) for g in groups]
        squares = np.array([float((b[:, g] ** 2).sum()) for g in groups])
        return _together(parts, design.means, y_means, squares)
    if gram is None:
        gram = uses_gram(X.shape, len(l1)) and means is None
    if gram is True:
        centred = Centred.of(careful_moments(X, Y, weights, centre), centre)
        gram, cross, squares = centred.gram, centred.cross, centred.squares
        x_means, y_means = centred.x_means, centred.y_means
    else:
        design = CentredDesign(X, weights, centre)
        if means is not None:
            design.means, design.centre = means, True
        b, y_means = design.targets(Y) if means is None else (_weighted(Y, design), 0.0 * Y[0])
        x_means, squares = design.means, np.einsum("ij,ij->j", b, b)
        cross = None if gram is False else design.transposed(b)
    parts = []
    for g in groups:
        first = None if start is None else start[:, g]
        flat = not joint
        if gram is False:
            target = np.ascontiguousarray(b[:, g])
            parts.append(
                path_on_columns(
                    design, target[:, 0] if flat else target, l1, l2,
                    start=first[:, 0] if flat and first is not None else first, **options,
                )
            )  # fmt: skip
        else:
            own = Squares(gram, cross[:, g][:, 0] if flat else cross, float(squares[g].sum()))
            first = first[:, 0] if flat and first is not None else first
            parts.append(path_on_gram(own, l1, l2, start=first, **options))
    squares = np.array([float(squares[g].sum()) for g in groups])
    return _together(parts, x_means, y_means, squares)


def _weighted(Y, design):
    return Y if design.root is None else Y * design.root[:, None]


def _together(parts: list[Path], x_means, y_means, squares) -> Found:
    coefs = [p.coefs if p.coefs.ndim == 3 else p.coefs[:, :, None] for p in parts]
    return Found(
        coefs[0] if len(coefs) == 1 else np.concatenate(coefs, axis=2),
        np.stack([p.gaps for p in parts], axis=1),
        np.stack([p.passes for p in parts], axis=1),
        x_means,
        y_means,
        squares,
    )


def constrained(problem: Problem, bound: float, l1_ratio: float, *, tol, most, positive=False):
    """(solution, alpha) where l1_ratio \\|w\\|₁ + (1 − l1_ratio)/2 \\|w\\|² ≤ bound just holds.

    The penalty whose solution meets the bound, by Brent's method on its logarithm: the value of the
    penalty falls as its factor grows. alpha is 0 if the bound does not bind.
    """
    from scipy.optimize import brentq

    total = float(len(problem.Y) if problem.weights is None else problem.weights.sum())
    design = CentredDesign(problem.X, problem.weights, problem.centre)
    b, _ = design.targets(problem.Y)
    high = largest_penalty(design.transposed(b)[:, 0], total, max(l1_ratio, 1e-3), positive)
    tol = min(tol, BOUND_TOL)

    def at(alpha):
        l1, l2 = [alpha * l1_ratio * total], [alpha * (1.0 - l1_ratio) * total]
        return solve(problem, l1, l2, tol=tol, most=most, positive=positive)

    def beyond(log_alpha):
        w = at(np.exp(log_alpha)).coefs[0, :, 0]
        return l1_ratio * np.abs(w).sum() + 0.5 * (1.0 - l1_ratio) * (w @ w) - bound

    low = 1e-10 * high
    if high == 0.0 or beyond(np.log(low)) <= 0.0:
        return at(low), 0.0
    while beyond(np.log(high)) > 0.0:  # l1_ratio near 0: no penalty is large enough for 0
        high *= 10.0
    alpha = float(np.exp(brentq(beyond, np.log(low), np.log(high), xtol=1e-13, rtol=1e-13)))
    return at(alpha), alpha
