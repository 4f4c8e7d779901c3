"""Vector code written by hand computes what plain code computes, on any size of register."""

import numpy as np
import pytest
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fastml._jit import jit_enabled, kernel
from fastml.kernels.numeric.vector_code import VectorCode, number, vector_bytes

pytestmark = pytest.mark.small


@pytest.mark.parametrize(
    ("features", "size"),
    [
        ("+sse2,+avx,+avx512f", 64),
        ("+avx,-avx512f", 32),
        ("+avx2,+avx", 32),
        ("+neon", 16),
        ("", 16),
    ],
)
def test_size_of_a_register(features, size):
    assert vector_bytes(features) == size


def test_constants_are_64_bits_wide():
    assert number(7).type == ir.IntType(64)
    assert number(7).constant == 7


@intrinsic
def _scaled_sum(typing_context, X, row, factor, out):
    """Write ``factor`` times the sum of ``X[row, block]`` over blocks of four to ``out``."""

    def emit(context, builder, signature, args):
        arrays = (context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 3))
        X, out = arrays
        n_blocks = cgutils.unpack_tuple(builder, X.shape)[1]
        code = VectorCode(builder, ir.DoubleType(), 4)
        start = code.place(X.data, (args[1], n_blocks, number(4)))

        def add(k, sums):
            block = code.load(code.place(start, (k, number(4))))
            return [builder.fadd(sums[0], block)]

        (total,) = code.loop(n_blocks, 1, [code.repeat(ir.Constant(ir.DoubleType(), 0.0))], add)
        scaled = builder.fmul(total, code.repeat(args[2]))
        code.store(scaled, code.place(out.data, (number(0),)))
        return context.get_dummy_value()

    return types.none(X, row, factor, out), emit


@kernel
def scaled_sum(X, row, factor, out):
    _scaled_sum(X, row, factor, out)


@pytest.mark.skipif(not jit_enabled(), reason="about machine code")
@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_loads_loops_and_stores(n_blocks):
    X = np.random.default_rng(0).normal(size=(3, n_blocks, 4))
    out = np.full(5, np.nan)
    scaled_sum(X, 2, 0.5, out[:4])
    np.testing.assert_allclose(out[:4], 0.5 * X[2].sum(axis=0), rtol=1e-14)
    assert np.isnan(out[4])  # nothing is written beyond the vector
