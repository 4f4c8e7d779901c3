"""Least squares on classes: targets of −1 and 1, with a penalty on the squared weights."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fastml._docs import documented
from fastml._engines.labels import classes_and_codes
from fastml._sklearn import Interval, StrOptions, fit_context, raise_for_params, routing_enabled
from fastml._validation import FLOATS, check_weights, validate_data
from fastml.linear_model._linear_classifier import LinearClassifier, classes_of
from fastml.linear_model._ridge import SOLVERS, Ridge
from fastml.linear_model._ridge_cv import RidgeCV

ENTRIES = {
    "class_weight": """
        class_weight : dict or 'balanced', default=None
            Weights of classes, which multiply those of rows.
    """,
    "fitted": """
        coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
            The weights W; one axis for two classes, as in scikit-learn.
        intercept_ : ndarray of shape (1,) or (n_classes,)
            The constants; 0.0 without them.
        classes_ : ndarray of shape (n_classes,)
            Labels of the classes.
        n_features_in_ : int
            Number of features seen during fit.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            If X has string column names.
    """,
}


class RidgeClassifierBase(LinearClassifier):
    """Targets of ±1 from classes or sets of labels, and predictions of either."""

    def _read(self, X, y, sample_weight):
        """(X, y, weights, targets (rows, 1 or classes)); sets ``classes_``."""
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=FLOATS, multi_output=True
        )
        kind = type_of_target(y, input_name="y")
        self._multilabel = kind.startswith("multilabel")
        if self._multilabel:
            y = y.toarray() if sp.issparse(y) else np.asarray(y)
            self.classes_ = np.arange(y.shape[1])
            targets = np.where(y > 0, 1.0, -1.0)
        elif "multioutput" in kind:
            raise ValueError(
                "Multioutput target data is not supported with label binarization: y must be "
                "classes, or 0 and 1 for each of several labels"
            )
        else:
            y = column_or_1d(y, warn=True)
            self.classes_, codes = classes_and_codes(y)
            if len(self.classes_) <= 2:
                targets = np.where(codes == 1, 1.0, -1.0)[:, None]
            else:
                targets = np.full((len(y), len(self.classes_)), -1.0)
                targets[np.arange(len(y)), codes] = 1.0
        weights = None
        if sample_weight is not None:
            if isinstance(sample_weight, Real):
                sample_weight = np.full(X.shape[0], float(sample_weight))
            weights = check_weights(sample_weight, X, dtype=np.float64)
        if self.class_weight:
            of_classes = compute_sample_weight(self.class_weight, y)
            weights = of_classes if weights is None else weights * of_classes
        return X, y, weights, targets

    def _take(self, model) -> None:
        """Weights of a regression on the targets."""
        self.coef_ = model.coef_
        self.intercept_ = np.atleast_1d(model.intercept_) if self.fit_intercept else 0.0

    def predict(self, X):
        """Classes, or 0 and 1 for each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        check_is_fitted(self)
        if self._multilabel:
            scores = self.decision_function(X)
            return (scores.reshape(len(scores), -1) > 0.0).astype(np.int64)
        return super().predict(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags


@documented(ENTRIES)
class RidgeClassifier(RidgeClassifierBase):
    """Ridge regression on targets of −1 and 1; the class is that of the largest score.

    Two classes: w minimises Σ u_i (t_i − w₀ − w · x_i)² + alpha \\|w\\|² with t_i = ±1; several:
    one target each, 1 for its own rows. ``alpha=0`` is least-squares classification, which for two
    classes of equal size has the direction of the linear discriminant.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty.
    fit_intercept : bool, default=True
        Whether there are constants.
    copy_X : bool, default=True
        For scikit-learn's sake: X is never written to.
    max_iter : int, default=None
        Most iterations of 'lsqr' and 'sparse_cg'.
    tol : float, default=1e-4
        Accuracy of these two.
    {class_weight}
    solver : {'auto', 'svd', 'cholesky', 'lsqr', 'sparse_cg', 'sag', 'saga', 'lbfgs'}, \
default='auto'
        As in `Ridge`.
    positive : bool, default=False
        Whether weights must be at least 0.
    random_state : int, RandomState instance or None, default=None
        For scikit-learn's sake: nothing is drawn.

    Attributes
    ----------
    {fitted}
    n_iter_ : None or ndarray of shape (n_targets,)
        Iterations of 'lsqr', and 1 for 'sag' and 'saga'.
    solver_ : str
        The solver in scikit-learn's words.

    Examples
    --------
    >>> from fastml.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: dict = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "solver": [StrOptions(set(SOLVERS))],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        class_weight=None,
        solver="auto",
        positive=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes, or 0 and 1 for each label.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights u_i of the squared errors.

        Returns
        -------
        self : object
        """
        X, y, weights, targets = self._read(X, y, sample_weight)
        model = Ridge(
            alpha=self.alpha, fit_intercept=self.fit_intercept, max_iter=self.max_iter,
            tol=self.tol, solver=self.solver, positive=self.positive,
        ).fit(X, targets, weights)  # fmt: skip
        self._take(model)
        self.n_iter_, self.solver_ = model.n_iter_, model.solver_
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd" and (
            self.solver != "cholesky" or not self.fit_intercept
        )
        return tags


