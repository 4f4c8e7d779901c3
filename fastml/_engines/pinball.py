"""Minimum of a sum of pinball losses: an interior point method, then steps from vertex to vertex.

Minimise Σ a_i max(r_i, 0) + b_i max(−r_i, 0) with r = y − X w. A penalty λ |w_j| is one more row:
x = e_j, y = 0, a = b = λ. The dual is

    maximise y · d subject to X' d = 0 and −b ≤ d ≤ a,

whose variables u = d + b start at b, inside of their bounds 0 and a + b. Each step takes one
weighted Gram matrix (Portnoy and Koenker, 1997, with Mehrotra's corrector), so that memory is that
of the rows. At the end, as many rows as there are weights are fitted exactly: those whose dual
variables lie inside their bounds; exchanges of rows mend a choice that is not optimal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.smooth_linear.design import SmoothDesign
from fastml._engines.smooth_linear.minimum import Factor
from fastml._progress import current_steps
from fastml._threads import single_threaded_blas

MOST_STEPS = 80
DAMPING = 0.99995
RELATIVE_GAP = 1e-10
EXACT_GAP = 1e-9
DEPENDENT = 1e-10


class PinballMinimum(NamedTuple):
    """Weights, steps, whether the minimum is proven, and the gap between primal and dual."""

    w: NDArray
    n_iter: int
    converged: bool
    gap: float


class PinballRows:
    """Rows of data (x, 1) or x, and the rows of the penalty behind them."""

    def __init__(self, design: SmoothDesign, y, weights, level, penalty, fit_intercept: bool):
        self.design, self.fit_intercept = design, fit_intercept
        self.n_features = design.n_features
        self.n_weights = design.n_features + fit_intercept
        self.n_data = design.n_rows
        self.n_penalties = self.n_features if penalty > 0.0 else 0
        more = np.full(self.n_penalties, float(penalty))
        self.y = np.append(np.asarray(y, dtype=np.float64), np.zeros(self.n_penalties))
        self.above = np.append(weights * level, more)
        self.below = np.append(weights * (1.0 - level), more)

    def products(self, w: NDArray) -> NDArray:
        full = w if self.fit_intercept else np.append(w, 0.0)
        return np.append(self.design.products(full), w[: self.n_penalties])

    def sums(self, factors: NDArray) -> NDArray:
        """X' factors."""
        sums = self.design.slopes(factors[: self.n_data])[: self.n_weights]
        sums[: self.n_penalties] += factors[self.n_data :]
        return sums

    def factor(self, weights: NDArray) -> Factor:
        """Of X' diag(weights) X."""
        gram = self.design.gram(weights[: self.n_data])[: self.n_weights, : self.n_weights].copy()
        diagonal = gram.diagonal().copy()
        diagonal[: self.n_penalties] += weights[self.n_data :]
        np.fill_diagonal(gram, diagonal)
        return Factor(gram)

    def row(self, i: int) -> NDArray:
        x = np.zeros(self.n_weights)
        if i >= self.n_data:
            x[i - self.n_data] = 1.0
            return x
        own = self.design.matrix[[i]]
        x[: self.n_features] = own.toarray()[0] if self.design.sparse else own[0]
        if self.fit_intercept:
            x[-1] = 1.0
        return x

    def objective(self, residuals: NDArray) -> float:
        high, low = np.maximum(residuals, 0.0), np.maximum(-residuals, 0.0)
        return float(self.above @ high + self.below @ low)


def minimise_pinball(
    design: SmoothDesign, y, weights, level, penalty, fit_intercept: bool
) -> PinballMinimum:
    """Σ weight · pinball(level) + penalty Σ \\|w_j\\|, w with the intercept, if any, as last.

    Every step is told to `current_steps`, which may end the search.
    """
    unit = float(np.abs(y).max(initial=0.0))
    if unit == 0.0:
        return PinballMinimum(np.zeros(design.n_features + fit_intercept), 0, True, 0.0)
    mean = float(weights.mean())
    rows = PinballRows(design, y / unit, weights / mean, level, penalty / mean, fit_intercept)
    with single_threaded_blas():  # products of vectors this short are not worth more threads
        w, dual, n_iter, ended = _interior_point(rows)
        found = _vertex(rows, w, dual, ended)
    return found._replace(w=found.w * unit, n_iter=n_iter + found.n_iter)


