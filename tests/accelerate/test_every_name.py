"""Every class of the table is served: fastml's outputs from scikit-learn's own object."""

import importlib
import inspect
import pickle
import warnings

import numpy as np
import pytest
import specimens
from assertions import assert_bit_equal
from upstream.plugin import counterparts

from fastml import accelerate
from fastml.accelerate._functions import is_served
from fastml.accelerate._names import CLASSES, FEW_ROWS, FUNCTIONS, NOT_SERVED, names
from fastml.convert import to_sklearn

SERVED = [f"{module}.{name}" for module, listed in CLASSES.items() for name in listed
          if f"{module}.{name}" not in NOT_SERVED]  # fmt: skip


def test_the_table_has_every_common_name():
    common = {path for path in counterparts("fastml") if "._" not in path}
    assert set(names()) == common
    assert set(NOT_SERVED) <= common


def model_and_twin(path):
    """scikit-learn's model and fastml's with the same parameters, and data for both."""
    module, _, name = path.rpartition(".")
    theirs = getattr(importlib.import_module(f"sklearn.{module}"), name)
    ours = getattr(importlib.import_module(f"fastml.{module}"), name)
    known = set(inspect.signature(theirs).parameters)
    parameters = next(each for each in specimens.variants(ours) if set(each) <= known)
    model = theirs(**to_sklearn(specimens.make(ours, **parameters)).get_params(deep=False))
    twin = specimens.make(ours, **model.get_params(deep=False))
    if getattr(model, "copy_X", True) is False:
        model.copy_X = True
    return model, twin


def foreign(value):
    """Types inside a value that no user of NumPy, SciPy and scikit-learn expects there."""
    if isinstance(value, dict):
        return [each for part in value.values() for each in foreign(part)]
    if type(value) in (list, tuple):
        return [each for part in value for each in foreign(part)]
    plain = type(value).__module__.partition(".")[0] in ("builtins", "numpy", "scipy", "sklearn")
    if isinstance(value, np.ndarray):
        plain = type(value) is np.ndarray
    return [] if plain else [type(value)]


@pytest.mark.parametrize("path", SERVED)
def test_class(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated classes
        model, twin = model_and_twin(path)
    n = FEW_ROWS if "DecisionTree" in path else 60
    X = specimens.rows(n)
    if "Label" in path:
        X = np.arange(60) % 3 if "Multi" not in path else [[i % 3, i % 5] for i in range(60)]
    y = None if "Label" in path else specimens.target(twin, n)
    before = set(vars(type(model)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with accelerate.enabled(on_fallback="raise"):
            assert (model.fit(X) if y is None else model.fit(X, y)) is model
            assert accelerate.ran(model) == "fastml"
            if "Label" not in path:
                specimens.fitted(twin, X, n)
                expected = specimens.outputs(twin, X)
                expected = {name: value for name, value in expected.items() if hasattr(model, name)}
                found = specimens.outputs(model, X)
                assert_bit_equal(found, expected)
                assert foreign([found, vars(model)]) == []  # cudf#16029, #14674, xgb#11014
            data = pickle.dumps(model)
        assert b"fastml" not in data
        assert set(vars(type(model))) ^ before <= {"__slotnames__"}  # pickle's own memory
        # Without acceleration, the model and its pickle are scikit-learn's.
        if "Label" not in path:
            for each in (model, pickle.loads(data)):
                assert type(each) is type(model)
                for name in ("predict", "transform", "score_samples"):
                    if name in expected and isinstance(expected[name], np.ndarray):
                        assert np.shape(getattr(each, name)(X)) == expected[name].shape


def test_small_trees_are_those_of_scikit_learn():
    from sklearn.tree import DecisionTreeClassifier

    X, y = specimens.rows(FEW_ROWS), np.arange(FEW_ROWS) % 3
    with accelerate.enabled():
        for n, ran in ((FEW_ROWS, "fastml"), (FEW_ROWS - 1, "scikit-learn")):
            model = DecisionTreeClassifier(random_state=0)
            assert accelerate.ran(model.fit(X[:n], y[:n])) == ran
        assert accelerate.ran(model.fit(X[:50].tolist(), y[:50])) == "scikit-learn"
        with pytest.raises(ValueError, match="Expected 2D array"):  # what has no rows
            model.fit(5, y)


def test_functions_are_found_where_they_are_served():
    from sklearn.metrics import accuracy_score

    with accelerate.enabled():
        for module, listed in FUNCTIONS.items():
            home = importlib.import_module(f"sklearn.{module}")
            for name in listed:
                path = f"{module}.{name}"
                expected = path not in NOT_SERVED
                assert is_served(getattr(home, name)) or not expected, path
        accelerate.report(clear=True)
        assert accuracy_score([0, 1], [1, 1]) == 0.5
        assert [row[:4] for row in accelerate.report()] == [
            ("metrics.accuracy_score", "accuracy_score", "fastml", 1)
        ]
    accelerate.report(clear=True)
    assert accuracy_score([0, 1], [1, 1]) == 0.5
    assert accelerate.report() == []


def test_scorers_made_before_are_served():
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import get_scorer

    scorer = get_scorer("f1")
    model = DummyClassifier(strategy="constant", constant=1).fit([[0], [1]], [0, 1])
    with accelerate.enabled(only="metrics.f1_score"):
        accelerate.report(clear=True)
        assert scorer(model, [[0], [1]], [0, 1]) == pytest.approx(2 / 3)
        assert [row[:3] for row in accelerate.report(clear=True)] == [
            ("metrics.f1_score", "f1_score", "fastml")
        ]
