"""Principal component analysis."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fastml._docs import documented
from fastml._engines.spectral import factors
from fastml._engines.spectral.operators import CentredRows
from fastml._engines.spectral.scatter import scatter_of, spread_of
from fastml._engines.spectral.signs import flipped
from fastml._sklearn import Interval, Options, RealNotInt, StrOptions, fit_context
from fastml._validation import FLOATS, check_weights, validate_data
from fastml.decomposition._base import Projection, check_finite
from fastml.decomposition._blocks import BlockedRows
from fastml.decomposition._dimension import most_likely_rank, rank_of_share
from fastml.decomposition._docs import ENTRIES
from fastml.decomposition._missing import filled, fit_missing

SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized", "power")
COVARIANCE_COLUMNS = 1_000
"""Columns up to which tall rows are reduced to their covariance.

Milliseconds of a fit with k components, two cores, November 2026, variances equal to 1e-5:

| rows × columns, k | full | covariance_eigh | arpack | randomized | arpack within "auto" |
|---|---|---|---|---|---|
| 150 × 10, 2 | 0.7 | 1.0 | 0.9 | 1.0 | |
| 1,000 × 20, 5 | 1.5 | 0.8 | 1.6 | 1.7 | |
| 500 × 300, 10 | 31 | 10 | 19 | 26 | |
| 100,000 × 100, 10 | 383 | 26 | 164 | 260 | |
| 20,000 × 500, 20 | 855 | 110 | 342 | 323 | |
| 5,000 × 1,000, 20 | 951 | 164 | 346 | 175 | |
| 5,000 × 1,000, 200 | 956 | 253 | 832 | 559 | |
| 5,000 × 1,500, 20 | 1912 | 258 | 503 | 243 | 213 |
| 5,000 × 2,000, 20 | 3654 | 560 | 691 | 341 | 285 |
| 500 × 5,000, 20 | 529 | | 60 | 153 | 142 |

"auto" asks Lanczos for the variance to `ENOUGH` only, hence its own column.
"""

ENOUGH = 1e-6
"""Share of the variance that 'auto' may leave out, by the solver's own estimate."""

SINGLE_LOST = 1e-3
"""As `factors.LOST`, of products in float32."""


