"""Sets of codes against Python's own."""

import numpy as np
import pytest

from fastml.kernels.code_set import lowest_bit, note_code, take_codes

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
    bits, upper_bits = np.zeros(80, np.uint64), np.zeros(2, np.uint64)
    for code in codes:
        note_code(bits, upper_bits, np.intp(code))
    found = np.full(8, -1, np.int64)
    n = take_codes(bits, upper_bits, 5000, found)
    assert found[:n].tolist() == sorted(set(codes))
    assert not bits.any()
    assert not upper_bits.any()
