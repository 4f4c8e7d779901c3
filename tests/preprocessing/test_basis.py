"""Columns of the user's own functions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numba import njit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from fastml._jit import jit_enabled
from fastml.linear_model import LinearRegression, Ridge
from fastml.preprocessing import BasisFunctions


@njit
def wave(x):
    return np.sin(x[0])


@njit
def bump(x):
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * x[k]
    return np.exp(-total)


@njit
def root(value):
    return np.sqrt(np.abs(value))


def plain(x):
    return x[0] + 1.0


def of_centre(centre):
    @njit
    def near(x):
        return np.exp(-((x[0] - centre) ** 2))

    return near


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(500, 3))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_and_plain_functions(X, order, dtype):
    X = np.asarray(X, dtype=dtype, order=order)
    X.flags.writeable = False
    model = BasisFunctions([wave, bump, plain])
    found = model.fit_transform(X)
    expected = np.c_[X, np.sin(X[:, 0]), np.exp(-(X**2).sum(axis=1)), X[:, 0] + 1.0]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-14)
    assert list(model.get_feature_names_out()) == ["x0", "x1", "x2", "wave", "bump", "plain"]
    for n_jobs in (1, 2):
        other = BasisFunctions([wave, bump, plain], n_jobs=n_jobs).fit_transform(X)
        np.testing.assert_array_equal(found, other)


def test_of_values_names_and_frames(X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = BasisFunctions({"√": root}, of="value", include_input=False)
    model.set_output(transform="pandas")
    found = model.fit_transform(frame)
    assert list(found.columns) == ["√(a)", "√(b)", "√(c)"]
    np.testing.assert_allclose(found.to_numpy(), np.sqrt(np.abs(X)))
    one = BasisFunctions(wave, include_input=False).fit_transform(X)
    np.testing.assert_allclose(one[:, 0], np.sin(X[:, 0]))


def test_two_closures_of_one_name_are_two_functions(X):
    model = BasisFunctions([of_centre(0.0), of_centre(1.0)], include_input=False).fit(X)
    expected = np.exp(-((X[:, :1] - [0.0, 1.0]) ** 2))
    np.testing.assert_allclose(model.transform(X), expected)
    assert list(model.get_feature_names_out()) == ["near_1", "near_2"]


def test_linear_model_of_the_columns_in_pipelines_and_searches(X):
    y = 2.0 * np.sin(X[:, 0]) - 3.0 * np.exp(-(X**2).sum(axis=1)) + X[:, 2] + 5.0
    model = make_pipeline(BasisFunctions([wave, bump]), LinearRegression()).fit(X, y)
    np.testing.assert_allclose(model[-1].coef_, [0, 0, 1, 2, -3], atol=1e-9)
    copy = clone(model).fit(X, y)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    search = GridSearchCV(
        make_pipeline(BasisFunctions(), Ridge(1e-6)),
        {"basisfunctions__functions": [[wave], [bump], [wave, bump]]},
    ).fit(X, y)
    assert len(search.best_params_["basisfunctions__functions"]) == 2
    assert search.best_score_ > 0.999


@pytest.mark.skipif(not jit_enabled(), reason="plain functions are pickled by name")
def test_pickles(X):
    model = BasisFunctions([wave, of_centre(2.0)]).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_bad_functions(X):
    def logarithm(x):
        return np.log(x[0]) if x[0] > 0.0 else np.nan

    with pytest.raises(ValueError, match=r"function 'logarithm' is nan in row \d+"):
        BasisFunctions([logarithm]).fit_transform(X)
    with pytest.raises(TypeError, match="must be callable, got 'sin'"):
        BasisFunctions(["sin"]).fit(X)
    with pytest.raises(ValueError, match="no column is left"):
        BasisFunctions(include_input=False).fit(X)
