"""Passive-aggressive models: each row changes the weights by as little as it takes.

scikit-learn 1.8 deprecates its classes in favour of ``learning_rate="pa1"`` and ``"pa2"`` of the
models by stochastic gradient descent; here both spellings stay.
"""

from __future__ import annotations

from numbers import Real

from fastml._docs import documented
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml.linear_model._sgd._classification import StochasticClassifier
from fastml.linear_model._sgd._regression import StochasticRegressor
from fastml.linear_model._sgd._settings import ENTRIES, Settings, allowed

AGGRESSIVENESS = {"C": [Interval(Real, 0, None, closed="right")]}


@documented(ENTRIES, state="None", targets="Labels")
class PassiveAggressiveClassifier(StochasticClassifier):
    """Passive-aggressive classification (Crammer et al., 2006).

    A row with the loss ℓ = max(0, 1 − y (w · x + b)) > 0 moves the weights by

        w ← w + τ y x,  τ = min(C, ℓ / \\|x\\|²)  or  τ = ℓ / (\\|x\\|² + 1 / (2 C))

    which is `SGDClassifier` with ``loss="hinge"``, ``penalty=None``, ``eta0=C`` and
    ``learning_rate="pa1"`` or ``"pa2"``.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the longest step, or what limits all steps.
    {fit_intercept}
    {epochs}
    {holding_back}
    {shuffle}
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        The first or the second step length.
    {n_jobs}
    {random_state}
    {warm_start}
    {class_weight}
    {average}

    Attributes
    ----------
    {classes_}
    {counters}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from fastml.linear_model import PassiveAggressiveClassifier
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2]
    >>> PassiveAggressiveClassifier(random_state=0).fit(X, y).predict([[-0.8, -1.0]])
    array([1])
    """

    _parameter_constraints: dict = {
        **AGGRESSIVENESS,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        **allowed("n_jobs", "early_stopping", "validation_fraction", "n_iter_no_change",
                  "class_weight", "average"),
    }  # fmt: skip

    def __init__(
        self,
        *,
        C=1.0,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        shuffle=True,
        verbose=0,
        loss="hinge",
        n_jobs=None,
        random_state=None,
        warm_start=False,
        class_weight=None,
        average=False,
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.average = average

    def _settings(self) -> Settings:
        return Settings(
            "hinge", alpha=1.0, learning_rate="pa1" if self.loss == "hinge" else "pa2",
            eta0=self.C, average=self.average, early_stopping=self.early_stopping,
            n_iter_no_change=self.n_iter_no_change,
        )  # fmt: skip

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
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One epoch on these rows, from the last solution.

        Parameters
        ----------
        {X_y}
        classes : array-like of shape (n_classes,), default=None
            All labels that may come; needed at the first call.
        {sample_weight}

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, classes, sample_weight)


@documented(ENTRIES, state="None", targets="Targets")
class PassiveAggressiveRegressor(StochasticRegressor):
    """Passive-aggressive regression (Crammer et al., 2006).

    A row with the loss ℓ = max(0, |y − w · x − b| − epsilon) > 0 moves the weights towards it by

        τ = min(C, ℓ / \\|x\\|²)  or  τ = ℓ / (\\|x\\|² + 1 / (2 C))

    times x, which is `SGDRegressor` with ``loss="epsilon_insensitive"``, ``penalty=None``,
    ``eta0=C`` and ``learning_rate="pa1"`` or ``"pa2"``.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the longest step, or what limits all steps.
    {fit_intercept}
    {epochs}
    {holding_back}
    {shuffle}
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        The first or the second step length.
    epsilon : float, default=0.1
        Errors up to it change nothing.
    {random_state}
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
    >>> from fastml.linear_model import PassiveAggressiveRegressor
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    >>> model = PassiveAggressiveRegressor(epsilon=0.01, random_state=0).fit(X, y)
    >>> model.predict([[3.0]]).round(1)
    array([7.])
    """

    _parameter_constraints: dict = {
        **AGGRESSIVENESS,
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        **allowed("epsilon", "early_stopping", "validation_fraction", "n_iter_no_change",
                  "average"),
    }  # fmt: skip

    def __init__(
        self,
        *,
        C=1.0,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-3,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=5,
        shuffle=True,
        verbose=0,
        loss="epsilon_insensitive",
        epsilon=0.1,
        random_state=None,
        warm_start=False,
        average=False,
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.verbose = verbose
        self.loss = loss
        self.epsilon = epsilon
        self.random_state = random_state
        self.warm_start = warm_start
        self.average = average

    def _settings(self) -> Settings:
        return Settings(
            "epsilon_insensitive", alpha=1.0, epsilon=self.epsilon,
            learning_rate="pa1" if self.loss == "epsilon_insensitive" else "pa2", eta0=self.C,
            average=self.average, early_stopping=self.early_stopping,
            n_iter_no_change=self.n_iter_no_change,
        )  # fmt: skip

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
