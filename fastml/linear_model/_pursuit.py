"""Orthogonal matching pursuit."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.pursuit import ENDED_EARLY, pursue
from fastml._sklearn import Interval, StrOptions, fit_context, raise_for_params
from fastml._validation import FLOATS, validate_data
from fastml.linear_model._base import LinearPredictor, settled
from fastml.linear_model._folds import ChosenByFolds
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY


@documented({"keep_summary": KEEP_ENTRY})
class OrthogonalMatchingPursuit(MultiOutputMixin, RegressorMixin, LinearPredictor):
    """Least squares on columns that are chosen one by one.

    The column with the largest product with the residual, \\|x_j · r\\|, comes next; the weights of
    the chosen columns are those of least squares.

    Parameters
    ----------
    n_nonzero_coefs : int, default=None
        Number of columns; None is a tenth of them, at least one. Not used if ``tol`` is given.
    tol : float, default=None
        Squared norm of the residual at which to end.
    fit_intercept : bool, default=True
        Whether there is a constant.
    precompute : 'auto' or bool, default='auto'
        For scikit-learn's sake: only the rows of the Gram matrix that are needed are made.
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant; 0.0 without one.
    n_iter_ : int or list of int
        Number of columns chosen.
    n_nonzero_coefs_ : int or None
        Number of columns asked for; None if ``tol`` decides.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import OrthogonalMatchingPursuit
    >>> X = np.random.default_rng(0).normal(size=(50, 10))
    >>> model = OrthogonalMatchingPursuit(n_nonzero_coefs=2).fit(X, 3 * X[:, 1] - X[:, 7])
    >>> np.flatnonzero(model.coef_)
    array([1, 7])
    """

    _parameter_constraints: dict = {
        **KEEP,
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "precompute": [StrOptions({"auto"}), "boolean"],
    }

    def __init__(
        self,
        *,
        n_nonzero_coefs=None,
        tol=None,
        fit_intercept=True,
        precompute="auto",
        keep_summary=False,
    ):
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Choose columns and fit their weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.

        Returns
        -------
        self : object
        """
        X, Y, axes = self._read(X, y, accept_sparse=False)
        d = X.shape[1]
        self.n_nonzero_coefs_ = None
        if self.tol is None:
            self.n_nonzero_coefs_ = self.n_nonzero_coefs or max(int(0.1 * d), 1)
            if self.n_nonzero_coefs_ > d:
                raise ValueError("The number of atoms cannot be more than the number of features")
        design = CentredDesign(X, None, self.fit_intercept)
        b, y_means = design.targets(Y)
        coef, chosen = np.empty((d, Y.shape[1])), []
        for t in range(Y.shape[1]):
            target = np.ascontiguousarray(b[:, t])
            coef[:, t], count, _ = pursue(design, target, self.n_nonzero_coefs_ or d, self.tol)
            chosen.append(count)
        self.n_iter_ = chosen[0] if len(chosen) == 1 else chosen
        self._set(coef, design.means, y_means, X.dtype, axes, flat=True)
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0])
        return self


@documented({"keep_summary": KEEP_ENTRY})
class OrthogonalMatchingPursuitCV(RegressorMixin, ChosenByFolds, LinearPredictor):
    """Orthogonal matching pursuit with the number of columns chosen by cross-validation.

    Parameters
    ----------
    copy : bool, default=True
        For scikit-learn's sake: X is never written to.
    fit_intercept : bool, default=True
        Whether there is a constant.
    max_iter : int, default=None
        Most columns; None is a tenth of them, at least five if there are so many.
    cv : int, cross-validation generator or iterable, default=None
        Folds; None means five.
    n_jobs : int, default=None
        For scikit-learn's sake: BLAS uses all cores.
    verbose : bool or int, default=False
        For scikit-learn's sake: nothing is printed.
    {keep_summary}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    intercept_ : float
        The constant; 0.0 without one.
    n_iter_ : int
        Number of columns chosen in the last fit.
    n_nonzero_coefs_ : int
        Number of columns with the smallest mean squared error on folds left out.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import OrthogonalMatchingPursuitCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 10))
    >>> y = 3 * X[:, 1] - X[:, 7] + 0.1 * rng.normal(size=100)
    >>> OrthogonalMatchingPursuitCV().fit(X, y).coef_[[1, 7]].round(1)
    array([ 3., -1.])
    """

    _parameter_constraints: dict = {
        **KEEP,
        "copy": ["boolean"],
        "fit_intercept": ["boolean"],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        copy=True,
        fit_intercept=True,
        max_iter=None,
        cv=None,
        n_jobs=None,
        verbose=False,
        keep_summary=False,
    ):
        self.copy = copy
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, **fit_params):
        """Choose the number of columns and fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        **fit_params : dict
            What metadata routing hands to the splitter.

        Returns
        -------
        self : object
        """
        raise_for_params(fit_params, self, "fit")
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True, ensure_min_features=2)
        X, y = settled(X), y.astype(np.float64)
        folds = self._folds(X, y, fit_params)
        d = X.shape[1]
        most = self.max_iter or min(max(int(0.1 * d), 5), d)
        errors = [self._fold_errors(X, y, train, test, most) for train, test in folds]
        shortest = min(map(len, errors))
        if not shortest:
            raise ValueError("no column of X can be chosen: in a fold none goes with y")
        mean = np.mean([e[:shortest] for e in errors], axis=0)
        self.n_nonzero_coefs_ = int(mean.argmin()) + 1
        model = OrthogonalMatchingPursuit(
            n_nonzero_coefs=self.n_nonzero_coefs_, fit_intercept=self.fit_intercept
        ).fit(X, y)
        self.coef_, self.intercept_, self.n_iter_ = model.coef_, model.intercept_, model.n_iter_
        self._keep(X, y)
        return self

    def _fold_errors(self, X, y, train, test, most):
        """Mean squared error on the fold for every number of columns."""
        design = CentredDesign(X[train], None, self.fit_intercept)
        b, y_means = design.targets(y[train, None])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=ENDED_EARLY)
            _, _, path = pursue(design, b[:, 0].copy(), most, None, keep_path=True)
        if not path:
            return np.empty(0)
        coefs = np.array(path).T
        residuals = X[test] @ coefs - (design.means @ coefs) + y_means - y[test, None]
        return (residuals**2).mean(axis=0)
