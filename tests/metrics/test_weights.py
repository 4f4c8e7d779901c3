"""Weights: all metrics refuse what scikit-learn's refuse, plain arrays or not."""

import inspect

import numpy as np
import pytest
import sklearn.metrics
import specimens

from fastml import metrics

WEIGHTED = [
    name
    for name in metrics.__all__
    if inspect.isfunction(getattr(metrics, name))
    and "sample_weight" in inspect.signature(getattr(metrics, name)).parameters
    and hasattr(sklearn.metrics, name)
]
WEIGHTS = {
    "zeros": np.zeros(60),
    "NaN": np.where(np.arange(60) == 7, np.nan, 1.0),
    "infinity": np.where(np.arange(60) == 7, np.inf, 1.0),
    "short": np.ones(59),
    "matrix": np.ones((60, 2)),
    "words": np.array(["a"] * 60),
    "integers": np.arange(60) % 3,
    "booleans": np.arange(60) % 2 == 0,
    "float32": np.arange(60, dtype=np.float32) % 4,
    "scalar": 2.0,
    "negative": np.where(np.arange(60) == 7, -1.0, 1.0),
}


def outcome(package, name, weights):
    given = specimens.call_arguments(f"metrics.{name}", getattr(metrics, name))
    try:
        with np.errstate(all="ignore"):
            value = getattr(package, name)(**given, sample_weight=weights)
        return "value", np.hstack([np.ravel(each) for each in np.atleast_1d(value)])
    except (ValueError, TypeError, ZeroDivisionError) as error:
        return "error", type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", sorted({*WEIGHTED} - {"classification_report"}))
def test_weights_as_in_scikit_learn(name, kind):
    (how, found), (expected_how, expected) = (
        outcome(package, name, WEIGHTS[kind]) for package in (metrics, sklearn.metrics)
    )
    assert how == expected_how, (found, expected)
    if how == "value" and expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
