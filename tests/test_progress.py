"""Long fits tell scikit-learn's callbacks of their steps: its progress bar, and early ends."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fastml import (
    cluster,
    decomposition,
    ensemble,
    kernel_ridge,
    linear_model,
    manifold,
    mixture,
    neighbors,
    svm,
)
from fastml._progress import NoSteps, fit_steps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
LABELS = (X[:, 0] + 0.5 * RNG.normal(size=240) > 0).astype(int)
VALUES = X[:, 0] + 0.1 * RNG.normal(size=240)
GRAPH = neighbors.kneighbors_graph(X, 10)

FITS = {
    "forest": (ensemble.RandomForestClassifier(40, random_state=0), "n_estimators"),
    "extra trees": (ensemble.ExtraTreesRegressor(40, random_state=0), "n_estimators"),
    "embedding": (ensemble.RandomTreesEmbedding(40, random_state=0), "n_estimators"),
    "boosting": (ensemble.GradientBoostingRegressor(n_estimators=6), "n_estimators"),
    "classes": (ensemble.GradientBoostingClassifier(n_estimators=6), "n_estimators"),
    "histograms": (ensemble.HistGradientBoostingRegressor(max_iter=6), "max_iter"),
    "AdaBoost": (ensemble.AdaBoostClassifier(n_estimators=6), "n_estimators"),
    "bagging": (ensemble.BaggingClassifier(n_estimators=6, random_state=0), "n_estimators"),
    "SVC": (svm.SVC(C=100.0), None),
    "SVR": (svm.SVR(C=100.0), None),
    "KMeans": (cluster.KMeans(5, n_init=2, random_state=0), "n_init"),
    "batches": (
        cluster.MiniBatchKMeans(3, batch_size=60, n_init=1, max_iter=3, random_state=0),
        None,
    ),
    "bisections": (cluster.BisectingKMeans(5, random_state=0), None),
    "isolation": (ensemble.IsolationForest(n_estimators=40, random_state=0), None),
    "LinearSVC": (svm.LinearSVC(random_state=0), None),
    "LinearSVR": (svm.LinearSVR(loss="squared_epsilon_insensitive", dual=False), None),
    "density": (neighbors.KernelDensity(bandwidth="loo"), None),
    "logistic": (linear_model.LogisticRegression(), None),
    "lasso of classes": (linear_model.LogisticRegression(l1_ratio=1.0, solver="saga"), None),
    "folds": (
        linear_model.LogisticRegressionCV(
            Cs=3, cv=4, l1_ratios=(0,), scoring="accuracy", use_legacy_attributes=False
        ),
        "cv",
    ),
    "mixture": (mixture.GaussianMixture(2, n_init=2, random_state=0), "n_init"),
    "DBSCAN by a tree": (cluster.DBSCAN(0.5), None),
    "DBSCAN by bits": (cluster.DBSCAN(0.5, algorithm="brute"), None),
    "Ward": (cluster.AgglomerativeClustering(3), None),
    "average": (cluster.AgglomerativeClustering(3, linkage="average"), None),
    "single": (cluster.AgglomerativeClustering(3, linkage="single"), None),
    "single, other metric": (
        cluster.AgglomerativeClustering(3, linkage="single", metric="braycurtis"),
        None,
    ),
    "along a graph": (cluster.AgglomerativeClustering(3, connectivity=GRAPH), None),
    "medians": (cluster.KMedians(3, n_init=2, random_state=0), "n_init"),
    "medoids": (cluster.KMedoids(3, random_state=0), None),
    "centroids": (cluster.KCentroids(3, n_init=2, random_state=0), "n_init"),
    "soft": (cluster.SoftKMeans(3, n_init=2, random_state=0), "n_init"),
    "directions": (cluster.SphericalKMeans(3, n_init=2, random_state=0), "n_init"),
    "chunks": (cluster.BFR(3, chunk_size=80, random_state=0), None),
    "perceptron of kernels": (svm.KernelPerceptron(max_iter=3, random_state=0), "max_iter"),
    "kernel logistic": (svm.KernelLogisticRegression(), None),
    "MDS": (manifold.MDS(init="random", n_init=2, max_iter=20, random_state=0), None),
    "Sammon": (manifold.SammonMapping(max_iter=500), "max_iter"),
    "SNE": (manifold.SNE(max_iter=20, random_state=0), "max_iter"),
    "folds of a path": (linear_model.LassoCV(cv=3, alphas=4), "cv"),
    "epochs": (linear_model.SGDClassifier(random_state=0), None),
    "epochs of numbers": (linear_model.SGDRegressor(random_state=0), None),
    "epochs of one class": (linear_model.SGDOneClassSVM(random_state=0), None),
    "blending": (
        ensemble.BlendingRegressor(
            [("a", linear_model.Ridge()), ("b", linear_model.BayesianRidge())],
            linear_model.Ridge(),
            refit=True,
            random_state=0,
        ),
        None,
    ),
    "folds of angles": (linear_model.LassoLarsCV(cv=3), "cv"),
    "generalised": (linear_model.TweedieRegressor(power=0), None),
    "evidence": (linear_model.BayesianRidge(), "max_iter"),
    "relevance": (linear_model.ARDRegression(), "max_iter"),
    "factors": (decomposition.FactorAnalysis(2), "max_iter"),
    "outliers": (linear_model.HuberRegressor(), None),
    "median": (linear_model.QuantileRegressor(alpha=0.1), None),
    "deviations": (linear_model.LeastAbsoluteDeviations(), None),
    "paths": (manifold.Isomap(), None),
    "ridge of a kernel": (kernel_ridge.KernelRidge(), None),
    "ridges of a kernel": (kernel_ridge.KernelRidge(alphas=[0.1, 1.0]), None),
}
every_fit = pytest.mark.parametrize("name", FITS)


def target(model):
    return VALUES if is_regressor(model) else LABELS if is_classifier(model) else None


class Listener:
    """Notes every task, and asks for an end after ``n_steps`` leaves."""

    def __init__(self, n_steps=None):
        self.n_steps, self.events, self.models = n_steps, [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.parent is None, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.events.append(("end", context.parent is None, context.max_subtasks))
        if context.max_subtasks == 0:
            self.models.append(fitted_estimator)
            return self.n_steps is not None and len(self.models) >= self.n_steps
        return self.n_steps is not None

    def teardown(self, estimator, context):
        self.events.append("teardown")


@every_fit
def test_tasks_begin_and_end(name):
    model, parameter = FITS[name]
    model, listener = clone(model), Listener()
    plain = clone(model).fit(X, target(model))
    model.set_callbacks(listener).fit(X, target(model))
    events = listener.events
    most = None if parameter is None else getattr(model, parameter)
    most = {"batches": 12, "bisections": 4, "blending": 5}.get(name, most)
    if "trees" in name or name in ("forest", "embedding"):
        most = None  # how many blocks there are depends on the machine
    assert events[:2] == ["setup", ("begin", True, most)]
    assert events[-2:] == [("end", True, most), "teardown"]
    assert sum(e[0] == "begin" for e in events[1:-1]) == sum(e[0] == "end" for e in events[1:-1])
    assert len(listener.models) >= 1
    for attribute in ("labels_", "children_", "embedding_"):
        if hasattr(plain, attribute):
            np.testing.assert_array_equal(getattr(model, attribute), getattr(plain, attribute))
    for method in ("predict", "transform"):
        if hasattr(model, method):
            found, expected = (getattr(m, method)(X) for m in (model, plain))
            dense = found.toarray() if hasattr(found, "toarray") else found
            other = expected.toarray() if hasattr(expected, "toarray") else expected
            np.testing.assert_array_equal(dense, other)  # being told of changes nothing
    left = {k for k in vars(model) if "callback" in k or "step" in k} - {"n_steps_"}
    assert left == {"_skl_callbacks"}
    pickle.dumps(model.set_callbacks())


STAGED = [
    "logistic",
    "outliers",
    "boosting",
    "classes",
    "histograms",
    "AdaBoost",
    "forest",
    "mixture",
    "batches",
]


@pytest.mark.parametrize("name", STAGED)
def test_models_of_the_steps_predict(name):
    model, listener = clone(FITS[name][0]), Listener()
    if name == "mixture":
        model.set_params(n_init=1)
    model.set_callbacks(listener).fit(X, target(model))
    answers = [step.predict(X) for step in listener.models]
    assert all(len(answer) == len(X) for answer in answers)
    np.testing.assert_array_equal(answers[-1], model.predict(X))
    if name != "mixture":
        assert any((answer != answers[-1]).any() for answer in answers[:-1])


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("boosting", lambda m: len(m.estimators_)),
        ("histograms", lambda m: m.n_iter_),
        ("AdaBoost", lambda m: len(m.estimators_)),
        ("bagging", lambda m: len(m.estimators_samples_)),
        ("KMeans", lambda m: m.n_iter_),
        ("logistic", lambda m: m.n_iter_[0] + 1),
        ("batches", lambda m: m.n_steps_),
        ("bisections", lambda m: len(m.cluster_centers_) - 1),
        ("isolation", lambda m: len(m.estimators_) / 16),
        ("centroids", lambda m: m.n_iter_),
        ("soft", lambda m: m.n_iter_),
        ("perceptron of kernels", lambda m: m.n_iter_),
        ("epochs", lambda m: m.n_iter_),
        ("factors", lambda m: m.n_iter_),
        ("evidence", lambda m: m.n_iter_),
        ("relevance", lambda m: m.n_iter_),
        ("generalised", lambda m: m.n_iter_ + 1),
        ("outliers", lambda m: m.n_iter_),
        ("median", lambda m: m.n_iter_),
    ],
)
@pytest.mark.filterwarnings("ignore:.*(did not converge in|did not reach|failed to converge)")
def test_a_callback_ends_the_fit(name, made):
    model = clone(FITS[name][0]).set_callbacks(Listener(2)).fit(X, target(FITS[name][0]))
    assert made(model) == 2
    answer = model.predict if hasattr(model, "predict") else model.transform
    assert len(answer(X)) == len(X)


def test_a_search_that_was_ended_keeps_the_best():
    listener = Listener(3)
    model = neighbors.KernelDensity(bandwidth="lscv").set_callbacks(listener).fit(X)
    assert len(listener.models) == 3
    assert np.isfinite(model.score(X))
    whole = neighbors.KernelDensity(bandwidth="lscv").fit(X)
    assert whole.bandwidth_ != model.bandwidth_


def test_a_machine_that_was_ended_did_not_converge():
    machine = svm.SVC(C=1e6, kernel="linear", max_iter=-1).set_callbacks(Listener(1))
    noisy = RNG.integers(0, 2, 240)
    with pytest.warns(UserWarning, match="Solver terminated early"):
        machine.fit(X, noisy)
    assert machine.fit_status_ == 1
    linear = svm.LinearSVC(dual=False).set_callbacks(Listener(1))
    with pytest.warns(ConvergenceWarning):
        linear.fit(X, noisy)
    assert linear.n_iter_ == 1
    assert "_ended" not in vars(linear)


@every_fit
def test_progress_bar(name, capsys):
    model = clone(FITS[name][0]).set_callbacks(ProgressBar())
    model.fit(X, target(model))
    assert f"{type(model).__name__} - fit" in capsys.readouterr().out


def test_inside_searches_and_pipelines(capsys):
    model = make_pipeline(StandardScaler(), ensemble.GradientBoostingClassifier(n_estimators=3))
    search = GridSearchCV(model, {"gradientboostingclassifier__max_depth": [1, 2]}, cv=2)
    search.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(X, LABELS)
    out = capsys.readouterr().out
    assert "GridSearchCV - fit" in out
    assert "GradientBoostingClassifier - fit" in out


def test_scores_of_the_steps():
    monitor = ScoringMonitor(scoring="r2")
    model = ensemble.GradientBoostingRegressor(n_estimators=5).set_callbacks(monitor)
    model.fit(X, VALUES)
    assert len(model.train_score_) == 5


def test_nothing_without_callbacks():
    model = ensemble.GradientBoostingRegressor()
    with fit_steps(model, 3) as steps:
        assert isinstance(steps, NoSteps)
        assert steps.begin().end() is False
    with pytest.raises(TypeError, match="FitCallback"):
        model.set_callbacks(print)
