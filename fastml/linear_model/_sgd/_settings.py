"""What models by stochastic gradient descent share: parameters, rules of the steps, rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from fastml._engines.passes import Passes, RowBlock
from fastml._engines.stochastic import (
    Descended,
    Stopping,
    Watch,
    descend,
    optimal_start,
    sgd_rows,
)
from fastml._progress import CallbackSupport
from fastml._sklearn import Interval, StrOptions
from fastml._validation import (
    FLOATS,
    check_is_fitted,
    validate_data,
)
from fastml.kernels.linear import stochastic as kernels
from fastml.kernels.losses import definitions

LOSSES = {
    "squared_error": definitions.SQUARED,
    "huber": definitions.HUBER,
    "epsilon_insensitive": definitions.EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": definitions.SQUARED_EPSILON_INSENSITIVE,
}
MARGIN_LOSSES = {
    "hinge": definitions.HINGE,
    "squared_hinge": definitions.SQUARED_HINGE,
    "perceptron": definitions.PERCEPTRON,
    "log_loss": definitions.BINOMIAL,
    "modified_huber": definitions.MODIFIED_HUBER,
}
PENALTIES = {
    None: kernels.NO_PENALTY,
    "l1": kernels.L1_PENALTY,
    "l2": kernels.L2_PENALTY,
    "elasticnet": kernels.ELASTIC_NET,
}
RATES = {
    "constant": kernels.CONSTANT,
    "optimal": kernels.OPTIMAL,
    "invscaling": kernels.INVSCALING,
    "adaptive": kernels.ADAPTIVE,
    "pa1": kernels.PASSIVE_1,
    "pa2": kernels.PASSIVE_2,
}
SPARSE_INTERCEPT_STEP = 0.01
"""Of sparse rows, whose weights change seldom, the intercept takes shorter steps."""

MOST_SEED = np.iinfo(np.int32).max

PARAMETERS: dict[str, list] = {
    "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
    "fit_intercept": ["boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "shuffle": ["boolean"],
    "verbose": ["verbose"],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
    "eta0": [Interval(Real, 0, None, closed="neither")],
    "power_t": [Interval(Real, None, None, closed="neither")],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "warm_start": ["boolean"],
    "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "n_jobs": [Integral, None],
}
"""What scikit-learn allows, by name."""

ENTRIES = {
    "fit_intercept": """
        fit_intercept : bool, default=True
            Whether there is an intercept. It is never penalised.
    """,
    "epochs": """
        max_iter : int, default=1000
            Most epochs of `fit`.
        tol : float or None, default=1e-3
            Least improvement of the objective, or of the score, that counts; None runs all epochs.
    """,
    "shuffle": """
        shuffle : bool, default=True
            Whether rows are shuffled before each epoch.
        verbose : int, default=0
            If positive, each epoch is printed.
    """,
    "holding_back": """
        early_stopping : bool, default=False
            Whether to hold rows back and stop when their score no longer improves.
        validation_fraction : float, default=0.1
            Share of the rows held back.
        n_iter_no_change : int, default=5
            Epochs without improvement before the end.
    """,
    "random_state": """
        random_state : int, RandomState instance or None, default=$state
            Order of the rows, and choice of those held back.
    """,
    "penalties": """
        penalty : {'l2', 'l1', 'elasticnet', None}, default=$penalty
            The penalty R.
        alpha : float, default=0.0001
            Strength of the penalty.
        l1_ratio : float, default=0.15
            Share of the l1 penalty in 'elasticnet'.
    """,
    "warm_start": """
        warm_start : bool, default=False
            Whether a further fit begins at the last solution.
    """,
    "average": """
        average : bool or int, default=False
            Whether the weights are averages over all steps, or over those from this one on.
    """,
    "class_weight": """
        class_weight : dict, 'balanced' or None, default=None
            Factors of the steps by class; 'balanced': n / (classes · rows of the class).
    """,
    "classes_": """
        classes_ : ndarray of shape (n_classes,)
            Labels, sorted.
        coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
            Weights: for the second of two classes, or of each class against the others.
        intercept_ : ndarray of shape (1,) or (n_classes,)
            Intercepts.
    """,
    "counters": """
        n_iter_ : int
            Epochs of the last fit, the most of any class.
        t_ : float
            Steps so far, plus 1.
    """,
    "rows": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
    """,
    "X_y": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            $targets.
    """,
    "sample_weight": """
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps.
    """,
    "init": """
        coef_init : array-like of the shape of ``coef_``, default=None
            Weights to begin with.
        intercept_init : array-like of the shape of ``intercept_``, default=None
            Intercepts to begin with.
    """,
}
"""Entries of docstrings."""


def allowed(*names: str) -> dict[str, list]:
    """Constraints of these parameters, and of those that every model has."""
    always = ("fit_intercept", "max_iter", "tol", "shuffle", "verbose", "random_state",
              "warm_start")  # fmt: skip
    return {name: PARAMETERS[name] for name in (*always, *names)}


class Settings(NamedTuple):
    """Parameters of the steps, of a model that may not have them all as its own."""

    loss: str
    penalty: str | None = None
    alpha: float = 0.0001
    l1_ratio: float | None = 0.15
    epsilon: float = 0.1
    learning_rate: str = "constant"
    eta0: float = 1.0
    power_t: float = 0.5
    average: bool | int = False
    one_class: bool = False
    early_stopping: bool = False
    n_iter_no_change: int = 5


class Beginning(NamedTuple):
    """Where descent begins: weights, intercept, their averages, number of the first step."""

    coef: np.ndarray
    intercept: float
    average: np.ndarray
    average_intercept: float
    t: float


class StochasticGradient(CallbackSupport, BaseEstimator):
    """Epochs over rows, from parameters to attributes; subclasses say their `Settings`."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def densify(self):
        """Make ``coef_`` dense again.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        if sp.issparse(self.coef_):
            self.coef_ = self._shaped(self.coef_.toarray())
        return self

    def sparsify(self):
        """Make ``coef_`` sparse, which saves memory if many weights are zero.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def _shaped(self, coef):
        return coef

    def _settings(self) -> Settings:
        """Of a model that has all parameters."""
        return Settings(
            self.loss, self.penalty, self.alpha, self.l1_ratio, self.epsilon, self.learning_rate,
            self.eta0, self.power_t, self.average, False, self.early_stopping,
            self.n_iter_no_change,
        )  # fmt: skip

    def _check_parameters(self, own: Settings, passive_loss: str, partial: bool) -> None:
        if own.early_stopping and partial:
            raise ValueError("early_stopping should be False with partial_fit")
        if own.learning_rate == "optimal" and own.alpha == 0:
            raise ValueError(
                "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the "
                "optimal learning rate."
            )
        if own.learning_rate in ("pa1", "pa2") and own.loss != passive_loss:
            raise ValueError(
                f"Learning rate '{own.learning_rate}' only works with loss '{passive_loss}'."
            )
        if own.penalty == "elasticnet" and own.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")

    def _read(self, X, *y, reset: bool):
        """X, or X and y, validated."""
        return validate_data(
            self, X, *y, accept_sparse="csr", order="C", dtype=FLOATS,
            accept_large_sparse=False, reset=reset,
        )  # fmt: skip

    def _rules(self, own: Settings, sparse: bool) -> kernels.SgdRules:
        code, alpha = {**LOSSES, **MARGIN_LOSSES}[own.loss], float(own.alpha)
        share = {"l1": 1.0, "elasticnet": float(own.l1_ratio or 0.0)}.get(str(own.penalty), 0.0)
        rate = RATES[own.learning_rate]
        start = optimal_start(code, own.epsilon, alpha) if rate == kernels.OPTIMAL else 0.0
        step = SPARSE_INTERCEPT_STEP if sparse else 1.0
        watched = bool(self.verbose) or (not own.early_stopping and self.tol is not None)
        return kernels.SgdRules(
            code, float(own.epsilon), PENALTIES[own.penalty], alpha, share,
            rate, float(own.eta0), float(own.power_t), start, step if self.fit_intercept else 0.0,
            float(own.average), watched, bool(own.one_class),
        )  # fmt: skip

    def _descend(self, own, rows, begin: Beginning, seed, held, max_iter: int) -> Descended:
        """Epochs on ``rows`` (X, targets, weights); ``held`` is which are held back, and their
        score as a function of weights and intercept."""
        X, y, weights = rows
        found = descend(
            self._rules(own, sp.issparse(X)), sgd_rows(X, y, weights), begin,
            seed if self.shuffle else None, held[0],
            Stopping(max_iter, self.tol, int(own.n_iter_no_change)), held[1], bool(self.verbose),
        )  # fmt: skip
        if not found.finite:
            raise ValueError(
                f"Floating-point under-/overflow occurred at epoch #{found.n_iter}. Scaling input "
                "data with StandardScaler or MinMaxScaler might help."
            )
        return found

    def _note(self, found: list[Descended]) -> None:
        """Add the objectives of a block, if somebody sums them."""
        sums = vars(self).get("_objectives")
        if sums is not None:
            self._objectives = sums + np.array([f.objective for f in found])

    def _epochs(self, passes: Passes, n_problems: int, learn: Callable[[RowBlock], object]) -> None:
        """Epochs over blocks, each of which goes on where the one before ended."""
        own = self._settings()
        if own.learning_rate == "adaptive":
            raise ValueError("on blocks there is no learning_rate='adaptive'")
        stopping = Stopping(self.max_iter, self.tol, int(own.n_iter_no_change))
        watches = [Watch(stopping) for _ in range(n_problems)]
        ended = np.zeros(n_problems, bool)
        n_epochs = 0
        while n_epochs < self.max_iter and not ended.all():
            n_epochs += 1
            self._objectives = np.zeros(n_problems)
            for block in passes.in_order("epoch"):
                learn(block)
            reached = self._objectives / passes.n_rows
            ended |= [watch.ends(float(value)) for watch, value in zip(watches, reached)]
        del self._objectives
        self.n_iter_ = n_epochs
        self._warn_of_the_end(own)

    def _warn_of_the_end(self, own: Settings) -> None:
        if self.tol is not None and self.n_iter_ == self.max_iter:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing "
                "max_iter to improve the fit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if own.power_t < 0:
            warnings.warn(
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an "
                "error in 1.10. Use values in the range [0.0, inf) instead.",
                FutureWarning,
                stacklevel=3,
            )


def held_back(y, weights, splitter) -> np.ndarray:
    """Which rows the first split of ``splitter`` keeps for the score."""
    left_out = np.zeros(len(y), dtype=bool)
    _, chosen = next(splitter.split(np.zeros((len(y), 1)), y))
    if not np.any(weights[chosen] > 0):
        raise ValueError(
            "The sample weights for validation set are all zero, consider using a different "
            "random state."
        )
    left_out[chosen] = True
    return left_out


def first_weights(coef, shape: tuple[int, ...], name: str):
    """Weights or intercepts to begin with, as float64 of that shape; zeros for None."""
    if coef is None:
        return np.zeros(shape)
    if sp.issparse(coef):
        coef = coef.toarray()
    coef = np.asarray(coef, dtype=np.float64)
    if coef.size == np.prod(shape) and (len(shape) == 1 or coef.shape == shape):
        return coef.reshape(shape).copy()
    raise ValueError(f"Provided {name} does not match dataset.")
