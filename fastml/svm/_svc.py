"""SVC and NuSVC."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fastml._docs import documented
from fastml._engines.smo import Dual
from fastml.svm._base import BaseSVM, filled, offset, share
from fastml.svm._docs import SVM_ENTRIES
from fastml.svm._one_vs_one import BaseSVC


@documented(SVM_ENTRIES)
class SVC(BaseSVC):
    """Support vector classification with penalty C.

    For two classes with y = ±1:

    min ½ |w|² + C Σ ξ_i   subject to   y_i (w·φ(x_i) + b) >= 1 - ξ_i,  ξ_i >= 0,

    solved in its dual by sequential minimal optimisation [1]_; more classes: a machine per pair.
    A very large C is the hard margin.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of slack; positive.
    kernel : str or callable, default='rbf'
        'linear', 'poly', 'rbf', 'sigmoid', 'precomputed', 'laplacian', 'cosine' or 'exponential',
        exp(gamma x·y). A function must return the kernel matrix of two sets of rows; a function
        under Numba's ``njit`` the value for two rows. Sums and products of kernels:
        `fastml.metrics.pairwise.make_kernel`.
    {degree}
    gamma : {'scale', 'auto'} or float, default='scale'
        Factor in 'rbf', 'poly', 'sigmoid', 'laplacian' and 'exponential': 'scale' is
        1 / (n_features X.var()), 'auto' 1 / n_features.
    {coef0}
    shrinking : bool, default=True
        For compatibility: it changes nothing.
    probability : bool, default=False
        Whether to fit Platt's sigmoids for `predict_proba`, by five-fold cross-validation.
        Deprecated in scikit-learn 1.9.
    {tol}
    {cache_size}
    class_weight : dict or 'balanced', default=None
        Factors of C per class.
    {verbose}
    {max_iter}
    {decision_function_shape}
    break_ties : bool, default=False
        Whether `predict` takes the largest 'ovr' decision value where votes are equal.
    {random_state}
    {n_jobs}
    {normalize}

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C.
    {classes_}
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors: y α.
    {fit_status_}
    {intercept_}
    {n_features_in_}
    {feature_names_in_}
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps taken, per pair.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors per class.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Platt's sigmoids, one per pair; empty without ``probability=True``. Deprecated, as in
        scikit-learn.
    {shape_fit_}

    Notes
    -----
    With a linear kernel there is ``coef_`` too, the weights of the features, one row per pair.

    The 'sigmoid' kernel is not positive semidefinite, so the problem has several stationary points.
    The fit ends in one of them, which may be another than LIBSVM's, with a better or worse dual.

    References
    ----------
    .. [1] Fan, Chen and Lin, "Working set selection using second order information for training
       support vector machines", JMLR 6 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> machine = SVC(kernel="linear").fit(X, [1, 1, 2, 2])
    >>> machine.predict([[-0.8, -1.0]])
    array([1])
    >>> machine.coef_.round(3)
    array([[0.5, 0.5]])
    """

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        n_jobs=None,
        normalize=False,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.normalize = normalize

    def _dual(self, members, weights, pair) -> Dual:
        a, b = pair
        n, m = members[a].size, members[b].size
        rows = np.concatenate([members[a], members[b]])
        sign = np.ones(n + m)
        sign[n:] = -1.0
        bound = np.empty(n + m)
        bound[:n] = self.C * self.class_weight_[a]
        bound[n:] = self.C * self.class_weight_[b]
        bound *= weights[rows]
        upper, lower = bound.copy(), -bound
        upper[n:] = 0.0
        lower[:n] = 0.0
        return Dual(rows, sign, lower, upper, np.zeros(n + m), n + m)


@documented(SVM_ENTRIES)
class NuSVC(BaseSVC):
    """Support vector classification with ν in place of C.

    ν in (0, 1] bounds the share of margin errors from above and that of support vectors from below
    (Schölkopf, Smola, Williamson and Bartlett, "New support vector algorithms", 2000).

    Parameters
    ----------
    nu : float, default=0.5
        Bound on the share of margin errors. It must not exceed twice the share of the smaller class
        of any pair.
    kernel : str or callable, default='rbf'
        As in `SVC`.
    {degree}
    {gamma}
    {coef0}
    {shrinking}
    probability : bool, default=False
        As in `SVC`.
    {tol}
    {cache_size}
    class_weight : dict or 'balanced', default=None
        As in scikit-learn, without effect on the fit.
    {verbose}
    {max_iter}
    {decision_function_shape}
    break_ties : bool, default=False
        As in `SVC`.
    {random_state}
    {n_jobs}

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)
        Without effect on the fit.
    {classes_}
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors.
    {fit_status_}
    {intercept_}
    {n_features_in_}
    {feature_names_in_}
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps taken, per pair.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors per class.
    probA_, probB_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Platt's sigmoids, one per pair; empty without ``probability=True``. Deprecated, as in
        scikit-learn.
    {shape_fit_}

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.svm import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> NuSVC().fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]])
    array([1])
    """

    _parameter_constraints: dict = {
        **BaseSVC._parameter_constraints,
        "nu": BaseSVM._parameter_constraints["nu"],
    }
    _parameter_constraints.pop("C")
    _invalid = "specified nu is infeasible"

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        n_jobs=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_members_allow(self, members, weights):
        totals = [weights[rows].sum() for rows in members]
        for a, b in combinations(totals, 2):
            if self.nu * (a + b) / 2 > min(a, b) * (1 + 1e-12):
                raise ValueError("specified nu is infeasible")

    def _dual(self, members, weights, pair) -> Dual:
        a, b = members[pair[0]], members[pair[1]]
        half = share(np.concatenate([weights[a], weights[b]]), self.nu) / 2
        zeros = np.zeros(a.size + b.size)
        lower, upper = zeros.copy(), zeros.copy()
        upper[: a.size] = weights[a]
        lower[a.size :] = -weights[b]
        beta = np.concatenate([filled(weights[a], half), -filled(weights[b], half)])
        return Dual(np.concatenate([a, b]), zeros, lower, upper, beta, a.size, grouped=True)

    def _finished(self, dual, solution):
        """The margin ρ = (b2 - b1) / 2 scales the machine to functional margin one."""
        parts = (slice(0, dual.split), slice(dual.split, None))
        b1, b2 = (
            offset(solution.v[p], solution.beta[p], dual.lower[p], dual.upper[p]) for p in parts
        )
        margin = (b2 - b1) / 2
        with np.errstate(divide="ignore", invalid="ignore"):  # no margin: `fit` refuses
            return solution.beta / np.float64(margin), (b1 + b2) / 2 / np.float64(margin)
