"""One node: its statistics, the columns to search, the best split, the sides of its rows.

What is compiled depends on the target: ``classes`` (class codes) or ``values``, the other one None;
``lists`` (`TargetLists`) for absolute error and None otherwise; ``several`` (any array) for more
than one output and None otherwise. A branch on an argument that is None is not compiled.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.numeric.exp import log64
from fastml.kernels.numeric.rng import column_seed, draw, random_cut, wins_tie
from fastml.kernels.tree.categorical_split import group_by_category
from fastml.kernels.tree.exact_split import (
    ROW,
    Column,
    scan_classes,
    scan_means,
    scan_outputs,
    scan_plain_means,
)
from fastml.kernels.tree.median_split import scan_medians, weighted_median
from fastml.kernels.tree.nodes import POISSON, class_impurity
from fastml.kernels.tree.presort import MISSING_KEY, value_of

EPSILON = 2.220446049250313e-16


class OpenNode(NamedTuple):
    """A node that may be split: its range of rows, the seed of its choices, its weight."""

    start: int
    end: int
    seed: int  # uint64
    weight: float


@kernel
def node_statistics(start, end, data, rules, classes, values, lists, total):
    """Weight and impurity of the rows of a range; writes ``total`` (per output class weights, sum
    or median)."""
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
            first = o * data.n_classes
            for p in range(n):
                total[first + classes[o, rows[p]]] += weights[rows[p]]
            last = first + data.n_classes
            impurity += class_impurity(total, first, last, rules.criterion, weight)
        return weight, impurity / classes.shape[0]
    if values is not None:
        for o in range(values.shape[0]):
            loss = 0.0
            if lists is not None:
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
def draw_columns(node, data, max_features, columns):
    """Write the columns to search to ``columns``; their number.

    They are drawn as in scikit-learn: constant columns count, unless only such are found.
    """
    orders, n_features, first, last = data.orders, data.signs.shape[0], node.start, node.end - 1
    n_found, n_seen = 0, 0
    if max_features >= n_features:
        for f in range(n_features):
            if _can_be_split(orders[f, first], orders[f, last]):
                columns[n_found] = f
                n_found += 1
        return n_found
    state = np.empty(1, np.uint64)
    state[0] = ~node.seed  # the stream of the seed itself decides ties (`choose`)
    pool = np.empty(n_features, np.intp)
    for f in range(n_features):
        pool[f] = f
    while n_seen < n_features and (n_seen < max_features or n_found == 0):
        draw(state, pool, n_seen)
        f = pool[n_seen]
        n_seen += 1
        if _can_be_split(orders[f, first], orders[f, last]):
            columns[n_found] = f
            n_found += 1
    return n_found


@kernel
def count_present(entries):
    """Number of entries that have a value: those without come last."""
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
def target_lists(start, end, data, values, lists):
    """Absolute error: write to ``lists`` the node's targets ascending, their weights, and the
    place of every row among them."""
    n_features = data.signs.shape[0]
    for o in range(values.shape[0]):
        for p in range(start, end):
            row = np.intp(data.orders[n_features + o, p] & ROW)
            lists.places[o, row] = p - start
            lists.ys[o, p], lists.ws[o, p] = values[o, row], data.weights[row]


@kernel
def _scan(column, node, data, rules, classes, values, lists, several, search):
    """Best split of a column by the criterion: (score, p). Arrays of ``search`` and ``lists`` serve
    as scratch."""
    score, at = -np.inf, -1
    if lists is not None:
        score, at = scan_medians(column, data, rules, lists, node.start, node.weight, search)
    else:
        _missing_sums(column, data, classes, values, search.base)
        if several is not None:
            score, at = scan_outputs(column, data, rules, classes, values, node.weight, search)
        else:
            if classes is not None:
                score, at = scan_classes(column, data, rules, classes[0], node.weight, search)
            if values is not None:
                score, at = scan_means(column, data, rules, values[0], node.weight, search)
    return score, at


@kernel
def _missing_sums(column, data, classes, values, base):
    """Write to ``base`` what rows without a value add to the left side: class weights or sums, then
    their weight."""
    for j in range(base.shape[0]):
        base[j] = 0.0
    last = base.shape[0] - 1
    if not column.missing_left:
        return
    for q in range(column.m, column.entries.shape[0]):
        row = np.intp(column.entries[q] & ROW)
        w = data.weights[row]
        base[last] += w
        if classes is not None:
            for o in range(classes.shape[0]):
                base[o * data.n_classes + classes[o, row]] += w
        if values is not None:
            for o in range(values.shape[0]):
                base[o] += w * values[o, row]


@kernel
def threshold_between(below, above):
    """The threshold between two entries."""
    a, b = np.float64(value_of(below)), np.float64(value_of(above))
    middle = a / 2.0 + b / 2.0
    return a if middle == b or abs(middle) == np.inf else middle


@kernel
def search_column(j, node, data, rules, classes, values, lists, several, search):
    """Write the best split of column ``search.columns[j]`` to ``search.found[j]``."""
    f, found = search.columns[j], search.found[j]
    entries, own_seed = data.orders[f, node.start : node.end], column_seed(node.seed, f)
    categorical, n_classes = data.n_categories[f] > 0, data.n_classes
    n = entries.shape[0]
    m = count_present(entries)
    found[0] = -np.inf
    n_orders = 1
    grouped = entries
    if categorical:
        grouped = np.empty(n, np.uint64)
        if n_classes > 2:
            n_orders = n_classes
    coin = (own_seed & np.uint64(1)) != 0
    for order in range(n_orders):
        if categorical:
            k = order if n_orders > 1 else n_classes - 1
            group_by_category(entries, m, k, classes, values, data.weights, grouped)
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
            column = Column(grouped, m, first, end_at, missing_left, data.signs[f])
            score, p = _scan(column, node, data, rules, classes, values, lists, several, search)
            if score > found[0]:
                found[0], found[1], found[2] = score, p, 1.0 if missing_left else 0.0
                found[4] = order
                if rules.random and not categorical:
                    found[3] = cut
                elif p >= m:
                    found[3] = np.inf
                elif not categorical:
                    found[3] = threshold_between(entries[p - 1], entries[p])


@kernel
def choose(n_found, columns, found, seed):
    """Index of the best of ``found[:n_found]``, -1 without any; equal scores go by a hash of the
    seed and their ``columns``."""
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
def mark_sides(j, node, data, classes, values, search):
    """Write 1 to ``data.sides`` for rows that the split ``search.found[j]`` sends left and 0 for
    the node's other rows; the number that go left."""
    f, found = search.columns[j], search.found[j]
    entries, sides = data.orders[f, node.start : node.end], data.sides
    m = count_present(entries)
    p, missing_left = np.intp(found[1]), found[2] > 0.0
    if data.n_categories[f] > 0:
        grouped = np.empty(entries.shape[0], np.uint64)
        k = np.intp(found[4]) if data.n_classes > 2 else data.n_classes - 1
        group_by_category(entries, m, k, classes, values, data.weights, grouped)
        entries = grouped
    for i in range(m):
        sides[np.intp(entries[i] & ROW)] = 1 if i < p else 0
    for i in range(m, entries.shape[0]):
        sides[np.intp(entries[i] & ROW)] = 1 if missing_left else 0
    return p + (entries.shape[0] - m if missing_left else 0)


