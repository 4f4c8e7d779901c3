"""Models that learn from one block after the other."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from fastml.blocks import Blocks, ThreadsExecutor, fit, histogram_density
from fastml.cluster import BFR, MiniBatchKMeans
from fastml.density import histogram_density as in_memory
from fastml.linear_model import SGDClassifier, SGDRegressor

N = 900
rng = np.random.default_rng(0)
GROUPS = rng.integers(0, 3, N)
X = rng.normal(size=(N, 4)) + 8.0 * np.eye(3, 4)[GROUPS]
Y = X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.1 * rng.normal(size=N)
WEIGHTS = rng.random(N) + 0.5
TWO = np.where(Y > 1.0, "yes", "no")

MODELS = {
    "batches": (MiniBatchKMeans(3, batch_size=64, random_state=0, max_iter=5), None),
    "batches, tolerance": (MiniBatchKMeans(3, batch_size=64, random_state=0, tol=1e-3), None),
    "bfr": (BFR(3, random_state=0), None),
    "two classes": (SGDClassifier(random_state=0), TWO),
    "three classes": (SGDClassifier(loss="log_loss", average=True, random_state=0), GROUPS),
    "balanced": (SGDClassifier(class_weight="balanced", random_state=0), GROUPS),
    "numbers": (SGDRegressor(random_state=0), Y),
}


def blocks_of(y, weights=None, rows=X, block_rows=200):
    return Blocks.from_npy(rows, y, weights, block_rows=block_rows)


class ElsewhereExecutor:
    """As if every block went to another process."""

    def run(self, task):
        for number in range(task.blocks.n_blocks):
            function, state = pickle.loads(pickle.dumps((task.function, task.state)))
            yield pickle.loads(pickle.dumps(function(task.blocks.block(number), *state)))


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_whoever_reads_the_blocks(name):
    model, y = MODELS[name]
    for weights in (None, WEIGHTS):
        if weights is not None and name == "bfr":
            continue
        one = pickle.dumps(fit(clone(model), blocks_of(y, weights), ThreadsExecutor(1)))
        for executor in (ThreadsExecutor(3), ElsewhereExecutor()):
            assert pickle.dumps(fit(clone(model), blocks_of(y, weights), executor)) == one


@pytest.mark.parametrize("name", MODELS)
def test_as_good_as_all_rows_in_memory(name):
    model, y = MODELS[name]
    own, other = fit(clone(model), blocks_of(y)), clone(model).fit(X, y)
    assert own.n_features_in_ == 4
    if y is None:
        assert adjusted_rand_score(own.predict(X), other.predict(X)) > 0.99
    else:
        assert own.score(X, y) > other.score(X, y) - 0.02
        assert own.n_iter_ < 1000


def test_an_epoch_is_partial_fit_block_by_block():
    own = fit(SGDRegressor(max_iter=3, tol=None, random_state=0), blocks_of(Y, WEIGHTS))
    other = SGDRegressor(max_iter=3, tol=None, random_state=0)
    for _ in range(3):
        for start in range(0, N, 200):
            part = slice(start, start + 200)
            other.partial_fit(X[part], Y[part], WEIGHTS[part])
    assert_array_equal(own.coef_, other.coef_)
    assert own.n_iter_ == 3
    assert not hasattr(own, "_objectives")


def test_inertia_of_all_blocks():
    own = fit(clone(MODELS["batches"][0]), blocks_of(None, WEIGHTS))
    squares = ((X - own.cluster_centers_[own.predict(X)]) ** 2).sum(axis=1)
    assert_allclose(own.inertia_, WEIGHTS @ squares)


def test_bfr_takes_blocks_as_chunks():
    own = fit(BFR(3, random_state=0), blocks_of(None))
    other = BFR(3, random_state=0)
    for start in range(0, N, 200):
        other.partial_fit(X[start : start + 200])
    assert_array_equal(own.cluster_centers_, other.cluster_centers_)


def test_what_is_refused():
    bad = X.copy()
    bad[650, 1] = np.nan
    for name, (model, y) in MODELS.items():
        with pytest.raises(ValueError, match="block 3, row 650, column 1"):
            fit(clone(model), blocks_of(y, rows=bad))
        assert name
    with pytest.raises(ValueError, match="adaptive"):
        fit(SGDRegressor(learning_rate="adaptive"), blocks_of(Y))
    with pytest.raises(ValueError, match="early_stopping"):
        fit(SGDClassifier(early_stopping=True), blocks_of(TWO))
    with pytest.raises(ValueError, match="greater than one"):
        fit(SGDClassifier(), blocks_of(np.zeros(N)))


@pytest.mark.parametrize("bins", ["fd", "scott", 7, [-4.0, 0.0, 1.0, 12.0]])
def test_histogram_density_is_that_of_all_rows(bins):
    for weights in (None, WEIGHTS):
        for ends in (None, (-1.0, 5.0)):
            own = histogram_density(blocks_of(None, weights), 1, bins, range=ends)
            other = in_memory(X[:, 1], bins, range=ends, sample_weight=weights)
            assert_allclose(own.edges, other.edges, atol=1e-12)
            assert_allclose(own.density, other.density, atol=1e-12)
            threads = ThreadsExecutor(3)
            again = histogram_density(blocks_of(None, weights), 1, bins, threads, range=ends)
            assert_array_equal(again.density, own.density)


def test_histogram_density_of_odd_columns():
    same = Blocks.from_npy(np.ones((5, 1)), block_rows=2)
    assert histogram_density(same).edges.tolist() == [0.5, 1.5]
    named = Blocks.from_npy(X, feature_names=list("abcd"))
    assert_array_equal(histogram_density(named, "b").edges, histogram_density(named, 1).edges)
    with pytest.raises(ValueError, match="no column"):
        histogram_density(named, "x")
    with pytest.raises(ValueError, match="from 0 to 3"):
        histogram_density(named, 4)
    with pytest.raises(ValueError, match="lies in range"):
        histogram_density(named, 0, range=(90.0, 91.0))
    for bins in (0, "sturges", [1.0]):
        with pytest.raises(ValueError, match="bins"):
            histogram_density(named, 0, bins)
    bad = X.copy()
    bad[300, 2] = np.inf
    with pytest.raises(ValueError, match="block 1, row 300"):
        histogram_density(blocks_of(None, rows=bad), 2)


def _in_batches(model, size, y=None, **more):
    model = clone(model)
    for start in range(0, 60, size):
        part = slice(start, start + size)
        model.partial_fit(X[part], *(() if y is None else (y[part],)), **more)
    return model


@pytest.mark.parametrize("name", [
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "GaussianNB", "SGDRegressor",
])  # fmt: skip
def test_a_batch_is_its_rows_one_by_one(name):
    """river#651, #1916: partial_fit of a batch is that of its rows in turn."""
    from fastml import linear_model, naive_bayes, preprocessing

    if name == "SGDRegressor":
        one, all_at_once = (
            _in_batches(linear_model.SGDRegressor(shuffle=False, random_state=0), size, Y)
            for size in (1, 60)
        )
        assert_allclose(one.coef_, all_at_once.coef_, rtol=1e-12)
    elif name == "GaussianNB":
        one, all_at_once = (
            _in_batches(naive_bayes.GaussianNB(), size, TWO, classes=np.unique(TWO))
            for size in (1, 60)
        )
        assert_allclose(one.theta_, all_at_once.theta_, rtol=1e-12)
        assert_array_equal(one.class_count_, all_at_once.class_count_)
    else:
        one, all_at_once = (_in_batches(getattr(preprocessing, name)(), size) for size in (1, 60))
        assert_allclose(one.transform(X), all_at_once.transform(X), rtol=1e-9, atol=1e-12)


def test_a_mini_batch_of_kmeans_is_not_the_loop():
    """Centres move after a batch, not after a row: a loop over rows ends elsewhere."""
    one, all_at_once = (
        _in_batches(MiniBatchKMeans(3, init=X[:3].copy(), n_init=1, random_state=0), size)
        for size in (6, 60)
    )
    assert not np.allclose(one.cluster_centers_, all_at_once.cluster_centers_)
