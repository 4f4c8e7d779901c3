"""Least angle regression, and the lasso along its path."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin

from fastml._docs import documented
from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.elastic_net import GRAM_FOR_PATHS
from fastml._engines.linear.least_angle import least_angles
from fastml._engines.linear.least_squares import least_squares
from fastml._engines.linear.moments import Centred, careful_moments
from fastml._sklearn import Hidden, Interval, StrOptions, fit_context
from fastml._validation import FLOATS, validate_data
from fastml.linear_model._base import LinearPredictor, settled
from fastml.linear_model._summarised import KEEP, KEEP_ENTRY

EPS = np.finfo(float).eps

ANGLE_ENTRIES = {
    "fit_intercept": """
fit_intercept : bool, default=True
    Whether there is a constant.
""",
    "verbose": """
verbose : bool or int, default=False
    For scikit-learn's sake: nothing is printed.
""",
    "precompute": """
precompute : bool, 'auto' or array-like, default='auto'
    For scikit-learn's sake, but a given Gram matrix is used if X needs no centring: otherwise the
    rows of it that are needed are made.
""",
    "max_iter": """
max_iter : int, default=500
    Most steps.
""",
    "eps": """
eps : float, default=np.finfo(float).eps
    Least pivot of Cholesky's decomposition.
""",
    "copy_X": """
copy_X : bool, default=True
    For scikit-learn's sake: X is never written to.
""",
    "fit_path": """
fit_path : bool, default=True
    Whether to keep the path.
""",
    "positive": """
positive : bool, default=False
    Whether weights must be at least 0.
""",
    "jitter": """
jitter : float, default=None
    Upper bound of uniform noise that is added to y: with equal pulls the path is not unique.
random_state : int, RandomState instance or None, default=None
    For that noise.
""",
    "along": """
alphas_ : ndarray of shape (n_steps + 1,) or list of such
    Largest pull, \\|x_j · r\\| / n, before each step and at the end.
active_ : list of int or list of lists
    Columns in use at the end; with ``fit_path``.
coef_path_ : ndarray of shape (n_features, n_steps + 1) or list of such
    Weights before each step and at the end; with ``fit_path``.
""",
    "end": """
coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    Weights at the end.
intercept_ : float or ndarray of shape (n_targets,)
    The constant; 0.0 without one.
n_iter_ : int or list of int
    Number of steps.
n_features_in_ : int
feature_names_in_ : ndarray of shape (n_features_in_,)
    If X has string column names.
""",
}
ANGLE_CONSTRAINTS = {
    "fit_intercept": ["boolean"],
    "verbose": ["verbose"],
    "precompute": ["boolean", StrOptions({"auto"}), np.ndarray, Hidden(None)],
    "eps": [Interval(Real, 0, None, closed="left")],
    "copy_X": ["boolean"],
    "fit_path": ["boolean"],
    "jitter": [Interval(Real, 0, None, closed="left"), None],
    "random_state": ["random_state"],
}
STEPS = {"max_iter": [Interval(Integral, 0, None, closed="left")], "positive": ["boolean"]}


def takes_gram(X, max_iter) -> bool:
    """Whether all sums of products together cost less than one column's at every step."""
    n, d = X.shape
    return not sp.issparse(X) and 4 * d <= n and 16 <= d <= GRAM_FOR_PATHS and 8 * max_iter >= d


class AnglePath(MultiOutputMixin, RegressorMixin, LinearPredictor):
    """A path for each target, and the attributes that it leaves."""

    def _walk(self, X, Y, axes, *, lasso, max_iter, alpha_min, Xy=None, use_gram=True):
        design = CentredDesign(X, None, self.fit_intercept)
        b, y_means = design.targets(Y)
        gram = None
        known = use_gram and isinstance(self.precompute, np.ndarray)
        if known and np.allclose(design.means, 0.0):
            gram = np.asarray(self.precompute, dtype=np.float64)
        elif takes_gram(X, max_iter):
            moments = careful_moments(X, Y[:, :1], None, self.fit_intercept)
            gram = Centred.of(moments, self.fit_intercept).gram
        options = {
            "max_iter": max_iter, "alpha_min": alpha_min, "lasso": lasso, "eps": self.eps,
            "positive": getattr(self, "positive", False), "gram": gram,
        }  # fmt: skip
        found = []
        for t in range(Y.shape[1]):
            cross = None if Xy is None else np.reshape(Xy, (X.shape[1], -1))[:, t]
            target = np.ascontiguousarray(b[:, t])
            found.append(least_angles(design, target, cross=cross, **options))
        for name in ("active_", "coef_path_"):
            if hasattr(self, name):
                delattr(self, name)
        one = len(found) == 1
        self.n_iter_ = found[0].steps if one else [f.steps for f in found]
        if self.fit_path:
            self.alphas_ = found[0].alphas if one else [f.alphas for f in found]
            self.active_ = found[0].active if one else [f.active for f in found]
            paths = [f.coefs.astype(X.dtype) for f in found]
            self.coef_path_ = paths[0] if one else paths
        else:
            self.alphas_ = found[0].alphas[-1:] if one else [f.alphas[-1:] for f in found]
        coef = np.stack([f.coefs[:, -1] for f in found], axis=1)
        self._set(coef, design.means, y_means, X.dtype, axes, flat=True)
        return design, b

    def _noise(self, Y):
        if getattr(self, "jitter", None) is None:
            return Y
        from sklearn.utils import check_random_state

        noise = check_random_state(self.random_state).uniform(high=self.jitter, size=len(Y))
        return Y + noise[:, None]


