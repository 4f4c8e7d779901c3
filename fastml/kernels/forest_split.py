"""The best split of one node, over integer codes of the values.

A code is a bin (at most 255) or the rank of the value among the distinct ones, so a histogram over
codes takes the place of a sort: which codes occur in a small node is read off a two-level bitmap,
in order. Rows that lack the value carry the code ``missing``.

Every criterion is a sum over the children: a split is worth score(left) + score(right), and lowers
impurity by ``(that - score(node)) / total weight``. Two kinds of statistics:

pair
    Weight and one sum: regression of one output, and two classes (the sum is class 1's weight; Gini
    is twice the variance of a 0/1 target).
slots
    Weight, then class weights or sums per output: everything else.

A search is one function on purpose: called once a node, and most nodes are tiny, so that handing a
dozen arrays from helper to helper would cost more than the work.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.exp import log64
from fastml.kernels.rng import draw

SQUARED = 0
"""s² / w per sum or class: squared error, Gini."""
ENTROPY = 1
POISSON = 2
ERROR = 3
"""Weight of the largest class."""

WORST = -1e300
INVALID = -2e300

# Positions in ``rules`` (integers).
MAX_DEPTH, MIN_SPLIT, MIN_LEAF, MAX_FEATURES, MAX_LEAVES = range(5)
CRITERION, IS_CLASS, CONSTRAINED = range(5, 8)
N_RULES = 8


class Split(NamedTuple):
    """``score`` is `INVALID` for a leaf; ``undivided`` the node's own; rows with codes up to
    ``code`` go left, those that lack the value if ``missing_left`` is 1 (2: none lacks it, the
    larger side); ``means`` of the two parts."""

    score: float
    undivided: float
    feature: int
    code: int
    threshold: float
    missing_left: int
    means: tuple


DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _bit_positions():
    table = np.zeros(64, dtype=np.uint8)
    for bit in range(64):
        table[((int(DE_BRUIJN) << bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = bit
    return table


BIT_POSITION = _bit_positions()
ONE = np.uint64(1)


@kernel
def lowest_bit(word):
    """Position of the lowest set bit of a uint64 that is not zero."""
    isolated = word & (~word + ONE)
    return np.intp(BIT_POSITION[(isolated * DE_BRUIJN) >> np.uint64(58)])


@kernel
def note_code(bits, upper_bits, code):
    """Put a code into the set: one bit of ``bits``, and one of ``upper_bits`` for its word."""
    bits[code >> 6] |= ONE << np.uint64(code & 63)
    upper_bits[code >> 12] |= ONE << np.uint64((code >> 6) & 63)


@kernel
def take_codes(bits, upper_bits, largest, codes):
    """The codes of the set, in order, into ``codes``; the set is empty afterwards."""
    n = 0
    for top in range((largest >> 12) + 1):
        above = upper_bits[top]
        upper_bits[top] = np.uint64(0)
        while above != np.uint64(0):
            word = 64 * top + lowest_bit(above)
            above &= above - ONE
            rest = bits[word]
            bits[word] = np.uint64(0)
            while rest != np.uint64(0):
                codes[n] = 64 * word + lowest_bit(rest)
                n += 1
                rest &= rest - ONE
    return n


# ---------------------------------------------------------------------------- criteria


@kernel
def x_log_x(x):
    if x <= 0.0:
        return 0.0
    return x * log64(x)


@kernel
def pair_score(weight, total, criterion):
    """score of a set of rows from its weight and sum; `WORST` if it may not exist."""
    if criterion == SQUARED:
        return total * total / weight
    if criterion == ENTROPY:
        return x_log_x(total) + x_log_x(weight - total) - x_log_x(weight)
    if criterion == POISSON:
        if total <= 0.0:
            return WORST
        return total * log64(total / weight)
    rest = weight - total
    if rest > total:
        return rest
    return total


@kernel
def slots_score(slots, offsets, is_class, criterion):
    """The same for a row of slots: the mean over outputs."""
    weight = slots[0]
    n_outputs = offsets.shape[0] - 1
    score = 0.0
    for o in range(n_outputs):
        if not is_class:
            part = pair_score(weight, slots[offsets[o]], criterion)
            if part == WORST:
                return WORST
            score += part
        elif criterion == SQUARED:
            squares = 0.0
            for k in range(offsets[o], offsets[o + 1]):
                squares += slots[k] * slots[k]
            score += squares / weight
        elif criterion == ENTROPY:
            for k in range(offsets[o], offsets[o + 1]):
                score += x_log_x(slots[k])
            score -= x_log_x(weight)
        else:
            largest = 0.0
            for k in range(offsets[o], offsets[o + 1]):
                if slots[k] > largest:
                    largest = slots[k]
            score += largest
    return score / n_outputs


# ---------------------------------------------------------------------------- searches


@kernel
def leaf_split():
    return Split(INVALID, 0.0, np.intp(0), np.intp(0), 0.0, np.intp(0), (0.0, 0.0))


@kernel
def midpoint(a, b):
    """Between two float32, as float64: a <= middle < b."""
    return 0.5 * np.float64(a) + 0.5 * np.float64(b)


@kernel
def search_pairs(
    codes,
    n_codes,
    low,
    high,
    y,
    signs,
    rules,
    state,
    features,
    weights,
    rows,
    stats,
    hist,
    counts,
    bits,
    upper_bits,
    occupied,
    least_weight,
    lower,
    upper,
):
    """Best split of the node of ``rows`` on pair statistics.

    Scratch: ``stats`` (rows, 2); all zero before and after: ``hist`` (codes, 2), ``counts``,
    ``bits``, ``upper_bits``. Means of children must lie within ``lower`` and ``upper``.
    """
    n = rows.shape[0]
    best = leaf_split()
    weight = 0.0
    total = 0.0
    differ = False
    y_first = y[rows[0], 0]
    for i in range(n):
        row = rows[i]
        w = weights[row]
        target = y[row, 0]
        stats[i, 0] = w
        stats[i, 1] = w * target
        weight += w
        total += w * target
        differ |= target != y_first
    if not differ or weight < 2.0 * least_weight:
        return best
    criterion = rules[CRITERION]
    least_rows = rules[MIN_LEAF]
    undivided = pair_score(weight, total, criterion)
    if undivided == WORST:
        return best
    n_features = features.shape[0]
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules[MAX_FEATURES] and any_varies:
            break
        feature = np.intp(draw(state, features, drawn))

        # The histogram, and which codes occur.
        missing = np.intp(n_codes[feature])
        n_occupied = 0
        if 4 * n < missing:
            for i in range(n):
                code = np.intp(codes[rows[i], feature])
                hist[code, 0] += stats[i, 0]
                hist[code, 1] += stats[i, 1]
                note_code(bits, upper_bits, code)
            n_occupied = take_codes(bits, upper_bits, missing, occupied)
        else:
            for i in range(n):
                code = np.intp(codes[rows[i], feature])
                hist[code, 0] += stats[i, 0]
                hist[code, 1] += stats[i, 1]
            for code in range(missing + 1):
                if hist[code, 0] > 0.0:
                    occupied[n_occupied] = code
                    n_occupied += 1
        if n_occupied < 2:
            hist[occupied[0], 0] = 0.0
            hist[occupied[0], 1] = 0.0
            continue
        any_varies = True
        if least_rows > 1:
            for i in range(n):
                counts[codes[rows[i], feature]] += 1

        # Sweep: missing values on the right (a cut before them counts too), then on the left.
        has_missing = occupied[n_occupied - 1] == missing
        n_present = n_occupied - 1 if has_missing else n_occupied
        for side in range(2 if has_missing else 1):
            left_weight = 0.0
            left_total = 0.0
            left_rows = 0
            last = n_present - 1
            if side == 1:
                left_weight = hist[missing, 0]
                left_total = hist[missing, 1]
                if least_rows > 1:
                    left_rows = counts[missing]
            elif has_missing:
                last = n_present
            for at in range(last):
                code = np.intp(occupied[at])
                left_weight += hist[code, 0]
                left_total += hist[code, 1]
                if least_rows > 1:
                    left_rows += counts[code]
                    if left_rows < least_rows or n - left_rows < least_rows:
                        continue
                right_weight = weight - left_weight
                if left_weight < least_weight or right_weight < least_weight:
                    continue
                right_total = total - left_total
                if criterion == SQUARED:
                    score = (
                        left_total * left_total * right_weight
                        + right_total * right_total * left_weight
                    ) / (left_weight * right_weight)
                else:
                    score = pair_score(left_weight, left_total, criterion)
                    score += pair_score(right_weight, right_total, criterion)
                if not score > best.score or score < 0.5 * WORST:
                    continue
                means = (left_total / left_weight, right_total / right_weight)
                if rules[CONSTRAINED] and (
                    (means[0] - means[1]) * signs[feature] > 0.0
                    or min(means[0], means[1]) < lower
                    or max(means[0], means[1]) > upper
                ):
                    continue
                if at + 1 < n_present:
                    threshold = midpoint(high[feature, code], low[feature, occupied[at + 1]])
                else:
                    threshold = np.inf
                missing_left = np.intp(side if has_missing else 2)
                best = Split(score, undivided, feature, code, threshold, missing_left, means)
        for at in range(n_occupied):
            code = occupied[at]
            hist[code, 0] = 0.0
            hist[code, 1] = 0.0
            if least_rows > 1:
                counts[code] = 0
    return best


@kernel
def add_row(slots, weight, y, row, offsets, is_class):
    """Add a row's weight and targets to slots."""
    slots[0] += weight
    if is_class:
        for o in range(y.shape[1]):
            slots[offsets[o] + np.intp(y[row, o])] += weight
    else:
        for o in range(y.shape[1]):
            slots[offsets[o]] += weight * y[row, o]


