"""Passes by Spark give the bits of the local run, whatever happens to the workers."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from spark_states import state_of

from fastml.blocks import Blocks, SparkExecutor, _spark, fit, predict, score, transform
from fastml.cluster import BFR, KMeans, MiniBatchKMeans
from fastml.decomposition import PCA
from fastml.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fastml.linear_model import (
    LinearRegression,
    LogisticRegression,
    SGDClassifier,
    SGDRegressor,
)
from fastml.mixture import GaussianMixture
from fastml.naive_bayes import GaussianNB
from fastml.preprocessing import StandardScaler

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # pyspark's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def rows(n=3000, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) + 3.0 * rng.normal(size=(5, d))[rng.integers(0, 5, n)]
    y = (X @ np.arange(1.0, d + 1) + rng.normal(size=n) > 0).astype(np.int64)
    return X, y, rng.uniform(0.5, 2.0, n)


@pytest.fixture(scope="session")
def blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    paths = [str(folder / f"{name}.npy") for name in "Xyw"]
    for path, array in zip(paths, rows()):
        np.save(path, array)
    return Blocks.from_npy(*paths, block_rows=250)


MODELS = [
    KMeans(5, random_state=0, n_init=1, max_iter=2, init="random"),
    GaussianMixture(2, random_state=0, max_iter=2, init_params="random_from_data"),
    LinearRegression(),
    LogisticRegression(max_iter=2),
    PCA(2),
    StandardScaler(),
    GaussianNB(),
    HistGradientBoostingClassifier(max_iter=2, max_depth=2, early_stopping=False),
    HistGradientBoostingRegressor(max_iter=1, max_depth=3, subsample=0.7, random_state=0),
    RandomForestClassifier(3, max_depth=3, random_state=0),
    RandomForestRegressor(2, max_depth=3, random_state=0, max_features=0.5),
]


def copy_of(model):
    return pickle.loads(pickle.dumps(model))


def without_weights(blocks):
    source = blocks.source.parts
    return Blocks.from_npy(source["X"], source["y"], block_rows=blocks.block_rows)


def blocks_for(model, blocks):
    return without_weights(blocks) if isinstance(model, (PCA, GaussianMixture)) else blocks


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_the_bits_are_those_of_the_local_run(spark, blocks, model):
    own = blocks_for(model, blocks)
    here = state_of(fit(copy_of(model), own))
    for n in (1, 2, 5, 8):
        assert state_of(fit(copy_of(model), own, executor=SparkExecutor(spark, n))) == here, n


def test_predictions_transformed_rows_and_scores(spark, blocks):
    executor = SparkExecutor(spark)
    model = fit(GaussianNB(), blocks)
    np.testing.assert_array_equal(predict(model, blocks, executor), predict(model, blocks))
    assert score(model, blocks, executor) == score(model, blocks)
    scaler = fit(StandardScaler(), blocks)
    for here, there in zip(transform(scaler, blocks), transform(scaler, blocks, executor)):
        np.testing.assert_array_equal(here.X, there.X)


def test_the_start_by_kmeans_parallel(spark, blocks):
    """k-means|| draws rows in several passes, each by numbers that the driver hands out."""
    for model in (
        KMeans(5, random_state=3, n_init=2, max_iter=3),
        GaussianMixture(3, random_state=3, max_iter=2),
    ):
        own = blocks_for(model, blocks)
        here = state_of(fit(copy_of(model), own))
        for n in (1, 2):
            assert state_of(fit(copy_of(model), own, executor=SparkExecutor(spark, n))) == here, n


@pytest.mark.parametrize(
    "model",
    [
        BFR(3, random_state=0),
        MiniBatchKMeans(3, batch_size=64, random_state=0, max_iter=2),
        SGDClassifier(random_state=0, max_iter=3),
        SGDRegressor(random_state=0, max_iter=3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_what_learns_in_order_is_done_by_one_worker(spark, blocks, sources, model, tmp_path):
    """The driver reads no row, and the worker that does is killed once."""
    own, counter = without_weights(blocks), tmp_path / "reads"
    here = fit(copy_of(model), own)
    dying = Blocks(sources.DyingSource(own.source, str(counter), 1, os.getpid()), own.block_rows)
    there = fit(copy_of(model), dying, executor=SparkExecutor(spark))
    learned = "coef_" if hasattr(here, "coef_") else "cluster_centers_"
    assert getattr(there, learned).tobytes() == getattr(here, learned).tobytes()
    assert counter.stat().st_size > 1


def test_workers_stay_for_all_fits_inside(spark, blocks):
    here = state_of(fit(GaussianNB(), blocks))
    with SparkExecutor(spark) as executor:
        assert state_of(fit(GaussianNB(), blocks, executor)) == here
        (session,) = executor._sessions.values()
        port = session.workers.port
        pipe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5))
        fit(pipe, blocks, executor)
        assert session.workers.port == port
        assert not session.job.ended
    assert session.job.ended
    assert not executor._sessions


# ---------------------------------------------------------------------------- faults


def active_jobs(spark):
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


class Interrupting:
    """A worker's results, and Ctrl-C while one of them is merged."""

    def __init__(self, executor):
        self.executor = executor

    def __enter__(self):
        return self.executor.__enter__()

    def __exit__(self, *error):
        return self.executor.__exit__(*error)

    def run(self, task):
        for place, found in enumerate(self.executor.run(task)):
            if place == 3:
                signal.raise_signal(signal.SIGINT)
            yield found


