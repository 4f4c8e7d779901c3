"""OneClassSVM: the support of a distribution."""

from __future__ import annotations

import numpy as np
from sklearn.base import OutlierMixin

from fastml._docs import documented
from fastml._engines.smo import Dual
from fastml._sklearn import num_samples
from fastml.svm._base import BaseSVM, filled, offset, share
from fastml.svm._docs import SVM_ENTRIES


@documented(SVM_ENTRIES)
class OneClassSVM(OutlierMixin, BaseSVM):
    """The region that holds most of the data, by separation from the origin in feature space.

    min ½ |w|² + 1 / (ν n) Σ ξ_i - ρ   subject to   w·φ(x_i) >= ρ - ξ_i,  ξ_i >= 0

    (Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, "Estimating the support of a
    high-dimensional distribution", 2001).

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {tol}
    nu : float, default=0.5
        Upper bound on the share of training rows outside, in (0, 1].
    {shrinking}
    {cache_size}
    {verbose}
    {max_iter}
    {n_jobs}

    Attributes
    ----------
    {dual_coef_}
    {fit_status_}
    intercept_ : ndarray of shape (1,)
        -ρ.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {n_support_}
    offset_ : ndarray of shape (1,)
        ρ: ``decision_function = score_samples - offset_``.
    {shape_fit_}
    {support_}
    {support_vectors_}

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
        super().fit(X, np.ones(num_samples(X)), sample_weight=sample_weight)
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
