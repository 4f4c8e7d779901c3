import numpy as np
import pytest
from arrays import read_only
from naive_selection import moments_of_groups
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.selection.group_moments import group_moments

pytestmark = pytest.mark.small


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_moments(n, dtype):
    rng = np.random.default_rng(n)
    X = rng.normal(loc=[0.0, 1000.0, 14.62], scale=[1.0, 1.0, 0.0], size=(n, 3)).astype(dtype)
    codes = rng.integers(0, 3, size=n)  # the last of four groups has no row
    shift = X[0].astype(np.float64) if n else np.zeros(3)
    for rows_per_chunk in (7, 1000):
        n_chunks = -(-n // rows_per_chunk)
        found = {}
        for n_threads in (1, 2):
            counts, means, squares = (
                np.zeros((n_chunks, 4)),
                np.zeros((n_chunks, 4, 3)),
                np.zeros((n_chunks, 4, 3)),
            )
            group_moments(
                read_only(X), read_only(codes), read_only(shift), rows_per_chunk,
                counts, means, squares, n_threads=n_threads,
            )  # fmt: skip
            found[n_threads] = counts, means, squares
        for one, two in zip(found[1], found[2]):
            assert_array_equal(one, two)
        counts, means, squares = found[1]
        assert not squares[:, :, 2].any(), "a constant column has no spread at all"
        for c in range(n_chunks):
            here = slice(c * rows_per_chunk, (c + 1) * rows_per_chunk)
            rows, centres, spread = moments_of_groups(X[here], codes[here], 4)
            assert_array_equal(counts[c], rows)
            assert_allclose(means[c], centres - shift * (rows > 0)[:, None], atol=1e-9)
            assert_allclose(squares[c], spread, rtol=1e-9, atol=1e-9)
