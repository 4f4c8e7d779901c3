"""Vector code of the kd-tree search by packets of queries: 16 numbers at a time, in registers.

LLVM's vectoriser turns loops of 16 steps into single instructions of one number each, so the vector
instructions are written out here. Sums run over the coordinates in their order, without fused
products: distances have the bits that `kdtree.leaf_rdists` gives.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled
from fastml.kernels.neighbors.space_tree import LEAF_POINTS
from fastml.kernels.numeric.vector_code import WORD, VectorCode, number

PACKET = LEAF_POINTS
"""Queries of a packet and entries of a list; as many as points of a leaf."""

UNTIED = PACKET * (PACKET - 1) // 2
"""The sum of the ranks of so many different numbers."""


def _array(context, builder, signature, args, position):  # pragma: no cover
    """The struct of an array argument."""
    return context.make_array(signature.args[position])(context, builder, args[position])


def _bits(builder, lanes):  # pragma: no cover  (it needs a compiler)
    """A vector of booleans as the low bits of a word."""
    return builder.zext(builder.bitcast(lanes, ir.IntType(PACKET)), WORD)


def _repeated(builder, value):  # pragma: no cover  (it needs a compiler)
    return VectorCode(builder, value.type, PACKET).repeat(value)


def _doubles(builder, pointer):  # pragma: no cover  (it needs a compiler)
    """PACKET numbers at an address, of either type, as float64."""
    code = VectorCode(builder, pointer.type.pointee, PACKET)
    loaded = code.load(pointer)
    wide = ir.VectorType(ir.DoubleType(), PACKET)
    return loaded if loaded.type == wide else builder.fpext(loaded, wide)


def _double(builder, pointer):  # pragma: no cover  (it needs a compiler)
    loaded = builder.load(pointer)
    double = ir.DoubleType()
    return loaded if loaded.type == double else builder.fpext(loaded, double)


# ---------------------------------------------------------------------------- a leaf


def squares_in_python(blocks, leaf, packet, w, limit, values):
    """What `leaf_squares` computes, for the mode without a compiler."""
    values[:] = 0.0
    for k in range(packet.shape[0]):
        gaps = packet[k, w] - blocks[leaf, k].astype(np.float64)
        values[:] += gaps * gaps
    return np.uint64(sum(1 << int(s) for s in np.flatnonzero(values <= limit)))


@intrinsic
def _squares_in_registers(
    typing_context, blocks, leaf, packet, w, limit, values
):  # pragma: no cover
    def emit(context, builder, signature, args):
        arrays = [_array(context, builder, signature, args, i) for i in (0, 2, 5)]
        points, queries, out = arrays
        depth = cgutils.unpack_tuple(builder, points.shape)[1]
        code = VectorCode(builder, ir.DoubleType(), PACKET)
        block = code.place(points.data, (args[1], depth, number(PACKET)))
        zeros = ir.Constant(code.vector, [0.0] * PACKET)

        def add_coordinate(k, sums):
            x = builder.load(code.place(queries.data, (k, number(PACKET)), (args[3],)))
            row = _doubles(builder, code.place(block, (k, number(PACKET))))
            gap = builder.fsub(code.repeat(x), row)
            return [builder.fadd(sums[0], builder.fmul(gap, gap))]

        (sums,) = code.loop(depth, 1, [zeros], add_coordinate)
        code.store(sums, out.data)
        return _bits(builder, builder.fcmp_ordered("<=", sums, code.repeat(args[4])))

    return types.uint64(blocks, types.intp, packet, types.intp, types.float64, values), emit


leaf_squares = _squares_in_registers if jit_enabled() else squares_in_python
"""``leaf_squares(blocks, leaf, packet, w, limit, values)``

Writes the squared distances of query w of ``packet`` (d, PACKET) and the points of ``blocks[leaf]``
(d, PACKET) to ``values``, d >= 1; returns a uint64 whose bit s says whether values[s] <= limit.
"""

# ---------------------------------------------------------------------------- a box


def hits_in_python(low, high, node, packet, limits):
    """What `box_hits` computes, for the mode without a compiler."""
    total = np.zeros(PACKET)
    for k in range(packet.shape[0]):
        gap = np.maximum(
            np.float64(low[node, k]) - packet[k], packet[k] - np.float64(high[node, k])
        )
        gap = np.maximum(gap, 0.0)
        total += gap * gap
    below = sum(1 << int(w) for w in np.flatnonzero(total < limits))
    equal = sum(1 << int(w) for w in np.flatnonzero(total == limits))
    return np.uint64(below | equal << PACKET)


@intrinsic
def _hits_in_registers(typing_context, low, high, node, packet, limits):  # pragma: no cover
    def emit(context, builder, signature, args):
        arrays = [_array(context, builder, signature, args, i) for i in (0, 1, 3, 4)]
        lows, highs, queries, limit = arrays
        depth = cgutils.unpack_tuple(builder, lows.shape)[1]
        code = VectorCode(builder, ir.DoubleType(), PACKET)
        zeros = ir.Constant(code.vector, [0.0] * PACKET)

        def larger(a, b):
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        def add_coordinate(k, sums):
            x = code.load(code.place(queries.data, (k, number(PACKET))))
            corners = [
                code.repeat(_double(builder, code.place(corner.data, (args[2], depth), (k,))))
                for corner in (lows, highs)
            ]
            gap = larger(builder.fsub(corners[0], x), builder.fsub(x, corners[1]))
            gap = larger(gap, zeros)
            return [builder.fadd(sums[0], builder.fmul(gap, gap))]

        (sums,) = code.loop(depth, 1, [zeros], add_coordinate)
        bounds = code.load(limit.data)
        below = _bits(builder, builder.fcmp_ordered("<", sums, bounds))
        equal = _bits(builder, builder.fcmp_ordered("==", sums, bounds))
        return builder.or_(below, builder.shl(equal, number(PACKET)))

    return types.uint64(low, high, types.intp, packet, limits), emit


box_hits = _hits_in_registers if jit_enabled() else hits_in_python
"""``box_hits(low, high, node, packet, limits)``

