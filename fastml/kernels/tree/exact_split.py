"""The best threshold of one column at one node, from its entries in order.

A split at p sends the first p entries of a column left. Every scan returns ``(score, p)``; a higher
score is better, -inf means no split, and of equal scores the first counts. Scores leave out what
does not depend on p. Scans read the column, the rows and what is known of the node, and write
only the scratch ``left`` and ``right`` of the search.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import log64
from fastml.kernels.tree.nodes import ENTROPY, ERROR, GINI, LN2, POISSON, sum_of_quotients
from fastml.kernels.tree.presort import value_of

CLOSEST = np.float32(1e-7)
"""No threshold lies between values closer than this (scikit-learn's rule)."""

ROW = np.uint64(0xFFFFFFFF)
BELOW = np.uint64(1 << 32)
"""Two entries differ by less than this, bit for bit, if their values are equal."""

POISSON_LEAST = 10 * 2.220446049250313e-16
"""A side whose sum of targets is not above this has no Poisson score."""


class GrowthRules(NamedTuple):
    """When and how the nodes of an exact tree are split."""

    criterion: int  # GINI ... ABSOLUTE_ERROR of `nodes`
    random: bool = False  # one random threshold per column instead of the best
    max_depth: int = 2**31 - 1
    min_split: int = 2  # rows of a node that is split
    min_leaf: int = 1  # rows of a leaf
    min_weight: float = 0.0  # weight of a leaf
    min_decrease: float = 0.0  # of the impurity, by a split
    max_features: int = 2**31 - 1  # columns that a node looks at; more than there are means all
    max_leaves: int = 0  # 0 means any number


class SortedRows(NamedTuple):
    """The training rows, with every column in order; a row index means the same in all arrays.

    The rows of a node are the range [start, end) of ``rows`` and of every row of ``orders``.
    """

    orders: np.ndarray  # (n_features [+ n_outputs], n) entries; the targets' own orders come last
    rows: np.ndarray  # (n,) int32
    weights: np.ndarray  # by row
    signs: np.ndarray  # (n_features,) int8, monotonic constraints
    n_categories: np.ndarray  # (n_features,) 0 for numbers
    sides: np.ndarray  # by row, uint8, written: 1 = goes left
    n_classes: int  # columns per output: the most classes, 1 for regression
    unit: bool  # all weights are one
    whole: float  # weight of all rows
    monotonic: bool  # some sign is not zero


class Column(NamedTuple):
    """One column at one node, and where it may be split."""

    entries: np.ndarray  # ascending; those without a value come last
    m: int  # entries with a value
    first: int  # the splits to try: first, ..., last
    last: int
    missing_left: bool  # entries without a value go left
    sign: int  # monotonic constraint


class Search(NamedTuple):
    """What the search for a node's split reads and works in.

    Sums are class weights, or targets times weights, of every output side by side.
    """

    bounds: np.ndarray  # (2,) what monotonic constraints allow as values of the children
    total: np.ndarray  # sums of the node (absolute error: medians instead)
    columns: np.ndarray  # (n_features,) written: the columns to look at
    found: np.ndarray  # (n_features, 5) written, per column looked at: score, p, whether missing
    # values go left, threshold, class by whose share categories are sorted
    base: np.ndarray  # scratch: sums of rows without a value that go left, then their weight
    left: np.ndarray  # scratch: sums of one side
    right: np.ndarray  # scratch


@kernel
def apart(lower, upper):
    """Whether a threshold may lie between two entries."""
    return value_of(upper) > value_of(lower) + CLOSEST


@kernel
def respects(sign, bounds, left, right):
    """Whether the values of two children keep a monotonic constraint, and the bounds that those
    above them set."""
    lower, upper = bounds[0], bounds[1]
    if left < lower or left > upper or right < lower or right > upper:
        return False
    return (left - right) * sign <= 0.0


@kernel
def scan_classes(column, data, rules, classes, weight, search):
    """Best split by Gini, entropy or error rate of one output; ``weight`` is the node's. ``search``
    is read, and written as scratch."""
    entries, m, weights, unit = column.entries, column.m, data.weights, data.unit
    base, total, left, right = search.base, search.total, search.left, search.right
    n, n_classes, criterion = entries.shape[0], total.shape[0], rules.criterion
    n_base = n - m if column.missing_left else 0
    squares_left, squares_right, weight_left = 0.0, 0.0, 0.0
    for k in range(n_classes):
        left[k] = base[k]
        right[k] = total[k] - base[k]
        weight_left += left[k]
        squares_left += left[k] * left[k]
        squares_right += right[k] * right[k]
    best, best_at = -np.inf, -1
    for p in range(1, column.last + 1):
        row = np.uint64(entries[p - 1] & ROW)
        k = classes[row]
        w = 1.0 if unit else weights[row]
        before_left, before_right = left[k], right[k]
        left[k] = before_left + w
        right[k] = before_right - w
        squares_left += w * (2.0 * before_left + w)
        squares_right += w * (w - 2.0 * before_right)
        weight_left += w
        if p < column.first or (p < m and (entries[p] ^ entries[p - 1]) < BELOW):
            continue
        n_left = n_base + p
        weight_right = weight - weight_left
        if n_left < rules.min_leaf or n - n_left < rules.min_leaf:
            continue
        if weight_left < rules.min_weight or weight_right < rules.min_weight:
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
            if column.sign != 0:
                a, b = left[0] / weight_left, right[0] / weight_right
                if not respects(column.sign, search.bounds, a, b):
                    continue
            best, best_at = score, p
    return best, best_at


@kernel
def scan_means(column, data, rules, values, weight, search):
    """Best split by squared error or Poisson deviance of one output; ``weight`` is the node's.
    ``search`` is only read."""
    entries, m, weights, unit = column.entries, column.m, data.weights, data.unit
    n, criterion = entries.shape[0], rules.criterion
    n_base = n - m if column.missing_left else 0
    sum_left, weight_left = search.base[0], search.base[1]
    whole = search.total[0]
    best, best_at = -np.inf, -1
    for p in range(1, column.last + 1):
        row = np.uint64(entries[p - 1] & ROW)
        w = 1.0 if unit else weights[row]
        sum_left += w * values[row]
        weight_left += w
        if p < column.first or (p < m and (entries[p] ^ entries[p - 1]) < BELOW):
            continue
        n_left = n_base + p
        weight_right = weight - weight_left
        if n_left < rules.min_leaf or n - n_left < rules.min_leaf:
            continue
        if weight_left < rules.min_weight or weight_right < rules.min_weight:
            continue
        sum_right = whole - sum_left
        if criterion == POISSON:
            least = POISSON_LEAST + 1e-13 * whole  # sum_right is a difference
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
            if column.sign != 0:
                a, b = sum_left / weight_left, sum_right / weight_right
                if not respects(column.sign, search.bounds, a, b):
                    continue
            best, best_at = score, p
    return best, best_at


@kernel
def scan_plain_means(f, node, orders, values, min_leaf, whole):
    """Best split of column f by squared error of one output; ``whole`` is the sum of its values.

    The same bits as `scan_means` of weights of one, every value present, no constraint. Most nodes
    are so small that slices of the arrays would take longer than the scan.
    """
    start, n = node.start, node.end - node.start
    first, last = max(1, min_leaf), min(n - 1, n - min_leaf)
    sum_left, weight = 0.0, np.float64(n)
    best, best_at = -np.inf, -1
    following = orders[f, start]
    for p in range(1, last + 1):
        entry, following = following, orders[f, start + p]
        sum_left += values[0, np.uint64(entry & ROW)]
        if p < first or (following ^ entry) < BELOW:
            continue
        weight_left = np.float64(p)
        sum_right = whole - sum_left
        score = sum_of_quotients(
            sum_left * sum_left, weight_left, sum_right * sum_right, weight - weight_left
        )
        if score > best and apart(entry, following):
            best, best_at = score, p
    return best, best_at


@kernel
def scan_outputs(column, data, rules, classes, values, weight, search):
    """Best split of several outputs by any criterion but absolute error: the mean over the outputs.

    Of ``classes`` and ``values`` one is None; ``weight`` is the node's. ``search`` is read, and
    written as scratch.
    """
    entries, m, weights, unit = column.entries, column.m, data.weights, data.unit
    base, total, left, right = search.base, search.total, search.left, search.right
    n, n_columns, n_classes = entries.shape[0], total.shape[0], data.n_classes
    n_base = n - m if column.missing_left else 0
    n_outputs = n_columns // n_classes
    for j in range(n_columns):
        left[j] = base[j]
    weight_left = base[n_columns]
    best, best_at = -np.inf, -1
    for p in range(1, column.last + 1):
        row = np.intp(entries[p - 1] & ROW)
        w = 1.0 if unit else weights[row]
        weight_left += w
        if classes is not None:
            for o in range(n_outputs):
                left[o * n_classes + classes[o, row]] += w
        if values is not None:
            for o in range(n_outputs):
                left[o] += w * values[o, row]
        if p < column.first or (p < m and not apart(entries[p - 1], entries[p])):
            continue
        n_left = n_base + p
        weight_right = weight - weight_left
        if n_left < rules.min_leaf or n - n_left < rules.min_leaf:
            continue
        if weight_left < rules.min_weight or weight_right < rules.min_weight:
            continue
        for j in range(n_columns):
            right[j] = total[j] - left[j]
        score = side_score(left, weight_left, n_classes, rules.criterion)
        score += side_score(right, weight_right, n_classes, rules.criterion)
        if score > best:
            best, best_at = score, p
    return best, best_at


@kernel
def side_score(sums, weight, n_classes, criterion):
    """What the ``sums`` of one side, all outputs, add to the score."""
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
                if sums[j] <= POISSON_LEAST:
                    return -np.inf
                score += sums[j] * log64(sums[j] / weight)
            else:
                score += sums[j] * sums[j] / weight
        score += most
    return score
