import numpy as np
import pytest
from naive_manifold import student_forces
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold.cells import LEVELS, TreeCells, build_cells, interleaved, repel_cells

pytestmark = pytest.mark.small


@pytest.mark.parametrize("nu", [1.0, 2.0])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kind", ["random", "equal", "two", "one"])
def test_cells_are_a_tree_and_repel(kind, d, nu):
    rng = np.random.default_rng(0)
    n = {"random": 60, "equal": 30, "two": 2, "one": 1}[kind]
    Y = np.ones((n, d)) if kind == "equal" else rng.normal(size=(n, d))
    low = Y.min(axis=0)
    side = max(float(np.ptp(Y, axis=0).max()), 1e-300)
    codes = np.empty(n, dtype=np.uint64)
    interleaved(Y, low, (1 << LEVELS) / side, codes)
    places = np.minimum(((Y - low) * ((1 << LEVELS) / side)).astype(int), (1 << LEVELS) - 1)
    for i in range(min(n, 5)):
        code = 0
        for level in range(LEVELS):
            for f in range(d):
                code |= ((int(places[i, f]) >> level) & 1) << (level * d + f)
        assert int(codes[i]) == code
    order = np.argsort(codes, kind="stable")
    ordered = Y[order]
    cells = TreeCells(
        *(np.empty(2 * n, dtype=np.intp) for _ in range(3)), np.empty(2 * n), np.empty((2 * n, d))
    )
    n_cells = build_cells(codes[order], ordered, side, cells, np.empty(2 * n, dtype=np.intp))
    leaves = np.flatnonzero(cells.squares[:n_cells] < 0)
    assert_array_equal(
        np.concatenate([np.arange(cells.begins[c], cells.ends[c]) for c in leaves]), np.arange(n)
    )
    for c in range(n_cells):
        inside = ordered[cells.begins[c] : cells.ends[c]]
        assert_allclose(cells.centres[c], inside.mean(axis=0))
        if cells.squares[c] >= 0:
            assert np.ptp(inside, axis=0).max() <= np.sqrt(cells.squares[c]) * (1 + 1e-5)
    exact, total = student_forces(Y, nu)
    for angle, tolerance in ((0.0, 1e-10), (0.3, 0.05)):
        found = []
        for n_threads in (1, 2):
            out, partial = np.empty((n, d)), np.empty(-(-n // 16))
            repel_cells(
                n_cells, cells, ordered, nu, angle**2, order, 16, out, partial, n_threads=n_threads
            )
            found.append(out)
        assert_array_equal(*found)
        assert_allclose(partial.sum(), total, rtol=tolerance, atol=1e-12)
        assert np.linalg.norm(out - exact) <= tolerance * np.linalg.norm(exact) + 1e-12
