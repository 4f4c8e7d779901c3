"""`LogisticRegressionCV`: the strength and the kind of the penalty by cross-validation."""

from __future__ import annotations

import inspect
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain
from numbers import Integral, Number
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax
from sklearn.utils import metadata_routing

from fastml._docs import documented
from fastml._engines.smooth_linear.logistic import LogisticProblem
from fastml._progress import fit_steps
from fastml._sklearn import (
    Hidden,
    Interval,
    StrOptions,
    check_method_params,
    deprecate_positional_args,
    fit_context,
    manual_routing,
    raise_for_params,
    routing_enabled,
)
from fastml._threads import effective_n_threads
from fastml.linear_model._folds import fold_average
from fastml.linear_model._logistic._docs import LOGISTIC_ENTRIES
from fastml.linear_model._logistic._estimator import LogisticBase, LogisticRegression
from fastml.linear_model._logistic._names import OLD_PENALTY, check_solver, share_of_l1

NEW_RATIOS = (
    "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version "
    "1.10 onwards, only array-like with values in [0, 1] will be allowed, None will be forbidden. "
    "To avoid this warning, explicitly set a value, e.g. l1_ratios=(0,)."
)
NO_RATIOS = (
    "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an "
    "array-like with valuesin [0, 1] instead."
)
NEW_SCORING = (
    "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to "
    "'neg_log_loss' in version 1.11. To silence this warning, explicitly set the scoring "
    "parameter: scoring='neg_log_loss' for the new, scoring='accuracy' or scoring=None for the old "
    "default."
)
NEW_ATTRIBUTES = (
    "The fitted attributes of {} will be simplified in scikit-learn 1.10 to remove redundancy. Set"
    "`use_legacy_attributes=False` to enable the new behavior now, or set it to `True` to silence "
    "this warning during the transition period while keeping the deprecated behavior for the time "
    "being. The default value of use_legacy_attributes will change from True to False in "
    "scikit-learn 1.10."
)


class _Choices(NamedTuple):
    """What is tried: the penalty's name, ratios (as given, or [None]) and strengths."""

    penalty: str
    ratios: list
    Cs: NDArray
    named: bool
    """Whether ratios were given."""


