"""Sets of codes against Python's own."""

import numpy as np
import pytest

from fastml.kernels.numeric.bitset import all_words, lowest_bit, note_code, take_codes, upper_words

# With JIT off, NumPy scalars warn where compiled code wraps round as it should.
pytestmark = pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")


@pytest.mark.small
def test_lowest_bit():
    for bit in range(64):
        assert lowest_bit(np.uint64(1 << bit)) == bit
        assert lowest_bit(np.uint64((1 << bit) | (1 << 63))) == bit


@pytest.mark.small
@pytest.mark.parametrize("codes", [[], [0], [63, 64], [5000, 4095, 4096, 0, 5000]])
def test_a_set_of_codes(codes):
    bits, lower = np.zeros(all_words(5001), np.uint64), upper_words(5001)
    for code in codes:
        note_code(bits, lower, code)
    found = np.full(8, -1, np.int64)
    n = take_codes(bits, lower, found)
    assert found[:n].tolist() == sorted(set(codes))
    assert not bits.any()
