"""Frames of subtrees: rows are copied as they are, and only where that pays."""

import numpy as np
import pytest

from fastml.kernels.forest_frame import Frame, fetch, fetch_rows, near_rows


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
def test_size_of_a_near_frame():
    assert near_rows(frame(9, 20), 4) == (1 << 18) // (20 + 16 + 8)
    assert near_rows(frame(9, 20, 1, np.uint32), 4) == (1 << 18) // (80 + 8 + 8)
    assert near_rows(frame(9, 20), 1) == 0  # copies would be read too seldom
