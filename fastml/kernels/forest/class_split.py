"""The best split of one node by several classes of one output.

A histogram of codes by classes would be large and nearly empty. Instead the rows are put in order
of their codes (by counting) and moved from the right side to the left one after the other; only the
classes that occur in the node are looked at.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.forest.score import Split, is_better, leaf_split, start_draws, x_log_x
from fastml.kernels.forest.split import between
from fastml.kernels.numeric.bitset import note_code, take_codes, upper_words
from fastml.kernels.numeric.rng import draw
from fastml.kernels.tree.nodes import ENTROPY, GINI


@kernel
def number_classes(frame, rows, sums, numbers):
    """Number the classes that occur among some rows, in order, in ``numbers``, and write the weight
    of each to ``sums``. Returns how many occur, their weight, and whether all weights are whole."""
    n_classes = numbers.shape[0]
    for k in range(n_classes):
        sums[k] = 0.0
        numbers[k] = 0
    weight = 0.0
    whole = True
    for i in range(rows.shape[0]):
        w = frame.weights[rows[i]]
        k = np.intp(frame.y[0, rows[i]])
        sums[k] += w
        numbers[k] = 1
        weight += w
        whole &= w == np.floor(w)
    n = 0
    for k in range(n_classes):
        if numbers[k] != 0:
            numbers[k] = n
            sums[n] = sums[k]
            n += 1
    return n, weight, whole


@kernel
def order_rows(column, frame, rows, scratch):
    """Put the rows of a node in order of their codes in ``column``: the numbers of their classes in
    ``scratch.keys``, their weights in ``scratch.pairs[1]``, the codes that occur in
    ``scratch.occupied``, where the rows of each end in ``scratch.counts``. Returns how many occur.
    """
    bits, counts, occupied = scratch.bits, scratch.counts, scratch.occupied
    keys, weights, numbers = scratch.keys, scratch.pairs[1], scratch.numbers
    lower = upper_words(counts.shape[0])
    for i in range(rows.shape[0]):
        code = np.intp(column[rows[i]])
        counts[code] += 1
        note_code(bits, lower, code)
    n_occupied = take_codes(bits, lower, occupied)
    begin = 0
    for at in range(n_occupied):
        n_rows = counts[occupied[at]]
        counts[occupied[at]] = begin
        begin += n_rows
    for i in range(rows.shape[0]):
        row = rows[i]
        code = np.intp(column[row])
        place = counts[code]
        counts[code] = place + 1
        keys[place] = numbers[np.intp(frame.y[0, row])]
        weights[place] = frame.weights[row]
    return n_occupied


@kernel
def sums_score(sums, n_classes, weight, criterion):
    """Score of a set of rows from its ``n_classes`` class weights and their sum; for entropy,
    ``sums`` holds x log x of each."""
    score = 0.0
    if criterion == GINI:
        for k in range(n_classes):
            score += sums[k] * sums[k]
        return score / weight
    if criterion == ENTROPY:
        for k in range(n_classes):
            score += sums[k]
        return score - x_log_x(weight)
    for k in range(n_classes):
        if sums[k] > score:
            score = sums[k]
    return score


@kernel
def search_classes(frame, codes, rules, rows, scratch):
    """Best split of the node of ``rows`` by the classes of one output, a `Split`; writes only to
    ``scratch``, whose ``state`` holds the node's seed."""
    columns = frame.columns
    counts, occupied, keys = scratch.counts, scratch.occupied, scratch.keys
    row_weights = scratch.pairs[1]
    node, left, right = scratch.slots[0], scratch.slots[1], scratch.slots[2]
    left_terms, right_terms = scratch.slots[3], scratch.slots[4]
    criterion, least_rows, least_weight = rules.criterion, rules.min_leaf, rules.min_weight
    n = rows.shape[0]
    best = leaf_split()
    n_classes, weight, whole = number_classes(frame, rows, node, scratch.numbers)
    if n_classes < 2 or weight < 2.0 * least_weight:
        return best
    entropy = criterion == ENTROPY
    steps = criterion == GINI and whole  # sums of squares are exact, so they can be kept up to date
    squares = 0.0
    for k in range(n_classes):
        squares += node[k] * node[k]
        left_terms[k] = x_log_x(node[k]) if entropy else node[k]
    undivided = sums_score(left_terms, n_classes, weight, criterion)
    n_features = columns.shape[0]
    seed = start_draws(scratch.state, scratch.features)
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules.max_features and any_varies:
            break
        feature = np.intp(draw(scratch.state, scratch.features, drawn))
        missing = np.intp(codes.n_codes[feature])
        n_occupied = order_rows(columns[feature], frame, rows, scratch)
        any_varies |= n_occupied > 1
        has_missing = occupied[n_occupied - 1] == missing
        n_present = n_occupied - 1 if has_missing else n_occupied
        first_missing = counts[occupied[n_present - 1]] if n_present > 0 else 0
        for side in range(2 if has_missing and n_present > 0 else 1):
            for k in range(n_classes):
                left[k] = 0.0
                right[k] = node[k]
                left_terms[k] = 0.0
                right_terms[k] = x_log_x(node[k]) if entropy else node[k]
            left_weight = 0.0
            left_squares = 0.0
            right_squares = squares
            left_rows = 0
            # Missing values on the right (a cut before them counts too), then on the left.
            last = n_present if has_missing and side == 0 else n_present - 1
            for at in range(-side, last):
                code = np.intp(missing if at < 0 else occupied[at])
                begin = 0
                if at < 0:
                    begin = first_missing
                elif at > 0:
                    begin = counts[occupied[at - 1]]
                end = counts[code]
                left_rows += end - begin
                for i in range(begin, end):
                    k = np.intp(keys[i])
                    w = row_weights[i]
                    left_weight += w
                    left_squares += w * (2.0 * left[k] + w)
                    right_squares -= w * (2.0 * right[k] - w)
                    left[k] += w
                    right[k] = node[k] - left[k]
                    if not steps:
                        left_terms[k] = x_log_x(left[k]) if entropy else left[k]
                        right_terms[k] = x_log_x(right[k]) if entropy else right[k]
                if at < 0 or left_rows < least_rows or n - left_rows < least_rows:
                    continue
                right_weight = weight - left_weight
                if left_weight < least_weight or right_weight < least_weight:
                    continue
                if steps:
                    score = left_squares / left_weight + right_squares / right_weight
                else:
                    score = sums_score(left_terms, n_classes, left_weight, criterion)
                    score += sums_score(right_terms, n_classes, right_weight, criterion)
                if not is_better(score, feature, best, seed):
                    continue
                threshold = np.inf
                if at + 1 < n_present:
                    threshold = between(codes, feature, code, occupied[at + 1])
                missing_left = np.intp(side if has_missing else 2)
                best = Split(score, undivided, feature, code, threshold, missing_left, (0.0, 0.0))
        for at in range(n_occupied):
            counts[occupied[at]] = 0
    return best
