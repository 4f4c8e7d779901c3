"""Converted models in the hands of programs that read scikit-learn's: ONNX and SHAP."""

import warnings

import numpy as np
import pytest
import specimens

from fastml import cluster, ensemble, mixture, svm, tree
from fastml.convert import to_sklearn

X, CLASSES = specimens.rows(90, dtype=np.float32), np.arange(90) % 3
X += 0.25 * np.sin(np.arange(360.0, dtype=np.float32)).reshape(90, 4)
TARGET = X[:, 0] - X[:, 1]

MODELS = {
    "tree": tree.DecisionTreeClassifier(max_depth=3, random_state=0),
    "regression tree": tree.DecisionTreeRegressor(max_depth=3, random_state=0),
    "forest": ensemble.RandomForestClassifier(5, max_depth=4, random_state=0),
    "regression forest": ensemble.RandomForestRegressor(5, max_depth=4, random_state=0),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0),
    "hist boosting": ensemble.HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "hist regression": ensemble.HistGradientBoostingRegressor(max_iter=5, random_state=0),
    "svc": svm.SVC(),
    "k-means": cluster.KMeans(3, random_state=0),
    "mixture": mixture.GaussianMixture(3, random_state=0),
}
EXPLAINED = set(MODELS) - {"boosting", "svc", "k-means", "mixture"}  # boosting: two classes only


def fitted(name):
    model = MODELS[name]
    return model.fit(X, TARGET if "regression" in name else CLASSES)


@pytest.fixture
def numbers_of_nodes(monkeypatch):
    """Of scikit-learn's own boosting too, skl2onnx hands over integers that ONNX does not take."""
    helper = pytest.importorskip("onnx.helper", reason="ONNX is not installed")
    make = helper.make_attribute

    def make_attribute(key, value, *args, **kwargs):
        if isinstance(value, list):
            odd = np.integer | np.bool_ | bool
            value = [int(each) if isinstance(each, odd) else each for each in value]
        return make(key, value, *args, **kwargs)

    monkeypatch.setattr(helper, "make_attribute", make_attribute)


@pytest.mark.parametrize("name", MODELS)
def test_onnx_predicts_the_same(name, numbers_of_nodes):
    runtime = pytest.importorskip("onnxruntime", reason="the runtime of ONNX is not installed")
    writer = pytest.importorskip("skl2onnx", reason="the writer of ONNX is not installed")
    model = fitted(name)
    theirs = to_sklearn(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = writer.to_onnx(theirs, X[:1])
    session = runtime.InferenceSession(
        program.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    expected = model.predict(X)
    if "regression" in name:
        np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(np.ravel(found), expected)


@pytest.mark.parametrize("name", sorted(EXPLAINED))
def test_shap_explains_what_is_predicted(name):
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    model = fitted(name)
    explainer = shap.TreeExplainer(to_sklearn(model))
    values = np.asarray(explainer.shap_values(X, check_additivity=False))
    total = values.sum(axis=1) + explainer.expected_value
    if "regression" in name:
        expected = model.predict(X)
    elif name == "hist boosting":
        expected = model.decision_function(X)
    else:
        expected = model.predict_proba(X)
    np.testing.assert_allclose(total, expected, rtol=1e-4, atol=1e-4)


def test_shap_explains_gradient_boosting():
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    model = ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0)
    model.fit(X, CLASSES == 1)
    explainer = shap.TreeExplainer(to_sklearn(model))
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, model.decision_function(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["svc", "k-means", "mixture"])
def test_shap_explains_any_function(name):
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    rows = X.astype(np.float64)  # SHAP's, whatever is given; scikit-learn's k-means has one type
    model = MODELS[name].fit(rows, CLASSES)
    say = (
        "predict" if name == "k-means" else {"svc": "decision_function"}.get(name, "predict_proba")
    )
    theirs = to_sklearn(model)
    explainer = shap.explainers.Exact(getattr(theirs, say), rows[:20])
    found = explainer(rows[:3])
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, getattr(model, say)(rows[:3]), rtol=1e-4, atol=1e-4)
