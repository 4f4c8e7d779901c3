"""`LogisticRegression`."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.special import expit, log_expit, log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.extmath import softmax

from fastml._docs import documented
from fastml._engines.labels import classes_and_codes
from fastml._engines.smooth_linear.in_blocks import (
    BlocksObjective,
    LossOfRows,
    block_class_totals,
    block_separated,
    minimise_in_blocks,
)
from fastml._engines.smooth_linear.logistic import CLOSER, FEW_VALUES, LogisticFit, LogisticProblem
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Hidden, Interval, StrOptions, fit_context
from fastml._validation import (
    FLOATS,
    check_is_fitted,
    check_weights,
    validate_data,
)
from fastml.kernels.losses.definitions import BINOMIAL
from fastml.linear_model._blocks import refuse_summary
from fastml.linear_model._linear_classifier import LinearClassifier
from fastml.linear_model._logistic._docs import LOGISTIC_ENTRIES
from fastml.linear_model._logistic._names import (
    FIRTH_ALONE,
    MANY_CLASSES,
    SOLVERS,
    penalty_and_strength,
)
from fastml.linear_model._summarised import KEEP, Summarised

SEPARABLE = (
    "The classes are separable: weights without a penalty grow without end, and stopped where the "
    "gradient fell below tol. Probabilities are near 0 or 1, standard errors mean nothing. Set a "
    "finite C or firth=True, or take columns away"
)


TOO_FEW_STEPS = {
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
    "newton-cholesky": "Newton solver did not converge",
}
"""In scikit-learn's words: code that filters its warnings keeps working."""


class SeparationWarning(ConvergenceWarning):
    """Without a penalty, separable classes have no finite weights.

    Parameters
    ----------
    message : str, default=SEPARABLE
        What to say.

    Examples
    --------
    >>> import warnings
    >>> from fastml.linear_model import LogisticRegression, SeparationWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LogisticRegression(C=float("inf")).fit([[0.0], [1.0]], [0, 1])
    >>> any(issubclass(each.category, SeparationWarning) for each in caught)
    True
    """

    def __init__(self, message: str = SEPARABLE):
        super().__init__(message)


