"""A hint to the processor that a row of a matrix will be read soon; it changes no result."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fastml._jit import jit_enabled, kernel

LINE_BYTES = 64
"""Of a cache line."""


def call_prefetch(builder, address):  # pragma: no cover  (it needs a compiler)
    """LLVM code that fetches the cache line at an address, for reading."""
    word = ir.IntType(32)
    pointer = builder.inttoptr(address, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
    known = builder.module.globals.get("llvm.prefetch.p0")
    function = known or ir.Function(builder.module, kind, "llvm.prefetch.p0")
    hints = [ir.Constant(word, value) for value in (0, 3, 1)]  # to read, often, data
    builder.call(function, [pointer, *hints])


@intrinsic
def _prefetch(typing_context, X, i, j):  # pragma: no cover  (it needs a compiler)
    """Fetch the cache line of X[i, j], a matrix in C order, for reading."""

    def emit(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        data = builder.bitcast(array.data, ir.IntType(8).as_pointer())
        size = ir.Constant(ir.IntType(64), context.get_abi_sizeof(array.data.type.pointee))
        n_columns = builder.extract_value(array.shape, 1)
        place = builder.mul(builder.add(builder.mul(args[1], n_columns), args[2]), size)
        call_prefetch(builder, builder.ptrtoint(builder.gep(data, [place]), ir.IntType(64)))
        return context.get_dummy_value()

    if isinstance(X, types.Array) and X.ndim == 2 and X.layout == "C":
        return types.void(X, types.intp, types.intp), emit
    return None


if jit_enabled():

    @kernel
    def prefetch_row(X, i):
        """Fetch row i of a matrix in C order into the cache."""
        step = max(1, LINE_BYTES // X.itemsize)
        for j in range(0, X.shape[1], step):
            _prefetch(X, np.intp(i), np.intp(j))

else:

    @kernel
    def prefetch_row(X, i):
        """Do nothing: Python's arrays have no cache to speak of."""
