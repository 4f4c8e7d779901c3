"""One node: its statistics, the columns to search, the best split, the sides of its rows.

What is compiled depends on the target: ``classes`` (class codes) or ``values``, the other one None;
``places`` only for absolute error; ``several`` only for more than one output. A branch on an
argument that is None is not compiled.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.categorical_split import group_by_category
from fastml.kernels.exact_split import ROW, scan_classes, scan_means, scan_outputs
from fastml.kernels.exp import log64
from fastml.kernels.median_split import scan_medians, weighted_median
from fastml.kernels.presort import MISSING_KEY, value_of
from fastml.kernels.rng import column_seed, draw, random_cut, wins_tie
from fastml.kernels.tree_nodes import POISSON, class_impurity

EPSILON = 2.220446049250313e-16


class Rules(NamedTuple):
    """When and how nodes are split."""

    criterion: int
    random: bool  # one random threshold per column instead of the best
    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_decrease: float
    max_features: int
    monotonic: bool
    unit: bool  # all weights are one
    keep_values: bool  # of inner nodes too: medians and clipped values
    n_classes: int  # columns per output: the most classes, 1 for regression
    whole: float  # weight of all rows


class Rows(NamedTuple):
    """The training rows in order; a row index means the same in all of them."""

    orders: np.ndarray  # (n_features [+ n_outputs], n) entries; targets' own orders come last
    rows: np.ndarray  # (n,) int32
    weights: np.ndarray  # (n,)
    signs: np.ndarray  # (n_features,) int8, monotonic constraints
    n_categories: np.ndarray  # (n_features,) 0 for numbers
    sides: np.ndarray  # (n,) uint8, scratch: 1 = goes left


@kernel
def node_statistics(start, end, data, rules, classes, values, places, total):
    """Fill ``total`` (per output class weights, sum or median); weight and impurity of the node."""
    rows, weights = data.rows[start:end], data.weights
    n = end - start
    weight = 0.0
    for p in range(n):
        weight += weights[rows[p]]
    impurity = 0.0
    for j in range(total.shape[0]):
        total[j] = 0.0
    if classes is not None:
        for o in range(classes.shape[0]):
            first = o * rules.n_classes
            for p in range(n):
                total[first + classes[o, rows[p]]] += weights[rows[p]]
            last = first + rules.n_classes
            impurity += class_impurity(total, first, last, rules.criterion, weight)
        return weight, impurity / classes.shape[0]
    if values is not None:
        for o in range(values.shape[0]):
            loss = 0.0
            if places is not None:
                ys, ws = np.empty(n), np.empty(n)
                targets = data.orders[data.signs.shape[0] + o, start:end]
                for p in range(n):
                    row = np.intp(targets[p] & ROW)
                    ys[p], ws[p] = values[o, row], weights[row]
                total[o], loss = weighted_median(ys, ws)
            else:
                for p in range(n):
                    total[o] += weights[rows[p]] * values[o, rows[p]]
                mean = total[o] / weight
                if rules.criterion == POISSON:
                    if total[o] <= 10 * EPSILON:
                        return weight, np.inf
                    for p in range(n):
                        y = values[o, rows[p]]
                        if y > 0.0:
                            loss += weights[rows[p]] * y * log64(y / mean)
                else:
                    for p in range(n):
                        gap = values[o, rows[p]] - mean
                        loss += weights[rows[p]] * gap * gap
            impurity += loss / weight
        impurity /= values.shape[0]
    return weight, impurity


@kernel
def _can_be_split(first, last):
    """Whether entries from ``first`` to ``last``, in order, hold more than one value."""
    if (first >> np.uint64(32)) == (last >> np.uint64(32)):
        return False
    if (last >> np.uint64(32)) == np.uint64(MISSING_KEY):
        return True
    return value_of(last) > value_of(first) + np.float32(1e-7)


@kernel
def draw_columns(start, end, orders, n_features, max_features, seed, columns):
    """Columns to search, drawn as in scikit-learn: constants count unless only they are found."""
    n_found, n_seen = 0, 0
    if max_features >= n_features:
        for f in range(n_features):
            if _can_be_split(orders[f, start], orders[f, end - 1]):
                columns[n_found] = f
                n_found += 1
        return n_found
    state = np.empty(1, np.uint64)
    state[0] = ~seed  # the stream of seed itself decides ties (`choose`)
    pool = np.empty(n_features, np.intp)
    for f in range(n_features):
        pool[f] = f
    while n_seen < n_features and (n_seen < max_features or n_found == 0):
        draw(state, pool, n_seen)
        f = pool[n_seen]
        n_seen += 1
        if _can_be_split(orders[f, start], orders[f, end - 1]):
            columns[n_found] = f
            n_found += 1
    return n_found


@kernel
def count_present(entries):
    """Entries that have a value: missing ones are last."""
    low, high = 0, entries.shape[0]
    if (entries[high - 1] >> np.uint64(32)) != np.uint64(MISSING_KEY):
        return high
    while low < high:
        middle = (low + high) >> 1
        if (entries[middle] >> np.uint64(32)) == np.uint64(MISSING_KEY):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def target_lists(start, end, orders, n_features, values, weights, places, ys, ws):
    """Absolute error: the node's targets ascending, their weights, and every row's place."""
    for o in range(values.shape[0]):
        for p in range(start, end):
            row = np.intp(orders[n_features + o, p] & ROW)
            places[o, row] = p - start
            ys[o, p - start], ws[o, p - start] = values[o, row], weights[row]


@kernel
def scan(
    entries, m, first, last, missing_left, total, limits, weights, rules, sign, bounds,
    classes, values, places, several, ys, ws, scratch,
):  # fmt: skip
    """Best split of entries in order, by the criterion: (score, p)."""
    score, at = -np.inf, -1
    if places is not None:
        score, at = scan_medians(
            entries, m, first, last, missing_left, limits, weights, rules.unit, places, ys, ws,
            sign, bounds,
        )  # fmt: skip
    else:
        n_columns = total.shape[0]
        base, left, right = scratch[0], scratch[1, :n_columns], scratch[2, :n_columns]
        n_base = missing_sums(
            entries, m, missing_left, weights, rules.n_classes, classes, values, base
        )
        if several is not None:
            score, at = scan_outputs(
                entries, m, first, last, base, total, n_base, limits, classes, values, weights,
                rules.unit, rules.criterion, rules.n_classes, left, right,
            )  # fmt: skip
        else:
            if classes is not None:
                score, at = scan_classes(
                    entries, m, first, last, base, total, n_base, limits, classes[0], weights,
                    rules.unit, rules.criterion, sign, bounds, left, right,
                )  # fmt: skip
            if values is not None:
                score, at = scan_means(
                    entries, m, first, last, base, total, n_base, limits, values[0], weights,
                    rules.unit, rules.criterion, sign, bounds,
                )  # fmt: skip
    return score, at


@kernel
def missing_sums(entries, m, missing_left, weights, n_classes, classes, values, base):
    """What missing rows bring to the left: class weights or sums, then weight; their number."""
    for j in range(base.shape[0]):
        base[j] = 0.0
    n, last = entries.shape[0], base.shape[0] - 1
    if not missing_left:
        return 0
    for q in range(m, n):
        row = np.intp(entries[q] & ROW)
        w = weights[row]
        base[last] += w
        if classes is not None:
            for o in range(classes.shape[0]):
                base[o * n_classes + classes[o, row]] += w
        if values is not None:
            for o in range(values.shape[0]):
                base[o] += w * values[o, row]
    return n - m


@kernel
def search_column(
    entries, own_seed, sign, categorical, rules, weights, total, limits, bounds, classes,
    values, places, several, ys, ws, found, scratch,
):  # fmt: skip
    """Best split of a column: found = (score, p, missing left, threshold, class of the order)."""
    n = entries.shape[0]
    m = count_present(entries)
    found[0] = -np.inf
    n_orders = 1
    grouped = entries
    if categorical:
        grouped = np.empty(n, np.uint64)
        if rules.n_classes > 2:
            n_orders = rules.n_classes
    coin = (own_seed & np.uint64(1)) != 0
    for order in range(n_orders):
        if categorical:
            k = order if n_orders > 1 else rules.n_classes - 1
            group_by_category(entries, m, k, classes, values, weights, grouped)
        first, last, cut = 1, m - 1, 0.0
        if rules.random and m > 0:
            bits = column_seed(own_seed, order)
            cut = random_cut(bits, value_of(grouped[0]), value_of(grouped[m - 1]))
            first = 1
            while first < m and np.float64(value_of(grouped[first])) <= cut:
                first += 1
            last = first
        for turn in range(2 if m < n else 1):
            missing_left = turn == 1
            if rules.random and m < n and m > 0 and last < m and missing_left != coin:
                continue
            end_at = last
            if not rules.random and not missing_left and m < n:
                end_at = m
            if missing_left and end_at >= m:
                continue
            score, p = scan(
                grouped, m, first, end_at, missing_left, total, limits, weights, rules, sign,
                bounds, classes, values, places, several, ys, ws, scratch,
            )  # fmt: skip
            if score > found[0]:
                found[0], found[1], found[2] = score, p, 1.0 if missing_left else 0.0
                found[4] = order
                if rules.random and not categorical:
                    found[3] = cut
                elif p >= m:
                    found[3] = np.inf
                elif not categorical:
                    a, b = np.float64(value_of(entries[p - 1])), np.float64(value_of(entries[p]))
                    middle = a / 2.0 + b / 2.0
                    found[3] = a if middle == b or abs(middle) == np.inf else middle


@kernel
def choose(n_found, columns, found, seed):
    """Index of the best result; equal scores go by a hash of seed and column."""
    best = -1
    for j in range(n_found):
        if found[j, 0] == -np.inf:
            continue
        if best < 0 or found[j, 0] > found[best, 0]:
            best = j
        elif found[j, 0] == found[best, 0]:
            if wins_tie(seed, columns[j], columns[best]):
                best = j
    return best


@kernel
def mark_sides(entries, categorical, result, n_classes, weights, classes, values, sides):
    """sides[row] = 1 for rows of the node that go left; the number of them."""
    m = count_present(entries)
    p, missing_left = np.intp(result[1]), result[2] > 0.0
    if categorical:
        grouped = np.empty(entries.shape[0], np.uint64)
        k = np.intp(result[4]) if n_classes > 2 else n_classes - 1
        group_by_category(entries, m, k, classes, values, weights, grouped)
        entries = grouped
    for i in range(m):
        sides[np.intp(entries[i] & ROW)] = 1 if i < p else 0
    for i in range(m, entries.shape[0]):
        sides[np.intp(entries[i] & ROW)] = 1 if missing_left else 0
    return p + (entries.shape[0] - m if missing_left else 0)


@kernel
def first_value(total, weight, places):
    """What monotonic constraints bound: the first class's share, the mean or the median."""
    return total[0] if places is not None else total[0] / weight


