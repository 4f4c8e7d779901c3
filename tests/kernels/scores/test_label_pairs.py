"""Counted pairs and codes of words beside loops."""

import naive_scores
import numpy as np
import pytest
from arrays import read_only

from fastml.kernels.scores.label_pairs import count_pairs, encode_words, least_and_largest


@pytest.mark.small
@pytest.mark.parametrize("n", [1, 2, 3, 100, 101])
@pytest.mark.parametrize("low", [0, -3, 10])
def test_count_pairs(n, low):
    y_true, y_pred = np.random.default_rng(n).integers(low, low + 4, size=(2, n))
    table = np.zeros((4, 4), dtype=np.int64)
    count_pairs(read_only(y_true), read_only(y_pred), low, table)
    np.testing.assert_array_equal(table, naive_scores.pair_counts(y_true, y_pred, low, 4))


@pytest.mark.small
@pytest.mark.parametrize("labels", [[5], [3, -2], [0, 0, 0], list(range(-7, 40))])
def test_least_and_largest(labels):
    found = least_and_largest(read_only(np.array(labels, dtype=np.int64)))
    assert found == (min(labels), max(labels))


def encoded(words, most):
    array = np.array(words)
    view = read_only(array.view(np.uint32).reshape(array.shape[0], -1))
    codes, firsts = np.empty(len(words), dtype=np.intp), np.empty(most, dtype=np.intp)
    with np.errstate(over="ignore"):  # hashes wrap; without JIT NumPy would tell
        n = encode_words(view, np.full(2 * most, -1, dtype=np.intp), firsts, codes)
    return n, codes, firsts[: max(n, 0)]


@pytest.mark.small
@pytest.mark.parametrize(
    "words", [["a"], ["b", "a", "b"], ["", "x", ""], ["spam", "ham", "spam", "eggs"] * 5]
)
def test_encode_words(words):
    n, codes, firsts = encoded(words, 8)
    np.testing.assert_array_equal(codes, naive_scores.codes_by_appearance(words))
    assert [words[i] for i in firsts] == list(dict.fromkeys(words))
    assert n == len(set(words))


@pytest.mark.small
def test_words_that_collide_are_told_apart():
    words = [str(i) for i in np.random.default_rng(0).integers(8, size=200)]
    n, codes, _ = encoded(words, 8)  # sixteen slots for eight words
    np.testing.assert_array_equal(codes, naive_scores.codes_by_appearance(words))
    assert n == 8


@pytest.mark.small
def test_too_many_words():
    assert encoded(["a", "b", "c"], 2)[0] == -1
