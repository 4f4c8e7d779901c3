"""Classifiers of one machine per pair of classes: what SVC and NuSVC share."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fastml._engines.smo import Dual
from fastml._sklearn import StrOptions, ovr_decision_function
from fastml.svm._base import BaseSVM, _as_users_sparse, _linear_values, offset
from fastml.svm._platt import coupled_probabilities, platt_fit, sigmoid

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
        if self._is_linear():
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

    def _boundaries(self):
        n_classes = len(self.classes_)
        starts = np.concatenate([[0], np.cumsum(self._n_support)])
        coefficients = self._coefficients()
        found = np.zeros((n_classes * (n_classes - 1) // 2, starts[-1]))
        for p, (a, b) in enumerate(combinations(range(n_classes), 2)):
            own_a, own_b = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
            found[p, own_a] = coefficients[b - 1, own_a]
            found[p, own_b] = coefficients[a, own_b]
        return found

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
            return ovr_decision_function(values < 0, -values, n_classes)
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
        """Slopes of Platt's sigmoids, one per pair; none without ``probability=True``."""
        _warn_of_platt("probA_")
        return self._probA

    @property
    def probB_(self):
        """Offsets of Platt's sigmoids, one per pair; none without ``probability=True``."""
        _warn_of_platt("probB_")
        return self._probB


def _warn_of_platt(name):
    warnings.warn(
        f"Attribute `{name}` was deprecated in version 1.9 and will be removed in "
        "1.11 as the `probability=True` option for SVC and NuSVC was deprecated "
        "and will be removed in 1.11.",
        FutureWarning,
        stacklevel=3,
    )
