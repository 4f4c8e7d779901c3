import numpy as np
import pytest
from arrays import read_only
from naive_manifold import student_forces
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold.repulsion import repel_pairs, repel_plane, repel_row

pytestmark = pytest.mark.small


@pytest.mark.parametrize("nu", [1.0, 2.0, 0.7])
@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("n", [1, 2, 13])
def test_all_pairs(n, d, nu):
    Y = np.random.default_rng(n).normal(size=(n, d))
    Y[n // 2] = Y[0]
    expected, total = student_forces(Y, nu)
    found = []
    for n_threads in (1, 2):
        out, partial = np.empty((n, d)), np.empty(-(-n // 5))
        repel_pairs(Y, nu, 5, out, partial, n_threads=n_threads)
        found.append(out)
        assert_allclose(partial.sum(), total, rtol=1e-12, atol=1e-12)
    assert_array_equal(*found)
    assert_allclose(found[0], expected, rtol=1e-11, atol=1e-12)
    one = np.empty(d)
    assert_allclose(repel_row(read_only(Y)[0], read_only(Y), nu, one) - 1.0,
                    partial[0] if n == 1 else student_row(Y, nu), atol=1e-12)  # fmt: skip
    assert_allclose(one, expected[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("spread", [1e-4, 1.0, 50.0])
@pytest.mark.parametrize("n", [1, 2, 13, 530])
def test_all_pairs_in_the_plane(n, spread):
    Y = (spread * np.random.default_rng(n).normal(size=(n, 2))).astype(np.float32)
    expected, total = student_forces(Y.astype(float), 1.0)
    found = []
    for n_threads in (1, 2):
        out, partial = np.empty((n, 2)), np.empty(-(-n // 200))
        repel_plane(*np.ascontiguousarray(Y.T), 200, out, partial, n_threads=n_threads)
        found.append(out)
        assert_allclose(partial.sum(), total, rtol=1e-6, atol=1e-6)
    assert_array_equal(*found)
    assert_allclose(found[0], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def student_row(Y, nu):
    square = ((Y[0] - Y[1:]) ** 2).sum(axis=1)
    return ((1.0 + square / nu) ** (-0.5 * (nu + 1.0))).sum()
