"""Blending: members learn on one part of the rows, a last model on what they say of the other."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
    is_classifier,
    is_regressor,
)
from sklearn.utils import Bunch, check_consistent_length, check_random_state, column_or_1d, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fastml._docs import documented
from fastml._progress import CallbackSupport, ended, fit_steps, telling
from fastml._sklearn import (
    BaseComposition,
    HasMethods,
    Interval,
    RealNotInt,
    RoutingNotSupportedMixin,
    StrOptions,
    check_feature_names_in,
    fit_context,
    raise_for_unsupported_routing,
    safe_indexing,
)
from fastml._threads import effective_n_threads, single_threaded_blas, thread_limit
from fastml._validation import check_sample_weight, validate_data
from fastml.ensemble._forest._classifiers import RandomForestClassifier
from fastml.ensemble._forest._regressors import RandomForestRegressor
from fastml.ensemble._hist_gradient_boosting._estimators import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from fastml.ensemble._members import on_threads

METHODS = ("predict_proba", "decision_function", "predict")

BLENDING_ENTRIES = {
    "blending": """
estimators : list of (str, estimator), default=None
    The members and their names; ``'drop'`` leaves one out. None: a random forest and histogram
    boosting.
final_estimator : estimator, default=None
    The last model; None is scikit-learn's `$last`, as in its stacking.
holdout : int or float, default=0.2
    Rows (or their share) that the last model learns on$stratified.
stack_method : {'auto', $methods}, default='auto'
    What members are asked for; 'auto' takes the first of these that a member has.
passthrough : bool, default=False
    Whether the last model sees the columns of X, too.
refit : bool, default=False
    Whether the members are trained once more, on all rows, after the last model.
n_jobs : int, default=None
    Threads; None means all cores. With at least as many members as threads, members are trained
    side by side, otherwise in turn on all threads. The result does not depend on it.
random_state : int, RandomState instance or None, default=None
    Which rows are held out; members keep their own.
""",
    "blended": """
estimators_ : list
    The trained members.
named_estimators_ : Bunch
    The same by name.
final_estimator_ : estimator
    The last model.
holdout_ : ndarray
    Rows that the last model learned on.
stack_method_ : list of str
    What each member is asked for.
