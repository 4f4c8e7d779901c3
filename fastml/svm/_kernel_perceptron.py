"""KernelPerceptron."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_random_state

from fastml._engines.gram.matrix import GRAM_CONSTRAINTS
from fastml._progress import CallbackSupport, fit_steps
from fastml._sklearn import Interval, fit_context
from fastml.svm._kernel_classifier import KernelClassifierBase

__all__ = ["KernelPerceptron"]

ROWS_PER_BLOCK = 256


class KernelPerceptron(CallbackSupport, KernelClassifierBase):
    """The perceptron in the space of a kernel, one class against the rest.

    Rows are visited in turn; one on the wrong side, y_i f(x_i) ≤ 0, adds y_i k(x_i, ·) to f. If
    some function of norm 1 separates the classes by a margin γ, and k(x, x) ≤ R², then no more than
    (R / γ)² mistakes are made, however many epochs are run (Novikoff).

    Parameters
    ----------
    kernel : str or callable, default='rbf'
        A name of `fastml.metrics.pairwise.kernel_metrics`, 'precomputed', a function of two rows,
        or kernels put together by `fastml.metrics.pairwise.make_kernel`.
    degree : float, default=3
        Of the polynomial kernel.
    gamma : {'scale', 'auto'} or float, default='scale'
        'scale' is 1 / (n_features · variance of X), 'auto' 1 / n_features.
    coef0 : float, default=0.0
        Of polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        Further arguments of a callable kernel.
    max_iter : int, default=20
        Most epochs; an epoch without mistake ends the fit.
    average : bool, default=False
        Predict by the mean of f over all steps instead of the last f: less dependent on the order
        where classes overlap (Freund and Schapire, 1999).
    shuffle : bool, default=True
        Whether every epoch has its own order of rows.
    random_state : int, RandomState or None, default=None
        Order of rows.
    n_jobs : int, default=None
        Threads of kernel values; None means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Rows with a mistake.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
    intercept_ : float
        Always 0.
    mistakes_ : ndarray of shape (1,) or (n_classes,)
        Mistakes of all epochs.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether the last epoch had no mistake: the classes are separated.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.svm import KernelPerceptron
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    >>> KernelPerceptron(gamma=1.0, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    _parameter_constraints: dict = {
        **GRAM_CONSTRAINTS,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        degree=3,
        gamma="scale",
        coef0=0.0,
        kernel_params=None,
        max_iter=20,
        average=False,
        shuffle=True,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_iter = max_iter
        self.average = average
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Visit the rows until an epoch has no mistake.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or the kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
        """
        from fastml.kernels.svm.perceptron import perceptron_block

        X, y = self._check_fit_input(X, y)
        signs = self._signs(self._encode(y))
        self._set_gamma(X)
        n_rows = X.shape[0]
        rows_of = self._gram_rows(X)
        order = np.arange(n_rows)
        rng = check_random_state(self.random_state)
        coefficients, delays = np.zeros_like(signs), np.zeros_like(signs)
        mistakes = np.zeros(len(signs), dtype=np.intp)
        with fit_steps(self, self.max_iter, X, y) as steps:
            for epoch in range(self.max_iter):
                before, told = mistakes.sum(), steps.begin("epoch")
                if self.shuffle:
                    rng.shuffle(order)
                for first in range(0, n_rows, ROWS_PER_BLOCK):
                    rows = order[first : first + ROWS_PER_BLOCK]
                    K = np.ascontiguousarray(rows_of(rows))
                    scores = K @ coefficients.T
                    step = epoch * n_rows + first
                    perceptron_block(
                        K, rows, signs, scores, coefficients, delays, mistakes, float(step)
                    )
                self.converged_ = bool(mistakes.sum() == before)
                if told.end() or self.converged_:
                    break
        self.n_iter_ = epoch + 1
        self.mistakes_ = mistakes
        self.intercept_ = 0.0
        if self.average:
            coefficients -= delays / (self.n_iter_ * n_rows)
        self._keep_support(X, coefficients)
        return self

    def _gram_rows(self, X):
        """Rows → their kernel values with all rows; the whole matrix is kept if it is small."""
        from sklearn import get_config

        if self.kernel == "precomputed":
            return lambda rows: X[rows]
        if 8 * X.shape[0] ** 2 <= get_config()["working_memory"] * 2**20:
            K = self._gram(X)
            return lambda rows: K[rows]
        return lambda rows: self._gram(X[rows], X)
