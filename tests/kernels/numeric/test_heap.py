"""The k best (distance, index) pairs, whatever the order of arrival."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import k_best

from fastml.kernels.numeric.heap import heap_clear, heap_merge, heap_push, heap_sort

pytestmark = pytest.mark.small


def filled(k, pairs, dtype=np.float64):
    distances, indices = np.empty(k, dtype), np.empty(k, np.intp)
    heap_clear(distances, indices)
    for distance, index in pairs:
        heap_push(distances, indices, dtype(distance), index)
    return distances, indices


@given(
    st.lists(st.integers(0, 5), max_size=30),  # few values: many ties
    st.integers(1, 8),
    st.sampled_from([np.float64, np.float32]),
    st.randoms(use_true_random=False),
)
def test_keeps_the_k_best_in_any_order(values, k, dtype, random):
    pairs = [(float(v), i) for i, v in enumerate(values)]
    random.shuffle(pairs)
    distances, indices = filled(k, pairs, dtype)
    heap_sort(distances, indices)
    expected_distances, expected_indices = k_best(pairs, k, dtype)
    np.testing.assert_array_equal(distances, expected_distances)
    np.testing.assert_array_equal(indices, expected_indices)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(0, 20), st.integers(1, 6))
def test_merging_two_heaps_equals_one_heap(values, cut, k):
    pairs = [(float(v), i) for i, v in enumerate(values)]
    whole = filled(k, pairs)
    merged, other = filled(k, pairs[:cut]), filled(k, pairs[cut:])
    heap_merge(*merged, *other)
    heap_sort(*whole)
    heap_sort(*merged)
    np.testing.assert_array_equal(whole, merged)


def test_infinite_distances_rank_after_finite_ones():
    distances, indices = filled(2, [(1.0, 0), (2.0, 1), (np.inf, 2)])
    heap_sort(distances, indices)
    np.testing.assert_array_equal(indices, [0, 1])
