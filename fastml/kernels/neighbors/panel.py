"""Scores of six queries and a panel of 64 points: the inner loop of brute search, in registers.

Numba gives no control over registers, and LLVM's vectoriser uses only half of AVX-512: so the
vector instructions are written out here. The sums stay in registers over all features, as in a
matrix product, and are compared there, so no matrix of products exists.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled
from fastml.kernels.numeric.vector_code import WORD, VectorCode, number, vector_bytes

LANES = 64  # points of a panel
GROUP_QUERIES = 6  # queries of a group


def scores_in_python(panels, halves, panel, queries, limits, group, scores, masks):
    """What `panel_scores` computes, for the mode without a compiler."""
    scores[:] = queries[group].T @ panels[panel] - halves[panel]
    any_hit = 0
    for i in range(GROUP_QUERIES):
        hits = np.flatnonzero(scores[i] >= limits[group, i])
        masks[i] = sum(1 << int(lane) for lane in hits)
        any_hit |= int(masks[i])
    return np.uint64(any_hit)


def _vector_shape(features: str) -> tuple[int, int]:
    """(floats per register, registers per row of the block): six rows must fit the registers."""
    width = vector_bytes(features) // 4
    return width, 4 if width == 16 else 2


def _emit(context, builder, signature, args):  # pragma: no cover  (it needs a compiler)
    """The LLVM code of `panel_scores`."""
    width, n_registers = _vector_shape(context.codegen().magic_tuple()[2])
    panels, halves, queries, limits, scores, masks = (
        context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 3, 4, 6, 7)
    )
    panel, group = args[2], args[5]
    depth = cgutils.unpack_tuple(builder, panels.shape)[1]
    code = VectorCode(builder, ir.FloatType(), width)
    points = code.place(panels.data, (panel, depth, number(LANES)))
    starts = code.place(halves.data, (panel, number(LANES)))
    group_queries = code.place(queries.data, (group, depth, number(GROUP_QUERIES)))
    group_limits = code.place(limits.data, (group, number(GROUP_QUERIES)))

    def add_feature(lanes, k, sums):
        y = [code.load(code.place(points, (k, number(LANES)), (number(lane),))) for lane in lanes]
        added = []
        for i in range(GROUP_QUERIES):
            x = code.place(group_queries, (k, number(GROUP_QUERIES)), (number(i),))
            x = code.repeat(builder.load(x))
            for r in range(n_registers):
                # "contract": a fused multiply-add where the machine has one.
                product = builder.fmul(x, y[r], flags=("contract",))
                total = sums[i * n_registers + r]
                added.append(builder.fadd(product, total, flags=("contract",)))
        return added

    hits = [number(0)] * GROUP_QUERIES
    for first in range(0, LANES, width * n_registers):
        lanes = [first + width * r for r in range(n_registers)]
        start = [builder.fneg(code.load(code.place(starts, (number(lane),)))) for lane in lanes]
        sums = code.loop(depth, 1, start * GROUP_QUERIES, partial(add_feature, lanes))
        for i in range(GROUP_QUERIES):
            limit = code.repeat(builder.load(code.place(group_limits, (number(i),))))
            for r, lane in enumerate(lanes):
                total = sums[i * n_registers + r]
                code.store(total, code.place(scores.data, (number(i * LANES + lane),)))
                reached = builder.fcmp_ordered(">=", total, limit)
                bits = builder.zext(builder.bitcast(reached, ir.IntType(width)), WORD)
                hits[i] = builder.or_(hits[i], builder.shl(bits, number(lane)))
    any_hit = number(0)
    for i in range(GROUP_QUERIES):
        builder.store(hits[i], builder.gep(masks.data, [number(i)]))
        any_hit = builder.or_(any_hit, hits[i])
    return any_hit


@intrinsic
def _scores_in_registers(
    typing_context, panels, halves, panel, queries, limits, group, scores, masks
):  # pragma: no cover
    return types.uint64(panels, halves, panel, queries, limits, group, scores, masks), _emit


panel_scores = _scores_in_registers if jit_enabled() else scores_in_python
"""``panel_scores(panels, halves, panel, queries, limits, group, scores, masks)``

Writes scores[i, j] = q_i · y_j - halves[panel, j] in float32, for the queries ``queries[group]``
(d, GROUP_QUERIES) and the points ``panels[panel]`` (d, LANES), d >= 1. Sets bit j of ``masks[i]``
(uint64) where scores[i, j] >= limits[group, i], which NaN is not. Returns the union of the masks.
"""


def _first_in_python(bits):
    """What `first_lane` returns, for the mode without a compiler."""
    return (int(bits) & -int(bits)).bit_length() - 1


@intrinsic
def _first_in_word(typing_context, bits):  # pragma: no cover  (it needs a compiler)
    def emit(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), emit


first_lane = _first_in_word if jit_enabled() else _first_in_python
"""``first_lane(bits)``: the position of the lowest set bit of a uint64; there must be one."""
