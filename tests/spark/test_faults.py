"""What may happen to workers, files and rows: the right result, or an error that says why."""

import glob
import os

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

import fastml.spark as fs
from fastml.blocks import Blocks, SparkExecutor, fit
from fastml.linear_model import LinearRegression
from fastml.preprocessing import StandardScaler

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # pyspark's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

HELPER = '''
import os, signal
import numpy as np

class DyingModel:
    """Kills its process at the second batch that it sees; once."""

    n_features_in_ = 3

    def __init__(self, counter, driver):
        self.counter, self.driver = counter, driver

    def predict(self, X):
        if os.getpid() != self.driver:
            with open(self.counter, "ab") as file:
                file.write(b".")
            if os.path.getsize(self.counter) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        return X.sum(axis=1)


class DyingPartition:
    """Rows of a partition; its first reader is killed."""

    def __init__(self, counter):
        self.counter = counter

    def __call__(self, batches):
        for batch in batches:
            yield batch
            with open(self.counter, "ab") as file:
                file.write(b".")
            if os.path.getsize(self.counter) == 1:
                os.kill(os.getpid(), signal.SIGKILL)
'''


@pytest.fixture(scope="session")
def dying(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("dying") / "fastml_test_dying.py"
    path.write_text(HELPER)
    spark.sparkContext.addPyFile(str(path))
    import fastml_test_dying

    return fastml_test_dying


def rows(n=400):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(size=n)


@pytest.fixture(scope="session")
def frame(spark):
    X, y = rows()
    listed = np.column_stack([X, y]).tolist()
    return spark.createDataFrame(listed, "a double, b double, c double, label double").coalesce(1)


@pytest.fixture
def kept_in(tmp_path, monkeypatch):
    """Where blocks of DataFrames are laid down; empty when all is over."""
    folder = tmp_path / "blocks"
    monkeypatch.setenv("FASTML_BLOCKS_DIR", str(folder))
    yield folder
    assert not glob.glob(f"{folder}/*")


NAMES = ["a", "b", "c"]


def test_a_worker_dies_while_rows_are_laid_down(frame, dying, tmp_path, kept_in):
    X, y = rows()
    dies = dying.DyingPartition(str(tmp_path / "n"))
    blocks = Blocks.from_dataframe(
        frame.mapInArrow(dies, frame.schema), features=NAMES, target="label", block_rows=64
    )
    assert os.path.getsize(tmp_path / "n") > 1
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y)


def test_a_worker_dies_while_it_scores(spark, frame, dying, tmp_path):
    X, _ = rows()
    model = dying.DyingModel(str(tmp_path / "n"), os.getpid())
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        made = fs.transform(model, frame, NAMES).select("prediction").collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert os.path.getsize(tmp_path / "n") == 2 + 4
    np.testing.assert_array_equal([row[0] for row in made], X.sum(axis=1))


ABSENT = "raise ImportError(\"No module named 'fastml'\")\n"


def test_workers_without_fastml_say_what_to_install(spark, frame, other_python, tmp_path, kept_in):
    (tmp_path / "empty" / "fastml").mkdir(parents=True)
    (tmp_path / "empty" / "fastml" / "__init__.py").write_text(ABSENT)
    np.save(tmp_path / "X.npy", rows()[0])
    blocks = Blocks.from_npy(str(tmp_path / "X.npy"), block_rows=100)
    model = StandardScaler().fit(rows()[0])
    other_python(
        f'cd "{tmp_path}"; PYTHONPATH="{tmp_path}/empty:$PYTHONPATH"; export PYTHONPATH\n'
        '[ "$2" = fastml.spark.daemon ] && { shift 2; set -- -m pyspark.daemon "$@"; }'
    )
    message = r"cannot import fastml.*`pip install fastml`"
    with pytest.raises(RuntimeError, match=message):
        fit(StandardScaler(), blocks, executor=SparkExecutor(spark))
    with pytest.raises(RuntimeError, match=message):
        Blocks.from_dataframe(frame, features=NAMES)
    with pytest.raises(Exception, match=message):
        fs.transform(model, frame, NAMES).collect()


def test_a_disk_without_room(frame, other_python, kept_in):
    """Files of workers end at 1 KiB; the rows need 9."""
    other_python("ulimit -f 2")
    with pytest.raises(RuntimeError, match=r"the pass: OSError.*\.block cannot be written, .*full"):
        fs.LinearRegression(featuresCol=NAMES).fit(frame)


def test_nan_in_a_frame(frame, kept_in):
    from pyspark.sql import functions as F

    holed = frame.withColumn("b", F.when(F.col("a") < 2.0, F.col("b")))
    first = int(np.flatnonzero(rows()[0][:, 0] >= 2.0)[0])
    message = rf"NaN: block 0, row {first}, column 1"
    with pytest.raises(ValueError, match=message):
        fs.LinearRegression(featuresCol=NAMES, runOn="spark").fit(holed)
    model = fs.LinearRegression(featuresCol=NAMES).fit(frame)
    with pytest.raises(Exception, match="Input X contains NaN"):
        model.transform(holed).collect()


def test_a_frame_of_another_schema(frame, kept_in):
    model = fs.LinearRegression(featuresCol=NAMES).fit(frame)
    text = frame.selectExpr("a", "cast(b as string) b", "c", "label")
    with pytest.raises(Exception, match=r"column 'b' has type string"):
        model.transform(text).collect()
    with pytest.raises(ValueError, match="column 'b' has type string"):
        fs.LinearRegression(featuresCol=NAMES).fit(text)
    with pytest.raises(Exception, match=r"X has 2 features, but .* is expecting 3"):
        model.copy({model.featuresCol: ["a", "b"]}).transform(frame).collect()


def test_parquet_that_was_written_anew(spark, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    X, y = rows()
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": y})
    pq.write_table(table, tmp_path / "r.parquet")
    blocks = Blocks.from_parquet(tmp_path / "r.parquet", target="y", cache=False, block_rows=100)
    pq.write_table(table.rename_columns(["a", "c", "y"]), tmp_path / "r.parquet")
    with pytest.raises(RuntimeError, match="has changed since the blocks were made"):
        fit(LinearRegression(), blocks, executor=SparkExecutor(spark))
