"""Sequential minimal optimisation: pairs of variables, chosen by second-order information.

All support vector machines are one problem in signed variables β, with v = t - K β:

    minimise ½ β'K β - t'β   subject to   lower <= β <= upper,  Σ β constant.

β_i may rise if below its upper bound and sink if above its lower; the optimum is where no β that
may rise has a larger v than one that may sink. The gap, max v (rising) - min v (sinking), decides
when to stop. A step moves β_i up and β_j down by the same amount; i has the largest v, j
gains the most (Fan, Chen and Lin, "Working set selection using second order information", 2005).

Variables lie in one or two segments, 0..split..m. Regression has two variables per row, one segment
each, that share the rows of K. The ν-problems keep Σ β of each segment constant (``grouped``).

Steps look at few rows of K if few variables leave their bounds, so rows are computed when a step
first looks at them (`LazyRows`).
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.svm.rows import PRECOMPUTED, DotKernel, NormedRows, copy_rows, finish_row

FAR = 1e300
TINY = 1e-12
"""Stands for a curvature that is not positive."""


WHOLE_MATRIX_ROWS = 128
"""Up to so many rows the whole kernel matrix is one product."""

STRETCH = 512
"""Extremes are found by stretches of so many variables, so that their places are found fast."""


class LazyRows(NamedTuple):
    """Which rows of K are ``ready``, and what the others are made from.

    ``data`` are the rows of the problem; ``dots`` is scratch for as many numbers.
    """

    ready: np.ndarray
    dot_kernel: DotKernel
    data: NormedRows
    dots: np.ndarray


class SmoProblems(NamedTuple):
    """Problems over the same data, one behind the other in each array.

    Problem p has the rows ``chosen[row_starts[p]:row_starts[p + 1]]`` and the variables
    ``starts[p]..starts[p + 1]`` of target, lower and upper, in segments that meet at ``splits[p]``.
    """

    chosen: np.ndarray
    row_starts: np.ndarray
    starts: np.ndarray
    splits: np.ndarray
    grouped: bool
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class SmoResults(NamedTuple):
    """What solving `SmoProblems` writes: β (which it starts from) and v; steps and gap of each."""

    beta: np.ndarray
    v: np.ndarray
    steps: np.ndarray
    gaps: np.ndarray


@kernel
def ensure_row(i, K, rows):
    """Write row i of K if it is not ready, and note in ``rows`` that it is."""
    if not rows.ready[i]:
        rows.ready[i] = True
        X, norms = rows.data
        np.dot(X, X[i], rows.dots)
        finish_row(rows.dot_kernel, rows.dots, norms[i], norms, K[i])


@kernel
def _rank(x):
    """A whole number that orders as the float64 x does: LLVM vectorises only maxima of those."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))


@kernel
def _ranked(rank):
    """The float64 of that `_rank`."""
    return np.int64(rank ^ ((rank >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))).view(np.float64)


@kernel(fast_math=True)
def _move_stretch(v, beta, lower, upper, row_i, row_j, step):
    """Change v by -step (K_i - K_j); ranks of the largest that may rise, smallest that may sink."""
    least, most = _rank(-FAR), _rank(FAR)
    top, bottom = least, most
    for t in range(v.shape[0]):
        value = v[t] - step * (row_i[t] - row_j[t])
        v[t] = value
        rank = _rank(value)
        rising = rank if beta[t] < upper[t] else least
        sinking = rank if beta[t] > lower[t] else most
        top = rising if rising > top else top
        bottom = sinking if sinking < bottom else bottom
    return top, bottom


@kernel
def _move(v, beta, lower, upper, row_i, row_j, step):
    """Change v by -step (K_i - K_j); the largest that may rise, its place, the smallest to sink."""
    n = v.shape[0]
    top, bottom = _rank(-FAR), _rank(FAR)
    place = 0
    for a in range(0, n, STRETCH):
        b = min(a + STRETCH, n)
        rising, sinking = _move_stretch(
            v[a:b], beta[a:b], lower[a:b], upper[a:b], row_i[a:b], row_j[a:b], step
        )
        if rising > top:
            top, place = rising, a
        if sinking < bottom:
            bottom = sinking
    top_value = _ranked(top)
    while place < n and not (v[place] == top_value and beta[place] < upper[place]):
        place += 1
    return top_value, place, _ranked(bottom)


