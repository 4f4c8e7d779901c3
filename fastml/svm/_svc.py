"""SVC and NuSVC: one machine per pair of classes."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fastml.svm._base import BaseSVM, _as_users_sparse, _linear_values, filled, offset, share
from fastml.svm._platt import coupled_probabilities, platt_fit, sigmoid
from fastml.svm._smo import Dual

FOLDS = 5


def _has_probability(self) -> bool:
    if self.probability == "deprecated" or not self.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class BaseSVC(ClassifierMixin, BaseSVM):
    """One-vs-one classification; in a pair the first class has β >= 0, the second β <= 0."""

    _parameter_constraints: dict = {
        **BaseSVM._parameter_constraints,
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }
    for unused in ("epsilon", "nu"):
        _parameter_constraints.pop(unused)
    _invalid = "Invalid input"

    def _validate_targets(self, y):
        from sklearn.utils import compute_class_weight

        y_ = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y_, return_inverse=True)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=y_)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        self.classes_ = classes
        return codes

    def _train(self, X, y, weights):
        probability = False
        if self.probability != "deprecated":
            probability = self.probability
            name = type(self).__name__
            warnings.warn(
                "The `probability` parameter was deprecated in 1.9 and "
                "will be removed in version 1.11. "
                f"Use `CalibratedClassifierCV({name}(), ensemble=False)` "
                f"instead of `{name}(probability=True)`",
                FutureWarning,
                stacklevel=4,
            )
        members = [np.flatnonzero((y == c) & (weights > 0)) for c in range(len(self.classes_))]
        self._check_members(members)
        self._check_members_allow(members, weights)
        random_state = check_random_state(self.random_state)
        pairs = list(combinations(range(len(members)), 2))
        duals = [self._dual(members, weights, pair) for pair in pairs]
        solutions = self._solve(X, duals)
        self.n_iter_ = np.array([solution.steps for solution in solutions], dtype=np.int32)
        self._assemble(X, members, pairs, duals, solutions)
        if probability:
            self._fit_probability(X, members, weights, pairs, random_state)
        self._note_status(all(solution.converged for solution in solutions))

    def _check_members(self, members):
        empty = [c for c, rows in enumerate(members) if not rows.size]
        if len(members) - len(empty) < 2:
            reason = "all samples with positive weights belong to the same class."
            raise ValueError(f"{self._invalid} - {reason}")
        if empty:
            label = self.classes_[empty[0]]
            raise ValueError(f"Invalid input - no sample of class {label!r} has a positive weight.")

    def _check_members_allow(self, members, weights):
        """Whether the parameters suit the classes' sizes."""

    def _dual(self, members, weights, pair) -> Dual:
        raise NotImplementedError

    def _finished(self, dual, solution) -> tuple[np.ndarray, float]:
        """(β, b) of one pair."""
        return solution.beta, offset(solution.v, solution.beta, dual.lower, dual.upper)

    def _assemble(self, X, members, pairs, duals, solutions):
        finished = [self._finished(dual, found) for dual, found in zip(duals, solutions)]
        used = np.zeros(X.shape[0], dtype=bool)
        for dual, (beta, _) in zip(duals, finished):
            used[dual.rows[beta != 0.0]] = True
        supports = [rows[used[rows]] for rows in members]
        n_support = [rows.size for rows in supports]
        starts = np.concatenate([[0], np.cumsum(n_support)])
        coefficients = np.zeros((len(members) - 1, starts[-1]))
        for (a, b), (beta, _) in zip(pairs, finished):
            first = members[a].size
            own = slice(starts[a], starts[a + 1])
            coefficients[b - 1, own] = beta[:first][used[members[a]]]
            own = slice(starts[b], starts[b + 1])
            coefficients[a, own] = beta[first:][used[members[b]]]
        intercept = np.array([b for _, b in finished])
        self._store(X, np.concatenate(supports), n_support, coefficients, intercept)
        if len(self.classes_) == 2:  # users see the second class as the positive one
            self.intercept_ = -self.intercept_
            self.dual_coef_ = -self._dual_coef_

    def _fit_probability(self, X, members, weights, pairs, random_state):
        """Platt's sigmoids on decision values of five-fold cross-validation."""
        folds = []
        for a, b in pairs:
            rows = np.concatenate([members[a], members[b]])
            random_state.shuffle(rows)
            folds.append(np.array_split(rows, FOLDS))
        values = {pair: np.zeros(X.shape[0]) for pair in pairs}
        code = np.empty(X.shape[0], dtype=np.intp)
        for c, rows in enumerate(members):
            code[rows] = c
        duals, tests = [], []
        for pair, parts in zip(pairs, folds):
            for k, test in enumerate(parts):
                train = np.sort(np.concatenate(parts[:k] + parts[k + 1 :]))
                inside = {c: train[code[train] == c] for c in pair}
                if not test.size:
                    continue
                if not inside[pair[0]].size or not inside[pair[1]].size:
                    sign = float(inside[pair[0]].size > 0) - float(inside[pair[1]].size > 0)
                    values[pair][test] = sign
                    continue
                try:
                    self._check_members_allow(list(inside.values()), weights)
                except ValueError:
                    continue
                duals.append(self._dual(inside, weights, pair))
                tests.append((pair, test))
        kept = self.n_iter_
        solutions = self._solve(X, duals) if duals else []
        self.n_iter_ = kept
        for dual, found, (pair, test) in zip(duals, solutions, tests):
            beta, b = self._finished(dual, found)
            support = dual.rows[beta != 0.0]
            coefficients = beta[beta != 0.0][None, :]
            values[pair][test] = self._values_of(X, test, support, coefficients) + b
        fits = []
        for pair in pairs:
            rows = np.concatenate([members[pair[0]], members[pair[1]]])
            fits.append(platt_fit(values[pair][rows], code[rows] == pair[0]))
        self._probA, self._probB = (np.array(column) for column in zip(*fits))

    def _values_of(self, X, test, support, coefficients):
        from fastml.svm._decision import support_sums

        kernel = self._kernel()
        vectors = X if kernel.name == "precomputed" else X[support]
        starts = np.array([0, support.size])
        rows = X[test]
        return support_sums(kernel, rows, support, vectors, coefficients, starts, self.n_jobs)[
            :, 0, 0
        ]

    # ------------------------------------------------------------------------ predict

    def _pair_values(self, X) -> np.ndarray:
        """Decision values of all pairs; positive means the first class."""
        X = self._validate_for_predict(X)
        n_classes = len(self.classes_)
        if self.kernel == "linear":
            return _linear_values(X, self._pair_coef(), self._intercept_)
        if n_classes == 2:
            starts = np.array([0, self.support_.size])
            return self._sums(X, starts)[:, 0] + self._intercept_
        starts = np.concatenate([[0], np.cumsum(self._n_support)])
        sums = self._sums(X, starts)
        values = np.empty((X.shape[0], self._intercept_.size))
        for p, (a, b) in enumerate(combinations(range(n_classes), 2)):
            values[:, p] = sums[:, a, b - 1] + sums[:, b, a] + self._intercept_[p]
        return values

    def _pair_coef(self):
        """Weights of the features, one row per pair."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self._dual_coef_ @ self.support_vectors_
        starts = np.concatenate([[0], np.cumsum(self._n_support)])
        coefficients, vectors = self._coefficients(), self.support_vectors_
        found = []
        for a, b in combinations(range(n_classes), 2):
            own_a, own_b = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
            weights = np.zeros((1, starts[-1]))
            weights[0, own_a] = coefficients[b - 1, own_a]
            weights[0, own_b] = coefficients[a, own_b]
            found.append((csr_array(weights) if self._sparse else weights) @ vectors)
        if issparse(found[0]):
            return _as_users_sparse(csr_array(vstack(found)))
        return np.vstack(found)

    def _get_coef(self):
        coef = self._pair_coef()
        return -coef if len(self.classes_) == 2 else coef

    def decision_function(self, X):
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes * (n_classes - 1) / 2)
            For two classes one value, positive for the second. For more, one per pair of classes
            if ``decision_function_shape="ovo"``, else one per class: votes, with ties resolved by
            summed values.
        """
        values = self._pair_values(X)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return -values.ravel()
        if self.decision_function_shape == "ovr":
            return _ovr_decision_function(values < 0, -values, n_classes)
        return values

    def predict(self, X):
        """Class labels: the class with most votes of the pairs, the first of equals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        n_classes = len(self.classes_)
        if self.break_ties and n_classes > 2:
            return self.classes_.take(np.argmax(self.decision_function(X), axis=1))
        values = self._pair_values(X)
        if n_classes == 2:
            return self.classes_.take((values[:, 0] <= 0).astype(np.intp))
        votes = np.zeros((values.shape[0], n_classes), dtype=np.intp)
        for p, (a, b) in enumerate(combinations(range(n_classes), 2)):
            first = values[:, p] > 0
            votes[:, a] += first
            votes[:, b] += ~first
        return self.classes_.take(np.argmax(votes, axis=1))

    @available_if(_has_probability)
    def predict_proba(self, X):
        """Class probabilities by Platt's sigmoids, coupled over pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._probA.size == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        pairs = np.clip(sigmoid(self._pair_values(X), self._probA, self._probB), 1e-7, 1 - 1e-7)
        return coupled_probabilities(pairs, len(self.classes_))

    @available_if(_has_probability)
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    @property
    def probA_(self):
        """Slopes of Platt's sigmoids, one per pair."""
        return self._platt_attribute("probA_", self._probA)

    @property
    def probB_(self):
        """Offsets of Platt's sigmoids, one per pair."""
        return self._platt_attribute("probB_", self._probB)

    def _platt_attribute(self, name, value):
        if value.size == 0:
            raise AttributeError(f"{name} is there with probability=True only")
        warnings.warn(
            f"Attribute `{name}` was deprecated in version 1.9 and will be removed in "
            "1.11 as the `probability=True` option for SVC and NuSVC was deprecated "
            "and will be removed in 1.11.",
            FutureWarning,
            stacklevel=3,
        )
        return value


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
        'linear', 'poly', 'rbf', 'sigmoid', 'precomputed', 'laplacian' or 'cosine'.
        K(x, y). A function must return the kernel matrix of two sets of rows; a function under
        Numba's ``njit`` the value for two rows.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Factor in 'rbf', 'poly', 'sigmoid' and 'laplacian': 'scale' is 1 / (n_features X.var()),
        'auto' 1 / n_features.
    coef0 : float, default=0.0
        Constant in 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        For compatibility: it changes nothing.
    probability : bool, default=False
        Whether to fit Platt's sigmoids for `predict_proba`, by five-fold cross-validation.
        Deprecated in scikit-learn 1.9.
    tol : float, default=1e-3
        The fit stops when the gap in the optimality conditions is below this.
    cache_size : float, default=200
        Memory for kernel rows, in MB.
    class_weight : dict or 'balanced', default=None
        Factors of C per class.
    verbose : bool, default=False
        Print steps and gap now and then.
    max_iter : int, default=-1
        Most steps; -1 means no limit.
    decision_function_shape : {'ovo', 'ovr'}, default='ovr'
        Decision values per pair of classes or per class.
    break_ties : bool, default=False
        Whether `predict` takes the largest 'ovr' decision value where votes are equal.
    random_state : int, RandomState instance or None, default=None
        Randomness of the folds for ``probability``.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.
    callback : callable, default=None
        Called as ``callback(steps, gap)`` now and then.

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors: y α.
    fit_status_ : int
        0 if the fit converged, else 1.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants of the decision functions.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps taken, per pair.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors per class.
    shape_fit_ : tuple of int
        Shape of the training data.

    Notes
    -----
    With a linear kernel there is ``coef_`` too, the weights of the features, one row per pair; with
    ``probability=True`` there are ``probA_`` and ``probB_``, Platt's sigmoids, one per pair.

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
        callback=None,
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
        self.callback = callback

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
        'linear', 'poly', 'rbf', 'sigmoid', 'precomputed', 'laplacian' or 'cosine'.
        As in `SVC`.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        As in `SVC`.
    coef0 : float, default=0.0
        Constant in 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        For compatibility.
    probability : bool, default=False
        As in `SVC`.
    tol : float, default=1e-3
        The fit stops when the gap in the optimality conditions is below this.
    cache_size : float, default=200
        Memory for kernel rows, in MB.
    class_weight : dict or 'balanced', default=None
        As in scikit-learn, without effect on the fit.
    verbose : bool, default=False
        Print steps and gap now and then.
    max_iter : int, default=-1
        Most steps; -1 means no limit.
    decision_function_shape : {'ovo', 'ovr'}, default='ovr'
        Decision values per pair of classes or per class.
    break_ties : bool, default=False
        As in `SVC`.
    random_state : int, RandomState instance or None, default=None
        Randomness of the folds for ``probability``.
    n_jobs : int, default=None
        Threads; None means all cores. The result does not depend on it.
    callback : callable, default=None
        Called as ``callback(steps, gap)`` now and then.

    Attributes
    ----------
    class_weight_ : ndarray of shape (n_classes,)
        Without effect on the fit.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors.
    fit_status_ : int
        0 if the fit converged, else 1.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Constants of the decision functions.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where ``X`` has names that are all strings.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Steps taken, per pair.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features)
        The support vectors; empty for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors per class.
    shape_fit_ : tuple of int
        Shape of the training data.

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
        callback=None,
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
        self.callback = callback

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
