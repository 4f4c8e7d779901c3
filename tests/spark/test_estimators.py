"""`fastml.spark` beside fastml's own estimators and, where both are exact, MLlib's."""

import numpy as np
import pytest
from spark_states import state_of

pytest.importorskip("pyspark", reason="pyspark is not installed")

import fastml.spark as fs
from fastml.blocks import Blocks, fit
from fastml.convert import from_sklearn

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # pyspark's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

N, D = 600, 4


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * [1.0, 2.0, 0.5, 3.0] + 1.0
    line = X @ [1.0, -1.0, 2.0, 0.5]
    y = (line + rng.normal(size=N) > line.mean()).astype(np.float64)
    return X, y, line + rng.normal(size=N), rng.uniform(0.5, 2.0, N)


NAMES = ["a", "b c", "d.e", "f"]
"""Names that must be quoted."""


@pytest.fixture(scope="session")
def frame(spark):
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import functions as F

    X, y, z, w = rows()
    listed = [
        (*x, X_, *rest)
        for x, X_, rest in zip(X.tolist(), np.abs(X).tolist(), np.column_stack([y, z, w]).tolist())
    ]
    kinds = ", ".join([*(f"`{name}` double" for name in NAMES), "counts array<double>",
                       "label double, z double, w double"])  # fmt: skip
    made = spark.createDataFrame(listed, kinds).coalesce(1)
    made = made.withColumn("array", F.array(*[f"`{name}`" for name in NAMES]))
    made = made.withColumn("features", array_to_vector("array"))
    return made.cache()


def column(frame, name):
    found = [row[0] for row in frame.select(f"`{name}`").collect()]
    return np.array([value.toArray() if hasattr(value, "toArray") else value for value in found])


ESTIMATORS = [
    fs.KMeans(k=3, maxIter=5),
    fs.GaussianMixture(k=2, maxIter=4),
    fs.LinearRegression(labelCol="z", weightCol="w"),
    fs.LogisticRegression(weightCol="w", regParam=0.01),
    fs.GBTClassifier(maxIter=4, maxDepth=3),
    fs.GBTRegressor(labelCol="z", maxIter=4, maxDepth=3),
    fs.RandomForestClassifier(numTrees=4, maxDepth=4),
    fs.RandomForestRegressor(labelCol="z", numTrees=3, maxDepth=4, weightCol="w"),
    fs.PCA(k=2, inputCol="features", outputCol="z2"),
    fs.StandardScaler(inputCol="features", outputCol="z2", withMean=True),
    fs.NaiveBayes(featuresCol="counts"),
    fs.NaiveBayes(modelType="gaussian"),
]


@pytest.fixture(scope="session")
def models(frame):
    """Fitted once, for all tests."""
    return {}


def fitted(models, frame, estimator):
    if estimator not in models:
        models[estimator] = estimator.fit(frame)
    return models[estimator]


each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.uid.rpartition("_")[0])


@each
def test_columns_are_those_of_the_local_model(models, frame, estimator):
    model = fitted(models, frame, estimator)
    local = model.to_local()
    X = column(frame, "counts" if model._features() == "counts" else "features")
    made = model.transform(frame)
    assert made.columns[: len(frame.columns)] == frame.columns
    if isinstance(model, fs.StandardScalerModel):
        np.testing.assert_array_equal(column(made, "z2"), local.transform(X))
        np.testing.assert_allclose(model.std, X.std(axis=0, ddof=1), rtol=1e-12)
    elif isinstance(model, fs.PCAModel):
        np.testing.assert_allclose(column(made, "z2"), X @ local.components_.T, rtol=1e-9)
    else:
        np.testing.assert_array_equal(column(made, "prediction"), local.predict(X))
        assert dict(made.dtypes)["prediction"] == "double"
        assert model.predict(X[0]) == local.predict(X[:1])[0]
    if hasattr(local, "predict_proba"):
        np.testing.assert_array_equal(column(made, "probability"), local.predict_proba(X))
    if "rawPrediction" in made.columns:
        raw = column(made, "rawPrediction")
        assert raw.shape == (N, 2)
        np.testing.assert_array_equal(raw.argmax(axis=1), local.predict(X))


@each
def test_files_hold_the_model(models, frame, estimator, tmp_path):
    model = fitted(models, frame, estimator)
    model.write().save(str(tmp_path / "model"))
    again = type(model).load(str(tmp_path / "model"))
    assert again.uid == model.uid
    assert again.extractParamMap().keys() == model.extractParamMap().keys()
    assert state_of(again.to_local()) == state_of(model.to_local())
    if isinstance(model, fs.KMeansModel):
        made = {row["prediction"] for row in again.transform(frame).collect()}
        assert made == {0.0, 1.0, 2.0}
        with pytest.raises(ValueError, match=r"not a fastml\.spark\.PCAModel"):
            fs.PCAModel.load(str(tmp_path / "model"))
        with pytest.raises(Exception, match="exist"):
            model.save(str(tmp_path / "model"))
        model.write().overwrite().save(str(tmp_path / "model"))
        estimator.save(str(tmp_path / "estimator"))
        read = fs.KMeans.load(str(tmp_path / "estimator"))
        assert read.explainParams() == estimator.explainParams()


