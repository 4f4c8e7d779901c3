"""Pairs of labels counted, and words turned into codes."""

import numpy as np

from fastml._jit import kernel

FNV_OFFSET = np.uint64(14695981039346656037)
FNV_PRIME = np.uint64(1099511628211)


@kernel
def count_pairs(y_true, y_pred, low, table):
    """Add 1 to ``table[t - low, p - low]`` for the labels t and p of every row.

    Two tables take turns, so that equal pairs in a row do not wait for each other.
    """
    width = table.shape[1]
    counts = np.zeros((2, width * width), dtype=np.int64)
    n = y_true.shape[0]
    for i in range(0, n - 1, 2):
        counts[0, (y_true[i] - low) * width + y_pred[i] - low] += 1
        counts[1, (y_true[i + 1] - low) * width + y_pred[i + 1] - low] += 1
    if n % 2:
        counts[0, (y_true[n - 1] - low) * width + y_pred[n - 1] - low] += 1
    for t in range(width):
        for p in range(width):
            table[t, p] += counts[0, t * width + p] + counts[1, t * width + p]


@kernel
def least_and_largest(labels):
    """Return the least and the largest label."""
    least = labels[0]
    largest = labels[0]
    for i in range(labels.shape[0]):
        value = labels[i]
        if value < least:
            least = value
        if value > largest:
            largest = value
    return least, largest


@kernel
def _slot(words, i, slots, firsts):
    """Return the place in ``slots`` of the code of row i, or of the empty slot where it belongs."""
    hashed = FNV_OFFSET
    for j in range(words.shape[1]):
        hashed = (hashed ^ np.uint64(words[i, j])) * FNV_PRIME
    mask = np.uint64(slots.shape[0] - 1)
    place = (hashed ^ (hashed >> np.uint64(32))) & mask
    while slots[place] >= 0:
        first = firsts[slots[place]]
        same = True
        for j in range(words.shape[1]):
            if words[i, j] != words[first, j]:
                same = False
                break
        if same:
            break
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def encode_words(words, slots, firsts, codes):
    """Write a code per row of ``words`` to ``codes``, in order of appearance.

    ``firsts[code]`` gets the first row of that word; ``slots`` (all -1, a power of two, at least
    twice as many as ``firsts``) is the hash table. Return the number of codes, or -1 where
    ``firsts`` is too short.
    """
    n_codes = 0
    for i in range(words.shape[0]):
        place = _slot(words, i, slots, firsts)
        if slots[place] < 0:
            if n_codes == firsts.shape[0]:
                return -1
            slots[place] = n_codes
            firsts[n_codes] = i
            n_codes += 1
        codes[i] = slots[place]
    return n_codes
