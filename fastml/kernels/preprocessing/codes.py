"""Equal items → equal codes, by hashing; items are rows of 32-bit words (text, numbers, addresses).

Every chunk of rows has a table of its own; tables are merged in the order of the chunks, so that
codes are in the order of first appearance.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF_BITS = np.uint64(32)


@kernel
def hash_of(words, i, text):
    """Return a hash of item i; of text, up to its end."""
    found = np.uint64(0)
    for w in range(words.shape[1]):
        word = words[i, w]
        if text and word == 0:
            break
        found = (found ^ np.uint64(word)) * MULTIPLIER
        found ^= found >> HALF_BITS
    return found


@kernel
def _same(words, i, k):
    """Return whether items i and k are equal."""
    for w in range(words.shape[1]):
        if words[i, w] != words[k, w]:
            return False
    return True


@kernel
def _place(words, i, text, table, rows):
    """Return the slot of ``table`` that holds item i or is free for it; ``rows`` of the codes."""
    mask = np.uint64(table.shape[0] - 1)
    slot = np.intp(hash_of(words, i, text) & mask)
    while table[slot] >= 0 and not _same(words, i, rows[table[slot]]):
        slot = (slot + 1) & np.intp(mask)
    return slot


@kernel
def _chunk_codes(c, words, text, rows_per_chunk, table_size, codes, rows, n_found):
    """`chunk_codes` for chunk c."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, words.shape[0])
    table = np.full(table_size, -1, dtype=np.int32)
    own = rows[first:last]
    n = 0
    for i in range(first, last):
        slot = _place(words, i, text, table, own)
        if table[slot] < 0:
            table[slot] = n
            own[n] = i
            n += 1
        codes[i] = table[slot]
    n_found[c] = n


@parallel_kernel
def chunk_codes(words, text, rows_per_chunk, table_size, codes, rows, n_found):
    """Write ``codes`` that hold within a chunk of rows.

    ``rows`` gets, from the first row of the chunk on, the row of each code; ``n_found`` their
    number. ``table_size`` is a power of two of twice the rows of a chunk or more.
    """
    for c in prange(n_found.shape[0]):
        _chunk_codes(c, words, text, rows_per_chunk, table_size, codes, rows, n_found)


@kernel
def merge_codes(words, text, rows_per_chunk, n_found, rows, table, common, firsts):
    """Give the codes of all chunks one numbering; return how many there are.

    Writes the common code of each chunk's code to ``common``, beside ``rows``, and the row in which
    a common code occurs first to ``firsts``. ``table`` comes full of −1 and is scratch.
    """
    n = 0
    for c in range(n_found.shape[0]):
        first = c * rows_per_chunk
        for k in range(first, first + n_found[c]):
            slot = _place(words, rows[k], text, table, firsts)
            if table[slot] < 0:
                table[slot] = n
                firsts[n] = rows[k]
                n += 1
            common[k] = table[slot]
    return n


@kernel
def _chunk_renumber(c, rows_per_chunk, common, ranks, codes):
    """`renumber` for chunk c."""
    first = c * rows_per_chunk
    last = min(first + rows_per_chunk, codes.shape[0])
    for i in range(first, last):
        codes[i] = ranks[common[first + codes[i]]]


@parallel_kernel
def renumber(rows_per_chunk, common, ranks, codes):
    """Replace the chunks' ``codes`` by ``ranks`` of the common ones."""
    for c in prange((codes.shape[0] + rows_per_chunk - 1) // rows_per_chunk):
        _chunk_renumber(c, rows_per_chunk, common, ranks, codes)
