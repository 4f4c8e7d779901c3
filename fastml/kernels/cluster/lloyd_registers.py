"""The inner loops of k-means in registers: nearest centres of a tile of rows, sums of clusters.

LLVM's vectoriser would keep the scores of a tile in memory and add short rows one number at a time.
Here the scores of two vectors of rows for four centres stay in registers over all features and are
compared before they leave them; rows are added four numbers at a time, whatever their length.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled
from fastml.kernels.numeric.vector_code import VectorCode, number, vector_bytes

TILE = 128  # rows scored together
STRIDE = TILE + 16  # a power of two would put all dimensions into the same few cache sets
CENTERS_PER_GROUP = 4  # centres scored together
SUM_LANES = 4  # numbers added together
N_VECTORS = 2  # of rows; with 4 centres the sums fill half of AVX2's registers


def largest(dtype) -> float:
    """The score of padding. Overflow and NaN are not below it, so rows with such scores get label
    0."""
    return float(np.finfo(dtype).max)


def nearest_in_python(tile, n_rows, coefficients, norms, run, best, second, nearest):
    """What `nearest_of_tile` computes, for the mode without a compiler."""
    scores = np.repeat(norms[run][None], TILE, axis=0)
    by_feature = coefficients[run].swapaxes(0, 1).reshape(tile.shape[0], -1)
    for x, c in zip(tile[:, :TILE], by_feature):
        scores += x[:, None] * c
    scores = np.where(scores < largest(tile.dtype), scores, largest(tile.dtype))
    nearest[:] = scores.argmin(axis=1)
    best[:] = scores.min(axis=1)
    second[:] = np.partition(scores, 1, axis=1)[:, 1]


def add_in_python(totals, run, center, weighted, slot):
    """What `add_row` computes, for the mode without a compiler."""
    totals[run, center] += weighted[slot]


def _emit_nearest(context, builder, signature, args):  # pragma: no cover  (as all that follows)
    """The LLVM code of `nearest_of_tile`."""
    tile, coefficients, norms, best, second, nearest = (
        context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2, 3, 5, 6, 7)
    )
    n_rows, run = args[1], args[4]
    scalar = context.get_value_type(signature.args[0].dtype)
    n_bytes = signature.args[0].dtype.bitwidth // 8
    width = vector_bytes(context.codegen().magic_tuple()[2]) // n_bytes
    code = VectorCode(builder, scalar, width)
    _, n_groups, depth, _ = cgutils.unpack_tuple(builder, coefficients.shape)
    lane = ir.IntType(8 * n_bytes)
    indices = ir.VectorType(lane, width)
    flags = ("contract",)  # a fused multiply-add where the machine has one

    def rows_of_block(first_row, _):
        def centers_of_group(group, carried):
            lowest, runner_up, winner = (list(carried[i::3]) for i in range(3))
            first_center = builder.add(
                builder.mul(run, builder.mul(n_groups, number(CENTERS_PER_GROUP))),
                builder.mul(group, number(CENTERS_PER_GROUP)),
            )
            start = [
                code.repeat(builder.load(code.place(norms.data, (first_center,), (number(c),))))
                for c in range(CENTERS_PER_GROUP)
                for _ in range(N_VECTORS)
            ]

            def feature(d, sums):
                x = [
                    code.load(
                        code.place(
                            tile.data, (d, number(STRIDE)), (first_row,), (number(v * width),)
                        )
                    )
                    for v in range(N_VECTORS)
                ]
                totals = []
                for c in range(CENTERS_PER_GROUP):
                    place = code.place(
                        coefficients.data,
                        (first_center, depth),
                        (d, number(CENTERS_PER_GROUP)),
                        (number(c),),
                    )
                    factor = code.repeat(builder.load(place))
                    for v in range(N_VECTORS):
                        product = builder.fmul(factor, x[v], flags=flags)
                        totals.append(builder.fadd(product, sums[c * N_VECTORS + v], flags=flags))
                return totals

            scores = code.loop(depth, 1, start, feature)
            number_of_first = builder.mul(group, number(CENTERS_PER_GROUP))
            for c in range(CENTERS_PER_GROUP):
                index = builder.add(number_of_first, number(c))
                index = code.repeat(index if n_bytes == 8 else builder.trunc(index, lane))
                for v in range(N_VECTORS):
                    score = scores[c * N_VECTORS + v]
                    wins = builder.fcmp_ordered("<", score, lowest[v])
                    second_best = builder.fcmp_ordered("<", score, runner_up[v])
                    runner_up[v] = builder.select(
                        wins, lowest[v], builder.select(second_best, score, runner_up[v])
                    )
                    lowest[v] = builder.select(wins, score, lowest[v])
                    winner[v] = builder.select(wins, index, winner[v])
            return [
                value for v in range(N_VECTORS) for value in (lowest[v], runner_up[v], winner[v])
            ]

        highest = ir.Constant(code.vector, [largest(f"f{n_bytes}")] * width)
        first = ir.Constant(indices, [0] * width)
        found = code.loop(n_groups, 1, [highest, highest, first] * N_VECTORS, centers_of_group)
        for v in range(N_VECTORS):
            at = (first_row,), (number(v * width),)
            code.store(found[3 * v], code.place(best.data, *at))
            code.store(found[3 * v + 1], code.place(second.data, *at))
            winner = found[3 * v + 2]
            if n_bytes == 8:
                winner = builder.trunc(winner, ir.VectorType(ir.IntType(32), width))
            code.store(winner, code.place(nearest.data, *at))
        return []

    code.loop(n_rows, N_VECTORS * width, [], rows_of_block)
    return context.get_dummy_value()


def _emit_add(context, builder, signature, args):  # pragma: no cover
    """The LLVM code of `add_row`."""
    totals, weighted = (
        context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 3)
    )
    run, center, slot = args[1], args[2], args[4]
    code = VectorCode(builder, ir.DoubleType(), SUM_LANES)
    _, n_centers, length = cgutils.unpack_tuple(builder, totals.shape)
    into = code.place(totals.data, (run, n_centers, length), (center, length))
    source = code.place(weighted.data, (slot, length))

    def add(d, _):
        total = code.load(code.place(into, (d,)))
        code.store(builder.fadd(total, code.load(code.place(source, (d,)))), code.place(into, (d,)))
        return []

    code.loop(length, SUM_LANES, [], add)
    return context.get_dummy_value()


@intrinsic
def _nearest_in_registers(
    typing_context, tile, n_rows, coefficients, norms, run, best, second, nearest
):  # pragma: no cover
    signature = (tile, types.intp, coefficients, norms, run, best, second, nearest)
    return types.void(*signature), _emit_nearest


@intrinsic
def _add_in_registers(typing_context, totals, run, center, weighted, slot):  # pragma: no cover
    return types.void(totals, run, center, weighted, slot), _emit_add


nearest_of_tile = _nearest_in_registers if jit_enabled() else nearest_in_python
"""``nearest_of_tile(tile, n_rows, coefficients, norms, run, best, second, nearest)``

The lowest score, the second lowest and the centre of the lowest (int32; ties: the first) for the
first ``n_rows`` >= 1 rows of a tile (feature, STRIDE), and some after them. Scores are
norms[run, j] + x · c_j with c of ``coefficients[run]`` (group, feature, CENTERS_PER_GROUP), summed
in the order of the features; only those below the largest float count, and without any the centre
is 0.
"""
add_row = _add_in_registers if jit_enabled() else add_in_python
"""``add_row(totals, run, center, weighted, slot)``

``totals[run, center] += weighted[slot]``, float64, as long as a multiple of SUM_LANES.
"""
