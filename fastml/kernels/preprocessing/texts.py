"""Python's strings → rows of 32-bit words, read where they lie."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._jit import kernel, parallel_kernel, prange

BYTES_OF_WORD = 4
LOW_HALF = np.uint64(0xFFFFFFFF)
NO_TEXT = np.uint32(7)
TYPE, LENGTH, STATE = 1, 2, 4
"""Places of an object's type, of a string's length and of its flags, in 64-bit words."""


class TextLayout(NamedTuple):
    """How this Python lays out strings."""

    memory: NDArray  # uint64, from the lowest address on
    type_word: np.uint64  # of a string
    shift: np.int64  # of three bits with the bytes of a character, then "compact", then "ASCII"
    plain: np.int64  # 64-bit words before the characters of ASCII text
    other: np.int64  # before those of any other


@kernel
def _write_item(layout, place, item):
    """Write the object at ``place`` of the memory to ``item``; return the words that it needs."""
    memory = layout.memory
    state = np.int64(0)  # read of strings only: other objects may end before it
    if memory[place + TYPE] == layout.type_word:
        state = np.int64(memory[place + STATE] & LOW_HALF) >> layout.shift
    width = state & 7
    compact = (state >> 3) & 1
    item[:] = 0
    if not compact:
        item[0] = NO_TEXT
        item[1] = np.uint32(np.uint64(place) & LOW_HALF)
        item[2] = np.uint32(np.uint64(place) >> np.uint64(32))
        return 3
    n_bytes = np.int64(memory[place + LENGTH]) * width
    n_words = 1 + (n_bytes + BYTES_OF_WORD - 1) // BYTES_OF_WORD
    if n_words > item.shape[0]:
        return n_words
    first = place + (layout.plain if (state >> 4) & 1 else layout.other)
    item[0] = np.uint32(8 * n_bytes + width)
    for w in range(1, n_words):
        both = memory[first + (w - 1) // 2]
        word = both >> np.uint64(32) if (w - 1) % 2 else both & LOW_HALF
        rest = n_bytes - BYTES_OF_WORD * (w - 1)
        if rest < BYTES_OF_WORD:  # what lies behind the text is anything
            word &= (np.uint64(1) << np.uint64(8 * rest)) - np.uint64(1)
        item[w] = np.uint32(word)
    return n_words


@kernel
def _chunk_texts(c, layout, places, rows_per_chunk, words, longest):
    """`text_words` for chunk c."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, places.shape[0])
    most = 0
    for i in range(first, last):
        most = max(most, _write_item(layout, places[i], words[i]))
    longest[c] = most


@parallel_kernel
def text_words(layout, places, rows_per_chunk, words, longest):
    """Write each object to a row of ``words``, and the words that a chunk needs to ``longest``.

    A string's row is its number of bytes times 8, plus the bytes of a character, then its
    characters; that of any other object is 7, then its place. Rows without room are unfinished.
    """
    for c in prange(longest.shape[0]):
        _chunk_texts(c, layout, places, rows_per_chunk, words, longest)