@documented(ANGLE_ENTRIES, {"keep_summary": KEEP_ENTRY})
class Lars(AnglePath):
    """Least angle regression.

    The column that pulls hardest, \\|x_j · r\\|, gets weight until another pulls as hard; then both
    move along the direction that keeps their pulls equal, and so on. At the end all columns have
    the weights of least squares.

    Parameters
    ----------
    {fit_intercept}
    {verbose}
    {precompute}
    n_nonzero_coefs : int, default=500
        Most columns.
    {eps}
    {copy_X}
    {fit_path}
    {jitter}
    {keep_summary}

    Attributes
    ----------
    {along}
    {end}

    Examples
    --------
    >>> from fastml.linear_model import Lars
    >>> model = Lars(n_nonzero_coefs=1).fit([[-1, 1], [0, 0], [1, 1]], [-1.1111, 0, -1.1111])
    >>> model.coef_.round(4)
    array([ 0.    , -1.1111])
    """

    _parameter_constraints: dict = {
        **KEEP,
        **ANGLE_CONSTRAINTS,
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left")],
    }

    method = "lar"
    positive = False

    def __init__(
        self,
        *,
        fit_intercept=True,
        verbose=False,
        precompute="auto",
        n_nonzero_coefs=500,
        eps=EPS,
        copy_X=True,
        fit_path=True,
        jitter=None,
        random_state=None,
        keep_summary=False,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.n_nonzero_coefs = n_nonzero_coefs
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.jitter = jitter
        self.random_state = random_state
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, Xy=None):
        """Follow the path.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
            X'y of the centred data, if known.

        Returns
        -------
        self : object
        """
        X, Y, axes = self._read(X, y, accept_sparse=False)
        self._walk(
            X, self._noise(Y), axes, lasso=False, max_iter=self.n_nonzero_coefs, alpha_min=0.0,
            Xy=Xy,
        )  # fmt: skip
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0])
        return self


@documented(ANGLE_ENTRIES, {"keep_summary": KEEP_ENTRY})
class LassoLars(AnglePath):
    """The lasso along the path of least angle regression: every corner of it, exactly.

    Minimises 1/(2n) \\|y − w₀ − X w\\|² + alpha \\|w\\|₁; weights are linear in alpha between the
    penalties at which a column enters or leaves.

    Parameters
    ----------
    alpha : float, default=1.0
        Factor of the penalty, where the path ends.
    {fit_intercept}
    {verbose}
    {precompute}
    {max_iter}
    {eps}
    {copy_X}
    {fit_path}
    {positive}
    {jitter}
    {keep_summary}

    Attributes
    ----------
    {along}
    {end}

    Examples
    --------
    >>> from fastml.linear_model import LassoLars
    >>> model = LassoLars(alpha=0.01).fit([[-1, 1], [0, 0], [1, 1]], [-1, 0, -1])
    >>> model.coef_.round(3)
    array([ 0.   , -0.955])
    """

    _parameter_constraints: dict = {
        **KEEP,
        **ANGLE_CONSTRAINTS,
        **STEPS,
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    method = "lasso"

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        verbose=False,
        precompute="auto",
        max_iter=500,
        eps=EPS,
        copy_X=True,
        fit_path=True,
        positive=False,
        jitter=None,
        random_state=None,
        keep_summary=False,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.positive = positive
        self.jitter = jitter
        self.random_state = random_state
        self.keep_summary = keep_summary

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, Xy=None):
        """Follow the path.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
            X'y of the centred data, if known.

        Returns
        -------
        self : object
        """
        X, Y, axes = self._read(X, y, accept_sparse=False)
        self._walk(
            X, self._noise(Y), axes, lasso=True, max_iter=self.max_iter, alpha_min=self.alpha,
            Xy=Xy,
        )  # fmt: skip
        self._keep(X, Y if Y.shape[1] > 1 else Y[:, 0])
        return self


