import numpy as np
import pytest
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.preprocessing.affine import (
    MULTIPLY_ADD,
    SUBTRACT_DIVIDE,
    affine,
    normalise_rows,
    row_norm,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", [SUBTRACT_DIVIDE, MULTIPLY_ADD])
@pytest.mark.parametrize("n", [0, 1, 20])
def test_affine(n, mode, dtype):
    X = np.random.default_rng(n).normal(size=(n, 3)).astype(dtype)
    if n:
        X[0, 1] = np.nan
    shifts, factors = read_only(np.array([1.0, -2.0, 0.0])), read_only(np.array([2.0, 0.5, 3.0]))
    double = X.astype(np.float64)
    moved = (double - shifts) / factors if mode == SUBTRACT_DIVIDE else double * factors + shifts
    expected = np.clip(moved, -1.0, 2.0).astype(dtype)
    for lines, by_column in ((X, False), (np.ascontiguousarray(X.T), True)):
        out = lines.copy()
        infinite = np.zeros(-(-n // 7), dtype=np.intp)
        affine(
            read_only(out), by_column, mode, shifts, factors, (-1.0, 2.0), 7, out, infinite,
            n_threads=2,
        )  # fmt: skip
        assert_array_equal(out.T if by_column else out, expected)
        assert not infinite.any()


def test_infinity_is_seen():
    X = np.array([[1.0], [np.inf]])
    infinite = np.zeros(2, dtype=np.intp)
    constants = read_only(np.ones(1))
    affine(
        read_only(X), False, SUBTRACT_DIVIDE, constants, constants, (-np.inf, np.inf), 1,
        np.empty((2, 1)), infinite, n_threads=1,
    )  # fmt: skip
    assert_array_equal(infinite, [0, 1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_norms(kind, dtype):
    X = np.random.default_rng(0).normal(size=(15, 6)).astype(dtype)
    X[3] = 0.0
    expected = np.linalg.norm(X.astype(np.float64), ord=[1, 2, np.inf][kind], axis=1)
    assert_allclose([row_norm(read_only(row), kind) for row in X], expected, rtol=1e-6)
    expected[3] = 1.0
    norms, out = np.empty(15), np.empty_like(X)
    normalise_rows(read_only(X), kind, 1e-9, 4, norms, out, n_threads=2)
    assert_allclose(norms, expected, rtol=1e-6)
    assert_allclose(out, X / expected[:, None], rtol=1e-5)
