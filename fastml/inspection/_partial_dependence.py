"""Partial dependence: the mean answer of a model where a few columns are held at given values."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import Bunch, check_array
from sklearn.utils.validation import check_is_fitted

from fastml._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    safe_indexing,
    validate_params,
)
from fastml._validation import check_sample_weight
from fastml.inspection._answers import answering_models, knows_its_trees, rarely_moves

BY_RECURSION = (
    "BaseGradientBoosting",
    "BaseHistGradientBoosting",
    "DecisionTreeRegressor",
    "RandomForestRegressor",
)
"""Classes, of fastml and scikit-learn, whose trees know their training rows' weights."""

TOLD = (
    "GradientBoostingClassifier, GradientBoostingRegressor, HistGradientBoostingClassifier, "
    "HistGradientBoostingRegressor, HistGradientBoostingRegressor, DecisionTreeRegressor, "
    "RandomForestRegressor"
)


@validate_params(
    {
        "estimator": [
            HasMethods(["fit", "predict"]),
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "X": ["array-like", "sparse matrix"],
        "features": ["array-like", Integral, str],
        "sample_weight": ["array-like", None],
        "categorical_features": ["array-like", None],
        "feature_names": ["array-like", None],
        "response_method": [StrOptions({"auto", "predict_proba", "decision_function"})],
        "percentiles": [tuple],
        "grid_resolution": [Interval(Integral, 1, None, closed="left")],
        "custom_values": [dict, None],
        "method": [StrOptions({"auto", "recursion", "brute"})],
        "kind": [StrOptions({"average", "individual", "both"})],
    },
    prefer_skip_nested_validation=True,
)
def partial_dependence(
    estimator,
    X,
    features,
    *,
    sample_weight=None,
    categorical_features=None,
    feature_names=None,
    response_method="auto",
    percentiles=(0.05, 0.95),
    grid_resolution=100,
    custom_values=None,
    method="auto",
    kind="average",
):
    """Mean answer of a fitted model with some columns held at the values of a grid.

    .. math:: \\bar f(v) = \\frac1n \\sum_i f(x_i \\text{ with its columns } S \\text{ set to } v)

    By "brute" over the rows of X: trees and forests of fastml walk a row anew only where a value of
    the grid makes it leave its way. By "recursion" over the weights of the training rows, inside
    the trees.

    Parameters
    ----------
    estimator : fitted classifier or regressor
        The model.
    X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
        Rows that make the grid, and that are averaged over.
    features : array-like of {int, str, bool}, int or str
        One column, or several that are varied together.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean; with them the method is "brute".
    categorical_features : array-like of {bool, int, str}, default=None
        Columns whose grid is all their values.
    feature_names : array-like of str, default=None
        Names of the columns; by default those of a dataframe.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What a classifier is asked for; "auto" takes the first that it has.
    percentiles : tuple of float, default=(0.05, 0.95)
        Ends of the grid, as quantiles of the column.
    grid_resolution : int, default=100
        Points per column.
    custom_values : dict, default=None
        Column → values, instead of a grid made from X.
    method : {"auto", "recursion", "brute"}, default="auto"
        "auto" takes the recursion where there is one: gradient boosting, regression trees and
        random forests of regression trees. It is for ``kind="average"``; a classifier's answer is
        then the decision function, and boosting leaves out its start value.
    kind : {"average", "individual", "both"}, default="average"
        Whether to return the mean, or a curve for every row, or both.

    Returns
    -------
    result : Bunch
        ``average`` of shape (n_outputs, n_values, …), ``individual`` of shape (n_outputs,
        n_samples, n_values, …), ``grid_values``.

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.inspection import partial_dependence
    >>> from fastml.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> tree = DecisionTreeRegressor().fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> partial_dependence(tree, X, [0]).average
    array([[0.5, 2.5]])
    """
    from fastml._sklearn import get_column_indices

    _check_model(estimator, response_method)
    if not (hasattr(X, "__array__") or _is_sparse(X)):
        X = check_array(X, ensure_all_finite="allow-nan", dtype=object)
    method = _method(estimator, method, kind, sample_weight, response_method)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, X)
    _check_not_negative(features, X.shape[1])
    columns = np.asarray(get_column_indices(X, features), dtype=np.intp).ravel()
    names = _names(X, feature_names)
    categorical = _categorical(categorical_features, columns, names, X.shape[1])
    features = [features] if isinstance(features, str | Integral) else features
    _refuse_whole_numbers(X, columns, features, categorical)
    given = custom_values or {}
    own = {i: given[name] for i, name in enumerate(features) if name in given}
    chosen = safe_indexing(X, columns, axis=1)
    grid, values = _grid(chosen, percentiles, categorical, grid_resolution, own)
    shape = [len(axis) for axis in values]
    found = Bunch(grid_values=values)
    if method == "recursion":
        average = np.atleast_2d(estimator._compute_partial_dependence_recursion(grid, columns))
    else:
        answers = np.array(list(_answers(estimator, X, columns, grid, response_method)))
        weighed = [np.average(answer, axis=0, weights=sample_weight) for answer in answers]
        average = np.atleast_2d(np.array(weighed).T)
        each = answers.T
        if is_classifier(estimator) and each.shape[0] == 2:
            each = each[1]
        found["individual"] = each.reshape(-1, X.shape[0], *shape)
    found["average"] = average.reshape(-1, *shape)
    if kind == "average":
        found.pop("individual", None)
    elif kind == "individual":
        del found["average"]
    return found