@documented(ANGLE_ENTRIES, {"keep_summary": KEEP_ENTRY})
class LassoLarsIC(AnglePath):
    """The lasso with the penalty that an information criterion likes best.

    n log(2π σ²) + RSS/σ² + c · (number of weights), with c = 2 (AIC) or log n (BIC), at every
    corner of the path of `LassoLars`.

    Parameters
    ----------
    criterion : {'aic', 'bic'}, default='aic'
        Which criterion.
    {fit_intercept}
    {verbose}
    {precompute}
    {max_iter}
    {eps}
    {copy_X}
    {positive}
    noise_variance : float, default=None
        σ²; None takes that of least squares, which needs more rows than columns.
    {keep_summary}

    Attributes
    ----------
    alpha_ : float
        The penalty chosen.
    alphas_ : ndarray of shape (n_steps + 1,)
        Penalties at the corners of the path.
    criterion_ : ndarray of shape (n_steps + 1,)
        The criterion there.
    noise_variance_ : float
        The σ² used.
    {end}

    Examples
    --------
    >>> from fastml.linear_model import LassoLarsIC
    >>> X = [[-2, 2], [-1, 1], [0, 0], [1, 1], [2, 2]]
    >>> LassoLarsIC(criterion="bic").fit(X, [-2.2222, -1.1111, 0, -1.1111, -2.2222]).coef_
    array([ 0.  , -1.11...])
    """

    _parameter_constraints: dict = {**KEEP,
        **{k: v for k, v in ANGLE_CONSTRAINTS.items() if k not in ("fit_path", "jitter",
                                                                   "random_state")},
        **STEPS,
        "criterion": [StrOptions({"aic", "bic"})],
        "noise_variance": [Interval(Real, 0, None, closed="left"), None],
    }  # fmt: skip

    fit_path = True

    def __init__(
        self,
        criterion="aic",
        *,
        fit_intercept=True,
        verbose=False,
        precompute="auto",
        max_iter=500,
        eps=EPS,
        copy_X=True,
        positive=False,
        noise_variance=None,
        keep_summary=False,
    ):
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.positive = positive
        self.noise_variance = noise_variance
        self.keep_summary = keep_summary

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, copy_X=None):
        """Follow the path and choose its best corner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        copy_X : bool, default=None
            For scikit-learn's sake: X is never written to.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True)
        X, Y = settled(X), np.asarray(y, dtype=np.float64)[:, None]
        design, b = self._walk(X, Y, 1, lasso=True, max_iter=self.max_iter, alpha_min=0.0)
        paths = self.coef_path_.astype(np.float64)
        del self.coef_path_, self.active_
        residuals = b - design.product(paths)
        squares = (residuals**2).sum(axis=0)
        self.noise_variance_ = self.noise_variance
        if self.noise_variance is None:
            self.noise_variance_ = self._estimate(X, Y)
        n = X.shape[0]
        factor = 2.0 if self.criterion == "aic" else np.log(n)
        used = (np.abs(paths) > np.finfo(X.dtype).eps).sum(axis=0)
        self.criterion_ = (
            n * np.log(2.0 * np.pi * self.noise_variance_)
            + squares / self.noise_variance_
            + factor * used
        )
        best = int(self.criterion_.argmin())
        self.alpha_ = self.alphas_[best]
        self._set(paths[:, best : best + 1], design.means, Y.mean(axis=0), X.dtype, 1, flat=True)
        self._keep(X, Y[:, 0])
        return self

    def _estimate(self, X, Y) -> float:
        n, d = X.shape
        freedom = n - d - int(self.fit_intercept)
        if freedom <= 0:
            raise ValueError(
                "You are using LassoLarsIC in the case where the number of samples is smaller "
                f"than the number of features (n_samples={n}, n_features={d}). In this setting, "
                "getting a good estimate for the variance of the noise is not possible. Provide "
                "an estimate of the noise variance in the constructor."
            )
        found = least_squares(X, Y, None, self.fit_intercept, 1e-6)
        left = (Y - found.y_means) - (X @ found.coef - found.x_means @ found.coef)
        return float((left**2).sum()) / freedom
