import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fastml.kernels.manifold.descent import EmbeddingDescent, Moving, advance

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n", [1, 2, 9])
def test_two_steps(n):
    rng = np.random.default_rng(n)
    start = rng.normal(size=(n, 3))
    rule = EmbeddingDescent(2.0, -0.5, 0.3, 0.8, 0.01, 0.7)
    found = []
    for n_threads in (1, 2):
        rng = np.random.default_rng(1)
        moving = Moving(start.copy(), np.empty((n, 3), dtype=np.float32),
                        np.zeros((n, 3)), np.ones((n, 3)))  # fmt: skip
        Y, steps, gains = start.copy(), np.zeros((n, 3)), np.ones((n, 3))
        for _ in range(2):
            pull = rng.normal(size=(n, 3)).astype(np.float32)
            push = rng.normal(size=(n, 3))
            lows, highs, norms = np.empty((2, 3)), np.empty((2, 3)), np.zeros(2)
            lows, highs, norms = lows[: -(-n // 5)], highs[: -(-n // 5)], norms[: -(-n // 5)]
            advance(rule, pull, push, moving, 5, lows, highs, norms, n_threads=n_threads)
            slope = 2.0 * pull.astype(float) - 0.5 * push
            gains = np.maximum(np.where(steps * slope < 0, gains + 0.2, gains * 0.8), 0.01)
            steps = np.clip(0.8 * steps - 0.3 * gains * slope, -0.7, 0.7)
            Y = Y + steps
            assert_allclose(norms.sum(), ((gains * slope) ** 2).sum())
            assert_allclose(lows.min(axis=0), Y.min(axis=0))
            assert_allclose(highs.max(axis=0), Y.max(axis=0))
        assert_allclose(moving.Y, Y)
        assert_allclose(moving.gains, gains)
        assert_array_equal(moving.rounded, moving.Y.astype(np.float32))
        found.append(moving.Y)
    assert_array_equal(*found)
