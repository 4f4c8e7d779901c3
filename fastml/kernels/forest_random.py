"""The split of one node of an extra-tree: one random threshold for each feature drawn.

P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.forest_split import (
    CONSTRAINED,
    CRITERION,
    IS_CLASS,
    MAX_FEATURES,
    MIN_LEAF,
    WORST,
    Split,
    add_row,
    leaf_split,
    pair_score,
    slots_score,
)
from fastml.kernels.rng import draw, next_float, next_uint64


@kernel(fast_math=True)
def left_sums(values, stats, n, threshold):
    """Weight, weighted target and number of the rows whose value is not above the threshold."""
    weight, total, count = 0.0, 0.0, 0
    for i in range(n):
        goes_left = values[i] <= threshold
        weight += stats[i, 0] if goes_left else 0.0
        total += stats[i, 1] if goes_left else 0.0
        count += 1 if goes_left else 0
    return weight, total, count


@kernel
def search_random(
    columns,
    y,
    offsets,
    signs,
    rules,
    state,
    features,
    weights,
    rows,
    stats,
    slots,
    values,
    least_weight,
    lower,
    upper,
):
    """Best of the random splits of a node: on pairs if there are ``signs``, else on slots.

    ``columns`` holds the features by rows of the array: a node reads few of them.
    Scratch: ``stats`` (rows, 2), ``slots`` (3, slots), ``values`` (rows,).
    """
    n = rows.shape[0]
    best = leaf_split()
    is_class, criterion = rules[IS_CLASS], rules[CRITERION]
    node, left, right = slots[0], slots[1], slots[2]
    n_slots = node.shape[0]
    differ = False
    weight = 0.0
    total = 0.0
    undivided = 0.0
    if signs is not None:
        y_first = y[rows[0], 0]
        for i in range(n):
            w = weights[rows[i]]
            target = y[rows[i], 0]
            stats[i, 0] = w
            stats[i, 1] = w * target
            weight += w
            total += w * target
            differ |= target != y_first
        undivided = pair_score(weight, total, criterion)
    if offsets is not None:
        for k in range(n_slots):
            node[k] = 0.0
        for i in range(n):
            stats[i, 0] = weights[rows[i]]
            add_row(node, weights[rows[i]], y, rows[i], offsets, is_class)
            if not differ:
                for o in range(y.shape[1]):
                    differ |= y[rows[i], o] != y[rows[0], o]
        weight = node[0]
        undivided = slots_score(node, offsets, is_class, criterion)
    if not differ or weight < 2.0 * least_weight or undivided == WORST:
        return best
    n_features = features.shape[0]
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules[MAX_FEATURES] and any_varies:
            break
        feature = np.intp(draw(state, features, drawn))

        column = columns[feature]
        low = np.float32(np.inf)
        high = np.float32(-np.inf)
        n_missing = 0
        for i in range(n):
            value = column[rows[i]]
            values[i] = value
            low = value if value < low else low
            high = value if value > high else high
            n_missing += value != value
        if not low < high and (n_missing == 0 or n_missing == n):
            continue
        any_varies = True
        missing_left = np.intp(2)
        if n_missing > 0:
            missing_left = np.intp(next_uint64(state) & np.uint64(1))
        threshold = np.inf  # missing values against the others
        if low < high:
            step = next_float(state) * (np.float64(high) - np.float64(low))
            threshold = np.float64(low) + step
            if threshold >= high:
                threshold = np.float64(low)
        else:
            missing_left = np.intp(0)
        if missing_left == 1:  # otherwise NaN, never below a threshold, goes right by itself
            for i in range(n):
                values[i] = np.float32(-np.inf) if values[i] != values[i] else values[i]

        left_weight = 0.0
        left_total = 0.0
        n_left = 0
        if signs is not None:
            left_weight, left_total, n_left = left_sums(values, stats, n, threshold)
        if offsets is not None:
            for k in range(n_slots):
                left[k] = 0.0
            for i in range(n):
                if values[i] <= threshold:
                    add_row(left, stats[i, 0], y, rows[i], offsets, is_class)
                    n_left += 1
            for k in range(n_slots):
                right[k] = node[k] - left[k]
            left_weight = left[0]
        if n_left < rules[MIN_LEAF] or n - n_left < rules[MIN_LEAF]:
            continue
        right_weight = weight - left_weight
        if left_weight < least_weight or right_weight < least_weight:
            continue
        means = (left_total / left_weight, (total - left_total) / right_weight)
        score = 0.0
        if signs is not None:
            score = pair_score(left_weight, left_total, criterion)
            score += pair_score(right_weight, total - left_total, criterion)
            if rules[CONSTRAINED] and (
                (means[0] - means[1]) * signs[feature] > 0.0
                or min(means[0], means[1]) < lower
                or max(means[0], means[1]) > upper
            ):
                continue
        if offsets is not None:
            score = slots_score(left, offsets, is_class, criterion)
            score += slots_score(right, offsets, is_class, criterion)
        if not score > best.score or score < 0.5 * WORST:
            continue
        best = Split(score, undivided, feature, np.intp(0), threshold, missing_left, means)
    return best