def test_ctrl_c_leaves_no_job(spark, blocks):
    model, executor = LogisticRegression(), SparkExecutor(spark)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's ends all jobs
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(model, blocks, executor=Interrupting(executor))
    finally:
        signal.signal(signal.SIGINT, handler)
    assert not executor._sessions
    assert not active_jobs(spark)
    assert not hasattr(model, "coef_")


def test_errors_leave_no_job(spark, blocks):
    with pytest.raises(ValueError, match="n_components"):
        fit(PCA(99), without_weights(blocks), executor=SparkExecutor(spark))
    assert not active_jobs(spark)


def test_a_driver_out_of_reach_is_told(spark, blocks, sources, monkeypatch):
    """Tasks that run and do not connect: the address is named, and they are cancelled."""
    monkeypatch.setattr(_spark, "UNREACHED_SECONDS", 1.0)
    monkeypatch.setattr(_spark, "ENDING_SECONDS", 2.0)
    monkeypatch.setattr(_spark, "worker_task", sources.sleep)
    with pytest.raises(RuntimeError, match=r"reach the driver at 127\.0\.0\.1:\d+ .*none did"):
        fit(StandardScaler(), blocks, executor=SparkExecutor(spark))
    assert not active_jobs(spark)


HELPER = '''
import os, signal, time


def sleep(items, host, port, key):
    """A task that never connects."""
    list(items)
    time.sleep(600.0)
    return iter(())

class DyingSource:
    """Its reader is killed, once, when it reads a certain row for the ``at``-th time."""

    def __init__(self, source, counter, at, driver):
        self.source, self.counter, self.at, self.driver = source, counter, at, driver
        self.n_rows = source.n_rows

    def read(self, first, last):
        if first == 1000 and os.getpid() != self.driver:
            with open(self.counter, "ab") as file:
                file.write(b".")
            if os.path.getsize(self.counter) == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.source.read(first, last)


class FailingSource:
    """Cannot read, the first ``times`` times."""

    def __init__(self, source, counter, times, driver):
        self.source, self.counter, self.times, self.driver = source, counter, times, driver
        self.n_rows = source.n_rows

    def read(self, first, last):
        if first == 1000 and os.getpid() != self.driver:
            with open(self.counter, "ab") as file:
                file.write(b".")
            if os.path.getsize(self.counter) <= self.times:
                raise OSError(28, "No space left on device")
        return self.source.read(first, last)
'''


