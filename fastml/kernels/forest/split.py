"""The best split of one node, over integer codes of the values.

A code is a bin (at most 255) or the rank of the value among the distinct ones, so a histogram over
codes takes the place of a sort: which codes occur in a small node is read off a set, in order. Rows
that lack the value carry the code ``missing``.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.forest.frame import HANDFUL
from fastml.kernels.forest.score import (
    WORST,
    Split,
    add_row,
    breaks_direction,
    cut_score,
    is_better,
    is_squared,
    leaf_split,
    pair_score,
    slots_score,
    start_draws,
)
from fastml.kernels.numeric.bitset import (
    note_code,
    note_lower,
    scan_codes,
    take_codes,
    upper_words,
)
from fastml.kernels.numeric.rng import draw
from fastml.kernels.tree.nodes import ERROR, SQUARED_ERROR


@kernel
def between(codes, feature, code, after):
    """A threshold between two codes: greatest of one <= threshold < least of the other."""
    greatest, least = codes.high[feature, code], codes.low[feature, after]
    return 0.5 * np.float64(greatest) + 0.5 * np.float64(least)


@kernel
def add_pairs(column, rows, weights, totals, hist):
    """Add the weights and totals of the rows to ``hist`` at their codes in ``column``."""
    for i in range(rows.shape[0]):
        code = column[rows[i]]
        weight = hist[code, 0] + weights[i]
        total = hist[code, 1] + totals[i]
        hist[code, 0] = weight
        hist[code, 1] = total


@kernel
def sum_all(hist, n_codes, occupied, cut_weights, cut_totals):
    """Write the codes that occur to ``occupied``, the sums up to each to ``cut_weights`` and
    ``cut_totals``, and zeros to ``hist``. Returns how many occur. No branch depends on a value."""
    n = 0
    weight = 0.0
    total = 0.0
    for code in range(n_codes):
        own = hist[code, 0]
        weight += own
        total += hist[code, 1]
        hist[code, 0] = 0.0
        hist[code, 1] = 0.0
        occupied[n] = code
        cut_weights[n] = weight
        cut_totals[n] = total
        n += own > 0.0
    return n


@kernel
def sum_listed(hist, occupied, n, cut_weights, cut_totals):
    """Write to ``cut_weights``, ``cut_totals`` and ``hist`` as `sum_all`, for the ``n`` codes that
    ``occupied`` lists already."""
    weight = 0.0
    total = 0.0
    for at in range(n):
        code = occupied[at]
        weight += hist[code, 0]
        total += hist[code, 1]
        hist[code, 0] = 0.0
        hist[code, 1] = 0.0
        cut_weights[at] = weight
        cut_totals[at] = total


@kernel
def sum_handful(column, rows, weights, totals, keys, occupied, cut_weights, cut_totals):
    """As `sum_all`, of at most `HANDFUL` rows: writes ``occupied``, ``cut_weights`` and
    ``cut_totals``, and needs no histogram. ``keys`` is scratch.

    The place of a row is the number of rows before it, each compared with each: no branch depends
    on a value. Codes are below 2^27.
    """
    n = rows.shape[0]
    half = np.intp(HANDFUL // 2)
    width = half if n <= half else np.intp(HANDFUL)
    for i in range(width):
        keys[i] = np.uint32(0xFFFFFFFF)
    for i in range(n):
        keys[i] = (np.uint32(column[rows[i]]) << np.uint32(5)) | np.uint32(i)
    for i in range(n):
        key = keys[i]
        place = np.uint32(0)
        for j in range(half):
            place += np.uint32(keys[j] < key)
        if width > half:
            for j in range(half):
                place += np.uint32(keys[half + j] < key)
        keys[np.uint32(HANDFUL) + place] = key
    m = 0
    weight = total = own_weight = own_total = 0.0
    for at in range(n):
        key = keys[HANDFUL + at]
        i = np.intp(key & np.uint32(HANDFUL - 1))
        code = key >> np.uint32(5)
        own_weight += weights[i]
        own_total += totals[i]
        ends = at == n - 1 or keys[HANDFUL + at + 1] >> np.uint32(5) != code
        occupied[m] = code
        cut_weights[m] = weight + own_weight
        cut_totals[m] = total + own_total
        m += ends
        weight = weight + own_weight if ends else weight
        total = total + own_total if ends else total
        own_weight = 0.0 if ends else own_weight
        own_total = 0.0 if ends else own_total
    return m


@kernel
def squared_scores(cut_weights, cut_totals, n, added_weight, added_total, weight, total, scores):
    """Write s_l² / w_l + s_r² / w_r of the first ``n`` cuts to ``scores``, with one division.

    The left part has also ``added_weight`` and ``added_total``; ``weight`` and ``total`` are the
    node's.
    """
    for at in range(n):
        left_weight = cut_weights[at] + added_weight
        left_total = cut_totals[at] + added_total
        right_weight = weight - left_weight
        right_total = total - left_total
        scores[at] = cut_score(left_weight, left_total, right_weight, right_total, SQUARED_ERROR)


@kernel
def search_pairs(frame, codes, signs, rules, rows, scratch, lower, upper):
    """Best split of the node of ``rows`` on pair statistics, a `Split`; writes only to ``scratch``,
    whose ``state`` holds the node's seed.

    The means of the children follow ``signs`` and lie within ``lower`` and ``upper``.
    """
    columns, y, weights = frame.columns, frame.y, frame.weights
    own_weights, totals = scratch.pairs[0], scratch.pairs[1]
    hist, counts, occupied, bits = scratch.hist, scratch.counts, scratch.occupied, scratch.bits
    cut_weights, cut_totals, scores = scratch.cuts[0], scratch.cuts[1], scratch.cuts[2]
    lower_bits = upper_words(hist.shape[0])
    criterion, least_rows, least_weight = rules.criterion, rules.min_leaf, rules.min_weight
    n = rows.shape[0]
    best = leaf_split()
    weight = 0.0
    total = 0.0
    differ = False
    y_first = y[0, rows[0]]
    for i in range(n):
        row = rows[i]
        w = weights[row]
        target = y[0, row]
        own_weights[i] = w
        totals[i] = w * target
        weight += w
        total += w * target
        differ |= target != y_first
    if not differ or weight < 2.0 * least_weight:
        return best
    squared = is_squared(criterion)
    undivided = pair_score(weight, total, criterion)
    if undivided == WORST:
        return best
    n_features = columns.shape[0]
    seed = start_draws(scratch.state, scratch.features)
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules.max_features and any_varies:
            break
        feature = np.intp(draw(scratch.state, scratch.features, drawn))

        # The histogram; sums over the codes that occur, up to each of them.
        missing = np.intp(codes.n_codes[feature])
        few = 4 * n < missing
        handful = few and n <= HANDFUL and missing < 1 << 26
        dense = 64 * n > missing
        if not handful:
            add_pairs(columns[feature], rows, own_weights, totals, hist)
        if few and not handful:
            if dense:
                for i in range(n):
                    note_lower(bits, lower_bits, columns[feature, rows[i]])
            else:
                for i in range(n):
                    note_code(bits, lower_bits, columns[feature, rows[i]])
        if least_rows > 1:
            for i in range(n):
                counts[columns[feature, rows[i]]] += 1
        missing_weight, missing_total = hist[missing, 0], hist[missing, 1]
        missing_rows = counts[missing] if least_rows > 1 else 0
        if handful:
            n_occupied = sum_handful(
                columns[feature], rows, own_weights, totals, scratch.keys, occupied, cut_weights,
                cut_totals,
            )  # fmt: skip
            if occupied[n_occupied - 1] == missing:
                for i in range(n):
                    if columns[feature, rows[i]] == missing:
                        missing_weight += own_weights[i]
                        missing_total += totals[i]
        elif few:
            if dense:
                n_occupied = scan_codes(bits, lower_bits, occupied)
            else:
                n_occupied = take_codes(bits, lower_bits, occupied)
            sum_listed(hist, occupied, n_occupied, cut_weights, cut_totals)
        else:
            n_occupied = sum_all(hist, missing + 1, occupied, cut_weights, cut_totals)
        has_missing = missing_weight > 0.0
        if n_occupied < 2:
            counts[occupied[0] if least_rows > 1 else 0] = 0
            continue
        any_varies = True

        # Missing values on the right (a cut before them counts too), then on the left.
        n_present = n_occupied - 1 if has_missing else n_occupied
        for side in range(2 if has_missing else 1):
            n_cuts = n_present if has_missing and side == 0 else n_present - 1
            added_weight = missing_weight if side == 1 else 0.0
            added_total = missing_total if side == 1 else 0.0
            left_rows = missing_rows if side == 1 else 0
            if squared:
                squared_scores(
                    cut_weights, cut_totals, n_cuts, added_weight, added_total, weight, total,
                    scores,
                )  # fmt: skip
            for at in range(n_cuts):
                if least_rows > 1:
                    left_rows += counts[occupied[at]]
                    if left_rows < least_rows or n - left_rows < least_rows:
                        continue
                if squared and not scores[at] >= best.score:
                    continue
                left_weight = cut_weights[at] + added_weight
                left_total = cut_totals[at] + added_total
                right_weight = weight - left_weight
                right_total = total - left_total
                if left_weight < least_weight or right_weight < least_weight:
                    continue
                if squared:
                    score = scores[at]
                else:
                    score = cut_score(left_weight, left_total, right_weight, right_total, criterion)
                if not is_better(score, feature, best, seed):
                    continue
                means = (left_total / left_weight, right_total / right_weight)
                if breaks_direction(signs[feature], lower, upper, means):
                    continue
                code = np.intp(occupied[at])
                threshold = np.inf
                if at + 1 < n_present:
                    threshold = between(codes, feature, code, occupied[at + 1])
                missing_left = np.intp(side if has_missing else 2)
                best = Split(score, undivided, feature, code, threshold, missing_left, means)
        if least_rows > 1:
            for at in range(n_occupied):
                counts[occupied[at]] = 0
    return best


@kernel
def search_slots(frame, codes, offsets, rules, rows, scratch):
    """As `search_pairs`, on slots; those of output o begin at ``offsets[o]``."""
    columns, y, weights = frame.columns, frame.y, frame.weights
    hist, counts, occupied, bits = scratch.hist, scratch.counts, scratch.occupied, scratch.bits
    lower_bits = upper_words(hist.shape[0])
    criterion, least_rows, least_weight = rules.criterion, rules.min_leaf, rules.min_weight
    is_class = criterion <= ERROR
    n = rows.shape[0]
    best = leaf_split()
    node, left, right = scratch.slots[0], scratch.slots[1], scratch.slots[2]
    n_slots = node.shape[0]
    for k in range(n_slots):
        node[k] = 0.0
    differ = False
    for i in range(n):
        add_row(node, weights[rows[i]], y, rows[i], offsets, is_class)
        if not differ:
            for o in range(y.shape[0]):
                differ |= y[o, rows[i]] != y[o, rows[0]]
    if not differ or node[0] < 2.0 * least_weight:
        return best
    undivided = slots_score(node, offsets, criterion)
    if undivided == WORST:
        return best
    n_features = columns.shape[0]
    seed = start_draws(scratch.state, scratch.features)
    any_varies = False
    for drawn in range(n_features):
        if drawn >= rules.max_features and any_varies:
            break
        feature = np.intp(draw(scratch.state, scratch.features, drawn))

        missing = np.intp(codes.n_codes[feature])
        for i in range(n):
            code = np.intp(columns[feature, rows[i]])
            add_row(hist[code], weights[rows[i]], y, rows[i], offsets, is_class)
            note_code(bits, lower_bits, code)
        n_occupied = take_codes(bits, lower_bits, occupied)
        if n_occupied > 1:
            any_varies = True
            if least_rows > 1:
                for i in range(n):
                    counts[columns[feature, rows[i]]] += 1
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
                    score = slots_score(left, offsets, criterion)
                    score += slots_score(right, offsets, criterion)
                    if not is_better(score, feature, best, seed):
                        continue
                    if at + 1 < n_present:
                        threshold = between(codes, feature, code, occupied[at + 1])
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