@documented(LOGISTIC_ENTRIES)
class LogisticRegressionCV(LogisticBase):
    """`LogisticRegression` with C, and the share of the l1 penalty, chosen by cross-validation.

    In each fold the strengths are taken one after the other, each from the solution of the one
    before; folds run on threads.

    Parameters
    ----------
    Cs : int or list of float, default=10
        Inverse strengths of the penalty, or their number between 1e-4 and 1e4.
    l1_ratios : array-like of shape (n_l1_ratios,), default=None
        Shares of the l1 penalty.
    fit_intercept : bool, default=True
        Whether there are intercepts. They are never penalised.
    cv : int, cross-validation generator or iterable, default=None
        Folds; None means five, with all classes in each.
    dual : bool, default=False
        For scikit-learn's sake; only with ``solver='liblinear'`` and l2.
    {penalty}
    scoring : str or callable, default=None
        What is largest for the choice; None is the share of right predictions.
    solver : {'lbfgs', 'liblinear', 'newton-cg', 'newton-cholesky', 'sag', 'saga'}, default='lbfgs'
        As in `LogisticRegression`: names that do not change the problem.
    tol : float, default=1e-4
        As in `LogisticRegression`.
    max_iter : int, default=100
        Most steps of each fit.
    class_weight : dict or 'balanced', default=None
        Weights of classes, 'balanced' by their shares of all rows.
    {n_jobs}
    verbose : int, default=0
        For scikit-learn's sake: folds print nothing.
    refit : bool, default=True
        Whether the weights are those of all rows for the best mean score; else they are the mean of
        the folds' best.
    intercept_scaling : float, default=1
        For scikit-learn's sake.
    random_state : int, RandomState instance or None, default=None
        For scikit-learn's sake: nothing is drawn.
    use_legacy_attributes : bool, default=True
        Whether the attributes below have the shapes of scikit-learn up to 1.9: ``C_`` and
        ``l1_ratio_`` an array, one value a class, ``scores_`` and ``coefs_paths_`` dicts by class,
        with the axes (folds, Cs, ratios, features) and no axis of ratios if there are none.
    {keep_summary}

    Attributes
    ----------
    {weights}
    {fitted}
    C_ : float
        The strength chosen.
    l1_ratio_ : float
        The share chosen.
    Cs_ : ndarray of shape (n_cs,)
        All strengths.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        All shares.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Scores of the rows left out.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, n_lines, n_features + 1)
        Weights of the folds, intercepts last; one line for two classes.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Steps.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] + rng.normal(size=100) > 0
    >>> model = LogisticRegressionCV(
    ...     Cs=[0.01, 1.0], l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> model.C_
    1.0
    """

    __metadata_request__score: ClassVar = {"sample_weight": metadata_routing.UNUSED}
    _parameter_constraints: dict = {
        **{
            name: allowed
            for name, allowed in LogisticRegression._parameter_constraints.items()
            if name not in ("C", "l1_ratio", "warm_start", "penalty")
        },
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "refit": ["boolean"],
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), Hidden(StrOptions({"deprecated"}))],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
    }

    def __init__(
        self,
        *,
        Cs=10,
        l1_ratios="warn",
        fit_intercept=True,
        cv=None,
        dual=False,
        penalty="deprecated",
        scoring="warn",
        solver="lbfgs",
        tol=1e-4,
        max_iter=100,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        refit=True,
        intercept_scaling=1.0,
        random_state=None,
        use_legacy_attributes="warn",
        keep_summary=False,
    ):
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.keep_summary = keep_summary

    # ------------------------------------------------------------------ fit

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **params : dict
            What metadata routing hands to the scorer or splitter.

        Returns
        -------
        self : object
        """
        from sklearn.model_selection import check_cv

        raise_for_params(params, self, "fit")
        choices = self._choices()
        legacy = self._legacy()
        X, y, codes, weights = self._read(X, y, sample_weight, np.float64)
        routed = self._routed(sample_weight, params)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split))
        judge = _Judge(self, X, y, weights, routed.scorer.score)
        weights = self._all_weights(y, codes, weights)
        with fit_steps(self, len(folds), X, y) as steps:
            paths, scores, n_iter = self._try(X, codes, weights, folds, choices, judge, steps)
        best = self._best(scores, choices)
        if self.refit:
            a, c = best[0]
            fit = self._solve(
                LogisticProblem(X, codes, len(self.classes_), weights, self.fit_intercept,
                                self.n_jobs),
                choices, a, c, paths[:, a, c].mean(axis=0),
            )  # fmt: skip
            self._warn_unless_converged(fit)
            found = fit.weights
        else:
            found = np.mean([paths[f, a, c] for f, (a, c) in enumerate(best)], axis=0)
        self._set_weights(found, np.float64)
        self._set_choice(best, choices, legacy)
        self._set_paths(paths, scores, n_iter, choices, legacy)
        self._keep(X, y, sample_weight=weights)
        return self

    def _choices(self) -> _Choices:
        """Names and numbers of the penalties, with scikit-learn's warnings and refusals."""
        ratios = self.l1_ratios
        if isinstance(ratios, str):
            warnings.warn(NEW_RATIOS, FutureWarning, stacklevel=4)
            ratios = None
        if self.penalty == "deprecated":
            if self.l1_ratios is None:
                warnings.warn(NO_RATIOS, FutureWarning, stacklevel=4)
            values = np.asarray(0 if ratios is None else ratios)
            penalty = "l2" if np.all(values == 0) else "l1" if np.all(values == 1) else "elasticnet"
        else:
            penalty = self.penalty
            warnings.warn(
                OLD_PENALTY.format(ratio="l1_ratios", joint="and", C="Cs")
                + "Use l1_ratios=(0,) instead of penalty='l2', l1_ratios=(1,) instead of "
                "penalty='l1', l1_ratios set to floats between 0 and 1 instead of "
                "penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None.",
                FutureWarning,
                stacklevel=4,
            )
        check_solver(self.solver, penalty, self.dual)
        if penalty == "elasticnet":
            if ratios is None or not len(ratios) or not all(map(_is_share, ratios)):
                raise ValueError(
                    "l1_ratios must be an array-like of numbers between 0 and 1; got "
                    f"(l1_ratios={ratios!r})"
                )
        elif ratios is not None and self.penalty != "deprecated":
            warnings.warn(
                "l1_ratios parameter is only used when penalty is 'elasticnet'. Got "
                f"(penalty={penalty})",
                stacklevel=4,
            )
        if isinstance(self.Cs, Integral):
            Cs = np.logspace(-4, 4, int(self.Cs))
        else:
            Cs = np.asarray(self.Cs, dtype=np.float64)
            if Cs.ndim != 1 or not len(Cs) or not (Cs > 0.0).all():
                raise ValueError(f"Cs must hold positive numbers, got {self.Cs!r}")
        return _Choices(penalty, [None] if ratios is None else list(ratios), Cs, ratios is not None)

    def _legacy(self) -> bool:
        if isinstance(self.scoring, str) and self.scoring == "warn":
            warnings.warn(NEW_SCORING, FutureWarning, stacklevel=4)
        if isinstance(self.use_legacy_attributes, str):
            warnings.warn(NEW_ATTRIBUTES.format(type(self).__name__), FutureWarning, stacklevel=4)
            return True
        return bool(self.use_legacy_attributes)

    def _routed(self, sample_weight, params):
        if routing_enabled():
            return metadata_routing.process_routing(
                self, "fit", sample_weight=sample_weight, **params
            )
        given = dict(params)
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        return manual_routing({"splitter": {}, "scorer": {"score": given}})

    def _all_weights(self, y, codes, weights):
        """Weights of rows times those of classes."""
        if isinstance(self.class_weight, dict):
            if not set(self.class_weight) <= set(self.classes_.tolist()):
                raise ValueError(
                    "The given class_weight dict must have the class labels as keys; "
                    f"classes={self.classes_} but key={self.class_weight.keys()}"
                )
            of_classes = np.array(
                [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
            )
        else:
            of_classes = self._class_weights(y, weights)
        if of_classes is None:
            return weights
        return of_classes[codes] if weights is None else weights * of_classes[codes]

    def _solve(self, problem: LogisticProblem, choices: _Choices, a: int, c: int, start):
        share = share_of_l1(choices.penalty, choices.ratios[a])
        C = choices.Cs[c]
        return problem.solve(share / C, (1.0 - share) / C, start, self.tol, self.max_iter)

    def _try(self, X, codes, weights, folds, choices: _Choices, judge, steps):
        """Weights (folds, ratios, Cs, lines, features + 1), scores and steps of all."""
        n_classes = len(self.classes_)
        shape = len(folds), len(choices.ratios), len(choices.Cs)
        n_lines = 1 if n_classes == 2 else n_classes
        paths = np.empty((*shape, n_lines, X.shape[1] + 1))
        scores, n_iter = np.empty(shape), np.empty(shape, dtype=np.int32)
        size = 20.0 * (X.nnz if hasattr(X, "nnz") else X.size) * len(choices.Cs)
        n_threads = min(effective_n_threads(self.n_jobs, size), len(folds))
        # Folds that are left when all threads have had as many share the threads.
        alone = len(folds) - len(folds) % n_threads if n_threads > 1 else 0

        def run(f):
            train, _ = folds[f]
            inside = 1 if f < alone else self.n_jobs
            problem = LogisticProblem(
                X[train], codes[train], n_classes, None if weights is None else weights[train],
                self.fit_intercept, inside,
            )  # fmt: skip
            late = []
            for a in range(shape[1]):
                start = None
                for c in range(shape[2]):
                    fit = self._solve(problem, choices, a, c, start)
                    start = paths[f, a, c] = fit.weights
                    n_iter[f, a, c] = fit.found.n_iter
                    if not fit.found.converged:
                        late.append(fit)
            return late

        late = []
        with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
            at_once = () if pool is None else pool.map(run, range(alone))
            for of_fold in chain(at_once, map(run, range(alone, len(folds)))):
                late += of_fold
                steps.begin("fold").end()  # all folds are needed: none is the last
        for fit in late[:1]:
            self._warn_unless_converged(fit)
        for f, (_, test) in enumerate(folds):
            scores[f] = judge.scores(X[test], test, paths[f])
        return paths, scores, n_iter

    def _best(self, scores, choices: _Choices) -> list[tuple[int, int]]:
        """(ratio, strength) of the best mean score, or of each fold's."""
        by_strength = scores.swapaxes(1, 2)  # the order in which ties break
        tried = [by_strength.sum(axis=0)] if self.refit else by_strength
        found = [np.unravel_index(np.argmax(each), each.shape) for each in tried]
        return [(int(a), int(c)) for c, a in found]

    def _set_choice(self, best, choices: _Choices, legacy: bool) -> None:
        self.C_: float | NDArray
        self.l1_ratio_: float | NDArray
        C = float(np.mean([choices.Cs[c] for _, c in best]))
        if self.refit:
            ratio = choices.ratios[best[0][0]]
        else:
            elastic = choices.penalty == "elasticnet"
            ratio = np.mean([choices.ratios[a] for a, _ in best]) if elastic else 0.0
        if not legacy:
            if not choices.named:
                ratio = 1.0 if self.penalty == "l1" else 0.0
            self.C_, self.l1_ratio_ = C, float(ratio)
            return
        n = len(self.coef_)
        self.C_, self.l1_ratio_ = np.array([C] * n), np.array([ratio] * n)

    def _set_paths(self, paths, scores, n_iter, choices: _Choices, legacy: bool) -> None:
        self.Cs_, self.l1_ratios_ = choices.Cs, np.asarray(choices.ratios)
        if not self.fit_intercept:
            paths = paths[..., :-1]
        if not legacy:
            self.coefs_paths_, self.scores_, self.n_iter_ = paths, scores, n_iter
            return
        ratios = slice(None) if choices.named else 0
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        by_strength = scores.swapaxes(1, 2)[:, :, ratios]
        self.scores_ = {label: by_strength.copy() for label in labels}
        self.coefs_paths_ = {
            label: paths[:, :, :, k].swapaxes(1, 2)[:, :, ratios] for k, label in enumerate(labels)
        }
        self.n_iter_ = n_iter.swapaxes(1, 2)[None][..., ratios]

    # ------------------------------------------------------------------ scores

    @deprecate_positional_args(version="1.11")
    def score(self, X, y, *, sample_weight=None, **score_params):
        """The score that ``scoring`` names.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **score_params : dict
            What metadata routing hands to the scorer.

        Returns
        -------
        score : float
        """
        raise_for_params(score_params, self, "score")
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if routing_enabled():
            routed = metadata_routing.process_routing(self, "score", **score_params)
        else:
            routed = manual_routing({"scorer": {"score": score_params}})
        return self._get_scorer()(self, X, y, **routed.scorer.score)

    def _get_scorer(self):
        from sklearn.metrics import get_scorer

        named = self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "warn")
        return get_scorer("accuracy" if named else self.scoring)

    def get_metadata_routing(self):
        """What the scorer and the splitter ask for.

        Returns
        -------
        routing : MetadataRouter
        """
        from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

        of_scorer = MethodMapping().add(caller="score", callee="score")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=self._get_scorer(),
                method_mapping=of_scorer.add(caller="fit", callee="score"),
            )
        )