@pytest.fixture(scope="session")
def sources(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("helper") / "fastml_test_sources.py"
    path.write_text(HELPER)
    spark.sparkContext.addPyFile(str(path))
    import fastml_test_sources

    return fastml_test_sources


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_killed_worker_changes_no_bit(spark, blocks, sources, model, tmp_path):
    own, counter = blocks_for(model, blocks), tmp_path / "reads"
    at = 1 if isinstance(model, StandardScaler) else 2
    dying = Blocks(sources.DyingSource(own.source, str(counter), at, os.getpid()), own.block_rows)
    there = fit(copy_of(model), dying, executor=SparkExecutor(spark, 2))
    assert counter.stat().st_size > at, "nobody was killed"
    assert state_of(there) == state_of(fit(copy_of(model), own))


def test_errors_that_pass_are_tried_again(spark, blocks, sources, tmp_path):
    counter = tmp_path / "reads"
    failing = sources.FailingSource(blocks.source, str(counter), 2, os.getpid())
    there = fit(StandardScaler(), Blocks(failing, 250), executor=SparkExecutor(spark, 2))
    assert counter.stat().st_size == 3
    assert state_of(there) == state_of(fit(StandardScaler(), blocks))


def test_errors_that_stay_are_told(spark, blocks, sources, tmp_path):
    failing = sources.FailingSource(blocks.source, str(tmp_path / "n"), 99, os.getpid())
    with pytest.raises(RuntimeError, match=r"could not finish the pass: OSError.*No space left"):
        fit(StandardScaler(), Blocks(failing, 250), executor=SparkExecutor(spark, 2))


def test_nan_in_a_block_is_the_error_of_the_local_run(spark, tmp_path):
    X, y, _ = rows(900)
    X[613, 2] = np.nan
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    blocks = Blocks.from_npy(str(tmp_path / "X.npy"), str(tmp_path / "y.npy"), block_rows=100)
    model = LinearRegression()
    with pytest.raises(ValueError, match=r"NaN.*block 6, row 613, column 2") as here:
        fit(LinearRegression(), blocks)
    with pytest.raises(ValueError, match="NaN") as there:
        fit(model, blocks, executor=SparkExecutor(spark))
    assert str(here.value) == str(there.value)
    assert not hasattr(model, "coef_")


def test_arrays_in_memory_are_not_sent(spark):
    blocks = Blocks.from_npy(*rows(100), block_rows=50)
    with pytest.raises(ValueError, match="arrays in memory are not sent"):
        fit(LinearRegression(), blocks, executor=SparkExecutor(spark))


def test_a_changed_file_is_an_error(spark, tmp_path):
    X, y, _ = rows(500)
    paths = [str(tmp_path / "X.npy"), str(tmp_path / "y.npy")]
    np.save(paths[0], X)
    np.save(paths[1], y)
    blocks = Blocks.from_npy(*paths, block_rows=100)
    np.save(paths[0], X[:, :3])
    with pytest.raises(RuntimeError, match="has changed since the blocks were made"):
        fit(LinearRegression(), blocks, executor=SparkExecutor(spark))


def test_a_lost_block_of_parquet_is_made_again(spark, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    X, y, _ = rows(1000)
    pq.write_table(
        pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": y}), tmp_path / "r.parquet"
    )
    blocks = Blocks.from_parquet(
        tmp_path / "r.parquet", target="y", cache=tmp_path / "kept", block_rows=100
    )
    here = state_of(fit(LinearRegression(), blocks, executor=SparkExecutor(spark)))
    kept = sorted(blocks.folder.glob("*.block"))
    assert len(kept) == 10
    kept[3].unlink()
    kept[7].write_bytes(kept[7].read_bytes()[:500])
    assert state_of(fit(LinearRegression(), blocks, executor=SparkExecutor(spark))) == here
    assert kept[3].exists()


# ---------------------------------------------------------------------------- DataFrames


def frame_of(spark, kind, n=700, parts=3):
    X, y, w = rows(n)
    listed = [(i, *x.tolist(), int(t), float(s)) for i, (x, t, s) in enumerate(zip(X, y, w))]
    columns = "i int, a double, b double, c double, d double, y int, w double"
    frame = spark.createDataFrame(listed, columns)
    frame = frame.repartitionByRange(parts, "i").sortWithinPartitions("i").drop("i")
    if kind == "columns":
        return frame, list("abcd")
    if kind == "array":
        return frame.selectExpr("array(a, b, c, d) f", "y", "w"), "f"
    from pyspark.ml.feature import VectorAssembler

    frame = VectorAssembler(inputCols=list("abcd"), outputCol="f").transform(frame)
    return frame.select("f", "y", "w"), "f"


@pytest.mark.parametrize("kind", ["columns", "array", "vector"])
def test_blocks_of_a_dataframe(spark, kind):
    X, y, w = rows(700)
    for parts in (1, 3) if kind == "vector" else (3,):
        frame, features = frame_of(spark, kind, parts=parts)
        blocks = Blocks.from_dataframe(
            frame, features=features, target="y", weight="w", block_rows=100
        )
        assert blocks.n_blocks == 7
        assert blocks.feature_names == (list("abcd") if kind == "columns" else None)
        np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X)
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y)
        np.testing.assert_array_equal(np.concatenate([b.weights for b in blocks]), w)
        folder = blocks.source.folder
        model = fit(LinearRegression(), blocks, executor=SparkExecutor(spark))
        here = fit(LinearRegression(), Blocks.from_npy(X, y, w, block_rows=100))
        np.testing.assert_array_equal(model.coef_, here.coef_)
        del blocks
        assert not os.path.exists(folder)


