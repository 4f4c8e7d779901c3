"""Frames of subtrees: rows are copied as they are, and only where that pays."""

import numpy as np
import pytest

from fastml.kernels.forest.frame import NEAR_BYTES, Frame, fetch, fetch_rows, near_rows


def frame(n, d, outputs=2, dtype=np.uint8):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 200, (d, n)).astype(dtype)
    return Frame(columns, rng.normal(size=(outputs, n)), rng.random(n))


@pytest.mark.small
@pytest.mark.parametrize("rows", [[], [5], [1, 4, 8]], ids=str)
def test_rows_are_copied(rows):
    whole = frame(9, 3)
    near = Frame(np.empty((3, 4), np.uint8), np.empty((2, 4)), np.empty(4))
    rows = np.array(rows, np.uint32)
    fetch_rows(whole, rows, near)
    for own, copied in zip(whole, near):
        np.testing.assert_array_equal(copied[..., : len(rows)], own[..., rows])


@pytest.mark.small
def test_values_are_copied():
    target = np.zeros(3, np.uint32)
    fetch(np.array([5, 6, 7], np.uint32), np.array([2, 0], np.uint32), target)
    assert target.tolist() == [7, 5, 0]


@pytest.mark.small
@pytest.mark.parametrize(("outputs", "dtype"), [(2, np.uint8), (1, np.uint32)])
def test_a_near_frame_fills_its_part_of_the_cache(outputs, dtype):
    n = near_rows(frame(9, 20, outputs, dtype), 4)
    sizes = [sum(part.nbytes for part in frame(m, 20, outputs, dtype)) for m in (n, n + 1)]
    assert sizes[0] <= NEAR_BYTES < sizes[1]


@pytest.mark.small
def test_no_near_frame_where_copies_are_read_too_seldom():
    assert near_rows(frame(9, 20), 1) == 0
    assert near_rows(frame(9, 20), 2) > 0
