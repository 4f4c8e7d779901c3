"""Scores of six queries and a panel of 64 points: the inner loop of brute search, in registers.

Numba gives no hold on registers, and LLVM's vectoriser keeps to half of AVX-512: this is the one
place where the vector instructions are written out. The sums stay in registers over all features,
as in a GEMM, and are compared before they leave them, so no matrix of products exists.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled

LANES = 64  # points of a panel
GROUP = 6  # queries of a group


def scores_in_python(panels, halves, panel, queries, limits, group, scores, masks):
    """What `panel_scores` computes, for the mode without a compiler."""
    scores[:] = queries[group].T @ panels[panel] - halves[panel]
    any_hit = 0
    for i in range(GROUP):
        hits = np.flatnonzero(scores[i] >= limits[group, i])
        masks[i] = sum(1 << int(lane) for lane in hits)
        any_hit |= int(masks[i])
    return np.uint64(any_hit)


def _vector_shape(features: str) -> tuple[int, int]:
    """(floats per register, registers per row of the block): six rows must fit the registers."""
    if "+avx512f" in features:
        return 16, 4
    if "+avx" in features:
        return 8, 2
    return 4, 2


def _emit(context, builder, signature, args):  # pragma: no cover  (not in the mode that counts)
    """The LLVM code of `panel_scores`."""
    width, n_registers = _vector_shape(context.codegen().magic_tuple()[2])
    panels, halves, queries, limits, scores, masks = (
        context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 3, 4, 6, 7)
    )
    panel, group = args[2], args[5]
    depth = cgutils.unpack_tuple(builder, panels.shape)[1]
    word, float32 = ir.IntType(64), ir.FloatType()
    vector = ir.VectorType(float32, width)
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)

    def number(value):
        return ir.Constant(word, value)

    def at(pointer, *factors):
        offset = factors[0]
        for factor in factors[1:]:
            offset = builder.mul(offset, factor)
        return builder.gep(pointer, [offset])

    def vector_at(pointer, offset):
        return builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())

    def load(pointer, offset):
        loaded = builder.load(vector_at(pointer, offset))
        loaded.align = 4
        return loaded

    def repeat(scalar):
        first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, undefined, zeros)

    points = at(panels.data, panel, depth, number(LANES))
    starts = at(halves.data, panel, number(LANES))
    group_queries = at(queries.data, group, depth, number(GROUP))
    group_limits = at(limits.data, group, number(GROUP))
    hits = [number(0)] * GROUP
    for first in range(0, LANES, width * n_registers):
        lanes = [first + width * r for r in range(n_registers)]
        before = builder.block
        start = [builder.fneg(load(starts, number(lane))) for lane in lanes]
        loop = builder.append_basic_block("features")
        after = builder.append_basic_block("compare")
        builder.branch(loop)

        builder.position_at_end(loop)
        k = builder.phi(word)
        k.add_incoming(number(0), before)
        sums = [[builder.phi(vector) for _ in lanes] for _ in range(GROUP)]
        row = builder.mul(k, number(LANES))
        y = [load(points, builder.add(row, number(lane))) for lane in lanes]
        for i in range(GROUP):
            place = builder.add(builder.mul(k, number(GROUP)), number(i))
            x = repeat(builder.load(builder.gep(group_queries, [place])))
            for r in range(n_registers):
                # "contract": a fused multiply-add where the machine has one.
                product = builder.fmul(x, y[r], flags=("contract",))
                total = builder.fadd(product, sums[i][r], flags=("contract",))
                sums[i][r].add_incoming(start[r], before)
                sums[i][r].add_incoming(total, loop)
                sums[i][r] = total
        next_k = builder.add(k, number(1))
        k.add_incoming(next_k, loop)
        builder.cbranch(builder.icmp_signed("<", next_k, depth), loop, after)

        builder.position_at_end(after)
        for i in range(GROUP):
            limit = repeat(builder.load(builder.gep(group_limits, [number(i)])))
            for r, lane in enumerate(lanes):
                stored = builder.store(sums[i][r], vector_at(scores.data, number(i * LANES + lane)))
                stored.align = 4
                reached = builder.fcmp_ordered(">=", sums[i][r], limit)
                bits = builder.zext(builder.bitcast(reached, ir.IntType(width)), word)
                hits[i] = builder.or_(hits[i], builder.shl(bits, number(lane)))
    any_hit = number(0)
    for i in range(GROUP):
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

scores[i, j] = q_i · y_j - halves[panel, j] in float32 for the queries ``queries[group]`` (d, GROUP)
and the points ``panels[panel]`` (d, LANES), d >= 1; bit j of ``masks[i]`` (uint64) says whether it
reaches ``limits[group, i]``. NaN reaches nothing. Returns the bits of all masks together.
"""
