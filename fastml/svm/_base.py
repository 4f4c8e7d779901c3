"""What the kernel machines by SMO share: input, the kernel, fitting, decision values."""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from fastml._engines.gram.expressions import KernelExpression
from fastml._engines.gram.similarities import normalised
from fastml._engines.gram.sources import SVM_KERNELS, Kernel, make_source
from fastml._engines.smo import solve
from fastml._progress import CallbackSupport, NoSteps, TaskSteps, fit_steps
from fastml._sklearn import Hidden, Interval, StrOptions, fit_context, num_samples
from fastml._validation import validate_data
from fastml.svm._decision import support_sums

try:
    from fastml._sklearn import align_api_if_sparse as _as_users_sparse
except ImportError:  # scikit-learn before 1.9: one kind of sparse container

    def _as_users_sparse(matrix):
        from scipy.sparse import csr_matrix

        return csr_matrix(matrix)


SINGLE_SHARE = 0.9
"""With float32 kernel values fits stop a little below tol, for their rounding."""


DENSE_VALUES = 2**22
"""Up to so many values sparse rows are made dense for the fit: products are faster so."""


def takes_matrices(kernel) -> bool:
    """Whether it is a function of two sets of rows: not one of two rows, under Numba's njit, and
    not an expression, which machines evaluate block by block."""
    if not callable(kernel) or isinstance(kernel, KernelExpression):
        return False
    return not hasattr(kernel, "py_func")


