"""SVR and NuSVR: two variables per row, one for each side of the tube."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from fastml._docs import documented
from fastml._engines.smo import Dual
from fastml.svm._base import BaseSVM, filled, offset, share
from fastml.svm._docs import SVM_ENTRIES


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


@documented(SVM_ENTRIES)
class SVR(BaseSVR):
    """Support vector regression with an ε-insensitive loss.

    min ½ |w|² + C Σ max(0, |y_i - w·φ(x_i) - b| - ε)

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {tol}
    C : float, default=1.0
        Penalty of errors beyond ε; positive.
    epsilon : float, default=0.1
        Half the width of the tube in which errors are free.
    {shrinking}
    {cache_size}
    {verbose}
    {max_iter}
    {n_jobs}
    {normalize}

    Attributes
    ----------
    {dual_coef_}
    {fit_status_}
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {n_support_}
    {shape_fit_}
    {support_}
    {support_vectors_}

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
        normalize=False,
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
        self.normalize = normalize

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


@documented(SVM_ENTRIES)
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
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {shrinking}
    {tol}
    {cache_size}
    {verbose}
    {max_iter}
    {n_jobs}

    Attributes
    ----------
    {dual_coef_}
    {fit_status_}
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {n_support_}
    {shape_fit_}
    {support_}
    {support_vectors_}

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
