"""Balanced partition of points, shared by kd-trees and ball trees.

Points are cut at medians of the widest coordinate until at most `LEAF_POINTS` are left. Every leaf
but the last is full, so a node is known by its leaves ``first`` to ``last - 1``: its points are the
rows from ``first * LEAF_POINTS`` to ``last * LEAF_POINTS``, it is cut at the leaf
``cut_leaf(first, last)``, and, numbered depth first, its children are ``node + 1`` and
``right_child(node, first, cut)``. None of that is stored.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

LEAF_POINTS = 16  # points of a leaf
DEEPEST = 64  # a stack of so many nodes is enough: each level halves the number of points
SAMPLE = 31  # keys that propose a pivot


class Partition(NamedTuple):
    """Arrays of a partition of n points into ``ceil(n / LEAF_POINTS)`` leaves."""

    order: np.ndarray  # (n,) original index of each row
    rows: np.ndarray  # (n, d) the points in leaf order
    low: np.ndarray  # (n_nodes, d) tight bounding boxes
    high: np.ndarray
    axis: np.ndarray  # (n_nodes,) coordinate that was cut, -1 for a leaf
    smallest: np.ndarray  # (n_nodes,) smallest original index inside


class SearchScratch(NamedTuple):
    """What a search through a tree writes while it goes."""

    nodes: np.ndarray  # (DEEPEST, 3) stack of nodes to visit: (node, first leaf, last leaf)
    bounds: np.ndarray  # (DEEPEST,) lower bounds of the reduced distances to them
    values: np.ndarray  # (LEAF_POINTS,) reduced distances to the points of a leaf


@kernel
def search_scratch():
    """New, unfilled `SearchScratch`."""
    return SearchScratch(
        np.empty((DEEPEST, 3), np.intp),
        np.empty(DEEPEST, np.float64),
        np.empty(LEAF_POINTS, np.float64),
    )


@kernel
def cut_leaf(first, last):
    """The leaf at which the run of leaves [first, last) is cut: the right half starts there."""
    return first + (last - first + 1) // 2


@kernel
def right_child(node, first, cut):
    """Number of the right child of a node whose leaves start at ``first`` and are cut at ``cut``.

    The left subtree has cut - first leaves, so 2 (cut - first) - 1 nodes lie in between.
    """
    return node + 2 * (cut - first)


@kernel
def _swap(rows, order, i, j):
    """Exchange rows i and j, and their entries in ``order``."""
    d = rows.shape[1]
    rows[i, 0], rows[j, 0] = rows[j, 0], rows[i, 0]
    if d > 1:  # a loop of so few turns takes longer than what it does
        rows[i, 1], rows[j, 1] = rows[j, 1], rows[i, 1]
    if d > 2:
        rows[i, 2], rows[j, 2] = rows[j, 2], rows[i, 2]
    for k in range(3, d):
        rows[i, k], rows[j, k] = rows[j, k], rows[i, k]
    order[i], order[j] = order[j], order[i]


@kernel
def _pivot(rows, axis, left, right, target, sample):
    """A key whose rank is near ``target``: the matching quantile of an evenly spaced sample."""
    n = right - left + 1
    m = SAMPLE
    if n < 256:
        m = 3
    step = n // m
    for s in range(m):
        key = rows[left + step // 2 + s * step, axis]
        i = s
        while i > 0 and sample[i - 1] > key:
            sample[i] = sample[i - 1]
            i -= 1
        sample[i] = key
    return sample[(target - left) * m // n]


@kernel
def select(rows, order, axis, left, right, target, sample):
    """Reorder rows left..right, and ``order`` with them, by their keys ``rows[:, axis]``.

    Afterwards the rows before ``target`` have keys <= its key <= the keys of those after it.
    ``sample`` is scratch of length SAMPLE. Rows are exchanged whether they need to be or not: no
    branch depends on a key, since it could not be foretold.
    """
    while right - left > 2:
        pivot = _pivot(rows, axis, left, right, target, sample)
        at = left
        for i in range(left, right + 1):
            below = rows[i, axis] < pivot
            _swap(rows, order, i, at)
            at += np.intp(below)
        if target < at:
            right = at - 1
            continue
        if left < at:
            left = at
            continue
        for i in range(left, right + 1):  # the pivot is the least key: those equal to it are next
            equal = rows[i, axis] == pivot
            _swap(rows, order, i, at)
            at += np.intp(equal)
        if target < at:
            return
        left = at
    for i in range(left + 1, right + 1):
        j = i
        while j > left and rows[j - 1, axis] > rows[j, axis]:
            _swap(rows, order, j - 1, j)
            j -= 1


@kernel
def _bound(tree, node, start, stop):
    """Write a node's box and smallest index to ``tree``, from rows start..stop; return its widest
    coordinate."""
    rows, order = tree.rows, tree.order
    widest, width = 0, -np.inf
    for k in range(rows.shape[1]):
        low = rows[start, k]
        high, low_of_odd, high_of_odd = low, low, low  # two of each: neither waits for the other
        for i in range(start, stop - 1, 2):
            even, odd = rows[i, k], rows[i + 1, k]
            low = even if even < low else low
            high = even if even > high else high
            low_of_odd = odd if odd < low_of_odd else low_of_odd
            high_of_odd = odd if odd > high_of_odd else high_of_odd
        last = rows[stop - 1, k]
        low, high = min(low, low_of_odd, last), max(high, high_of_odd, last)
        tree.low[node, k], tree.high[node, k] = low, high
        if high - low > width:
            widest, width = k, high - low
    smallest = order[start]
    for i in range(start + 1, stop):
        smallest = min(smallest, order[i])
    tree.smallest[node] = smallest
    return widest


@kernel
def _build_from(tree, node, first, last, whole_subtree):
    """Bound a node and cut it: reorder its rows in ``tree``; with ``whole_subtree`` all below."""
    n = tree.rows.shape[0]
    sample = np.empty(SAMPLE, tree.rows.dtype)
    stack = np.empty((DEEPEST, 3), np.intp)
    stack[0, 0], stack[0, 1], stack[0, 2] = node, first, last
    size = 1
    while size > 0:
        size -= 1
        node, first, last = stack[size, 0], stack[size, 1], stack[size, 2]
        start, stop = first * LEAF_POINTS, min(last * LEAF_POINTS, n)
        axis = _bound(tree, node, start, stop)
        if last - first == 1:
            tree.axis[node] = -1
            continue
        tree.axis[node] = axis
        cut = cut_leaf(first, last)
        if tree.low[node, axis] < tree.high[node, axis]:
            select(tree.rows, tree.order, axis, start, stop - 1, cut * LEAF_POINTS, sample)
        if whole_subtree:
            stack[size, 0], stack[size, 1], stack[size, 2] = node + 1, first, cut
            right = right_child(node, first, cut)
            stack[size + 1, 0], stack[size + 1, 1], stack[size + 1, 2] = right, cut, last
            size += 2


@parallel_kernel
def build_nodes(tree, tasks, whole_subtree):
    """Cut the nodes in ``tasks``, rows of (node, first leaf, last leaf); fills the `Partition`
    ``tree``.

    With ``whole_subtree`` all nodes below them, too.
    """
    for c in prange(tasks.shape[0]):
        _build_from(tree, tasks[c, 0], tasks[c, 1], tasks[c, 2], whole_subtree)
