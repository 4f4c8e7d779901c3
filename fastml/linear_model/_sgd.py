"""Linear regression by stochastic gradient descent."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from fastml._docs import COMMON, documented
from fastml._engines.stochastic import Stopping, descend, optimal_start, sgd_rows
from fastml._sklearn import Hidden, Interval, StrOptions, check_sample_weight, fit_context
from fastml._validation import FLOATS, check_fitted, validate_data
from fastml.kernels.linear import stochastic as kernels
from fastml.kernels.losses import definitions

LOSSES = {
    "squared_error": definitions.SQUARED,
    "huber": definitions.HUBER,
    "epsilon_insensitive": definitions.EPSILON_INSENSITIVE,
    "squared_epsilon_insensitive": definitions.SQUARED_EPSILON_INSENSITIVE,
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


@documented(COMMON)
class SGDRegressor(RegressorMixin, BaseEstimator):
    """Linear regression by stochastic gradient descent: a step after each row.

    Minimises mean loss(y, w · x + b) + alpha R(w), with R = ½ \\|w\\|₂² (l2), \\|w\\|₁ (l1) or
    (1 − l1_ratio) ½ \\|w\\|₂² + l1_ratio \\|w\\|₁ (elasticnet), by

        w ← w − eta (∂loss x + alpha ∂R)

    with a step eta that falls by the schedule. The order of the rows and the steps are those of
    scikit-learn.

    Parameters
    ----------
    loss : {'squared_error', 'huber', 'epsilon_insensitive', 'squared_epsilon_insensitive'}, \
default='squared_error'
        The loss; squared error is halved.
    penalty : {'l2', 'l1', 'elasticnet', None}, default='l2'
        The penalty R.
    alpha : float, default=0.0001
        Strength of the penalty.
    l1_ratio : float, default=0.15
        Share of the l1 penalty in 'elasticnet'.
    fit_intercept : bool, default=True
        Whether there is an intercept. It is never penalised.
    max_iter : int, default=1000
        Most epochs of `fit`.
    tol : float or None, default=1e-3
        Least improvement of the objective, or of the score, that counts; None runs all epochs.
    shuffle : bool, default=True
        Whether rows are shuffled before each epoch.
    verbose : int, default=0
        If positive, each epoch is printed.
    epsilon : float, default=0.1
        Width of the last three losses.
    random_state : int, RandomState instance or None, default=None
        Order of the rows, and choice of those held back.
    learning_rate : {'constant', 'optimal', 'invscaling', 'adaptive', 'pa1', 'pa2'}, \
