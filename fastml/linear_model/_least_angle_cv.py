"""Least angle regression, and the lasso along it, that end where cross-validation says."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np

from fastml._docs import documented
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.least_angle import KnownGram, least_angles
from fastml._engines.linear.moments import Centred
from fastml._progress import CallbackSupport, fit_steps, telling, told
from fastml._sklearn import Interval, fit_context, raise_for_params
from fastml._validation import FLOATS, validate_data
from fastml.linear_model._base import settled
from fastml.linear_model._folds import ChosenByFolds, FoldMoments
from fastml.linear_model._least_angle import (
    ANGLE_CONSTRAINTS,
    ANGLE_ENTRIES,
    EPS,
    STEPS,
    Lars,
)
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY

ENTRIES = {
    **ANGLE_ENTRIES,
    "folds": """
cv : int, cross-validation generator or iterable, default=None
    Folds; None means five.
max_n_alphas : int, default=1000
    Most penalties at which the folds are compared.
n_jobs : int, default=None
    For scikit-learn's sake: BLAS uses all cores.
""",
    "chosen": """
alpha_ : float
    The penalty chosen.
cv_alphas_ : ndarray of shape (n_cv_alphas,)
    Penalties at the corners of the paths of all folds, in rising order.
mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
    Mean squared errors of the folds left out.
""",
}
CV_CONSTRAINTS = {
    **{k: v for k, v in ANGLE_CONSTRAINTS.items() if k not in ("fit_path", "jitter",
                                                               "random_state")},
    "max_iter": STEPS["max_iter"],
    "cv": ["cv_object"],
    "max_n_alphas": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
}  # fmt: skip


class _AngleCV(CallbackSupport, ChosenByFolds, Lars):
    """Paths of folds, errors between their corners, and the fit on all rows."""

    _lasso = False
    fit_path = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _fit(self, X, y, params):
        raise_for_params(params, self, "fit")
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True)
        X, Y = settled(X), np.asarray(y, dtype=np.float64)[:, None]
        if isinstance(self.precompute, np.ndarray):
            warnings.warn(
                f'Parameter "precompute" cannot be an array in {type(self).__name__}. '
                'Automatically switch to "auto" instead.',
                stacklevel=3,
            )
        folds = self._folds(X, y, params)
        rows = FoldMoments(X, Y, None, self.fit_intercept, False, folds)
        with fit_steps(self, len(folds), X, y) as steps, telling(steps):
            paths = [self._corners(rows, fold) for fold in told("fold", range(len(folds)))]
        alphas = np.unique(np.concatenate([corners for corners, _ in paths]))
        alphas = alphas[:: max(1, len(alphas) // self.max_n_alphas)]
        errors = np.stack([_between(alphas, *path) for path in paths], axis=1)
        usable = np.isfinite(errors).all(axis=1)
        alphas, errors = alphas[usable], errors[usable]
        self.alpha_ = alphas[errors.mean(axis=1).argmin()]
        self.cv_alphas_, self.mse_path_ = alphas, errors
        self._walk(
            X, Y, 1, lasso=self._lasso, max_iter=self.max_iter, alpha_min=float(self.alpha_),
            use_gram=False,
        )  # fmt: skip
        self._keep(X, Y[:, 0])
        return self

    def _corners(self, rows: FoldMoments, fold: int):
        """(penalties of the path of a fold, residuals of the rows left out at each of them)."""
        train, test = rows.folds[fold]
        options = {
            "max_iter": self.max_iter, "lasso": self._lasso, "eps": self.eps,
            "positive": getattr(self, "positive", False),
        }  # fmt: skip
        if rows.by_gram:
            known = Centred.of(rows.training(fold), self.fit_intercept, spoiled=True)
            x_means, y_mean = known.x_means, known.y_means[0]
            found = least_angles(
                KnownGram(len(train), rows.X.shape[1]), np.empty(0), gram=known.gram,
                cross=known.cross[:, 0], **options,
            )  # fmt: skip
        else:
            design = CentredDesign(rows.X[train], None, self.fit_intercept)
            b, y_means = design.targets(rows.Y[train])
            x_means, y_mean = design.means, y_means[0]
            found = least_angles(design, b[:, 0].copy(), **options)
        left = rows.Y[test, 0] - y_mean
        return found.alphas, left[:, None] - (rows.X[test] @ found.coefs - x_means @ found.coefs)


def _between(alphas, corners, residuals):
    """Mean squared residuals at every penalty, where residuals are linear between corners.

    (1 − t) r + t s has the mean square (1 − t)² r·r + 2 t (1 − t) r·s + t² s·s, over n. Below
    the last corner and above the first they are those of the corner.
    """
    corners, residuals = corners[::-1], residuals[:, ::-1]
    own = np.einsum("ik,ik->k", residuals, residuals) / len(residuals)
    if len(corners) == 1:
        return np.full(len(alphas), own[0])
    pairs = np.einsum("ik,ik->k", residuals[:, :-1], residuals[:, 1:]) / len(residuals)
    low = np.clip(np.searchsorted(corners, alphas, side="right") - 1, 0, len(corners) - 2)
    width = corners[low + 1] - corners[low]
    t = np.where(width > 0.0, (alphas - corners[low]) / np.where(width > 0.0, width, 1.0), 0.0)
    t = np.clip(t, 0.0, 1.0)
    return (1.0 - t) ** 2 * own[low] + 2.0 * t * (1.0 - t) * pairs[low] + t * t * own[low + 1]


@documented(ENTRIES, {"keep_summary": KEEP_ENTRY})
class LarsCV(_AngleCV):
    """Least angle regression that ends where cross-validation says.

    The path of `Lars` on all folds but one gives the squared errors of that one for every penalty;
    the penalty with the smallest mean over folds is where the path of all rows ends.

    Parameters
    ----------
    {fit_intercept}
    {verbose}
    {max_iter}
    {precompute}
    {folds}
    {eps}
    {copy_X}
    {keep_summary}

    Attributes
    ----------
    {chosen}
    {along}
    {end}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 10))
    >>> y = 3 * X[:, 1] - X[:, 7] + 0.1 * rng.normal(size=100)
    >>> LarsCV().fit(X, y).coef_[[1, 7]].round(1)
    array([ 3., -1.])
    """

    _parameter_constraints: dict = {**KEEP, **CV_CONSTRAINTS}

    method = "lar"
    positive = False

    def __init__(
        self,
        *,
        fit_intercept=True,
        verbose=False,
        max_iter=500,
        precompute="auto",
        cv=None,
        max_n_alphas=1000,
        n_jobs=None,
        eps=EPS,
        copy_X=True,
        keep_summary=False,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.max_iter = max_iter
        self.precompute = precompute
        self.cv = cv
        self.max_n_alphas = max_n_alphas
        self.n_jobs = n_jobs
        self.eps = eps
        self.copy_X = copy_X
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, **params):
        """Choose the penalty and follow the path to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        **params : dict
            What metadata routing hands to the splitter.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, params)


