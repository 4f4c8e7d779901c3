"""Losses of one row: each function returns the loss, its derivative by r and its second derivative.

y is the target, r the raw prediction. Losses of two classes take any y > 0 as the positive class,
and have s = 1 there and −1 otherwise; the margin is s r. At a kink the derivative is one of the two
sides, and the second derivative is 0 there and wherever a loss is linear.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import exp64, log64

SQUARED, ABSOLUTE, PINBALL, HUBER, POISSON, GAMMA, BINOMIAL, MULTINOMIAL = 0, 1, 2, 3, 4, 5, 6, 7
EXPONENTIAL, LP, EPSILON_INSENSITIVE, SQUARED_EPSILON_INSENSITIVE, SQUARED_LOG = 8, 9, 10, 11, 12
HINGE, SQUARED_HINGE, PERCEPTRON, TWEEDIE_LOG, TWEEDIE_IDENTITY = 13, 14, 15, 16, 17
MODIFIED_HUBER = 18

# ---------------------------------------------------------------------------- of distances


@kernel
def squared(y, r):
    """(y − r)² / 2."""
    d = r - y
    return 0.5 * d * d, d, 1.0


@kernel
def absolute(y, r):
    """|y − r|."""
    return abs(y - r), (1.0 if r > y else -1.0), 0.0


@kernel
def pinball(y, r, level):
    """level · (y − r) where y ≥ r, (level − 1) (y − r) elsewhere."""
    d = y - r
    value = level * d if d >= 0.0 else (level - 1.0) * d
    return value, (1.0 - level if r > y else -level), 0.0


@kernel
def huber(y, r, width):
    """(y − r)² / 2 where |y − r| ≤ width, width (|y − r| − width / 2) elsewhere."""
    d = r - y
    size = abs(d)
    inside = size <= width
    slope = d
    if slope > width:
        slope = width
    if slope < -width:
        slope = -width
    value = 0.5 * d * d if inside else width * (size - 0.5 * width)
    return value, slope, (1.0 if inside else 0.0)


@kernel
def lp(y, r, power):
    """|y − r| to a power of at least 1."""
    d = r - y
    size = abs(d)
    if size == 0.0:
        return 0.0, 0.0, (2.0 if power == 2.0 else 0.0)
    value = size**power
    slope = power * size ** (power - 1.0)
    curvature = power * (power - 1.0) * size ** (power - 2.0)
    return value, (slope if d > 0.0 else -slope), curvature


@kernel
def epsilon_insensitive(y, r, epsilon):
    """max(0, |y − r| − epsilon)."""
    d = r - y
    excess = abs(d) - epsilon
    if excess <= 0.0:
        return 0.0, 0.0, 0.0
    return excess, (1.0 if d > 0.0 else -1.0), 0.0


@kernel
def squared_epsilon_insensitive(y, r, epsilon):
    """max(0, |y − r| − epsilon)²."""
    d = r - y
    excess = abs(d) - epsilon
    if excess <= 0.0:
        return 0.0, 0.0, 0.0
    return excess * excess, (2.0 * excess if d > 0.0 else -2.0 * excess), 2.0


@kernel
def squared_log(y, r):
    """(log(1 + r) − log(1 + y))²; infinite for r ≤ −1."""
    if r <= -1.0:
        return np.inf, np.nan, np.nan
    u = np.log1p(r) - np.log1p(y)
    return u * u, 2.0 * u / (1.0 + r), 2.0 * (1.0 - u) / ((1.0 + r) * (1.0 + r))


# ---------------------------------------------------------------------------- of two classes


@kernel
def logistic_slopes(y, r):
    """The two derivatives of `logistic`, without its value: half of the work."""
    p = 1.0 / (1.0 + exp64(-r if r > -700.0 else 700.0))
    return p - y, p * (1.0 - p)


@kernel(fused=True)
def _log_between_1_and_2(m):
    """`log64` without its branches, which keep loops from being vectorised: a tenth of the time."""
    above = m > 1.4142135623730951
    half = 0.5 * m if above else m
    s = (half - 1.0) / (half + 1.0)
    z = s * s
    p = 0.09523809523809523  # 2/21, then 2/19, ... 2/3
    p = p * z + 0.10526315789473684
    p = p * z + 0.11764705882352941
    p = p * z + 0.13333333333333333
    p = p * z + 0.15384615384615385
    p = p * z + 0.18181818181818182
    p = p * z + 0.2222222222222222
    p = p * z + 0.2857142857142857
    p = p * z + 0.4
    p = p * z + 0.6666666666666666
    f = half - 1.0
    return (0.6931471805599453 if above else 0.0) + (f - s * (f - z * p))


@kernel
def logistic_of(y, r, e):
    """`logistic` with e = exp(−|r|): loops that make these first are vectorised."""
    p = (1.0 if r >= 0.0 else e) / (1.0 + e)
    value = 0.5 * (r + abs(r)) + _log_between_1_and_2(1.0 + e) - y * r
    return value, p - y, p * (1.0 - p)


@kernel
def logistic(y, r):
    """log(1 + exp(r)) − y r for y between 0 and 1."""
    return logistic_of(y, r, exp64(-abs(r)))


@kernel
def exponential(y, r):
    """exp(−s r)."""
    e = exp64(-r if y > 0.0 else r)
    return e, (-e if y > 0.0 else e), e


@kernel
def hinge(y, r):
    """max(0, 1 − s r)."""
    s = 1.0 if y > 0.0 else -1.0
    short = 1.0 - s * r
    if short < 0.0:
        return 0.0, 0.0, 0.0
    return short, -s, 0.0


@kernel
def squared_hinge(y, r):
    """max(0, 1 − s r)²."""
    s = 1.0 if y > 0.0 else -1.0
    short = 1.0 - s * r
    if short < 0.0:
        return 0.0, 0.0, 0.0
    return short * short, -2.0 * s * short, 2.0


@kernel
def modified_huber(y, r):
    """max(0, 1 − s r)² where s r ≥ −1, −4 s r below."""
    s = 1.0 if y > 0.0 else -1.0
    margin = s * r
    if margin >= 1.0:
        return 0.0, 0.0, 0.0
    if margin >= -1.0:
        short = 1.0 - margin
        return short * short, -2.0 * s * short, 2.0
    return -4.0 * margin, -4.0 * s, 0.0


@kernel
def perceptron(y, r):
    """max(0, −s r)."""
    s = 1.0 if y > 0.0 else -1.0
    if s * r > 0.0:
        return 0.0, 0.0, 0.0
    return -s * r, -s, 0.0


# ---------------------------------------------------------------------------- of counts and amounts


@kernel
def poisson(y, r):
    """exp(r) − y r."""
    e = exp64(r)
    return e - y * r, e - y, e


@kernel
def gamma(y, r):
    """r + y exp(−r)."""
    e = y * exp64(-r)
    return r + e, 1.0 - e, e


@kernel
def tweedie_log(y, r, power):
    """μ^(2−p) / (2−p) − y μ^(1−p) / (1−p) with μ = exp(r); Poisson and gamma at p = 1 and 2."""
    if power == 1.0:
        return poisson(y, r)
    if power == 2.0:
        return gamma(y, r)
    one, two = 1.0 - power, 2.0 - power
    a, b = y * exp64(one * r), exp64(two * r)
    return b / two - a / one, b - a, two * b - one * a


@kernel
def tweedie_identity(y, r, power):
    """The same with μ = r; infinite for r ≤ 0, but for p = 0, the squared loss."""
    if power == 0.0:
        return squared(y, r)
    if r <= 0.0:
        return np.inf, np.nan, np.nan
    one, two = 1.0 - power, 2.0 - power
    if power == 1.0:
        value = r - y * np.log(r)
    elif power == 2.0:
        value = np.log(r) + y / r
    else:
        value = r**two / two - y * r**one / one
    scale = r ** (-power)
    return value, (r - y) * scale, (one * r + power * y) * scale / r


# ---------------------------------------------------------------------------- by code


@kernel
def by_code(code, parameter, y, r):
    """Loss and derivatives of any code but MULTINOMIAL; an unknown one is BINOMIAL."""
    if code == SQUARED:
        return squared(y, r)
    if code == ABSOLUTE:
        return absolute(y, r)
    if code == PINBALL:
        return pinball(y, r, parameter)
    if code == HUBER:
        return huber(y, r, parameter)
    if code == POISSON:
        return poisson(y, r)
    if code == GAMMA:
        return gamma(y, r)
    if code == EXPONENTIAL:
        return exponential(y, r)
    if code == LP:
        return lp(y, r, parameter)
    if code == EPSILON_INSENSITIVE:
        return epsilon_insensitive(y, r, parameter)
    if code == SQUARED_EPSILON_INSENSITIVE:
        return squared_epsilon_insensitive(y, r, parameter)
    if code == SQUARED_LOG:
        return squared_log(y, r)
    if code == HINGE:
        return hinge(y, r)
    if code == SQUARED_HINGE:
        return squared_hinge(y, r)
    if code == PERCEPTRON:
        return perceptron(y, r)
    if code == MODIFIED_HUBER:
        return modified_huber(y, r)
    if code == TWEEDIE_LOG:
        return tweedie_log(y, r, parameter)
    if code == TWEEDIE_IDENTITY:
        return tweedie_identity(y, r, parameter)
    return logistic(y, r)


@kernel
def loss_of_each(code, parameter, y, raw, values, gradients, curvatures):
    """Write `by_code` of each row to ``values``, ``gradients`` and ``curvatures``."""
    for i in range(y.shape[0]):
        values[i], gradients[i], curvatures[i] = by_code(code, parameter, y[i], raw[i])


@kernel
def softmax_of_each(y, raw, values, gradients, curvatures):
    """The multinomial loss log Σ exp(r_k) − r_y of each row of ``raw`` (rows x classes).

    Writes ``values`` (rows), ``gradients`` and the diagonal of the second derivatives,
    ``curvatures`` (both rows x classes).
    """
    for i in range(y.shape[0]):
        most = raw[i, 0]
        for k in range(1, raw.shape[1]):
            if raw[i, k] > most:
                most = raw[i, k]
        total = 0.0
        for k in range(raw.shape[1]):
            gradients[i, k] = exp64(raw[i, k] - most)
            total += gradients[i, k]
        right = np.intp(y[i])
        values[i] = log64(total) + most - raw[i, right]
        for k in range(raw.shape[1]):
            p = gradients[i, k] / total
            curvatures[i, k] = p * (1.0 - p)
            gradients[i, k] = p - (1.0 if k == right else 0.0)
