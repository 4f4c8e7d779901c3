"""Columns of float32 in ascending order, as 64-bit entries: sortable value above, row below.

The bits of a float, with the sign bit flipped (all bits, if negative), compare as unsigned integers
in the order of the values. So an entry carries its value through every partition, and neither the
value nor its rank is looked up again. Missing values have the largest key. The sort is by counting,
eleven bits a pass, stable.
"""

import numpy as np

from fastml._jit import kernel

MISSING_KEY = 0xFFFFFFFF
DIGIT = 11
N_DIGITS = 1 << DIGIT


@kernel
def key_of(value):
    """Sortable bits of a float32; the two zeros are one."""
    if value != value:
        return np.uint64(MISSING_KEY)
    bits = np.float32(value + np.float32(0.0)).view(np.uint32)
    if bits >> np.uint32(31):
        return np.uint64(~bits)
    return np.uint64(bits | np.uint32(0x80000000))


@kernel
def key_below(threshold):
    """Key of the greatest float32 that is not above a float64."""
    nearest = np.float32(threshold)
    if np.float64(nearest) > threshold:
        return key_of(nearest) - np.uint64(1)
    return key_of(nearest)


@kernel
def value_of(entry):
    """The float32 of an entry."""
    key = np.uint32(entry >> np.uint64(32))
    if key >> np.uint32(31):
        return np.uint32(key & np.uint32(0x7FFFFFFF)).view(np.float32)
    return np.uint32(~key).view(np.float32)


@kernel
def sort_column(X, column, order):
    """Write to ``order`` the entries of one column of X, ascending; equal values by row."""
    n = X.shape[0]
    for i in range(n):
        order[i] = (key_of(X[i, column]) << np.uint64(32)) | np.uint64(i)
    sort_entries(order, np.empty(n, np.uint64))


@kernel
def sort_entries(order, spare):
    """Sort the entries of ``order`` by their upper halves, in place; ``spare`` is scratch of the
    same length."""
    n = order.shape[0]
    if n <= 64:
        for i in range(1, n):
            entry = order[i]
            j = i - 1
            while j >= 0 and order[j] > entry:
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = entry
        return
    counts = np.empty(N_DIGITS, np.intp)
    for step in range(3):
        shift = np.uint64(32 + step * DIGIT)
        mask = np.uint64(N_DIGITS - 1)
        for digit in range(N_DIGITS):
            counts[digit] = 0
        for i in range(n):
            counts[np.intp((order[i] >> shift) & mask)] += 1
        total = 0
        for digit in range(N_DIGITS):
            total, counts[digit] = total + counts[digit], total
        for i in range(n):
            digit = np.intp((order[i] >> shift) & mask)
            spare[counts[digit]] = order[i]
            counts[digit] += 1
        for i in range(n):
            order[i] = spare[i]
