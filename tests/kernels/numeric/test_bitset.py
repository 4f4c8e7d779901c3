"""Sets of codes against Python's own."""

import numpy as np
import pytest

from fastml.kernels.numeric.bitset import (
    AT_ONCE_CODES,
    all_words,
    lowest_bit,
    note_code,
    note_lower,
    popcount,
    scan_codes,
    take_codes,
    upper_words,
    write_codes,
)

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")


@pytest.mark.small
def test_lowest_bit():
    for bit in range(64):
        assert lowest_bit(np.uint64(1 << bit)) == bit
        assert lowest_bit(np.uint64((1 << bit) | (1 << 63))) == bit
    assert lowest_bit(np.uint64(0)) == 64


WORDS = [0, 1, 2**63, 2**64 - 1, 0x5555555555555555, 0x123456789ABCDEF0]


@pytest.mark.small
def test_popcount():
    assert [int(popcount(np.uint64(w))) for w in WORDS] == [w.bit_count() for w in WORDS]


@pytest.mark.small
@pytest.mark.parametrize("word", WORDS)
def test_bits_of_a_word(word):
    found = np.full(1 + 64 + AT_ONCE_CODES, -1, np.int64)
    end = write_codes(np.uint64(word), 640, found, 1)
    assert found[1:end].tolist() == [640 + b for b in range(64) if word >> b & 1]
    assert found[0] == -1


@pytest.mark.small
@pytest.mark.parametrize("codes", [[], [0], [63, 64], [5000, 4095, 4096, 0, 5000], range(300)])
def test_a_set_of_codes(codes):
    bits, lower = np.zeros(all_words(5001), np.uint64), upper_words(5001)
    found = np.full(len(codes) + AT_ONCE_CODES, -1, np.int64)
    for code in codes:
        note_code(bits, lower, code)
    n = take_codes(bits, lower, found)
    assert found[:n].tolist() == sorted(set(codes))
    assert not bits.any()
    for code in codes:
        note_lower(bits, lower, code)
    n = scan_codes(bits, lower, found)
    assert found[:n].tolist() == sorted(set(codes))
    assert not bits.any()
