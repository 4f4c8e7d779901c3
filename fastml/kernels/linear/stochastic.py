"""Stochastic gradient descent on a linear model: one epoch, row by row.

The weights are scale · w, so that the l2 penalty costs one multiplication a step. The average of
the weights is (sum + a w) / b (Bottou, 2012); the l1 penalty is the cumulative one of Tsuruoka,
Tsujii and Ananiadou (2009), for the features of the row.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.losses.definitions import by_code
from fastml.kernels.numeric.prefetch import prefetch_row

NO_PENALTY, L1_PENALTY, L2_PENALTY, ELASTIC_NET = 0, 1, 2, 3
CONSTANT, OPTIMAL, INVSCALING, ADAPTIVE, PASSIVE_1, PASSIVE_2 = 1, 2, 3, 4, 5, 6

# Places in ``numbers``.
INTERCEPT, AVERAGE_INTERCEPT, ETA, TIME, DEBT, SCALE, AVERAGE_A, AVERAGE_B = 0, 1, 2, 3, 4, 5, 6, 7
SQUARED_NORM, L1_NORM, LOSS_SUM, OBJECTIVE_SUM, N_NUMBERS = 8, 9, 10, 11, 12

LEAST_SCALE = 1e-9
MOST_SLOPE = 1e12
AHEAD = 12
"""Steps by which rows are fetched ahead: without it each waits for memory."""


class SgdRules(NamedTuple):
    """What stays the same: loss, penalty, steps. ``average`` is the step at which averages begin,
    0 for none."""

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


class SgdRows(NamedTuple):
    """Dense ``X`` and an empty ``indptr``, or CSR's fields and an empty ``X``; targets, weights."""

    X: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    y: np.ndarray
    weights: np.ndarray


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
        return rules.eta0 / t**rules.power_t
    return eta


@kernel
def _update_of(rules, y, raw, loss, slope, square, eta):
    """What the row is multiplied by and added to the weights, but for its own weight."""
    if rules.rate >= PASSIVE_1:
        if rules.rate == PASSIVE_1:
            update = 0.0
            if square > 0.0:
                update = loss / square
                if update > rules.eta0:
                    update = rules.eta0
        else:
            update = loss / (square + 0.5 / rules.eta0)
        return -update if y - raw < 0.0 else update
    if slope < -MOST_SLOPE:
        slope = -MOST_SLOPE
    elif slope > MOST_SLOPE:
        slope = MOST_SLOPE
    return -eta * slope


@kernel
def _learn(rules, x, values, columns, y, weight, state):
    """One step from a dense row ``x`` or, where that is empty, a sparse one: writes ``state``."""
    w, average, paid, numbers = state
    dense = x.shape[0] > 0
    product = _dense_product(x, w) if dense else _sparse_product(values, columns, w)
    raw = product * numbers[SCALE] + numbers[INTERCEPT]
    t = numbers[TIME]
    eta = _rate_of(rules, t, numbers[ETA])
    loss, slope, _ = by_code(rules.code, rules.parameter, y, raw)
    if rules.with_objective:
        numbers[LOSS_SUM] += loss
        size = 0.0
        if rules.penalty > NO_PENALTY and rules.rate < PASSIVE_1:
            size = 0.5 * (1.0 - rules.l1_ratio) * numbers[SQUARED_NORM]
            size += rules.l1_ratio * numbers[L1_NORM]
        numbers[OBJECTIVE_SUM] += loss + rules.alpha * size
    square = 0.0
    if rules.rate >= PASSIVE_1:
        square = _square(x) if dense else _square(values)
        if rules.rate == PASSIVE_1 and square == 0.0:
            return
    update = weight * _update_of(rules, y, raw, loss, slope, square, eta)
    if rules.penalty >= L2_PENALTY:
        shrink = 1.0 - (1.0 - rules.l1_ratio) * eta * rules.alpha
        if shrink < 0.0:
            shrink = 0.0
        numbers[SCALE] *= shrink
        numbers[SQUARED_NORM] *= shrink * shrink
        numbers[L1_NORM] *= shrink
        if numbers[SCALE] < LEAST_SCALE:
            rescale(state)
    scale = numbers[SCALE]
    if update != 0.0:
        factor = update / scale
        if dense and not rules.with_objective:
            _dense_plain_update(x, factor, w)
        else:
            if dense:
                squares, sizes = _dense_update(x, factor, w)
            else:
                squares, sizes = _sparse_update(values, columns, factor, w)
            numbers[SQUARED_NORM] = squares * scale * scale
            numbers[L1_NORM] = sizes * scale
        numbers[INTERCEPT] += update * rules.intercept_step
    if 0.0 < rules.average <= t:
        count = t - rules.average + 1.0
        factor = -numbers[AVERAGE_A] * update / scale
        if dense:
            _dense_plain_update(x, factor, average)
        else:
            _sparse_update(values, columns, factor, average)
        share = 1.0 / count
        if count > 1.0:
            numbers[AVERAGE_B] /= 1.0 - share
        numbers[AVERAGE_A] += share * numbers[AVERAGE_B] * scale
        numbers[AVERAGE_INTERCEPT] += (numbers[INTERCEPT] - numbers[AVERAGE_INTERCEPT]) * share
    if rules.penalty == L1_PENALTY or rules.penalty == ELASTIC_NET:
        numbers[DEBT] += rules.l1_ratio * eta * rules.alpha
        if dense:
            for j in range(x.shape[0]):
                _pay(j, w, paid, scale, numbers[DEBT])
        else:
            for p in range(columns.shape[0]):
                _pay(columns[p], w, paid, scale, numbers[DEBT])
    numbers[ETA] = eta
    numbers[TIME] = t + 1.0