@kernel(fast_math=True)
def _gain_stretch(v, beta, lower, diagonal, row_i, v_i, k_ii, gains):
    """Write to ``gains`` what a step of i and each partner gains, -1 if it cannot sink.

    Returns the bits of the largest, which order as the gains do.
    """
    most = np.int64(-1)
    for t in range(v.shape[0]):
        difference = v_i - v[t]
        curvature = k_ii + diagonal[t] - 2.0 * row_i[t]
        curvature = curvature if curvature > TINY else TINY
        gain = difference * difference / curvature
        gain = gain if (difference > 0.0) & (beta[t] > lower[t]) else -1.0
        gains[t] = gain
        bits = np.float64(gain).view(np.int64)  # in order where gains are positive
        most = bits if bits > most else most
    return most


@kernel
def _best_partner(v, beta, lower, diagonal, row_i, v_i, k_ii, gains):
    """The largest gain of a sinking partner of i, and its place; -1 if none. Writes ``gains``."""
    n = v.shape[0]
    most, place = np.int64(-1), -1
    for a in range(0, n, STRETCH):
        b = min(a + STRETCH, n)
        gain = _gain_stretch(
            v[a:b], beta[a:b], lower[a:b], diagonal[a:b], row_i[a:b], v_i, k_ii, gains[a:b]
        )
        if gain > most:
            most, place = gain, a
    best = np.int64(most).view(np.float64)
    while 0 <= place < n and gains[place] != best:
        place += 1
    return (best, place) if 0 <= place < n else (-1.0, -1)


@kernel
def smo_steps(K, rows, diagonal, lower, upper, split, grouped, beta, v, gains, tol, max_steps):
    """Steps until the gap is below ``tol``, or max_steps of them: (steps, gap).

    Changes ``beta`` and ``v`` and writes rows of K as they are needed; ``gains`` is scratch.
    """
    m = v.shape[0]
    shift = split if m > K.shape[0] else 0
    v0, v1 = v[:split], v[split:]
    beta0, beta1 = beta[:split], beta[split:]
    lower0, lower1 = lower[:split], lower[split:]
    upper0, upper1 = upper[:split], upper[split:]
    gains0, gains1 = gains[:split], gains[split:]
    diagonal0, diagonal1 = diagonal[:split], diagonal[split - shift :]
    i, j, step = 0, 0, 0.0
    ensure_row(0, K, rows)
    steps = 0
    while True:
        row_i, row_j = K[i], K[j]
        top0, place0, bottom0 = _move(v0, beta0, lower0, upper0, row_i, row_j, step)
        top1, place1, bottom1 = -FAR, 0, FAR
        if m > split:
            row_i, row_j = K[i, split - shift :], K[j, split - shift :]
            top1, place1, bottom1 = _move(v1, beta1, lower1, upper1, row_i, row_j, step)
        if grouped:
            gap = max(top0 - bottom0, top1 - bottom1)
        else:
            gap = max(top0, top1) - min(bottom0, bottom1)
        spread = (top0 - bottom0) + (top1 - bottom1)
        if spread != spread:  # infinite kernel values: v has no meaning
            return steps, spread
        if gap < tol or steps >= max_steps:
            return steps, gap
        most = -1.0
        first, second = -1, -1
        for side in range(2):
            # Without groups there is one i, in the segment of the larger top.
            if not grouped and (top1 > top0) != (side == 1):
                continue
            top = top1 if side == 1 else top0
            if top == -FAR:
                continue
            t = split + place1 if side == 1 else place0
            base = t - shift if t >= split else t
            ensure_row(base, K, rows)
            if side == 0 or not grouped:
                row_i = K[base]
                k_ii = diagonal[base]
                gain, partner = _best_partner(
                    v0, beta0, lower0, diagonal0, row_i, top, k_ii, gains0
                )
                if gain > most:
                    most, first, second = gain, t, partner
            if m > split and (side == 1 or not grouped):
                row_i = K[base, split - shift :]
                k_ii = diagonal[base]
                gain, partner = _best_partner(
                    v1, beta1, lower1, diagonal1, row_i, top, k_ii, gains1
                )
                if gain > most:
                    most, first, second = gain, t, split + partner
        if first < 0:
            return steps, 0.0
        i = first - shift if first >= split else first
        j = second - shift if second >= split else second
        ensure_row(j, K, rows)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], TINY)
        step = (v[first] - v[second]) / curvature
        room_up = upper[first] - beta[first]
        room_down = beta[second] - lower[second]
        if step < room_up and step < room_down:
            beta[first] += step
            beta[second] -= step
        elif room_up <= room_down:
            step = room_up
            beta[second] = lower[second] if room_up == room_down else beta[second] - step
            beta[first] = upper[first]
        else:
            step = room_down
            beta[first] += step
            beta[second] = lower[second]
        steps += 1


