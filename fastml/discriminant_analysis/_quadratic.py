"""Classes that are normal distributions, each with its own covariance."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fastml._engines.labels import classes_and_codes
from fastml._sklearn import HasMethods, Interval, StrOptions, fit_context
from fastml._threads import effective_n_threads, single_threaded_blas
from fastml._validation import FLOATS, validate_data
from fastml.discriminant_analysis._draws import draw_classes
from fastml.discriminant_analysis._scatter import (
    LabelledBlocks,
    LabelledRows,
    estimated_covariance,
    shrunk,
)
from fastml.kernels.bayes.gaussian import take_half_squares

MANY_COLUMNS = 16
"""From so many on triangular roots pay."""

ROWS_PER_TILE = 512
"""Of predictions: what a tile needs for all classes stays in the cache."""


class QuadraticDiscriminantAnalysis(ClassifierMixin, BaseEstimator):
    """Quadratic discriminant analysis.

    Every class is N(μ_k, Σ_k); the log probability of class k is
    −½ (x − μ_k)'Σ_k⁻¹(x − μ_k) − ½ log ∣Σ_k∣ + log π_k up to a constant.

    Means and covariances of all classes come from one pass over the rows.

    Parameters
    ----------
    solver : {'svd', 'eigen'}, default='svd'
        'svd' takes ``reg_param``, 'eigen' shrinkage or an estimator.
    shrinkage : 'auto' or float, default=None
        Share of a multiple of the identity in each covariance ('eigen'); 'auto' by Ledoit and Wolf.
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; None: their shares.
    reg_param : float, default=0.0
        Variances along the axes become (1 − reg_param) variance + reg_param ('svd').
    store_covariance : bool, default=False
        Whether covariances are stored.
    tol : float, default=1e-4
        A variance along an axis that is not above makes the covariance singular, an error.
    covariance_estimator : estimator, default=None
        Anything with ``fit`` and ``covariance_`` ('eigen').
    unbiased : bool, default=False
        Divide the scatter of a class by n − 1 instead of n. Not with an estimator or 'auto'.

    Attributes
    ----------
    covariance_ : list of ndarray of shape (n_features, n_features)
        Of every class; only with ``store_covariance``.
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)
    rotations_ : list of ndarray of shape (n_features, n_features)
        Axes of every class, in columns.
    scalings_ : list of ndarray of shape (n_features,)
        Variances along them, the largest first.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = [[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    """

    _parameter_constraints: dict = {
        "solver": [StrOptions({"svd", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
        "unbiased": ["boolean"],
    }

    def __init__(
        self,
        *,
        solver="svd",
        shrinkage=None,
        priors=None,
        reg_param=0.0,
        store_covariance=False,
        tol=1.0e-4,
        covariance_estimator=None,
        unbiased=False,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.unbiased = unbiased

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn means and covariances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, dtype=FLOATS)
        classes, codes = classes_and_codes(y)
        return self._learn(LabelledRows(X, codes, len(classes)), classes)

    def _fit_blocks(self, passes):
        classes = passes.classes()
        self._learn(LabelledBlocks(passes, classes), classes)

    def _learn(self, rows, classes):
        n_classes = len(classes)
        if n_classes < 2:
            raise ValueError(
                f"The number of classes has to be greater than one. Got {n_classes} class."
            )
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError(
                "covariance_estimator is not supported with solver='svd'. "
                "Try solver='eigen' instead."
            )
        counts = rows.counts
        if (counts == 1).any():
            label = classes[np.argmax(counts == 1)]
            raise ValueError(f"y has only 1 sample in class {label}, covariance is ill defined.")
        priors = counts / rows.shape[0] if self.priors is None else np.array(self.priors)
        if len(priors) != n_classes:
            raise ValueError(f"priors must have {n_classes} entries, one for each class")
        found = rows.scatter(True)
        covariances, scalings, rotations = [], [], []
        for k, label in enumerate(classes):
            if self.covariance_estimator is None and not isinstance(self.shrinkage, str):
                divisor = counts[k] - 1.0 if self.unbiased else counts[k]
                covariance = shrunk(found.scatter[k] / divisor, self.shrinkage or 0.0)
            else:
                own = rows.of_class(k)
                covariance = estimated_covariance(own, self.shrinkage, self.covariance_estimator)
            values, vectors = np.linalg.eigh(covariance)
            scaling, rotation = values[::-1], vectors[:, ::-1]
            if self.solver == "svd":
                scaling = (1.0 - self.reg_param) * np.maximum(scaling, 0.0) + self.reg_param
                covariance = scaling * rotation @ rotation.T
            self._check_rank(scaling, label, int(counts[k]))
            covariances.append(covariance)
            scalings.append(scaling)
            rotations.append(np.ascontiguousarray(rotation))
        self.classes_, self.priors_, self.means_ = classes, priors, found.means
        self.scalings_, self.rotations_ = scalings, rotations
        if self.store_covariance:
            self.covariance_ = covariances
        return self

    def _check_rank(self, scaling, label, n):
        d = len(scaling)
        rank = int(np.sum(scaling > self.tol))
        if self.solver == "svd":
            rank = min(rank, n)  # so many axes have been seen
        if rank == d:
            return
        start = f"The covariance matrix of class {label} is not full rank. "
        if self.solver == "svd" and n <= d:
            raise np.linalg.LinAlgError(
                f"{start}When using `solver='svd'` the number of samples in each class should be "
                f"more than the number of features, but class {label} has {n} samples and {d} "
                "features. Try using `solver='eigen'` and setting the parameter `shrinkage` for "
                "regularization."
            )
        what = "shrinkage" if self.solver == "eigen" else "reg_param"
        raise np.linalg.LinAlgError(
            f"{start}Increase the value of `{what}` to reduce the collinearity."
        )

    def _joint_log_likelihood(self, X):
        """Up to a constant, for every row and class."""
        n, d = X.shape
        n_classes = len(self.classes_)
        center = self.means_.mean(axis=0)
        # Triangular roots U of the inverse covariances: the lower half of U x needs half of x.
        half = d // 2 if d >= MANY_COLUMNS else 0
        upper, lower = [], []
        for rotation, scaling, mean in zip(self.rotations_, self.scalings_, self.means_):
            root = (rotation / np.sqrt(scaling)).T
            if half:
                root = np.linalg.qr(root, mode="r")
            with_ones = np.vstack([root.T, root @ (center - mean)])
            upper.append(with_ones[:, :half])
            lower.append(with_ones[half:, half:])
        upper, lower = np.hstack(upper), np.hstack(lower)
        with np.errstate(divide="ignore"):
            constants = np.log(self.priors_)
        constants = constants - 0.5 * np.array([np.log(S).sum() for S in self.scalings_])
        scores = np.empty((n, n_classes))

        def tile(start):
            rows = slice(start, start + ROWS_PER_TILE)
            block = np.ones((len(X[rows]), d + 1))
            np.subtract(X[rows], center, out=block[:, :d])
            scores[rows] = constants
            if half:
                take_half_squares(block @ upper, half, scores[rows])
            take_half_squares(block[:, half:] @ lower, d - half, scores[rows])

        starts = range(0, n, ROWS_PER_TILE)
        work = float(n) * d * d * n_classes
        threads = min(len(starts), effective_n_threads(None, work=work))
        if threads <= 1:
            for start in starts:
                tile(start)
        else:
            with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
                list(pool.map(tile, starts))
        return scores

    def _log_posterior(self, X):
        check_is_fitted(self)
        return self._joint_log_likelihood(validate_data(self, X, dtype=FLOATS, reset=False))

    def decision_function(self, X):
        """Log probabilities up to a constant; of two classes, their difference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._log_posterior(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self._log_posterior(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_log_proba(self, X):
        """Log probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        from scipy.special import log_softmax

        return log_softmax(self._log_posterior(X), axis=1)

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def sample(self, n_samples=1, *, random_state=None):
        """Rows that the model holds to be likely: it is a generative one.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            Their classes.
        """
        check_is_fitted(self)

        def spread_of(k):
            return self.rotations_[k] * np.sqrt(self.scalings_[k])

        return draw_classes(
            self.classes_, self.priors_, self.means_, spread_of, n_samples, random_state
        )
