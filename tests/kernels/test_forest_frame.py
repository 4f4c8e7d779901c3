"""Frames of subtrees: rows are copied as they are, and only where that pays."""

import numpy as np
import pytest

from fastml.kernels.forest_frame import Frame, fetch_rows, near_rows, new_frame, new_scratch


def frame(n, d, outputs=2, dtype=np.uint8):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 200, (d, n)).astype(dtype)
    return Frame(columns, rng.normal(size=(outputs, n)), rng.random(n))


@pytest.mark.small
@pytest.mark.parametrize("rows", [[], [5], [1, 4, 8]], ids=str)
def test_rows_are_copied(rows):
    whole = frame(9, 3)
    near = new_frame(whole, 4)
    assert near.columns.dtype == whole.columns.dtype
    rows = np.array(rows, np.uint32)
    fetch_rows(whole, rows, near)
    for own, copied in zip(whole, near):
        np.testing.assert_array_equal(copied[..., : len(rows)], own[..., rows])


@pytest.mark.small
def test_size_of_a_near_frame():
    assert near_rows(frame(9, 20), 4) == (1 << 18) // (20 + 16 + 8)
    assert near_rows(frame(9, 20, 1, np.uint32), 4) == (1 << 18) // (80 + 8 + 8)
    assert near_rows(frame(9, 20), 1) == 0  # copies would be read too seldom


@pytest.mark.small
def test_scratch_begins_empty():
    scratch = new_scratch(5, 3, 9, True)
    assert scratch.hist.shape == (9, 3)
    for clean in (scratch.hist, scratch.counts, scratch.bits, scratch.upper_bits):
        assert not clean.any()
