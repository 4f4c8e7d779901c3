import numpy as np
import pytest
from arrays import read_only
from naive_preprocessing import codes_of
from numpy.testing import assert_array_equal

from fastml.kernels.preprocessing.codes import chunk_codes, hash_of, merge_codes, renumber

pytestmark = [
    pytest.mark.small,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # of hashes, with JIT off
]


def hashed(words, text, rows_per_chunk, n_threads):
    n = len(words)
    codes, rows = np.empty((2, n), dtype=np.int64)
    n_found = np.empty(-(-n // rows_per_chunk), dtype=np.int64)
    words = read_only(words)
    chunk_codes(
        words, text, rows_per_chunk, 2 * rows_per_chunk, codes, rows, n_found, n_threads=n_threads
    )
    total = int(n_found.sum())
    common, firsts = np.empty(n, dtype=np.int64), np.empty(total, dtype=np.int64)
    table = np.full(1 << max(4, (2 * total).bit_length()), -1, dtype=np.int64)
    found = merge_codes(words, text, rows_per_chunk, n_found, rows, table, common, firsts)
    renumber(rows_per_chunk, common, np.arange(found), codes, n_threads=n_threads)
    return codes, firsts[:found]


@pytest.mark.parametrize("n", [0, 1, 2, 100])
@pytest.mark.parametrize("k", [1, 5, 90])
def test_codes(n, k):
    rng = np.random.default_rng(n + k)
    for text, items in (
        (
            True,
            np.array([f"{'x' * (code % 3)}{code}" for code in rng.integers(0, k, n)] or [], "U6"),
        ),
        (False, rng.integers(0, k, n) * 2.0**40),
    ):
        words = np.ascontiguousarray(items).view(np.uint32).reshape(n, -1 if n else 6)
        expected, firsts = codes_of(items.tolist())
        for n_threads in (1, 2):
            codes, rows = hashed(words, text, 16, n_threads)
            assert_array_equal(codes, expected)
            assert_array_equal(rows, firsts)


def test_text_is_hashed_to_its_end():
    words = read_only(np.array([[7, 0, 0], [7, 8, 0], [7, 0, 9]], dtype=np.uint32))
    assert hash_of(words, 0, True) == hash_of(words, 2, True) != hash_of(words, 1, True)
    assert hash_of(words, 0, False) != hash_of(words, 2, False)
    assert_array_equal(hashed(words.copy(), True, 16, 1)[0], [0, 1, 2])  # and compared as a whole
