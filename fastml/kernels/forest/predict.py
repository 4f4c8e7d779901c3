"""Sums of leaf values over many trees, for many rows: trees are packed as in `tree.walk` first.

For few rows packing would cost more than it saves, and packed trees know no sets of categories: see
`tree.predict`.
"""

from typing import NamedTuple

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange
from fastml.kernels.tree.nodes import total_of
from fastml.kernels.tree.walk import fill_keys, pack_tree, walk

ROWS_PER_WALK = 1024
"""Rows that walk together."""


class TreesInWords(NamedTuple):
    """Trees as rows walk through them; word k of tree t is at ``bounds[t] - bounds[0] + k``."""

    bounds: np.ndarray  # (trees + 1,) the nodes that tree t was packed from
    words: np.ndarray  # uint64, see `tree.walk`
    values: np.ndarray  # of leaves, times the tree's scale, if ``scalar``; else empty
    codes: np.ndarray  # if not ``scalar``: ~class of a leaf of one class, or a row of the table
    table: np.ndarray  # (rows, columns) values of leaves; or counts, and their sum behind them
    table_starts: np.ndarray  # (trees,)
    scales: np.ndarray  # (trees,) what the values are multiplied by
    scalar: bool  # leaves hold their value themselves
    missing: bool  # rows may lack values
    shift: int  # uint64, where children begin in a word


@kernel
def pack_with_leaves(nodes, n_columns, missing, shift, scale, words, values, codes):
    """Write the words of a tree to ``words``, and what its leaves say to ``values`` or ``codes``,
    unless it is empty."""
    order = np.empty(nodes.shape[0] + 1, np.int32)
    pack_tree(nodes, n_columns, missing, shift, words, order)
    for k in range(values.shape[0]):
        values[k] = scale * nodes[order[k]]["threshold"]
    for k in range(codes.shape[0]):
        codes[k] = nodes[order[k]]["right"]


@parallel_kernel
def pack_trees(nodes, n_columns, trees):
    """Write the words, values and codes of the trees ``nodes[bounds[t]:bounds[t + 1]]`` to
    ``trees``."""
    bounds, values, codes = trees.bounds, trees.values, trees.codes
    for t in prange(bounds.shape[0] - 1):
        first, last = bounds[t] - bounds[0], bounds[t + 1] - bounds[0]
        pack_with_leaves(
            nodes[bounds[t] : bounds[t + 1]], n_columns, trees.missing, trees.shift,
            trees.scales[t], trees.words[first:last], values[first:last], codes[first:last],
        )  # fmt: skip


@kernel
def add_leaves(places, scalar, scale, values, codes, table, out):
    """Add what leaf ``places[i]`` of a tree says to out[i]."""
    if scalar:
        for i in range(out.shape[0]):
            out[i, 0] += values[places[i]]
        return
    for i in range(out.shape[0]):
        code = codes[places[i]]
        if code < 0:
            out[i, np.uint64(~code)] += scale
        else:
            whole = total_of(table, code, out.shape[1])
            for k in range(out.shape[1]):
                out[i, k] += scale * (table[code, k] / whole)


@kernel
def walk_chunk(trees, X, out):
    """Add what all trees say to ``out``, for one chunk of rows: its keys and a tree stay in the
    cache."""
    bounds, shift = trees.bounds, trees.shift
    n, d = X.shape
    mask = (np.uint64(1) << (shift - np.uint64(32))) - np.uint64(1)
    keys = np.empty((n, 2 * d if trees.missing else d), np.uint32)
    fill_keys(X, trees.missing, keys)
    places, active = np.empty(ROWS_PER_WALK, np.uint32), np.empty(ROWS_PER_WALK, np.uint32)
    for t in range(bounds.shape[0] - 1):
        first, last = bounds[t] - bounds[0], bounds[t + 1] - bounds[0]
        table = trees.table[trees.table_starts[t] :]
        for i in range(0, n, ROWS_PER_WALK):
            j = min(i + ROWS_PER_WALK, n)
            walk(trees.words[first:last], shift, mask, keys[i:j], places, active)
            add_leaves(
                places, trees.scalar, trees.scales[t], trees.values[first:last],
                trees.codes[first:last], table, out[i:j],
            )  # fmt: skip


@parallel_kernel
def sum_of_packed(trees, X, out, rows_per_chunk):
    """Add the sum over the trees of what row i's leaf says, times the tree's scale, to out[i]."""
    n_chunks = (X.shape[0] + rows_per_chunk - 1) // rows_per_chunk
    for c in prange(n_chunks):
        first = np.intp(c) * rows_per_chunk
        last = min(first + rows_per_chunk, X.shape[0])
        walk_chunk(trees, X[first:last], out[first:last])
