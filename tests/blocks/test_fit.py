"""Models of blocks: those of all rows in memory, and the same bits whoever does the work."""

import gc
import pickle
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import has_fit_parameter

import fastml
from fastml import metrics
from fastml.blocks import (
    Blocks,
    ThreadsExecutor,
    fit,
    kneighbors,
    predict,
    report,
    score,
    trainable,
)
from fastml.blocks._run import BlockTask
from fastml.cluster import DBSCAN, KMeans
from fastml.decomposition import PCA, TruncatedSVD
from fastml.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from fastml.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from fastml.mixture import GaussianMixture
from fastml.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from fastml.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from fastml.svm import SVC

N, D = 700, 5
rng = np.random.default_rng(0)
CODES = rng.integers(0, 3, N)
X = np.abs(rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) + 3.0 * np.eye(3, D)[CODES]) + 0.5
Y = X @ rng.normal(size=D) + rng.normal(size=N)
COUNTS = np.exp(Y / 10.0).round() + 1.0
WEIGHTS = rng.integers(0, 4, N).astype(float)
LABELS = np.array(["low", "middle", "high"])[CODES]
MIXTURE = {"means_init": X[:3], "weights_init": [0.2, 0.3, 0.5], "max_iter": 4, "tol": 0.0}

CASES = {
    "StandardScaler": (StandardScaler(), None),
    "MinMaxScaler": (MinMaxScaler((-1, 2)), None),
    "MaxAbsScaler": (MaxAbsScaler(), None),
    "LinearRegression": (LinearRegression(), Y),
    "LinearRegression, two targets": (LinearRegression(), np.c_[Y, -COUNTS]),
    "LinearRegression, positive": (LinearRegression(positive=True), Y),
    "Ridge": (Ridge(0.3, scaling="mean"), Y),
    "Ridge, alpha a target": (Ridge([1e-3, 10.0], fit_intercept=False), np.c_[Y, COUNTS]),
    "Ridge, positive": (Ridge(positive=True), Y),
    "Lasso": (Lasso(0.05, tol=1e-10), Y),
    "ElasticNet": (ElasticNet(0.05, scaling="sum", l1_ratio=0.3, tol=1e-10), Y),
    "GaussianNB": (GaussianNB(), LABELS),
    "MultinomialNB": (MultinomialNB(), CODES),
    "ComplementNB": (ComplementNB(norm=True), CODES),
    "BernoulliNB": (BernoulliNB(binarize=2.0), LABELS),
    "LDA, svd": (LinearDiscriminantAnalysis(), LABELS),
    "LDA, lsqr": (LinearDiscriminantAnalysis("lsqr", shrinkage=0.1, priors=[0.2, 0.3, 0.5]), CODES),
    "LDA, eigen": (LinearDiscriminantAnalysis("eigen", n_components=1), CODES),
    "QDA": (QuadraticDiscriminantAnalysis(), CODES),
    "PCA": (PCA(0.9), None),
    "PCA, full": (PCA(2, svd_solver="full"), None),
    "TruncatedSVD": (TruncatedSVD(2, algorithm="arpack"), None),
    "KMeans": (KMeans(4, init=X[:4], n_init=1), None),
    "KMeans, bounds": (KMeans(60, init=X[:60], n_init=1), None),
    "GaussianMixture, full": (GaussianMixture(3, **MIXTURE, precisions_init=[np.eye(D)] * 3), None),
    "GaussianMixture, tied": (
        GaussianMixture(3, covariance_type="tied", **MIXTURE, precisions_init=np.eye(D)), None,
    ),
    "GaussianMixture, diag": (
        GaussianMixture(3, covariance_type="diag", **MIXTURE, precisions_init=np.ones((3, D))),
        None,
    ),
    "LogisticRegression, two": (LogisticRegression(tol=1e-9), CODES > 0),
    "LogisticRegression, three": (LogisticRegression(tol=1e-9, class_weight="balanced"), LABELS),
    "LogisticRegression, l1": (
        LogisticRegression(C=0.05, l1_ratio=1.0, solver="saga", tol=1e-9), CODES,
    ),
    "LogisticRegression, reference": (LogisticRegression(tol=1e-9, reference_class=1), CODES),
    "PoissonRegressor": (PoissonRegressor(tol=1e-9), COUNTS),
    "GammaRegressor": (GammaRegressor(alpha=0.1, tol=1e-9), COUNTS),
    "TweedieRegressor": (TweedieRegressor(power=1.5, tol=1e-9), COUNTS),
}  # fmt: skip
LEFT_OUT = ("labels_", "dual_gap_", "scalings_")
"""Of single rows; with digits that are those of rounding, or arbitrary beyond the rank."""