@pytest.mark.parametrize("features", ["array", NAMES], ids=["array", "list"])
def test_features_as_array_or_list(models, frame, features):
    vector = fitted(models, frame, ESTIMATORS[3])
    other = fs.LogisticRegression(featuresCol=features, weightCol="w", regParam=0.01).fit(frame)
    assert state_of(other.to_local()) | state_of(vector.to_local()) == state_of(other.to_local())
    made = other.transform(frame)
    np.testing.assert_array_equal(
        column(made, "probability"), column(vector.transform(frame), "probability")
    )
    if features == NAMES:
        assert list(other.to_local().feature_names_in_) == NAMES


def test_the_driver_and_the_workers_learn_the_same_bits(models, frame):
    for estimator in (ESTIMATORS[3], ESTIMATORS[5], ESTIMATORS[6]):
        there = estimator.copy({estimator.runOn: "spark"}).fit(frame).to_local()
        assert state_of(there) == state_of(fitted(models, frame, estimator).to_local())


def test_names_of_scikit_learn():
    estimator = fs.KMeans(n_clusters=5, max_iter=3, random_state=7, init=np.zeros((5, 2)))
    assert (estimator.getK(), estimator.getMaxIter(), estimator.getSeed()) == (5, 3, 7)
    assert estimator.getInitMode() == [[0.0, 0.0]] * 5
    assert fs.KMeans().setK(9).getK() == 9
    with pytest.raises(TypeError, match="KMeans has no parameter 'clusters'"):
        fs.KMeans(clusters=3)
    with pytest.raises(TypeError, match="given by two names"):
        fs.KMeans(k=3, n_clusters=3)
    with pytest.raises(TypeError):
        fs.KMeans(k="three")


def test_values_that_are_not_served_are_refused(frame):
    for estimator, message in [
        (fs.KMeans(distanceMeasure="cosine"), "distanceMeasure must be one of 'euclidean'"),
        (fs.LinearRegression(labelCol="z", loss="huber"), "loss must be one of 'squaredError'"),
        (fs.LinearRegression(labelCol="z", regParam=-1.0), "regParam must be at least 0"),
        (fs.LinearRegression(labelCol="z", alpha=1.0), "is a LinearRegression here"),
        (fs.GBTClassifier(minInfoGain=0.1), "minInfoGain must be one of 0.0"),
        (fs.GBTClassifier(featureSubsetStrategy="some"), "featureSubsetStrategy must be"),
        (fs.KMeans(runOn="moon"), "runOn must be one of"),
        (fs.KMeans(featuresCol="nothing"), "there is no column 'nothing'"),
    ]:
        with pytest.raises(ValueError, match=message):
            estimator.fit(frame)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("standardization", [True, False])
def test_penalised_least_squares_are_those_of_mllib(frame, share, standardization):
    from pyspark.ml.regression import LinearRegression

    options = {"labelCol": "z", "weightCol": "w", "regParam": 0.3, "elasticNetParam": share,
               "standardization": standardization, "tol": 1e-10}  # fmt: skip
    ours = fs.LinearRegression(**options).fit(frame)
    theirs = LinearRegression(**options, maxIter=500).fit(frame)
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.intercept, theirs.intercept, rtol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_penalised_logistic_regression_is_that_of_mllib(frame, share):
    from pyspark.ml.classification import LogisticRegression

    options = {"weightCol": "w", "regParam": 0.05, "elasticNetParam": share, "tol": 1e-9,
               "maxIter": 300}  # fmt: skip
    ours, theirs = fs.LogisticRegression(**options), LogisticRegression(**options)
    ours, theirs = ours.fit(frame), theirs.fit(frame)
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ours.intercept, theirs.intercept, rtol=1e-3, atol=1e-4)


def test_scaler_components_and_mixture_are_those_of_mllib(models, frame):
    from pyspark.ml.feature import PCA, StandardScaler

    scaler = StandardScaler(inputCol="features", outputCol="o").fit(frame)
    ours = fs.StandardScaler(inputCol="features", outputCol="o").fit(frame)
    np.testing.assert_allclose(ours.std, scaler.std, rtol=1e-10)
    np.testing.assert_allclose(
        column(ours.transform(frame), "o"), column(scaler.transform(frame), "o"), rtol=1e-10
    )
    theirs, ours = PCA(k=2, inputCol="features").fit(frame), fitted(models, frame, ESTIMATORS[8])
    np.testing.assert_allclose(np.abs(ours.pc.toArray()), np.abs(theirs.pc.toArray()), rtol=1e-6)
    np.testing.assert_allclose(ours.explainedVariance, theirs.explainedVariance, rtol=1e-8)


