"""Scorers by scikit-learn's names, with the metrics of this package inside.

They are scikit-learn's scorer objects, so `GridSearchCV` and `cross_validate` take them, and
several of them share one prediction.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

from fastml._sklearn import HasMethods, StrOptions
from fastml.metrics import cluster
from fastml.metrics._checks import checked
from fastml.metrics._classification._agreement import (
    accuracy_score,
    balanced_accuracy_score,
    class_likelihood_ratios,
    matthews_corrcoef,
)
from fastml.metrics._classification._precision_recall import (
    f1_score,
    jaccard_score,
    precision_score,
    recall_score,
)
from fastml.metrics._classification._probabilities import (
    brier_score_loss,
    d2_brier_score,
    d2_log_loss_score,
    log_loss,
)
from fastml.metrics._ranking._areas import average_precision_score, roc_auc_score
from fastml.metrics._ranking._rows import top_k_accuracy_score
from fastml.metrics._regression._deviance import mean_gamma_deviance, mean_poisson_deviance
from fastml.metrics._regression._errors import (
    max_error,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_log_error,
    median_absolute_error,
    root_mean_squared_error,
    root_mean_squared_log_error,
)
from fastml.metrics._regression._explained import (
    d2_absolute_error_score,
    explained_variance_score,
    r2_score,
)

_EITHER = ("decision_function", "predict_proba")


def positive_likelihood_ratio(y_true, y_pred):
    return class_likelihood_ratios(y_true, y_pred, replace_undefined_by=1.0)[0]


def negative_likelihood_ratio(y_true, y_pred):
    return class_likelihood_ratios(y_true, y_pred, replace_undefined_by=1.0)[1]


@checked(
    score_func=[callable],
    response_method=[
        list,
        tuple,
        StrOptions({"predict", "predict_proba", "decision_function"}),
    ],
    greater_is_better=["boolean"],
)
def make_scorer(score_func, *, response_method="predict", greater_is_better=True, **kwargs):
    """Make a scorer, ``scorer(estimator, X, y)``, from a metric.

    Parameters
    ----------
    score_func : callable
        ``score_func(y_true, y_pred, **kwargs)``.
    response_method : {'predict', 'predict_proba', 'decision_function'} or list/tuple of such, \
            default='predict'
        The method of the estimator that gives y_pred; of several, the first that it has.
    greater_is_better : bool, default=True
        Whether to maximise the metric; else the scorer changes its sign.
    **kwargs : dict
        Further parameters of the metric.

    Returns
    -------
    scorer : callable

    Examples
    --------
    >>> from fastml.metrics import fbeta_score, make_scorer
    >>> make_scorer(fbeta_score, beta=2)
    make_scorer(fbeta_score, response_method='predict', beta=2)
    """
    from fastml._sklearn import MetricScorer

    return MetricScorer(score_func, 1 if greater_is_better else -1, kwargs, response_method)


def _gains() -> dict[str, tuple]:
    """Name → metric and how it is called."""
    clusterings = ("adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score",
                   "fowlkes_mallows_score", "homogeneity_score", "mutual_info_score",
                   "normalized_mutual_info_score", "rand_score", "v_measure_score")  # fmt: skip
    probabilities = {"response_method": "predict_proba"}
    found: dict[str, tuple] = {
        "accuracy": (accuracy_score, {}),
        "average_precision": (average_precision_score, {"response_method": _EITHER}),
        "balanced_accuracy": (balanced_accuracy_score, {}),
        "d2_absolute_error_score": (d2_absolute_error_score, {}),
        "d2_brier_score": (d2_brier_score, probabilities),
        "d2_log_loss_score": (d2_log_loss_score, probabilities),
        "explained_variance": (explained_variance_score, {}),
        "matthews_corrcoef": (matthews_corrcoef, {}),
        "positive_likelihood_ratio": (positive_likelihood_ratio, {}),
        "r2": (r2_score, {}),
        "roc_auc": (roc_auc_score, {"response_method": _EITHER}),
        "top_k_accuracy": (top_k_accuracy_score, {"response_method": _EITHER}),
        **{name: (getattr(cluster, name), {}) for name in clusterings},
    }
    for way in ("ovo", "ovr"):
        of_pairs = {**probabilities, "multi_class": way}
        found[f"roc_auc_{way}"] = roc_auc_score, of_pairs
        found[f"roc_auc_{way}_weighted"] = roc_auc_score, {**of_pairs, "average": "weighted"}
    of_labels = {"f1": f1_score, "jaccard": jaccard_score, "precision": precision_score,
                 "recall": recall_score}  # fmt: skip
    for name, metric in of_labels.items():
        found[name] = metric, {"average": "binary"}
        for average in ("macro", "micro", "samples", "weighted"):
            found[f"{name}_{average}"] = metric, {"pos_label": None, "average": average}
    return found


def _losses() -> dict[str, tuple]:
    """Name behind "neg_" → metric and how it is called."""
    plain: tuple[Callable, ...] = (
        max_error, mean_absolute_error, mean_absolute_percentage_error, mean_gamma_deviance,
        mean_poisson_deviance, mean_squared_error, mean_squared_log_error, median_absolute_error,
        negative_likelihood_ratio, root_mean_squared_error, root_mean_squared_log_error,
    )  # fmt: skip
    probabilities = {"response_method": "predict_proba"}
    return {
        **{metric.__name__: (metric, {}) for metric in plain},
        "brier_score": (brier_score_loss, probabilities),
        "log_loss": (log_loss, probabilities),
    }


@cache
def _scorers() -> dict:
    found = {name: make_scorer(metric, **how) for name, (metric, how) in _gains().items()}
    for name, (metric, how) in _losses().items():
        found[f"neg_{name}"] = make_scorer(metric, greater_is_better=False, **how)
    return found


def get_scorer_names():
    """Names that `get_scorer` knows, sorted.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from fastml.metrics import get_scorer_names
    >>> "roc_auc" in get_scorer_names()
    True
    """
    return sorted(_scorers())


@checked(scoring=[str, callable, None])
def get_scorer(scoring):
    """The scorer of a name; a callable is returned as it is.

    Parameters
    ----------
    scoring : str, callable or None
        A name of `get_scorer_names`.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)``: greater is better.

    Examples
    --------
    >>> from fastml.metrics import get_scorer
    >>> get_scorer("neg_log_loss")
    make_scorer(log_loss, greater_is_better=False, response_method='predict_proba')
    """
    if not isinstance(scoring, str):
        return scoring
    if scoring not in _scorers():
        raise ValueError(
            f"{scoring!r} is not a valid scoring value. Use sklearn.metrics.get_scorer_names() to "
            "get valid options."
        )
    return copy.deepcopy(_scorers()[scoring])


def _looks_like_a_metric(scoring) -> bool:
    """Whether a callable comes from a module of metrics, of scikit-learn or of this package."""
    module = getattr(scoring, "__module__", None)
    if not isinstance(module, str):
        return False
    package, _, below = module.partition(".metrics.")
    return (
        package in ("sklearn", "fastml")
        and bool(below)
        and not below.startswith(("_scorer", "tests."))
    )


def _check_several(estimator, scoring) -> dict:
    """Name → scorer of a list of names, or of a dict of scorers."""
    if isinstance(scoring, dict):
        if not all(isinstance(key, str) for key in scoring):
            raise ValueError(
                f"Non-string types were found in the keys of the given dict. scoring={scoring!r}"
            )
        if not scoring:
            raise ValueError(f"An empty dict was passed. {scoring!r}")
        return {key: check_scoring(estimator, scoring=each) for key, each in scoring.items()}
    message = "The list/tuple elements must be unique strings of predefined scorers. "
    try:
        names = set(scoring)
    except TypeError as error:
        raise ValueError(message) from error
    if len(names) != len(scoring):
        raise ValueError(f"{message} Duplicate elements were found in the given list. {scoring!r}")
    if not names:
        raise ValueError(f"{message} Empty list was given. {scoring!r}")
    if not all(isinstance(name, str) for name in names):
        if any(callable(name) for name in names):
            raise ValueError(
                f"{message} One or more of the elements were callables. Use a dict of score name "
                f"mapped to the scorer callable. Got {scoring!r}"
            )
        raise ValueError(
            f"{message} Non-string types were found in the given list. Got {scoring!r}"
        )
    return {name: check_scoring(estimator, scoring=name) for name in scoring}


@checked(
    estimator=[HasMethods("fit"), None],
    scoring=[str, callable, list, set, tuple, dict, None],
    allow_none=["boolean"],
    raise_exc=["boolean"],
)
def check_scoring(estimator=None, scoring=None, *, allow_none=False, raise_exc=True):
    """The scorer that ``scoring`` stands for, with the metrics of this package inside.

    Parameters
    ----------
    estimator : estimator object, default=None
        Its own ``score`` is taken where there is no ``scoring``.
    scoring : str, callable, list, tuple, set, dict or None, default=None
        A name, a scorer, or several: these give a scorer that returns a dict and shares
        predictions.
    allow_none : bool, default=False
        Whether to return None for an estimator without ``score``, not to raise.
    raise_exc : bool, default=True
        Of several scorers: whether an error is raised, not returned as text.

    Returns
    -------
    scorer : callable or None

    Examples
    --------
    >>> from fastml.metrics import check_scoring
    >>> check_scoring(scoring=["accuracy", "roc_auc"])
    MultiMetricScorer("accuracy", "roc_auc")
    """
    from fastml._sklearn import MultimetricScorer, PassthroughScorer

    if isinstance(scoring, str):
        if scoring not in _scorers():
            options = StrOptions(set(_scorers()))
            _refuse_scoring(options, scoring)
        return get_scorer(scoring)
    if callable(scoring):
        if _looks_like_a_metric(scoring):
            raise ValueError(
                f"scoring value {scoring!r} looks like it is a metric function rather than a "
                "scorer. A scorer should require an estimator as its first parameter. Please use "
                "`make_scorer` to convert a metric to a scorer."
            )
        return scoring
    if scoring is not None:
        scorers = _check_several(estimator, scoring)
        return MultimetricScorer(scorers=scorers, raise_exc=raise_exc)
    if hasattr(estimator, "score"):
        return PassthroughScorer(estimator)
    if allow_none:
        return None
    raise TypeError(
        "If no scoring is specified, the estimator passed should have a 'score' method. The "
        f"estimator {estimator!r} does not."
    )


def _refuse_scoring(options, scoring: str) -> None:
    from fastml._sklearn import validate_parameter_constraints

    allowed = [options, callable, list, set, tuple, dict, None]
    validate_parameter_constraints(
        {"scoring": allowed}, {"scoring": scoring}, caller_name="check_scoring"
    )
