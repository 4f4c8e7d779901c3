"""Stochastic gradient descent on a linear model: one epoch, row by row.

The weights are scale · w, so that the l2 penalty costs one multiplication a step. The average of
the weights is (sum + a w) / b (Bottou, 2012); the l1 penalty is the cumulative one of Tsuruoka,
Tsujii and Ananiadou (2009), for the features of the row.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.losses.definitions import BINOMIAL, by_code
from fastml.kernels.numeric.exp import exp64
from fastml.kernels.numeric.prefetch import prefetch_row

NO_PENALTY, L1_PENALTY, L2_PENALTY, ELASTIC_NET = 0, 1, 2, 3
CONSTANT, OPTIMAL, INVSCALING, ADAPTIVE, PASSIVE_1, PASSIVE_2 = 1, 2, 3, 4, 5, 6

# Places in ``numbers``.
INTERCEPT, AVERAGE_INTERCEPT, ETA, TIME, DEBT, SCALE, AVERAGE_A, AVERAGE_B = 0, 1, 2, 3, 4, 5, 6, 7
SQUARED_NORM, L1_NORM, LOSS_SUM, OBJECTIVE_SUM, N_UPDATES, N_NUMBERS = 8, 9, 10, 11, 12, 13

LEAST_SCALE = 1e-9
MOST_SLOPE = 1e12
AHEAD = 8
"""Steps by which rows are fetched ahead: without it each waits for memory."""


class SgdRules(NamedTuple):
    """What stays the same: loss, penalty, steps. ``average`` is the step at which averages begin,
    0 for none; ``one_class`` also pulls the intercept down by alpha."""

    code: int
    parameter: float
    penalty: int
    alpha: float
    l1_ratio: float
    rate: int
    eta0: float
    power_t: float
    optimal_start: float
    intercept_step: float
    average: float
    with_objective: bool
    one_class: bool


class SgdRows(NamedTuple):
    """Dense ``X`` and an empty ``indptr``, or CSR's fields and an empty ``X``; beside each row its
    target and weight, next to each other in memory."""

    X: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    targets: np.ndarray


class SgdState(NamedTuple):
    """Weights (times the scale), sum of the average, l1 penalty paid so far, and `numbers`."""

    w: np.ndarray
    average: np.ndarray
    paid: np.ndarray
    numbers: np.ndarray


@kernel
def shuffle_as_sklearn(order, seed):
    """Put ``order`` in the order of scikit-learn's generator (xorshift of 32 bits)."""
    state = np.uint32(seed)
    if state == np.uint32(0):
        state = np.uint32(1)
    n = order.shape[0]
    for i in range(n - 1):
        state ^= np.uint32(state << np.uint32(13))
        state ^= np.uint32(state >> np.uint32(17))
        state ^= np.uint32(state << np.uint32(5))
        drawn = np.uint32(state & np.uint32(0x7FFFFFFF))
        j = i + np.intp(drawn % np.uint32(n - i))
        order[i], order[j] = order[j], order[i]


@kernel(fast_math=True)
def _dense_product(x, w):
    """x · w."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * w[j]
    return total


@kernel(fast_math=True)
def _square(x):
    """x · x."""
    total = 0.0
    for j in range(x.shape[0]):
        total += np.float64(x[j]) * x[j]
    return total


@kernel(fast_math=True)
def _dense_update(x, factor, w):
    """Add factor · x to ``w``; the squared norm and the l1 norm of the result."""
    squares, sizes = 0.0, 0.0
    for j in range(x.shape[0]):
        new = w[j] + factor * x[j]
        w[j] = new
        squares += new * new
        sizes += abs(new)
    return squares, sizes


@kernel(fused=True)
def _dense_plain_update(x, factor, w):
    """Add factor · x to ``w``."""
    for j in range(x.shape[0]):
        w[j] += factor * x[j]


@kernel
def _sparse_product(values, columns, w):
    """x · w of a sparse row."""
    total = 0.0
    for p in range(values.shape[0]):
        total += values[p] * w[columns[p]]
    return total


@kernel
def _sparse_update(values, columns, factor, w):
    """Add factor · x to ``w``; the squared and the l1 norm of its entries at the row's columns."""
    squares, sizes = 0.0, 0.0
    for p in range(values.shape[0]):
        new = w[columns[p]] + factor * values[p]
        w[columns[p]] = new
        squares += new * new
        sizes += abs(new)
    return squares, sizes


