"""Fits of blocks at once: eight threads of one process, and forks of it."""

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from fastml._engines import kept
from fastml.blocks import Blocks, fit, predict
from fastml.cluster import KMeans
from fastml.ensemble import HistGradientBoostingClassifier
from fastml.linear_model import LogisticRegression

rng = np.random.default_rng(0)
X = rng.normal(size=(1200, 4))
Y = (X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=1200) > 0).astype(int)
MODELS = [
    KMeans(5, random_state=0),
    LogisticRegression(),
    HistGradientBoostingClassifier(max_iter=3, random_state=0, early_stopping=True),
]


def learnt(number):
    blocks = Blocks.from_npy(X, Y, block_rows=128)
    model = fit(clone(MODELS[number % 3]), blocks)
    return pickle.dumps((model, predict(model, blocks)))


def test_eight_threads_at_once():
    expected = [learnt(number) for number in range(3)]
    with ThreadPoolExecutor(8) as pool:
        for number, found in enumerate(pool.map(learnt, range(24))):
            assert found == expected[number % 3]
    assert not kept._kept


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system has no forks"
)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_learn_the_same():
    expected = [learnt(number) for number in range(3)]  # threads have run before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(learnt, range(3)).get(60) == expected
