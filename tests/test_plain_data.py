"""The short way through `validate_data` gives what scikit-learn gives, or leaves it to it."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data as full

from fastml._validation import FLOATS, _plain_data, check_is_fitted, validate_data


class Model(BaseEstimator):
    def fit(self, X, y=None):
        return self


X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 1, 0])


def outcome(check, model, *arguments, **options):
    """Arrays, attributes and warnings, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = check(model, *arguments, **options)
        except Exception as error:  # any must be the same
            found = f"{type(error).__name__}: {error}"
    parts = found if isinstance(found, tuple) else (found,)
    shown = [(p.dtype, p.flags.c_contiguous, p.tolist()) if isinstance(p, np.ndarray) else p
             for p in parts]  # fmt: skip
    return repr((shown, vars(model), [str(each.message) for each in caught]))


def with_entry(value, where=(1, 2), dtype=np.float64):
    changed = X.astype(dtype)
    changed[where] = value
    return changed


ROWS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "by columns": np.asfortranarray(X),
    "every other": np.arange(24.0).reshape(4, 6)[:, ::2],
    "other bytes": X.astype(">f8"),
    "integers": X.astype(int),
    "nan": with_entry(np.nan),
    "both infinities": with_entry([np.inf, -np.inf], where=(1, slice(2))),
    "sum overflows": with_entry(3e38, where=(slice(None), 0), dtype=np.float32),
    "list": X.tolist(),
    "one row": X[:1],
    "no row": X[:0],
    "no column": X[:, :0],
    "one axis": X[0],
    "two columns": X[:, :2],
    "masked": np.ma.masked_array(X),
}
TARGETS = {
    "integers": Y,
    "floats": Y / 3.0,
    "nan": np.array([0.0, np.nan, 1.0, 1.0]),
    "text": np.array(list("abab")),
    "objects": Y.astype(object),
    "column": Y[:, None],
    "short": Y[:3],
    "list": Y.tolist(),
    "none": None,
}
OPTIONS = [
    {}, {"dtype": FLOATS}, {"dtype": np.float64}, {"dtype": "int"}, {"dtype": None},
    {"order": "C", "dtype": list(FLOATS)}, {"order": "F"}, {"ensure_min_samples": 2},
    {"ensure_all_finite": "allow-nan"}, {"copy": True}, {"accept_large_sparse": False},
    {"ensure_min_features": 3},
]  # fmt: skip


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rows_alone(rows, options):
    for reset in (True, False):
        ours, theirs = Model(), Model()
        if not reset:
            ours.n_features_in_ = theirs.n_features_in_ = 3
        both = [
            outcome(check, model, ROWS[rows], reset=reset, **options)
            for check, model in ((validate_data, ours), (full, theirs))
        ]
        assert both[0] == both[1]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", [{}, {"y_numeric": True}, {"multi_output": True}], ids=str)
def test_rows_and_targets(target, options):
    both = [
        outcome(check, Model(), X, TARGETS[target], dtype=FLOATS, **options)
        for check in (validate_data, full)
    ]
    assert both[0] == both[1]


def test_names_of_columns_are_remembered_and_forgotten():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for rows, reset in ((X, False), (X, True), (frame[["b", "a", "c"]], False)):
        both = []
        for check in (validate_data, full):
            model = Model()
            check(model, frame)
            both.append(outcome(check, model, rows, reset=reset))
        assert both[0] == both[1]


def test_the_short_way_is_taken():
    """Else the tests above compare scikit-learn with itself."""
    model = Model()
    assert _plain_data(model, X) is X
    assert model.n_features_in_ == 3
    assert _plain_data(model, X, Y, dtype=FLOATS, reset=False) == (X, Y)
    assert _plain_data(model, X, dtype="int", reset=False).dtype == int
    assert _plain_data(Model(), X, reset=False) is None
    assert _plain_data(model, ROWS["nan"]) is None


def test_fitted_or_not():
    model = Model()
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_is_fitted(model)
    model.__odd_ = model._private = 1
    with pytest.raises(NotFittedError):
        check_is_fitted(model, "coef_")
    model.coef_ = 1
    check_is_fitted(model)
    check_is_fitted(model, "coef_")
    with pytest.raises(NotFittedError, match="first"):
        check_is_fitted(model, "other_", msg="fit it first")
