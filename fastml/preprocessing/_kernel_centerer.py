"""Kernel matrices as if their vectors had mean zero."""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fastml._validation import FLOATS, validate_data

ROWS_AT_ONCE = 256
"""Rows that are read, changed and written while they are near."""


class KernelCenterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Centres a kernel matrix: that of vectors φ(x) minus the mean of those of the training rows.

    .. math:: \\tilde K_{ij} = K_{ij} - \\frac{1}{n} \\sum_{l} K_{lj}
              - \\frac{1}{n} \\sum_{l} K_{il} + \\frac{1}{n^2} \\sum_{l, m} K_{lm}

    Attributes
    ----------
    K_fit_rows_ : ndarray of shape (n_samples,)
        Mean of every column of the training matrix.
    K_fit_all_ : float
        Mean of all of it.
    n_features_in_ : int

    References
    ----------
    B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue
    problem", Neural Computation 10 (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.preprocessing import KernelCenterer
    >>> X = np.array([[1.0, -2.0], [-2.0, 1.0], [4.0, 1.0]])
    >>> KernelCenterer().fit_transform(X @ X.T)
    array([[ 4., -2., -2.],
           [-2., 10., -8.],
           [-2., -8., 10.]])
    """

    # X is called K here, and no user is to route it.
    __metadata_request__fit = {"K": UNUSED}
    __metadata_request__transform = {"K": UNUSED}

    def fit(self, K, y=None):
        """Learn the means.

        Parameters
        ----------
        K : ndarray of shape (n_samples, n_samples)
            Kernel of the training rows.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        K = validate_data(self, K, dtype=FLOATS)
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                "Kernel matrix must be a square matrix. Input is a "
                f"{K.shape[0]}x{K.shape[1]} matrix."
            )
        self.K_fit_rows_ = K.sum(axis=0) / K.shape[0]
        self.K_fit_all_ = self.K_fit_rows_.sum() / K.shape[0]
        return self

    def transform(self, K, copy=True):
        """Centre a kernel matrix.

        Parameters
        ----------
        K : ndarray of shape (n_new, n_samples)
            Kernel of rows with the training rows.
        copy : bool, default=True
            False: work in place where K is a writeable array of floats.

        Returns
        -------
        K_new : ndarray of shape (n_new, n_samples)
        """
        check_is_fitted(self)
        K = validate_data(self, K, copy=copy, force_writeable=True, dtype=FLOATS, reset=False)
        for first in range(0, K.shape[0], ROWS_AT_ONCE):
            part = K[first : first + ROWS_AT_ONCE]
            means = part.sum(axis=1) / self.K_fit_rows_.shape[0]
            part -= self.K_fit_rows_
            part -= means[:, None]
            part += self.K_fit_all_
        return K

    @property
    def _n_features_out(self):
        return self.n_features_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags
