"""Shapley values: exact for trees and linear models, by sampling for anything else."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._engines.trees.paths import (
    PlainTree,
    find_paths,
    interactions_of_paths,
    plain_tree,
    shapley_of_paths,
)
from fastml._sklearn import HasMethods, Interval, StrOptions, validate_params
from fastml.inspection._explanation import Explanation

CELLS_AT_ONCE = 1 << 22
"""Values of rows that a sampled model is asked about in one call."""


@validate_params(
    {
        "model": [HasMethods(["predict"]), callable],
        "X": ["array-like"],
        "background": ["array-like", None],
        "method": [StrOptions({"auto", "tree", "linear", "sampling"})],
        "interactions": ["boolean"],
        "feature_names": ["array-like", None],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def shapley_values(
    model,
    X,
    *,
    background=None,
    method="auto",
    interactions=False,
    feature_names=None,
    n_permutations=10,
    random_state=None,
    n_jobs=None,
):
    """What each column adds to a model's answer for each row.

    .. math:: \\phi_j = \\sum_{S \\subseteq U \\setminus j} \\frac{|S|! \\, (d - |S| - 1)!}{d!}
              \\left( v(S \\cup j) - v(S) \\right)

    where v(S) is the model's mean answer with the columns S of the row. Base and values add up to
    the answer, in float64.

    Trees (fastml's and scikit-learn's ``DecisionTree*``, ``ExtraTree*``, ``RandomForest*``,
    ``ExtraTrees*``, ``GradientBoosting*``; fastml's ``HistGradientBoosting*``; models of LightGBM,
    XGBoost and CatBoost after `fastml.convert`): exact. Without a background the other columns go
    both ways at a split, by the training rows ("path-dependent"); with one they are those of its
    rows ("interventional"). Explained are probabilities of trees and forests, and decisions of
    boosting. Linear models: exact, of ``decision_function`` or ``predict``. Anything else: random
    orders of the columns, each also backwards.

    Parameters
    ----------
    model : fitted estimator, or callable
        A callable takes rows and returns an answer, or several, for each.
    X : array-like of shape (n_samples, n_features)
        Rows to explain.
    background : array-like of shape (n_background, n_features), default=None
        Rows that columns outside a coalition are taken from. None: X itself, but for trees.
    method : {"auto", "tree", "linear", "sampling"}, default="auto"
        "auto": as the model is.
    interactions : bool, default=False
        Values of pairs of columns, half on each side of the diagonal, which has what a column adds
        alone; of trees, without a background.
    feature_names : array-like of str, default=None
        Names of the columns; by default those of a dataframe.
    n_permutations : int, default=10
        Orders of the columns, for sampling.
    random_state : int, RandomState instance or None, default=None
        Of these orders.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    explanation : Explanation
        ``values`` of shape (n_samples, n_features), with a last axis where there are several
        outputs; ``base_values``, ``data``, ``feature_names``.

    References
    ----------
    S. M. Lundberg et al., "From local explanations to global understanding with explainable AI for
    trees", Nature Machine Intelligence 2 (2020).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.inspection import shapley_values
    >>> from fastml.tree import DecisionTreeRegressor
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> tree = DecisionTreeRegressor().fit(X, [0.0, 1.0, 2.0, 3.0])
    >>> e = shapley_values(tree, X[:1])
    >>> e.values
    array([[-1. , -0.5]])
    >>> float(e.base_values[0])
    1.5
    """
    if method == "auto":
        method = _method_of(model)
    if not callable(model):
        check_is_fitted(model)
    names = _names(model, X, feature_names)
    outputs = None
    if method == "tree":
        values, base, rows = _of_trees(model, X, background, interactions, n_jobs)
        outputs = getattr(model, "classes_", None)
    elif interactions:
        raise ValueError("interactions are of trees")
    elif method == "linear":
        values, base, rows = _of_line(model, X, background)
        outputs = getattr(model, "classes_", None)
    else:
        random = check_random_state(random_state)
        values, base, rows = _by_sampling(model, X, background, n_permutations, random)
    base = np.broadcast_to(base, (len(rows), len(base))).copy()
    if values.shape[-1] == 1:
        values, base, outputs = values[..., 0], base[:, 0], None
    outputs = None if outputs is None or len(outputs) != values.shape[-1] else list(outputs)
    return Explanation(values, base, rows, names, outputs)


def _names(model, X, feature_names) -> list | None:
    if feature_names is not None:
        return list(feature_names)
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def _method_of(model) -> str:
    if hasattr(model, "_trees_for_inspection") or hasattr(model, "tree_"):
        return "tree"
    members = getattr(model, "estimators_", None)
    if members is not None and len(members) and hasattr(model, "feature_importances_"):
        first = np.ravel(np.asarray(members, dtype=object))[0]
        if hasattr(first, "tree_") and not hasattr(model, "estimator_weights_"):
            return "tree"
    return "linear" if hasattr(model, "coef_") and hasattr(model, "intercept_") else "sampling"


# ---------------------------------------------------------------------------- trees


def _of_trees(model, X, background, interactions, n_jobs):
    rows, seen = _rows(model, X)
    n_features = rows.shape[1]
    back = None if background is None else _rows(model, background)[0]
    if back is not None and interactions:
        raise ValueError("interactions are those of the training rows: leave the background out")
    trees, start = _trees_of(model)
    if back is None and not all(tree.cover[0] > 0 for tree in trees):
        raise ValueError(
            "the model does not say how many training rows reached its nodes: give a background"
        )
    paths = find_paths(trees)
    base = start + paths.expected
    if back is not None:
        base = start + _mean_answer(model, background, start)
    if interactions:
        return interactions_of_paths(paths, rows, n_features, n_jobs), base, seen
    return shapley_of_paths(paths, rows, n_features, back, n_jobs), base, seen


def _rows(model, X) -> tuple[NDArray, NDArray]:
    """Rows as the trees read them, and as they were given."""
    from sklearn.utils.validation import validate_data

    if hasattr(model, "_trees_for_inspection"):
        bins = model._trees_for_inspection(X)[0]
        return bins, np.asarray(X)
    seen = validate_data(model, X, reset=False, ensure_all_finite="allow-nan", dtype=None)
    return seen.astype(np.float32), seen


def _trees_of(model) -> tuple[list[PlainTree], NDArray]:
    """(trees whose sum is the answer, what is added to it)."""
    if hasattr(model, "_trees_for_inspection"):
        _, trees, start = model._trees_for_inspection(None)
        return trees, start
    if hasattr(model, "tree_"):
        tree = plain_tree(model.tree_)
        return [tree], np.zeros(tree.values.shape[1])
    members = np.asarray(model.estimators_, dtype=object)
    if members.ndim == 1:
        trees = [plain_tree(member.tree_, 1.0 / len(members)) for member in members]
        return trees, np.zeros(trees[0].values.shape[1])
    if getattr(model, "init", None) not in (None, "zero"):
        raise ValueError("boosting that begins from another model has no fixed start")
    n_outputs = members.shape[1]
    trees = [
        plain_tree(member.tree_, model.learning_rate, k, n_outputs)
        for stage in members
        for k, member in enumerate(stage)
    ]
    zero = np.zeros((1, model.n_features_in_))
    sums = np.zeros(n_outputs)
    for stage in members:
        for k, member in enumerate(stage):
            sums[k] += model.learning_rate * member.tree_.predict(zero.astype(np.float32)).item()
    start = np.reshape(_answer(model)(zero), -1) - sums
    return trees, start


def _answer(model) -> Callable:
    """What the trees' sum is: a decision or a probability, or a number."""
    if hasattr(model, "_trees_for_inspection"):
        return getattr(model, "raw_predict", None) or model._raw_predict
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return getattr(model, name)
    return model.predict


