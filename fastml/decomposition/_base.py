"""What fitted principal components can say."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.spectral.blocks import block_rows, chunks, on_threads
from fastml._engines.spectral.operators import projected
from fastml._validation import FLOATS, check_array, check_fitted, validate_data
from fastml.decomposition._docs import ENTRIES


def check_finite(estimator, X) -> None:
    """scikit-learn's error for NaN and infinity, or one for squares beyond float64."""
    check_array(X, accept_sparse=True, dtype=FLOATS, input_name="X", estimator=estimator)
    raise ValueError(f"{type(estimator).__name__}: values of X are so large that squares overflow")


@documented(ENTRIES)
class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows in terms of principal components, and the normal distribution that these describe."""

    n_jobs: int | None = None

    def transform(self, X):
        """Centre rows and project them.

        Parameters
        ----------
        {X}

        Returns
        -------
        {projected}
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, dtype=FLOATS, accept_sparse=("csr", "csc"), ensure_all_finite=False,
            reset=False,
        )  # fmt: skip
        return self._projected(X)

    def _projected(self, X):
        self._check_state()
        with np.errstate(invalid="ignore", over="ignore"):
            found = projected(X, self.components_, self.mean_, self._scale(), self.n_jobs)
        if not np.isfinite(np.sum(found)):
            check_array(X, accept_sparse=True, dtype=FLOATS, input_name="X", estimator=self)
        return found

    def _check_state(self):
        k, d = len(self.components_), self.n_features_in_
        check_fitted(self, "components_", self.components_, (k, d))
        check_fitted(self, "mean_", self.mean_, (d,))
        check_fitted(self, "explained_variance_", self.explained_variance_, (k,))

    def _scale(self):
        """Deviations to divide by; infinite where rounding made all of the variance."""
        if not self.whiten:
            return None
        variances = np.asarray(self.explained_variance_, dtype=np.float64)
        eps = np.finfo(self.components_.dtype).eps
        kept = variances > self._rank_tolerance(eps) * variances.max(initial=0.0)
        return np.where(kept & (variances > 0.0), np.sqrt(np.where(kept, variances, 1.0)), np.inf)

    def _rank_tolerance(self, eps) -> float:
        return eps * eps

    def inverse_transform(self, X):
        """Rows of components back to columns: X components + mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            As `transform` gives them.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        self._check_state()
        X = check_array(X, input_name="X", dtype=FLOATS)
        rows = self.components_
        if X.shape[1] != len(rows):
            raise ValueError(
                f"X has {X.shape[1]} columns, but {type(self).__name__} has {len(rows)} components"
            )
        if self.whiten:
            rows = rows * np.sqrt(self.explained_variance_)[:, None]
        return X @ rows.astype(X.dtype, copy=False) + self.mean_.astype(X.dtype, copy=False)

    def _spectrum(self):
        """Variances of the components, at least the noise, and the noise; in float64."""
        noise = float(self.noise_variance_)
        return np.maximum(np.asarray(self.explained_variance_, dtype=np.float64), noise), noise

    def get_covariance(self):
        """Σ (λ_j − σ²) v_j v_j' + σ² I, with the variances λ and the noise σ².

        Returns
        -------
        cov : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        variances, noise = self._spectrum()
        rows = self.components_.astype(np.float64, copy=False)
        cov = (rows.T * (variances - noise)) @ rows
        cov.flat[:: len(cov) + 1] += noise
        return cov.astype(self.components_.dtype, copy=False)

    def get_precision(self):
        """The inverse of the covariance; its pseudo-inverse where that has none.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        variances, noise = self._spectrum()
        rows = self.components_.astype(np.float64, copy=False)
        inverse = 1.0 / noise if noise > 0.0 else 0.0
        precision = (rows.T * (_inverses(variances) - inverse)) @ rows
        precision.flat[:: len(precision) + 1] += inverse
        return precision.astype(self.components_.dtype, copy=False)

    def score_samples(self, X):
        """Log density of every row.

        −½ [(x − mean)' Σ⁻¹ (x − mean) + log det Σ + d log 2π] with the covariance Σ of
        `get_covariance`. Without noise and with fewer than d directions that vary, the density is
        that within these directions.

        Parameters
        ----------
        {X}

        Returns
        -------
        ll : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        self._check_state()
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return self._log_density(X)

    def _log_density(self, X):
        variances, noise = self._spectrum()
        inverses = _inverses(variances)
        rows = self.components_.astype(np.float64, copy=False)
        n, d = X.shape
        free = d - len(rows) if noise > 0.0 else 0
        there = inverses > 0.0
        constant = (free + there.sum()) * np.log(2.0 * np.pi) + np.log(variances[there]).sum()
        if free:
            constant += free * np.log(noise)
        found = np.empty(n)
        step = block_rows(d)

        def of_chunk(starts):
            for first in starts:
                block = slice(first, first + step)
                off = np.ascontiguousarray(X[block], dtype=np.float64) - self.mean_
                z = off @ rows.T
                square = (z * z) @ inverses
                if free:
                    off -= z @ rows
                    square += np.einsum("ij,ij->i", off, off) / noise
                found[block] = -0.5 * (square + constant)

        on_threads(of_chunk, chunks(n, step), 2.0 * n * rows.size, self.n_jobs)
        return found

    def score(self, X, y=None):
        """Mean log density of the rows.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        ll : float
        """
        return float(np.mean(self.score_samples(X)))

    @property
    def _n_features_out(self):
        return self.components_.shape[0]


def _inverses(variances):
    """1/λ, and 0 where λ is 0 up to rounding."""
    floor = np.finfo(np.float64).eps * len(variances) * variances.max(initial=0.0)
    kept = variances > floor
    return np.where(kept, 1.0 / np.where(kept, variances, 1.0), 0.0)