# ---------------------------------------------------------------------------- what is asked for


def _is_sparse(X) -> bool:
    from scipy.sparse import issparse

    return issparse(X)


def _check_model(estimator, response_method) -> None:
    check_is_fitted(estimator)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError("'estimator' must be a fitted regressor or classifier.")
    if is_classifier(estimator) and isinstance(estimator.classes_[0], np.ndarray):
        raise ValueError("Multiclass-multioutput estimators are not supported")
    if is_regressor(estimator) and response_method != "auto":
        raise ValueError(
            "The response_method parameter is ignored for regressors and must be 'auto'."
        )


def _recurses(estimator) -> bool:
    names = {cls.__name__ for cls in type(estimator).__mro__}
    ours = type(estimator).__module__.startswith("fastml.")
    if ours and getattr(estimator, "is_categorical_", None) is not None:
        return False  # a grid of categories is no grid of bins
    return bool(names & set(BY_RECURSION)) and hasattr(
        estimator, "_compute_partial_dependence_recursion"
    )


def _method(estimator, method, kind, sample_weight, response_method) -> str:
    """ "recursion" or "brute", or an error where the recursion cannot do it."""
    if kind != "average":
        if method == "recursion":
            raise ValueError("The 'recursion' method only applies when 'kind' is set to 'average'")
        return "brute"
    if method == "recursion" and sample_weight is not None:
        raise ValueError("The 'recursion' method can only be applied when sample_weight is None.")
    if method == "auto":
        starts = getattr(estimator, "init", None) is None
        method = "recursion" if sample_weight is None and starts else "brute"
        if not _recurses(estimator):
            method = "brute"
    if method == "recursion":
        if not _recurses(estimator):
            raise ValueError(
                f"Only the following estimators support the 'recursion' method: {TOLD}. Try using "
                "method='brute'."
            )
        if response_method not in ("auto", "decision_function"):
            raise ValueError(
                "With the 'recursion' method, the response_method must be 'decision_function'. Got "
                f"{response_method}."
            )
    return method


def _check_not_negative(features, n_features) -> None:
    listed = np.asarray(features)
    if listed.dtype.kind in "iu" and (listed < 0).any():
        raise ValueError(f"all features must be in [0, {n_features - 1}]")


def _names(X, feature_names) -> list:
    if feature_names is None:
        columns = getattr(X, "columns", None)
        return [f"x{i}" for i in range(X.shape[1])] if columns is None else list(columns)
    names = feature_names.tolist() if hasattr(feature_names, "tolist") else list(feature_names)
    if len(set(names)) != len(names):
        raise ValueError("feature_names should not contain duplicates.")
    return names


def _categorical(told, columns, names, n_features) -> list[bool]:
    """Whether each of the columns is categorical."""
    if told is None:
        return [False] * len(columns)
    told = np.asarray(told)
    if told.size == 0:
        raise ValueError(
            "Passing an empty list (`[]`) to `categorical_features` is not supported. Use `None` "
            "instead to indicate that there are no categorical features."
        )
    if told.dtype.kind == "b":
        if told.size != n_features:
            raise ValueError(
                "When `categorical_features` is a boolean array-like, the array should be of shape "
                f"(n_features,). Got {told.size} elements while `X` contains {n_features} features."
            )
        return [bool(told[c]) for c in columns]
    if told.dtype.kind not in "iOU":
        raise ValueError(
            "Expected `categorical_features` to be an array-like of boolean, integer, or string. "
            f"Got {told.dtype} instead."
        )
    places = set()
    for one in told:
        if isinstance(one, str):
            if one not in names:
                raise ValueError(f"Feature {one!r} not in feature_names")
            one = names.index(one)
        places.add(int(one))
    return [int(c) in places for c in columns]


