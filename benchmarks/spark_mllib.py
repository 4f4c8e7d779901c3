"""fastml.spark beside MLlib: ``python benchmarks/spark_mllib.py [kmeans linear ...]``.

Both sides run in one session, local[2,4], each once to warm up and then in turns; the better of two
rounds counts. What each side has prepared before the clock starts is said with its figure.
"""

import gc
import logging
import os
import sys
import tempfile
import time

import numpy as np

ROUNDS = 2


def session():
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    made = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .config("spark.python.daemon.module", "fastml.spark.daemon")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


def parquet(folder, X, **columns):
    """A file of the rows: features x0, x1, ... and other columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | columns)
    path = os.path.join(folder, "rows.parquet")
    pq.write_table(table, path, row_group_size=65_536)
    return path


def in_memory(spark, path):
    """(DataFrame with columns, and with vectors beside them), read and kept by Spark."""
    from pyspark.ml.feature import VectorAssembler

    frame = spark.read.parquet(path).repartition(2)
    names = [name for name in frame.columns if name.startswith("x")]
    made = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    made = made.drop(*names).cache()
    made.count()
    return made


def timed(work):
    gc.collect()
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def beside(name, ours, theirs, quality, prepared):
    """Print one line of the table."""
    ours(), theirs()
    took = {"fastml": [], "MLlib": []}
    found = {}
    for _ in range(ROUNDS):
        for who, work in (("fastml", ours), ("MLlib", theirs)):
            seconds, found[who] = timed(work)
            took[who].append(seconds)
    best = {who: min(seconds) for who, seconds in took.items()}
    print(
        f"| {name} | {best['fastml']:.2f} s | {best['MLlib']:.2f} s "
        f"| {best['fastml'] / best['MLlib']:.2f} | {quality(found['fastml'])} / "
        f"{quality(found['MLlib'])} | {prepared} |",
        flush=True,
    )


BLOCKS = "fastml: blocks laid down from the same cached DataFrame inside the clock; MLlib: cached"


def groups(n, d, k):
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.normal(size=(k, d))
    return centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def labelled(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    line = X @ rng.normal(size=d) + X[:, 0] * X[:, 1]
    return X, line + rng.normal(size=n), (line + rng.normal(size=n) > 0).astype(np.float64)


def kmeans(spark, folder):
    from pyspark.ml.clustering import KMeans as Theirs

    from fastml.spark import KMeans

    X = groups(500_000, 16, 100)
    frame = in_memory(spark, parquet(folder, X))
    options = {"k": 100, "maxIter": 10, "tol": 0.0, "seed": 1, "initMode": "random"}
    # What MLlib's model is before the first iteration: the start of both.
    start = np.array(Theirs(**{**options, "maxIter": 0}).fit(frame).clusterCenters())
    beside(
        "KMeans 500k × 16, k = 100, 10 iterations",
        lambda: KMeans(**{**options, "initMode": start}, runOn="spark").fit(frame),
        lambda: Theirs(**options, solver="block").fit(frame),
        lambda model: f"{cost(model, X):.6g}",
        f"{BLOCKS}, solver=block; the same start",
    )


def cost(model, X):
    """Squared distances to the nearest centres, summed; the same sum for both."""
    centres = np.array(model.clusterCenters())
    squares = (centres**2).sum(axis=1)
    parts = (X[i : i + 50_000] for i in range(0, len(X), 50_000))
    return sum((squares - 2 * (x @ centres.T)).min(axis=1).sum() + (x**2).sum() for x in parts)


def linear(spark, folder):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression as Theirs

    from fastml.blocks import Blocks, SparkExecutor, fit
    from fastml.linear_model import LinearRegression as Local
    from fastml.spark import LinearRegression

    X, z, _ = labelled(1_000_000, 20)
    path = parquet(folder, X, label=z)
    names = [f"x{j}" for j in range(20)]

    def theirs():
        frame = VectorAssembler(inputCols=names, outputCol="features").transform(
            spark.read.parquet(path)
        )
        return Theirs(solver="normal").fit(frame)

    def first(model):
        return f"{np.ravel(model.coef_ if hasattr(model, 'coef_') else model.coefficients)[0]:.8f}"

    beside(
        "LinearRegression 1M × 20 from Parquet, through a DataFrame",
        lambda: LinearRegression(featuresCol=names).fit(spark.read.parquet(path)),
        theirs,
        first,
        "nothing: the Parquet file",
    )
    beside(
        "LinearRegression 1M × 20 from Parquet, workers read it",
        lambda: fit(Local(), Blocks.from_parquet(path, target="label", cache=False),
                    SparkExecutor(spark)),
        theirs,
        first,
        "nothing: the Parquet file",
    )  # fmt: skip


def logistic(spark, folder):
    from pyspark.ml.classification import LogisticRegression as Theirs

    from fastml.spark import LogisticRegression

    X, _, y = labelled(1_000_000, 20)
    frame = in_memory(spark, parquet(folder, X, label=y))
    options = {"regParam": 1e-4, "standardization": False, "tol": 1e-6, "maxIter": 100}

    def gradient(model):
        w, b = np.asarray(model.coefficients), model.intercept
        miss = 1.0 / (1.0 + np.exp(-(X @ w + b))) - y
        return f"|g| {np.abs(np.append(X.T @ miss / len(y) + 1e-4 * w, miss.mean())).max():.1e}"

    beside(
        "LogisticRegression 1M × 20",
        lambda: LogisticRegression(**options, runOn="spark").fit(frame),
        lambda: Theirs(**options).fit(frame),
        gradient,
        BLOCKS,
    )


def mixture(spark, folder):
    from pyspark.ml.clustering import GaussianMixture as Theirs

    from fastml.spark import GaussianMixture

    X = groups(200_000, 10, 10)
    frame = in_memory(spark, parquet(folder, X))
    # MLlib adds 2.2e-16 to every density, so rows far from all components are shared evenly. From
    # some starts EM goes elsewhere for that: with seed 1 it ends at -16.860 / -16.753.
    options = {"k": 10, "maxIter": 10, "tol": 0.0, "seed": 2}
    weights, means, covariances = parts_of(Theirs(**{**options, "maxIter": 0}).fit(frame))
    own = {**options, "weights_init": weights, "means_init": means, "reg_covar": 0.0,
           "precisions_init": np.linalg.inv(covariances)}  # fmt: skip
    beside(
        "GaussianMixture 200k × 10, 10 components, 10 iterations",
        lambda: GaussianMixture(**own, runOn="spark").fit(frame),
        lambda: Theirs(**options).fit(frame),
        lambda model: f"{likelihood(parts_of(model), X):.6f}",
        f"{BLOCKS}; the same start",
    )


def parts_of(model):
    """(weights, means, covariances) of a mixture of either side."""
    if hasattr(model, "to_local"):
        local = model.to_local()
        return local.weights_, local.means_, local.covariances_
    rows = model.gaussiansDF.collect()
    return (
        np.array(model.weights),
        np.array([row["mean"].toArray() for row in rows]),
        np.array([row["cov"].toArray() for row in rows]),
    )


def likelihood(parts, X):
    """The mean logarithm of the density; of the model as it is, which MLlib's summary has not."""
    from scipy.special import logsumexp
    from scipy.stats import multivariate_normal

    logs = [np.log(w) + multivariate_normal(m, c).logpdf(X) for w, m, c in zip(*parts)]
    return logsumexp(logs, axis=0).mean()