def _mean_answer(model, background, start) -> NDArray:
    answers = np.asarray(_answer(model)(background), dtype=np.float64)
    return answers.reshape(len(answers), -1).mean(axis=0) - start


# ---------------------------------------------------------------------------- linear models


def _of_line(model, X, background):
    rows = check_array(X, dtype=np.float64)
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    means = (rows if background is None else check_array(background, dtype=np.float64)).mean(axis=0)
    if weights.shape[1] != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, the model has {weights.shape[1]}")
    base = weights @ means + np.atleast_1d(model.intercept_)
    return (rows - means)[:, :, None] * weights.T, base, rows


# ---------------------------------------------------------------------------- anything


def _by_sampling(model, X, background, n_permutations, random):
    rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    back = rows if background is None else background
    back = check_array(back, dtype=np.float64, ensure_all_finite="allow-nan")
    if back.shape[1] != rows.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} columns, the background has {back.shape[1]}")
    ask = model
    if not callable(model):
        ask = getattr(model, "predict_proba", model.predict)

    def answers(block) -> NDArray:
        found = np.asarray(ask(block), dtype=np.float64)
        return found.reshape(len(found), -1)

    base = answers(back).mean(axis=0)
    n, d = rows.shape
    values = np.zeros((n, d, len(base)))
    orders = [random.permutation(d) for _ in range(n_permutations)]
    orders = [order for one in orders for order in (one, one[::-1])]
    at_once = max(1, CELLS_AT_ONCE // (len(back) * d * (d + 1)))
    for order in orders:
        for first in range(0, n, at_once):
            here = rows[first : first + at_once]
            steps = np.broadcast_to(back, (len(here), d + 1, *back.shape)).copy()
            for k, j in enumerate(order):
                steps[:, k + 1 :, :, j] = here[:, None, None, j]
            found = answers(steps.reshape(-1, d)).reshape(len(here), d + 1, len(back), -1)
            gains = np.diff(found.mean(axis=2), axis=1)
            values[first : first + at_once, order] += gains / len(orders)
    return values, base, rows


@validate_params(
    {"model": [HasMethods(["predict"])], "X": ["array-like"]},
    prefer_skip_nested_validation=True,
)
def weight_importance(model, X):
    """Importance of columns by a linear model's weights, as if columns were normalised.

    .. math:: I_j = |w_j| \\, s_j

    with s_j the standard deviation of column j: the weight of the column divided by it. Of several
    outputs, the mean.

    Parameters
    ----------
    model : fitted linear model
        With ``coef_``.
    X : array-like of shape (n_samples, n_features)
        The rows it learned from.

    Returns
    -------
    importance : ndarray of shape (n_features,)

    Examples
    --------
    >>> from fastml.inspection import weight_importance
    >>> from fastml.linear_model import LinearRegression
    >>> X = [[0.0, 100.0], [1.0, 0.0], [2.0, 100.0], [3.0, 0.0]]
    >>> model = LinearRegression().fit(X, [100.0, 1.0, 102.0, 3.0])
    >>> weight_importance(model, X).round(3)
    array([ 1.118, 50.   ])
    """
    check_is_fitted(model)
    if not hasattr(model, "coef_"):
        raise ValueError(f"{type(model).__name__} has no coef_")
    X = check_array(X, dtype=np.float64, order="C")
    weights = np.atleast_2d(np.asarray(model.coef_))
    if weights.shape[1] != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, the model has {weights.shape[1]}")
    return np.abs(weights).mean(axis=0) * X.std(axis=0)
