"""What users give to gradient boosting → numbers: categories, constraints, losses."""

from __future__ import annotations

import itertools
from numbers import Integral

import numpy as np
from sklearn.utils.validation import validate_data

from fastml._validation import FLOATS
from fastml.kernels.hist.predict import MOST_FEATURES


def check_rows(estimator, X):
    """Rows of numbers; they may be missing or infinite."""
    return validate_data(estimator, X, dtype=FLOATS, ensure_all_finite=False)


def check_new_rows(estimator, X):
    """Rows for prediction, as in fit; categories become their codes."""
    if estimator._preprocessor is None:
        return validate_data(estimator, X, dtype=FLOATS, ensure_all_finite=False, reset=False)
    return _in_order(estimator, estimator._preprocessor.transform(X))


def learn_rows(estimator, X):
    """(rows, categories per feature or None) at the beginning of fit."""
    from fastml._sklearn import check_categorical_features

    estimator._preprocessor = None
    estimator.is_categorical_ = check_categorical_features(X, estimator.categorical_features)
    if estimator.is_categorical_ is None:
        return check_rows(estimator, X), None
    encoder = estimator._preprocessor = make_preprocessor(estimator.is_categorical_)
    X = _in_order(estimator, encoder.fit_transform(X))
    counts = _count_categories(estimator, encoder)
    estimator.n_features_in_ = encoder.n_features_in_
    if hasattr(encoder, "feature_names_in_"):
        estimator.feature_names_in_ = encoder.feature_names_in_
    return X, counts


def check_number_of_features(n_features: int) -> None:
    """The nodes of packed trees have 20 bits for their feature."""
    if n_features > MOST_FEATURES:
        raise ValueError(f"at most {MOST_FEATURES:,} features can be boosted, got {n_features:,}")


def more_rows(estimator, X):
    """The same for a warm start: the trees know the columns and categories of the first fit."""
    from fastml._sklearn import check_categorical_features

    checked = check_new_rows(estimator, X)
    before = estimator.is_categorical_
    now = check_categorical_features(X, estimator.categorical_features)
    if (now is None) != (before is None) or (now is not None and np.any(now != before)):
        raise ValueError("a warm start needs the categorical features of the first fit")
    return checked, None


def make_preprocessor(is_categorical):
    """Categories → codes in the order of their values, unknown and missing ones → NaN."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        dtype=np.float64,
    )
    parts = [
        ("encoder", encoder, is_categorical),
        ("numerical", FunctionTransformer(_as_numbers), ~is_categorical),
    ]
    return ColumnTransformer(parts).set_output(transform="default")


def _as_numbers(X):
    from sklearn.utils import check_array

    return check_array(X, dtype=np.float64, ensure_all_finite=False)


def adopted_preprocessor(encoder):
    """A copy of what scikit-learn's boosting makes, checking numbers by our function."""
    from copy import deepcopy

    made = deepcopy(encoder)
    parts = [part for _, part, _ in [*made.transformers, *made.transformers_]]
    for part in parts:
        if hasattr(part, "func"):
            part.func = _as_numbers
    return made


def _in_order(estimator, X):
    """The transformer puts categories first; back to the user's order."""
    given = np.empty_like(X)
    given[:, np.r_[tuple(np.flatnonzero(m) for m in _masks(estimator))]] = X
    return given


def _masks(estimator):
    return estimator.is_categorical_, ~estimator.is_categorical_


def _count_categories(estimator, preprocessor):
    counts = np.zeros(preprocessor.n_features_in_, dtype=np.intp)
    encoder = preprocessor.named_transformers_["encoder"]
    for f, categories in zip(np.flatnonzero(estimator.is_categorical_), encoder.categories_):
        if len(categories) and _is_nan(categories[-1]):
            categories = categories[:-1]
        if len(categories) > estimator.max_bins:
            names = getattr(preprocessor, "feature_names_in_", None)
            name = f"at index {f}" if names is None else repr(names[f])
            raise ValueError(
                f"Categorical feature {name} is expected to have a cardinality <= "
                f"{estimator.max_bins} but actually has a cardinality of {len(categories)}."
            )
        counts[f] = max(1, len(categories))  # only missing: one empty category
    return counts


def _is_nan(value) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def check_trends(estimator):
    """monotonic_cst as one of -1, 0, 1 per feature."""
    from fastml._sklearn import check_monotonic_cst

    trends = np.asarray(check_monotonic_cst(estimator, estimator.monotonic_cst), dtype=np.int8)
    if trends.any() and estimator.n_trees_per_iteration_ != 1:
        what = "multiclass classification" if hasattr(estimator, "classes_") else "several outputs"
        raise ValueError(f"monotonic constraints are not supported for {what}.")
    if estimator.is_categorical_ is not None and (trends[estimator.is_categorical_] != 0).any():
        raise ValueError("Categorical features cannot have monotonic constraints.")
    return trends


def interaction_sets(interaction_cst, n_features: int) -> list[set] | None:
    """Sets of features that may meet on one path; features in none of them form one more."""
    if interaction_cst is None:
        return None
    given = interaction_cst
    if isinstance(given, str):
        size = 1 if given == "no_interactions" else 2
        given = itertools.combinations(range(n_features), size)
    try:
        sets = [set(group) for group in given]
    except TypeError:
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got:"
            f" {interaction_cst!r}."
        ) from None
    for group in sets:
        if not all(isinstance(f, Integral) and 0 <= int(f) < n_features for f in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] ="
                f" [0, {n_features - 1}], specifying the position of features, got invalid"
                f" indices: {group!r}"
            )
    rest = set(range(n_features)).difference(*sets)
    return [*sets, rest] if rest else sets


def interaction_groups(sets: list[set] | None, n_features: int):
    """The same as a matrix of 0 and 1, or None."""
    if sets is None:
        return None
    groups = np.zeros((len(sets), n_features), dtype=np.uint8)
    for row, group in zip(groups, sets):
        row[list(group)] = 1
    return groups


def is_compiled(function) -> bool:
    """Whether it is a function compiled by Numba (or a plain one where compiling is off)."""
    from fastml._jit import jit_enabled

    if not callable(function) or isinstance(function, type):
        return False
    return hasattr(function, "py_func") or not jit_enabled()


def check_user_loss(function) -> int:
    """Try the loss on one row; how many values it returns."""
    try:
        values = [float(value) for value in function(1.0, 0.5)]
        if len(values) not in (2, 3):
            raise TypeError(f"it returned {len(values)} values")
        return len(values)
    except Exception as error:
        raise ValueError(
            "loss must be a compiled function of two floats, (y, raw), that returns two floats, "
            "(gradient, hessian), or three, (gradient, hessian, loss); calling it failed: "
            f"{error}"
        ) from error
