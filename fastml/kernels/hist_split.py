"""The best split of a feature from its histogram.

With gradient sum G and hessian sum H a node's best value is v = -T(G) / (H + lambda), where T is
soft thresholding by alpha, and it lowers the loss by -(G v + (H + lambda) v^2 / 2 + alpha |v|). The
gain of a split is twice what the children lower it by more than the parent.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.histogram import COUNT_BITS, COUNT_MASK

# Fields of `rules`, a float64 array.
L2, L1, MIN_ROWS, MIN_HESSIAN, GRADIENT_UNIT, HESSIAN_UNIT, MIN_GAIN = 0, 1, 2, 3, 4, 5, 6
N_RULES = 7

# Fields of a split, an int64 array; words 4 to 7 are the set of bins that go left.
SPLIT_BIN, SPLIT_MISSING_LEFT, SPLIT_GRADIENT, SPLIT_REST, SPLIT_SET = 0, 1, 2, 3, 4
SPLIT_WORDS = 8

CATEGORY_SUPPORT = 10.0  # rows, by hessian, without which a category is not considered
RELATIVE_GAIN = 1e-12  # a smaller share of the sums is rounding


@kernel
def node_value(gradient, hessian, rules, lower, upper):
    """The best value within the bounds."""
    pull = gradient
    if rules[L1] > 0.0:
        pull = 0.0
        if gradient > rules[L1]:
            pull = gradient - rules[L1]
        elif gradient < -rules[L1]:
            pull = gradient + rules[L1]
    value = -pull / (hessian + rules[L2] + 1e-15)
    if value < lower:
        value = lower
    if value > upper:
        value = upper
    return value


@kernel
def fall(gradient, hessian, value, rules):
    """Twice what the value lowers the loss by."""
    return -(
        2.0 * gradient * value
        + (hessian + rules[L2]) * value * value
        + 2.0 * rules[L1] * abs(value)
    )


@kernel
def pair_gain(g_left, h_left, g, h, rules, trend, lower, upper):
    """What the children lower the loss by; -1 if their values break the trend."""
    left = node_value(g_left, h_left, rules, lower, upper)
    right = node_value(g - g_left, h - h_left, rules, lower, upper)
    if (trend > 0 and left > right) or (trend < 0 and left < right):
        return -1.0
    return fall(g_left, h_left, left, rules) + fall(g - g_left, h - h_left, right, rules)


@kernel
def numeric_split(histogram, f, n_bins, missing_bin, totals, rules, trend, lower, upper, split):
    """Best threshold of a number, missing values on either side.

    Returns by how much the gain is above the least one, 0 if no split is.
    """
    l2, g_unit, h_unit = rules[L2], rules[GRADIENT_UNIT], rules[HESSIAN_UNIT]
    min_rows, min_hessian = np.int64(rules[MIN_ROWS]), rules[MIN_HESSIAN]
    g_all, rest_all = totals[0], totals[1]
    count_all = rest_all & COUNT_MASK
    g, h = g_all * g_unit, (rest_all >> COUNT_BITS) * h_unit
    plain = rules[L1] == 0.0 and trend == 0 and lower == -np.inf and upper == np.inf
    own = fall(g, h, node_value(g, h, rules, lower, upper), rules)
    g_missing, rest_missing = histogram[f, missing_bin, 0], histogram[f, missing_bin, 1]
    count_missing = rest_missing & COUNT_MASK
    best = own + rules[MIN_GAIN] + RELATIVE_GAIN * abs(own)
    none = best
    sides = 2 if count_missing > 0 else 1
    for side in range(sides):  # missing values right, then left
        g_sum, rest_sum = np.int64(0), np.int64(0)
        last = n_bins - 1
        if side == 1:
            g_sum, rest_sum = g_missing, rest_missing
        elif count_missing > 0:
            last = n_bins  # all values left, missing ones right
        for b in range(last):
            here = histogram[f, b, 1]
            if here == 0:
                continue
            g_sum += histogram[f, b, 0]
            rest_sum += here
            count = rest_sum & COUNT_MASK
            if count < min_rows:
                continue
            if count_all - count < min_rows:
                break
            g_left = g_sum * g_unit
            h_left = (rest_sum >> COUNT_BITS) * h_unit
            h_right = h - h_left
            if h_left < min_hessian or h_right < min_hessian:
                continue
            if plain:
                g_right = g - g_left
                gain = g_left * g_left / (h_left + l2) + g_right * g_right / (h_right + l2)
            else:
                gain = pair_gain(g_left, h_left, g, h, rules, trend, lower, upper)
            if gain > best:
                best = gain
                split[SPLIT_BIN] = b
                split[SPLIT_MISSING_LEFT] = side
                split[SPLIT_GRADIENT] = g_sum
                split[SPLIT_REST] = rest_sum
    if best == none:
        return 0.0
    if count_missing == 0:  # then they go with the larger child
        left = split[SPLIT_REST] & COUNT_MASK
        split[SPLIT_MISSING_LEFT] = np.int64(left > count_all - left)
    for word in range(SPLIT_SET, SPLIT_WORDS):
        split[word] = 0
    return best - own - rules[MIN_GAIN]


@kernel
def categorical_split(
    histogram, f, n_bins, missing_bin, totals, rules, lower, upper, order, keys, split
):
    """Best set of categories: those with the lowest (or highest) mean gradient (Fisher 1958)."""
    g_unit, h_unit = rules[GRADIENT_UNIT], rules[HESSIAN_UNIT]
    min_rows, min_hessian = np.int64(rules[MIN_ROWS]), rules[MIN_HESSIAN]
    count_all = totals[1] & COUNT_MASK
    g, h = totals[0] * g_unit, (totals[1] >> COUNT_BITS) * h_unit
    if not h > 0.0:
        return 0.0
    n_used = 0
    for candidate in range(n_bins + 1):
        b = candidate if candidate < n_bins else missing_bin
        h_bin = (histogram[f, b, 1] >> COUNT_BITS) * h_unit
        if h_bin * count_all / h < CATEGORY_SUPPORT:
            continue
        key = histogram[f, b, 0] * g_unit / (h_bin + CATEGORY_SUPPORT)
        place = n_used  # insertion keeps ties in order of their codes
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            order[place] = order[place - 1]
            place -= 1
        keys[place] = key
        order[place] = b
        n_used += 1
    if n_used <= 1:
        return 0.0
    own = fall(g, h, node_value(g, h, rules, lower, upper), rules)
    best = own + rules[MIN_GAIN] + RELATIVE_GAIN * abs(own)
    none = best
    best_side, best_length = 0, 0
    for side in range(2):
        g_sum, rest_sum = np.int64(0), np.int64(0)
        for length in range(1, (n_used + 1) // 2 + 1):
            b = order[length - 1] if side == 0 else order[n_used - length]
            g_sum += histogram[f, b, 0]
            rest_sum += histogram[f, b, 1]
            count = rest_sum & COUNT_MASK
            h_left = (rest_sum >> COUNT_BITS) * h_unit
            if count < min_rows or h_left < min_hessian:
                continue
            if count_all - count < min_rows or h - h_left < min_hessian:
                break
            gain = pair_gain(g_sum * g_unit, h_left, g, h, rules, np.int8(0), lower, upper)
            if gain > best:
                best = gain
                best_side, best_length = side, length
                split[SPLIT_GRADIENT] = g_sum
                split[SPLIT_REST] = rest_sum
    if best == none:
        return 0.0
    for word in range(SPLIT_SET, SPLIT_WORDS):
        split[word] = 0
    for i in range(best_length):
        b = order[i] if best_side == 0 else order[n_used - 1 - i]
        split[SPLIT_SET + (b >> 6)] |= np.int64(1) << np.int64(b & 63)
    split[SPLIT_BIN] = -1
    if histogram[f, missing_bin, 1] == 0:
        left = split[SPLIT_REST] & COUNT_MASK
        split[SPLIT_MISSING_LEFT] = np.int64(left > count_all - left)
    else:
        split[SPLIT_MISSING_LEFT] = (
            split[SPLIT_SET + (missing_bin >> 6)] >> np.int64(missing_bin & 63)
        ) & 1
    return best - own - rules[MIN_GAIN]


@kernel
def goes_left_table(split, n_bins, missing_bin, table):
    """table[b]: whether a row in bin b goes left."""
    for b in range(table.shape[0]):
        if split[SPLIT_BIN] >= 0:
            table[b] = np.uint8(b <= split[SPLIT_BIN])
        else:
            table[b] = np.uint8((split[SPLIT_SET + (b >> 6)] >> np.int64(b & 63)) & 1)
    table[missing_bin] = np.uint8(split[SPLIT_MISSING_LEFT])
