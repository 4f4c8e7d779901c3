"""What classifiers with one kernel expansion a class share."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fastml._engines.gram.expressions import KernelExpression
from fastml._engines.gram.matrix import check_square, gamma_of, gram
from fastml._validation import validate_data
from fastml.svm._scores import class_of_largest


class KernelClassifierBase(ClassifierMixin, BaseEstimator):
    """f_k(x) = Σ c_ki k(x_i, x) + b_k; two classes have one f."""

    def _check_fit_input(self, X, y):
        from sklearn.utils.multiclass import check_classification_targets

        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C")
        check_classification_targets(y)
        if self.kernel == "precomputed":
            check_square(X)
        return X, y

    def _encode(self, y):
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes (rows of zero weight "
                f"do not count), but the data contains only one class: {classes[0]!r}"
            )
        self.classes_ = classes
        return labels

    def _signs(self, labels):
        """±1, one line a problem."""
        if len(self.classes_) == 2:
            return (2.0 * labels - 1.0)[None]
        return np.where(labels == np.arange(len(self.classes_))[:, None], 1.0, -1.0)

    def _gram(self, X, Y=None):
        parameters = (self._gamma, self.degree, self.coef0, self.kernel_params)
        return gram(X, Y, self.kernel, *parameters, self.n_jobs)

    def _set_gamma(self, X, weights=None) -> None:
        self._gamma = gamma_of(self.gamma, X, self.kernel, weights)

    def _keep_support(self, X, coefficients) -> None:
        """Rows with a coefficient, and the coefficients."""
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.dual_coef_ = np.ascontiguousarray(coefficients[:, self.support_])
        self._rows = None if self.kernel == "precomputed" else X[self.support_]
        self._n_fit = X.shape[0]

    def decision_function(self, X):
        """f_k(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows if ``kernel="precomputed"``.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=False)
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        if np.shape(self.dual_coef_) != (n_outputs, len(self.support_)):
            raise ValueError(
                f"dual_coef_ of {type(self).__name__} was altered: it must have shape "
                f"{(n_outputs, len(self.support_))}, and has {np.shape(self.dual_coef_)}"
            )
        K = X[:, self.support_] if self._rows is None else self._gram(X, self._rows)
        scores = K @ self.dual_coef_.T
        scores += self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The class of the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or their kernel values with the training rows if ``kernel="precomputed"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return class_of_largest(self.decision_function(X), self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        dense = callable(self.kernel) and not isinstance(self.kernel, KernelExpression)
        tags.input_tags.sparse = not dense
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
