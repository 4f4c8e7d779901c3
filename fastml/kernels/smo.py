"""Sequential minimal optimisation: pairs of variables, chosen by second-order information.

All support vector machines are one problem in signed variables β, with v = t - K β:

    minimise ½ β'K β - t'β   subject to   lower <= β <= upper,  Σ β constant.

β_i may rise if below its upper bound and sink if above its lower; the optimum is where no β that
may rise has a larger v than one that may sink. The gap, max v (rising) - min v (sinking), is what
stopping looks at. A step moves β_i up and β_j down by the same amount; i has the largest v, j
gains the most (Fan, Chen and Lin, "Working set selection using second order information", 2005).

Variables lie in one or two segments, 0..split..m. Regression has two variables per row, one segment
each, that share the rows of K. The ν-problems keep Σ β of each segment constant (``grouped``).
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.kernel_rows import square_block

FAR = 1e300
TINY = 1e-12
"""Stands for a curvature that is not positive."""


LANES = 32
"""Maxima are kept per lane: that is what LLVM turns into vector code."""


@kernel(fast_math=True)
def _move(v, beta, lower, upper, row_i, row_j, step, lanes):
    """v -= step (K_i - K_j); the largest v that may rise and the smallest that may sink."""
    tops, bottoms = lanes[0], lanes[1]
    for k in range(LANES):
        tops[k] = -FAR
        bottoms[k] = FAR
    n = v.shape[0]
    whole = n - n % LANES
    for start in range(0, whole, LANES):
        for k in range(LANES):
            value = v[start + k] - step * (row_i[start + k] - row_j[start + k])
            v[start + k] = value
            rising = value if beta[start + k] < upper[start + k] else -FAR
            sinking = value if beta[start + k] > lower[start + k] else FAR
            tops[k] = rising if rising > tops[k] else tops[k]
            bottoms[k] = sinking if sinking < bottoms[k] else bottoms[k]
    for t in range(whole, n):
        value = v[t] - step * (row_i[t] - row_j[t])
        v[t] = value
        rising = value if beta[t] < upper[t] else -FAR
        sinking = value if beta[t] > lower[t] else FAR
        tops[0] = rising if rising > tops[0] else tops[0]
        bottoms[0] = sinking if sinking < bottoms[0] else bottoms[0]
    top, bottom = tops[0], bottoms[0]
    for k in range(1, LANES):
        top = tops[k] if tops[k] > top else top
        bottom = bottoms[k] if bottoms[k] < bottom else bottom
    return top, bottom


@kernel(fast_math=True)
def _gains(v, beta, lower, diagonal, row_i, v_i, k_ii, gains, lanes):
    """What each sinking partner of i would gain; the largest."""
    n = v.shape[0]
    for t in range(n):
        difference = v_i - v[t]
        curvature = k_ii + diagonal[t] - 2.0 * row_i[t]
        curvature = curvature if curvature > TINY else TINY
        gain = difference * difference / curvature
        gains[t] = gain if (difference > 0.0) & (beta[t] > lower[t]) else -1.0
    most = lanes[0]
    for k in range(LANES):
        most[k] = -1.0
    whole = n - n % LANES
    for start in range(0, whole, LANES):
        for k in range(LANES):
            most[k] = gains[start + k] if gains[start + k] > most[k] else most[k]
    for t in range(whole, n):
        most[0] = gains[t] if gains[t] > most[0] else most[0]
    result = most[0]
    for k in range(1, LANES):
        result = most[k] if most[k] > result else result
    return result


@kernel
def _first_rising(v, beta, upper, top):
    for t in range(v.shape[0]):
        if v[t] == top and beta[t] < upper[t]:
            return t
    return -1


@kernel
def _first_equal(gains, most):
    for t in range(gains.shape[0]):
        if gains[t] == most:
            return t
    return -1


@kernel
def smo_steps(K, diagonal, lower, upper, split, grouped, beta, v, gains, tol, max_steps):
    """Steps until the gap is below ``tol``, or max_steps of them: (steps, gap)."""
    m = v.shape[0]
    lanes = np.empty((2, LANES))
    shift = split if m > K.shape[0] else 0
    v0, v1 = v[:split], v[split:]
    beta0, beta1 = beta[:split], beta[split:]
    lower0, lower1 = lower[:split], lower[split:]
    upper0, upper1 = upper[:split], upper[split:]
    gains0, gains1 = gains[:split], gains[split:]
    diagonal0, diagonal1 = diagonal[:split], diagonal[split - shift :]
    i, j, step = 0, 0, 0.0
    steps = 0
    while True:
        row_i, row_j = K[i], K[j]
        top0, bottom0 = _move(v0, beta0, lower0, upper0, row_i, row_j, step, lanes)
        top1, bottom1 = -FAR, FAR
        if m > split:
            row_i, row_j = K[i, split - shift :], K[j, split - shift :]
            top1, bottom1 = _move(v1, beta1, lower1, upper1, row_i, row_j, step, lanes)
        if grouped:
            gap = max(top0 - bottom0, top1 - bottom1)
        else:
            gap = max(top0, top1) - min(bottom0, bottom1)
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
            if side == 1:
                t = split + _first_rising(v1, beta1, upper1, top)
            else:
                t = _first_rising(v0, beta0, upper0, top)
            base = t - shift if t >= split else t
            if side == 0 or not grouped:
                row_i = K[base]
                k_ii = diagonal[base]
                gain = _gains(v0, beta0, lower0, diagonal0, row_i, top, k_ii, gains0, lanes)
                if gain > most:
                    most, first, second = gain, t, _first_equal(gains0, gain)
            if m > split and (side == 1 or not grouped):
                row_i = K[base, split - shift :]
                k_ii = diagonal[base]
                gain = _gains(v1, beta1, lower1, diagonal1, row_i, top, k_ii, gains1, lanes)
                if gain > most:
                    most, first, second = gain, t, split + _first_equal(gains1, gain)
        if first < 0:
            return steps, 0.0
        i = first - shift if first >= split else first
        j = second - shift if second >= split else second
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
def _start(K, target, beta, doubled, v):
    """v = target - K β."""
    n = K.shape[0]
    for t in range(v.shape[0]):
        v[t] = target[t]
    for i in range(n):
        weight = beta[i] + (beta[n + i] if doubled else 0.0)
        if weight != 0.0:
            for t in range(n):
                v[t] -= weight * K[i, t]
                if doubled:
                    v[n + t] -= weight * K[i, t]


@kernel
def _solve_one(
    p, K, form, X, squares, gamma, coef0, degree, width, rows, row_starts, starts, splits, grouped,
    target, lower, upper, beta, v, tol, max_steps, steps, gaps,
):  # fmt: skip
    chosen = rows[row_starts[p] : row_starts[p + 1]]
    first, last = starts[p], starts[p + 1]
    square_block(form, X, squares, gamma, coef0, degree, chosen, width, K)
    n = chosen.shape[0]
    diagonal = np.empty(n)
    for i in range(n):
        diagonal[i] = K[i, i]
    own_beta, own_v = beta[first:last], v[first:last]
    _start(K, target[first:last], own_beta, last - first > n, own_v)
    steps[p], gaps[p] = smo_steps(
        K,
        diagonal,
        lower[first:last],
        upper[first:last],
        splits[p],
        grouped,
        own_beta,
        own_v,
        np.empty(last - first),
        tol,
        max_steps,
    )


@parallel_kernel
def solve_problems(
    begin, end, matrices, form, X, squares, gamma, coef0, degree, width, rows, row_starts, starts,
    splits, grouped, target, lower, upper, beta, v, tol, max_steps, steps, gaps,
):  # fmt: skip
    """Problems begin..end, each on its whole kernel matrix, which stays in ``matrices``."""
    for c in prange(end - begin):
        p = begin + np.intp(c)
        n = row_starts[p + 1] - row_starts[p]
        K = matrices[np.intp(c), : n * n].reshape(n, n)
        _solve_one(
            p, K, form, X, squares, gamma, coef0, degree, width, rows, row_starts, starts, splits,
            grouped, target, lower, upper, beta, v, tol, max_steps, steps, gaps,
        )  # fmt: skip