@kernel
def _first_value(total, weight, lists):
    """What monotonic constraints bound: the first class's share, the mean or the median."""
    return total[0] if lists is not None else total[0] / weight


@kernel
def judge(node, middle, impurity, data, rules, classes, values, lists, total):
    """After the split of a node of this impurity into [start, middle) and [middle, end): its
    decrease of impurity, and the middle of the children's values. ``total`` is scratch."""
    start, end, weight = node.start, node.end, node.weight
    weight_left, left = node_statistics(start, middle, data, rules, classes, values, lists, total)
    a = _first_value(total, weight_left, lists)
    weight_right, right = node_statistics(middle, end, data, rules, classes, values, lists, total)
    b = _first_value(total, weight_right, lists)
    within = weight_left / weight * left + weight_right / weight * right
    return weight / data.whole * (impurity - within), 0.5 * (a + b)


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
def _are_plain(n_found, node, data, rules, columns):
    """Whether `scan_plain_means` serves a node's columns."""
    plain = (
        data.unit
        and not rules.random
        and not data.monotonic
        and rules.criterion != POISSON
        and rules.min_weight <= rules.min_leaf
    )
    for j in range(n_found if plain else 0):
        last = data.orders[columns[j], node.end - 1] >> np.uint64(32)
        if data.n_categories[columns[j]] > 0 or last == np.uint64(MISSING_KEY):
            return False
    return plain


@kernel
def best_plain_column(n_found, columns, node, orders, values, min_leaf, whole):
    """`search_column` of all plain columns, and `choose`: the index of the best, -1 without any,
    and where it is cut."""
    best, best_at, highest = -1, 0, -np.inf
    for j in range(n_found):
        score, p = scan_plain_means(columns[j], node, orders, values, min_leaf, whole)
        if p < 0 or score < highest:
            continue
        if score > highest or wins_tie(node.seed, columns[j], columns[best]):
            best, best_at, highest = j, p, score
    return best, best_at


@kernel
def split_node(node, data, rules, classes, values, lists, several, search):
    """Search a node's columns and mark the sides of its rows in ``data.sides``.

    ``search.total`` holds the node's sums; the other arrays of ``search`` are written, ``lists`` is
    scratch. Returns the index of the best column within ``search.columns``, -1 without a split, and
    the number of rows that go left.
    """
    if lists is not None:
        target_lists(node.start, node.end, data, values, lists)
    n_found = draw_columns(node, data, rules.max_features, search.columns)
    plain = False
    best = -1
    if values is not None and lists is None and several is None:
        plain = _are_plain(n_found, node, data, rules, search.columns)
        if plain:
            orders, found = data.orders, search.found
            best, p = best_plain_column(
                n_found, search.columns, node, orders, values, rules.min_leaf, search.total[0]
            )
            if best >= 0:
                f = search.columns[best]
                found[best, 1], found[best, 2], found[best, 4] = p, 0.0, 0.0
                below, above = orders[f, node.start + p - 1], orders[f, node.start + p]
                found[best, 3] = threshold_between(below, above)
    if not plain:
        for j in range(n_found):
            search_column(j, node, data, rules, classes, values, lists, several, search)
        best = choose(n_found, search.columns, search.found, node.seed)
    if best < 0:
        return -1, 0
    return best, mark_sides(best, node, data, classes, values, search)
