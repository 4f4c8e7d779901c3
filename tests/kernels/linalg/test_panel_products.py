"""Products of panels equal NumPy's, for every number of panels and of rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml._jit import kernel
from fastml.kernels.linalg import panel_products as kernels
from fastml.kernels.linalg.panel_products import PANEL, copy_panel

pytestmark = pytest.mark.small


@kernel
def copy(X, i, j, factor, panels, q, row):
    copy_panel(X, i, j, factor, panels, q, row)


@pytest.mark.parametrize("n_panels", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("n_rows", [1, 3])
def test_products(n_panels, n_rows):
    rng = np.random.default_rng(n_panels)
    panels = rng.normal(size=(n_panels, 3, PANEL))
    m = n_panels * PANEL
    flat = panels.swapaxes(0, 1).reshape(3, m)[:n_rows]
    out = np.ones((m, m))
    kernels.add_products(panels, n_rows, panels.ctypes.data, 8, out)
    block = np.arange(m) // PANEL
    upper = block[:, None] <= block
    assert_allclose(out, np.where(upper, flat.T @ flat + 1.0, 1.0), atol=1e-13)
    out[:] = 0.0
    for b in range(n_panels):
        kernels.add_in_python(panels, n_rows, 0, b, 0, 0, out)
    assert_allclose(out[:PANEL], flat[:, :PANEL].T @ flat, atol=1e-13)


def test_what_is_not_finite_is_seen():
    panels = np.ones((2, 2, PANEL))
    panels[0, 1, 3] = np.inf
    out = np.zeros((2 * PANEL, 2 * PANEL))
    kernels.add_products(panels, 2, panels.ctypes.data, 0, out)
    assert np.isinf(out[3, 3])
    assert np.isfinite(np.delete(np.delete(out, 3, axis=0), 3, axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copy(dtype):
    X = np.random.default_rng(0).normal(size=(3, 19)).astype(dtype)
    for do in (copy, kernels.copy_in_python):
        panels = np.zeros((2, 4, PANEL))
        do(X, 2, 9, 0.5, panels, 1, 3)
        assert_array_equal(panels[1, 3], 0.5 * X[2, 9:17].astype(np.float64))
        assert not panels[0].any()


def test_lines_and_blocks():
    values = kernels.line_of(24)
    assert values.shape == (24,)
    assert not values.any()
    assert values.ctypes.data % kernels.CACHE_LINE == 0
    assert [kernels.n_blocks(n) for n in (1, 2, 3, 4, 7)] == [1, 2, 3, 5, 12]


@pytest.mark.parametrize(
    ("features", "shape"),
    [("+avx512f,+avx", (8, 8, 3)), ("+avx,-avx512f", (4, 4, 1)), ("+neon", (2, 2, 1))],
)
def test_block_fits_the_registers(features, shape):
    assert kernels._block_shape(features, 3) == shape
    width, n_left, n_right = shape
    assert PANEL % n_left == 0
    assert n_left * n_right * (PANEL // width) <= (24 if width == 8 else 8)
