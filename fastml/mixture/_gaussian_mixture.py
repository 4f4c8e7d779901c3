"""GaussianMixture."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fastml._engines.em import SHAPES, MixtureRows, Parameters, finish
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context, num_samples
from fastml._validation import FLOATS, check_fitted, relative_weights
from fastml.kernels.mixture.em import HARD, STATISTICS, STORE, STORE_LABELS
from fastml.mixture import _start
from fastml.mixture._blocks import MixtureBlocks
from fastml.mixture._progress import RunProgress


class GaussianMixture(CallbackSupport, DensityMixin, BaseEstimator):
    """Gaussian mixture, fitted by expectation maximisation.

    The density is :math:`p(x) = \\sum_k \\pi_k N(x; \\mu_k, \\Sigma_k)`. The E step takes the
    responsibilities :math:`r_{ik} = \\pi_k N(x_i; \\mu_k, \\Sigma_k) / p(x_i)`, the M step the
    weighted shares, means and covariances under them; the likelihood never falls. Both steps are
    one pass over the rows that stores no responsibilities.

    Parameters
    ----------
    n_components : int, default=1
        The number of components.
    covariance_type : {'full', 'tied', 'diag', 'spherical', 'tied_spherical'}, default='full'
        A covariance matrix per component, one for all, variances per component and feature, one
        variance per component, or one variance in all (not in scikit-learn).
    tol : float, default=1e-3
        EM stops when the mean log-likelihood gains less than this.
    reg_covar : float, default=1e-6
        Added to the variances, to keep them positive.
    max_iter : int, default=100
        Most EM iterations.
    n_init : int, default=1
        Runs from different starts, of which the best is kept.
    init_params : {'kmeans', 'k-means++', 'random', 'random_from_data'}, default='kmeans'
        Where the responsibilities start: labels of k-means, one row per component by k-means++ or
        at random, or random numbers.
    weights_init : array-like of shape (n_components,), default=None
        Starting weights instead.
    means_init : array-like of shape (n_components, n_features), default=None
        Starting means instead.
    precisions_init : array-like, default=None
        Starting precisions (inverse covariances) instead, of the shape of ``precisions_``.
    random_state : int, RandomState instance or None, default=None
        Randomness of the start and of `sample`; drawn from as scikit-learn does.
    warm_start : bool, default=False
        Whether fit starts where the previous one ended.
    verbose : int, default=0
        1 prints iterations, 2 also times and gains.
    verbose_interval : int, default=10
        Iterations between two prints.
    assignment : {'soft', 'hard'}, default='soft'
        'hard' lets a row count for its most likely component only, and leaves the weights out of
        that choice (classification EM, criterion C1 of Celeux and Govaert). With
        ``covariance_type='tied_spherical'`` that is k-means. Not in scikit-learn.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Shares of the components.
    means_ : ndarray of shape (n_components, n_features)
        Their means.
    covariances_ : ndarray
        Their covariances: (n_components, n_features, n_features) if 'full', (n_features,
        n_features) if 'tied', (n_components, n_features) if 'diag', else (n_components,).
    precisions_ : ndarray
        Inverse covariances, of the same shape.
    precisions_cholesky_ : ndarray
        Upper triangular factors U of the precisions, P = U U', of the same shape.
    converged_ : bool
        Whether the best run gained less than ``tol`` at its end.
    n_iter_ : int
        Iterations of the best run.
    lower_bound_ : float
        Its mean log-likelihood (in hard mode: of the chosen components).
    lower_bounds_ : list of float
        The same after every iteration.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.

    References
    ----------
    G. Celeux, G. Govaert, "A classification EM algorithm for clustering and two stochastic
    versions", Computational Statistics & Data Analysis 14 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.mixture import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> mixture = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> mixture.means_
    array([[10.,  2.],
           [ 1.,  2.]])
    >>> mixture.predict([[0, 0], [12, 3]])
    array([1, 0])
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(SHAPES))],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"kmeans", "random", "random_from_data", "k-means++"})],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "assignment": [StrOptions({"soft", "hard"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components=1,
        *,
        covariance_type="full",
        tol=1e-3,
        reg_covar=1e-6,
        max_iter=100,
        n_init=1,
        init_params="kmeans",
        weights_init=None,
        means_init=None,
        precisions_init=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        verbose_interval=10,
        assignment="soft",
        n_jobs=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.assignment = assignment
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the mixture to the rows of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a whole weight counts as that many equal rows.

        Returns
        -------
        self : object
        """
        self._fit(X, sample_weight)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit the mixture and return the most probable component of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components.
        """
        return self._labels(self._fit(X, sample_weight))

    def _fit(self, X, sample_weight):
        X = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
        if X.shape[0] < self.n_components:
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {X.shape[0]}"
            )
        weights, _ = relative_weights(sample_weight, X, dtype=np.float64)
        given = _start.check_given(self, X.shape[1])
        rows = self._rows(X, weights, np.average(X, axis=0, weights=weights))
        start = self.warm_start and hasattr(self, "converged_")
        random_state = check_random_state(self.random_state)
        n_runs = 1 if start else self.n_init
        source = sample_weight if sample_weight is None else weights
        with fit_steps(self, n_runs, X) as steps:
            best = self._best_run(X, rows, given, start, random_state, source, steps)
        parameters, self.lower_bound_, self.lower_bounds_, self.converged_ = best
        self.n_iter_ = len(self.lower_bounds_)
        self._warn_unless_converged()
        self._set_parameters([array.astype(X.dtype, copy=False) for array in parameters])
        return X

    def _fit_blocks(self, passes):
        r"""As `fit`; starts by k-means begin with k-means\|\| (Bahmani et al., 2012)."""
        if passes.n_rows < max(2, self.n_components):
            raise ValueError(
                "Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {passes.n_rows}"
            )
        given = _start.check_given(self, passes.n_features)
        rows = MixtureBlocks(passes, self)
        random_state = check_random_state(self.random_state)
        best = None
        for _ in range(self.n_init):
            found = None
            if not all(array is not None for array in given):
                found = rows.start(random_state)
            parameters = _start.replace_given(rows.shape, found, given)
            bound, bounds, converged = -np.inf, [], False
            for _ in range(self.max_iter):
                previous = bound
                bound, parameters = rows.step(parameters, self._hard)
                bounds.append(bound)
                converged = abs(bound - previous) < self.tol
                if converged:
                    break
            if best is None or bound > best[1]:
                best = parameters, bound, bounds, converged
        parameters, self.lower_bound_, self.lower_bounds_, self.converged_ = best
        self.n_iter_ = len(self.lower_bounds_)
        self._warn_unless_converged()
        self._set_parameters([array.astype(passes.dtype, copy=False) for array in parameters])

    def _warn_unless_converged(self):
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, "
                "or increase max_iter, tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _best_run(self, X, rows, given, start, random_state, source, steps):
        """The run of the greatest bound: what `_run` returns."""
        best = None
        for run in range(1 if start else self.n_init):
            progress = RunProgress(self.verbose, self.verbose_interval, run)
            if start:
                parameters, bound = self._parameters(), self.lower_bound_
            else:
                parameters = _start.initial(self, X, rows, given, random_state, source)
                bound = -np.inf
            own = steps.begin("start", self.max_iter)
            outcome = self._run(rows, parameters, bound, progress, own)
            if best is None or outcome[1] > best[1]:
                best = outcome
            if own.end():
                break
        return best

    def _run(self, rows, parameters, bound, progress, steps):
        """EM from ``parameters``: (parameters, bound, all bounds, converged)."""
        eps = 0.0 if self._hard else 10 * np.finfo(rows.X.dtype).eps
        scatter = rows.scatter() if self.covariance_type == "tied" else None
        total = rows.weights.sum()
        bounds = []
        converged = False
        for iteration in range(1, self.max_iter + 1):
            previous, step = bound, steps.begin()
            statistics = rows.expect(parameters, STATISTICS | self._hard)
            bound = float(statistics.log_likelihood / total)
            _, parameters = finish(
                rows.shape,
                statistics,
                parameters.means,
                reg_covar=self.reg_covar,
                eps=eps,
                center=rows.center,
                scatter=scatter,
            )
            bounds.append(bound)
            progress.iteration(iteration, bound - previous)
            converged = abs(bound - previous) < self.tol
            if step.end(lambda now=parameters: self._attributes(now)) or converged:
                break
        if self.max_iter > 0:
            progress.end(bound, converged)
        return parameters, bound, bounds, converged

    def _initialize(self, X, resp):
        """Take starting parameters from responsibilities (a hook of scikit-learn's)."""
        n_components = resp.shape[1]
        rows = MixtureRows(X, SHAPES[self.covariance_type], n_components, n_jobs=self.n_jobs)
        given = (self.weights_init, self.means_init, self.precisions_init)
        found = _start.from_responsibilities(rows, lambda a, b: resp[a:b], self.reg_covar)
        parameters = _start.replace_given(rows.shape, found, given)
        self.weights_, self.means_, self.covariances_, self.precisions_cholesky_ = parameters

    def _parameters(self):
        """The fitted parameters in float64."""
        fitted = (self.weights_, self.means_, self.covariances_, self.precisions_cholesky_)
        found = Parameters(*(np.asarray(array, dtype=np.float64) for array in fitted))
        k, d = self.n_components, self.n_features_in_
        shapes = {"full": (k, d, d), "tied": (d, d), "diag": (k, d)}
        covariances = shapes.get(self.covariance_type, (k,))  # spherical: a number each
        for name, array, right in zip(
            found._fields, found, ((k,), (k, d), covariances, covariances)
        ):
            check_fitted(self, f"{name}_", array, right)
        return found

    def _attributes(self, parameters) -> dict:
        """Attributes of a mixture of these parameters."""
        names = ("weights_", "means_", "covariances_", "precisions_cholesky_")
        return dict(zip(names, parameters))

    def _set_parameters(self, parameters):
        self.weights_, self.means_, self.covariances_, self.precisions_cholesky_ = parameters
        self.precisions_ = SHAPES[self.covariance_type].precisions(self.precisions_cholesky_)

    # ------------------------------------------------------------------ fitted

    @property
    def _hard(self):
        return HARD if self.assignment == "hard" else 0

    def _rows(self, X, weights=None, center=None):
        shape = SHAPES[self.covariance_type]
        return MixtureRows(
            X, shape, self.n_components, weights=weights, center=center, n_jobs=self.n_jobs
        )

    def _expect(self, X, what, **outputs):
        parameters = self._parameters()
        self._rows(X, center=parameters.means.mean(axis=0)).expect(parameters, what, **outputs)

    def _validate(self, X):
        check_is_fitted(self)
        return validate_data(self, X, dtype=FLOATS, reset=False)

    def _labels(self, X):
        labels = np.empty(X.shape[0], dtype=np.intp)
        self._expect(X, STORE_LABELS | self._hard, labels=labels)
        return labels

    def predict(self, X):
        """The most probable component of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Indices of components; the lowest of equals.
        """
        return self._labels(self._validate(X))

    def predict_proba(self, X):
        """Responsibilities of the components for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        responsibilities : ndarray of shape (n_samples, n_components)
            Rows sum up to one.
        """
        X = self._validate(X)
        resp = np.empty((X.shape[0], self.n_components))
        self._expect(X, STORE, log_density=np.empty(X.shape[0]), resp=resp)
        return resp.astype(X.dtype, copy=False)

    def score_samples(self, X):
        """Log density of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            log p(x).
        """
        X = self._validate(X)
        log_density = np.empty(X.shape[0])
        self._expect(X, STORE, log_density=log_density)
        return log_density.astype(X.dtype, copy=False)

    def score(self, X, y=None):
        """Mean log density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.
        y : Ignored

        Returns
        -------
        log_likelihood : float
        """
        return float(np.mean(self.score_samples(X)))

    def _n_parameters(self):
        n_components, n_features = self.means_.shape
        covariances = SHAPES[self.covariance_type].n_parameters(n_components, n_features)
        return covariances + n_components * n_features + n_components - 1

    def bic(self, X):
        """Bayesian information criterion: -2 log-likelihood + log(n) · number of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        bic : float
            The lower, the better.
        """
        n = num_samples(X)
        return -2 * self.score(X) * n + self._n_parameters() * math.log(n)

    def aic(self, X):
        """Akaike's information criterion: -2 log-likelihood + 2 · number of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        aic : float
            The lower, the better.
        """
        return -2 * self.score(X) * num_samples(X) + 2 * self._n_parameters()

    def sample(self, n_samples=1):
        """Draw rows from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows, ordered by component.
        y : ndarray of shape (n_samples,)
            Their components.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples} . The sampling requires at "
                "least one sample."
            )
        random_state = check_random_state(self.random_state)
        counts = random_state.multinomial(n_samples, self.weights_)
        n_components, n_features = self.means_.shape
        drawn = []
        for k, count in enumerate(counts):
            if self.covariance_type in ("full", "tied"):
                full = self.covariance_type == "full"
                covariance = self.covariances_[k] if full else self.covariances_
                rows = random_state.multivariate_normal(self.means_[k], covariance, int(count))
            else:
                noise = random_state.standard_normal(size=(count, n_features))
                rows = self.means_[k] + noise * np.sqrt(self.covariances_[k])
            drawn.append(rows)
        return np.vstack(drawn), np.repeat(np.arange(n_components), counts)
