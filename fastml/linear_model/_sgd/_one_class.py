"""The linear one-class machine by stochastic gradient descent."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from fastml._docs import documented
from fastml._progress import fit_steps, telling
from fastml._sklearn import Hidden, Interval, StrOptions, fit_context
from fastml._validation import check_fitted, check_is_fitted, check_sample_weight, validate_data
from fastml.linear_model._sgd._settings import (
    ENTRIES,
    MOST_SEED,
    Beginning,
    Settings,
    StochasticGradient,
    allowed,
    first_weights,
)


@documented(ENTRIES, state="None")
class SGDOneClassSVM(OutlierMixin, StochasticGradient):
    """Linear one-class support vector machine by stochastic gradient descent.

    Minimises ½ nu \\|w\\|² + nu b + mean max(0, 1 − b − w · x): a plane that leaves a share of
    about nu of the rows on the side of the origin; offset ρ = 1 − b.

    Parameters
    ----------
    nu : float, default=0.5
        Share of the rows outside, in (0, 1].
    {fit_intercept}
    {epochs}
    {shuffle}
    {random_state}
    learning_rate : {'constant', 'optimal', 'invscaling', 'adaptive'}, default='optimal'
        As in `SGDClassifier`.
    eta0 : float, default=0.01
        First step length.
    power_t : float, default=0.5
        Exponent of 'invscaling'.
    {warm_start}
    {average}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    offset_ : ndarray of shape (1,)
        The decision function is ``score_samples(X) - offset_``.
    {counters}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.linear_model import SGDOneClassSVM
    >>> X = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]]
    >>> SGDOneClassSVM(random_state=42, tol=None).fit(X).predict([[4.0, 4.0]])
    array([1], dtype=int32)
    """

    _parameter_constraints: dict = {
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "learning_rate": [
            StrOptions({"constant", "optimal", "invscaling", "adaptive"}),
            Hidden(StrOptions({"pa1", "pa2"})),
        ],
        **allowed("eta0", "power_t", "average"),
    }

    def __init__(
        self,
        nu=0.5,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        shuffle=True,
        verbose=0,
        random_state=None,
        learning_rate="optimal",
        eta0=0.01,
        power_t=0.5,
        warm_start=False,
        average=False,
    ):
        self.nu = nu
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.warm_start = warm_start
        self.average = average

    def _settings(self) -> Settings:
        return Settings(
            "hinge", "l2", self.nu, 0.0, learning_rate=self.learning_rate, eta0=self.eta0,
            power_t=self.power_t, average=self.average, one_class=True,
        )  # fmt: skip

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, coef_init=None, offset_init=None, sample_weight=None):
        """Fit from the start, or with ``warm_start`` from the last solution.

        Parameters
        ----------
        {rows}
        y : Ignored
        coef_init : array-like of shape (n_features,), default=None
            Weights to begin with.
        offset_init : array-like of shape (1,), default=None
            Offset to begin with.
        {sample_weight}

        Returns
        -------
        self : object
        """
        own = self._settings()
        self._check_parameters(own, "hinge", partial=False)
        X = self._read(X, reset=True)
        if self.warm_start and getattr(self, "coef_", None) is not None:
            coef_init = self.coef_ if coef_init is None else coef_init
            offset_init = self.offset_ if offset_init is None else offset_init
        with fit_steps(self, None, X) as steps, telling(steps):
            begin = self._from_given(own, X, coef_init, offset_init)
            self._run(own, X, sample_weight, begin, self.max_iter)
        self._warn_of_the_end(own)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """One epoch on these rows, from the last solution.

        Parameters
        ----------
        {rows}
        y : Ignored
        {sample_weight}

        Returns
        -------
        self : object
        """
        own = self._settings()
        first = getattr(self, "coef_", None) is None
        if first:
            self._check_parameters(own, "hinge", partial=True)
        X = self._read(X, reset=first)
        begin = self._from_given(own, X, None, None) if first else self._from_last(own)
        return self._run(own, X, sample_weight, begin, 1)

    def decision_function(self, X):
        """w · x − ρ: positive inside.

        Parameters
        ----------
        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", order="C", reset=False)
        if not sp.issparse(self.coef_):
            check_fitted(self, "coef_", self.coef_, (X.shape[1],))
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) - self.offset_
        return np.asarray(scores).ravel()

    def score_samples(self, X):
        """w · x of each row.

        Parameters
        ----------
        {rows}

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """1 for rows inside, −1 for those outside.

        Parameters
        ----------
        {rows}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.int32)

    # ------------------------------------------------------------------------ steps of a fit

    def _shaped(self, coef):
        return coef.ravel()

    def _from_given(self, own, X, coef, offset) -> Beginning:
        d = X.shape[1]
        offset = first_weights(offset, (1,), "intercept_init")
        return Beginning(
            first_weights(coef, (d,), "coef_init"), 1.0 - float(offset[0]),
            np.zeros(d if own.average else 0), 0.0, 1.0,
        )  # fmt: skip

    def _from_last(self, own) -> Beginning:
        if sp.issparse(self.coef_):
            self.densify()
        coef, intercept = self.coef_, 1.0 - self.offset_
        average, average_intercept = np.zeros(0), np.zeros(1)
        if own.average:
            average = np.zeros(len(coef))
            if hasattr(self, "_average_coef"):
                coef, intercept = self._standard_coef, self._standard_intercept
                average, average_intercept = self._average_coef, self._average_intercept
        return Beginning(
            np.array(coef, dtype=np.float64), float(intercept[0]),
            np.array(average, dtype=np.float64), float(average_intercept[0]), float(self.t_),
        )  # fmt: skip

    def _run(self, own, X, sample_weight, begin: Beginning, max_iter: int):
        n = X.shape[0]
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype)
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(0, MOST_SEED))
        held = np.zeros(n, dtype=bool), None
        found = self._descend(own, (X, np.ones(n), weights), begin, seed, held, max_iter)
        dtype = X.dtype
        self.n_iter_ = found.n_iter
        self.t_ = begin.t + found.n_iter * n
        self.coef_ = found.w.astype(dtype)
        intercept = np.array([found.intercept], dtype=dtype)
        self.offset_ = 1 - intercept
        if own.average:
            self._standard_coef, self._standard_intercept = self.coef_, intercept
            self._average_coef = found.average.astype(dtype)
            self._average_intercept = np.array([found.average_intercept], dtype=dtype)
            if own.average <= self.t_ - 1.0:  # enough steps
                self.coef_ = self._average_coef.copy()
                self.offset_ = 1 - self._average_intercept
        return self
