"""A set of small integers as a bitmap of two levels, read off in order.

One array: a bit for every word of the lower level, then the lower level, a bit for every integer.
"""

import numpy as np

from fastml._jit import kernel

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)


def _bit_positions():
    """By the upper six bits of ``DE_BRUIJN << bit``: the bit."""
    table = np.zeros(64, dtype=np.uint8)
    for bit in range(64):
        table[((int(DE_BRUIJN) << bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = bit
    return table


BIT_POSITION = _bit_positions()
ONE64 = np.uint64(1)


@kernel
def lowest_bit(word):
    """Position of the lowest set bit of a uint64 that is not zero."""
    isolated = word & (~word + ONE64)
    return np.intp(BIT_POSITION[(isolated * DE_BRUIJN) >> np.uint64(58)])


@kernel
def upper_words(n_codes):
    """Length of the upper level of a set of integers below ``n_codes``."""
    return (n_codes >> 12) + 1


@kernel
def all_words(n_codes):
    """Length of both levels of such a set."""
    return upper_words(n_codes) + (n_codes >> 6) + 1


@kernel
def note_code(bits, lower, code):
    """Put a code into the set ``bits``; ``lower`` is where the lower level begins."""
    word = np.uint64(code) >> np.uint64(6)
    bits[np.uint64(lower) + word] |= ONE64 << (np.uint64(code) & np.uint64(63))
    bits[word >> np.uint64(6)] |= ONE64 << (word & np.uint64(63))


@kernel
def take_codes(bits, lower, codes):
    """Write the codes of the set ``bits``, in order, to ``codes`` and empty the set; return their
    number."""
    n = 0
    for top in range(lower):
        above = bits[top]
        bits[top] = np.uint64(0)
        while above != np.uint64(0):
            word = 64 * top + lowest_bit(above)
            above &= above - ONE64
            rest = bits[lower + word]
            bits[lower + word] = np.uint64(0)
            while rest != np.uint64(0):
                codes[n] = 64 * word + lowest_bit(rest)
                n += 1
                rest &= rest - ONE64
    return n
