"""Classes that are normal distributions with one covariance."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from fastml._engines.labels import classes_and_codes
from fastml._sklearn import HasMethods, Interval, StrOptions, fit_context
from fastml._validation import FLOATS, validate_data
from fastml.discriminant_analysis._draws import draw_classes
from fastml.discriminant_analysis._scatter import (
    LabelledBlocks,
    LabelledRows,
    estimated_covariance,
    shrunk,
)


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Linear discriminant analysis.

    Every class is N(μ_k, Σ) with its own mean and a common covariance; the log probability of
    class k is x'Σ⁻¹μ_k − ½ μ_k'Σ⁻¹μ_k + log π_k up to a constant. As a projection, it keeps the
    directions in which the means differ most, in units of Σ.

    Means and scatter come from one pass over the rows.

    Parameters
    ----------
    solver : {'svd', 'lsqr', 'eigen'}, default='svd'
        'svd' drops directions without variance, takes no shrinkage; 'lsqr' classifies only;
        'eigen' projects too.
    shrinkage : 'auto' or float, default=None
        Share of a multiple of the identity in the covariance of each class; 'auto' by Ledoit and
        Wolf. Not with 'svd'.
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; None: their shares.
    n_components : int, default=None
        Of `transform`; at most min(n_classes − 1, n_features), which None means.
    store_covariance : bool, default=False
        Whether 'svd' stores the covariance; the others always do.
    tol : float, default=1e-4
        Singular values of scaled rows below count as zero ('svd').
    covariance_estimator : estimator, default=None
        Anything with ``fit`` and ``covariance_``, instead of shrinkage. Not with 'svd'.
    unbiased : bool, default=False
        Divide the scatter by n − n_classes instead of n. Not with an estimator or 'auto'.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        Weights; of two classes one row.
    intercept_ : ndarray of shape (n_classes,)
        Constants.
    covariance_ : ndarray of shape (n_features, n_features)
        Within classes, weighted by the priors; see ``store_covariance``.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the variance between classes; not with 'lsqr'.
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)
    scalings_ : ndarray of shape (rank, n_classes - 1)
        Columns project; not with 'lsqr'.
    xbar_ : ndarray of shape (n_features,)
        Mean of the means by the priors ('svd').
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X has string column names.

    Examples
    --------
    >>> from fastml.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = [[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    """

    _parameter_constraints: dict = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
        "unbiased": ["boolean"],
    }

    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
        *,
        unbiased=False,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.unbiased = unbiased

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Learn means and the covariance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : object
        """
        X, y = validate_data(self, X, y, ensure_min_samples=2, dtype=FLOATS)
        classes, codes = classes_and_codes(y)
        return self._learn(LabelledRows(X, codes, len(classes)), classes)

    def _fit_blocks(self, passes):
        classes = passes.classes()
        self._learn(LabelledBlocks(passes, classes), classes)

    def _learn(self, rows, classes):
        n, d = rows.shape
        n_classes = len(classes)
        if n == n_classes:
            raise ValueError("The number of samples must be more than the number of classes.")
        priors = self._checked_priors(rows.counts, n)
        most = min(n_classes - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError(
                "covariance estimator is not supported with svd solver. Try another solver"
            )
        self._max_components = most if self.n_components is None else self.n_components
        self.classes_, self.priors_ = classes, priors
        divisor = float(n - n_classes if self.unbiased else n)
        coef, intercept = {
            "svd": self._by_singular_values,
            "lsqr": self._by_least_squares,
            "eigen": self._by_eigenvectors,
        }[self.solver](rows, divisor)
        if n_classes == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_ = np.asarray(coef, dtype=rows.dtype)
        self.intercept_ = np.asarray(intercept, dtype=rows.dtype)
        self._n_features_out = self._max_components
        return self

    def _checked_priors(self, counts, n):
        if self.priors is None:
            return counts / n
        priors = np.asarray(self.priors, dtype=np.float64)
        if len(priors) != len(counts):
            raise ValueError(f"priors must have {len(counts)} entries, one for each class")
        if (priors < 0.0).any():
            raise ValueError("priors must be non-negative")
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
            priors = priors / priors.sum()
        return priors

    # ------------------------------------------------------------------------ solvers

    def _within(self, rows, divisor):
        """Covariance within classes, weighted by the priors, and the means."""
        if self.covariance_estimator is None and not isinstance(self.shrinkage, str):
            by_class = self.priors is not None
            found = rows.scatter(by_class)
            if by_class:
                own = found.counts * divisor / rows.shape[0]
                covariance = np.einsum("k,kij->ij", self.priors_ / own, found.scatter)
            else:
                covariance = found.scatter / divisor
            return shrunk(covariance, self.shrinkage or 0.0), found
        found = rows.scatter(False)
        how = self.shrinkage, self.covariance_estimator
        parts = [
            prior * estimated_covariance(rows.of_class(k), *how)
            for k, prior in enumerate(self.priors_)
        ]
        return np.sum(parts, axis=0), found

    def _by_least_squares(self, rows, divisor):
        from scipy.linalg import lstsq

        self.covariance_, found = self._within(rows, divisor)
        self.means_ = found.means
        coef = lstsq(self.covariance_, self.means_.T)[0].T
        return coef, -0.5 * np.einsum("kj,kj->k", self.means_, coef) + _logs(self.priors_)

    def _by_eigenvectors(self, rows, divisor):
        from scipy.linalg import eigh

        within, found = self._within(rows, divisor)
        self.covariance_, self.means_ = within, found.means
        if self.covariance_estimator is None and not isinstance(self.shrinkage, str):
            pooled = found.scatter.sum(axis=0) if found.scatter.ndim == 3 else found.scatter
            off = (found.means - found.counts @ found.means / rows.shape[0]) * np.sqrt(
                found.counts[:, None]
            )
            total = shrunk((pooled + off.T @ off) / divisor, self.shrinkage or 0.0)
        else:
            total = estimated_covariance(rows.X, self.shrinkage, self.covariance_estimator)
        values, vectors = eigh(total - within, within)
        order = np.argsort(values)[::-1]
        self.explained_variance_ratio_ = (values / values.sum())[order][: self._max_components]
        self.scalings_ = vectors[:, order]
        coef = self.means_ @ self.scalings_ @ self.scalings_.T
        return coef, -0.5 * np.einsum("kj,kj->k", self.means_, coef) + _logs(self.priors_)

    def _by_singular_values(self, rows, divisor):
        n, d = rows.shape
        n_classes = len(self.classes_)
        if d <= n:
            found = rows.scatter(self.priors is not None)
            scatter = found.scatter.sum(axis=0) if found.scatter.ndim == 3 else found.scatter
            self.means_ = found.means
            spread, kept = self._scales(np.diag(scatter) / n)
            values, vectors = np.linalg.eigh(scatter / np.outer(spread, spread) / divisor)
            singular = np.sqrt(np.maximum(values[::-1], 0.0))
            axes = vectors[:, ::-1] * kept[:, None]
        else:
            own = [rows.of_class(k).mean(axis=0) for k in range(n_classes)]
            self.means_ = np.array(own, float)
            centred = rows.X - self.means_[rows.codes]
            spread, kept = self._scales((centred**2).mean(axis=0))
            _, singular, right = np.linalg.svd(
                centred * kept / spread / np.sqrt(divisor), full_matrices=False
            )
            axes = right.T
        if self.store_covariance:
            self.covariance_ = self._within(rows, divisor)[0]
        self.xbar_ = self.priors_ @ self.means_
        rank = int(np.sum(singular > self.tol))
        if rank == 0:
            raise ValueError(
                "no column of X varies within a class: there is no covariance to compare means by"
            )
        self._spread = spread[:, None] * axes[:, :rank] * singular[:rank]
        scalings = axes[:, :rank] / spread[:, None] / singular[:rank]
        weight = np.sqrt(n * self.priors_ / max(n_classes - 1, 1))
        between = weight[:, None] * ((self.means_ - self.xbar_) @ scalings)
        _, values, right = np.linalg.svd(between, full_matrices=False)
        total = (values**2).sum()
        shares = values**2 / total if total > 0.0 else np.zeros_like(values)
        self.explained_variance_ratio_ = shares[: self._max_components]
        rank = int(np.sum(values > self.tol * values[0])) if len(values) else 0
        self.scalings_ = scalings @ right[:rank].T
        projected = (self.means_ - self.xbar_) @ self.scalings_
        coef = projected @ self.scalings_.T
        intercept = -0.5 * (projected**2).sum(axis=1) + _logs(self.priors_)
        return coef, intercept - self.xbar_ @ coef.T

    def _scales(self, variances):
        """Deviations of the columns, one where a column does not vary, and which do."""
        largest = np.abs(self.means_).max(axis=0)
        deviation = np.sqrt(np.maximum(variances, 0.0))
        kept = deviation > 4.0 * np.finfo(np.float64).eps * largest
        return np.where(kept, deviation, 1.0), kept.astype(np.float64)

    # ------------------------------------------------------------------------ what it says

    def transform(self, X):
        """Project onto the directions in which the classes differ most.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        projected : ndarray of shape (n_samples, n_components)
        """
        if self.solver == "lsqr":
            raise NotImplementedError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        scalings = self.scalings_[:, : self._max_components].astype(X.dtype, copy=False)
        projected = X @ scalings
        if self.solver == "svd":
            projected -= (self.xbar_ @ self.scalings_[:, : self._max_components]).astype(X.dtype)
        return projected

    def decision_function(self, X):
        """Log probabilities up to a constant; of two classes, their difference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The most probable class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best.astype(np.intp)]

    def predict_log_proba(self, X):
        """Log probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        from scipy.special import log_expit, log_softmax

        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.zeros((len(scores), 1), dtype=scores.dtype)
        if scores.ndim == 1:
            return np.stack([log_expit(-scores), log_expit(scores)], axis=1)
        return log_softmax(scores, axis=1)

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
        if self.solver == "svd":
            if not hasattr(self, "_spread"):
                raise ValueError(
                    "sample needs the covariance, which this model, converted from scikit-learn's, "
                    "does not hold: fit it with store_covariance=True"
                )
            spread = self._spread
        else:
            values, vectors = np.linalg.eigh(self.covariance_)
            spread = vectors * np.sqrt(np.maximum(values, 0.0))
        return draw_classes(
            self.classes_, self.priors_, self.means_, lambda k: spread, n_samples, random_state
        )


def _logs(priors):
    with np.errstate(divide="ignore"):
        return np.log(priors)
