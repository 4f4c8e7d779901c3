"""The vector code gives what plain NumPy gives, to the bit."""

import numpy as np
import pytest

from fastml._jit import kernel
from fastml.kernels.neighbors.packet_code import (
    PACKET,
    UNTIED,
    box_hits,
    hits_in_python,
    insert_in_python,
    insert_pair,
    leaf_squares,
    ranks_in_python,
    sort_leaf,
    squares_in_python,
)


@kernel
def squares(blocks, leaf, packet, w, limit, values):
    return leaf_squares(blocks, leaf, packet, w, limit, values)


@kernel
def hits(low, high, node, packet, limits):
    return box_hits(low, high, node, packet, limits)


@kernel
def ranks(values, order, start, w, distances, indices):
    return sort_leaf(values, order, start, w, distances, indices)


@kernel
def insert(distances, indices, w, distance, index):
    insert_pair(distances, indices, w, distance, index)


@pytest.mark.small
@pytest.mark.parametrize("d", [1, 3, 20])
def test_squares_of_a_leaf(d, dtype):
    rng = np.random.default_rng(d)
    blocks = rng.normal(size=(3, d, PACKET)).astype(dtype)
    packet = rng.normal(size=(d, PACKET))
    found, expected = np.empty(PACKET), np.empty(PACKET)
    squares_in_python(blocks, 1, packet, 5, 0.0, expected)
    for limit in (*np.sort(expected), -1.0, np.finfo(float).max):
        bits = squares(blocks, 1, packet, 5, limit, found)
        np.testing.assert_array_equal(found, expected)
        assert bits == squares_in_python(blocks, 1, packet, 5, limit, expected)
        assert int(bits).bit_count() == (expected <= limit).sum()


@pytest.mark.small
@pytest.mark.parametrize("d", [1, 3, 20])
def test_hits_of_a_box(d, dtype):
    rng = np.random.default_rng(d)
    low = rng.normal(size=(3, d)).astype(dtype)
    high = (low + rng.random((3, d))).astype(dtype)
    packet = rng.normal(size=(d, PACKET))
    packet[:, 2] = low[1]  # at the box, and limit 0: equal
    nearest = np.clip(packet, low[1][:, None], high[1][:, None])
    limits = ((packet - nearest) ** 2).sum(axis=0) * rng.choice([0.5, 2.0], PACKET)
    limits[3] = -1.0  # not there
    found = hits(low, high, 1, packet, limits)
    assert found == hits_in_python(low, high, 1, packet, limits)
    assert int(found) >> (PACKET + 2) & 1
    assert not int(found) >> 3 & 1
    assert int(found) & (2**PACKET - 1)


@pytest.mark.small
@pytest.mark.parametrize("n_different", [1, 3, PACKET])
def test_a_leaf_is_sorted_unless_values_are_tied(n_different):
    rng = np.random.default_rng(n_different)
    values = rng.permutation(np.arange(float(PACKET)) % n_different)
    order = rng.permutation(2 * PACKET)
    lists = np.full((2, PACKET), -1.0), np.full((2, PACKET), -1)
    expected = lists[0].copy(), lists[1].copy()
    total = ranks(values, order, PACKET, 1, *lists)
    assert total == ranks_in_python(values, order, PACKET, 1, *expected)
    assert (total == UNTIED) == (n_different == PACKET)
    if total == UNTIED:
        np.testing.assert_array_equal(lists[0][1], np.sort(values))
        np.testing.assert_array_equal(lists[1][1], order[PACKET:][np.argsort(values)])
    assert (lists[0][0] == -1.0).all()


@pytest.mark.small
def test_pairs_are_inserted_by_distance_then_index():
    rng = np.random.default_rng(0)
    lists = np.full((2, PACKET), np.finfo(float).max), np.full((2, PACKET), -1)
    expected = lists[0].copy(), lists[1].copy()
    pairs = [(float(rng.integers(0, 8)), int(index)) for index in rng.permutation(40)]
    for n, pair in enumerate(pairs, start=1):
        insert(*lists, 1, *pair)
        insert_in_python(*expected, 1, *pair)
        for one, other in zip(lists, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        kept = sorted(pairs[:n])[:PACKET]
        assert [*zip(*(a[1, : len(kept)].tolist() for a in lists), strict=True)] == kept
    assert (lists[1][0] == -1).all()