@kernel
def judge(start, middle, end, weight, impurity, data, rules, classes, values, places, total):
    """After a split: its decrease of impurity and the middle of the children's values."""
    weight_left, left = node_statistics(start, middle, data, rules, classes, values, places, total)
    a = first_value(total, weight_left, places)
    weight_right, right = node_statistics(middle, end, data, rules, classes, values, places, total)
    b = first_value(total, weight_right, places)
    within = weight_left / weight * left + weight_right / weight * right
    return weight / rules.whole * (impurity - within), 0.5 * (a + b)


@kernel
def is_final(n, depth, weight, impurity, rules):
    """Whether a node is a leaf before any search."""
    return (
        depth >= rules.max_depth
        or n < rules.min_split
        or n < 2 * rules.min_leaf
        or weight < 2.0 * rules.min_weight
        or impurity <= EPSILON
    )


@kernel
def split_node(
    start, end, seed, weight, total, bounds, data, rules, classes, values, places, several,
    columns, found, limits, scratch,
):  # fmt: skip
    """Search columns and mark the sides: (index into columns or -1, rows that go left)."""
    n, n_features = end - start, data.signs.shape[0]
    limits[0], limits[1], limits[2] = rules.min_leaf, rules.min_weight, weight
    ys, ws = found, found  # not looked at without places
    if places is not None:
        ys, ws = np.empty((values.shape[0], n)), np.empty((values.shape[0], n))
        target_lists(start, end, data.orders, n_features, values, data.weights, places, ys, ws)
    n_found = draw_columns(start, end, data.orders, n_features, rules.max_features, seed, columns)
    for j in range(n_found):
        f = columns[j]
        search_column(
            data.orders[f, start:end], column_seed(seed, f), data.signs[f],
            data.n_categories[f] > 0, rules, data.weights, total, limits, bounds, classes, values,
            places, several, ys, ws, found[j], scratch,
        )  # fmt: skip
    best = choose(n_found, columns, found, seed)
    if best < 0:
        return -1, 0
    f = columns[best]
    n_left = mark_sides(
        data.orders[f, start:end], data.n_categories[f] > 0, found[best], rules.n_classes,
        data.weights, classes, values, data.sides,
    )  # fmt: skip
    return best, n_left
