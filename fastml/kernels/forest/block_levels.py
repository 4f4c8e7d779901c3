"""A level of a forest's trees on one block of rows: rows drawn, nodes divided, histograms counted.

How often a tree draws a row is a function of the tree's key and the row's number among all rows: a
Poisson number, the limit of what drawing with replacement gives a row. So no block knows of any
other, and whoever draws gets the same. Histograms have three columns where a node has a weight and
one sum (`score`'s pairs): weight, sum, rows; else the weights of the classes, then rows.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.forest.class_split import sums_score
from fastml.kernels.forest.grow import divide
from fastml.kernels.forest.score import (
    WORST,
    Split,
    cut_score,
    is_better,
    leaf_split,
    pair_score,
    start_draws,
    x_log_x,
)
from fastml.kernels.forest.split import between
from fastml.kernels.numeric.exp import exp64, log64
from fastml.kernels.numeric.rng import GOLDEN, draw, mix64, unit_float
from fastml.kernels.tree.nodes import ENTROPY, POISSON

PAIR_COLUMNS = 3
MOST_RATE = 8.0
MOST_AT_ONCE = 80  # beyond it a number of that mean does not happen
MOST_TIMES = 65535
# Columns of the splits that a level makes.
CUT_TREE, CUT_NODE, CUT_LEFT, CUT_FEATURE, CUT_CODE, CUT_MISSING = 0, 1, 2, 3, 4, 5
CUT_WORDS = 6


class BlockRows(NamedTuple):
    """The rows of a block, as all trees see them."""

    columns: np.ndarray  # (features, rows) codes
    y: np.ndarray  # (rows,) targets or class codes
    weights: np.ndarray  # (rows,)
    times: np.ndarray  # (trees or 1, rows) how often a tree has drawn a row


@kernel
def fill_chances(rate, chances):
    """Write the chance of at most k to chances[k] for a Poisson number of that mean, and 1 to the
    last."""
    chance = exp64(-rate)
    below = chance
    for k in range(chances.shape[0] - 1):
        chances[k] = below
        chance *= rate / (k + 1)
        below += chance
    chances[chances.shape[0] - 1] = 1.0


@kernel
def times_drawn(bits, rate, chances):
    """A Poisson number of mean ``rate`` from 64 random bits; ``chances`` are those of a mean that
    is left over beyond multiples of `MOST_RATE`, and of that one."""
    times = 0
    while rate > MOST_RATE:  # a sum of Poisson numbers is one
        u = unit_float(bits)
        k = 0
        while u >= chances[1, k]:
            k += 1
        times += k
        rate -= MOST_RATE
        bits = mix64(bits + GOLDEN)
    u = unit_float(bits)
    k = 0
    while u >= chances[0, k]:
        k += 1
    return min(times + k, MOST_TIMES)


@kernel
def draw_tree(t, keys, first, rates, replace, times):
    """Write times[t] of the block whose first row has the number ``first``."""
    chances = np.empty((2, MOST_AT_ONCE))
    fill_chances(MOST_RATE, chances[1])
    known = -1.0
    for i in range(times.shape[1]):
        rate = rates[i] if rates.shape[0] > 1 else rates[0]
        bits = mix64(keys[t] + np.uint64(first + i + 1) * GOLDEN)
        if not replace:
            times[t, i] = unit_float(bits) < rate
            continue
        if rate != known:
            known = rate
            fill_chances(rate - MOST_RATE * max(np.ceil(rate / MOST_RATE) - 1.0, 0.0), chances[0])
        times[t, i] = times_drawn(bits, rate, chances)


@parallel_kernel
def draw_rows(keys, first, rates, replace, times):
    """Write ``times``; ``rates`` has one entry per row, or one for all."""
    for t in prange(times.shape[0]):
        draw_tree(np.intp(t), keys, first, rates, replace, times)


@kernel
def list_tree(t, data, rows, ranges):
    """Write the rows of positive weight to rows[t], their number to ranges[t, 0]."""
    times = data.times[t % data.times.shape[0]]
    n = 0
    for i in range(data.weights.shape[0]):
        rows[t, n] = i
        n += times[i] > 0 and data.weights[i] > 0.0
    ranges[t, 0, 0], ranges[t, 0, 1] = 0, n


@parallel_kernel
def list_rows(data, rows, ranges):
    """Write the rows of every tree to ``rows``, the range of its root to ``ranges``."""
    for t in prange(ranges.shape[0]):
        list_tree(np.intp(t), data, rows, ranges)


@kernel
def divide_node(i, data, n_codes, cuts, rows, ranges):
    """Put the rows of the node cuts[i] that go left first; writes ``rows`` and the ranges of its
    children to ``ranges``."""
    tree, node, left = cuts[i, CUT_TREE], cuts[i, CUT_NODE], cuts[i, CUT_LEFT]
    feature = cuts[i, CUT_FEATURE]
    start, stop = ranges[tree, node, 0], ranges[tree, node, 1]
    spare = np.empty(stop - start, np.uint32)
    middle = start + divide(
        data.columns[feature], rows[tree, start:stop], spare, cuts[i, CUT_CODE], n_codes[feature],
        cuts[i, CUT_MISSING],
    )  # fmt: skip
    ranges[tree, left, 0], ranges[tree, left, 1] = start, middle
    ranges[tree, left + 1, 0], ranges[tree, left + 1, 1] = middle, stop


@parallel_kernel
def divide_nodes(data, n_codes, cuts, rows, ranges):
    """Make all splits ``cuts``, no two of one node: writes ``rows`` and ``ranges``."""
    for i in prange(cuts.shape[0]):
        divide_node(np.intp(i), data, n_codes, cuts, rows, ranges)


@kernel
def count_node(i, data, asked, features, rows, ranges, histograms, spans):
    """Add the rows of node asked[i] (tree, node) to histograms[i], for each of features[i] (-1:
    none); least and greatest target to spans[i]."""
    one = np.uintp(1)
    tree, node = asked[i, 0], asked[i, 1]
    start, stop = ranges[tree, node, 0], ranges[tree, node, 1]
    n = stop - start
    times = data.times[tree % data.times.shape[0]]
    own = rows[tree, start:stop]
    pairs = histograms.shape[3] == PAIR_COLUMNS
    last = np.uintp(histograms.shape[3] - 1)
    weights, sums = np.empty(n), np.empty(n)
    low, high = spans[i, 0], spans[i, 1]
    for j in range(n):
        row = np.uintp(own[j])
        weight, target = data.weights[row] * times[row], data.y[row]
        weights[j] = weight
        sums[j] = weight * target if pairs else target
        low, high = min(low, target), max(high, target)
    spans[i, 0], spans[i, 1] = low, high
    for m in range(features.shape[1]):
        feature = features[i, m]
        if feature < 0:
            continue
        column, histogram = data.columns[feature], histograms[i, m]
        for j in range(n):
            code = np.uintp(column[np.uintp(own[j])])
            if pairs:
                histogram[code, np.uintp(0)] += weights[j]
                histogram[code, one] += sums[j]
            else:
                histogram[code, np.uintp(sums[j])] += weights[j]
            histogram[code, last] += 1.0


@parallel_kernel
def count_nodes(data, asked, features, rows, ranges, histograms, spans):
    """Add the rows of every node ``asked`` to ``histograms`` and ``spans``."""
    for i in prange(asked.shape[0]):
        count_node(np.intp(i), data, asked, features, rows, ranges, histograms, spans)


@kernel
def sum_node(i, data, asked, criterion, rows, ranges, sums):
    """Write (weight, sum of targets, what their impurity is made of) of node asked[i] to
    sums[i]."""
    tree, node = asked[i, 0], asked[i, 1]
    times = data.times[tree % data.times.shape[0]]
    weight, total, squares = 0.0, 0.0, 0.0
    for j in range(ranges[tree, node, 0], ranges[tree, node, 1]):
        row = rows[tree, j]
        w, target = data.weights[row] * times[row], data.y[row]
        weight += w
        total += w * target
        if criterion == POISSON:
            squares += w * target * log64(target) if target > 0.0 else 0.0
        else:
            squares += w * target * target
    sums[i, 0], sums[i, 1], sums[i, 2] = weight, total, squares


@parallel_kernel
def sum_nodes(data, asked, criterion, rows, ranges, sums):
    """Write ``sums`` of all nodes ``asked``."""
    for i in prange(asked.shape[0]):
        sum_node(np.intp(i), data, asked, criterion, rows, ranges, sums)


# ---------------------------------------------------------------------------- of all blocks


@kernel
def draw_features(state, features):
    """Write the features in the order in which the node whose seed is in ``state`` draws them."""
    start_draws(state, features)
    for i in range(features.shape[0]):
        draw(state, features, i)


@kernel
def class_score(sums, n_classes, weight, criterion, terms):
    """`sums_score` of some class weights; ``terms`` is scratch."""
    for k in range(n_classes):
        terms[k] = x_log_x(sums[k]) if criterion == ENTROPY else sums[k]
    return sums_score(terms, n_classes, weight, criterion)


@kernel
def search_histograms(histograms, features, begin, varied, codes, rules, node, seed):
    """Best split of a node by the histograms of ``features``, the ones that it draws from the
    number ``begin`` on; ``node`` has the sums of a histogram, ``varied`` says that a feature before
    took two values. Returns (`Split`, whether one takes two values); writes nothing.
    """
    columns = node.shape[0]
    last = columns - 1
    pairs = columns == PAIR_COLUMNS
    criterion = rules.criterion
    left, right, terms = np.empty(columns), np.empty(columns), np.empty(columns)
    occupied = np.empty(histograms.shape[1], np.intp)
    best = leaf_split()
    weight = 0.0
    if pairs:
        weight = node[0]
        undivided = pair_score(weight, node[1], criterion)
    else:
        for k in range(last):
            weight += node[k]
        undivided = class_score(node, last, weight, criterion, terms)
    if undivided == WORST or weight < 2.0 * rules.min_weight:
        return best, True
    for m in range(features.shape[0]):
        if begin + m >= rules.max_features and varied:
            break
        feature = np.intp(features[m])
        histogram = histograms[m]
        missing = np.intp(codes.n_codes[feature])
        has_missing = histogram[missing, last] > 0.0
        n_present = 0
        for code in range(missing):
            occupied[n_present] = code
            n_present += histogram[code, last] > 0.0
        if n_present == 0 or (n_present == 1 and not has_missing):
            continue
        varied = True
        # Missing values on the right (a cut before them counts too), then on the left.
        for side in range(2 if has_missing else 1):
            for k in range(columns):
                left[k] = histogram[missing, k] if side == 1 else 0.0
            n_cuts = n_present if has_missing and side == 0 else n_present - 1
            for at in range(n_cuts):
                code = occupied[at]
                left_weight = 0.0
                for k in range(columns):
                    left[k] += histogram[code, k]
                    right[k] = node[k] - left[k]
                if pairs:
                    left_weight = left[0]
                else:
                    for k in range(last):
                        left_weight += left[k]
                right_weight = weight - left_weight
                if left[last] < rules.min_leaf or right[last] < rules.min_leaf:
                    continue
                if left_weight < rules.min_weight or right_weight < rules.min_weight:
                    continue
                if pairs:
                    score = cut_score(left_weight, left[1], right_weight, right[1], criterion)
                else:
                    score = class_score(left, last, left_weight, criterion, terms)
                    score += class_score(right, last, right_weight, criterion, terms)
                if not is_better(score, feature, best, seed):
                    continue
                threshold = np.inf
                if at + 1 < n_present:
                    threshold = between(codes, feature, code, occupied[at + 1])
                missing_left = np.intp(side if has_missing else 2)
                best = Split(score, undivided, feature, code, threshold, missing_left, (0.0, 0.0))
    return best, varied
