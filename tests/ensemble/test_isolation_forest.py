"""IsolationForest: scikit-learn's scores and draws, parameters, errors."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import IsolationForest as Theirs
from sklearn.utils.random import sample_without_replacement

from fastml.ensemble import IsolationForest
from fastml.ensemble._forest._isolation import draw_distinct


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(1500, 4))
    X[:20] *= 5.0
    return X


def test_scores_are_close_to_scikit_learns(rows):
    ours = IsolationForest(n_estimators=300, random_state=0).fit(rows).score_samples(rows)
    theirs = Theirs(n_estimators=300, random_state=0).fit(rows).score_samples(rows)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97
    assert np.abs(ours - theirs).max() < 0.06
    assert ours.mean() == pytest.approx(theirs.mean(), abs=0.01)


def test_draws_are_scikit_learns(rows):
    for options in ({}, {"bootstrap": True}, {"max_features": 0.5, "max_samples": 100}):
        ours = IsolationForest(n_estimators=3, random_state=1, **options).fit(rows)
        theirs = Theirs(n_estimators=3, random_state=1, **options).fit(rows)
        for mine, other in zip(ours.estimators_samples_, theirs.estimators_samples_):
            np.testing.assert_array_equal(mine, other)
        for mine, other in zip(ours.estimators_features_, theirs.estimators_features_):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(("n", "k"), [(0, 0), (1, 1), (99, 1), (101, 1), (60_000, 599), (700, 256)])
def test_distinct_draws_are_scikit_learns(n, k):
    for seed in range(20):
        theirs = sample_without_replacement(n, k, random_state=np.random.RandomState(seed))
        ours = draw_distinct(n, k, np.random.RandomState(seed))
        np.testing.assert_array_equal(ours, theirs)


def test_outliers_are_found(rows):
    model = IsolationForest(contamination=20 / 1500, random_state=0).fit(rows)
    found = model.predict(rows) == -1
    assert found.sum() == pytest.approx(20, abs=1)
    assert found[:20].sum() >= 14
    np.testing.assert_array_equal(model.decision_function(rows) < 0, found)
    np.testing.assert_allclose(
        model.decision_function(rows), model.score_samples(rows) - model.offset_
    )


def test_sparse_missing_and_pickle(rows):
    model = IsolationForest(n_estimators=20, random_state=0).fit(rows)
    sparse = IsolationForest(n_estimators=20, random_state=0).fit(sp.csc_matrix(rows))
    np.testing.assert_array_equal(
        model.score_samples(rows), sparse.score_samples(sp.csr_matrix(rows))
    )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.score_samples(rows), model.score_samples(rows))
    holes = rows.copy()
    holes[::7, 1] = np.nan
    scores = IsolationForest(random_state=0).fit(holes).score_samples(holes)
    assert np.isfinite(scores).all()
    assert scores[:20].mean() < scores[20:].mean() - 0.1


def test_threads_and_warm_start(rows):
    one = IsolationForest(n_estimators=30, random_state=0, n_jobs=1).fit(rows)
    two = IsolationForest(n_estimators=30, random_state=0, n_jobs=2).fit(rows)
    np.testing.assert_array_equal(one.score_samples(rows), two.score_samples(rows))
    grown = IsolationForest(n_estimators=10, random_state=0, warm_start=True).fit(rows)
    grown.set_params(n_estimators=30).fit(rows)
    np.testing.assert_array_equal(grown.score_samples(rows), one.score_samples(rows))
    with pytest.warns(UserWarning, match="without increasing n_estimators"):
        grown.fit(rows)
    with pytest.raises(ValueError, match="must be larger or equal"):
        grown.set_params(n_estimators=3).fit(rows)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_parameters(rows, capsys):
    with pytest.warns(UserWarning, match="greater than the total number"):
        assert IsolationForest(max_samples=9999, n_estimators=2).fit(rows).max_samples_ == 1500
    assert IsolationForest(max_samples=0.1, n_estimators=2).fit(rows).max_samples_ == 150
    with pytest.raises(ValueError, match="less than one row"):
        IsolationForest(max_samples=1e-4, n_estimators=2).fit(rows)
    with pytest.raises(ValueError, match="max_features must be <= n_features"):
        IsolationForest(max_features=5).fit(rows)
    for infinite in (np.inf, -np.inf, 1e39):
        bad = rows.astype(np.float64)
        bad[0, 0] = infinite
        with pytest.raises(ValueError, match="X contains infinity"):
            IsolationForest(n_estimators=2).fit(bad)
        with pytest.raises(ValueError, match="X contains infinity"):
            IsolationForest(n_estimators=2).fit(rows).predict(bad)
    weights = np.zeros(1500)
    weights[300:600] = 1.0
    model = IsolationForest(n_estimators=3, random_state=0, verbose=1)
    for drawn in model.fit(rows, sample_weight=weights).estimators_samples_:
        assert (drawn >= 300).all()
        assert (drawn < 600).all()
    assert "of 3" in capsys.readouterr().out


def test_trees(rows):
    model = IsolationForest(n_estimators=4, random_state=0).fit(rows)
    assert len(model) == 4
    for tree in model:
        assert tree.tree_.n_node_samples[0] == 256
        assert tree.tree_.max_depth <= 8
    assert model[0].random_state == model.estimators_[0].random_state


def test_one_row():
    model = IsolationForest(n_estimators=3).fit([[1.0, 2.0]])
    assert model.score_samples([[1.0, 2.0]])[0] == pytest.approx(
        Theirs(n_estimators=3).fit([[1.0, 2.0]]).score_samples([[1.0, 2.0]])[0]
    )
