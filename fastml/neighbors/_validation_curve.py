"""Choose k: every k scored from one neighbour search per fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        The k with the best mean validation score, the smallest of several.
    best_score : float
        Its score.
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
    scoring : callable, default=None
        ``scoring(y_true, y_pred)``, the larger the better. None: accuracy or R².
    return_train_score : bool, default=False
        Whether to score the training rows too (a search more per fold).
    groups : array-like of shape (n_samples,), default=None
        Groups for the splitter.
    n_jobs : int, default=None
        Threads: None and -1 mean all cores.

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
    from sklearn.utils import check_X_y
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
    order = np.lexsort((ks, -means))
    return ValidationCurve(
        n_neighbors=ks,
        test_scores=test_scores,
        train_scores=np.column_stack(train) if train else None,
        best_n_neighbors=int(ks[order[0]]),
        best_score=float(means[order[0]]),
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
    return [
        float(score(y_true, fitted._predict_from(*fitted._weigh(*neighbours, int(k))))) for k in ks
    ]


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
