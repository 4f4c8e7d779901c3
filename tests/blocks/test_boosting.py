"""Boosting of blocks: the trees of all rows in memory, the same bits whoever does the work."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from fastml._engines import kept
from fastml.blocks import Blocks, ThreadsExecutor, fit, predict
from fastml.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

N = 900
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
SIGNAL = X[:, 0] * X[:, 1] + np.sin(3.0 * X[:, 2])
Y = SIGNAL + 0.3 * rng.normal(size=N)
X[rng.random(X.shape) < 0.05] = np.nan
CODES = np.digitize(Y, [-1.0, 0.5])
WEIGHTS = rng.random(N)
FEW = {"max_iter": 4, "early_stopping": False, "random_state": 0, "min_samples_leaf": 5}


def regressor(**more):
    return HistGradientBoostingRegressor(**{**FEW, **more})


def classifier(**more):
    return HistGradientBoostingClassifier(**{**FEW, **more})


CASES = {
    "leaf-wise": (regressor(max_leaf_nodes=7), Y),
    "many leaves": (regressor(), Y),
    "depth-wise": (regressor(grow_policy="depth-wise", max_leaf_nodes=9), Y),
    "any leaves": (regressor(max_leaf_nodes=None), Y),
    "depth": (regressor(max_leaf_nodes=None, max_depth=3), Y),
    "constraints": (
        regressor(monotonic_cst=[1, 0, 0, -1], interaction_cst=[[0, 1], [2]], gamma=0.01), Y,
    ),
    "penalties": (regressor(l1_regularization=0.5, l2_regularization=1.0, init=0.25), Y),
    "poisson": (regressor(loss="poisson"), np.round(np.exp(Y))),
    "gamma": (regressor(loss="gamma"), np.exp(Y)),
    "two classes": (classifier(), np.where(Y > 0, "yes", "no")),
    "three classes": (classifier(max_leaf_nodes=6), CODES),
    "balanced": (classifier(class_weight="balanced"), CODES),
    "weights of classes": (classifier(class_weight={0: 2.0}), CODES),
}  # fmt: skip


def blocks_of(y, weights=None, rows=X, block_rows=128):
    return Blocks.from_npy(rows, y, weights, block_rows=block_rows)


def trees_of(model):
    return [tree for trees in model._predictors for tree in trees]


SHAPE = ["left", "feature_idx", "bin_threshold", "missing_go_to_left", "count", "depth"]


@pytest.mark.parametrize("name", CASES)
def test_blocks_grow_the_trees_of_all_rows(name):
    model, y = CASES[name]
    for weights in (None, WEIGHTS):
        own = fit(clone(model), blocks_of(y, weights))
        other = clone(model).fit(X, y, sample_weight=weights)
        assert len(trees_of(own)) == len(trees_of(other))
        for a, b in zip(trees_of(own), trees_of(other)):
            for field in SHAPE:
                np.testing.assert_array_equal(a.nodes[field], b.nodes[field], err_msg=field)
            np.testing.assert_allclose(a.nodes["value"], b.nodes["value"], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(own._raw_predict(X), other._raw_predict(X), atol=1e-6)
        assert own.n_iter_ == 4


@pytest.mark.parametrize("name", ["leaf-wise", "three classes"])
def test_the_same_bits_for_any_number_of_threads(name):
    model, y = CASES[name]
    model = clone(model).set_params(early_stopping=True, subsample=0.7, max_features=0.5)
    one = pickle.dumps(fit(clone(model), blocks_of(y, WEIGHTS), ThreadsExecutor(1)))
    assert pickle.dumps(fit(clone(model), blocks_of(y, WEIGHTS), ThreadsExecutor(3))) == one


class ForgetfulExecutor:
    """As if every block went to another process each time."""

    def run(self, task):
        for number in range(task.blocks.n_blocks):
            kept._kept.clear()
            function, state = pickle.loads(pickle.dumps((task.function, task.state)))
            yield function(task.blocks.block(number), *state)


class SharesExecutor(ThreadsExecutor):
    """Blocks in shares, each added up from its last block to its first, as another might."""

    def run_sums(self, task):
        for first in (2, 0, 1):
            into = None
            for number in reversed(range(first, task.blocks.n_blocks, 3)):
                into = task.added(number, into)
            yield pickle.loads(pickle.dumps(into))


def test_the_same_bits_whatever_blocks_are_added_first():
    model, y = CASES["three classes"]
    one = fit(clone(model), blocks_of(y, WEIGHTS))
    other = fit(clone(model), blocks_of(y, WEIGHTS), SharesExecutor())
    assert pickle.dumps(other) == pickle.dumps(one)


def test_an_error_in_a_sum_ends_the_fit(monkeypatch):
    from fastml.ensemble._hist_gradient_boosting import _blocks

    def broken(self, *_):
        raise ValueError("no level")

    monkeypatch.setattr(_blocks.BoostedBlock, "level", broken)
    executor = ThreadsExecutor(2)
    with pytest.raises(ValueError, match="no level"):
        fit(regressor(), blocks_of(Y), executor)
    assert not kept._kept
    monkeypatch.undo()
    fit(regressor(max_iter=1), blocks_of(Y), executor)


def test_progress_of_sums(capsys):
    fit(regressor(max_iter=1, max_depth=1), blocks_of(Y), progress=True)
    assert "(level): " in (shown := capsys.readouterr().err)
    assert "8/8" in shown.split("(level): ")[-1].splitlines()[0]


@pytest.mark.parametrize("name", ["leaf-wise", "three classes", "depth-wise"])
def test_the_same_bits_where_nothing_is_kept(name):
    model, y = CASES[name]
    model = clone(model).set_params(early_stopping=True, subsample=0.7)
    one = fit(clone(model), blocks_of(y, WEIGHTS))
    assert not kept._kept  # nothing is left behind
    other = fit(clone(model), blocks_of(y, WEIGHTS), ForgetfulExecutor())
    assert pickle.dumps(other) == pickle.dumps(one)
    kept._kept.clear()


def test_in_files_the_same_bits(monkeypatch, tmp_path):
    model, y = CASES["leaf-wise"]
    one = fit(clone(model), blocks_of(y))
    monkeypatch.setattr(kept, "_memory", lambda: 1.0)
    monkeypatch.setenv("FASTML_BLOCKS_DIR", str(tmp_path / "new"))
    made = []
    monkeypatch.setattr(kept, "space", lambda *a, own=kept.space: made.append(a[2]) or own(*a))
    assert pickle.dumps(fit(clone(model), blocks_of(y))) == pickle.dumps(one)
    assert made
    assert all(made)
    assert not list((tmp_path / "new").iterdir())


def test_early_stopping():
    model = regressor(early_stopping=True, max_iter=100, n_iter_no_change=3, learning_rate=0.5)
    own = fit(clone(model), blocks_of(Y))
    assert 3 < own.n_iter_ < 100
    assert len(own.train_score_) == len(own.validation_score_) == own.n_iter_ + 1
    assert own._should_stop(list(own.validation_score_))
    other = clone(model).fit(X, Y)
    assert own.score(X, SIGNAL) > other.score(X, SIGNAL) - 0.05
    best = fit(clone(model).set_params(keep_best=True), blocks_of(Y))
    assert best.n_iter_ == max(1, int(np.argmax(own.validation_score_)))
    without = fit(clone(model).set_params(validation_fraction=None, max_iter=5), blocks_of(Y))
    assert len(without.train_score_) == 6
    assert len(without.validation_score_) == 0
    np.testing.assert_allclose(
        without.train_score_[-1], -0.5 * np.mean((without.predict(X) - Y) ** 2), rtol=1e-9
    )


def test_the_model_is_an_ordinary_one():
    y = CASES["two classes"][1]
    model = fit(clone(CASES["two classes"][0]), blocks_of(y))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), predict(model, blocks_of(y)))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_importances_.shape == (4,)


def test_few_rows_and_constants():
    for n in (1, 2, 40):
        rows = np.ones((n, 2))
        own = fit(regressor(), Blocks.from_npy(rows, np.arange(float(n)), block_rows=16))
        np.testing.assert_allclose(own.predict(rows), np.mean(np.arange(float(n))))


def test_clear_refusals():
    for loss in ("absolute_error", "huber"):
        with pytest.raises(ValueError, match="on blocks there is no loss"):
            fit(regressor(loss=loss), blocks_of(Y))
    with pytest.raises(ValueError, match="categorical_features must be None"):
        fit(regressor(categorical_features=[0]), blocks_of(Y))
    with pytest.raises(ValueError, match="scoring must be 'loss'"):
        fit(regressor(scoring="r2"), blocks_of(Y))
    with pytest.raises(ValueError, match="strictly positive"):
        fit(regressor(loss="gamma"), blocks_of(Y))
    with pytest.raises(ValueError, match="non-negative"):
        fit(regressor(loss="poisson"), blocks_of(Y))
    with pytest.raises(ValueError, match="no target"):
        fit(regressor(), blocks_of(None))
    wrong = Y.copy()
    wrong[300] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity: block 2"):
        fit(regressor(), blocks_of(wrong))
    assert not kept._kept