def blocks_of(y=None, weights=None, rows=X, block_rows=96):
    return Blocks.from_npy(rows, y, weights, block_rows=block_rows)


def fitted(model, y, weights=None, executor=None, block_rows=96):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(clone(model), blocks_of(y, weights, block_rows=block_rows), executor)


def in_memory(model, y, weights=None):
    given = {} if weights is None else {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(X, y, **given)


def arrays(model):
    return {
        name: np.asarray(value)
        for name, value in vars(model).items()
        if name[-1] == "_" and name[:2] != "__" and np.asarray(value).dtype.kind in "biufU"
    }


@pytest.mark.parametrize("name", CASES)
def test_blocks_teach_what_all_rows_teach(name):
    model, y = CASES[name]
    weighted = has_fit_parameter(model, "sample_weight")
    for weights in (None, WEIGHTS) if weighted else (None,):
        expected = arrays(in_memory(model, y, weights))
        found = arrays(fitted(model, y, weights))
        for attribute, value in expected.items():
            if attribute in LEFT_OUT:
                continue
            own = found[attribute]
            assert own.shape == value.shape, attribute
            assert own.dtype == value.dtype, attribute
            if value.dtype.kind == "U":
                assert (own == value).all()
                continue
            scale = np.abs(value).max(initial=0.0)
            np.testing.assert_allclose(own, value, rtol=0, atol=2e-9 * scale, err_msg=attribute)


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_for_any_number_of_threads(name):
    model, y = CASES[name]
    one = arrays(fitted(model, y, executor=ThreadsExecutor(1)))
    for executor in (ThreadsExecutor(2), ThreadsExecutor(3)):
        for attribute, value in arrays(fitted(model, y, executor=executor)).items():
            np.testing.assert_array_equal(value, one[attribute], err_msg=attribute)


def test_one_block_or_many_files_are_the_same_rows(tmp_path):
    parts = np.split(X, [5, 300, 301])
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", part)
    files = Blocks.from_npy([tmp_path / f"{i}.npy" for i in range(4)], Y, block_rows=96)
    for name in ("LinearRegression", "StandardScaler"):
        model, _ = CASES[name]
        expected = arrays(fitted(model, Y))
        for attribute, value in arrays(fit(clone(model), files)).items():
            np.testing.assert_array_equal(value, expected[attribute])


def test_starts_of_their_own_are_as_good():
    for seed in range(3):
        own = fitted(KMeans(5, random_state=seed), None)
        other = min(KMeans(5, random_state=s).fit(X).inertia_ for s in range(5))
        assert own.inertia_ <= 1.25 * other
        assert score(own, blocks_of()) == pytest.approx(-own.inertia_)
        np.testing.assert_array_equal(
            own.cluster_centers_, fitted(KMeans(5, random_state=seed), None).cluster_centers_
        )
    for how in ("kmeans", "k-means++", "random", "random_from_data"):
        mixture = GaussianMixture(2, init_params=how, random_state=0, reg_covar=1e-3)
        own = fitted(mixture, None)
        assert own.lower_bound_ == pytest.approx(score(own, blocks_of()), abs=0.05)


def test_drawn_rows_follow_their_weights():
    weights = np.zeros(N)
    weights[[3, 200, 650]] = 1.0
    rows = np.unique(X[[3, 200, 650]], axis=0)
    own = fitted(KMeans(3, random_state=0), None, weights)
    np.testing.assert_allclose(np.unique(own.cluster_centers_, axis=0), rows)
    random = fitted(KMeans(2, init="random", n_init=4, random_state=0), None, weights)
    assert random.inertia_ >= 0.0


def test_empty_clusters_take_the_farthest_rows():
    init = np.vstack([X[:3], np.full((2, D), 1e6)])
    model = KMeans(5, init=init, n_init=1)
    own, other = fitted(model, None), in_memory(model, None)
    np.testing.assert_allclose(own.cluster_centers_, other.cluster_centers_, rtol=1e-9)
    rows = np.zeros((40, 2))
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        fit(KMeans(3, random_state=0), blocks_of(rows=rows, block_rows=16))


def test_many_rows_begin_with_the_solution_for_some():
    """Above 64,000 rows Newton's method starts on a sample, drawn from blocks."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(70_000, 3))
    y = rng.random(70_000) < 1.0 / (1.0 + np.exp(-rows @ [1.0, -2.0, 0.5]))
    model = LogisticRegression(tol=1e-7)
    own = fit(clone(model), Blocks.from_npy(rows, y))
    np.testing.assert_allclose(own.coef_, model.fit(rows, y).coef_, rtol=1e-6)
    several = rng.integers(0, 3, 70_000)
    own = fit(LogisticRegression(tol=1e-7), Blocks.from_npy(rows, several))
    expected = LogisticRegression(tol=1e-7).fit(rows, several).coef_
    np.testing.assert_allclose(own.coef_, expected, atol=1e-6)


def test_hard_columns_get_a_second_pass():
    """Means that outweigh the spread, and columns that nearly depend on each other."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, 3))
    rows = np.c_[rows + 1e6, rows[:, 0] + 1e-7 * rng.normal(size=400)]
    y = rows @ [1.0, 2.0, 3.0, 4.0]
    blocks = Blocks.from_npy(rows, y, block_rows=64)
    own, other = fit(LinearRegression(), blocks), LinearRegression().fit(rows, y)
    assert own.rank_ == other.rank_
    np.testing.assert_allclose(predict(own, blocks), other.predict(rows), rtol=1e-9)
    ridge = fit(Ridge(1e-9), blocks)
    np.testing.assert_allclose(
        predict(ridge, blocks), Ridge(1e-9).fit(rows, y).predict(rows), rtol=1e-9
    )
    low_rank = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 4))
    own = fit(PCA(3), Blocks.from_npy(low_rank, block_rows=64))
    np.testing.assert_allclose(
        own.singular_values_, PCA(3).fit(low_rank).singular_values_, atol=1e-10
    )


