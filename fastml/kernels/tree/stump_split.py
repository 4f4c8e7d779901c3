"""The best stump of the same rows under changing weights: sums of blocks, rows of a few blocks.

The rows of a column, in order, are cut into blocks, once. New weights cost one pass that adds every
row's weight to its block and class; prefix sums then give the score of a split at each end of a
block. The score is convex in the class weights on its left for every impurity here. So nowhere
inside a block is it above its largest value at the corners of the box between the class weights at
the two ends, and only blocks whose corners beat the best score known are gone through row by row.

A column is one of several that lie side by side in a group: ``codes`` is (groups, rows, width).
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.numeric.exp import log64
from fastml.kernels.tree.exact_split import ROW, apart
from fastml.kernels.tree.nodes import ENTROPY, GINI

N_CODES = 256
MOST_CORNERS = 4
"""With more classes than this there are too many corners: every block is scanned row by row."""

SLACK = 1e-10
"""Share of the total weight by which rounding may put a bound too low."""


@kernel
def _code_column(entries, rows_per_block, codes, starts, inner):
    """Cut one column: codes[row] = its block, block b = entries[starts[b]:starts[b + 1]].

    A block ends where a threshold fits; inner[b] tells whether one fits inside. Number of blocks.
    """
    n = entries.shape[0]
    b, starts[0], inner[0] = 0, 0, False
    for p in range(n):
        if p > 0 and apart(entries[p - 1], entries[p]):
            if p - starts[b] >= rows_per_block:
                b += 1
                starts[b], inner[b] = p, False
            else:
                inner[b] = True
        codes[np.intp(entries[p] & ROW)] = b
    starts[b + 1] = n
    return b + 1


@parallel_kernel
def code_columns(orders, rows_per_block, codes, starts, inner, n_blocks):
    """Cut all columns into blocks: write ``codes`` (groups, rows, width) and, per column, where its
    blocks start (``starts``), whether a threshold fits inside them (``inner``), and their number
    (``n_blocks``)."""
    width = codes.shape[2]
    for f in prange(orders.shape[0]):
        n_blocks[f] = _code_column(
            orders[f], rows_per_block, codes[f // width, :, f % width], starts[f], inner[f]
        )


@kernel
def _sum_chunk(codes, first, last, classes, weights, n_classes, out):
    """out[column, block, class], flat: sums of the weights of rows first..last of a group."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    width = np.uint64(codes.shape[1])
    for row in range(first, last):
        i = np.uint64(row)
        w, k = weights[i], np.uint64(classes[i])
        for j in range(width):
            at = (j * np.uint64(N_CODES) + np.uint64(codes[i, j])) * np.uint64(n_classes) + k
            out[at] += w


@parallel_kernel
def sum_blocks(codes, n_chunks, rows_per_chunk, classes, weights, n_classes, sums):
    """sums[chunk, group] = class weights of every block, of one chunk of rows."""
    for task in prange(n_chunks * codes.shape[0]):
        c, g = task // codes.shape[0], task % codes.shape[0]
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, classes.shape[0])
        _sum_chunk(codes[g], first, last, classes, weights, n_classes, sums[c, g])


@kernel
def side_value(sums, criterion):
    """What the class weights of one side add to the score: minus weight times impurity, up to a
    constant that is the same for all splits."""
    weight, value = 0.0, 0.0
    for k in range(sums.shape[0]):
        weight += sums[k]
    if not weight > 0.0:
        return 0.0
    for k in range(sums.shape[0]):
        if criterion == GINI:
            value += sums[k] * sums[k]
        elif criterion == ENTROPY:
            if sums[k] > 0.0:
                value += sums[k] * log64(sums[k] / weight)
        elif sums[k] > value:
            value = sums[k]
    return value / weight if criterion == GINI else value


@kernel
def _gini_of_two(a, b, total_a, total_b):
    """Score of a split with class weights a, b on its left: the usual case, without loops."""
    c, d = total_a - a, total_b - b
    c = c if c > 0.0 else 0.0  # a difference: rounding may leave less than nothing
    d = d if d > 0.0 else 0.0
    left = a * b / (a + b) if a + b > 0.0 else 0.0
    right = c * d / (c + d) if c + d > 0.0 else 0.0
    return -(left + right)


@kernel
def _score(left, total, right, criterion):
    """Score of a split; ``right`` is scratch."""
    for k in range(total.shape[0]):
        rest = total[k] - left[k]
        right[k] = rest if rest > 0.0 else 0.0
    return side_value(left, criterion) + side_value(right, criterion)


@kernel
def _corner_bound(low, high, total, left, right, criterion):
    """Largest score at the corners of the box between two ends, without the ends themselves;
    ``left`` and ``right`` are scratch."""
    n_classes = total.shape[0]
    best = -np.inf
    for corner in range(1, (1 << n_classes) - 1):
        for k in range(n_classes):
            left[k] = high[k] if (corner >> k) & 1 else low[k]
        best = max(best, _score(left, total, right, criterion))
    return best