@kernel
def _dense_epoch(rules, X, y, weights, order, left_out, state):
    """`sgd_epoch` of dense rows, each fetched some steps ahead: writes ``state``."""
    n = order.shape[0]
    nothing, nowhere = X[0, :0], order[:0]
    for k in range(n):
        if k + AHEAD < n:
            prefetch_row(X, order[k + AHEAD])
        i = order[k]
        if not left_out[i]:
            _learn(rules, X[i], nothing, nowhere, y[i], weights[i], state)


@kernel
def _plain_epoch(rules, X, y, weights, order, left_out, state):
    """The same where there is neither l1 penalty nor average nor objective: writes ``state``."""
    w, _, _, numbers = state
    n = order.shape[0]
    intercept, scale, t, eta = numbers[INTERCEPT], numbers[SCALE], numbers[TIME], numbers[ETA]
    decay = rules.alpha if rules.penalty >= L2_PENALTY else 0.0
    for k in range(n):
        if k + AHEAD < n:
            prefetch_row(X, order[k + AHEAD])
        i = order[k]
        if left_out[i]:
            continue
        raw = _dense_product(X[i], w) * scale + intercept
        eta = _rate_of(rules, t, eta)
        slope = by_code(rules.code, rules.parameter, y[i], raw)[1]
        update = weights[i] * _update_of(rules, y[i], raw, 0.0, slope, 0.0, eta)
        shrink = 1.0 - eta * decay
        scale *= shrink if shrink > 0.0 else 0.0
        if scale < LEAST_SCALE:
            numbers[SCALE] = scale
            rescale(state)
            scale = 1.0
        if update != 0.0:
            _dense_plain_update(X[i], update / scale, w)
            intercept += update * rules.intercept_step
        t += 1.0
    numbers[INTERCEPT], numbers[SCALE], numbers[TIME], numbers[ETA] = intercept, scale, t, eta


@kernel
def sgd_epoch(rules, rows, order, left_out, state):
    """Learn from the rows in this order, but those ``left_out``; writes ``state``."""
    X, data, indices, indptr, y, weights = rows
    if indptr.shape[0] == 0:
        plain = rules.l1_ratio == 0.0 and rules.average == 0.0 and not rules.with_objective
        if plain and rules.rate < PASSIVE_1:
            _plain_epoch(rules, X, y, weights, order, left_out, state)
        else:
            _dense_epoch(rules, X, y, weights, order, left_out, state)
        return
    nothing = np.empty(0, dtype=X.dtype)
    for k in range(order.shape[0]):
        i = order[k]
        if not left_out[i]:
            p, q = indptr[i], indptr[i + 1]
            _learn(rules, nothing, data[p:q], indices[p:q], y[i], weights[i], state)
