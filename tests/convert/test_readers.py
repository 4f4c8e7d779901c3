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
EXPLAINED = {name for name in MODELS if name not in ("svc", "k-means", "mixture")}


def fitted(name):
    model = MODELS[name]
    return model.fit(X, TARGET if "regression" in name else CLASSES)


@pytest.mark.parametrize("name", MODELS)
def test_onnx_predicts_the_same(name):
    runtime = pytest.importorskip("onnxruntime", reason="the runtime of ONNX is not installed")
    writer = pytest.importorskip("skl2onnx", reason="the writer of ONNX is not installed")
    model = fitted(name)
    theirs = to_sklearn(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name.startswith("hist"):  # of some versions of ONNX, numbers of nodes are no integers
            own = type(theirs)(max_iter=1).fit(X, CLASSES)
            try:
                writer.to_onnx(own, X[:1])
            except ValueError:
                pytest.skip("this skl2onnx cannot write what scikit-learn itself has fitted")
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
    if name == "boosting":
        pytest.skip("SHAP explains gradient boosting of two classes only")
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