def test_scalers_keep_nan_and_a_column_may_be_empty_in_a_block():
    rows = X.copy()
    rows[:96, 2] = np.nan
    rows[500, 0] = np.nan
    for model in (StandardScaler(), MinMaxScaler(), MaxAbsScaler()):
        own = arrays(fit(clone(model), Blocks.from_npy(rows, block_rows=96)))
        for attribute, value in arrays(clone(model).fit(rows)).items():
            np.testing.assert_allclose(own[attribute], value, rtol=1e-12, err_msg=attribute)


@pytest.mark.parametrize("name", [n for n in CASES if "Scaler" not in n])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nan_is_refused_with_its_place_and_nothing_is_left(name, wrong):
    model, y = CASES[name]
    rows = X.copy()
    rows[333, 2] = wrong
    model = clone(model)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"block 3, row 333, column 2"):
        fit(model, Blocks.from_npy(rows, y, block_rows=96))
    assert vars(model) == before


def test_infinity_is_refused_by_scalers():
    rows = X.copy()
    rows[333, 2] = np.inf
    for model in (StandardScaler(), MinMaxScaler(), MaxAbsScaler()):
        with pytest.raises(ValueError, match=r"infinity.*block 3, row 333, column 2"):
            fit(model, Blocks.from_npy(rows, block_rows=96))