""",
}


class BaseBlending(
    CallbackSupport,
    TransformerMixin,
    MetaEstimatorMixin,
    RoutingNotSupportedMixin,
    BaseComposition,
    metaclass=ABCMeta,
):
    """Members of several kinds under one last model."""

    _parameter_constraints: dict = {
        "estimators": [list, None],
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "holdout": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "stack_method": [StrOptions({"auto", *METHODS})],
        "passthrough": ["boolean"],
        "refit": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimators=None,
        final_estimator=None,
        *,
        holdout=0.2,
        stack_method="auto",
        passthrough=False,
        refit=False,
        n_jobs=None,
        random_state=None,
    ):
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.holdout = holdout
        self.stack_method = stack_method
        self.passthrough = passthrough
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def get_params(self, deep=True):
        """Parameters, those of the members by their names.

        Parameters
        ----------
        deep : bool, default=True
            Whether the members and their parameters are included.

        Returns
        -------
        params : dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params):
        """Set parameters; members by their names, their parameters as ``name__parameter``.

        Parameters
        ----------
        **params : dict
            New values.

        Returns
        -------
        self : object
        """
        self._set_params("estimators", **params)
        return self

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Train the members, then the last model on the rows held out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Class labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for members and last model; each must take them.

        Returns
        -------
        self : object
        """
        raise_for_unsupported_routing(self, "fit", sample_weight=sample_weight)
        names, members = self._members()
        X = self._check_rows(X, reset=True)
        y = self._validate_y(column_or_1d(y, warn=True))
        check_consistent_length(X, y)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X, ensure_non_negative=True)
        last = self._default_last() if self.final_estimator is None else self.final_estimator
        generator = check_random_state(self.random_state)
        out = held_out_rows(y, self.holdout, generator, is_classifier(self))
        first = np.setdiff1d(np.arange(len(y)), out)
        asked = [_method_of(name, m, self.stack_method) for name, m in zip(names, members)]
        n_steps = len(members) * (2 if self.refit else 1) + 1
        with fit_steps(self, n_steps, X, y) as steps, telling(steps):
            trained = self._train(members, X, y, sample_weight, first)
            said = self._ask(trained, asked, safe_indexing(X, out))
            weights = None if sample_weight is None else sample_weight[out]
            step = steps.begin("last model")
            final = _trained(last, said, y[out], weights)
            step.end()
            if self.refit:
                trained = self._train(members, X, y, sample_weight, None)
        self.estimators_, self.final_estimator_ = trained, final
        self.named_estimators_ = Bunch(**dict(zip(names, trained)))
        self.stack_method_, self.holdout_ = asked, out
        return self

    def _members(self):
        """Names and members, checked."""
        given = self._default_members() if self.estimators is None else self.estimators
        if not given or not all(
            isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str)
            for item in given
        ):
            raise ValueError("estimators must be a list of (name, estimator) that is not empty")
        self._validate_names([name for name, _ in given])
        kept = [(name, member) for name, member in given if not isinstance(member, str)]
        dropped = [member for _, member in given if isinstance(member, str)]
        if any(member != "drop" for member in dropped):
            raise ValueError(f"members must be estimators or 'drop', got {dropped}")
        if not kept:
            raise ValueError("all members are dropped: at least one is needed")
        kind = is_classifier if is_classifier(self) else is_regressor
        for name, member in kept:
            if not kind(member):
                raise ValueError(f"the member {name!r} must be a {kind.__name__[3:]}")
        return zip(*kept)

    def _check_rows(self, X, reset):
        """Frames as they are, for members that choose columns by name; others as arrays."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        return validate_data(
            self, X, dtype=None, accept_sparse="csr", ensure_all_finite=False, reset=reset
        )

    def _train(self, members, X, y, weights, rows):
        """Members fitted to some rows, or to all."""
        if rows is not None:
            X, y = safe_indexing(X, rows), y[rows]
            weights = None if weights is None else weights[rows]
        tasks = [(member, X, y, weights) for member in members]
        n_threads = effective_n_threads(self.n_jobs)
        if n_threads <= len(tasks):
            return list(ended("member", on_threads(_trained, tasks, self.n_jobs)))
        with single_threaded_blas(), thread_limit(n_threads):
            return list(ended("member", (_trained(*task) for task in tasks)))

    def _validate_y(self, y):
        return y

    @abstractmethod
    def _default_members(self):
        """Members where none are given."""

    @abstractmethod
    def _default_last(self):
        """The last model where none is given."""

    # ------------------------------------------------------------------ prediction

    def _ask(self, members, methods, X):
        """What the members say, side by side: the columns of the last model."""
        parts = []
        with thread_limit(effective_n_threads(self.n_jobs)):
            for member, method in zip(members, methods):
                said = np.asarray(getattr(member, method)(X))
                if said.ndim == 1:
                    said = said[:, None]
                elif method == "predict_proba" and said.shape[1] == 2:
                    said = said[:, 1:]  # the other column is one less this
                parts.append(said)
        self._widths = [part.shape[1] for part in parts]
        if self.passthrough:
            if sp.issparse(X):
                return sp.hstack([*parts, X], format="csr")
            parts.append(np.asarray(X))
        return np.ascontiguousarray(np.hstack(parts))

    def transform(self, X):
        """What the last model sees of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        said : ndarray of shape (n_samples, n_outputs)
            What the members say, and with ``passthrough`` the columns of X.
        """
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        return self._ask(self.estimators_, self.stack_method_, X)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, which ``passthrough`` keeps.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        given = check_feature_names_in(self, input_features, generate_names=self.passthrough)
        kind = type(self).__name__.lower()
        names = []
        for name, width in zip(self.named_estimators_, self._widths):
            many = [f"{kind}_{name}{i}" for i in range(width)]
            names += many if width > 1 else [f"{kind}_{name}"]
        return np.asarray([*names, *(given if self.passthrough else ())], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        given = self._default_members() if self.estimators is None else self.estimators
        members = [m for _, m in given if not isinstance(m, str)]
        of_members = [get_tags(member).input_tags for member in members]
        tags.input_tags.sparse = all(t.sparse for t in of_members)
        last = self._default_last() if self.final_estimator is None else self.final_estimator
        tags.input_tags.allow_nan = all(t.allow_nan for t in of_members) and (
            not self.passthrough or get_tags(last).input_tags.allow_nan
        )
        tags.transformer_tags.preserves_dtype = []
        return tags


def held_out_rows(y, holdout, generator, by_class: bool):
    """Rows for the last model; of every class its share, but never all of its rows."""
    n = len(y)
    count = int(holdout) if isinstance(holdout, Integral) else max(1, round(holdout * n))
    if count >= n:
        raise ValueError(
            f"holdout={holdout} leaves no row to the members: n_samples={n}, {count} held out"
        )
    order = generator.permutation(n)
    if not by_class:
        return np.sort(order[:count])
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    exact = sizes * (count / n)
    quota = np.minimum(np.floor(exact).astype(np.intp), sizes - 1)
    # What rounding leaves goes to the classes that lost most, the first of equals.
    for k in np.argsort(quota - exact, kind="stable"):
        if quota.sum() < count and quota[k] < sizes[k] - 1:
            quota[k] += 1
    shuffled = codes[order]
    by = np.argsort(shuffled, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(n, np.intp)
    place[by] = np.arange(n) - np.repeat(starts, sizes)
    found = order[place < quota[shuffled]]
    if not len(found):
        raise ValueError(
            f"holdout={holdout} leaves no row to the last model: n_samples={n}, and every class "
            "must keep one for the members"
        )
    return np.sort(found)


def _trained(estimator, X, y, weights):
    made = clone(estimator)
    if weights is None:
        return made.fit(X, y)
    if not has_fit_parameter(made, "sample_weight"):
        raise TypeError(
            f"Underlying estimator {type(made).__name__} does not support sample weights."
        )
    return made.fit(X, y, sample_weight=weights)


def _method_of(name, member, method):
    for wanted in METHODS if method == "auto" else (method,):
        if hasattr(member, wanted):
            return wanted
    raise ValueError(f"Underlying estimator {name} does not implement the method {method}.")


def _last_has(name):
    def check(self):
        last = getattr(self, "final_estimator_", None)
        if last is None:
            last = self._default_last() if self.final_estimator is None else self.final_estimator
        getattr(last, name)  # its AttributeError says which method is missing
        return True

    return check


@documented(
    BLENDING_ENTRIES,
    last="LogisticRegression",
    stratified="; of every class the same share, but never all of its rows",
    methods="'predict_proba', 'decision_function', 'predict'",
)
class BlendingClassifier(ClassifierMixin, BaseBlending):
    """Classifiers under a last model that learned on rows they did not see.

    The members :math:`f_j` learn on one part of the rows, the last model :math:`g` on the other:
    :math:`\\hat y(x) = g(f_1(x), ..., f_m(x))`. Unlike stacking, no member is trained more than
    once, and nothing that :math:`g` sees comes from a row that its members learned.

    Parameters
    ----------
    {blending}

    Attributes
    ----------
    {blended}
    classes_ : ndarray of shape (n_classes,)
        The labels.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    A. Töscher, M. Jahrer, R. Bell, "The BigChaos solution to the Netflix grand prize" (2009).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fastml.ensemble import BlendingClassifier, RandomForestClassifier
    >>> from fastml.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("forest", RandomForestClassifier(20, random_state=0)),
    ...            ("neighbours", KNeighborsClassifier())]
    >>> model = BlendingClassifier(members, holdout=0.4, random_state=0).fit(X, y)
    >>> model.predict(X[::50]).tolist()
    [0, 1, 2]
    """

    def _default_members(self):
        return [
            ("forest", RandomForestClassifier(random_state=0)),
            ("boosting", HistGradientBoostingClassifier(random_state=0)),
        ]

    def _default_last(self):
        from fastml.linear_model import LogisticRegression

        return LogisticRegression(n_jobs=self.n_jobs)

    def _validate_y(self, y):
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def predict(self, X):
        """What the last model says.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        said = self.final_estimator_.predict(self.transform(X))
        return self.classes_.take(said.astype(np.intp), axis=0)

    @available_if(_last_has("predict_proba"))
    def predict_proba(self, X):
        """The last model's probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``; 0 for a class that the last model did not see.
        """
        check_is_fitted(self)
        shares = self.final_estimator_.predict_proba(self.transform(X))
        known = np.asarray(self.final_estimator_.classes_, dtype=np.intp)
        found = np.zeros((len(shares), len(self.classes_)))
        found[:, known] = shares
        return found

    @available_if(_last_has("decision_function"))
    def decision_function(self, X):
        """The last model's decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.final_estimator_.decision_function(self.transform(X))


@documented(BLENDING_ENTRIES, last="RidgeCV", stratified="", methods="'predict'")
class BlendingRegressor(RegressorMixin, BaseBlending):
    """Regressors under a last model that learned on rows they did not see.

    The members :math:`f_j` learn on one part of the rows, the last model :math:`g` on the other:
    :math:`\\hat y(x) = g(f_1(x), ..., f_m(x))`. Unlike stacking, no member is trained more than
    once, and nothing that :math:`g` sees comes from a row that its members learned.

    Parameters
    ----------
    {blending}

    Attributes
    ----------
    {blended}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    A. Töscher, M. Jahrer, R. Bell, "The BigChaos solution to the Netflix grand prize" (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.ensemble import BlendingRegressor
    >>> from fastml.neighbors import KNeighborsRegressor
    >>> from fastml.svm import SVR
    >>> X = np.linspace(0.0, 3.0, 100).reshape(-1, 1)
    >>> members = [("machine", SVR()), ("neighbours", KNeighborsRegressor())]
    >>> model = BlendingRegressor(members, random_state=0).fit(X, np.sin(X.ravel()))
    >>> model.predict([[1.5]]).round(1).tolist()
    [1.0]
    """

    def _default_members(self):
        return [
            ("forest", RandomForestRegressor(random_state=0)),
            ("boosting", HistGradientBoostingRegressor(random_state=0)),
        ]

    def _default_last(self):
        from fastml.linear_model import RidgeCV

        return RidgeCV()

    def predict(self, X):
        """What the last model says.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.final_estimator_.predict(self.transform(X))
