"""Columns of Python's strings as numbers, without a step through Python for each.

Strings are read where they lie, which is done only where a few of them are found to lie as
expected: CPython with its lock, 64 bits, the lowest byte first.
"""

from __future__ import annotations

import sys
import sysconfig
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.preprocessing.texts import TextLayout, text_words

ROWS_PER_CHUNK = 1 << 15
SAMPLE = 64
LEAST_WORDS, MOST_WORDS = 3, 33
"""Longer text costs more to copy than a dictionary takes."""
SHIFTS = (2, 16)
"""Where the flags of a string begin: up to Python 3.13, from 3.14 on."""
SAMPLES = ("", "a", "abcd", "abcdefgh" * 3, "caf\xe9", "\u0434\u0430", "\U0001f600!", "nul\0nul")


class _View:
    """Memory at an address as an array; keeps what it belongs to."""

    def __init__(self, owner, address, shape, strides=None):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "typestr": np.dtype(np.uint64).str, "shape": shape,
            "strides": strides, "data": (address, True),
        }  # fmt: skip


def addresses_of(values: NDArray) -> NDArray:
    """The addresses of an object array's items."""
    start = values.__array_interface__["data"][0]
    return np.ascontiguousarray(np.asarray(_View(values, start, values.shape, values.strides)))


def item_words(values: NDArray) -> NDArray | None:
    """(n × w) 32-bit words of a column of objects, equal for equal strings and for one object.

    Of other objects that are equal, the words may differ. None where this Python's strings cannot
    be read, none is met among some of the items, some are long, or an item is NULL (NumPy's other
    None).
    """
    some = values[:: max(1, len(values) // SAMPLE)].tolist()
    lengths = [len(text) for text in some if type(text) is str]
    shift = _shift() if lengths else None
    if shift is None or not addresses_of(values).all():
        return None
    values = values.copy()  # another thread may take strings out of the user's array
    width = max(LEAST_WORDS, 1 + -(-max(lengths) // 4))
    words = _words(values, shift, min(width, MOST_WORDS))
    if isinstance(words, int):
        words = _words(values, shift, words) if words <= MOST_WORDS else None
    return words


def _words(values, shift, width):
    """Words of the items, or how many a row needs."""
    addresses = addresses_of(values)
    low = int(addresses.min())
    span = (int(addresses.max()) - low) // 8
    memory = np.asarray(_View(values, low, (span + 8 + MOST_WORDS,)))
    layout = TextLayout(
        kernel_view(memory), np.uint64(id(str)), np.int64(shift),
        np.int64(sys.getsizeof("") - 1 >> 3), np.int64(sys.getsizeof("\x80") - 2 >> 3),
    )  # fmt: skip
    words = np.empty((len(values), width), dtype=np.uint32)
    longest = np.empty(-(-len(values) // ROWS_PER_CHUNK), dtype=np.int64)
    places = kernel_view(((addresses - np.uint64(low)) >> np.uint64(3)).astype(np.int64))
    threads = effective_n_threads(None, work=64.0 * words.size)
    text_words(layout, places, ROWS_PER_CHUNK, words, longest, n_threads=threads)
    most = int(longest.max())
    return words if most <= width else most


@cache
def _shift() -> int | None:
    """Where a string's flags begin; None if its strings are not laid out as expected."""
    known = (
        sys.implementation.name == "cpython" and sys.byteorder == "little"
        and sys.maxsize > 2**32 and not sysconfig.get_config_var("Py_GIL_DISABLED")
    )  # fmt: skip
    if known:
        samples = np.array(SAMPLES, dtype=object)
        expected = [_words_of(text) for text in SAMPLES]
        for shift in SHIFTS:
            found = _words(samples, shift, 2 + max(map(len, expected)))
            if not isinstance(found, int) and all(
                row[: len(words)].tolist() == words and not row[len(words) :].any()
                for row, words in zip(found, expected)
            ):
                return shift
    return None


def _words_of(text: str) -> list[int]:
    """A string's words, by Python."""
    top = max(map(ord, text), default=0)
    width, name = (1, "latin-1") if top < 1 << 8 else (2, "utf-16-le")
    if top >= 1 << 16:
        width, name = 4, "utf-32-le"
    data = text.encode(name)
    padded = data + bytes(-len(data) % 4)
    return [8 * len(data) + width, *np.frombuffer(padded, dtype=np.uint32).tolist()]