@documented(ENTRIES)
class PCA(Projection):
    """Principal component analysis.

    The directions v_1, v_2, … at right angles in which centred rows vary most: eigenvectors of the
    covariance C = Σ (x_i − mean)(x_i − mean)' / (n − 1), right singular vectors of the centred X.
    The first k of them span the k dimensions from which rows have the smallest squared distance;
    that distance is the sum of the other eigenvalues.

    Parameters
    ----------
    n_components : int, float or 'mle', default=None
        How many; a float in (0, 1): so many that they explain more than this share of the variance;
        'mle': the number of the largest evidence (Minka); None: min(n_samples, n_features), one
        less with 'arpack'.
    copy : bool, default=True
        For scikit-learn's sake: X is never written to.
    whiten : bool, default=False
        Whether `transform` divides by the deviation, so that every component has variance 1.
        Components that vary by rounding only become 0.
    svd_solver : {'auto', 'full', 'covariance_eigh', 'arpack', 'randomized', 'power'}, \
default='auto'
        'covariance_eigh': eigenvectors of C, made from blocks of rows; fastest for tall X, half of
        the digits of small variances are lost. 'full': singular values of X itself, of tall X after
        QR of blocks. 'arpack': block Lanczos, to ``tol``. 'randomized': a block Krylov space of
        random vectors after ``iterated_power`` passes. 'power': power iterations on C with
        deflation. 'auto' takes the fastest for the shape (up to 1,000 columns and no fewer rows:
        'covariance_eigh'; else, of less than a fifth of all components, 'arpack'; else, and for
        16,000 values or fewer, 'full') and, where its variances would have lost their digits, a
        better one. Sparse X is never made dense by 'arpack' and 'randomized'.
    tol : float, default=0.0
        Accuracy of 'arpack' and 'power', and of EM for missing values; 0 is as good as possible for
        'arpack', 1e-10 for 'power' and 1e-6 for EM.
    iterated_power : int or 'auto', default='auto'
        Passes of 'randomized'; 'auto' is 7, and 4 for more than a tenth of all components.
    n_oversamples : int, default=10
        Random vectors beyond n_components ('randomized').
    power_iteration_normalizer : {'auto', 'QR', 'LU', 'none'}, default='auto'
        For scikit-learn's sake: vectors are always made orthonormal.
    {random_state}
    ddof : {0, 1}, default=1
        Variances are divided by n − ddof.
    missing : {'error', 'em'}, default='error'
        What NaN in X is: an error, or a value to be expected by EM for probabilistic PCA. That
        needs n_components as a number below n_features.
    max_iter : int, default=10000
        Most steps of 'power' for a component, and of EM.
    {n_jobs}

    Attributes
    ----------
    {components_}
    {explained_variance_}
    {explained_variance_ratio_}
    {singular_values_}
    {mean_}
    n_components_ : int
        Number of components.
    n_samples_ : int
        Number of rows.
    {noise_variance_}
    n_iter_ : int
        Steps of EM where values are missing, of 'power' for the slowest component; otherwise 1.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    M. Tipping and C. Bishop, Probabilistic principal component analysis, 1999. T. Minka, Automatic
    choice of dimensionality for PCA, 2000. C. Musco and C. Musco, Randomized block Krylov methods,
    2015.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.decomposition import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> pca = PCA(n_components=2).fit(X)
    >>> pca.explained_variance_ratio_.round(4)
    array([0.9924, 0.0076])
    >>> pca.singular_values_.round(4)
    array([6.3006, 0.5498])
    >>> X = np.array([[1.0, 2.0, np.nan], [2.0, 4.1, 6.0], [3.0, np.nan, 9.0], [4.0, 8.0, 12.1]])
    >>> PCA(n_components=1, missing="em").fit(X).transform(X).shape
    (4, 1)
    """

    _parameter_constraints: dict = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "ddof": [Options(Integral, {0, 1})],
        "missing": [StrOptions({"error", "em"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        ddof=1,
        missing="error",
        max_iter=10_000,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.ddof = ddof
        self.missing = missing
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.missing == "error"
        tags.input_tags.allow_nan = self.missing == "em"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the components.

        Parameters
        ----------
        {X}
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: one of weight 2 counts as two rows.

        Returns
        -------
        {self}
        """
        self._fit(X, sample_weight)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the components and project the rows: `fit`, then `transform`.

        Parameters
        ----------
        {X}
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        {projected}
        """
        return self._projected(self._fit(X, sample_weight))

    def _fit(self, X, sample_weight):
        missing = self.missing == "em"
        X = validate_data(
            self, X, dtype=FLOATS, accept_sparse=not missing and ("csr", "csc"),
            ensure_all_finite="allow-nan" if missing else sp.issparse(X), ensure_min_samples=2,
        )  # fmt: skip
        rows = X.tocsr() if sp.issparse(X) else X
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, X, dtype=np.float64)
        total = float(X.shape[0] if weights is None else weights.sum())
        if not total > self.ddof:
            raise ValueError(f"sample_weight must sum to more than ddof={self.ddof}, got {total}")
        if missing and np.isnan(X).any():
            self._fit_missing(X, weights)
            return X
        solver, k = self._plan(rows)
        self._fit_svd_solver = solver
        with np.errstate(invalid="ignore", over="ignore"):
            self._solve(rows, weights, solver, k)
        return rows

    # ------------------------------------------------------------------------ choice

    def _plan(self, X):
        """The solver, and the number of components: an int, a share or 'mle'."""
        n, d = X.shape
        small, solver, k = min(n, d), self.svd_solver, self.n_components
        sparse = sp.issparse(X)
        if k is None:
            one_less = solver == "arpack" or (solver == "auto" and sparse)
            k = small - 1 if one_less else small
            if sparse and solver == "auto":
                solver = "arpack" if d > COVARIANCE_COLUMNS else "covariance_eigh"
        counted = isinstance(k, Integral)
        if solver == "auto":
            few = counted and 1 <= k < 0.2 * small
            if sparse:
                solver = "arpack" if counted and 1 <= k < small else "covariance_eigh"
            elif d <= COVARIANCE_COLUMNS and n >= (d if few else 2 * d) and n * d > 1 << 14:
                solver = "covariance_eigh"
            elif few and n * d > 1 << 18:
                solver = "arpack"
            else:
                solver = "full"
        if k == "mle":
            if solver in ("arpack", "randomized", "power"):
                raise ValueError(
                    f"n_components='mle' cannot be a string with svd_solver={solver!r}"
                )
            if n < d:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        elif solver in ("arpack", "randomized", "power"):
            if not 1 <= k <= small:
                raise ValueError(
                    f"n_components={k!r} must be between 1 and min(n_samples, n_features)={small} "
                    f"with svd_solver='{solver}'"
                )
            if solver == "arpack" and k == small:
                raise ValueError(
                    f"n_components={k!r} must be strictly less than min(n_samples, n_features)="
                    f"{small} with svd_solver='{solver}'"
                )
        elif not 0 <= k <= small:
            raise ValueError(
                f"n_components={k!r} must be between 0 and min(n_samples, n_features)={small} with "
                f"svd_solver='{solver}'"
            )
        return solver, k

    # ------------------------------------------------------------------------ solvers

    def _solve(self, X, weights, solver, k):
        draws = solver in (
            "arpack",
            "randomized",
            "power",
        )  # to make a generator takes time
        random = check_random_state(self.random_state) if draws else None
        count = int(k) if isinstance(k, Integral) else None
        scatter = None
        if solver in ("covariance_eigh", "power"):
            precise = solver == "power" or count is None
            scatter = scatter_of(X, weights, precise=precise, n_jobs=self.n_jobs)
            self._refuse_infinite(X, scatter)
            if solver == "power":
                options = {"tol": self.tol, "most": self.max_iter, "random_state": random}
                found = factors.by_power(scatter.products, count, **options)
            else:
                found = factors.by_covariance(scatter.products, count)
                if not precise and X.dtype == np.float32 and _lost(found, SINGLE_LOST):
                    scatter = scatter_of(X, weights, n_jobs=self.n_jobs)
                    found = factors.by_covariance(scatter.products, count)
                if self.svd_solver == "auto" and not sp.issparse(X):
                    kept = self._count(found.singular**2, k, scatter.total)
                    if _lost(factors.Factors(found.singular[:kept], found.rows), factors.LOST):
                        self._fit_svd_solver = solver = "full"
            squares = float(np.trace(scatter.products))
        if solver not in ("covariance_eigh", "power"):
            spread = scatter or spread_of(X, weights, n_jobs=self.n_jobs)
            if scatter is None:
                self._refuse_infinite(X, spread)
                squares = float(spread.products.sum())
            A = CentredRows(X, spread.mean, weights, self.n_jobs)
            found = self._from_rows(A, solver, count, random)
            scatter = spread
        self._set(X, found, k, scatter.mean, scatter.total, squares)

    def _fit_blocks(self, passes):
        """By the scatter of all rows or, where that has too few digits, by their triangle."""
        if self.missing != "error":
            raise ValueError("on blocks PCA has missing='error' only")
        rows = BlockedRows(passes)
        total = passes.total_weight()
        if not total > self.ddof:
            raise ValueError(f"sample_weight must sum to more than ddof={self.ddof}, got {total}")
        solver, k = self._plan(rows)
        count = int(k) if isinstance(k, Integral) else None
        scatter = rows.scatter()
        squares = float(np.trace(scatter.products))
        if solver == "power":
            random = check_random_state(self.random_state)
            options = {"tol": self.tol, "most": self.max_iter, "random_state": random}
            found = factors.by_power(scatter.products, count, **options)
        elif solver == "full":
            found = factors.by_singular_values(CentredRows(rows.triangle(scatter.mean), None))
        else:
            solver = "covariance_eigh"
            found = factors.by_covariance(scatter.products, count)
            kept = self._count(found.singular**2, k, scatter.total)
            few = factors.Factors(found.singular[:kept], found.rows)
            if self.svd_solver == "auto" and _lost(few, factors.LOST):
                solver = "full"
                found = factors.by_singular_values(CentredRows(rows.triangle(scatter.mean), None))
        self._fit_svd_solver = solver
        self._set(rows, found, k, scatter.mean, scatter.total, squares)

    def _from_rows(self, A, solver, count, random):
        small = min(A.shape)
        if solver == "full" or (solver == "arpack" and (small <= 64 or 3 * count > small)):
            return factors.by_singular_values(A)
        if solver == "randomized":
            return factors.randomised(
                A, count, n_oversamples=self.n_oversamples, n_iter=self.iterated_power,
                random_state=random,
            )  # fmt: skip
        if self.svd_solver == "auto" and A.sparse is None:
            found = factors.leading(
                A, count, tol=ENOUGH, random_state=random, most_products=max(small // 2, 4 * count),
                share=True,
            )  # fmt: skip
            if found.exact:
                return found
            self._fit_svd_solver = "full"
            return factors.by_singular_values(A)
        return factors.leading(A, count, tol=self.tol, random_state=random)

    def _refuse_infinite(self, X, scatter):
        diagonal = scatter.products if scatter.products.ndim == 1 else np.diag(scatter.products)
        if not (np.isfinite(scatter.mean).all() and np.isfinite(diagonal).all()):
            check_finite(self, X)

    def _count(self, squares, k, total):
        if k == "mle":
            return most_likely_rank(squares / (total - self.ddof), total)
        if not isinstance(k, Integral):
            whole = squares.sum()
            return rank_of_share(squares / whole if whole > 0.0 else squares, k)
        return int(k)

    def _set(self, X, found, k, mean, total, squares):
        n, d = X.shape
        scale = total - self.ddof
        all_squares = found.singular**2
        k = self._count(all_squares, k, total)
        variances = all_squares[:k] / scale
        left = min(n, d) - k
        noise = max(squares - all_squares[:k].sum(), 0.0) / scale / left if left > 0 else 0.0
        whole = squares / scale
        dtype = X.dtype
        self.n_samples_, self.n_components_, self.n_iter_ = n, k, found.steps
        self.mean_ = mean.astype(dtype)
        self.components_ = np.array(found.rows[:k], dtype=dtype)
        self.explained_variance_ = variances.astype(dtype)
        shares = variances / whole if whole > 0.0 else np.zeros(k)
        self.explained_variance_ratio_ = shares.astype(dtype)
        self.singular_values_ = found.singular[:k].astype(dtype)
        self.noise_variance_ = dtype.type(noise)

    def _rank_tolerance(self, eps):
        if getattr(self, "_fit_svd_solver", "full") in ("covariance_eigh", "power"):
            return 32.0 * np.finfo(np.float64).eps
        return eps * eps

    # ------------------------------------------------------------------------ missing values

    def _fit_missing(self, X, weights):
        k = self.n_components
        n, d = X.shape
        if not isinstance(k, Integral) or not 1 <= k < min(n, d):
            raise ValueError(
                f"missing='em' needs n_components from 1 to min(n_samples, n_features) - 1 = "
                f"{min(n, d) - 1}, got {k!r}"
            )
        empty = np.isnan(X if weights is None else X[weights > 0.0]).all(axis=0)
        if empty.any():
            raise ValueError(f"column {int(np.argmax(empty))} of X holds no value but NaN")
        found = fit_missing(
            X, int(k), weights, ddof=self.ddof, tol=self.tol or 1e-6, max_iter=self.max_iter,
            random=check_random_state(0 if self.random_state is None else self.random_state),
        )  # fmt: skip
        if not found.converged:
            warnings.warn(
                f"EM for missing values did not converge in max_iter={self.max_iter} steps",
                ConvergenceWarning,
                stacklevel=5,
            )
        total = float(n if weights is None else weights.sum())
        dtype = X.dtype
        self._fit_svd_solver = "em"
        self.n_samples_, self.n_components_, self.n_iter_ = n, int(k), found.n_iter
        self.mean_ = found.mean.astype(dtype)
        self.components_ = flipped(found.rows).astype(dtype)
        self.explained_variance_ = found.variances.astype(dtype)
        self.explained_variance_ratio_ = (found.variances / found.total).astype(dtype)
        self.singular_values_ = np.sqrt(found.variances * (total - self.ddof)).astype(dtype)
        self.noise_variance_ = dtype.type(found.noise)

    def transform(self, X):
        """Centre rows and project them; with ``missing='em'``, NaN is replaced by expectations.

        Parameters
        ----------
        {X}

        Returns
        -------
        {projected}
        """
        if self.missing == "error":
            return super().transform(X)
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, ensure_all_finite="allow-nan", reset=False)
        return self._projected(X)

    def _projected(self, X):
        if self.missing == "em" and not sp.issparse(X) and np.isnan(X).any():
            variances, noise = self._spectrum()
            rows = self.components_.astype(np.float64)
            W = rows.T * np.sqrt(variances - noise)
            floor = max(noise, 1e-12 * max(variances.max(initial=0.0), 1e-300))
            X = filled(X, W, self.mean_.astype(np.float64), floor).astype(X.dtype)
        return super()._projected(X)


def _lost(found, limit) -> bool:
    """Whether some kept variance is so small beside the largest that it has no digits."""
    singular = found.singular
    return bool(len(singular) and singular[-1] ** 2 < limit * singular[0] ** 2)
