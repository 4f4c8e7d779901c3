"""Products of the columns of a tile of rows with each other: T'T, its upper blocks only.

The columns lie in panels of eight, one row after the other, so that every read is in order. A block
of eight columns and up to 24 stays in registers over all rows, as in a matrix product of BLAS; the
blocks below the diagonal, half of the work, are left out. Meanwhile the rows of the next tile are
fetched. LLVM's vectoriser would use half of AVX-512, so the vector instructions are written out.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled, kernel
from fastml.kernels.numeric.prefetch import call_prefetch
from fastml.kernels.numeric.vector_code import VectorCode, number, vector_bytes

PANEL = 8
"""Columns of a panel."""

CACHE_LINE = 64
"""Bytes."""


def copy_in_python(X, i, j, factor, panels, q, row):
    """What `copy_panel` does, for the mode without a compiler."""
    panels[q, row] = factor * X[i, j : j + PANEL].astype(np.float64)


def add_in_python(panels, n_rows, a, b, address, stride, out):
    """What `_add_one` computes, for the mode without a compiler."""
    block = panels[a, :n_rows].T @ panels[b, :n_rows]
    out[PANEL * a : PANEL * (a + 1), PANEL * b : PANEL * (b + 1)] += block


def _block_shape(features: str, count: int) -> tuple[int, int, int]:
    """(numbers per register, columns of the left panel, panels on the right) that fit registers."""
    width = vector_bytes(features) // 8
    return (width, PANEL, count) if width == 8 else (width, width, 1)


def _emit_copy(context, builder, signature, args):  # pragma: no cover  (it needs a compiler)
    """The LLVM code of `copy_panel`."""
    width = vector_bytes(context.codegen().magic_tuple()[2]) // 8
    X = context.make_array(signature.args[0])(context, builder, args[0])
    panels = context.make_array(signature.args[4])(context, builder, args[4])
    i, j, factor, q, row = args[1], args[2], args[3], args[5], args[6]
    read = VectorCode(builder, context.get_value_type(signature.args[0].dtype), width)
    write = VectorCode(builder, ir.DoubleType(), width)
    n_columns = cgutils.unpack_tuple(builder, X.shape)[1]
    depth = cgutils.unpack_tuple(builder, panels.shape)[1]
    source = read.place(X.data, (i, n_columns), (j,))
    target = write.place(panels.data, (q, depth, number(PANEL)), (row, number(PANEL)))
    factors = write.repeat(factor)
    for first in range(0, PANEL, width):
        values = read.load(read.place(source, (number(first),)))
        if read.scalar != write.scalar:
            values = builder.fpext(values, write.vector)
        write.store(builder.fmul(values, factors), write.place(target, (number(first),)))
    return context.get_dummy_value()


def _emit_products(count, context, builder, signature, args):  # pragma: no cover
    """The LLVM code that adds the products of panel a with ``count`` panels from b on."""
    width, n_left, n_right = _block_shape(context.codegen().magic_tuple()[2], count)
    panels = context.make_array(signature.args[0])(context, builder, args[0])
    out = context.make_array(signature.args[6])(context, builder, args[6])
    n_rows, a, b, address, stride = args[1:6]
    depth = cgutils.unpack_tuple(builder, panels.shape)[1]
    n_columns = cgutils.unpack_tuple(builder, out.shape)[1]
    code = VectorCode(builder, ir.DoubleType(), width)
    per_panel = PANEL // width

    def add_row(left, rights, fetches, i, sums):
        if fetches:
            call_prefetch(builder, builder.add(address, builder.mul(i, stride)))
        y = [
            code.load(code.place(right, (i, number(PANEL)), (number(width * v),)))
            for right in rights
            for v in range(per_panel)
        ]
        added = []
        for k in range(n_left):
            x = code.repeat(builder.load(code.place(left, (i, number(PANEL)), (number(k),))))
            for v, value in enumerate(y):
                product = builder.fmul(x, value, flags=("contract",))
                added.append(builder.fadd(product, sums[k * len(y) + v], flags=("contract",)))
        return added

    for first in range(0, PANEL, n_left):
        left = code.place(panels.data, (a, depth, number(PANEL)), (number(first),))
        for q in range(0, count, n_right):
            numbers = [builder.add(b, number(q + r)) for r in range(n_right)]
            rights = [code.place(panels.data, (p, depth, number(PANEL))) for p in numbers]
            places = [
                code.place(
                    out.data,
                    (builder.add(builder.mul(a, number(PANEL)), number(first + k)), n_columns),
                    (p, number(PANEL)),
                    (number(width * v),),
                )
                for k in range(n_left)
                for p in numbers
                for v in range(per_panel)
            ]
            zero = ir.Constant(code.vector, [0.0] * width)
            body = partial(add_row, left, rights, first == q == 0)
            sums = code.loop(n_rows, 1, [zero] * len(places), body)
            for place, total in zip(places, sums):
                code.store(builder.fadd(code.load(place), total), place)
    return context.get_dummy_value()


def _in_registers(count):  # pragma: no cover
    @intrinsic
    def add(typing_context, panels, n_rows, a, b, address, stride, out):
        return types.void(panels, *[types.intp] * 5, out), partial(_emit_products, count)

    return add


@intrinsic
def _copy_in_registers(typing_context, X, i, j, factor, panels, q, row):  # pragma: no cover
    if isinstance(X, types.Array) and X.layout == "C":
        indices = [types.intp] * 2
        return types.void(X, *indices, types.float64, panels, *indices), _emit_copy
    return None


if jit_enabled():
    copy_panel = _copy_in_registers
    _add_one, _add_two, _add_three = (_in_registers(count) for count in (1, 2, 3))
else:
    copy_panel = copy_in_python
    _add_one, _add_two, _add_three = add_in_python, None, None
"""``copy_panel(X, i, j, factor, panels, q, row)``

Writes factor · X[i, j : j + 8], of float32 or float64 in C order, to panels[q, row] in float64.
"""


@kernel
def line_of(n):
    """``n`` float64 from the beginning of a cache line on: a load of eight meets one line."""
    values = np.zeros(n + CACHE_LINE // 8)
    first = (-values.ctypes.data % CACHE_LINE) // 8
    return values[first : first + n]


@kernel
def n_blocks(n_panels):
    """How many times `add_products` reads the rows."""
    found = 0
    for a in range(n_panels):
        found += (n_panels - a + 2) // 3
    return found


if jit_enabled():

    @kernel
    def add_products(panels, n_rows, address, stride, out):
        """Add the products of columns to ``out``, to blocks of 8 × 8 on and above its diagonal.

        ``panels`` is (panels, rows, 8); its first ``n_rows`` >= 1 rows count. For each row and each
        of `n_blocks`, the cache line at ``address`` is fetched, then ``stride`` bytes further on.
        """
        n_panels = panels.shape[0]
        for a in range(n_panels):
            b = a
            while b < n_panels:
                left = n_panels - b
                if left == 1:
                    _add_one(panels, n_rows, a, b, address, stride, out)
                    b += 1
                elif left == 2 or left == 4:
                    _add_two(panels, n_rows, a, b, address, stride, out)
                    b += 2
                else:
                    _add_three(panels, n_rows, a, b, address, stride, out)
                    b += 3
                address += stride * n_rows

else:

    @kernel
    def add_products(panels, n_rows, address, stride, out):
        """Add the products of columns to ``out``, to blocks of 8 × 8 on and above its diagonal."""
        for a in range(panels.shape[0]):
            for b in range(a, panels.shape[0]):
                _add_one(panels, n_rows, a, b, address, stride, out)