@kernel
def _score_ends(sums, starts, inner, n_blocks, rules, prefix, total, bounds, found):
    """`score_ends` for one column: ``prefix[b]`` becomes the class weights before block b,
    ``total`` those of all rows, ``found`` (score, p), or -inf without a split."""
    n, n_classes = starts[n_blocks], total.shape[0]
    min_leaf, criterion = rules.min_leaf, rules.criterion
    left, right = np.empty(n_classes), np.empty(n_classes)
    for k in range(n_classes):
        prefix[0, k] = 0.0
    for c in range(sums.shape[0]):
        for b in range(n_blocks):
            for k in range(n_classes):
                prefix[b + 1, k] = sums[c, b, k] + (prefix[b + 1, k] if c > 0 else 0.0)
    for b in range(n_blocks):
        for k in range(n_classes):
            prefix[b + 1, k] += prefix[b, k]
    for k in range(n_classes):
        total[k] = prefix[n_blocks, k]
    found[0], found[1] = -np.inf, -1.0
    two = criterion == GINI and n_classes == 2
    for b in range(n_blocks):
        if b > 0 and min_leaf <= starts[b] <= n - min_leaf:
            if two:
                score = _gini_of_two(prefix[b, 0], prefix[b, 1], total[0], total[1])
            else:
                score = _score(prefix[b], total, right, criterion)
            if score > found[0]:
                found[0], found[1] = score, starts[b]
        bounds[b] = -np.inf
        if inner[b]:
            bounds[b] = np.inf
            if two:
                bounds[b] = max(
                    _gini_of_two(prefix[b + 1, 0], prefix[b, 1], total[0], total[1]),
                    _gini_of_two(prefix[b, 0], prefix[b + 1, 1], total[0], total[1]),
                )
            elif n_classes <= MOST_CORNERS:
                bounds[b] = _corner_bound(prefix[b], prefix[b + 1], total, left, right, criterion)


@parallel_kernel
def score_ends(sums, starts, inner, n_blocks, rules, prefix, totals, bounds, found):
    """Write, for every column, the class weights before its blocks (``prefix``) and of all rows
    (``totals``), the best split at an end of a block (``found``), and what no split inside a block
    can beat (``bounds``). ``sums`` is (chunks, columns, 256, classes); of the `GrowthRules` only
    criterion and min_leaf count."""
    for f in prange(n_blocks.shape[0]):
        _score_ends(
            sums[:, f], starts[f], inner[f], n_blocks[f], rules, prefix[f],
            totals[f], bounds[f], found[f],
        )  # fmt: skip


@kernel
def _scan_two(entries, first, last, min_leaf, a, b, total, classes, weights):
    """Best split inside one block, of two classes by Gini: (score, p)."""
    best, best_at = -np.inf, -1
    total_a, total_b, n = total[0], total[1], entries.shape[0]
    for p in range(first + 1, last):
        row = np.uint64(entries[p - 1] & ROW)
        w = weights[row]
        if classes[row] == 0:
            a += w
        else:
            b += w
        score = _gini_of_two(a, b, total_a, total_b)
        if score > best and p >= min_leaf and p <= n - min_leaf:
            if apart(entries[p - 1], entries[p]):
                best, best_at = score, p
    return best, best_at


@kernel
def _score_rows(
    entries, starts, n_blocks, rules, prefix, total, bounds, known, classes, weights,
    found,
):  # fmt: skip
    """Write to ``found`` a better split inside the blocks of one column that may hold one;
    ``known`` is the best score so far."""
    n, n_classes = entries.shape[0], total.shape[0]
    min_leaf, criterion = rules.min_leaf, rules.criterion
    left, right = np.empty(n_classes), np.empty(n_classes)
    slack = 0.0
    for k in range(n_classes):
        slack += SLACK * total[k]
    two = criterion == GINI and n_classes == 2
    for b in range(n_blocks):
        if bounds[b] + slack < known:
            continue
        if two:
            score, p = _scan_two(
                entries, starts[b], starts[b + 1], min_leaf, prefix[b, 0], prefix[b, 1], total,
                classes, weights,
            )  # fmt: skip
            if score > found[0] or (score == found[0] and p < found[1]):
                found[0], found[1] = score, p
                known = max(known, score)
            continue
        for k in range(n_classes):
            left[k] = prefix[b, k]
        for p in range(starts[b] + 1, starts[b + 1]):
            row = np.intp(entries[p - 1] & ROW)
            left[classes[row]] += weights[row]
            if p < min_leaf or p > n - min_leaf or not apart(entries[p - 1], entries[p]):
                continue
            score = _score(left, total, right, criterion)
            if score > found[0] or (score == found[0] and p < found[1]):
                found[0], found[1] = score, p
                known = max(known, score)


@parallel_kernel
def score_rows(
    orders, starts, n_blocks, rules, prefix, totals, bounds, known, classes, weights,
    found,
):  # fmt: skip
    """Write to ``found`` the splits inside blocks that are better, where the ``bounds`` of a block
    reach the score ``known``; a column is a piece of work."""
    for f in prange(orders.shape[0]):
        _score_rows(
            orders[f], starts[f], n_blocks[f], rules, prefix[f], totals[f],
            bounds[f], known, classes, weights, found[f],
        )  # fmt: skip


@kernel
def _side_chunk(first, last, column, threshold, classes, weights, sides):
    """Add to sides[0 or 1, class] the weights of the rows first..last."""
    for i in range(first, last):
        sides[0 if column[i] <= threshold else 1, classes[i]] += weights[i]


@parallel_kernel
def side_sums(n_chunks, rows_per_chunk, column, threshold, classes, weights, sides):
    """sides[chunk, 0 or 1, class] += weights of rows at or below the threshold, and above it."""
    for c in prange(n_chunks):
        first = np.intp(c * rows_per_chunk)
        last = min(first + rows_per_chunk, column.shape[0])
        _side_chunk(first, last, column, threshold, classes, weights, sides[c])
