"""SVR and NuSVR: two variables per row, one for each side of the tube."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from fastml.svm._base import BaseSVM, filled, offset, share
from fastml.svm._smo import Dual


class BaseSVR(RegressorMixin, BaseSVM):
    """Rows above the tube have β >= 0 in the first segment, rows below it β <= 0 in the second."""

    _parameter_constraints: dict = {**BaseSVM._parameter_constraints}
    for unused in ("nu", "epsilon", "class_weight", "probability", "random_state"):
        _parameter_constraints.pop(unused)

    def _train(self, X, y, weights):
        rows = np.flatnonzero(weights > 0)
        dual = self._dual(rows, y[rows], weights[rows])
        (solution,) = self._solve(X, [dual])
        n = rows.size
        beta = solution.beta[:n] + solution.beta[n:]
        support = rows[beta != 0.0]
        self.n_iter_ = int(solution.steps)
        intercept = np.array([self._constant(dual, solution)])
        n_support = [support.size]
        self._store(X, support, n_support, beta[beta != 0.0][None, :], intercept)
        self._note_status(solution.converged)

    def _dual(self, rows, y, weights) -> Dual:
        raise NotImplementedError

    def _constant(self, dual, solution) -> float:
        return offset(solution.v, solution.beta, dual.lower, dual.upper)

    def predict(self, X):
        """Predicted values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._raw_decision(X)


class SVR(BaseSVR):
    """Support vector regression with an ε-insensitive loss.

    min ½ |w|² + C Σ max(0, |y_i - w·φ(x_i) - b| - ε)

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        As in `SVC`.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        As in `SVC`.
    coef0 : float, default=0.0
        Constant in 'poly' and 'sigmoid'.
    tol : float, default=1e-3
        The fit stops when the gap in the optimality conditions is below this.
    C : float, default=1.0
        Penalty of errors beyond ε; positive.
    epsilon : float, default=0.1
        Half the width of the tube in which errors are free.
    shrinking : bool, default=True
        For compatibility.
    cache_size : float, default=200
        Memory for kernel rows, in MB.
    verbose : bool, default=False
        Print steps and gap now and then.
    max_iter : int, default=-1
        Most steps; -1 means no limit.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.
    callback : callable, default=None
        Called as ``callback(steps, gap)`` now and then.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the support vectors.
    fit_status_ : int
        0 if the fit converged, else 1.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_iter_ : int
        Steps taken.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    shape_fit_ : tuple of int
        Shape of the training data.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.

    Notes
    -----
    With a linear kernel there is ``coef_`` too, the weights of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import SVR
    >>> X = np.arange(6.0)[:, None]
    >>> SVR(kernel="linear", C=100).fit(X, 2 * X.ravel()).predict([[10.0]]).round(1)
    array([19.7])
    """

    _parameter_constraints: dict = {
        **BaseSVR._parameter_constraints,
        "epsilon": BaseSVM._parameter_constraints["epsilon"],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        n_jobs=None,
        callback=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.callback = callback

    def _dual(self, rows, y, weights) -> Dual:
        bound, zeros = self.C * weights, np.zeros(rows.size)
        return Dual(
            rows,
            np.concatenate([y - self.epsilon, y + self.epsilon]),
            np.concatenate([zeros, -bound]),
            np.concatenate([bound, zeros]),
            np.zeros(2 * rows.size),
            rows.size,
        )


class NuSVR(BaseSVR):
    """Support vector regression with ν in place of ε.

    The tube is as wide as makes about a share ν of the rows errors; ν bounds the share of errors
    from above and that of support vectors from below.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1].
    C : float, default=1.0
        Penalty of errors; positive.
    kernel : str or callable, default='rbf'
        As in `SVC`.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        As in `SVC`.
    coef0 : float, default=0.0
        Constant in 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        For compatibility.
    tol : float, default=1e-3
        The fit stops when the gap in the optimality conditions is below this.
    cache_size : float, default=200
        Memory for kernel rows, in MB.
    verbose : bool, default=False
        Print steps and gap now and then.
    max_iter : int, default=-1
        Most steps; -1 means no limit.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.
    callback : callable, default=None
        Called as ``callback(steps, gap)`` now and then.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients of the support vectors.
    fit_status_ : int
        0 if the fit converged, else 1.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_iter_ : int
        Steps taken.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    shape_fit_ : tuple of int
        Shape of the training data.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors.

    Notes
    -----
    With a linear kernel there is ``coef_`` too, the weights of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import NuSVR
    >>> X = np.arange(6.0)[:, None]
    >>> NuSVR(kernel="linear", C=100).fit(X, 2 * X.ravel()).predict([[10.0]]).round(1)
    array([20.])
    """

    _parameter_constraints: dict = {
        **BaseSVR._parameter_constraints,
        "nu": BaseSVM._parameter_constraints["nu"],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        n_jobs=None,
        callback=None,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.callback = callback

    def _dual(self, rows, y, weights) -> Dual:
        bound, zeros = self.C * weights, np.zeros(rows.size)
        start = filled(bound, share(bound, self.nu) / 2)
        return Dual(
            rows,
            np.concatenate([y, y]),
            np.concatenate([zeros, -bound]),
            np.concatenate([bound, zeros]),
            np.concatenate([start, -start]),
            rows.size,
            grouped=True,
        )

    def _constant(self, dual, solution) -> float:
        """The middle of the tube's two walls."""
        parts = (slice(0, dual.split), slice(dual.split, None))
        walls = [
            offset(solution.v[p], solution.beta[p], dual.lower[p], dual.upper[p]) for p in parts
        ]
        return sum(walls) / 2
