"""OneClassSVM: the support of a distribution."""

from __future__ import annotations

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from fastml.svm._base import BaseSVM, filled, offset, share
from fastml.svm._smo import Dual


class OneClassSVM(OutlierMixin, BaseSVM):
    """The region that holds most of the data, by separation from the origin in feature space.

    min ½ |w|² + 1 / (ν n) Σ ξ_i - ρ   subject to   w·φ(x_i) >= ρ - ξ_i,  ξ_i >= 0

    (Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, "Estimating the support of a
    high-dimensional distribution", 2001).

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
    nu : float, default=0.5
        Upper bound on the share of training rows outside, in (0, 1].
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
        -ρ.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_iter_ : int
        Steps taken.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    offset_ : ndarray of shape (1,)
        ρ: ``decision_function = score_samples - offset_``.
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
    >>> from fastml.svm import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _parameter_constraints: dict = {**BaseSVM._parameter_constraints}
    for unused in ("C", "epsilon", "class_weight", "probability", "random_state"):
        _parameter_constraints.pop(unused)

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.callback = callback

    def fit(self, X, y=None, sample_weight=None):
        """Find the region of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or their kernel matrix if ``kernel="precomputed"``.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
        """
        super().fit(X, np.ones(_num_samples(X)), sample_weight=sample_weight)
        self.offset_ = -self._intercept_
        return self

    def _train(self, X, y, weights):
        rows = np.flatnonzero(weights > 0)
        bound = weights[rows]
        zeros = np.zeros(rows.size)
        start = filled(bound, share(bound, self.nu))
        dual = Dual(rows, zeros, zeros, bound, start, rows.size)
        (solution,) = self._solve(X, [dual])
        used = solution.beta != 0.0
        support = rows[used]
        self.n_iter_ = int(solution.steps)
        intercept = np.array([offset(solution.v, solution.beta, dual.lower, dual.upper)])
        self._store(X, support, [support.size], solution.beta[used][None, :], intercept)
        self._note_status(solution.converged)

    def decision_function(self, X):
        """Signed distance to the region's border, positive inside, in units of feature space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        return self._raw_decision(X)

    def score_samples(self, X):
        """Decision values without the offset: w·φ(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X):
        """1 for rows inside, -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.where(self._raw_decision(X) >= 0, 1, -1).astype(np.intp)