@kernel
def rescale(state):
    """Take the scale into the weights, and the average out of its sum: writes ``state``."""
    w, average, _, numbers = state
    a, b, scale = numbers[AVERAGE_A], numbers[AVERAGE_B], numbers[SCALE]
    for j in range(average.shape[0]):
        average[j] = (average[j] + a * w[j]) / b
    for j in range(w.shape[0]):
        w[j] *= scale
    numbers[AVERAGE_A], numbers[AVERAGE_B], numbers[SCALE] = 0.0, 1.0, 1.0


@kernel
def _pay(j, w, paid, scale, debt):
    """Apply the l1 penalty to weight j: writes ``w`` and ``paid``."""
    before = w[j]
    if scale * before > 0.0:
        after = before - (debt + paid[j]) / scale
        w[j] = after if after > 0.0 else 0.0
    elif scale * before < 0.0:
        after = before + (debt - paid[j]) / scale
        w[j] = after if after < 0.0 else 0.0
    paid[j] += scale * (w[j] - before)


@kernel
def _rate_of(rules, t, eta):
    """The step length of step t."""
    if rules.rate == OPTIMAL:
        return 1.0 / (rules.alpha * (rules.optimal_start + t - 1.0))
    if rules.rate == INVSCALING:
        if rules.power_t == 0.25:
            return rules.eta0 / np.sqrt(np.sqrt(t))
        if rules.power_t == 0.5:
            return rules.eta0 / np.sqrt(t)
        return rules.eta0 / t**rules.power_t
    return eta


@kernel
def _slope_of(rules, y, raw):
    """The derivative of the loss, within bounds."""
    if rules.code == BINOMIAL:
        e = exp64(-abs(raw))
        return (1.0 if raw >= 0.0 else e) / (1.0 + e) - y
    slope = by_code(rules.code, rules.parameter, y, raw)[1]
    if slope < -MOST_SLOPE:
        return -MOST_SLOPE
    return MOST_SLOPE if slope > MOST_SLOPE else slope


@kernel
def _passive_update(rules, y, raw, square):
    """The passive-aggressive factor of a row of this squared length."""
    loss = by_code(rules.code, rules.parameter, y, raw)[0]
    if rules.rate == PASSIVE_1:
        update = 0.0
        if square > 0.0:
            update = loss / square
            if update > rules.eta0:
                update = rules.eta0
    else:
        update = loss / (square + 0.5 / rules.eta0)
    return -update if y - raw < 0.0 else update


@kernel
def _watch(rules, y, raw, intercept, squares, sizes, numbers):
    """Add the loss of a row and its objective to ``numbers``."""
    loss = by_code(rules.code, rules.parameter, y, raw)[0]
    numbers[LOSS_SUM] += loss
    if rules.penalty > NO_PENALTY and rules.rate < PASSIVE_1:
        size = 0.5 * (1.0 - rules.l1_ratio) * squares + rules.l1_ratio * sizes
        loss += rules.alpha * size
    if rules.one_class:
        loss += rules.alpha * intercept
    numbers[OBJECTIVE_SUM] += loss


@kernel
def _average_numbers(t, start, scale, intercept, numbers):
    """Let the step count in the averages: writes ``numbers``."""
    count = t - start + 1.0
    share = 1.0 / count
    if count > 1.0:
        numbers[AVERAGE_B] /= 1.0 - share
    numbers[AVERAGE_A] += share * numbers[AVERAGE_B] * scale
    numbers[AVERAGE_INTERCEPT] += (intercept - numbers[AVERAGE_INTERCEPT]) * share