def test_sparse_vectors(spark):
    from pyspark.ml.linalg import Vectors

    made = [Vectors.sparse(3, [0, 2], [1.0, 2.0]), Vectors.dense([0.0, 5.0, 0.0]),
            Vectors.sparse(3, [], [])]  # fmt: skip
    frame = spark.createDataFrame([(v,) for v in made], ["f"]).coalesce(1)
    (block,) = Blocks.from_dataframe(frame)
    np.testing.assert_array_equal(block.X, [[1, 0, 2], [0, 5, 0], [0, 0, 0]])


def test_bad_dataframes(spark):
    frame = spark.createDataFrame([(1.0, 1, "a"), (2.0, None, "b")], "x double, y int, s string")
    with pytest.raises(ValueError, match="there is no column 'z'"):
        Blocks.from_dataframe(frame, features="z")
    with pytest.raises(ValueError, match="column 'y' has 1 missing"):
        Blocks.from_dataframe(frame, features="x", target="y")
    with pytest.raises(ValueError, match="column 's' has type string"):
        Blocks.from_dataframe(frame, features=["x", "s"])
    with pytest.raises(ValueError, match="there are no rows"):
        Blocks.from_dataframe(frame.filter("x > 5"), features="x")
    lists = spark.createDataFrame([([1.0, 2.0],), ([1.0],)], "f array<double>").coalesce(1)
    with pytest.raises(ValueError, match="arrays of 2 and of 1 numbers"):
        Blocks.from_dataframe(lists)


def test_a_lost_piece_of_a_dataframe_is_an_error(spark):
    frame, features = frame_of(spark, "columns")
    blocks = Blocks.from_dataframe(frame, features=features, target="y", block_rows=100)
    os.unlink(os.path.join(blocks.source.folder, blocks.source.pieces[4][0]))
    with pytest.raises(RuntimeError, match=r"rows .* are lost or damaged.*make the blocks again"):
        fit(LinearRegression(), blocks, executor=SparkExecutor(spark))