def _is_share(value) -> bool:
    return isinstance(value, Number) and 0 <= value <= 1  # type: ignore[operator]


class _Judge:
    """Scores of the weights of a fold on the rows left out."""

    def __init__(self, model: LogisticRegressionCV, X, y, weights, score_params):
        self.model, self.rows, self.y, self.params = model, X, y, score_params
        self.weights = weights
        scoring = model.scoring
        plain = scoring is None or (isinstance(scoring, str) and scoring == "warn")
        self.scorer = None if plain else _with_labels(model._get_scorer(), model.classes_)

    def scores(self, X, test, paths: NDArray) -> NDArray:
        """Of weights (ratios, Cs, lines, features + 1)."""
        model, y = self.model, self.y[test]
        shape = paths.shape[:2]
        if self.scorer is None:
            weights = None if self.weights is None else self.weights[test]
            return fold_average(self._right(X, y, paths), weights)
        params = check_method_params(self.rows, self.params or {}, indices=test)
        own = self._own()
        if own is not None and set(params) <= {"sample_weight"}:
            return fold_average(own(X, y, paths), params.get("sample_weight"))
        judged = LogisticRegression(solver=model.solver)
        judged.classes_, judged.n_features_in_ = model.classes_, X.shape[1]
        found = np.empty(shape)
        for a in range(shape[0]):
            for c in range(shape[1]):
                judged._set_weights(paths[a, c], np.float64)
                found[a, c] = self.scorer(judged, X, y, **params)
        return found

    def _own(self):
        """What scores all weights of a fold at once, where scikit-learn's scorer is known."""
        names = {"accuracy": self._right, "neg_log_loss": self._log_probabilities}
        scoring = self.model.scoring
        return names.get(scoring) if isinstance(scoring, str) else None

    def _raw(self, X, paths: NDArray) -> NDArray:
        """(rows, ratios, Cs, lines)."""
        raw = X @ paths[..., :-1].reshape(-1, X.shape[1]).T
        return raw.reshape(X.shape[0], *paths.shape[:3]) + paths[..., -1]

    def _right(self, X, y, paths: NDArray) -> NDArray:
        """(rows, ratios, Cs), whether the class is predicted."""
        raw = self._raw(X, paths)
        if paths.shape[2] == 1:
            predicted = (raw[..., 0] > 0.0).astype(np.intp)
        else:
            predicted = raw.argmax(axis=-1)
        return self.model.classes_[predicted] == y[:, None, None]

    def _log_probabilities(self, X, y, paths: NDArray) -> NDArray:
        """(rows, ratios, Cs), of the class, within the bounds of scikit-learn's `log_loss`."""
        raw = self._raw(X, paths)
        codes = np.searchsorted(self.model.classes_, y)
        if paths.shape[2] == 1:
            found = log_expit(raw[..., 0] * np.where(codes == 1, 1.0, -1.0)[:, None, None])
        else:
            found = log_softmax(raw, axis=-1)[np.arange(len(y)), :, :, codes]
        least = np.finfo(np.float64).eps
        return np.clip(found, np.log(least), np.log1p(-least))


def _with_labels(scorer, classes):
    """A scorer that knows all classes where its metric asks for them: folds may lack some."""
    from sklearn.metrics import make_scorer

    metric = getattr(scorer, "_score_func", None)
    asked = inspect.signature(metric).parameters if metric is not None else {}
    if "labels" not in asked:
        return scorer
    positive = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in asked else {}
    return make_scorer(
        metric,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        labels=classes,
        **positive,
        **getattr(scorer, "_kwargs", {}),
    )