class LogisticBase(CallbackSupport, Summarised, LinearClassifier):
    """Input, probabilities and warnings of `LogisticRegression` and `LogisticRegressionCV`."""

    def _read(self, X, y, sample_weight, dtype):
        """(X, codes of the classes, weights of rows or None); sets ``classes_``."""
        X, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), dtype=dtype)
        self.classes_, codes = classes_and_codes(np.asarray(y))
        if self.solver == "liblinear":
            if len(self.classes_) > 2:
                raise ValueError(MANY_CLASSES)
            if X.size and X.max() > 1e30:
                raise ValueError(
                    "Using the 'liblinear' solver while X contains a maximum value > 1e30 results "
                    "in a frozen fit. Please choose another solver or rescale the input X."
                )
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_[0]!r}"
            )
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, X, dtype=np.float64)
        return X, y, codes, weights

    def _class_weights(self, y, weights):
        """Weights of the classes, or None."""
        if self.class_weight is None:
            return None
        return np.asarray(
            compute_class_weight(
                self.class_weight, classes=self.classes_, y=y, sample_weight=weights
            ),
            dtype=np.float64,
        )

    def _warn_unless_converged(self, fit: LogisticFit) -> None:
        if not fit.found.converged:
            what = TOO_FEW_STEPS.get(self.solver, f"{self.solver} failed to converge")
            warnings.warn(
                f"{what} after {fit.found.n_iter} iterations (max_iter={self.max_iter}): the "
                f"largest entry of the gradient is {fit.found.gradient:.2g}, and tol={self.tol:g}. "
                "Increase the number of iterations. Or raise tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _set_weights(self, weights, dtype) -> None:
        self.coef_, self.intercept_ = _fitted(weights, dtype).values()

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = expit(scores)
            return np.column_stack([1.0 - second, second])
        return softmax(scores, copy=False)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities, finite where these round to 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return log_softmax(scores, axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self.solver == "liblinear":
            tags.classifier_tags.multi_class = False
        return tags


@documented(LOGISTIC_ENTRIES)
class LogisticRegression(LogisticBase):
    """Linear scores turned to probabilities: logistic regression and its softmax form.

    Two classes: p = 1 / (1 + exp(−w · x − b)); several: p_k = exp(w_k · x + b_k) / Σ exp(…).
    Minimises

        − Σ u_i log p_{y_i} + ((1 − l1_ratio) / 2 \\|W\\|² + l1_ratio \\|W\\|₁) / C

    by Newton's method: with Cholesky's decomposition for few columns, from the solution on some of
    the rows, by conjugate gradients for many; softmax with many weights by L-BFGS whose first
    Hessian is C ⊗ X'X; with an l1 penalty, coordinate descent on the quadratic models. X is not
    copied, except by columns for sparse X with many columns and for l1.

    Weights of several classes are determined by the penalty only: the same more for all of them
    changes no probability. With ``reference_class`` they are the log-odds against that class.

    Parameters
    ----------
    {penalty}
    C : float, default=1.0
        Inverse strength of the penalty; ∞ is none.
    l1_ratio : float, default=0.0
        Share of the l1 penalty.
    {rest}
    warm_start : bool, default=False
        Whether a further fit begins at the last solution.
    {n_jobs}
    reference_class : label, default=None
        One of several classes whose weights are 0, and which the others are compared with: the
        penalty is that of their weights. Two classes have one anyway, the first.
    firth : bool, default=False
        Firth's penalty −½ log det (Σ u x x' ⊗ (diag(p) − p p')) in the place of all others: the
        weights are finite where classes are separable, and have less bias for few rows. ``C`` and
        ``l1_ratio`` are not used; weights of several classes are against ``reference_class``, or
        sum to 0.
    {keep_summary}

    Attributes
    ----------
    {weights}
    {fitted}
    n_iter_ : ndarray of shape (1,)
        Steps on all rows.
    solver_ : {'newton-cholesky', 'newton-cg', 'lbfgs', 'newton-descent', 'fisher-scoring'}
        What ran; the fourth is for l1, the last for Firth's penalty.

    See Also
    --------
    odds_ratios : What a unit of a column does to the odds, with intervals.
    summary : Standard errors, tests, deviance, AIC and BIC.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LogisticRegression
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.5, 0.5]])
    >>> model.solver_
    'newton-cholesky'

    Firth's penalty adds half a row to each cell of a table:

    >>> table = LogisticRegression(firth=True, tol=1e-8)
    >>> table = table.fit([[0], [0], [0], [1], [1]], [0, 0, 1, 1, 1])
    >>> odds = np.exp(table.decision_function([[0], [1]]))
    >>> odds.round(4)  # 1.5 / 2.5 and 2.5 / 0.5
    array([0.6, 5. ])
    """

    _parameter_constraints: dict = {
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}), None, Hidden(StrOptions({"deprecated"}))
        ],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(SOLVERS))],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "reference_class": "no_validation",
        "firth": ["boolean"],
        **KEEP,
    }  # fmt: skip

    def __init__(
        self,
        penalty="deprecated",
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="lbfgs",
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
        reference_class=None,
        firth=False,
        keep_summary=False,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.reference_class = reference_class
        self.firth = firth
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights u_i of the rows.

        Returns
        -------
        self : object
        """
        penalty, C, share = penalty_and_strength(self)
        if self.firth and ((self.C != 1.0 and np.isfinite(self.C)) or share > 0.0):
            warnings.warn(FIRTH_ALONE, stacklevel=2)
        X, y, codes, weights = self._read(X, y, sample_weight, FLOATS)
        of_classes = self._class_weights(y, weights)
        if of_classes is not None:
            weights = of_classes[codes] if weights is None else weights * of_classes[codes]
        n_classes = len(self.classes_)
        reference = self._reference()
        problem = LogisticProblem(
            X, codes, n_classes, weights, self.fit_intercept, self.n_jobs,
            n_classes - 1 if self.firth and reference is None else reference,
        )  # fmt: skip
        start = self._start(1 if n_classes == 2 else n_classes, X.shape[1])
        with fit_steps(self, None, X, y) as steps:
            report = self._reports(steps, problem, X.dtype) if self.verbose or steps.told else None
            if self.firth:
                fit = problem.solve_firth(start, self.tol, self.max_iter, report)
                if reference is None and n_classes > 2:
                    fit = fit._replace(weights=fit.weights - fit.weights.mean(axis=0))
            else:
                fit = problem.solve(
                    share / C, (1.0 - share) / C, start, self.tol, self.max_iter, report=report
                )
        self._warn_unless_converged(fit)
        if penalty is None and not self.firth and problem.separates(fit.weights):
            warnings.warn(SeparationWarning(), stacklevel=2)
        self.n_iter_ = np.array([fit.found.n_iter], dtype=np.int32)
        self.solver_ = fit.solver
        # As scikit-learn's liblinear, whose weights are always double.
        self._set_weights(fit.weights, np.float64 if self.solver == "liblinear" else X.dtype)
        self._keep(X, y, sample_weight=weights)
        return self

    def _fit_blocks(self, passes):
        refuse_summary(self)
        penalty, C, share = penalty_and_strength(self)
        if self.firth:
            raise ValueError("on blocks there is no Firth's penalty: firth must be False")
        self.classes_ = passes.classes()
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_[0]!r}"
            )
        totals = passes.reduced(block_class_totals, np.add, self.classes_, name="classes")
        of_classes = self._class_weights(self.classes_, totals)
        loss = LossOfRows(
            BINOMIAL, 0.0, self.fit_intercept, self.classes_, of_classes,
            self._reference() if len(self.classes_) > 2 else None,
        )  # fmt: skip
        total = float(totals.sum() if of_classes is None else totals @ of_classes)
        objective = BlocksObjective(passes, loss, total, (1.0 - share) / C / total)
        wanted = self.tol if objective.design.size > FEW_VALUES else self.tol * CLOSER
        w = np.zeros(objective.n_free)
        found, solver = minimise_in_blocks(objective, w, share / C / total, wanted, self.max_iter)
        found = found._replace(converged=found.converged or found.gradient <= self.tol)
        n_lines = 1 if len(self.classes_) == 2 else len(self.classes_)
        weights = np.zeros((n_lines, passes.n_features + 1))
        free = (
            np.arange(n_lines)
            if loss.reference is None
            else np.flatnonzero(np.arange(n_lines) != loss.reference)
        )
        weights[free, : objective.n_lines] = found.w.reshape(objective.n_lines, -1).T
        self._warn_unless_converged(LogisticFit(weights, found, solver))
        if penalty is None and all(passes.results(block_separated, loss, weights, name="check")):
            warnings.warn(SeparationWarning(), stacklevel=3)
        self.n_iter_ = np.array([found.n_iter], dtype=np.int32)
        self.solver_ = solver
        self._set_weights(weights, np.float64 if self.solver == "liblinear" else passes.dtype)

    def _reference(self) -> int | None:
        """Number of the class whose weights are to be 0."""
        if self.reference_class is None:
            return None
        places = np.flatnonzero(self.classes_ == self.reference_class)
        if not len(places):
            raise ValueError(
                f"reference_class={self.reference_class!r} is not one of the classes "
                f"{self.classes_.tolist()}"
            )
        return int(places[0])

    def _reports(self, steps, problem: LogisticProblem, dtype):
        """What solvers tell of a step: it is printed, callbacks hear of it and may end the fit."""

        def report(step: int, value: float, gradient: float, w) -> bool:
            if self.verbose:
                print(f"step {step}: objective {value:.10g}, gradient {gradient:.3g}")  # noqa: T201
            return steps.begin().end(lambda: _fitted(problem.weights_of(w), dtype))

        return report

    def _start(self, n_lines: int, n_features: int):
        """Weights of the last fit, if they are to be used."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        self.densify()
        coef = np.asarray(self.coef_, dtype=np.float64)
        if coef.shape != (n_lines, n_features):
            raise ValueError(
                f"Initialization coef is of shape {coef.shape}, expected shape "
                f"{(n_lines, n_features)}: set warm_start=False for other data"
            )
        intercept = np.broadcast_to(np.ravel(self.intercept_), n_lines)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "Floating-point under-/overflow: coef_ or intercept_, where warm_start begins, "
                "hold NaN or infinity"
            )
        return np.column_stack([coef, intercept if self.fit_intercept else 0.0 * intercept])


def _fitted(weights, dtype) -> dict:
    """Attributes of weights as `LogisticFit` has them."""
    return {
        "coef_": np.ascontiguousarray(weights[:, :-1], dtype=dtype),
        "intercept_": weights[:, -1].astype(dtype),
    }