@documented(ENTRIES, {"keep_summary": KEEP_ENTRY})
class LassoLarsCV(LarsCV):
    """The lasso with a penalty chosen by cross-validation, along the path of `LassoLars`.

    Unlike `LassoCV` it compares the penalties at which a column enters or leaves in some fold.

    Parameters
    ----------
    {fit_intercept}
    {verbose}
    {max_iter}
    {precompute}
    {folds}
    {eps}
    {copy_X}
    {positive}
    {keep_summary}

    Attributes
    ----------
    {chosen}
    {along}
    {end}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.linear_model import LassoLarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 10))
    >>> y = 3 * X[:, 1] - X[:, 7] + 0.1 * rng.normal(size=100)
    >>> LassoLarsCV().fit(X, y).coef_[[1, 7]].round(1)
    array([ 3., -1.])
    """

    _parameter_constraints: dict = {**KEEP, **CV_CONSTRAINTS, "positive": ["boolean"]}

    method = "lasso"
    _lasso = True

    def __init__(
        self,
        *,
        fit_intercept=True,
        verbose=False,
        max_iter=500,
        precompute="auto",
        cv=None,
        max_n_alphas=1000,
        n_jobs=None,
        eps=EPS,
        copy_X=True,
        positive=False,
        keep_summary=False,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.max_iter = max_iter
        self.precompute = precompute
        self.cv = cv
        self.max_n_alphas = max_n_alphas
        self.n_jobs = n_jobs
        self.eps = eps
        self.copy_X = copy_X
        self.positive = positive
        self.keep_summary = keep_summary
