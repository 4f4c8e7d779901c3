"""What users do with models of scikit-learn, under acceleration: as without."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted
from subprocesses import run_python

from fastml import accelerate, convert
from fastml.accelerate import ran

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.fixture(autouse=True)
def accelerated():
    with accelerate.enabled():
        accelerate.report(clear=True)
        yield


def reasons(name, method):
    rows = accelerate.report()
    return [row.reason for row in rows if (row.name, row.method) == (name, method) and row.reason]


def test_identity_clone_repr_and_fitted_state():
    model = KMeans(2, random_state=0).fit(X)
    assert ran(model) == "fastml"
    assert type(model) is KMeans
    assert isinstance(model, KMeans)
    check_is_fitted(model)
    assert repr(model) == "KMeans(n_clusters=2, random_state=0)"
    assert "KMeans" in model._repr_html_()
    copied = clone(model)
    assert ran(copied) == "scikit-learn"
    assert not hasattr(copied, "labels_")
    assert [name for name in vars(model) if "fastml" in name] == []
    assert isinstance(model.cluster_centers_, np.ndarray)


def test_containers_and_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = StandardScaler().set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    assert ran(model) == "fastml"
    assert list(out.columns) == ["a", "b", "c"] == list(model.feature_names_in_)
    model.set_output(transform="default")
    assert isinstance(model.transform(frame), np.ndarray)
    with pytest.warns(UserWarning, match="valid feature names, but StandardScaler"):
        model.transform(X)


def test_meta_estimators_hold_served_models():
    search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]})
    search.fit(X, X[:, 0])
    assert ran(search.best_estimator_[-1]) == "fastml"
    called = {(row.name, row.method, row.ran) for row in accelerate.report()}
    assert ("linear_model.Ridge", "fit", "fastml") in called


def test_metadata_routing():
    weights = np.random.default_rng(1).uniform(0.1, 3.0, 60)
    groups = np.arange(60) % 6
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        linear = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(scaler, linear)
        search = GridSearchCV(pipeline, {"ridge__alpha": [0.1, 10.0]}, cv=GroupKFold(3))
        calls = {"sample_weight": weights, "groups": groups}
        found, routed = search.fit(X, X[:, 0], **calls), str(search.get_metadata_routing())
        assert ran(found.best_estimator_[0]) == ran(found.best_estimator_[1]) == "fastml"
        with pytest.raises(UnsetMetadataPassedError, match=r"Ridge.fit, which is used within"):
            make_pipeline(Ridge()).fit(X, Y, sample_weight=weights)
        named = Ridge().set_fit_request(sample_weight="mine")
        assert "mine" in str(clone(named).get_metadata_routing())
        with accelerate.enabled(only="DBSCAN"):
            expected = clone(search).fit(X, X[:, 0], **calls)
            assert ran(expected.best_estimator_[1]) == "scikit-learn"
            assert str(expected.get_metadata_routing()) == routed
    scores = "mean_test_score"
    np.testing.assert_allclose(found.cv_results_[scores], expected.cv_results_[scores], rtol=1e-9)
    best, other = found.best_estimator_, expected.best_estimator_
    np.testing.assert_allclose(best[0].mean_, np.average(X, axis=0, weights=weights))
    np.testing.assert_allclose(best[1].coef_, other[1].coef_, rtol=1e-9, atol=1e-12)


def test_errors_are_those_of_scikit_learn():
    with pytest.raises(ValueError, match=r"'n_clusters' parameter of KMeans must be an int"):
        KMeans(-1).fit(X)
    model = KMeans(2).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but KMeans is expecting 3"):
        model.predict(X[:, :2])
    assert "X has 2 features" in reasons("cluster.KMeans", "predict")[0]
    assert ran(model) == "fastml"


def test_conditions_go_to_scikit_learn():
    model = LinearRegression(copy_X=False).fit(X.copy(), Y)
    assert ran(model) == "scikit-learn"
    assert reasons("linear_model.LinearRegression", "fit") == [
        "`copy_X=False` asks to write into X"
    ]
    with (
        accelerate.enabled(on_fallback="warn"),
        pytest.warns(accelerate.FallbackWarning, match="liblinear"),
    ):
        LogisticRegression(solver="liblinear").fit(X, Y)
    with (
        accelerate.enabled(on_fallback="raise"),
        pytest.raises(accelerate.FallbackError, match="liblinear"),
    ):
        LogisticRegression(solver="liblinear").fit(X, Y)


def test_changed_attributes_are_seen():
    model = Ridge().fit(X, Y)
    model.coef_ = np.array([1.0, 0.0, 0.0])
    model.intercept_ = 0.0
    np.testing.assert_array_equal(model.predict(X), X[:, 0])
    assert ran(model) == "scikit-learn"
    model = Ridge().fit(X, Y)
    model.coef_[:] = 0.0
    np.testing.assert_array_equal(model.predict(X), np.full(60, model.intercept_))
    model = KMeans(2, random_state=0).fit(X)
    model.cluster_centers_ = model.cluster_centers_[::-1].copy()
    np.testing.assert_array_equal(model.predict(X), 1 - model.labels_)


def test_changed_trees_are_seen():
    model = DecisionTreeClassifier(random_state=0).fit(np.tile(X, (5, 1)), np.tile(Y, 5))
    before = model.predict(X)
    assert ran(model) == "fastml"
    model.tree_.value[:] = model.tree_.value[:, :, ::-1].copy()
    np.testing.assert_array_equal(model.predict(X), 1 - before)
    assert "tree_ was handed out" in reasons("tree.DecisionTreeClassifier", "predict")[0]


def test_importances_do_not_hand_out_the_trees():
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert ran(model) == "fastml"
    assert isinstance(model.estimators_[0], DecisionTreeClassifier)
    np.testing.assert_allclose(
        model.predict_proba(X), np.mean([each.predict_proba(X) for each in model.estimators_], 0)
    )


def test_diagrams_do_not_hand_out_the_trees():
    model = RandomForestClassifier(3, random_state=0).fit(X, Y)
    inside = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(X, Y)
    for shown in (model, inside):
        assert "estimators_" in shown._repr_html_()
    for each in (model, inside[-1]):
        assert ran(each) == "fastml"


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_methods_come_and_go_with_parameters_set_after_the_fit():
    model = SVC(kernel="linear").fit(X, Y)
    assert not hasattr(model, "predict_proba")
    model.probability = True
    assert hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError):
        model.predict_proba(X)


def test_a_metric_without_its_matrix_is_refused_as_by_scikit_learn():
    with pytest.raises(ValueError, match="V or VI"):
        KNeighborsClassifier(metric="mahalanobis").fit(X, Y)
    model = KNeighborsClassifier(metric="mahalanobis", metric_params={"V": np.eye(3)}).fit(X, Y)
    assert ran(model) == "fastml"


def test_parameters_set_after_the_fit_are_used():
    model = KNeighborsClassifier(1).fit(X, Y)
    assert model.score(X, Y) == 1.0
    model.set_params(n_neighbors=60)
    assert len(set(model.predict(X))) == 1
    assert ran(model) == "fastml"


def test_refit_leaves_nothing_of_the_earlier_fit():
    pandas = pytest.importorskip("pandas")
    model = KMeans(2, random_state=0).fit(pandas.DataFrame(X, columns=["a", "b", "c"]))
    _ = model._n_threads
    model.note = "mine"
    model.fit(X[:, :2])
    assert model.cluster_centers_.shape == (2, 2)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")
    assert model.note == "mine"


def test_partial_fit_and_warm_start_continue():
    model = IncrementalPCA(2).partial_fit(X[:30]).partial_fit(X[30:])
    assert model.n_samples_seen_ == 60
    assert ran(model) == "fastml"
    model = SGDClassifier(random_state=0).partial_fit(X, Y, classes=[0, 1])
    steps = model.t_
    assert model.partial_fit(X, Y).t_ > steps
    model = RandomForestClassifier(2, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=4).fit(X, Y)
    assert len(model.estimators_) == 4
    model = IncrementalPCA(2)  # continue what scikit-learn began
    with accelerate.enabled(exclude="IncrementalPCA"):
        model.partial_fit(X[:30])
    model.partial_fit(X[30:])
    assert model.n_samples_seen_ == 60


class Renamed(KMeans):
    """Adds a parameter."""

    def __init__(self, n_clusters=2, label="a", random_state=0):
        super().__init__(n_clusters, random_state=random_state)
        self.label = label


class Extended(Ridge):
    """Calls the methods that it overrides."""

    def fit(self, X, y):
        self._mine = 1
        return super().fit(X, y)

    def predict(self, X):
        return super().predict(X) + 100.0


class Inner(PCA):
    """Overrides what `fit` calls."""

    def _fit(self, X):
        self.seen_ = True
        return super()._fit(X)


def test_subclasses_of_users():
    model = Renamed().fit(X)
    assert ran(model) == "fastml"
    assert model.get_params()["label"] == "a"
    assert type(pickle.loads(pickle.dumps(model))) is Renamed
    model = Extended().fit(X, Y)
    assert ran(model) == "fastml"
    assert model._mine == 1
    assert model.predict(X).min() > 90.0
    assert Extended().fit(X, Y).fit(X, Y).predict(X).min() > 90.0
    assert model.score(X, Y) < 0  # scikit-learn's score calls the method of the subclass
    model = Inner(2).fit(X)
    assert model.seen_
    assert ran(model) == "scikit-learn"
    assert reasons("decomposition.PCA", "fit") == ["Inner overrides _fit"]


def test_pickles_and_copies():
    model = RandomForestClassifier(5, random_state=0).fit(X, Y)
    expected = model.predict_proba(X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert type(other) is RandomForestClassifier
        assert ran(other) == "fastml"  # taken over when it is first asked
        np.testing.assert_allclose(other.predict_proba(X), expected)
        assert ran(other) == "fastml"
    assert ran(model) == "fastml"


def test_pickles_load_without_fastml(tmp_path):
    models = [KMeans(2, random_state=0).fit(X), RandomForestClassifier(5, random_state=0).fit(X, Y),
              LogisticRegression().fit(X, Y), KNeighborsClassifier().fit(X, Y)]  # fmt: skip
    expected = [model.predict(X) for model in models]
    file = tmp_path / "models.pkl"
    file.write_bytes(pickle.dumps((models, X, expected)))
    run_python(f"""
        import pickle, sys
        sys.modules["fastml"] = None  # not installed
        models, X, expected = pickle.load(open({str(file)!r}, "rb"))
        for model, labels in zip(models, expected):
            assert (model.predict(X) == labels).all(), model
    """)


def test_models_go_on_after_uninstall():
    with accelerate.enabled():
        models = [KMeans(2).fit(X), GaussianNB().fit(X, Y), DBSCAN().fit(X)]
        expected = [model.predict(X) for model in models[:2]]
        accelerate.uninstall()
        for model, labels in zip(models, expected):
            np.testing.assert_array_equal(model.predict(X), labels)
            assert ran(model) == "scikit-learn"


def test_threads():
    model, wrong = KMeans(3, random_state=0).fit(X), []
    expected = model.predict(X)

    def work():
        for _ in range(20):
            own = KMeans(2, random_state=0, n_init=1).fit(X)
            if not (np.array_equal(model.predict(X), expected) and ran(own) == "fastml"):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_eight_threads_at_once():
    """Fits of their own, and one model of each class that all read, complete and pickle."""
    makers = [
        lambda: KMeans(3, random_state=0, n_init=1),
        lambda: PCA(2),
        lambda: StandardScaler(),
        lambda: LogisticRegression(),
        lambda: Ridge(),
        lambda: GaussianNB(),
        lambda: KNeighborsClassifier(3),
        lambda: RandomForestClassifier(5, random_state=0),
        lambda: make_pipeline(StandardScaler(), SVC()),
    ]

    def said(model):
        return model.transform(X) if hasattr(model, "transform") else model.predict(X)

    shared = [make().fit(X, Y) for make in makers]
    expected = [said(model) for model in shared]
    forest = shared[7]
    assert "estimators_" not in vars(forest)
    wrong, start = [], threading.Barrier(8)

    def work():
        try:
            start.wait()
            assert len(forest.estimators_) == 5
            for make, model, answer in zip(makers, shared, expected):
                own = make().fit(X, Y)
                copied = pickle.loads(pickle.dumps(model))
                np.testing.assert_array_equal(said(own), answer)
                np.testing.assert_allclose(said(copied), answer, rtol=1e-12, atol=1e-12)
                if model is not forest:  # handed out its trees
                    np.testing.assert_array_equal(said(model), answer)
                assert vars(copied).keys() == vars(pickle.loads(pickle.dumps(own))).keys()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_a_thread_waits_for_attributes_that_another_one_makes(monkeypatch):
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    inside, go, found = threading.Event(), threading.Event(), []
    make = convert.to_sklearn

    def slow(twin):
        inside.set()
        go.wait(20)
        return make(twin)

    monkeypatch.setattr(convert, "to_sklearn", slow)
    threads = [threading.Thread(target=lambda: found.append(len(forest.estimators_)))
               for _ in range(2)]  # fmt: skip
    threads[0].start()
    assert inside.wait(20)
    threads[1].start()
    threads[1].join(0.2)  # it would have raised by now
    go.set()
    for thread in threads:
        thread.join()
    assert found == [5, 5]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    run_python("""
        import os
        import numpy as np
        import fastml.accelerate as accelerate
        accelerate.install()
        from sklearn.cluster import KMeans
        X = np.arange(40.0).reshape(-1, 2)
        model = KMeans(2, random_state=0).fit(X)
        child = os.fork()
        if child == 0:
            own = KMeans(2, random_state=0).fit(X)
            same = (own.labels_ == model.predict(X)).all() and accelerate.ran(own) == "fastml"
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
    """)
