"""FunctionTransformer beside scikit-learn's."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer as Theirs

from fastml.preprocessing import FunctionTransformer

X = np.arange(12.0).reshape(4, 3)


def plus(X, amount=1.0):
    return X + amount


def outcome(make):
    """What it returns, warns of or raises."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = make()
        except Exception as error:
            return type(error), str(error)
    said = [str(warning.message) for warning in caught]
    kind = type(found).__name__
    columns = list(found.columns) if hasattr(found, "columns") else None
    values = found.toarray() if sp.issparse(found) else np.asarray(found)
    return kind, columns, values.tolist(), said


FRAME = pd.DataFrame(X, columns=list("abc"))
SETTINGS = {
    "identity": {},
    "arguments": {"func": plus, "kw_args": {"amount": 3.0}},
    "both ways": {"func": np.log1p, "inverse_func": np.expm1},
    "no inverse": {"func": np.log1p, "inverse_func": np.sqrt},
    "not looked at": {"func": np.log1p, "inverse_func": np.sqrt, "check_inverse": False},
    "checked": {"func": plus, "validate": True},
    "same names": {"func": plus, "feature_names_out": "one-to-one"},
    "new names": {"func": plus, "feature_names_out": lambda t, names: [f"{n}!" for n in names]},
    "other names": {
        "func": lambda X: pd.DataFrame({"z": np.ones(len(X))}), "feature_names_out": "one-to-one",
    },
    "numbered": {"func": lambda X: pd.DataFrame(np.asarray(X)), "feature_names_out": "one-to-one"},
}  # fmt: skip
ROWS = {
    "array": X,
    "pandas": FRAME,
    "polars": pl.DataFrame(X, schema=list("abc")),
    "sparse": sp.csr_array(X),
    "NaN": np.where(X == 4, np.nan, X),
    "text": pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"], "c": ["s", "t"]}),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", SETTINGS)
def test_as_scikit_learn(name, rows):
    data, options = ROWS[rows], SETTINGS[name]
    for container in ("default", "pandas", "polars"):
        found = []
        for cls in (FunctionTransformer, Theirs):
            model = cls(**options).set_output(transform=container)
            found.append(outcome(partial(model.fit_transform, data)))
        assert str(found[0]) == str(found[1])
    mine, theirs = (
        outcome(partial(cls(**options).inverse_transform, data))
        for cls in (FunctionTransformer, Theirs)
    )
    assert str(mine) == str(theirs)


def test_names_in_a_pipeline_and_a_page():
    pipe = make_pipeline(FunctionTransformer(np.log1p, feature_names_out="one-to-one"))
    assert_array_equal(pipe.fit(FRAME).get_feature_names_out(), ["a", "b", "c"])
    assert not hasattr(FunctionTransformer(), "get_feature_names_out")
    assert "log1p" in pipe._repr_html_()
    model = FunctionTransformer(plus, feature_names_out="one-to-one").set_output(transform="pandas")
    assert type(model.set_output().fit_transform(X)) is pd.DataFrame  # None: as before
    with pytest.raises(ValueError, match="feature_names_out"):
        FunctionTransformer(feature_names_out="some").fit(X)