def test_clear_refusals():
    with pytest.raises(TypeError, match=r"DBSCAN does not learn from blocks.*cluster\.KMeans"):
        fit(DBSCAN(), blocks_of())
    with pytest.raises(TypeError, match=r"must be a fastml\.blocks\.Blocks"):
        predict(fitted(PCA(1), None), X, method="transform")
    with pytest.raises(TypeError, match="executor must be"):
        fit(PCA(1), blocks_of(), executor=2)
    with pytest.raises(ValueError, match="no target"):
        fit(LinearRegression(), blocks_of())
    with pytest.raises(ValueError, match="takes no weights"):
        fit(LinearDiscriminantAnalysis(), blocks_of(CODES, WEIGHTS))
    with pytest.raises(ValueError, match="n_samples=700 should be >= n_clusters=701"):
        fit(KMeans(701), blocks_of())
    with pytest.raises(ValueError, match="more than ddof"):
        fit(PCA(1), blocks_of(None, np.zeros(N)))
    with pytest.raises(ValueError, match="'alpha' parameter"):
        fit(Ridge(-1.0), blocks_of(Y))
    with pytest.raises(ValueError, match="must be numbers"):
        fit(LinearRegression(), blocks_of(LABELS))
    with pytest.raises(ValueError, match="out of the valid range"):
        fit(PoissonRegressor(), blocks_of(-COUNTS))
    with pytest.raises(ValueError, match="only one class"):
        fit(LogisticRegression(), blocks_of(np.zeros(N, dtype=int)))
    with pytest.raises(ValueError, match="neither a constraint"):
        fit(Lasso(constraint=1.0), blocks_of(Y))
    for model in (LinearRegression(keep_summary=True), LogisticRegression(firth=True)):
        with pytest.raises(ValueError, match="on blocks"):
            fit(model, blocks_of(CODES))


def test_the_model_is_an_ordinary_one():
    model = LogisticRegression(C=0.5)
    assert fit(model, Blocks.from_npy(X, LABELS, feature_names=list("abcde"))) is model
    assert model.C == 0.5
    assert model.feature_names_in_.tolist() == list("abcde")
    again = pickle.loads(pickle.dumps(model))
    with pytest.warns(UserWarning, match="feature names"):
        expected = again.predict(X)
    np.testing.assert_array_equal(expected, predict(model, blocks_of()))
    with pytest.raises(ValueError, match="was fitted to the features"):
        predict(model, Blocks.from_npy(X, feature_names=list("abcdf")))
    assert set(trainable()) >= {"linear_model.Lasso", "mixture.GaussianMixture"}


def test_measures_merge():
    model = fitted(LogisticRegression(), LABELS, WEIGHTS)
    blocks = blocks_of(LABELS, WEIGHTS)
    assert score(model, blocks) == pytest.approx(model.score(X, LABELS, WEIGHTS))
    proba = model.predict_proba(X)
    expected = metrics.report(LABELS, model.predict(X), y_score=proba, sample_weight=WEIGHTS).values
    found = report(model, blocks).values
    for key in ("accuracy", "log_loss", "brier_score"):
        assert found[key] == pytest.approx(expected[key])
    regressor = fitted(Ridge(), Y, WEIGHTS)
    own = report(regressor, blocks_of(Y, WEIGHTS)).values
    assert own["r2"] == pytest.approx(regressor.score(X, Y, WEIGHTS))
    with pytest.raises(TypeError, match="neither a classifier nor a regressor"):
        report(fitted(PCA(1), None), blocks)
    with pytest.raises(ValueError, match="no target"):
        score(model, blocks_of())


def test_neighbours_of_all_blocks():
    from fastml.neighbors import NearestNeighbors

    queries = X[:9] + 0.01
    distances, numbers = kneighbors(blocks_of(), queries, 7)
    expected = NearestNeighbors(n_neighbors=7).fit(X).kneighbors(queries)
    np.testing.assert_allclose(distances, expected[0], rtol=1e-12)
    np.testing.assert_array_equal(numbers, expected[1])
    equal = kneighbors(Blocks.from_npy(np.zeros((10, 1)), block_rows=4), [[0.0]], 6)
    np.testing.assert_array_equal(equal[1], [[0, 1, 2, 3, 4, 5]])
    with pytest.raises(ValueError, match="n_neighbors"):
        kneighbors(blocks_of(), queries, N + 1)
    with pytest.raises(ValueError, match="5 features"):
        kneighbors(blocks_of(), queries[:, :2])