def _refuse_whole_numbers(X, columns, features, categorical) -> None:
    for column, name, is_categorical in zip(columns, features, categorical):
        kind = getattr(safe_indexing(X, column, axis=1).dtype, "kind", "")  # polars has none
        if not is_categorical and kind in "iu" and kind:
            raise ValueError(
                f"The column {name!r} contains integer data. Partial dependence plots are not "
                "supported for integer data: this can lead to implicit rounding with NumPy arrays "
                "or even errors with newer pandas versions. Please convert numerical features to "
                "floating point dtypes ahead of time to avoid problems."
            )


# ---------------------------------------------------------------------------- the grid


def _grid(X, percentiles, categorical, resolution, custom) -> tuple[NDArray, list[NDArray]]:
    """All combinations of the columns' values, and those values."""
    from sklearn.utils.extmath import cartesian

    if len(percentiles) != 2:
        raise ValueError("'percentiles' must be a sequence of 2 elements.")
    if not all(0 <= x <= 1 for x in percentiles):
        raise ValueError("'percentiles' values must be in [0, 1].")
    if percentiles[0] >= percentiles[1]:
        raise ValueError("percentiles[0] must be strictly less than percentiles[1].")
    if resolution <= 1:
        raise ValueError("'grid_resolution' must be strictly greater than 1.")
    own = {
        i: np.asarray(v, dtype=object if any(isinstance(x, str) for x in v) else None)
        for i, v in custom.items()
    }
    wrong = [f"Feature {i}: {v.ndim} dimensions" for i, v in own.items() if v.ndim != 1]
    if wrong:
        raise ValueError(
            "The custom grid for some features is not a one-dimensional array. " + ", ".join(wrong)
        )
    values = [
        own[i] if i in own else _axis(X, i, percentiles, is_categorical, resolution)
        for i, is_categorical in enumerate(categorical)
    ]
    return cartesian(values), values


def _axis(X, i, percentiles, is_categorical, resolution) -> NDArray:
    """Values of one column: all of them if they are few, else even steps between quantiles."""
    from scipy.stats.mstats import mquantiles

    column = safe_indexing(X, i, axis=1)
    try:
        different = np.unique(column)
    except TypeError as mixed:
        raise ValueError(
            f"The column #{i} contains mixed data types. Finding unique categories fail due to "
            "sorting. It usually means that the column contains `np.nan` values together with "
            "`str` categories. Such use case is not yet supported in scikit-learn."
        ) from mixed
    if is_categorical or different.shape[0] < resolution:
        return different
    low, high = mquantiles(column, prob=percentiles, axis=0)
    if np.allclose(low, high):
        raise ValueError(
            "percentiles are too close to each other, unable to build the grid. Please choose "
            "percentiles that are further apart."
        )
    return np.linspace(low, high, num=resolution, endpoint=True)


# ---------------------------------------------------------------------------- answers


def _answers(estimator, X, columns, grid, response_method) -> Iterator[NDArray]:
    """The model's answers for the rows, for every point of the grid in turn."""
    from fastml._sklearn import get_response_values

    asked = response_method
    if response_method == "auto":
        asked = "predict" if is_regressor(estimator) else ["predict_proba", "decision_function"]
    follows = knows_its_trees(estimator) and grid.dtype.kind in "fiu" and not _is_sparse(X)
    if follows and rarely_moves(estimator, X, columns, grid[len(grid) // 2]):
        for model in _models(estimator, X, columns, grid):
            yield get_response_values(model, X, response_method=asked)[0]
        return
    changed = X.copy() if hasattr(X, "copy") else X.clone()
    for point in grid:
        for value, column in zip(point, columns):
            changed = _with_constant(changed, int(column), value)
        yield get_response_values(estimator, changed, response_method=asked)[0]


def _with_constant(X, column: int, value):
    """Rows with one value in a column; in place but for polars, whose frames do not change."""
    from fastml._sklearn import safe_assign

    if hasattr(X, "with_columns"):
        name = X.columns[column]
        return X.with_columns(**{name: value}).cast({name: X.schema[name]})
    safe_assign(X, value, column_indexer=column)
    return X


def _models(estimator, X, columns, grid) -> Iterator:
    """A model that knows its answers for each point of the grid; points share a walk as far as
    memory goes."""
    from sklearn import get_config

    width = max(int(np.prod(np.shape(getattr(estimator, "n_classes_", 1)))), 1)
    width = max(width, int(np.max(getattr(estimator, "n_classes_", 1)))) * estimator.n_outputs_
    budget = get_config()["working_memory"] * 2**20
    at_once = max(1, int(budget // (8 * max(X.shape[0], 1) * width)))
    for first in range(0, len(grid), at_once):
        points = grid[first : first + at_once]
        other = np.zeros((len(points), X.shape[1]), np.float32)
        other[:, columns] = points
        source = np.repeat(np.arange(len(points))[:, None], X.shape[0], axis=1)
        for models in answering_models(estimator, X, other, source, [columns]):
            yield from models
