import numpy as np
import pytest
from naive import seeding_step

from fastml._engines.kmeans.rows import pack_tiles
from fastml._engines.kmeans.seeding import sample_rows
from fastml.kernels.cluster.kmeans_plusplus import seeding_chunks
from fastml.kernels.cluster.lloyd import TILE

pytestmark = pytest.mark.small
floats = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows_of(X, tiled):
    shift = np.zeros(X.shape[1], X.dtype)
    return X, shift, pack_tiles(X if tiled else X[:0], shift)


@floats
@pytest.mark.parametrize("n_candidates", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 4), (129, 3), (300, 6)])
@pytest.mark.parametrize("tiled", [False, True])
def test_step_equals_naive(n, d, n_candidates, dtype, tiled):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    weights = rng.random(n).astype(dtype)
    candidates = X[rng.integers(0, n, n_candidates)]
    closest = (rng.random(n) * d).astype(dtype)
    n_chunks = -(-n // TILE)
    potentials = np.empty((n_chunks, n_candidates))
    kept = np.empty((n_candidates, n), dtype)
    args = (n_chunks, 1, *rows_of(X, tiled), weights, candidates, closest)
    seeding_chunks(*args, True, kept, potentials, n_threads=1)
    lowered, expected = seeding_step(X, weights, candidates, closest)
    np.testing.assert_allclose(kept, lowered, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(potentials.sum(axis=0), expected, rtol=1e-5)
    without = np.empty_like(potentials)
    seeding_chunks(*args, False, kept[:0], without, n_threads=1)
    np.testing.assert_array_equal(without, potentials)


def test_duplicates_are_at_distance_zero():
    X = np.full((5, 3), 0.1, np.float32)
    kept = np.empty((1, 5), np.float32)
    closest = np.full(5, np.finfo(np.float32).max, np.float32)
    seeding_chunks(
        1, 1, *rows_of(X, True), np.ones(5, np.float32), X[:1], closest, True, kept,
        np.empty((1, 1)), n_threads=1,
    )  # fmt: skip
    assert (kept == 0).all()


def test_sampling_is_a_search_in_the_running_sum():
    rng = np.random.default_rng(0)
    closest, weights = rng.random(300), rng.integers(0, 3, 300) * 1.0
    running = np.cumsum(closest * weights)
    potentials = np.zeros(3)
    for chunk in range(3):
        part = slice(chunk * TILE, (chunk + 1) * TILE)
        potentials[chunk] = (closest * weights)[part].sum()
    values = np.concatenate([[0.0], rng.random(50) * running[-1], [running[-1] * 1.1]])
    rows = sample_rows(values, TILE, closest, weights, potentials)
    expected = np.minimum(np.searchsorted(running, values), 299)
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("n", [1, 127, 128, 300])
def test_tiles_hold_the_shifted_rows(n):
    X = np.random.default_rng(0).random((n, 3))
    shift = X.mean(axis=0)
    tiles = pack_tiles(X, shift)
    rows = tiles.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(rows[:n], X - shift)
    assert (rows[n:] == 0).all()