# ---------------------------------------------------------------------------- inside


def _longest(x: NDArray, dx: NDArray) -> float:
    """The step along dx that leaves x positive."""
    falling = dx < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, DAMPING * float((x[falling] / -dx[falling]).min()))


def _interior_point(rows: PinballRows) -> tuple[NDArray, NDArray, int, bool]:
    """(w, dual variables u, steps, whether a callback ended them)."""
    steps, ended = current_steps(), False
    u = rows.below.copy()
    rest = rows.above + rows.below
    rest -= u
    w = rows.factor(np.ones(len(u))).solve(rows.sums(rows.y))
    residuals = rows.y - rows.products(w)
    slack = max(1e-3 * float(np.abs(residuals).mean()), 1e-12)
    high = np.maximum(residuals, 0.0)
    low = high - residuals
    high += slack
    low += slack
    del residuals
    n_steps = 0
    while n_steps < MOST_STEPS:
        n_steps += 1
        gap = float(u @ low + rest @ high)
        if not gap > RELATIVE_GAP * (1e-3 + rows.objective(high - low)):
            break
        q = low / u
        q += high / rest
        np.divide(1.0, q, out=q)
        if not np.isfinite(q).all():
            break
        factor = rows.factor(q)
        target = low - high  # minus the residuals
        du, dlow, dhigh, _ = _direction(rows, factor, q, u, rest, low, high, target, 0.0)
        primal = min(_longest(u, du), _longest(rest, -du))
        dual = min(_longest(low, dlow), _longest(high, dhigh))
        if min(primal, dual) < 1.0:
            ahead = (u + primal * du) @ (low + dual * dlow)
            ahead += (rest - primal * du) @ (high + dual * dhigh)
            centre = gap * (float(ahead) / gap) ** 3 / (2.0 * len(u))
            dlow *= du / u
            dhigh *= -du / rest
            second = dlow, dhigh
            del du, dlow, dhigh
            du, dlow, dhigh, step = _direction(
                rows, factor, q, u, rest, low, high, target, centre, second
            )
            del second
            primal = min(_longest(u, du), _longest(rest, -du))
            dual = min(_longest(low, dlow), _longest(high, dhigh))
        else:
            step = _
        if not np.isfinite(step).all() or max(primal, dual) < 1e-10:
            break
        du *= primal
        u += du
        rest -= du
        dlow *= dual
        low += dlow
        dhigh *= dual
        high += dhigh
        w = w - dual * step
        del q, target, du, dlow, dhigh  # as long as X has rows, each
        ended = steps.begin("interior point").end()
        if ended:
            break
    return w, u, n_steps, ended


def _direction(rows, factor, q, u, rest, low, high, target, centre, second=(0.0, 0.0)):
    """Changes of u, low, high and of −w in one step."""
    pull = 1.0 / u
    pull -= 1.0 / rest
    pull *= centre
    pull -= second[0]
    pull += second[1]
    pull -= target  # now minus what the step is to explain
    step = factor.solve(rows.sums(-q * pull))
    du = rows.products(step)
    du += pull
    du *= q
    del pull
    dlow = centre - low * du
    dlow /= u
    dlow -= low
    dlow -= second[0]
    dhigh = high * du
    dhigh += centre
    dhigh /= rest
    dhigh -= high
    dhigh -= second[1]
    return du, dlow, dhigh, step


# ---------------------------------------------------------------------------- vertices


