"""The split of one node of an extra-tree: one random threshold for each feature drawn.

P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine Learning 63 (2006).

Columns hold keys, integers in the order of the values (`presort.key_of`); missing values have the
greatest. Adding one to every key, modulo 2^32, makes theirs the least.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.forest.score import (
    WORST,
    Split,
    add_row,
    breaks_direction,
    cut_score,
    is_better,
    leaf_split,
    pair_score,
    slots_score,
    start_draws,
)
from fastml.kernels.numeric.rng import column_seed, draw, random_cut
from fastml.kernels.tree.nodes import ERROR
from fastml.kernels.tree.presort import MISSING_KEY, key_below, value_of

ABOVE = np.uint64(32)
ONE_32 = np.uint32(1)


@kernel
def key_range(keys, n):
    """The least key, the greatest that is not missing, and whether any is."""
    low = np.uint32(MISSING_KEY)
    high = np.uint32(0)
    above = np.uint32(0)
    for i in range(n):
        low = min(low, keys[i])
        high = max(high, keys[i])
        above = max(above, np.uint32(keys[i] + ONE_32))
    return low, np.uint32(above - ONE_32), high == np.uint32(MISSING_KEY)


@kernel(fast_math=True)
def left_sums(keys, weights, totals, n, cut, turn):
    """Weight, weighted target and number of the rows whose key plus ``turn`` is at most ``cut``."""
    weight, total, count = 0.0, 0.0, 0
    for i in range(n):
        goes_left = np.uint32(keys[i] + turn) <= cut
        weight += weights[i] if goes_left else 0.0
        total += totals[i] if goes_left else 0.0
        count += 1 if goes_left else 0
    return weight, total, count


@kernel
def search_random(frame, offsets, signs, rules, rows, scratch, lower, upper):
    """Best of the random splits of the node of ``rows``, a `Split`; writes only to ``scratch``,
    whose ``state`` holds the node's seed.

    On pairs if there are ``signs`` (see `split.search_pairs`), else on slots.
    """
    columns, y, weights = frame.columns, frame.y, frame.weights
    keys, own_weights, totals = scratch.keys, scratch.pairs[0], scratch.pairs[1]
    n = rows.shape[0]
    best = leaf_split()
    criterion, least_weight = rules.criterion, rules.min_weight
    is_class = criterion <= ERROR
    node, left, right = scratch.slots[0], scratch.slots[1], scratch.slots[2]
    n_slots = node.shape[0]
    differ = False
    weight = 0.0
    total = 0.0
    undivided = 0.0
    if signs is not None:
        y_first = y[0, rows[0]]
        for i in range(n):
            w = weights[rows[i]]
            target = y[0, rows[i]]
            own_weights[i] = w
            totals[i] = w * target
            weight += w
            total += w * target
            differ |= target != y_first
        undivided = pair_score(weight, total, criterion)
    if offsets is not None:
        for k in range(n_slots):
            node[k] = 0.0
        for i in range(n):
            own_weights[i] = weights[rows[i]]
            add_row(node, own_weights[i], y, rows[i], offsets, is_class)
            if not differ:
                for o in range(y.shape[0]):
                    differ |= y[o, rows[i]] != y[o, rows[0]]
        weight = node[0]
        undivided = slots_score(node, offsets, criterion)
    if not differ or weight < 2.0 * least_weight or undivided == WORST:
        return best
    n_features = columns.shape[0]
    seed = start_draws(scratch.state, scratch.features)
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules.max_features and any_varies:
            break
        feature = np.intp(draw(scratch.state, scratch.features, drawn))

        for i in range(n):
            keys[i] = columns[feature, rows[i]]
        low, high, any_missing = key_range(keys, n)
        if low == high if not any_missing else low == np.uint32(MISSING_KEY):
            continue
        any_varies = True
        least = np.float64(value_of(np.uint64(low) << ABOVE))
        threshold = least
        missing_left = np.intp(0)  # missing values against the others
        if low < high:
            greatest = np.float64(value_of(np.uint64(high) << ABOVE))
            own = column_seed(seed, feature)  # as in node_split.search_column
            threshold = random_cut(column_seed(own, 0), least, greatest)
            missing_left = np.intp(2)
            if any_missing:
                missing_left = np.intp(own & np.uint64(1))
        cut = np.uint32(key_below(threshold))
        turn = np.uint32(missing_left == 1)

        left_weight = 0.0
        left_total = 0.0
        n_left = 0
        if signs is not None:
            left_weight, left_total, n_left = left_sums(
                keys, own_weights, totals, n, np.uint32(cut + turn), turn
            )
        if offsets is not None:
            for k in range(n_slots):
                left[k] = 0.0
            for i in range(n):
                if np.uint32(keys[i] + turn) <= np.uint32(cut + turn):
                    add_row(left, own_weights[i], y, rows[i], offsets, is_class)
                    n_left += 1
            for k in range(n_slots):
                right[k] = node[k] - left[k]
            left_weight = left[0]
        if n_left < rules.min_leaf or n - n_left < rules.min_leaf:
            continue
        right_weight = weight - left_weight
        if left_weight < least_weight or right_weight < least_weight:
            continue
        means = (left_total / left_weight, (total - left_total) / right_weight)
        score = 0.0
        if signs is not None:
            score = cut_score(left_weight, left_total, right_weight, total - left_total, criterion)
            if breaks_direction(signs[feature], lower, upper, means):
                continue
        if offsets is not None:
            score = slots_score(left, offsets, criterion)
            score += slots_score(right, offsets, criterion)
        if not is_better(score, feature, best, seed):
            continue
        best = Split(score, undivided, feature, np.intp(cut), threshold, missing_left, means)
    return best