def test_thresholds(models, frame):
    model = fitted(models, frame, ESTIMATORS[3])
    above = model.copy({model.threshold: 0.9}).transform(frame)
    share = column(above, "probability")[:, 1]
    np.testing.assert_array_equal(column(above, "prediction"), (share > 0.9).astype(float))
    several = model.copy({model.thresholds: [0.9, 0.1]}).transform(frame)
    np.testing.assert_array_equal(column(several, "prediction"), (share > 0.1).astype(float))
    with pytest.raises(ValueError, match="thresholds must be 2 numbers"):
        model.copy({model.thresholds: [1.0]}).transform(frame)


def test_leaves_of_each_tree(models, frame):
    for estimator in ESTIMATORS:
        if "leafCol" in estimator._defaults:
            model = fitted(models, frame, estimator)
            made = model.copy({model.leafCol: "leaves"}).transform(frame)
            X = column(frame, "features")
            np.testing.assert_array_equal(column(made, "leaves"), model.to_local().apply(X))
            assert "leaves" not in model.transform(frame).columns


def test_columns_that_are_not_wanted(models, frame):
    model = fitted(models, frame, ESTIMATORS[3])
    few = model.copy({model.probabilityCol: "", model.rawPredictionCol: ""}).transform(frame)
    assert few.columns == [*frame.columns, "prediction"]
    with pytest.raises(ValueError, match="there is a column 'prediction' already"):
        model.transform(few)
    with pytest.raises(ValueError, match="there is no column 'features'"):
        model.transform(frame.drop("features"))


def test_pipeline_and_cross_validation(spark, frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder

    scaler = fs.StandardScaler(inputCol="v", outputCol="even")
    learner = fs.LogisticRegression(featuresCol="even")
    stages = [VectorAssembler(inputCols=["a", "f"], outputCol="v"), scaler, learner]
    pipeline = Pipeline(stages=stages)
    pipeline.save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(frame)
    model.save(str(tmp_path / "fitted"))
    again = PipelineModel.load(str(tmp_path / "fitted"))
    np.testing.assert_array_equal(
        column(again.transform(frame), "probability"), column(model.transform(frame), "probability")
    )
    grid = ParamGridBuilder().addGrid(learner.regParam, [0.01, 100.0]).build()
    search = CrossValidator(
        estimator=learner.copy({learner.featuresCol: "features"}), estimatorParamMaps=grid,
        evaluator=MulticlassClassificationEvaluator(metricName="logLoss"), numFolds=2, seed=0,
    )  # fmt: skip
    found = search.fit(frame)
    assert found.bestModel.getRegParam() == 0.01
    assert found.avgMetrics[0] < 0.5 < found.avgMetrics[1]
    found.save(str(tmp_path / "search"))
    best = CrossValidatorModel.load(str(tmp_path / "search")).bestModel
    assert state_of(best.to_local()) == state_of(found.bestModel.to_local())


def test_any_model_scores_a_frame(frame):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from fastml.ensemble import RandomForestClassifier
    from fastml.neighbors import KNeighborsRegressor

    X, y, z, _ = rows()
    text = np.array(["no", "yes"])[y.astype(int)]
    forest = RandomForestClassifier(5, random_state=0, max_depth=4).fit(X, text)
    made = fs.transform(forest, frame, columns={"said": "predict", "p": "predict_proba"})
    np.testing.assert_array_equal(column(made, "said"), forest.predict(X))
    np.testing.assert_array_equal(column(made, "p"), forest.predict_proba(X))
    assert dict(made.dtypes)["said"] == "string"
    nearest = KNeighborsRegressor(3).fit(X, z)
    made = fs.transform(nearest, frame, NAMES)
    np.testing.assert_array_equal(column(made, "prediction"), nearest.predict(X))
    converted = from_sklearn(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))
    made = fs.transform(converted, frame, "array")
    np.testing.assert_array_equal(column(made, "prediction"), converted.predict(X))
    scaler = fit(
        __import__("fastml.preprocessing").preprocessing.MinMaxScaler(), Blocks.from_npy(X)
    )
    np.testing.assert_array_equal(
        column(fs.transform(scaler, frame), "output"), scaler.transform(X)
    )
    with pytest.raises(AttributeError, match="KNeighborsRegressor has no method 'predict_proba'"):
        fs.transform(nearest, frame, columns={"p": "predict_proba"})
    assert fs.transform(forest, frame.limit(0)).count() == 0
