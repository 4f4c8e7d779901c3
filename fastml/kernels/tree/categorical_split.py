"""Subsets of categories: sort the categories by their mean target, then split as by a threshold.

For two classes and for squared error the best subset is a prefix in that order (Fisher 1958,
Breiman et al. 1984), so one scan finds it among all 2^(q-1) - 1. With more classes there is one
order per class, which finds the best subset that sets one class apart; with other criteria the
order of the means is a heuristic.
"""

import numpy as np

from fastml._jit import kernel
from fastml.kernels.tree.exact_split import ROW
from fastml.kernels.tree.presort import value_of


@kernel
def group_by_category(entries, m, output_class, classes, values, weights, out):
    """Write to out[:m] the entries, categories ascending by mean target, keyed by their place, and
    the rest as they are. The key of an entry encodes its category's place as the float32 ``place``.

    The mean is of the first output: its value, or the indicator of class ``output_class``.
    Returns the number of categories.
    """
    n = entries.shape[0]
    starts = np.empty(m + 1, np.intp)
    means = np.empty(m + 1)
    q, p = 0, 0
    while p < m:
        starts[q] = p
        key = entries[p] >> np.uint64(32)
        total, weight = 0.0, 0.0
        while p < m and (entries[p] >> np.uint64(32)) == key:
            row = np.intp(entries[p] & ROW)
            if classes is not None:
                if classes[0, row] == output_class:
                    total += weights[row]
            if values is not None:
                total += weights[row] * values[0, row]
            weight += weights[row]
            p += 1
        means[q] = total / weight if weight != 0.0 else 0.0
        q += 1
    starts[q] = m
    places = np.empty(q, np.intp)
    for group in range(q):  # by insertion: categories are few
        j = group
        while j > 0 and means[places[j - 1]] > means[group]:
            places[j] = places[j - 1]
            j -= 1
        places[j] = group
    at = 0
    for place in range(q):
        key = np.uint64(np.float32(place + 1).view(np.uint32) | np.uint32(0x80000000))
        group = places[place]
        for p in range(starts[group], starts[group + 1]):
            out[at] = (key << np.uint64(32)) | (entries[p] & ROW)
            at += 1
    for p in range(m, n):
        out[p] = entries[p]
    return q


@kernel
def write_bitset(entries, m, sides, default_left, words):
    """Write the set of the categories that go left to ``words``; categories that are not in the
    node go where ``default_left`` says.

    ``sides[row]`` is 1 for rows that go left. Returns the number of words used.
    """
    largest = 0
    if m > 0:
        largest = np.intp(value_of(entries[m - 1]))
    n_words = (largest >> 5) + 1
    head = np.uint32(n_words)
    if default_left:
        head |= np.uint32(0x80000000)
    words[0] = head
    for j in range(n_words):
        words[1 + j] = np.uint32(0xFFFFFFFF) if default_left else np.uint32(0)
    for p in range(m):
        code = np.intp(value_of(entries[p]))
        bit = np.uint32(1) << np.uint32(code & 31)
        if sides[np.intp(entries[p] & ROW)]:
            words[1 + (code >> 5)] |= bit
        else:
            words[1 + (code >> 5)] &= ~bit
    return n_words + 1
