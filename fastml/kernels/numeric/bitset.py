"""A set of small integers as a bitmap of two levels, read off in order.

One array: a bit for every word of the lower level, then the lower level, a bit for every integer.
"""

import numpy as np

from fastml._jit import kernel

ONE64 = np.uint64(1)
AT_ONCE_CODES = 4
"""Codes of a word that are written whether it has so many or not: no branch to foresee."""


@kernel
def popcount(x):
    """Number of ones in a uint64; LLVM recognises the trick."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def lowest_bit(word):
    """Position of the lowest set bit of a uint64, 64 of zero; LLVM recognises this too."""
    return np.intp(popcount((word - ONE64) & ~word))


@kernel
def write_codes(word, first, codes, n):
    """Write ``first`` plus the position of every bit of ``word`` to ``codes``, from place ``n`` on,
    and up to `AT_ONCE_CODES` numbers of no meaning after them. Returns the place after the codes.
    """
    end = n + np.intp(popcount(word))
    while n < end:
        for i in range(AT_ONCE_CODES):
            codes[n + i] = first + lowest_bit(word)
            word &= word - ONE64
        n += AT_ONCE_CODES
    return end


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
    number. ``codes`` has room for `AT_ONCE_CODES` more."""
    n = np.intp(0)
    for top in range(lower):
        above = bits[top]
        bits[top] = np.uint64(0)
        while above != np.uint64(0):
            word = 64 * top + lowest_bit(above)
            above &= above - ONE64
            n = write_codes(bits[lower + word], 64 * word, codes, n)
            bits[lower + word] = np.uint64(0)
    return n


@kernel
def note_lower(bits, lower, code):
    """As `note_code`, for a set that `scan_codes` takes from ``bits``: the lower level only."""
    bits[np.uint64(lower) + (np.uint64(code) >> np.uint64(6))] |= ONE64 << (
        np.uint64(code) & np.uint64(63)
    )


@kernel
def scan_codes(bits, lower, codes):
    """As `take_codes`, from ``bits`` to ``codes``, through all words: where few of them are empty,
    the upper level costs more than it saves."""
    n = np.intp(0)
    for word in range(bits.shape[0] - lower):
        n = write_codes(bits[lower + word], 64 * word, codes, n)
        bits[lower + word] = np.uint64(0)
    return n