def test_progress_is_told(capsys):
    fit(StandardScaler(), blocks_of(), progress=True)
    assert "pass 1 (moments)" in capsys.readouterr().err


def busy(block, seen):
    seen.append(block.number)
    return block.number


def test_no_more_is_read_ahead_than_needed():
    seen: list[int] = []
    results = ThreadsExecutor(2).run(BlockTask(blocks_of(block_rows=20), busy, (seen,)))
    assert next(results) == 0
    results.close()
    assert len(seen) <= 8  # of 35
    assert not [t for t in threading.enumerate() if t.name.startswith("fastml-blocks")]


def test_threads_are_kept_from_pass_to_pass_and_end_with_the_executor():
    executor = ThreadsExecutor(2)
    names = []
    for _ in range(3):
        list(executor.run(BlockTask(blocks_of(block_rows=20), busy, ([],))))
        names.append({t.ident for t in threading.enumerate() if "fastml-blocks" in t.name})
    assert len(set().union(*names)) == 2
    pickle.loads(pickle.dumps(executor))
    threads = [t for t in threading.enumerate() if "fastml-blocks" in t.name]
    del executor
    gc.collect()
    for thread in threads:
        thread.join(10.0)
        assert not thread.is_alive()


INTERRUPTED = """
import signal, threading, time
import numpy as np
from fastml.blocks import Blocks, fit
from fastml.cluster import KMeans
rows = np.random.default_rng(0).normal(size=(200_000, 8))
model = KMeans(64, init=rows[:64], n_init=1, max_iter=100_000, tol=0.0)
before = dict(vars(model))
threading.Timer(2.5, signal.raise_signal, [signal.SIGINT]).start()
began = time.monotonic()
try:
    while True:
        fit(model, Blocks.from_npy(rows, block_rows=16_384))
except KeyboardInterrupt:
    took = time.monotonic() - began
assert [t for t in threading.enumerate() if t.name.startswith("fastml-blocks")] == []
print("stopped", took < 8.0)
"""


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
def test_ctrl_c_ends_a_fit():
    found = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120
    )
    assert found.stdout.strip() == "stopped True", found.stderr


def test_loading_blocks_loads_neither_parquet_nor_spark():
    names = "'pyarrow.parquet' in sys.modules, 'pyspark' in sys.modules"
    code = f"import fastml.blocks, sys; print({names})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.split() == ["False", "False"], found.stderr
    assert "blocks" in fastml._SUBMODULES


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_pipeline_by_blocks(n_jobs, tmp_path):
    """As if its steps were fitted one after the other to all rows; nothing is laid down."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 4)) * [1.0, 10.0, 100.0, 0.1] + 5.0
    y = (rows[:, 0] + rows[:, 1] / 10.0 > 6.0).astype(int)
    blocks = Blocks.from_npy(rows, y, feature_names=list("abcd"), block_rows=64)

    def made():
        return make_pipeline(
            "passthrough", StandardScaler(), make_pipeline(PCA(3)), LogisticRegression()
        )

    own = fit(pipeline := made(), blocks, ThreadsExecutor(n_jobs))
    assert own is pipeline
    other = made().fit(rows, y)
    np.testing.assert_allclose(
        own.predict_proba(pd.DataFrame(rows, columns=list("abcd"))), other.predict_proba(rows),
        atol=1e-4,
    )  # fmt: skip
    np.testing.assert_array_equal(predict(own, blocks), other.predict(rows))
    assert pickle.dumps(fit(made(), blocks)) == pickle.dumps(own)
    assert list(own.steps[1][1].feature_names_in_) == list("abcd")
    plain = make_pipeline(StandardScaler(), SVC())
    with pytest.raises(TypeError, match="SVC does not learn from blocks"):
        fit(plain, blocks)
    with pytest.raises(TypeError, match="LogisticRegression is not the last step"):
        fit(Pipeline([("a", LogisticRegression()), ("b", StandardScaler())]), blocks)
