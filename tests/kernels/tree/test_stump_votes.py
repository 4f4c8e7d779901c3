import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fastml.kernels.tree.stump_votes import stump_votes

pytestmark = pytest.mark.small


@pytest.mark.parametrize("n_rows", [0, 1, 300])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_votes(n_rows, n_classes):
    rng = np.random.default_rng(n_rows)
    X = np.round(rng.normal(size=(n_rows, 3)), 1).astype(np.float32)
    features, thresholds = rng.integers(0, 3, 9), np.round(rng.normal(size=9), 1)
    said = rng.integers(0, n_classes, (2, 9))
    said[1, 0] = said[0, 0]  # a stump may say the same on both sides
    scales, out = rng.random(9), np.empty((n_rows, n_classes))
    rows_per_chunk = 270
    stump_votes(
        -(-n_rows // rows_per_chunk), rows_per_chunk, X, features, thresholds, *said, scales, out,
        n_threads=1,
    )  # fmt: skip
    stumps = list(zip(features, thresholds, *said))
    assert_allclose(out, naive.stump_votes(X, stumps, scales, n_classes), rtol=1e-14)
