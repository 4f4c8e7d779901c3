"""A fixed-size max-heap of (distance, index) pairs: the k best seen so far.

The root is the worst of the k. Pairs are ordered by distance, then by index, so the k kept (and
their order after `heap_sort`) do not depend on the order in which candidates arrive. An empty slot
holds the largest finite float: sentinels stay finite under fast-math. The arrays' length is k.
"""

import numpy as np

from fastml._jit import kernel

FLOAT64_MAX = np.finfo(np.float64).max
"""What an empty slot of a float64 heap holds; also stands for distances that overflow."""


@kernel
def heap_clear(distances, indices):
    """Empty a heap: ``distances`` become the largest float of their type, ``indices`` -1."""
    worst = np.finfo(distances.dtype).max
    for i in range(distances.shape[0]):
        distances[i] = worst
        indices[i] = -1


@kernel
def _worse(d1, i1, d2, i2):
    """Whether pair 1 ranks after pair 2; an empty slot (index -1) ranks after everything."""
    if d1 != d2:
        return d1 > d2
    return np.uint64(i1) > np.uint64(i2)  # -1 becomes the largest


@kernel
def _sift_down(distances, indices, size, distance, index):
    """Put a pair at the root of the first ``size`` slots of ``distances`` and ``indices`` and move
    it down to its place."""
    slot = 0
    while True:
        child = 2 * slot + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _worse(
            distances[right], indices[right], distances[child], indices[child]
        ):
            child = right
        if not _worse(distances[child], indices[child], distance, index):
            break
        distances[slot] = distances[child]
        indices[slot] = indices[child]
        slot = child
    distances[slot] = distance
    indices[slot] = index


@kernel
def heap_push(distances, indices, distance, index):
    """Offer a pair to the heap ``distances`` and ``indices``; it replaces the worst one if it ranks
    before that."""
    if _worse(distances[0], indices[0], distance, index):
        _sift_down(distances, indices, distances.shape[0], distance, index)


@kernel
def heap_merge(distances, indices, other_distances, other_indices):
    """Offer every pair of another heap to the heap ``distances`` and ``indices``."""
    for i in range(other_distances.shape[0]):
        if other_indices[i] >= 0:
            heap_push(distances, indices, other_distances[i], other_indices[i])


@kernel
def heap_sort(distances, indices):
    """Sort the heap ``distances`` and ``indices`` by distance, then index, in place; empty slots
    come last."""
    for last in range(distances.shape[0] - 1, 0, -1):
        distance, index = distances[last], indices[last]
        distances[last], indices[last] = distances[0], indices[0]
        _sift_down(distances, indices, last, distance, index)