class BaseSVM(CallbackSupport, BaseEstimator):
    """Fitting and decision values; subclasses state the dual problem."""

    _parameter_constraints: dict = {
        "kernel": [StrOptions(set(SVM_KERNELS)), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "shrinking": ["boolean"],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "normalize": ["boolean"],
    }

    normalize = False  # a parameter of some
    _steps: NoSteps | TaskSteps = NoSteps()  # of the fit that is under way

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    # ------------------------------------------------------------------------ fit

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit to training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows, or their kernel matrix if ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels or target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C per row; rows of weight zero or less are left out.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        sparse = issparse(X)
        if sparse and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        gram_function = takes_matrices(self.kernel)
        self._sparse = sparse and not gram_function
        if self.normalize and self.kernel == "precomputed":
            raise ValueError(
                "normalize=True needs a kernel: a matrix does not tell K(x, x) of new rows"
            )
        if gram_function:
            check_consistent_length(X, y)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                dtype=np.float64,
                order="C",
                accept_sparse="csr",
                accept_large_sparse=False,
            )
        y = self._validate_targets(y)
        n = num_samples(X)
        if n != y.shape[0]:
            raise ValueError(
                f"X and y have incompatible shapes.\nX has {n} samples, but y has {y.shape[0]}."
            )
        if self.kernel == "precomputed" and n != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        weights = self._validate_weights(sample_weight, n, X)
        rows = X
        if self._sparse and X.shape[0] * X.shape[1] <= DENSE_VALUES:
            rows = X.toarray()
        self._gamma = self._resolved_gamma(rows)
        if gram_function:
            self._gram_rows = X
            rows = self._gram(X)
            if rows.shape[0] != rows.shape[1]:
                raise ValueError("X.shape[0] should be equal to X.shape[1]")
        with fit_steps(self, None, X, y) as self._steps:
            self._train(rows, y, weights)
        del self._steps
        if self._sparse:
            self.support_vectors_ = _as_users_sparse(csr_array(X[self.support_]))
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (n,)
        if not (np.isfinite(self._intercept_).all() and np.isfinite(self._coefficients()).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite."
                " The input data may contain large values and need to be"
                " preprocessed."
            )
        return self

    def _validate_targets(self, y):
        return column_or_1d(y, warn=True).astype(np.float64, copy=False)

    def _validate_weights(self, sample_weight, n, X):
        if sample_weight is None:
            return np.ones(n)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(
                f"sample_weight and X have incompatible shapes: {weights.shape} vs {X.shape}\n"
                "Note: Sparse matrices cannot be indexed by boolean masks."
            )
        if not np.isfinite(weights).all():
            raise ValueError("sample_weight must be finite, got NaN or infinity")
        if not (weights > 0).any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return weights

    def _resolved_gamma(self, X) -> float:
        if self.kernel == "precomputed" or callable(self.kernel):
            return 0.0
        if self.gamma == "scale":
            if issparse(X):
                variance = X.multiply(X).mean() - X.mean() ** 2
            else:
                variance = X.var()
            return float(1.0 / (X.shape[1] * variance)) if variance != 0 else 1.0
        if self.gamma == "auto":
            return 1.0 / X.shape[1]
        return float(self.gamma)

    def _kernel(self) -> Kernel:
        name = self.kernel
        if takes_matrices(name):
            return Kernel("precomputed")
        kernel = Kernel(name, self._gamma, self.coef0, self.degree)
        return kernel.normalised() if self.normalize else kernel

    def _is_linear(self) -> bool:
        """Whether values are products with weights of the features."""
        return isinstance(self.kernel, str) and self.kernel == "linear" and not self.normalize

    def _gram(self, X) -> np.ndarray:
        """The user's kernel matrix of X with the training rows."""
        K = self._kernel_of(X, self._gram_rows)
        return np.asarray(K, dtype=np.float64, order="C")

    def _kernel_of(self, X, Y) -> np.ndarray:
        """The user's function of two sets of rows, normalised if asked to."""
        K = self.kernel(X, Y)
        K = K.toarray() if issparse(K) else K
        if not self.normalize:
            return K
        own = [
            [np.ravel(self.kernel(rows[i : i + 1], rows[i : i + 1]))[0] for i in range(len(rows))]
            for rows in (X, Y)
        ]
        return normalised(np.asarray(K, dtype=np.float64), *own)

    def _solve(self, X, duals):
        """Solutions of all problems over the rows X."""
        largest = max(dual.rows.size for dual in duals)
        cache_bytes = self.cache_size * 2.0**20
        bound = max(float(max(dual.upper.max(), -dual.lower.min())) for dual in duals)
        source = make_source(
            X,
            self._kernel(),
            largest=bound,
            n_problem=largest,
            tol=self.tol,
            cache_bytes=cache_bytes,
            least=min(dual.rows.size for dual in duals),
            n_jobs=self.n_jobs,
        )
        single = source.dtype == np.float32
        return solve(
            source,
            duals,
            tol=self.tol * (SINGLE_SHARE if single else 1.0),
            max_iter=self.max_iter,
            cache_bytes=cache_bytes,
            n_jobs=self.n_jobs,
            report=self._report if self.verbose or self._steps.told else None,
        )

    def _report(self, steps: int, gap: float) -> bool:
        if self.verbose:
            print(f"[SMO] steps {steps}, gap {gap:.3g}")  # noqa: T201
        return self._steps.begin(f"{steps} steps, gap {gap:.3g}").end()

    def _note_status(self, converged: bool) -> None:
        self.fit_status_ = 0 if converged else 1
        if not converged:
            warnings.warn(
                f"Solver terminated early (max_iter={self.max_iter})."
                "  Consider pre-processing your data with StandardScaler or MinMaxScaler.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _store(self, X, support, n_support, coefficients, intercept):
        """Support vectors, coefficients (n_outputs, n_support) and intercepts."""
        self.support_ = support.astype(np.int32)
        self._n_support = np.asarray(n_support, dtype=np.int32)
        if self._kernel().name == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[support]
        if self._sparse:
            n_outputs, n = coefficients.shape
            layout = (np.tile(np.arange(n), n_outputs), np.arange(n_outputs + 1) * n)
            whole = csr_array((coefficients.ravel(), *layout), shape=coefficients.shape)
            self._dual_coef_ = _as_users_sparse(whole)
        else:
            self._dual_coef_ = coefficients
        self._intercept_ = intercept
        self.intercept_ = intercept.copy()
        self.dual_coef_ = self._dual_coef_
        self._probA = self._probB = np.empty(0)

    # ------------------------------------------------------------------------ decision values

    def _validate_for_predict(self, X):
        check_is_fitted(self)
        gram_function = takes_matrices(self.kernel)
        if not gram_function:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                order="C",
                accept_large_sparse=False,
                reset=False,
            )
        if self._sparse and not issparse(X):
            X = _as_users_sparse(csr_array(X))
        if issparse(X) and not self._sparse and not gram_function:
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        if gram_function:
            X = self._gram(X)
            if X.ndim == 1:
                raise ValueError("Expected 2D array from the kernel, got 1D array instead")
        if self._kernel().name == "precomputed" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        self._check_state(X.shape[1])
        return X

    def _check_state(self, n_features):
        """Whether what kernels read still fits together; attributes may have been set."""
        vectors, n = self.support_vectors_, self.support_.size
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 2
        pairs = n_classes * (n_classes - 1) // 2
        if self._kernel().name == "precomputed":
            inside = not n or 0 <= self.support_.min() <= self.support_.max() < n_features
        else:
            inside = vectors.shape == (n, n_features)
        if not (
            inside
            and self._n_support.sum() == n
            and (self._n_support >= 0).all()
            and self._n_support.size == (n_classes if hasattr(self, "classes_") else 1)
            and self._dual_coef_.shape == np.shape(self.dual_coef_) == (n_classes - 1, n)
            and self._intercept_.shape == np.shape(self.intercept_) == (pairs,)
        ):
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: support_, "
                "support_vectors_, dual_coef_, intercept_ and n_support_ do not fit together"
            )

    def _coefficients(self) -> np.ndarray:
        return self._dual_coef_.toarray() if self._sparse else self._dual_coef_

    def _sums(self, X, starts) -> np.ndarray:
        kernel = self._kernel()
        return support_sums(
            kernel,
            X,
            self.support_,
            self.support_vectors_,
            self._coefficients(),
            starts,
            self.n_jobs,
            self.tol,
        )

    def _boundaries(self) -> np.ndarray:
        """Coefficients of the support vectors, a row per boundary."""
        return self._coefficients()

    def _support_norms(self) -> np.ndarray:
        """√(c'K c) for the coefficients c of every boundary: the length of its weights."""
        kernel, chosen = self._kernel(), self._boundaries()
        if kernel.name == "precomputed":
            if not callable(self.kernel):
                raise TypeError("the length of the weights needs a kernel, not its matrix alone")
            vectors = self._gram_rows[self.support_]
            K = np.asarray(self._kernel_of(vectors, vectors), dtype=np.float64)
            return np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", chosen, K, chosen), 0.0))
        vectors, n = self.support_vectors_, self.support_.size
        squares = np.zeros(len(chosen))
        step = max(16, 2**22 // max(1, n))
        for start in range(0, n, step):
            K = kernel.matrix(vectors[start : start + step], vectors, self.n_jobs)
            squares += np.einsum("pi,pi->p", chosen[:, start : start + step], chosen @ K.T)
        return np.sqrt(np.maximum(squares, 0.0))

    def _raw_decision(self, X) -> np.ndarray:
        """Σ_j β_j K(x, v_j) + b for machines of one output."""
        X = self._validate_for_predict(X)
        if self._is_linear():
            return _linear_values(X, self._get_coef(), self._intercept_).ravel()
        starts = np.array([0, self.support_.size])
        return self._sums(X, starts)[:, 0, 0] + self._intercept_[0]

    def _get_coef(self):
        return self._dual_coef_ @ self.support_vectors_

    @property
    def coef_(self):
        """Weights of the features; for ``kernel="linear"`` only."""
        if not self._is_linear():
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._get_coef()
        (coef.data if issparse(coef) else coef).flags.writeable = False
        return coef

    @property
    def n_support_(self):
        """Number of support vectors: per class, or of all."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError("n_support_") from error
        return self._n_support


def _linear_values(X, coef, intercept) -> np.ndarray:
    from fastml._threads import single_threaded_blas

    with single_threaded_blas():
        values = X @ coef.T
    if issparse(values):
        values = values.toarray()
    return np.asarray(values) + intercept


def offset(v, beta, lower, upper) -> float:
    """b: the mean of v over free variables, else the middle of what the others allow."""
    free = (beta > lower) & (beta < upper)
    if free.any():
        return float(v[free].mean())
    rising, sinking = v[beta < upper], v[beta > lower]
    if not rising.size or not sinking.size:
        return float(sinking.min() if sinking.size else rising.max())
    return float(rising.max() + sinking.min()) / 2.0


def filled(bounds, total) -> np.ndarray:
    """Values up to their bounds, one after the other, until ``total`` is spent."""
    left = np.subtract.accumulate(np.concatenate([[total], bounds]))[:-1]
    return np.clip(left, 0.0, bounds)


def share(bounds, nu) -> float:
    """ν Σ bounds, summed in order: where it is whole, LIBSVM's rounding decides what is free."""
    return float(np.cumsum(bounds * nu)[-1])
