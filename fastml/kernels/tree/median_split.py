"""Absolute error: the loss around the median of every prefix and suffix, by deletion.

The node's targets are a linked list in ascending order. Rows are deleted in the order of the
column; the median only ever moves to a neighbour or two, so a pass is linear, where heaps or search
trees pay a logarithm for every insertion.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel
from fastml.kernels.tree.exact_split import ROW, apart, respects

SAME = 1e-12
"""Losses that differ by less, relatively, are ties: the first of them counts."""


class TargetLists(NamedTuple):
    """Targets in ascending order, one row of every array per output.

    Those of a node lie in its range [start, end) of ``ys`` and ``ws``.
    """

    places: np.ndarray  # by row, int32: its place among the targets of its node
    ys: np.ndarray
    ws: np.ndarray  # their weights


@kernel
def weighted_median(ys, ws):
    """Weighted median of ascending values ``ys`` with weights ``ws`` (the middle of two where they
    leave equal weight on both sides), and its loss."""
    n = ys.shape[0]
    total = 0.0
    for i in range(n):
        total += ws[i]
    below, i = 0.0, 0
    while i < n - 1 and below + ws[i] < 0.5 * total:
        below += ws[i]
        i += 1
    median = ys[i]
    if i < n - 1 and below + ws[i] == 0.5 * total:
        median = 0.5 * (ys[i] + ys[i + 1])
    loss = 0.0
    for j in range(n):
        loss += ws[j] * abs(ys[j] - median)
    return median, loss


@kernel
def median_pass(
    entries, m, forward, drop_missing, places, ys, ws, before, after, losses, medians
):  # fmt: skip
    """Add to losses[p] the loss of the rows right (forward) or left of a split at p, and write
    their median to medians[p].

    ``places[row]`` is the row's place among the node's targets ``ys`` with weights ``ws``. Rows
    without a value, ``entries[m:]``, leave first if ``drop_missing``. ``before`` and ``after`` are
    scratch.
    """
    n = entries.shape[0]
    weight, total = 0.0, 0.0
    for i in range(n):
        before[i], after[i] = i - 1, i + 1
        weight += ws[i]
        total += ws[i] * ys[i]
    middle, weight_below, sum_below = 0, 0.0, 0.0
    n_dropped = n - m if drop_missing else 0
    for step in range(n_dropped + m + 1):
        # Balance, then note the loss, then delete the next row.
        while middle < n and weight_below + ws[middle] < 0.5 * weight and after[middle] < n:
            weight_below += ws[middle]
            sum_below += ws[middle] * ys[middle]
            middle = after[middle]
        while before[middle] >= 0 and weight_below > 0.5 * weight:
            middle = before[middle]
            weight_below -= ws[middle]
            sum_below -= ws[middle] * ys[middle]
        done = step - n_dropped
        if done >= 0:
            p = done if forward else m - done
            y, w = ys[middle], ws[middle]
            above = weight - weight_below - w
            losses[p] += (y * weight_below - sum_below) + (total - sum_below - w * y - y * above)
            medians[p] = y
            if weight_below + w == 0.5 * weight and after[middle] < n:
                medians[p] = 0.5 * (y + ys[after[middle]])
            elif weight_below == 0.5 * weight and before[middle] >= 0:
                medians[p] = 0.5 * (y + ys[before[middle]])
            if done == m:
                break
            row = np.intp(entries[done if forward else m - 1 - done] & ROW)
        else:
            row = np.intp(entries[m + step] & ROW)
        place = np.intp(places[row])
        w = ws[place]
        weight -= w
        total -= w * ys[place]
        if place < middle:
            weight_below -= w
            sum_below -= w * ys[place]
        elif place == middle:
            if after[middle] < n:
                middle = after[middle]
            elif before[middle] >= 0:
                middle = before[middle]
                weight_below -= ws[middle]
                sum_below -= ws[middle] * ys[middle]
            else:  # nothing is left
                weight, total, weight_below, sum_below = 0.0, 0.0, 0.0, 0.0
                if done == m - 1:
                    losses[m if forward else 0] += 0.0
                    break
                continue
        a, b = before[place], after[place]
        if a >= 0:
            after[a] = b
        if b < n:
            before[b] = a


@kernel
def _unlink(links, place):
    """Take a place out of a list with ends: links[place] = (before, after)."""
    a, b = np.uint64(links[place, 0]), np.uint64(links[place, 1])
    links[a, 1] = b
    links[b, 0] = a


@kernel
def unit_losses(entries, places, ys, losses):
    """losses[p] = loss of entries[:p] + loss of entries[p:], 0 < p < n, where all weights are one.

    Of r rows that remain, the (r + 1) // 2-th is the middle. A deletion moves it to a neighbour or
    not at all, and the loss falls by the distance of the row from the middle that both sets have:
    no sums, no branches. The two directions run together, as each of them waits for its own loads.
    """
    n = entries.shape[0]
    one = np.uint64(1)
    ahead, back = np.empty((n + 2, 2), np.int32), np.empty((n + 2, 2), np.int32)
    for i in range(n + 2):
        ahead[i, 0], ahead[i, 1] = i - 1, i + 1
        back[i, 0], back[i, 1] = i - 1, i + 1
    loss = 0.0
    for i in range(n // 2):
        loss += ys[n - 1 - i] - ys[i]
    right_loss, left_loss = loss, loss
    middle_right = middle_left = np.uint64((n + 1) // 2)
    for i in range(n):
        losses[i] = 0.0
    for i in range(n - 1):
        first, last = np.intp(entries[i] & ROW), np.intp(entries[n - 1 - i] & ROW)
        p, q = np.uint64(places[first]) + one, np.uint64(places[last]) + one
        m, k = middle_right, middle_left
        if (n - i) & 1:
            m = np.uint64(ahead[m, 0]) if p >= m else m
            k = np.uint64(back[k, 0]) if q >= k else k
            right_loss -= abs(ys[p - one] - ys[middle_right - one])
            left_loss -= abs(ys[q - one] - ys[middle_left - one])
        else:
            m = np.uint64(ahead[m, 1]) if p <= m else m
            k = np.uint64(back[k, 1]) if q <= k else k
            right_loss -= abs(ys[p - one] - ys[m - one])
            left_loss -= abs(ys[q - one] - ys[k - one])
        _unlink(ahead, p)
        _unlink(back, q)
        middle_right, middle_left = m, k
        losses[i + 1] += right_loss
        losses[n - 1 - i] += left_loss


@kernel
def first_least(entries, first, last, min_leaf, min_weight, losses):
    """(score, p) of the first p of the least loss, where all weights are one."""
    n = entries.shape[0]
    least = max(1, np.intp(min_leaf), np.intp(np.ceil(min_weight)))
    best, best_at = np.inf, -1
    for p in range(max(first, least), min(last, n - least) + 1):
        if losses[p] < best - SAME * best or best_at < 0:
            if apart(entries[p - 1], entries[p]):
                best, best_at = losses[p], p
    return -best, best_at


@kernel
def scan_medians(column, data, rules, lists, start, weight, search):
    """Absolute error of all outputs: (score, p) as in `exact_split`.

    ``lists`` holds the targets of the node, whose range begins at ``start``.
    """
    entries, m, weights, unit = column.entries, column.m, data.weights, data.unit
    n, n_outputs, sign = entries.shape[0], lists.ys.shape[0], column.sign
    end, missing_left = start + n, column.missing_left
    if unit and m == n and sign == 0 and n_outputs == 1:
        losses = np.empty(n)
        unit_losses(entries, lists.places[0], lists.ys[0, start:end], losses)
        return first_least(
            entries, column.first, column.last, rules.min_leaf, rules.min_weight, losses
        )
    left_losses, right_losses = np.zeros(m + 1), np.zeros(m + 1)
    left_medians, right_medians = np.empty(m + 1), np.empty(m + 1)
    before, after = np.empty(n, np.int32), np.empty(n, np.int32)
    for o in range(n_outputs):
        places, ys, ws = lists.places[o], lists.ys[o, start:end], lists.ws[o, start:end]
        forward = o >= 0  # not a literal: one compilation serves both passes
        median_pass(
            entries, m, forward, missing_left, places, ys, ws, before, after, right_losses,
            right_medians,
        )  # fmt: skip
        median_pass(
            entries, m, not forward, not missing_left, places, ys, ws, before, after,
            left_losses, left_medians,
        )  # fmt: skip
    n_base, weight_left = 0, 0.0
    if missing_left:
        n_base = n - m
        for q in range(m, n):
            weight_left += 1.0 if unit else weights[np.intp(entries[q] & ROW)]
    best, best_at = -np.inf, -1
    for p in range(1, column.last + 1):
        weight_left += 1.0 if unit else weights[np.intp(entries[p - 1] & ROW)]
        n_left = n_base + p
        if p < column.first or n_left < rules.min_leaf or n - n_left < rules.min_leaf:
            continue
        if weight_left < rules.min_weight or weight - weight_left < rules.min_weight:
            continue
        score = -left_losses[p] - right_losses[p]
        if best_at < 0 or score > best + SAME * abs(best):
            if p < m and not apart(entries[p - 1], entries[p]):
                continue
            if sign != 0 and not respects(sign, search.bounds, left_medians[p], right_medians[p]):
                continue
            best, best_at = score, p
    return best, best_at