Bit w of the result says whether the squared distance of query w of ``packet`` (d, PACKET) and the
box of a node is below limits[w]; bit PACKET + w, whether it is equal to it.
"""

# ---------------------------------------------------------------------------- lists


def ranks_in_python(values, order, start, w, distances, indices):
    """What `sort_leaf` computes, for the mode without a compiler."""
    ranks = (values[None, :] < values[:, None]).sum(axis=1)
    distances[w, ranks] = values
    indices[w, ranks] = order[start : start + PACKET]
    return int(ranks.sum())


@intrinsic
def _ranks_in_registers(
    typing_context, values, order, start, w, distances, indices
):  # pragma: no cover
    def emit(context, builder, signature, args):
        arrays = [_array(context, builder, signature, args, i) for i in (0, 1, 4, 5)]
        numbers, names, sorted_numbers, sorted_names = arrays
        code = VectorCode(builder, ir.DoubleType(), PACKET)
        every = code.load(numbers.data)
        total = number(0)
        for s in range(PACKET):
            value = builder.load(builder.gep(numbers.data, [number(s)]))
            bits = _bits(builder, builder.fcmp_ordered("<", every, code.repeat(value)))
            rank = builder.ctpop(bits)
            total = builder.add(total, rank)
            name = builder.load(code.place(names.data, (args[2],), (number(s),)))
            builder.store(
                value, code.place(sorted_numbers.data, (args[3], number(PACKET)), (rank,))
            )
            builder.store(name, code.place(sorted_names.data, (args[3], number(PACKET)), (rank,)))
        return total

    signature = types.intp(values, order, types.intp, types.intp, distances, indices)
    return signature, emit


sort_leaf = _ranks_in_registers if jit_enabled() else ranks_in_python
"""``sort_leaf(values, order, start, w, distances, indices)``

Writes ``values``, sorted, to ``distances[w]`` and the entries of ``order`` from ``start`` on, in
the same order, to ``indices[w]``. Returns the sum of the ranks: if that is not UNTIED, there were
equal values, and the lists are not to be used.
"""


def insert_in_python(distances, indices, w, distance, index):
    """What `insert_pair` does, for the mode without a compiler."""
    pairs = [*zip(distances[w], indices[w].astype(np.uint64), strict=True)]
    pairs = sorted([*pairs, (distance, np.uint64(index))])[:PACKET]
    distances[w] = [pair[0] for pair in pairs]
    indices[w] = np.array([pair[1] for pair in pairs], np.uint64).astype(indices.dtype)


@intrinsic
def _insert_in_registers(
    typing_context, distances, indices, w, distance, index
):  # pragma: no cover
    def emit(context, builder, signature, args):
        numbers, names = (_array(context, builder, signature, args, i) for i in (0, 1))
        code = VectorCode(builder, ir.DoubleType(), PACKET)
        words = VectorCode(builder, WORD, PACKET)
        place = code.place(numbers.data, (args[2], number(PACKET)))
        name_place = words.place(names.data, (args[2], number(PACKET)))
        before, named = code.load(place), words.load(name_place)
        value, name = code.repeat(args[3]), words.repeat(args[4])
        tied = builder.and_(
            builder.fcmp_ordered("==", before, value), builder.icmp_unsigned(">", named, name)
        )
        after = builder.or_(builder.fcmp_ordered(">", before, value), tied)
        # Lane i holds what lane i - 1 held; the first holds the new pair.
        shift = [PACKET, *range(PACKET - 1)]
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), PACKET), shift)
        flags = ir.VectorType(ir.IntType(1), PACKET)
        moved = builder.shuffle_vector(before, value, lanes)
        moved_names = builder.shuffle_vector(named, name, lanes)
        no = ir.Constant(flags, [0] * PACKET)
        moved_after = builder.shuffle_vector(after, no, lanes)
        found = builder.select(moved_after, moved, value)
        found_names = builder.select(moved_after, moved_names, name)
        code.store(builder.select(after, found, before), place)
        words.store(builder.select(after, found_names, named), name_place)
        return context.get_dummy_value()

    return types.void(distances, indices, types.intp, types.float64, types.intp), emit


insert_pair = _insert_in_registers if jit_enabled() else insert_in_python
"""``insert_pair(distances, indices, w, distance, index)``

Inserts a pair into the list ``distances[w]`` and ``indices[w]``, PACKET long and sorted by
(distance, index), where index -1 ranks last; the last pair drops out.
"""
