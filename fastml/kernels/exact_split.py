"""The best threshold of one column at one node, from its entries in order; one output.

``entries[:m]`` are the node's entries with a value, ascending; a split at p sends the first p of
them left. ``base`` holds what is on the left already (rows with a missing value, or nothing). Every
function returns ``(score, p)``; a higher score is better, -inf means no split, and of equal scores
the first counts. Scores leave out what does not depend on p.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.exp import log64
from fastml.kernels.presort import value_of
from fastml.kernels.tree_nodes import ENTROPY, ERROR, GINI, LN2, POISSON, sum_of_quotients

CLOSEST = np.float32(1e-7)
"""Values closer than this are not told apart (scikit-learn's rule)."""

ROW = np.uint64(0xFFFFFFFF)
BELOW = np.uint64(1 << 32)
"""Two entries differ by less than this, bit for bit, if their values are equal."""

EPSILON = 10 * 2.220446049250313e-16


@kernel
def apart(lower, upper):
    """Whether a threshold may lie between two entries."""
    return value_of(upper) > value_of(lower) + CLOSEST


@kernel
def respects(sign, lower, upper, left, right):
    """Whether child values keep a monotonic constraint and the bounds from above."""
    if left < lower or left > upper or right < lower or right > upper:
        return False
    return (left - right) * sign <= 0.0


@kernel
def scan_classes(
    entries, m, first, last, base, total, n_base, limits, classes, weights, unit, criterion,
    sign, bounds, left, right,
):  # fmt: skip
    """Gini, entropy and error rate of one output; ``limits`` = (min_leaf, min_weight, weight)."""
    n_classes = total.shape[0]
    n, min_leaf, min_weight, weight = entries.shape[0], limits[0], limits[1], limits[2]
    squares_left, squares_right, weight_left = 0.0, 0.0, 0.0
    for k in range(n_classes):
        left[k] = base[k]
        right[k] = total[k] - base[k]
        weight_left += left[k]
        squares_left += left[k] * left[k]
        squares_right += right[k] * right[k]
    best, best_at = -np.inf, -1
    for p in range(1, last + 1):
        row = np.uint64(entries[p - 1] & ROW)
        k = classes[row]
        w = 1.0 if unit else weights[row]
        before_left, before_right = left[k], right[k]
        left[k] = before_left + w
        right[k] = before_right - w
        squares_left += w * (2.0 * before_left + w)
        squares_right += w * (w - 2.0 * before_right)
        weight_left += w
        if p < first or (p < m and (entries[p] ^ entries[p - 1]) < BELOW):
            continue
        n_left = n_base + p
        weight_right = weight - weight_left
        if n_left < min_leaf or n - n_left < min_leaf:
            continue
        if weight_left < min_weight or weight_right < min_weight:
            continue
        if criterion == GINI:
            score = sum_of_quotients(squares_left, weight_left, squares_right, weight_right)
        elif criterion == ENTROPY:
            score = -weight_left * log64(weight_left) - weight_right * log64(weight_right)
            for j in range(n_classes):
                if left[j] > 0.0:
                    score += left[j] * log64(left[j])
                if right[j] > 0.0:
                    score += right[j] * log64(right[j])
        else:
            most_left, most_right = 0.0, 0.0
            for j in range(n_classes):
                most_left = max(most_left, left[j])
                most_right = max(most_right, right[j])
            score = most_left + most_right
        if score > best:
            if p < m and not apart(entries[p - 1], entries[p]):
                continue
            if sign != 0:
                a, b = left[0] / weight_left, right[0] / weight_right
                if not respects(sign, bounds[0], bounds[1], a, b):
                    continue
            best, best_at = score, p
    return best, best_at


@kernel
def scan_means(
    entries, m, first, last, base, total, n_base, limits, values, weights, unit, criterion,
    sign, bounds,
):  # fmt: skip
    """Squared error and Poisson deviance of one output.

    ``base`` = (sum, weight) of what is left already, ``total`` the sum of the node.
    """
    n, min_leaf, min_weight, weight = entries.shape[0], limits[0], limits[1], limits[2]
    sum_left, weight_left = base[0], base[1]
    whole = total[0]
    best, best_at = -np.inf, -1
    for p in range(1, last + 1):
        row = np.uint64(entries[p - 1] & ROW)
        w = 1.0 if unit else weights[row]
        sum_left += w * values[row]
        weight_left += w
        if p < first or (p < m and (entries[p] ^ entries[p - 1]) < BELOW):
            continue
        n_left = n_base + p
        weight_right = weight - weight_left
        if n_left < min_leaf or n - n_left < min_leaf:
            continue
        if weight_left < min_weight or weight_right < min_weight:
            continue
        sum_right = whole - sum_left
        if criterion == POISSON:
            least = EPSILON + 1e-13 * whole  # sum_right is a difference
            if sum_left <= least or sum_right <= least:
                continue
            score = sum_left * log64(sum_left / weight_left)
            score += sum_right * log64(sum_right / weight_right)
        else:
            score = sum_of_quotients(
                sum_left * sum_left, weight_left, sum_right * sum_right, weight_right
            )
        if score > best:
            if p < m and not apart(entries[p - 1], entries[p]):
                continue
            if sign != 0 and not respects(
                sign, bounds[0], bounds[1], sum_left / weight_left, sum_right / weight_right
            ):
                continue
            best, best_at = score, p
    return best, best_at


@kernel
def scan_outputs(
    entries, m, first, last, base, total, n_base, limits, classes, values, weights, unit,
    criterion, n_classes, left, right,
):  # fmt: skip
    """Every criterion of several outputs but absolute error: the mean over the outputs.

    ``base`` and ``total`` hold per output the class weights or the sum; base's last is its weight.
    """
    n, min_leaf, min_weight, weight = entries.shape[0], limits[0], limits[1], limits[2]
    n_columns = total.shape[0]
    n_outputs = n_columns // n_classes
    for j in range(n_columns):
        left[j] = base[j]
    weight_left = base[n_columns]
    best, best_at = -np.inf, -1
    for p in range(1, last + 1):
        row = np.intp(entries[p - 1] & ROW)
        w = 1.0 if unit else weights[row]
        weight_left += w
        if classes is not None:
            for o in range(n_outputs):
                left[o * n_classes + classes[o, row]] += w
        if values is not None:
            for o in range(n_outputs):
                left[o] += w * values[o, row]
        if p < first or (p < m and not apart(entries[p - 1], entries[p])):
            continue
        n_left = n_base + p
        weight_right = weight - weight_left
        if n_left < min_leaf or n - n_left < min_leaf:
            continue
        if weight_left < min_weight or weight_right < min_weight:
            continue
        for j in range(n_columns):
            right[j] = total[j] - left[j]
        score = side_score(left, weight_left, n_classes, criterion)
        score += side_score(right, weight_right, n_classes, criterion)
        if score > best:
            best, best_at = score, p
    return best, best_at


@kernel
def side_score(sums, weight, n_classes, criterion):
    """What one side adds to the score: all outputs."""
    score = 0.0
    for first in range(0, sums.shape[0], n_classes):
        most = 0.0
        for j in range(first, first + n_classes):
            if criterion == ENTROPY:
                if sums[j] > 0.0:
                    score += sums[j] * log64(sums[j] / weight) / LN2
            elif criterion == ERROR:
                most = max(most, sums[j])
            elif criterion == POISSON:
                if sums[j] <= EPSILON:
                    return -np.inf
                score += sums[j] * log64(sums[j] / weight)
            else:
                score += sums[j] * sums[j] / weight
        score += most
    return score
