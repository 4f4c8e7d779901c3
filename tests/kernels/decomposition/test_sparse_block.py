import numpy as np
import pytest
import scipy.sparse as sp
from arrays import read_only
from numpy.testing import assert_allclose, assert_array_equal

from fastml._engines.rows import csr_rows
from fastml.kernels.decomposition.sparse_block import (
    fold_parts,
    sparse_gram_block,
    sparse_times_block,
)

pytestmark = pytest.mark.small


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3), (40, 7)])
def test_products(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.4)
    B = rng.normal(size=(shape[1], 5))
    rows = csr_rows(sp.csr_array(X))
    found = []
    for n_threads, step in ((1, 7), (2, 7), (1, 100)):
        out = np.full((shape[0], 5), np.nan)
        sparse_times_block(rows, read_only(B), step, out, n_threads=n_threads)
        assert_allclose(out, X @ B, atol=1e-12)
        found.append(out)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_a_column_major_matrix_gives_the_transpose():
    X = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    out = np.empty((3, 1))
    sparse_times_block(
        csr_rows(X.tocsc()), read_only(np.array([[1.0], [2.0]])), 2, out, n_threads=1
    )
    assert_array_equal(out[:, 0], [1.0, 6.0, 2.0])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (2, 3), (40, 7)])
@pytest.mark.parametrize("width", [1, 5])
def test_products_with_the_matrix_and_its_transpose_in_one_pass(shape, width):
    rng = np.random.default_rng(0)
    n, d = shape
    X = rng.normal(size=shape) * (rng.random(shape) < 0.6)
    B, offset = rng.normal(size=(d, width)), rng.normal(size=width)
    ones, weights = rng.normal(size=n), rng.random(n)
    bounds = np.array([0, n // 3, n // 3, n])  # one chunk has no rows
    found = []
    for n_threads in (1, 2):
        lines, sums = np.full((3, width), np.nan), np.full((3, width), np.nan)
        parts, out = np.full((3, d, width), np.nan), np.full((d, width), np.nan)
        sparse_gram_block(
            csr_rows(sp.csr_array(X)), read_only(ones), read_only(weights), read_only(B),
            read_only(offset), read_only(bounds), lines, sums, parts, n_threads=n_threads,
        )  # fmt: skip
        fold_parts(read_only(parts), 2, out, n_threads=n_threads)
        left = weights[:, None] * (X @ B - np.outer(ones, offset))
        assert_allclose(out, X.T @ left, atol=1e-12)
        assert_allclose(sums.sum(axis=0), ones @ left, atol=1e-12)
        found.append((parts, sums, out))
    for a, b in zip(*found):
        assert_array_equal(a, b)


@pytest.mark.parametrize("width", [1, 6])
def test_parts_are_added_in_order(width):
    parts = np.random.default_rng(0).normal(size=(4, 9, width))
    for step, n_threads in ((2, 1), (2, 2), (100, 1)):
        out = np.full((9, width), np.nan)
        fold_parts(read_only(parts), step, out, n_threads=n_threads)
        assert_array_equal(out, ((parts[0] + parts[1]) + parts[2]) + parts[3])
