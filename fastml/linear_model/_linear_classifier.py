"""What linear classifiers share: scores, predictions, weights as a sparse matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from fastml._validation import (
    check_fitted,
    check_is_fitted,
    validate_data,
)
from fastml.linear_model._base import settled


def classes_of(scores, classes):
    """The class of every row: by the sign of one score, or the largest of several."""
    if scores.ndim == 1:
        # of one class alone, every row is it
        return classes[np.minimum(scores > 0.0, len(classes) - 1)]
    return classes[scores.argmax(axis=1)]


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """Classes by the scores X W' + intercepts: by their sign for two, the largest for several."""

    def decision_function(self, X):
        """Scores of the classes, or of the second of two.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = settled(validate_data(self, X, accept_sparse=("csr", "csc", "coo"), reset=False))
        coef = self.coef_
        lines = coef.reshape(-1, coef.shape[-1]) if not sp.issparse(coef) else coef
        check_fitted(self, "coef_", lines, (lines.shape[0], X.shape[1]))
        scores = X @ lines.T
        if sp.issparse(scores):
            scores = scores.toarray()
        scores = scores + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return classes_of(self.decision_function(X), self.classes_)

    def sparsify(self):
        """Keep ``coef_`` as a sparse matrix, which pays if most weights are 0.

        Returns
        -------
        self : object
        """
        from fastml._sklearn import align_api_if_sparse

        check_is_fitted(self)
        self.coef_ = align_api_if_sparse(sp.csr_array(self.coef_))
        return self

    def densify(self):
        """Keep ``coef_`` as an array, as it is after fit.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self
