import ctypes
import sys
import sysconfig

import numpy as np
import pytest
from arrays import read_only
from naive_preprocessing import codes_of, words_of_text
from numpy.testing import assert_array_equal

from fastml._engines import python_text
from fastml._engines.categories import factorise
from fastml.kernels.preprocessing.texts import TextLayout, text_words

pytestmark = pytest.mark.small


def memory_of(objects, text_type=77):
    """A memory in which strings lie as in CPython 3.12; objects and their places in it."""
    memory, places = [], []
    for item in objects:
        places.append(len(memory))
        if item is None:
            memory += [1, 99, 0, 0, 0, 0]
            continue
        words, plain = words_of_text(item), item.isascii()
        n_bytes, width = divmod(words[0], 8)
        state = (width << 2) | (1 << 5) | (plain << 6)
        halves = words[1:] + [0xFFFFFFFF] * (len(words) % 2 == 0)
        if n_bytes % 4:  # rubbish behind the text
            halves[len(words) - 2] |= 0xFFFFFFFF << 8 * (n_bytes % 4) & 0xFFFFFFFF
        pairs = [low | high << 32 for low, high in zip(halves[::2], halves[1::2])]
        memory += [
            1,
            text_type,
            n_bytes // width,
            5,
            state | 0xABC << 32,
            *([] if plain else [0] * 2),
        ]
        memory += pairs
    layout = TextLayout(
        read_only(np.array([*memory, 0, 0], dtype=np.uint64)), np.uint64(text_type), np.int64(2),
        np.int64(5), np.int64(7),
    )  # fmt: skip
    return layout, read_only(np.array(places, dtype=np.int64))


@pytest.mark.parametrize("n", [0, 1, 2, 40])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_text_words(n, n_threads):
    texts = ["", "a", "abcd", "abcdefg", "caf\xe9", "\u0434\u0430", "\U0001f600!", "a\0", None] * 5
    layout, places = memory_of(texts[:n])
    words = np.full((n, 4), 9, dtype=np.uint32)
    longest = np.full(-(-n // 16), -1, dtype=np.int64)
    text_words(layout, places, 16, words, longest, n_threads=n_threads)
    for text, place, row in zip(texts, places, words):
        expected = [7, place, 0] if text is None else words_of_text(text)
        assert_array_equal(row, expected + [0] * (4 - len(expected)))
    for c, most in enumerate(longest):
        mine = [3 if t is None else len(words_of_text(t)) for t in texts[:n][16 * c : 16 * c + 16]]
        assert most == max(mine)


def test_rows_without_room_are_said():
    layout, places = memory_of(["abc", "abcdefghijkl"])
    words, longest = np.zeros((2, 3), dtype=np.uint32), np.zeros(1, dtype=np.int64)
    text_words(layout, places, 16, words, longest, n_threads=1)
    assert longest[0] == 4
    assert_array_equal(words[0, :2], words_of_text("abc"))


def test_other_objects_may_end_behind_their_type():
    layout, places = memory_of(["abc"])
    short = np.append(layout.memory[:-2], np.array([1, 99], dtype=np.uint64))
    places = read_only(np.append(places, len(short) - 2))
    words, longest = np.zeros((2, 3), dtype=np.uint32), np.zeros(1, dtype=np.int64)
    text_words(layout._replace(memory=read_only(short)), places, 16, words, longest, n_threads=1)
    assert_array_equal(words[1], [7, places[1], 0])


def test_strings_of_this_python():
    """Read where they lie; where they do not lie as expected, they are not read."""
    texts = np.array(
        [chr(200 + i % 7) * (i % 5) + "ab" * (i % 3) for i in range(300)], dtype=object
    )
    words = python_text.item_words(texts)
    if python_text._shift() is None:
        assert words is None
        return
    codes, _ = codes_of(texts.tolist())
    assert_array_equal(codes_of(map(tuple, words.tolist()))[0], codes)
    assert python_text.item_words(np.array(["x" * 999, "a"], dtype=object)) is None
    assert python_text.item_words(texts[:0]) is None


@pytest.mark.parametrize("other", ["name", "order", "words", "no lock", "flags", "head"])
def test_another_python_is_left_alone(other, monkeypatch):
    """Neither its name nor the places of a string's parts may differ."""
    if python_text._shift() is None:
        pytest.skip("this Python's strings are not read")
    if other == "name":
        monkeypatch.setattr(sys.implementation, "name", "pypy")
    elif other == "order":
        monkeypatch.setattr(sys, "byteorder", "big")
    elif other == "words":
        monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    elif other == "no lock":
        monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1)
    elif other == "flags":
        monkeypatch.setattr(python_text, "SHIFTS", (3, 15, 17))
    else:
        size = sys.getsizeof
        monkeypatch.setattr(sys, "getsizeof", lambda text: size(text) + 8)
    assert python_text._shift.__wrapped__() is None
    monkeypatch.setattr(python_text, "_shift", python_text._shift.__wrapped__)
    assert python_text.item_words(np.array(["a", "b"], dtype=object)) is None


def test_items_without_an_object():
    """NumPy takes NULL for None."""
    texts = np.array([chr(200 + i % 7) * 3 for i in range(3000)], dtype=object)
    ctypes.memset(texts.ctypes.data + 8 * 100, 0, 8)  # a string is never freed, and that is all
    assert texts[100] is None
    assert python_text.item_words(texts) is None
    values = factorise(texts).values.tolist()
    assert len(values) == 8
    assert None in values


def test_strings_live_while_they_are_read(monkeypatch):
    """Whatever happens to the user's array meanwhile."""
    texts = np.array(["ab" * (1 + i % 3) + str(i) for i in range(50)], dtype=object)
    expected = texts.tolist()
    read = python_text._words

    def taken_out(values, shift, width):
        texts[:] = None
        return read(values, shift, width)

    python_text._shift()
    monkeypatch.setattr(python_text, "_words", taken_out)
    words = python_text.item_words(texts)
    if words is not None:
        for text, row in zip(expected, words):
            assert_array_equal(row[: len(words_of_text(text))], words_of_text(text))