@kernel
def _dense_epoch(rules, X, targets, order, left_out, state):
    """`sgd_epoch` of dense rows, each fetched some steps ahead: writes ``state``."""
    w, average, paid, numbers = state
    intercept, scale, t, eta = numbers[INTERCEPT], numbers[SCALE], numbers[TIME], numbers[ETA]
    squares, sizes = numbers[SQUARED_NORM], numbers[L1_NORM]
    decay = (1.0 - rules.l1_ratio) * rules.alpha if rules.penalty >= L2_PENALTY else 0.0
    pull = rules.alpha if rules.one_class else 0.0
    passive = rules.rate >= PASSIVE_1
    n = order.shape[0]
    for k in range(n):
        if k + AHEAD < n:
            prefetch_row(X, order[k + AHEAD])
            prefetch_row(targets, order[k + AHEAD])
        i = order[k]
        if left_out[i]:
            continue
        x, y = X[i], targets[i, 0]
        raw = _dense_product(x, w) * scale + intercept
        eta = _rate_of(rules, t, eta)
        if rules.with_objective:
            _watch(rules, y, raw, intercept, squares, sizes, numbers)
        if passive:
            square = _square(x)
            if rules.rate == PASSIVE_1 and square == 0.0:
                continue
            update = targets[i, 1] * _passive_update(rules, y, raw, square)
        else:
            update = -(eta * targets[i, 1]) * _slope_of(rules, y, raw)
        shrink = 1.0 - eta * decay
        shrink = shrink if shrink > 0.0 else 0.0
        scale *= shrink
        squares *= shrink * shrink
        sizes *= shrink
        if scale < LEAST_SCALE:
            numbers[SCALE] = scale
            rescale(state)
            scale = 1.0
        inverse = 1.0 / scale
        if update != 0.0:
            numbers[N_UPDATES] += 1.0
            if rules.with_objective:
                squares, sizes = _dense_update(x, update * inverse, w)
                squares, sizes = squares * scale * scale, sizes * scale
            else:
                _dense_plain_update(x, update * inverse, w)
        intercept += (update - eta * pull) * rules.intercept_step
        if 0.0 < rules.average <= t:
            _dense_plain_update(x, -numbers[AVERAGE_A] * update * inverse, average)
            _average_numbers(t, rules.average, scale, intercept, numbers)
        if rules.l1_ratio > 0.0:
            numbers[DEBT] += rules.l1_ratio * eta * rules.alpha
            for j in range(x.shape[0]):
                _pay(j, w, paid, scale, numbers[DEBT])
        t += 1.0
    numbers[INTERCEPT], numbers[SCALE], numbers[TIME], numbers[ETA] = intercept, scale, t, eta
    numbers[SQUARED_NORM], numbers[L1_NORM] = squares, sizes


@kernel
def _sparse_epoch(rules, csr, targets, order, left_out, state):
    """The same of the rows of a CSR matrix (values, columns, first places): writes ``state``."""
    data, indices, indptr = csr
    w, average, paid, numbers = state
    intercept, scale, t, eta = numbers[INTERCEPT], numbers[SCALE], numbers[TIME], numbers[ETA]
    squares, sizes = numbers[SQUARED_NORM], numbers[L1_NORM]
    decay = (1.0 - rules.l1_ratio) * rules.alpha if rules.penalty >= L2_PENALTY else 0.0
    pull = rules.alpha if rules.one_class else 0.0
    passive = rules.rate >= PASSIVE_1
    for k in range(order.shape[0]):
        i = order[k]
        if left_out[i]:
            continue
        values, columns = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        y = targets[i, 0]
        raw = _sparse_product(values, columns, w) * scale + intercept
        eta = _rate_of(rules, t, eta)
        if rules.with_objective:
            _watch(rules, y, raw, intercept, squares, sizes, numbers)
        if passive:
            square = _square(values)
            if rules.rate == PASSIVE_1 and square == 0.0:
                continue
            update = targets[i, 1] * _passive_update(rules, y, raw, square)
        else:
            update = -(eta * targets[i, 1]) * _slope_of(rules, y, raw)
        shrink = 1.0 - eta * decay
        shrink = shrink if shrink > 0.0 else 0.0
        scale *= shrink
        squares *= shrink * shrink
        sizes *= shrink
        if scale < LEAST_SCALE:
            numbers[SCALE] = scale
            rescale(state)
            scale = 1.0
        inverse = 1.0 / scale
        if update != 0.0:
            numbers[N_UPDATES] += 1.0
            squares, sizes = _sparse_update(values, columns, update * inverse, w)
            squares, sizes = squares * scale * scale, sizes * scale
        intercept += (update - eta * pull) * rules.intercept_step
        if 0.0 < rules.average <= t:
            _sparse_update(values, columns, -numbers[AVERAGE_A] * update * inverse, average)
            _average_numbers(t, rules.average, scale, intercept, numbers)
        if rules.l1_ratio > 0.0:
            numbers[DEBT] += rules.l1_ratio * eta * rules.alpha
            for p in range(columns.shape[0]):
                _pay(columns[p], w, paid, scale, numbers[DEBT])
        t += 1.0
    numbers[INTERCEPT], numbers[SCALE], numbers[TIME], numbers[ETA] = intercept, scale, t, eta
    numbers[SQUARED_NORM], numbers[L1_NORM] = squares, sizes


@kernel
def sgd_epoch(rules, rows, order, left_out, state):
    """Learn from the rows in this order, but those ``left_out``; writes ``state``."""
    X, data, indices, indptr, targets = rows
    if indptr.shape[0] == 0:
        _dense_epoch(rules, X, targets, order, left_out, state)
    else:
        _sparse_epoch(rules, (data, indices, indptr), targets, order, left_out, state)