@documented(ENTRIES)
class RidgeClassifierCV(RidgeClassifierBase):
    """`RidgeClassifier` with a penalty chosen by leaving rows out.

    By default one at a time, exactly and for all penalties from one decomposition, by the squared
    errors of the targets −1 and 1, as `RidgeCV` does; or by ``scoring`` of the classes that these
    predictions give.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
        Penalties to choose from.
    fit_intercept : bool, default=True
        Whether there are constants.
    scoring : str or callable, default=None
        A score of classes, higher for better; None is the negative mean squared error of the
        targets, or the share of right classes with ``cv``.
    cv : int, cross-validation generator or iterable, default=None
        None leaves rows out one at a time; anything else is a grid search.
    {class_weight}
    store_cv_results : bool, default=False
        Whether to keep ``cv_results_``.

    Attributes
    ----------
    {fitted}
    alpha_ : float
        The penalty chosen.
    best_score_ : float
        Its score.
    cv_results_ : ndarray of shape (n_samples, n_targets, n_alphas)
        Squared leave-one-out errors, or predictions if there is a ``scoring``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import RidgeClassifierCV
    >>> X = np.arange(8.0)[:, None]
    >>> RidgeClassifierCV(alphas=[0.1, 1000.0]).fit(X, X[:, 0] > 3).alpha_
    0.1
    """

    _parameter_constraints: dict = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "store_cv_results": ["boolean"],
    }

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        class_weight=None,
        store_cv_results=False,
    ):
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes, or 0 and 1 for each label.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights u_i of the squared errors.
        **params : dict, default=None
            What metadata routing hands to the scorer or splitter.

        Returns
        -------
        self : object
        """
        raise_for_params(params, self, "fit")
        X, y, weights, targets = self._read(X, y, sample_weight)
        choice = self._choice()
        choice.labels, choice.classes = y, self.classes_
        found = choice.fit(X, targets if self.cv is None else y, sample_weight=weights, **params)
        self._take(found)
        self.alpha_, self.best_score_ = found.alpha_, found.best_score_
        if hasattr(found, "cv_results_"):
            self.cv_results_ = found.cv_results_
        elif hasattr(self, "cv_results_"):
            del self.cv_results_
        return self

    def _choice(self) -> TargetRidgeCV:
        return TargetRidgeCV(
            alphas=self.alphas, fit_intercept=self.fit_intercept, scoring=self.scoring, cv=self.cv,
            store_cv_results=self.store_cv_results,
        )  # fmt: skip

    def get_metadata_routing(self):
        """What the scorer and the splitter ask for.

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                scorer=self._choice()._get_scorer(),
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )


class TargetRidgeCV(RidgeCV):
    """`RidgeCV` on targets of ±1, whose scores are of classes."""

    labels = classes = None

    def _scores(self, predictions, y, scorer, score_params):
        judge = ClassScores(self.classes)
        judge.multilabel = np.ndim(self.labels) == 2
        single = predictions.shape[1] == 1
        rows = [predictions[:, 0, a] if single else predictions[:, :, a]
                for a in range(predictions.shape[2])]  # fmt: skip
        return np.array([[scorer(judge, each, self.labels, **score_params) for each in rows]])

    def _model(self):
        return RidgeClassifier(fit_intercept=self.fit_intercept)

    def _get_scorer(self):
        from sklearn.metrics import check_scoring, get_scorer

        if routing_enabled() and self.scoring is None:
            return get_scorer("accuracy").set_score_request(sample_weight=True)
        return check_scoring(estimator=ClassScores(None), scoring=self.scoring, allow_none=True)


class ClassScores(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are its scores already: what scorers are handed."""

    multilabel = False

    def __init__(self, classes=None):
        self.classes = classes
        self.classes_ = classes

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return X

    def predict(self, X):
        if self.multilabel:
            return (X.reshape(len(X), -1) > 0.0).astype(np.int64)
        return classes_of(X, self.classes_)