@kernel
def search_slots(
    codes,
    n_codes,
    low,
    high,
    y,
    offsets,
    rules,
    state,
    features,
    weights,
    rows,
    slots,
    hist,
    counts,
    bits,
    upper_bits,
    occupied,
    least_weight,
):
    """As `search_pairs` on slots; ``slots`` is scratch: of the node, left and right."""
    n = rows.shape[0]
    best = leaf_split()
    is_class = rules[IS_CLASS]
    node, left, right = slots[0], slots[1], slots[2]
    n_slots = node.shape[0]
    for k in range(n_slots):
        node[k] = 0.0
    differ = False
    for i in range(n):
        add_row(node, weights[rows[i]], y, rows[i], offsets, is_class)
        if not differ:
            for o in range(y.shape[1]):
                differ |= y[rows[i], o] != y[rows[0], o]
    if not differ or node[0] < 2.0 * least_weight:
        return best
    criterion = rules[CRITERION]
    least_rows = rules[MIN_LEAF]
    undivided = slots_score(node, offsets, is_class, criterion)
    if undivided == WORST:
        return best
    n_features = features.shape[0]
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules[MAX_FEATURES] and any_varies:
            break
        feature = np.intp(draw(state, features, drawn))

        missing = np.intp(n_codes[feature])
        for i in range(n):
            code = np.intp(codes[rows[i], feature])
            add_row(hist[code], weights[rows[i]], y, rows[i], offsets, is_class)
            note_code(bits, upper_bits, code)
        n_occupied = take_codes(bits, upper_bits, missing, occupied)
        if n_occupied > 1:
            any_varies = True
            if least_rows > 1:
                for i in range(n):
                    counts[codes[rows[i], feature]] += 1
            has_missing = occupied[n_occupied - 1] == missing
            n_present = n_occupied - 1 if has_missing else n_occupied
            for side in range(2 if has_missing else 1):
                left_rows = 0
                last = n_present - 1
                for k in range(n_slots):
                    left[k] = hist[missing, k] if side == 1 else 0.0
                if side == 1:
                    if least_rows > 1:
                        left_rows = counts[missing]
                elif has_missing:
                    last = n_present
                for at in range(last):
                    code = np.intp(occupied[at])
                    for k in range(n_slots):
                        left[k] += hist[code, k]
                        right[k] = node[k] - left[k]
                    if least_rows > 1:
                        left_rows += counts[code]
                        if left_rows < least_rows or n - left_rows < least_rows:
                            continue
                    if left[0] < least_weight or right[0] < least_weight:
                        continue
                    score = slots_score(left, offsets, is_class, criterion)
                    score += slots_score(right, offsets, is_class, criterion)
                    if not score > best.score or score < 0.5 * WORST:
                        continue
                    if at + 1 < n_present:
                        threshold = midpoint(high[feature, code], low[feature, occupied[at + 1]])
                    else:
                        threshold = np.inf
                    missing_left = np.intp(side if has_missing else 2)
                    best = Split(
                        score, undivided, feature, code, threshold, missing_left, (0.0, 0.0)
                    )
        for at in range(n_occupied):
            code = occupied[at]
            for k in range(n_slots):
                hist[code, k] = 0.0
            if least_rows > 1:
                counts[code] = 0
    return best
