"""Linear regression by stochastic gradient descent."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from fastml._docs import documented
from fastml._progress import fit_steps, telling
from fastml._sklearn import Hidden, StrOptions, fit_context
from fastml._validation import check_fitted, check_is_fitted, check_sample_weight, validate_data
from fastml.linear_model._sgd._settings import (
    ENTRIES,
    LOSSES,
    MOST_SEED,
    Beginning,
    StochasticGradient,
    allowed,
    first_weights,
    held_back,
)

PASSIVE_LOSS = "epsilon_insensitive"


@documented(ENTRIES)
class StochasticRegressor(RegressorMixin, StochasticGradient):
    """One target: weights, intercept, and their averages."""

    def _fit(self, X, y, sample_weight, coef_init, intercept_init):
        own = self._settings()
        self._check_parameters(own, PASSIVE_LOSS, partial=False)
        if self.warm_start and getattr(self, "coef_", None) is not None:
            coef_init = self.coef_ if coef_init is None else coef_init
            intercept_init = self.intercept_ if intercept_init is None else intercept_init
        with fit_steps(self, None, X, y) as steps, telling(steps):
            self._run(X, y, sample_weight, self.max_iter, (coef_init, intercept_init))
        self._warn_of_the_end(own)
        return self

    def _partial_fit(self, X, y, sample_weight):
        if getattr(self, "coef_", None) is None:
            self._check_parameters(self._settings(), PASSIVE_LOSS, partial=True)
        return self._run(X, y, sample_weight, 1, None)

    def predict(self, X):
        """w · x + b of each row.

        Parameters
        ----------
        {rows}

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

    def _shaped(self, coef):
        return coef.ravel()

    def _run(self, X, y, sample_weight, max_iter: int, init):
        """Epochs; ``init`` is what `fit` begins with, None to go on."""
        own = self._settings()
        goes_on = init is None and getattr(self, "coef_", None) is not None
        X, y = self._read(X, y, reset=not goes_on)
        y = y.astype(X.dtype, copy=False)
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype)
        begin = self._beginning(own, X.shape[1], init, goes_on)
        held = np.zeros(len(y), dtype=bool), None
        if own.early_stopping:
            from sklearn.model_selection import ShuffleSplit

            splitter = ShuffleSplit(
                test_size=self.validation_fraction, random_state=self.random_state
            )
            left_out = held_back(y, weights, splitter)
            held = left_out, self._score_of(X[left_out], y[left_out], weights[left_out])
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(0, MOST_SEED))
        random_state.randint(1, MOST_SEED)  # as many draws as scikit-learn's
        found = self._descend(own, (X, y, weights), begin, seed, held, max_iter)
        self._note([found])
        self.n_iter_ = found.n_iter
        self.t_ = begin.t + found.n_iter * X.shape[0]
        dtype = X.dtype
        coef, intercept = found.w.astype(dtype), np.array([found.intercept], dtype=dtype)
        if own.average:
            self._standard_coef, self._standard_intercept = coef, intercept
            self._average_coef = found.average.astype(dtype)
            self._average_intercept = np.array([found.average_intercept], dtype=dtype)
            if own.average <= self.t_ - 1.0:  # enough steps
                coef, intercept = self._average_coef.copy(), self._average_intercept.copy()
        self.coef_, self.intercept_ = coef, intercept
        return self

    def _beginning(self, own, d: int, init, goes_on: bool) -> Beginning:
        average, average_intercept = np.zeros(d if own.average else 0), 0.0
        if not goes_on:
            coef, intercept = init if init is not None else (None, None)
        elif own.average and hasattr(self, "_average_coef"):
            coef, intercept = self._standard_coef, self._standard_intercept
            average = np.asarray(self._average_coef, dtype=np.float64)
            average_intercept = float(self._average_intercept[0])
        else:
            coef, intercept = self.coef_, self.intercept_
        coef = first_weights(coef, (d,), "coef_init")
        intercept = first_weights(intercept, (1,), "intercept_init")
        t = float(getattr(self, "t_", 1.0)) if init is None else 1.0
        return Beginning(coef, float(intercept[0]), average, average_intercept, t)

    def _score_of(self, X, y, weights):
        model = clone(self)

        def score(w, intercept) -> float:
            model.t_, model.coef_, model.intercept_ = 1.0, w.reshape(1, -1), np.array([intercept])
            return model.score(X, y, weights)

        return score


@documented(ENTRIES, state="None", penalty="'l2'", targets="Targets")
class SGDRegressor(StochasticRegressor):
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
    {penalties}
    {fit_intercept}
    {epochs}
    {shuffle}
    epsilon : float, default=0.1
        Width of the last three losses.
    {random_state}
    learning_rate : {'constant', 'optimal', 'invscaling', 'adaptive', 'pa1', 'pa2'}, \
default='invscaling'
        eta0; 1 / (alpha (t₀ + t)); eta0 / t^power_t; eta0, divided by 5 whenever nothing improves;
        the two passive-aggressive rules, for epsilon-insensitive loss.
    eta0 : float, default=0.01
        First step length.
    power_t : float, default=0.25
        Exponent of 'invscaling'.
    {holding_back}
    {warm_start}
    {average}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    intercept_ : ndarray of shape (1,)
        Intercept.
    {counters}
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

    loss_functions = {name: (code, 0.1) for name, code in LOSSES.items()}
    """Names of losses, their codes among the kernels and the default of ``epsilon``."""

    _parameter_constraints: dict = {
        "loss": [StrOptions(set(LOSSES))],
        "learning_rate": [
            StrOptions({"constant", "optimal", "invscaling", "adaptive"}),
            Hidden(StrOptions({"pa1", "pa2"})),
        ],
        **allowed("penalty", "alpha", "l1_ratio", "epsilon", "eta0", "power_t", "early_stopping",
                  "validation_fraction", "n_iter_no_change", "average"),
    }  # fmt: skip

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

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit from the start, or with ``warm_start`` from the last solution.

        Parameters
        ----------
        {X_y}
        {init}
        {sample_weight}

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, coef_init, intercept_init)

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None):
        """One epoch on these rows, from the last solution.

        Parameters
        ----------
        {X_y}
        {sample_weight}

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, sample_weight)

    _blocks_in_order = True  # one after the other: a single worker may as well do all

    def _fit_blocks(self, passes):
        """An epoch is a pass over the blocks in their order, rows shuffled within each."""
        passes.need_target()
        self._epochs(passes, 1, lambda b: self._partial_fit(b.X, b.y, b.weights))
