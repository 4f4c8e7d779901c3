"""The best split of a feature from its histogram.

With gradient sum G and hessian sum H a node's best value is v = -T(G) / (H + lambda), where T is
soft thresholding by alpha, and it lowers the loss by -(G v + (H + lambda) v^2 / 2 + alpha |v|). The
gain of a split is twice what the children lower it by more than the parent.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.hist.histogram import COUNT_BITS, COUNT_MASK

BEST_FIRST, LEVEL_FIRST, DEPTH_FIRST = 0, 1, 2


class BoostingRules(NamedTuple):
    """When and how the nodes of a boosted tree are split."""

    l2: float = 0.0
    l1: float = 0.0
    min_leaf: int = 20  # rows of a leaf
    min_hessian: float = 1e-3  # hessian sum of a leaf
    min_gain: float = 0.0  # a split must gain more
    max_depth: int = 2**31 - 1
    max_leaves: int = 31
    order: int = BEST_FIRST  # which open node is split next
    features_drawn: int = 1000  # for a node, in a thousand of those it may use
    seed: int = 0  # of these draws
    gradient_unit: float = 1.0  # what 1 stands for in the gradients of a histogram
    hessian_unit: float = 1.0


# Fields of a split, an int64 array; words 4 to 7 are the set of bins that go left.
SPLIT_BIN, SPLIT_MISSING_LEFT, SPLIT_GRADIENT, SPLIT_REST, SPLIT_SET = 0, 1, 2, 3, 4
SPLIT_WORDS = 8

CATEGORY_SUPPORT = 10.0  # rows, by hessian, without which a category is not considered
RELATIVE_GAIN = 1e-12  # a smaller share of the sums is rounding
UNSURE = 1e-13  # gains that near to the best are compared to the last bit


@kernel
def node_value(gradient, hessian, rules, lower, upper):
    """The best value of a node with these sums, within the bounds."""
    pull = gradient
    if rules.l1 > 0.0:
        pull = 0.0
        if gradient > rules.l1:
            pull = gradient - rules.l1
        elif gradient < -rules.l1:
            pull = gradient + rules.l1
    value = -pull / (hessian + rules.l2 + 1e-15)
    if value < lower:
        value = lower
    if value > upper:
        value = upper
    return value


@kernel
def fall(gradient, hessian, value, rules):
    """Twice what the value lowers the loss of a node with these sums by."""
    return -(
        2.0 * gradient * value + (hessian + rules.l2) * value * value + 2.0 * rules.l1 * abs(value)
    )


@kernel
def pair_gain(g_left, h_left, g, h, rules, trend, lower, upper):
    """Twice what both children lower the loss by, from the sums of the left one and of their
    parent; -1 if their values break the trend."""
    left = node_value(g_left, h_left, rules, lower, upper)
    right = node_value(g - g_left, h - h_left, rules, lower, upper)
    if (trend > 0 and left > right) or (trend < 0 and left < right):
        return -1.0
    return fall(g_left, h_left, left, rules) + fall(g - g_left, h - h_left, right, rules)


@kernel
def numeric_split(histogram, f, n_bins, missing_bin, totals, rules, trend, lower, upper, split):
    """Best threshold of feature f, missing values on either side, from its histogram.

    ``totals`` are the sums of the node. Returns by how much the gain is above the least one and
    writes ``split``; 0 if no split is.
    """
    l2, g_unit, h_unit = rules.l2, rules.gradient_unit, rules.hessian_unit
    min_leaf, min_hessian = rules.min_leaf, rules.min_hessian
    g_all, rest_all = totals[0], totals[1]
    count_all = rest_all & COUNT_MASK
    g, h = g_all * g_unit, (rest_all >> COUNT_BITS) * h_unit
    plain = rules.l1 == 0.0 and trend == 0 and lower == -np.inf and upper == np.inf and l2 < 1e100
    own = fall(g, h, node_value(g, h, rules, lower, upper), rules)
    g_missing, rest_missing = histogram[f, missing_bin, 0], histogram[f, missing_bin, 1]
    count_missing = rest_missing & COUNT_MASK
    best = own + rules.min_gain + RELATIVE_GAIN * abs(own)
    none = best
    bar = best - UNSURE * abs(best)
    sides = 2 if count_missing > 0 else 1
    for side in range(sides):  # missing values right, then left
        g_sum, rest_sum = np.int64(0), np.int64(0)
        last = n_bins - 1
        if side == 1:
            g_sum, rest_sum = g_missing, rest_missing
        elif count_missing > 0:
            last = n_bins  # all values left, missing ones right
        for b in range(last):
            g_sum += histogram[f, b, 0]
            rest_sum += histogram[f, b, 1]
            count = rest_sum & COUNT_MASK
            if count < min_leaf:
                continue
            if count_all - count < min_leaf:
                break
            g_left = g_sum * g_unit
            h_left = (rest_sum >> COUNT_BITS) * h_unit
            h_right = h - h_left
            if h_left < min_hessian or h_right < min_hessian:
                continue
            if plain:
                g_right, left, right = g - g_left, h_left + l2, h_right + l2
                if g_left * g_left * right + g_right * g_right * left < bar * (left * right):
                    continue  # as below without its divisions, which take most of the time
                gain = g_left * g_left / left + g_right * g_right / right
            else:
                gain = pair_gain(g_left, h_left, g, h, rules, trend, lower, upper)
            if gain > best:
                best = gain
                bar = best - UNSURE * abs(best)
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
    return best - own - rules.min_gain


@kernel
def categorical_split(
    histogram, f, n_bins, missing_bin, totals, rules, lower, upper, order, keys, split
):
    """As `numeric_split`, the best set of categories: those of lowest (or highest) mean gradient
    (Fisher 1958). ``order`` and ``keys`` are scratch."""
    g_unit, h_unit = rules.gradient_unit, rules.hessian_unit
    min_leaf, min_hessian = rules.min_leaf, rules.min_hessian
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
    best = own + rules.min_gain + RELATIVE_GAIN * abs(own)
    none = best
    best_side, best_length = 0, 0
    for side in range(2):
        g_sum, rest_sum = np.int64(0), np.int64(0)
        # Rare categories go right, with at least half of the others.
        for length in range(1, (n_used + 1) // 2 + 1 - side):
            b = order[length - 1] if side == 0 else order[n_used - length]
            g_sum += histogram[f, b, 0]
            rest_sum += histogram[f, b, 1]
            count = rest_sum & COUNT_MASK
            h_left = (rest_sum >> COUNT_BITS) * h_unit
            if count < min_leaf or h_left < min_hessian:
                continue
            if count_all - count < min_leaf or h - h_left < min_hessian:
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
    return best - own - rules.min_gain


@kernel
def goes_left_table(split, missing_bin, table):
    """Write to table[b] whether a row in bin b goes left by this split."""
    for b in range(table.shape[0]):
        if split[SPLIT_BIN] >= 0:
            table[b] = np.uint8(b <= split[SPLIT_BIN])
        else:
            table[b] = np.uint8((split[SPLIT_SET + (b >> 6)] >> np.int64(b & 63)) & 1)
    table[missing_bin] = np.uint8(split[SPLIT_MISSING_LEFT])