default='invscaling'
        eta0; 1 / (alpha (t₀ + t)); eta0 / t^power_t; eta0, divided by 5 whenever nothing improves;
        the two passive-aggressive rules, for epsilon-insensitive loss.
    eta0 : float, default=0.01
        First step length.
    power_t : float, default=0.25
        Exponent of 'invscaling'.
    early_stopping : bool, default=False
        Whether to hold rows back and stop when their score no longer improves.
    validation_fraction : float, default=0.1
        Share of the rows held back.
    n_iter_no_change : int, default=5
        Epochs without improvement before the end.
    warm_start : bool, default=False
        Whether a further fit begins at the last solution.
    average : bool or int, default=False
        Whether the weights are averages over all steps, or over those from this one on.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_iter_ : int
        Epochs of the last fit.
    t_ : float
        Steps so far, plus 1.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import SGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = X @ [1.0, -2.0] + 3.0
    >>> SGDRegressor(random_state=0).fit(X, y).predict([[1.0, 1.0]]).round(1)
    array([2.])
    """

    _parameter_constraints: dict = {
        "loss": [StrOptions(set(LOSSES))],
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
        "learning_rate": [StrOptions(set(RATES)), Hidden(StrOptions({"pa1", "pa2"}))],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "power_t": [Interval(Real, None, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "average": [Interval(Integral, 0, None, closed="neither"), "boolean"],
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        penalty="l2",
        alpha=0.0001,
        l1_ratio=0.15,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        epsilon=0.1,
        random_state=None,
        learning_rate="invscaling",
        eta0=0.01,
        power_t=0.25,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        warm_start=False,
        average=False,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.average = average

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit from the start, or with ``warm_start`` from the last solution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        coef_init : array-like of shape (n_features,), default=None
            Weights to begin with.
        intercept_init : array-like of shape (1,), default=None
            Intercept to begin with.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps.

        Returns
        -------
        self : object
        """
        self._check_parameters(partial=False)
        if self.warm_start and getattr(self, "coef_", None) is not None:
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        self._run(X, y, sample_weight, self.max_iter, (coef_init, intercept_init))
        if self.tol is not None and self.n_iter_ == self.max_iter:
            warnings.warn(
                "Maximum number of iteration reached before convergence. Consider increasing "
                "max_iter to improve the fit.",
                ConvergenceWarning,
                stacklevel=2,
            )
        if self.power_t < 0:
            warnings.warn(
                "Negative values for `power_t` are deprecated in version 1.8 and will raise an "
                "error in 1.10. Use values in the range [0.0, inf) instead.",
                FutureWarning,
                stacklevel=2,
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """One epoch on these rows, from the last solution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the steps.

        Returns
        -------
        self : object
        """
        if getattr(self, "coef_", None) is None:
            self._check_parameters(partial=True)
        return self._run(X, y, sample_weight, 1, None)

    def predict(self, X):
        """w · x + b of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", order="C", reset=False)
        if not sp.issparse(self.coef_):
            check_fitted(self, "coef_", np.ravel(self.coef_), (X.shape[1],))
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores).ravel()

    def densify(self):
        """Make ``coef_`` dense again.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, msg="Estimator, %(name)s, must be fitted before densifying.")
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray().ravel()
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

    # ------------------------------------------------------------------------ steps of a fit

    def _check_parameters(self, partial: bool) -> None:
        if self.early_stopping and partial:
            raise ValueError("early_stopping should be False with partial_fit")
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ValueError(
                "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the "
                "optimal learning rate."
            )
        if self.learning_rate in ("pa1", "pa2") and self.loss != "epsilon_insensitive":
            raise ValueError(
                f"Learning rate '{self.learning_rate}' only works with loss 'epsilon_insensitive'."
            )
        if self.penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")

    def _run(self, X, y, sample_weight, max_iter: int, init):
        """Epochs; ``init`` is what `fit` begins with, None to go on."""
        goes_on = init is None and getattr(self, "coef_", None) is not None
        X, y = validate_data(
            self, X, y, accept_sparse="csr", order="C", dtype=FLOATS, accept_large_sparse=False,
            reset=not goes_on,
        )  # fmt: skip
        y = y.astype(X.dtype, copy=False)
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype)
        begin, t = self._beginning(X, init, goes_on)
        left_out = self._held_back(y, weights)
        score = self._score_of(X, y, weights, left_out) if self.early_stopping else None
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(0, MOST_SEED))
        random_state.randint(1, MOST_SEED)  # as many draws as scikit-learn's
        found = descend(
            self._rules(X), sgd_rows(X, y, weights), (*begin, t), seed if self.shuffle else None,
            left_out, Stopping(max_iter, self.tol, int(self.n_iter_no_change)), score,
            bool(self.verbose),
        )  # fmt: skip
        if not found.finite:
            raise ValueError(
                f"Floating-point under-/overflow occurred at epoch #{found.n_iter}. Scaling input "
                "data with StandardScaler or MinMaxScaler might help."
            )
        self.n_iter_ = found.n_iter
        self.t_ = t + found.n_iter * X.shape[0]
        dtype = X.dtype
        coef, intercept = found.w.astype(dtype), np.array([found.intercept], dtype=dtype)
        if self.average:
            self._standard_coef, self._standard_intercept = coef, intercept
            self._average_coef = found.average.astype(dtype)
            self._average_intercept = np.array([found.average_intercept], dtype=dtype)
            if self.average <= self.t_ - 1.0:  # enough steps
                coef, intercept = self._average_coef.copy(), self._average_intercept.copy()
        self.coef_, self.intercept_ = coef, intercept
        return self

    def _beginning(self, X, init, goes_on: bool):
        """(weights, intercept, their averages), and the number of the first step."""
        d = X.shape[1]
        average, average_intercept = np.zeros(d if self.average else 0), np.zeros(1)
        if not goes_on:
            coef, intercept = init if init is not None else (None, None)
        elif self.average and hasattr(self, "_average_coef"):
            coef, intercept = self._standard_coef, self._standard_intercept
            average, average_intercept = self._average_coef, self._average_intercept
        else:
            coef, intercept = self.coef_, self.intercept_
        if sp.issparse(coef):
            coef = sp.csr_array(coef).toarray()
        coef = np.zeros(d) if coef is None else np.asarray(coef, dtype=np.float64).ravel()
        if coef.shape != (d,):
            raise ValueError("Provided coef_init does not match dataset.")
        intercept = np.zeros(1) if intercept is None else np.asarray(intercept, dtype=np.float64)
        if intercept.shape not in ((1,), ()):
            raise ValueError("Provided intercept_init does not match dataset.")
        begin = (
            coef, float(intercept.reshape(1)[0]), np.asarray(average, dtype=np.float64),
            float(np.ravel(average_intercept)[0]),
        )  # fmt: skip
        return begin, float(getattr(self, "t_", 1.0)) if init is None else 1.0

    def _rules(self, X) -> kernels.SgdRules:
        code, epsilon, alpha = LOSSES[self.loss], float(self.epsilon), float(self.alpha)
        shares = {"l1": 1.0, "elasticnet": float(self.l1_ratio or 0.0)}
        rate = RATES[self.learning_rate]
        start = optimal_start(code, epsilon, alpha) if rate == kernels.OPTIMAL else 0.0
        step = SPARSE_INTERCEPT_STEP if sp.issparse(X) else 1.0
        watched = bool(self.verbose) or (not self.early_stopping and self.tol is not None)
        return kernels.SgdRules(
            code, epsilon, PENALTIES[self.penalty], alpha, shares.get(self.penalty, 0.0), rate,
            float(self.eta0), float(self.power_t), start, step if self.fit_intercept else 0.0,
            float(self.average), watched,
        )  # fmt: skip

    def _held_back(self, y, weights):
        """Which rows are kept for the score."""
        left_out = np.zeros(len(y), dtype=bool)
        if not self.early_stopping:
            return left_out
        from sklearn.model_selection import ShuffleSplit

        split = ShuffleSplit(test_size=self.validation_fraction, random_state=self.random_state)
        _, chosen = next(split.split(np.zeros((len(y), 1)), y))
        if not np.any(weights[chosen] > 0):
            raise ValueError(
                "The sample weights for validation set are all zero, consider using a different "
                "random state."
            )
        left_out[chosen] = True
        return left_out

    def _score_of(self, X, y, weights, left_out):
        model = clone(self)
        rows, targets, own = X[left_out], y[left_out], weights[left_out]

        def score(w, intercept) -> float:
            model.t_, model.coef_, model.intercept_ = 1.0, w.reshape(1, -1), np.array([intercept])
            return model.score(rows, targets, own)

        return score
