"""KernelLogisticRegression."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy.special import expit

from fastml._engines.gram.matrix import GRAM_CONSTRAINTS
from fastml._engines.optimise import line_search, moved, solve_positive
from fastml._progress import CallbackSupport, current_steps, fit_steps, telling
from fastml._sklearn import Interval, StrOptions, fit_context
from fastml._validation import check_weights
from fastml.svm._kernel_classifier import KernelClassifierBase

__all__ = ["KernelLogisticRegression"]

SUFFICIENT = 1e-4
MOST_TRIALS = 30


class KernelLogisticRegression(CallbackSupport, KernelClassifierBase):
    """Logistic regression in the space of a kernel, one class against the rest.

    Minimises over f = Σ c_i k(x_i, ·) and the intercept b, for targets y = ±1,

        ½ c' K c + Σ C_i log(1 + exp(−y_i (f(x_i) + b)))

    At the minimum c_i = C_i y_i σ(−y_i (f(x_i) + b)) and Σ c_i = 0: |c_i| / C_i is the dual
    variable of row i, strictly between 0 and 1 (Keerthi, Duan, Shevade and Poo, "A fast dual
    algorithm for kernel logistic regression", 2005). Newton's method solves for both: each step is
    one Cholesky factorisation of I + W^½ K W^½, W_i = C_i σ(f_i) σ(−f_i), halved until the
    objective falls.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the losses.
    kernel : str or callable, default='rbf'
        A name of `fastml.metrics.pairwise.kernel_metrics`, 'precomputed', a function of two rows,
        or kernels put together by `fastml.metrics.pairwise.make_kernel`.
    degree : float, default=3
        Of the polynomial kernel.
    gamma : {'scale', 'auto'} or float, default='scale'
        'scale' is 1 / (n_features · variance of X), 'auto' 1 / n_features.
    coef0 : float, default=0.0
        Of polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a callable kernel.
    fit_intercept : bool, default=True
        Whether to fit b.
    tol : float, default=1e-6
        Largest |c_i / C_i − y_i σ(−y_i (f(x_i) + b))| at the end.
    class_weight : dict or 'balanced', default=None
        Factors of C by class.
    max_iter : int, default=100
        Most Newton steps.
    n_jobs : int, default=None
        Threads of the kernel matrix; None means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        The c above.
    support_ : ndarray of shape (n_support,)
        Rows with a coefficient: all of positive weight.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : ndarray of shape (1,) or (n_classes,)
        Newton steps.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.svm import KernelLogisticRegression
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"]
    >>> model = KernelLogisticRegression(C=100.0, gamma=1.0).fit(X, y)
    >>> model.predict_proba([[0, 0]]).round(2)
    array([[0.07, 0.93]])
    """

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        **GRAM_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        kernel_params=None,
        fit_intercept=True,
        tol=1e-6,
        class_weight=None,
        max_iter=100,
        n_jobs=None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or the kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C by row.

        Returns
        -------
        self : object
        """
        from sklearn.utils.class_weight import compute_class_weight

        X, y = self._check_fit_input(X, y)
        weights = check_weights(sample_weight, X, dtype=np.float64)
        kept = np.flatnonzero(weights)
        labels = self._encode(y[kept])
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, y=y[kept], sample_weight=weights[kept]
        )
        if not (factors > 0.0).all():
            raise ValueError(f"class_weight must be positive, got {self.class_weight!r}")
        self._set_gamma(X, weights)
        if self.kernel == "precomputed":
            K = X[np.ix_(kept, kept)]
        else:
            K = self._gram(X if len(kept) == X.shape[0] else X[kept])
        costs = self.C * weights[kept]
        signs = self._signs(labels)
        if len(self.classes_) == 2:
            costs = (costs * factors[labels])[None]
        else:
            costs = np.where(signs > 0, factors[:, None] * costs, costs)

        with fit_steps(self, None, X, y) as steps, telling(steps):
            found = [self._newton(K, sign, cost) for sign, cost in zip(signs, costs)]
        coefficients = np.zeros((len(signs), X.shape[0]))
        coefficients[:, kept] = [c for c, _, _ in found]
        self.intercept_ = np.array([b for _, b, _ in found])
        self.n_iter_ = np.array([steps for _, _, steps in found])
        if (self.n_iter_ >= self.max_iter).any():
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(
                "Newton's method did not converge: raise max_iter, or the kernel is not positive "
                "semi-definite",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_support(X, coefficients)
        return self

    def _newton(self, K, y, C):
        """(c, b, steps) of one problem."""
        c, b, Kc = np.zeros(len(y)), 0.0, np.zeros(len(y))
        objective = _objective(c, Kc, b, y, C)
        for steps in range(self.max_iter):
            margins = y * (Kc + b)
            pull = C * y * expit(-margins)
            scale = C.max()
            if steps and np.abs(c - pull).max() <= self.tol * scale:
                return c, b, steps
            told = current_steps().begin()
            new_c, new_b = _newton_point(K, y, C, margins, Kc + b, self.fit_intercept)
            change, shift = new_c - c, new_b - b
            K_change = K @ change
            slope = (c - pull) @ K_change - shift * pull.sum()
            point, direction = (c, Kc, b), (change, K_change, shift)
            found = line_search(
                partial(_objective_along, point, direction, y, C), objective, slope,
                sufficient=SUFFICIENT, most_trials=MOST_TRIALS,
            )  # fmt: skip
            ended = told.end()
            if found is None:  # rounding, or a kernel for which Newton's direction leads upwards
                done = np.abs(c - pull).max() <= 1e3 * self.tol * scale
                return c, b, steps if done else self.max_iter
            size, objective = found
            c, Kc, b = moved(point, direction, size)
            if ended:
                break
        return c, b, self.max_iter

    def predict_proba(self, X):
        """σ(f(x) + b); with more than two classes, divided by their sum.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows if ``kernel="precomputed"``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        # Scores so low that every σ is 0: compare them after a common shift.
        top = np.minimum(scores.max(axis=1, keepdims=True), -30.0) + 30.0
        probabilities = expit(scores - top)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows if ``kernel="precomputed"``.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))


def _objective(c, Kc, b, y, C) -> float:
    return float(0.5 * (c @ Kc) + C @ np.logaddexp(0.0, -y * (Kc + b)))


def _objective_along(point, direction, y, C, size) -> float:
    c, Kc, b = moved(point, direction, size)
    return _objective(c, Kc, b, y, C)


def _newton_point(K, y, C, margins, scores, fit_intercept):
    """Minimum of the quadratic model: (K + W⁻¹) c + b = z, Σ c = 0, z = scores + W⁻¹ pull.

    With S = W^½ that is c = S (I + S K S)⁻¹ S (z − b), which stays finite as W goes to 0.
    """
    right, wrong = expit(np.clip(margins, -30.0, 30.0)), expit(-np.clip(margins, -30.0, 30.0))
    S = np.sqrt(C * right * wrong)
    Sz = S * scores + y * np.sqrt(C * wrong / right)
    system = S[:, None] * K * S
    system.flat[:: len(y) + 1] += 1.0
    both = np.column_stack([Sz, S])
    solved = solve_positive(system.T, both)
    if solved is None:  # the kernel is not positive semi-definite
        solved = np.linalg.lstsq(system, both, rcond=None)[0]
    from_z, from_one = S * solved[:, 0], S * solved[:, 1]
    b = from_z.sum() / from_one.sum() if fit_intercept else 0.0
    return from_z - b * from_one, b
