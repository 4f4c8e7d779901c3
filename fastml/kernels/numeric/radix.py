"""Sorting of float64 by the digits of their bits, from the lowest to the highest.

The bits of a float, with the sign flipped (all bits, if it is negative), are in the order of the
numbers. Each pass moves every number once to its place by one digit; digits that all numbers share
are skipped. The time does not depend on the processor's SIMD instructions, as NumPy's does.
"""

import numpy as np

from fastml._jit import kernel

DIGIT_BITS = 8
SORT_DIGITS = 64 // DIGIT_BITS
N_BUCKETS = 1 << DIGIT_BITS

SIGN_BIT = np.uint64(1 << 63)
DIGIT_MASK = np.uint64(N_BUCKETS - 1)


@kernel
def _to_keys(bits, counts):
    """Turn ``bits`` of floats into keys of the same order; count their digits in ``counts``."""
    for i in range(bits.shape[0]):
        key = bits[i]
        key = ~key if key & SIGN_BIT else key | SIGN_BIT
        bits[i] = key
        for digit in range(SORT_DIGITS):
            counts[digit, key & DIGIT_MASK] += 1
            key >>= np.uint64(DIGIT_BITS)


@kernel
def _move(source, target, digit, counts):
    """Write ``source`` to ``target`` in the order of one digit; ``counts`` become places."""
    place = 0
    for bucket in range(N_BUCKETS):
        size = counts[bucket]
        counts[bucket] = place
        place += size
    shift = np.uint64(digit * DIGIT_BITS)
    for i in range(source.shape[0]):
        key = source[i]
        bucket = (key >> shift) & DIGIT_MASK
        target[counts[bucket]] = key
        counts[bucket] += 1


@kernel
def sort_floats(values, scratch):
    """Sort float64 ``values``, none of them NaN, in place; ``scratch`` (uint64) is as long."""
    keys = values.view(np.uint64)
    n = keys.shape[0]
    counts = np.zeros((SORT_DIGITS, N_BUCKETS), dtype=np.intp)
    _to_keys(keys, counts)
    moved = False
    for digit in range(SORT_DIGITS):
        shared = False
        for bucket in range(N_BUCKETS):
            shared = shared or counts[digit, bucket] == n
        if not shared:
            if moved:
                _move(scratch, keys, digit, counts[digit])
            else:
                _move(keys, scratch, digit, counts[digit])
            moved = not moved
    for i in range(n):
        key = scratch[i] if moved else keys[i]
        keys[i] = key & ~SIGN_BIT if key & SIGN_BIT else ~key
