"""Packed boolean metrics against counting."""

import naive
import numpy as np
import pytest
from numba import config

from fastml._engines.distances.matrix import packed_bits
from fastml._jit import jit_enabled
from fastml.kernels.distances import boolean
from fastml.kernels.distances import metrics as m
from fastml.kernels.distances.pair_tiles import tile_count

pytestmark = [
    pytest.mark.small,
    # With JIT off, NumPy scalars warn where compiled code wraps round as it should.
    pytest.mark.filterwarnings("ignore:(overflow|invalid|divide):RuntimeWarning"),
]
NAMES = ["jaccard", "dice", "matching", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]


def rows(n, d, seed=0):
    X = np.random.default_rng(seed).random((n, d)) > 0.6
    X[0] = False
    X[-1] = True
    return X


def matrix(code, X, Y, size=4, symmetric=None, n_threads=1):
    (x, ones_x), (y, ones_y) = packed_bits(X), packed_bits(Y)
    symmetric = X is Y if symmetric is None else symmetric
    out = np.full((len(X), len(Y)), np.nan)
    tiles = tile_count(len(X), len(Y), size, symmetric)
    n_bits = float(X.shape[1])
    table = np.arange(n_bits + 1) / n_bits
    boolean.bit_tiles(
        0, tiles, size, code, n_bits, x, y, ones_x, ones_y, table, symmetric, out,
        n_threads=n_threads,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("d", [1, 63, 64, 65, 130])
def test_every_metric(name, d):
    X, Y = rows(6, d), rows(5, d, seed=1)
    code = getattr(m, name.upper())
    for other in (X, Y):
        wanted = naive.pairs(lambda x, y: naive.boolean_distance(name, x, y), X, other)
        np.testing.assert_allclose(matrix(code, X, other), wanted, rtol=1e-14)
    np.testing.assert_array_equal(matrix(code, X, X), matrix(code, X, X, symmetric=False))


def test_two_empty_sets_have_jaccard_distance_zero():
    X = np.zeros((2, 5), dtype=bool)
    assert not matrix(m.JACCARD, X, X).any()


@pytest.mark.parametrize("shape", [(1, 1), (2, 64), (7, 131)])
def test_ones_are_counted(shape):
    X = rows(*shape)
    words, ones = packed_bits(X)[0], np.full(shape[0], np.nan)
    boolean.count_ones(words, ones)
    np.testing.assert_array_equal(ones, X.sum(axis=1))


@pytest.mark.skipif(not jit_enabled(), reason="large")
def test_threads_do_not_matter():
    X = rows(300, 100)
    one = matrix(m.JACCARD, X, X, size=64)
    np.testing.assert_array_equal(matrix(m.JACCARD, X, X, size=64, n_threads=2), one)


@pytest.mark.skipif(bool(config.BOUNDSCHECK), reason="bounds checks are scalar code")
@pytest.mark.skipif(not jit_enabled(), reason="about machine code")
def test_counting_is_vector_code():
    from numba import njit

    fresh = njit(boolean._count_common.py_func)  # code from the cache cannot be inspected
    words = np.zeros((2, 64), dtype=np.uint64)
    fresh(words, 0, words, 0, 64, np.zeros(64, dtype=np.uint64))
    (assembly,) = fresh.inspect_asm().values()
    if "ymm" not in assembly and "zmm" not in assembly:
        pytest.skip("not an AVX2 machine")
    assert "vpopcnt" in assembly or "vpshufb" in assembly
