"""Choose k: every k scored from one neighbour search per fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from fastml._validation import check_choice, check_X_y
from fastml.neighbors._classification import KNeighborsClassifier
from fastml.neighbors._regression import KNeighborsRegressor


@dataclass
class ValidationCurve:
    """Scores by k.

    Attributes
    ----------
    n_neighbors : ndarray of shape (n_ks,)
        The values of k.
    test_scores : ndarray of shape (n_ks, n_folds)
        Score on the validation rows; one column for leave-one-out.
    train_scores : ndarray of shape (n_ks, n_folds) or None
        Score on the training rows, each among its own neighbours.
    best_n_neighbors : int
        The k that the rule chooses.
    best_score : float
        Its mean validation score.
    """

    n_neighbors: NDArray
    test_scores: NDArray
    train_scores: NDArray | None
    best_n_neighbors: int
    best_score: float

    @property
    def mean_test_score(self) -> NDArray:
        return self.test_scores.mean(axis=1)

    @property
    def mean_train_score(self) -> NDArray | None:
        return None if self.train_scores is None else self.train_scores.mean(axis=1)


def knn_validation_curve(
    X,
    y,
    n_neighbors,
    *,
    cv=None,
    estimator=None,
    scoring=None,
    return_train_score=False,
    groups=None,
    n_jobs=None,
    rule="best",
):
    """Score k nearest neighbours for every k from one neighbour search per fold.

    The neighbours of the largest k contain those of all others, so a curve over thirty values of k
    costs little more than its last point.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Labels or targets.
    n_neighbors : array-like of int
        The values of k.
    cv : int, splitter, iterable or "loo", default=None
        Folds, as in scikit-learn (None: 5); "loo" is leave-one-out in one pass.
    estimator : KNeighborsClassifier or KNeighborsRegressor, default=None
        Carries weights, metric and so on; its ``n_neighbors`` is ignored. None means a
        classifier if y holds labels, else a regressor.
    scoring : str or callable, default=None
        The larger the better: a name of ``sklearn.metrics.get_scorer_names()``, or
        ``scoring(y_true, y_pred)``. None: accuracy or R².
    return_train_score : bool, default=False
        Whether to score the training rows too (a search more per fold).
    groups : array-like of shape (n_samples,), default=None
        Groups for the splitter.
    n_jobs : int, default=None
        Threads: None and -1 mean all cores.
    rule : {"best", "meet"}, default="best"
        Which k is chosen. "best": the one with the best mean validation score, the smallest of
        several. "meet": where the curves of training and validation error meet. The training error
        rises with k from that of every point's own label; the smallest k is chosen at which it is
        at least the validation error, or the one where they are nearest if they do not meet. It
        scores the training rows.

    Returns
    -------
    curve : ValidationCurve
        Scores, and the k that they choose.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.neighbors import knn_validation_curve
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> curve = knn_validation_curve(X, [0, 0, 0, 1, 1, 1], [1, 2, 5], cv="loo")
    >>> curve.mean_test_score
    array([1., 1., 0.])
    >>> curve.best_n_neighbors
    1
    """
    from sklearn.base import clone, is_classifier
    from sklearn.utils.multiclass import type_of_target

    X, y = check_X_y(X, y, accept_sparse="csr", multi_output=True, y_numeric=False)
    if estimator is None:
        discrete = type_of_target(y) in ("binary", "multiclass")
        estimator = KNeighborsClassifier() if discrete else KNeighborsRegressor()
    elif not isinstance(estimator, KNeighborsClassifier | KNeighborsRegressor):
        raise TypeError(
            "estimator must be fastml's KNeighborsClassifier or KNeighborsRegressor, got "
            f"{type(estimator).__name__}"
        )
    ks = _check_ks(n_neighbors)
    model = clone(estimator).set_params(n_neighbors=int(ks.max()), n_jobs=n_jobs)
    check_choice("rule", rule, ["best", "meet"])
    return_train_score = return_train_score or rule == "meet"
    score = scoring if scoring is not None else _accuracy if is_classifier(model) else _r2
    need = int(ks.max()) + model._wants_next()
    test, train = [], []
    for fitted, rows, queries in _folds(model, X, y, cv, groups, need):
        test.append(_score_every_k(fitted, fitted.kneighbors(queries, need), y[rows], ks, score))
        if return_train_score:
            found = fitted.kneighbors(fitted._fit_X, need)
            train.append(_score_every_k(fitted, found, _targets(fitted), ks, score))
    test_scores = np.column_stack(test)
    means = test_scores.mean(axis=1)
    chosen = np.lexsort((ks, -means))[0]
    if rule == "meet":
        ascending = np.argsort(ks, kind="stable")
        ahead = (np.column_stack(train).mean(axis=1) - means)[ascending]
        met = np.flatnonzero(ahead <= 0.0)
        chosen = ascending[met[0] if met.size else ahead.argmin()]
    return ValidationCurve(
        n_neighbors=ks,
        test_scores=test_scores,
        train_scores=np.column_stack(train) if train else None,
        best_n_neighbors=int(ks[chosen]),
        best_score=float(means[chosen]),
    )


def _check_ks(n_neighbors) -> NDArray:
    ks = np.atleast_1d(np.asarray(n_neighbors))
    if ks.ndim != 1 or ks.size == 0 or not np.issubdtype(ks.dtype, np.integer):
        raise ValueError(f"n_neighbors must be a list of integers, got {n_neighbors!r}")
    if ks.min() < 1:
        raise ValueError(f"n_neighbors must be at least 1, got {ks.min()}")
    return ks.astype(np.intp)


def _folds(model, X, y, cv, groups, need):
    """(model fitted on the training rows, validation rows, queries) for every fold."""
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import check_cv

    if isinstance(cv, str):
        if cv != "loo":
            raise ValueError(f"cv must be an int, a splitter, an iterable or 'loo'; got {cv!r}")
        if need >= X.shape[0]:
            raise ValueError(f"n_neighbors must be below the number of samples, {X.shape[0]}")
        yield clone(model).fit(X, y), slice(None), None
        return
    for train, test in check_cv(cv, y, classifier=is_classifier(model)).split(X, y, groups):
        if need > train.size:
            raise ValueError(
                f"n_neighbors must not exceed the training rows of a fold: {need} > {train.size}"
            )
        yield clone(model).fit(X[train], y[train]), test, X[test]


def _targets(fitted):
    """y of the training rows, as given."""
    if hasattr(fitted, "classes_"):
        return fitted.classes_[fitted._y]
    return fitted._y


def _score_every_k(fitted, neighbours, y_true, ks, score) -> list[float]:
    found = []
    for k in ks:
        weighed = fitted._weigh(*neighbours, int(k))
        if isinstance(score, str):
            found.append(_score_by_name(score, fitted, weighed, y_true))
        else:
            found.append(float(score(y_true, fitted._predict_from(*weighed))))
    return found


def _score_by_name(name: str, fitted, weighed, y_true) -> float:
    """One of scikit-learn's scorers, which ask an estimator for predictions or probabilities."""
    from sklearn.base import ClassifierMixin, RegressorMixin
    from sklearn.metrics import get_scorer

    kind = ClassifierMixin if hasattr(fitted, "classes_") else RegressorMixin

    class Answers(kind, BaseEstimator):  # type: ignore[misc, valid-type]
        """Answers for the neighbours at hand, whatever the rows."""

        @property
        def classes_(self):
            return fitted.classes_

        def predict(self, X):
            return fitted._predict_from(*weighed)

        def predict_proba(self, X):
            return fitted._shares_from(*weighed)

    return float(get_scorer(name)(Answers(), np.empty((len(y_true), 1)), y_true))


def _accuracy(y_true, y_pred) -> float:
    equal = np.asarray(y_true) == y_pred
    return (equal.all(axis=1) if equal.ndim == 2 else equal).mean()


def _r2(y_true, y_pred) -> float:
    """Coefficient of determination, averaged over outputs."""
    y_true = np.asarray(y_true, dtype=np.float64)
    residual = ((y_true - y_pred) ** 2).sum(axis=0)
    total = ((y_true - y_true.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, residual / total, np.where(residual > 0, 1.0, 0.0))
    return float(np.mean(1.0 - share))