def trees(spark, folder, name, ours, theirs, quality, options, **own):
    X, _, y = labelled(200_000, 20)
    frame = in_memory(spark, parquet(folder, X, label=y))
    beside(
        name,
        lambda: ours(**{**options, **own}, runOn="spark").fit(frame),
        lambda: theirs(**options).fit(frame),
        lambda model: quality(model, frame),
        BLOCKS,
    )


def accuracy(model, frame):
    from pyspark.sql import functions as F

    right = (F.col("prediction") == F.col("label")).cast("double")
    return f"{model.transform(frame).agg(F.avg(right)).first()[0]:.4f}"


def log_loss(model, frame):
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F

    share = vector_to_array(F.col("probability"))[F.col("label").cast("int")]
    return f"{model.transform(frame).agg(F.avg(-F.log(share))).first()[0]:.4f}"


def forest(spark, folder):
    from pyspark.ml.classification import RandomForestClassifier as Theirs

    from fastml.spark import RandomForestClassifier

    options = {"numTrees": 20, "maxDepth": 8, "seed": 1}
    name = "RandomForest 200k × 20, 20 trees, depth 8"
    trees(spark, folder, name, RandomForestClassifier, Theirs, accuracy, options)


def boosting(spark, folder):
    from pyspark.ml.classification import GBTClassifier as Theirs

    from fastml.spark import GBTClassifier

    options = {"maxIter": 20, "maxDepth": 5, "seed": 1, "stepSize": 0.2}
    name = "boosting 200k × 20, 20 trees, depth 5"
    # MLlib's margin is half the log-odds: a step of ours moves it half as far.
    trees(spark, folder, name, GBTClassifier, Theirs, log_loss, options, stepSize=0.4)


def scoring(spark, folder):
    from pyspark.ml.classification import RandomForestClassifier as Theirs
    from pyspark.sql import functions as F

    from fastml.ensemble import RandomForestClassifier
    from fastml.spark import transform

    X, _, y = labelled(20_000, 20)
    small = in_memory(spark, parquet(folder, X, label=y))
    options = {"numTrees": 100, "maxDepth": 8, "seed": 1}
    theirs = Theirs(**options).fit(small)
    ours = RandomForestClassifier(100, max_depth=8, random_state=1).fit(X, y)
    rng = np.random.default_rng(1)
    frame = in_memory(spark, parquet(folder, rng.normal(size=(2_000_000, 20))))

    def mean(made):
        return made.agg(F.avg("prediction")).first()[0]

    beside(
        "scoring 2M rows by a forest of 100",
        lambda: mean(transform(ours, frame)),
        lambda: mean(theirs.transform(frame)),
        lambda value: f"{value:.4f}",
        "rows cached as vectors on both sides",
    )


WORKS = {
    "kmeans": kmeans,
    "linear": linear,
    "logistic": logistic,
    "mixture": mixture,
    "forest": forest,
    "boosting": boosting,
    "scoring": scoring,
}


def main():
    logging.getLogger("py4j").setLevel(logging.ERROR)
    spark = session()
    print("| work | fastml | MLlib | ratio | quality | prepared |\n|---|---|---|---|---|---|")
    for name in sys.argv[1:] or WORKS:
        with tempfile.TemporaryDirectory() as folder:
            WORKS[name](spark, folder)
            spark.catalog.clearCache()
    spark.stop()


if __name__ == "__main__":
    main()