def _basis(rows: PinballRows, u: NDArray) -> list[int]:
    """Independent rows, those first whose dual variables are deepest inside their bounds."""
    size = rows.above + rows.below
    depth = np.minimum(u, size - u) / size
    chosen: list[int] = []
    directions: list[NDArray] = []
    for i in np.argsort(-depth, kind="stable"):
        x = rows.row(int(i))
        length = np.sqrt(x @ x)
        if length == 0.0:
            continue
        x = x / length
        for _ in range(2):
            for e in directions:
                x = x - (e @ x) * e
        left = np.sqrt(x @ x)
        if left > DEPENDENT:
            chosen.append(int(i))
            directions.append(x / left)
            if len(chosen) == rows.n_weights:
                break
    return chosen


def _vertex(rows: PinballRows, w: NDArray, u: NDArray, ended: bool) -> PinballMinimum:
    """The vertex that the interior point is near to, and better ones while there are any.

    Where a callback has ``ended`` the search, the point as it is.
    """
    bound = float(rows.y @ (u - rows.below))  # no objective is below, up to rounding
    inside = rows.objective(rows.y - rows.products(w))
    slack = EXACT_GAP * max(abs(inside), 1e-3)
    basis = [] if ended else _basis(rows, u)
    if len(basis) < rows.n_weights:  # none is looked for, or columns depend on each other
        return PinballMinimum(w, 0, inside - bound <= 1e-6 * max(abs(inside), 1e-3), inside - bound)
    best, value = w, inside
    steps = current_steps()
    for n_pivots in range(50 + 10 * rows.n_weights):
        B = np.array([rows.row(i) for i in basis])
        point = np.linalg.solve(B, rows.y[basis])
        point[[i - rows.n_data for i in basis if i >= rows.n_data]] = 0.0
        residuals = rows.y - rows.products(point)
        residuals[basis] = 0.0
        new = rows.objective(residuals)
        if new <= value + slack:
            best, value = point, new
        if new - bound <= slack:
            return PinballMinimum(point, n_pivots, True, max(new - bound, 0.0))
        d = np.where(residuals > 0.0, rows.above, -rows.below)
        tied = np.flatnonzero(np.abs(residuals) <= 1e-13)
        d[tied] = np.clip(u[tied] - rows.below[tied], -rows.below[tied], rows.above[tied])
        d[basis] = 0.0
        own = np.linalg.solve(B.T, -rows.sums(d))
        excess = np.maximum(own - rows.above[basis], -rows.below[basis] - own)
        leaving = int(np.argmax(excess))
        if excess[leaving] <= 1e-9:
            return PinballMinimum(point, n_pivots, True, max(new - bound, 0.0))
        entering = _exchange(rows, B, basis, leaving, own[leaving] > 0.0, residuals)
        if entering is None:
            break
        basis[leaving] = entering
        if steps.begin("vertex").end():
            break
    gap = value - bound
    return PinballMinimum(best, n_pivots + 1, gap <= 1e-6 * max(abs(value), 1e-3), gap)


def _exchange(rows: PinballRows, B, basis, leaving, upwards: bool, residuals) -> int | None:
    """The row that is fitted exactly where the objective is least along the edge on which the
    residual of the leaving row grows (``upwards``) or falls."""
    unit = np.zeros(len(basis))
    unit[leaving] = -1.0 if upwards else 1.0
    edge = np.linalg.solve(B, unit)
    change = -rows.products(edge)  # of the residuals
    change[basis] = 0.0
    change[basis[leaving]] = 1.0 if upwards else -1.0
    slope = float(np.where(residuals > 0.0, rows.above, -rows.below) @ change)
    own = rows.above if upwards else rows.below
    slope += float(own[basis[leaving]])
    held = basis[leaving]
    slope -= float((rows.above if residuals[held] > 0.0 else -rows.below)[held] * change[held])
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = -residuals / change
    candidates = np.flatnonzero((reach > 0.0) & np.isfinite(reach) & (np.abs(change) > 1e-12))
    if not len(candidates):
        return None
    order = candidates[np.argsort(reach[candidates], kind="stable")]
    turns = (rows.above + rows.below)[order] * np.abs(change[order])
    passed = np.searchsorted(slope + np.cumsum(turns), 0.0)
    return int(order[min(int(passed), len(order) - 1)])
