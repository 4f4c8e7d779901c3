"""Coordinate descent for ½ \\|b − A w\\|² + l1 \\|w\\|₁ + l2/2 \\|w\\|² from the Gram matrix A'A.

``pull`` is A'(b − A w), kept up to date: a weight that stays costs one comparison, one that moves a
row of the Gram matrix. Passes run over the weights that are not 0 until these are solved, then over
all (Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models via
coordinate descent", 2010). Every few passes the last ones are extrapolated (Anderson's method: the
combination of the last steps that is nearest to a fixed point; Bertrand and Massias, "Anderson
acceleration of coordinate descent", 2021); pull is linear in w and follows at no cost.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.losses.penalties import Net, shrunk

KEPT = 5
"""Steps that an extrapolation combines."""

STEADY = 0.005
"""Share of the tolerance, relative to the largest weight, that the last pass may move weights."""

STUCK = 1e-30
"""Largest step, squared and over \\|b\\|², below which rounding keeps weights from moving."""


@kernel(fast_math=True)
def subtract(values, row, step):
    """``values`` −= step · row, over the length of ``values``."""
    for i in range(values.shape[0]):
        values[i] -= step * row[i]


@kernel
def sweep(gram, pull, w, order, net):
    """One pass over the weights ``order``: changes ``w`` and ``pull``.

    Returns the largest squared step and the largest square of a weight, in the columns' scales.
    """
    largest, size = 0.0, 0.0
    for s in range(order.shape[0]):
        j = order[s]
        own = gram[j, j]
        new = shrunk(pull[j] + own * w[j], own, net)
        step = new - w[j]
        if step != 0.0:
            w[j] = new
            subtract(pull, gram[j], step)
            largest = max(largest, step * step * own)
        size = max(size, new * new * own)
    return largest, size


@kernel
def objective_and_gap(cross, square, pull, w, order, net):
    """(objective, duality gap) where only the weights ``order`` may differ from 0.

    ``cross`` is A'b and ``square`` \\|b\\|². The dual point is the residual, scaled until no column
    exceeds l1 or, if l2 > 0, as it is: the better bound counts. Without any penalty there is no
    such bound; the sum of what each weight alone could gain stands for it.
    """
    fitted, norm1, norm2, crossed = 0.0, 0.0, 0.0, 0.0
    steepest, excess = 0.0, 0.0
    for s in range(order.shape[0]):
        j = order[s]
        fitted += w[j] * (cross[j] + pull[j])
        crossed += w[j] * cross[j]
        norm1 += abs(w[j])
        norm2 += w[j] * w[j]
        slope = pull[j] - net.l2 * w[j]
        over = pull[j] - net.l1
        if not net.positive:
            slope = abs(slope)
            over = abs(pull[j]) - net.l1
        steepest = max(steepest, slope)
        if over > 0.0:
            excess += over * over
    residual = max(square - fitted, 0.0)
    objective = 0.5 * residual + net.l1 * norm1 + 0.5 * net.l2 * norm2
    aligned = square - crossed  # b · residual
    gap = objective
    if steepest <= 0.0 or net.l1 > 0.0:
        whole = residual + net.l2 * norm2
        scale = 1.0 if whole <= 0.0 else aligned / whole
        if steepest * abs(scale) > net.l1:
            scale = net.l1 / steepest if scale > 0.0 else -net.l1 / steepest
        if net.positive and scale < 0.0:
            scale = 0.0
        gap = objective - (scale * aligned - 0.5 * scale * scale * whole)
    if net.l2 > 0.0:
        gap = min(gap, objective - (aligned - 0.5 * residual - 0.5 * excess / net.l2))
    if net.l1 == 0.0 and net.l2 == 0.0:
        gap = 0.0
        for s in range(order.shape[0]):
            j = order[s]
            slope = pull[j]
            if not net.positive or w[j] > 0.0 or slope > 0.0:
                gap += abs(w[j] * slope) if net.positive and w[j] > 0.0 else 0.0
                gap += slope * slope
        gap = np.sqrt(gap * square) if gap > 0.0 else 0.0
    return objective, max(gap, 0.0)


@kernel
def mixture(history, active, shares):
    """Sum to one in ``shares``: the mix of the last steps of ``history`` that moves least."""
    system = np.zeros((KEPT, KEPT + 1))
    for a in range(KEPT):
        system[a, KEPT] = 1.0
        for b in range(a + 1):
            total = 0.0
            for s in range(active.shape[0]):
                j = active[s]
                total += (history[a + 1, j] - history[a, j]) * (history[b + 1, j] - history[b, j])
            system[a, b] = total
            system[b, a] = total
    trace = 0.0
    for a in range(KEPT):
        trace += system[a, a]
    for a in range(KEPT):
        system[a, a] += 1e-12 * trace
    for a in range(KEPT):  # positive definite: no pivots
        if system[a, a] <= 0.0:
            return False
        for b in range(a + 1, KEPT):
            factor = system[b, a] / system[a, a]
            for c in range(a, KEPT + 1):
                system[b, c] -= factor * system[a, c]
    total = 0.0
    for a in range(KEPT - 1, -1, -1):
        value = system[a, KEPT]
        for c in range(a + 1, KEPT):
            value -= system[a, c] * shares[c]
        shares[a] = value / system[a, a]
        total += shares[a]
    if total == 0.0 or not np.isfinite(total):
        return False
    for a in range(KEPT):
        shares[a] /= total
    return True


@kernel
def extrapolate(cross, square, pull, w, active, net, history, pulls):
    """Replace ``w`` and ``pull`` by the mix of the last ones (``history``, ``pulls``) if better."""
    shares = np.empty(KEPT)
    if not mixture(history, active, shares):
        return
    before, _ = objective_and_gap(cross, square, pull, w, active, net)
    # The first lines are not needed any more and hold what is tried.
    tried, tried_pull = history[0], pulls[0]
    for i in range(w.shape[0]):
        tried[i] = w[i]
        value = 0.0
        for a in range(KEPT):
            value += shares[a] * pulls[a + 1, i]
        tried_pull[i] = value
    for s in range(active.shape[0]):
        j = active[s]
        value = 0.0
        for a in range(KEPT):
            value += shares[a] * history[a + 1, j]
        if net.positive and value < 0.0:
            return
        tried[j] = value
    after, _ = objective_and_gap(cross, square, tried_pull, tried, active, net)
    if after < before:
        w[:] = tried
        pull[:] = tried_pull


@kernel
def descend(gram, cross, square, pull, w, order, net, tol, most, at_least):
    """Solve over the weights ``order`` in at most ``most`` passes.

    `KEPT` passes over the weights in use, up to an extrapolation, count as one.

    The end is a gap of ``tol`` · \\|b\\|² after a pass whose steps were below `STEADY` · ``tol``
    times the largest weight; if ``at_least`` is 0, that gap may end it before any pass. ``gram``
    may have more rows and columns than ``w`` has weights. Changes ``w`` and ``pull``; returns (gap,
    passes).
    """
    m = w.shape[0]
    history, pulls = np.empty((KEPT + 1, m)), np.empty((KEPT + 1, m))
    support = np.empty(order.shape[0], dtype=np.intp)
    passes = 0
    enough, stuck, still = tol * square, STUCK * square, (STEADY * tol) ** 2
    _, gap = objective_and_gap(cross, square, pull, w, order, net)
    small = gap <= enough and at_least == 0
    while (gap > enough or not small) and passes < most:
        largest, size = sweep(gram, pull, w, order, net)
        passes += 1
        small = largest <= still * size
        n_active = 0
        for s in range(order.shape[0]):
            if w[order[s]] != 0.0:
                support[n_active] = order[s]
                n_active += 1
        active = support[:n_active]
        _, gap = objective_and_gap(cross, square, pull, w, order, net)
        if (gap <= enough and small) or largest <= stuck:
            break
        kept = 0
        while passes < most and n_active > 0:
            history[kept] = w
            pulls[kept] = pull
            if kept == KEPT:
                extrapolate(cross, square, pull, w, active, net, history, pulls)
                passes += 1
                kept = 0
                history[kept] = w
                pulls[kept] = pull
                _, inner = objective_and_gap(cross, square, pull, w, active, net)
                if inner <= 0.3 * enough and largest <= still * size:
                    break
            largest, size = sweep(gram, pull, w, active, net)
            kept += 1
            if largest <= max(stuck, still * size):
                passes += 1
                break
        _, gap = objective_and_gap(cross, square, pull, w, order, net)
    return gap, passes


@kernel
def gram_path(gram, cross, square, l1, l2, positive, tol, most, start, coefs, gaps, passes):
    """Solutions for every pair of penalties ``l1`` and ``l2``, each from the one before.

    ``start`` is the first to start from. Fills ``coefs`` (penalties, weights), ``gaps`` and
    ``passes``.
    """
    d = cross.shape[0]
    w, pull = start.copy(), cross.copy()
    for j in range(d):
        if w[j] != 0.0:
            subtract(pull, gram[j], w[j])
    order = np.arange(d)
    for a in range(l1.shape[0]):
        net = Net(l1[a], l2[a], positive)
        found = descend(gram, cross, square, pull, w, order, net, tol, most, min(a, 1))
        gaps[a], passes[a] = found
        coefs[a] = w