@kernel
def start_v(K, rows, target, beta, doubled, v):
    """Write target - K β to ``v``; with ``doubled``, β has two variables a row.

    Rows of K that are needed are written, and noted in ``rows``.
    """
    n = K.shape[0]
    for t in range(v.shape[0]):
        v[t] = target[t]
    for i in range(n):
        weight = beta[i] + (beta[n + i] if doubled else 0.0)
        if weight != 0.0:
            ensure_row(i, K, rows)
            for t in range(n):
                v[t] -= weight * K[i, t]
                if doubled:
                    v[n + t] -= weight * K[i, t]


@kernel
def lazy_rows(dot_kernel, data, chosen, K, diagonal):
    """`LazyRows` of the problem of the chosen rows of ``data``; writes its diagonal.

    A given kernel matrix is copied to K; a small one is computed there at once.
    """
    X = data.X
    n = chosen.shape[0]
    taken = dot_kernel.form == PRECOMPUTED
    own = np.empty((0 if taken else n, X.shape[1]), X.dtype)
    norms, dots = np.empty(n, X.dtype), np.empty(n, X.dtype)
    dot, value = np.empty(1, X.dtype), np.empty(1, X.dtype)
    if not taken:
        copy_rows(X, chosen, own)
    for i in range(n):
        norms[i] = data.norms[chosen[i]]
        if taken:
            for j in range(n):
                K[i, j] = X[chosen[i], chosen[j]]
            diagonal[i] = K[i, i]
        else:
            dot[0] = 0.0
            for k in range(X.shape[1]):
                dot[0] += own[i, k] * own[i, k]
            finish_row(dot_kernel, dot, norms[i], norms[i : i + 1], value)
            diagonal[i] = value[0]
    at_once = n <= WHOLE_MATRIX_ROWS and not taken
    if at_once:
        np.dot(own, own.T, K)
    ready = np.empty(n, np.bool_)
    for i in range(n):
        ready[i] = taken or at_once
        if at_once:
            for j in range(n):
                dots[j] = K[i, j]
            finish_row(dot_kernel, dots, norms[i], norms, K[i])
            diagonal[i] = K[i, i]
    return LazyRows(ready, dot_kernel, NormedRows(own, norms), dots)


@kernel
def _solve_one(p, K, dot_kernel, data, problems, results, tol, max_steps):
    """Problem ``p``, on its own kernel matrix K; writes its part of ``results``."""
    chosen = problems.chosen[problems.row_starts[p] : problems.row_starts[p + 1]]
    first, last = problems.starts[p], problems.starts[p + 1]
    target = problems.target[first:last]
    lower, upper = problems.lower[first:last], problems.upper[first:last]
    beta, v = results.beta[first:last], results.v[first:last]
    n = chosen.shape[0]
    diagonal = np.empty(n)
    rows = lazy_rows(dot_kernel, data, chosen, K, diagonal)
    start_v(K, rows, target, beta, last - first > n, v)
    results.steps[p], results.gaps[p] = smo_steps(
        K, rows, diagonal, lower, upper, problems.splits[p], problems.grouped, beta, v,
        np.empty(last - first), tol, max_steps,
    )  # fmt: skip


@parallel_kernel
def solve_problems(begin, end, matrices, dot_kernel, data, problems, results, tol, max_steps):
    """Solve the problems begin..end, each on one thread; writes their parts of ``results``.

    Each has a kernel matrix of its own in ``matrices``, whose rows are computed as needed.
    """
    for c in prange(end - begin):
        p = begin + np.intp(c)
        n = problems.row_starts[p + 1] - problems.row_starts[p]
        K = matrices[np.intp(c), : n * n].reshape(n, n)
        _solve_one(p, K, dot_kernel, data, problems, results, tol, max_steps)
