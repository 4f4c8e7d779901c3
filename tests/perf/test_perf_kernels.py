"""Speed of the small kernels under everything else, beside NumPy's way of doing the same."""

import numpy as np
import pytest

from fastml.kernels.exp import exp32_array, exp_array, log_array
from fastml.kernels.heap import heap_clear, heap_merge, heap_sort
from fastml.kernels.rng import seed_stream, shuffle

LIBRARIES = pytest.mark.parametrize("library", ["fastml", "numpy"], indirect=True)


@LIBRARIES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp(measure, size, library, dtype):
    values = np.linspace(-30.0, 5.0, size(small=1_000, full=1_000_000)).astype(dtype)
    out = np.empty_like(values)
    ours = exp32_array if dtype == np.float32 else exp_array
    measure({"fastml": ours, "numpy": np.exp}[library], values, out)
    np.testing.assert_allclose(out, np.exp(values.astype(np.float64)), rtol=4e-7)


@LIBRARIES
def test_log(measure, size, library):
    values = np.geomspace(1e-30, 1e30, size(small=1_000, full=1_000_000))
    out = np.empty_like(values)
    measure({"fastml": log_array, "numpy": np.log}[library], values, out)
    np.testing.assert_allclose(out, np.log(values), rtol=1e-14, atol=1e-15)


@LIBRARIES
@pytest.mark.parametrize("k", [10, 100])
def test_smallest_k(measure, size, library, k):
    distances = np.random.default_rng(0).random(size(small=1_000, full=1_000_000))
    indices = np.arange(distances.size)
    best, where = np.empty(k), np.empty(k, dtype=np.intp)

    def ours():
        heap_clear(best, where)
        heap_merge(best, where, distances, indices)
        heap_sort(best, where)
        return where

    def numpys():
        nearest = np.argpartition(distances, k)[:k]
        return nearest[np.argsort(distances[nearest])]

    found = measure({"fastml": ours, "numpy": numpys}[library])
    np.testing.assert_array_equal(found, np.argsort(distances)[:k])


@LIBRARIES
def test_shuffle(measure, size, library):
    items = np.arange(size(small=1_000, full=1_000_000))
    state = np.empty(1, dtype=np.uint64)
    seed_stream(state, np.uint64(0), np.uint64(0))
    generator = np.random.default_rng(0)
    calls = {"fastml": lambda: shuffle(state, items), "numpy": lambda: generator.shuffle(items)}
    measure(calls[library])
    assert not np.array_equal(items, np.arange(items.size))
    np.testing.assert_array_equal(np.sort(items), np.arange(items.size))
