"""Lasso and elastic net that choose their penalty by cross-validation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.elastic_net import penalty_grid
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, StrOptions, fit_context, raise_for_params
from fastml._threads import effective_n_threads, single_threaded_blas
from fastml._validation import FLOATS, validate_data
from fastml.linear_model._base import LinearPredictor, settled
from fastml.linear_model._docs import NET_ENTRIES
from fastml.linear_model._folds import ChosenByFolds, FoldMoments
from fastml.linear_model._path import enet_path, largest_of, lasso_path, warn_of_gaps
from fastml.linear_model._summarised import KEEP

CV_CONSTRAINTS = {
    "eps": [Interval(Real, 0, None, closed="neither")],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
    "fit_intercept": ["boolean"],
    "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "copy_X": ["boolean"],
    "cv": ["cv_object"],
    "verbose": ["verbose"],
    "n_jobs": [Integral, None],
    "positive": ["boolean"],
    "random_state": ["random_state"],
    "selection": [StrOptions({"cyclic", "random"})],
}
SHARE = {"l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"]}


def _cv_but(*names):
    return {name: value for name, value in CV_CONSTRAINTS.items() if name not in names}


class _PathCV(CallbackSupport, ChosenByFolds, LinearPredictor):
    """Folds, paths on each, the best mean error, and the fit on all rows."""

    _joint = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.single_output = not self._joint
        tags.target_tags.multi_output = self._joint
        return tags

    def _fit(self, X, y, sample_weight, params):
        raise_for_params(params, self, "fit")
        X, y = validate_data(
            self, X, y,
            validate_separately=(
                {"accept_sparse": ("csr", "csc"), "dtype": FLOATS, "accept_large_sparse": False},
                {"dtype": FLOATS, "ensure_2d": False},
            ),
        )  # fmt: skip
        X = settled(X)
        Y, axes = self._targets(X, y)
        weights = self._relative_weights(sample_weight, X)
        l1_ratios = np.atleast_1d(getattr(self, "l1_ratio", 1.0))
        folds = self._folds(X, y, params, sample_weight=sample_weight)
        rows = FoldMoments(X, Y, weights, self.fit_intercept, self._joint, folds)
        grids = self._grids(rows, l1_ratios)
        with fit_steps(self, len(l1_ratios) * len(folds), X, y) as steps:
            errors = self._errors(rows, l1_ratios, grids, steps)  # (l1_ratios, folds, alphas)
        means = errors.mean(axis=1)
        # A path that ended in NaN never wins.
        means = np.where(np.isfinite(means), means, np.inf)
        share, best = np.unravel_index(means.argmin(), means.shape)
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        self.alpha_ = grids[share][best]
        if hasattr(self, "l1_ratio"):
            self.l1_ratio_ = l1_ratios[share]
        several = isinstance(self.alphas, Integral) and len(l1_ratios) > 1
        self.alphas_ = np.asarray(grids) if several else np.asarray(grids[0])
        self._refit(rows, float(self.alpha_), float(l1_ratios[share]), X.dtype, axes)
        self._keep(X, Y if self._joint else Y[:, 0], sample_weight=weights)
        return self

    def _targets(self, X, y):
        from sklearn.utils import check_consistent_length, column_or_1d

        check_consistent_length(X, y)
        name = type(self).__name__
        if self._joint:
            if y.ndim == 1:
                raise ValueError(f"For mono-task outputs, use {name[9:]}")
        else:
            if y.ndim > 1 and y.shape[1] > 1:
                raise ValueError(f"For multi-task outputs, use MultiTask{name}")
            y = column_or_1d(y, warn=True)
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1), y.ndim

    def _grids(self, rows, l1_ratios):
        if isinstance(self.alphas, Integral):
            cross, total = rows.cross(), rows.total
            positive = getattr(self, "positive", False)
            return [
                penalty_grid(largest_of(cross, total, share, positive), self.eps, self.alphas)
                for share in l1_ratios
            ]
        from sklearn.utils import check_scalar

        for i, alpha in enumerate(self.alphas):
            check_scalar(alpha, f"alphas[{i}]", Real, min_val=0.0, include_boundaries="left")
        return [np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]] * len(l1_ratios)

    def _options(self):
        shuffle = None
        if self.selection == "random":
            from sklearn.utils import check_random_state

            shuffle = check_random_state(self.random_state)
        return {
            "tol": self.tol, "most": self.max_iter, "positive": getattr(self, "positive", False),
            "shuffle": shuffle,
        }  # fmt: skip

    def _errors(self, rows, l1_ratios, grids, steps):
        jobs = [(f, s) for s in range(len(l1_ratios)) for f in range(len(rows.folds))]
        options = self._options()

        def work(job):
            fold, share = job
            step = steps.begin("fold")
            found = rows.error(fold, grids[share], float(l1_ratios[share]), options)
            step.end()
            return found

        threads = effective_n_threads(self.n_jobs, 10.0 * rows.X.shape[0] * rows.X.shape[1])
        with single_threaded_blas():  # folds are the threads, and bits do not depend on them
            if threads == 1 or options["shuffle"] is not None or steps.told:
                found = [work(job) for job in jobs]
            else:
                with ThreadPoolExecutor(threads) as pool:
                    found = list(pool.map(work, jobs))
        gaps = np.concatenate([gap for _, gap in found])
        warn_of_gaps(gaps, 0.0, self.max_iter, stacklevel=5)
        return np.reshape([error for error, _ in found], (len(l1_ratios), len(rows.folds), -1))

    def _refit(self, rows, alpha, share, dtype, axes):
        l1, l2 = [alpha * share * rows.total], [alpha * (1.0 - share) * rows.total]
        found = rows.solve_all(l1, l2, self._options())
        warn_of_gaps(found.gaps[0], self.tol * found.squares, self.max_iter, stacklevel=5)
        self.dual_gap_, self.n_iter_ = found.gaps[0, 0] / rows.total, int(found.passes[0, 0])
        self._set(found.coefs[0], found.x_means, found.y_means, dtype, axes, flat=False)


@documented(NET_ENTRIES)
class ElasticNetCV(RegressorMixin, _PathCV):
    """Elastic net with penalty and share of l1 chosen by cross-validation.

    For every share and fold the path of `enet_path` is computed on the other folds; the pair with
    the smallest mean squared error, averaged over folds, is fitted on all rows.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        Share of the l1 penalty, or shares to choose from.
    {grid}
    {fit_intercept}
    precompute : 'auto', bool or array-like, default='auto'
        For scikit-learn's sake: Gram matrices of folds are made where they help.
    {max_iter}
    {tol}
    {copy_X}
    {folds}
    {positive}
    {random_state}
    {selection}
    {keep_summary}

    Attributes
    ----------
    l1_ratio_ : float
        The share chosen.
    {chosen}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9], cv=5).fit(X, X[:, 0] + 0.1 * rng.normal(size=60))
    >>> bool(abs(model.coef_[0] - 1) < 0.1)
    True
    """

    _parameter_constraints: dict = {**KEEP, **CV_CONSTRAINTS, **SHARE}

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio=0.5,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-4,
        cv=None,
        copy_X=True,
        verbose=0,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        keep_summary=False,
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors, in training and in the errors of folds.
        **params : dict, default=None
            What metadata routing hands to the splitter.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, params)


@documented(NET_ENTRIES)
class LassoCV(RegressorMixin, _PathCV):
    """Lasso with a penalty chosen by cross-validation.

    For every fold the path of `lasso_path` is computed on the other folds; the penalty with the
    smallest mean squared error, averaged over folds, is fitted on all rows.

    Parameters
    ----------
    {grid}
    {fit_intercept}
    precompute : 'auto', bool or array-like, default='auto'
        For scikit-learn's sake: Gram matrices of folds are made where they help.
    {max_iter}
    {tol}
    {copy_X}
    {folds}
    {positive}
    {random_state}
    {selection}
    {keep_summary}

    Attributes
    ----------
    {chosen}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> model = LassoCV(cv=5).fit(X, X[:, 0] + 0.1 * rng.normal(size=60))
    >>> bool(abs(model.coef_[0] - 1) < 0.1)
    True
    """

    _parameter_constraints: dict = {**KEEP, **CV_CONSTRAINTS}

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-4,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
        keep_summary=False,
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors, in training and in the errors of folds.
        **params : dict, default=None
            What metadata routing hands to the splitter.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, params)


@documented(NET_ENTRIES)
class MultiTaskElasticNetCV(MultiOutputMixin, RegressorMixin, _PathCV):
    """`MultiTaskElasticNet` with penalty and share of l1 chosen by cross-validation.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        Share of the l1 penalty, or shares to choose from.
    {grid}
    {fit_intercept}
    {max_iter}
    {tol}
    {copy_X}
    {folds}
    {random_state}
    {selection}

    Attributes
    ----------
    l1_ratio_ : float
        The share chosen.
    {chosen}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import MultiTaskElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> MultiTaskElasticNetCV(cv=3).fit(X, X[:, :2]).coef_.shape
    (2, 3)
    """

    _joint = True
    _parameter_constraints: dict = {**_cv_but("precompute", "positive"), **SHARE}

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio=0.5,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        cv=None,
        copy_X=True,
        verbose=0,
        n_jobs=None,
        random_state=None,
        selection="cyclic",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors, in training and in the errors of folds.
        **params : dict, default=None
            What metadata routing hands to the splitter.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, params)


@documented(NET_ENTRIES)
class MultiTaskLassoCV(MultiOutputMixin, RegressorMixin, _PathCV):
    """`MultiTaskLasso` with a penalty chosen by cross-validation.

    Parameters
    ----------
    {grid}
    {fit_intercept}
    {max_iter}
    {tol}
    {copy_X}
    {folds}
    {random_state}
    {selection}

    Attributes
    ----------
    {chosen}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import MultiTaskLassoCV
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> MultiTaskLassoCV(cv=3).fit(X, X[:, :2]).coef_.shape
    (2, 3)
    """

    _joint = True
    _parameter_constraints: dict = _cv_but("precompute", "positive")

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        random_state=None,
        selection="cyclic",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty and fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the squared errors, in training and in the errors of folds.
        **params : dict, default=None
            What metadata routing hands to the splitter.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight, params)
