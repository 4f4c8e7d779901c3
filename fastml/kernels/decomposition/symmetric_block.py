"""A symmetric matrix times a few vectors, from its upper triangle alone.

Eight rows are read together, and each entry K_ij serves twice: row i of the product gets K_ij v_j,
row j gets K_ij v_i. Eight vectors lie side by side, so that either is one multiply-add of a
register. Half of the matrix is never read: the time is that of the memory. LLVM's vectoriser would
put the sums of rows into memory, so the vector instructions are written out.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled, kernel, parallel_kernel, prange
from fastml.kernels.numeric.vector_code import VectorCode, number, vector_bytes

LINES = 8
"""Vectors side by side, and rows that are read together."""


def add_in_python(K, i, first, V, q, part, out):
    """What `_add_strip` computes, for the mode without a compiler."""
    strip = K[i : i + LINES, first:].astype(np.float64)
    out[part, q, i : i + LINES] += strip @ V[q, first:]
    out[part, q, first:] += strip.T @ V[q, i : i + LINES]


def _emit_strip(context, builder, signature, args):  # pragma: no cover  (it needs a compiler)
    """The LLVM code of `_add_strip`."""
    width = vector_bytes(context.codegen().magic_tuple()[2]) // 8
    K, V, out = (
        context.make_array(signature.args[a])(context, builder, args[a]) for a in (0, 3, 6)
    )
    i, first, q, part = args[1], args[2], args[4], args[5]
    n = cgutils.unpack_tuple(builder, K.shape)[1]
    n_groups = cgutils.unpack_tuple(builder, V.shape)[0]
    code = VectorCode(builder, ir.DoubleType(), width)
    entry = VectorCode(builder, context.get_value_type(signature.args[0].dtype), width)
    lines = number(LINES)
    rows = [entry.place(K.data, (builder.add(i, number(r)), n), (first,)) for r in range(LINES)]
    group = builder.add(builder.mul(part, n_groups), q)

    def column(here, there, own, j, sums):
        v = code.load(code.place(here, (j, lines)))
        place = code.place(there, (j, lines))
        # two sums that are added at the end: a chain of eight would take too long
        across = [code.load(place), zero]
        added = []
        for r in range(LINES):
            x = builder.load(entry.place(rows[r], (j,)))
            if entry.scalar != code.scalar:
                x = builder.fpext(x, code.scalar)
            x = code.repeat(x)
            product = builder.fmul(x, v, flags=("contract",))
            added.append(builder.fadd(product, sums[r], flags=("contract",)))
            product = builder.fmul(x, own[r], flags=("contract",))
            across[r % 2] = builder.fadd(product, across[r % 2], flags=("contract",))
        code.store(builder.fadd(*across), place)
        return added

    zero = ir.Constant(code.vector, [0.0] * width)
    for lane in range(0, LINES, width):
        here = code.place(V.data, (q, n, lines), (number(lane),))
        there = code.place(out.data, (group, n, lines), (number(lane),))
        at = [builder.add(i, number(r)) for r in range(LINES)]
        own = [code.load(code.place(here, (row, lines))) for row in at]
        beyond = [code.place(data, (first, lines)) for data in (here, there)]
        sums = code.loop(builder.sub(n, first), 1, [zero] * LINES, partial(column, *beyond, own))
        for row, total in zip(at, sums):
            place = code.place(there, (row, lines))
            code.store(builder.fadd(code.load(place), total), place)
    return context.get_dummy_value()


@intrinsic
def _in_registers(typing_context, K, i, first, V, q, part, out):  # pragma: no cover
    if isinstance(K, types.Array) and K.layout == "C":
        indices = [types.intp] * 2
        return types.void(K, *indices, V, *indices, out), _emit_strip
    return None


_add_strip = _in_registers if jit_enabled() else add_in_python
"""``_add_strip(K, i, first, V, q, part, out)``

Adds what the entries of rows i … i + 7 from column ``first`` < n on give to both sides of the
product, for the vectors of group q, to ``out[part, q]``.
"""


@kernel
def _add_corner(K, i, last, V, q, part, out):
    """Add the products of the block on the diagonal, rows ``i`` to ``last``, to ``out``."""
    for a in range(i, last):
        for b in range(a, last):
            x = np.float64(K[a, b])
            for c in range(LINES):
                out[part, q, a, c] += x * V[q, b, c]
            if a != b:
                for c in range(LINES):
                    out[part, q, b, c] += x * V[q, a, c]


@kernel
def _part(part, bounds, K, V, out):
    """`triangle_times_block` for the strips of one part: write ``out[part]``."""
    n = K.shape[0]
    start = min(n, bounds[part] * LINES)
    out[part, :, start:] = 0.0
    for strip in range(bounds[part], bounds[part + 1]):
        i = strip * LINES
        last = min(n, i + LINES)
        for q in range(V.shape[0]):
            _add_corner(K, i, last, V, q, part, out)
            if last < n:
                _add_strip(K, i, last, V, q, part, out)


@parallel_kernel
def triangle_times_block(K, V, bounds, out):
    """Write K times the vectors in ``V``, (groups, n, 8), to ``out``, (parts, groups, n, 8).

    Part p adds the strips of eight rows from ``bounds[p]`` to ``bounds[p + 1]``; it writes rows
    from its first on, and the product is the sum of the parts there.
    """
    for part in prange(bounds.shape[0] - 1):
        _part(np.intp(part), bounds, K, V, out)


@kernel
def _fold_rows(first, last, bounds, out):
    """`fold_triangle` for the rows from ``first`` to ``last``: write ``out[0]``."""
    for part in range(1, bounds.shape[0] - 1):
        start = max(first, bounds[part] * LINES)
        for q in range(out.shape[1]):
            for i in range(start, last):
                for c in range(LINES):
                    out[0, q, i, c] += out[part, q, i, c]


@parallel_kernel
def fold_triangle(bounds, rows_per_chunk, out):
    """Add the parts of `triangle_times_block` to the first, in their order: write ``out[0]``."""
    n = out.shape[2]
    for c in prange((n + rows_per_chunk - 1) // rows_per_chunk):
        _fold_rows(c * rows_per_chunk, min((c + 1) * rows_per_chunk, n), bounds, out)
