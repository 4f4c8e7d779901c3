"""Where kernel values come from: dot products of dense rows, a matrix, or a kernel by its name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fastml._engines.distances.named import callable_matrix
from fastml._engines.gram.expressions import KernelExpression, expression_of
from fastml._engines.gram.similarities import kernel_matrix, known_parameters
from fastml._threads import effective_n_threads, single_threaded_blas
from fastml._validation import kernel_view
from fastml.kernels.distances.gram import COSINE_SIMILARITY, POLYNOMIAL, RBF, SIGMOID
from fastml.kernels.svm.rows import LINEAR, PRECOMPUTED, DotKernel, NormedRows, kernel_rows

FORMS = {
    "linear": LINEAR,
    "poly": POLYNOMIAL,
    "rbf": RBF,
    "sigmoid": SIGMOID,
    "cosine": COSINE_SIMILARITY,
    "precomputed": PRECOMPUTED,
}
"""Kernels of dense rows that are functions of dot products, and the matrix itself."""

SVM_KERNELS = (*FORMS, "laplacian", "exponential")


class Kernel(NamedTuple):
    """A kernel and its parameters; ``name`` may be a function of two rows under ``njit``, or an
    expression."""

    name: Any
    gamma: float = 0.0
    coef0: float = 0.0
    degree: int = 3

    def matrix(self, X, Y, n_jobs) -> np.ndarray:
        """K(X, Y), dense or CSR rows, any kernel."""
        if isinstance(self.name, KernelExpression):
            return np.asarray(self.name.matrix_of(X, Y, n_jobs), dtype=np.float64)
        if callable(self.name):
            return np.asarray(callable_matrix(self.name, X, Y, n_jobs=n_jobs), dtype=np.float64)
        if self.name == "linear":
            with single_threaded_blas():
                product = X @ Y.T
            return product.toarray() if issparse(product) else np.asarray(product)
        parameters = known_parameters(self.name, self._asdict())
        return kernel_matrix(self.name, X, Y, n_jobs=n_jobs, **parameters)

    def normalised(self) -> Kernel:
        """K(x, y) / √(K(x, x) K(y, y)), under another name where there is one."""
        if self.name in ("rbf", "laplacian", "cosine"):
            return self
        if self.name == "linear":
            return self._replace(name="cosine")
        if self.name == "exponential":
            return self._replace(name="rbf", gamma=0.5 * self.gamma)
        known = known_parameters(self.name, self._asdict()) if isinstance(self.name, str) else {}
        return self._replace(name=expression_of(self.name, **known).normalized())


def by_dots(X, kernel: Kernel) -> bool:
    return isinstance(kernel.name, str) and kernel.name in FORMS and not issparse(X)


def dot_kernel(kernel: Kernel, dtype: np.dtype) -> DotKernel:
    """The kernel as kernels take it, for values of ``dtype``."""
    gamma = dtype.type(kernel.gamma)
    return DotKernel(FORMS[kernel.name], gamma, float(kernel.coef0), int(kernel.degree))


def normed_rows(name: str, X: np.ndarray) -> NormedRows:
    """Rows with the norms that the kernel of that name needs besides dot products."""
    norms = np.zeros(X.shape[0], dtype=X.dtype)
    if name in ("rbf", "cosine"):
        squares = np.einsum("ij,ij->i", X, X)
        if name == "rbf":
            norms = squares
        else:
            lengths = np.sqrt(squares)
            np.divide(1.0, lengths, out=norms, where=lengths > 0)
    return NormedRows(kernel_view(X), kernel_view(norms))


class DenseSource:
    """K between rows of one dense matrix; all arithmetic in ``dtype``."""

    def __init__(self, X, kernel: Kernel, dtype=np.float64):
        self.dtype = np.dtype(dtype)
        if self.dtype == np.float32 and kernel.name == "rbf":
            X = X - X.mean(axis=0)  # distances stay, norms become small
        self.dot_kernel = dot_kernel(kernel, self.dtype)
        self.data = normed_rows(kernel.name, kernel_view(X, self.dtype))
        self.width = int(min(1024, max(16, 2**17 // max(1, X.shape[1]))))

    def operations(self) -> float:
        """Per kernel value, in multiply-adds."""
        return 2.0 if self.dot_kernel.form == PRECOMPUTED else 8.0 + self.data.X.shape[1] / 4

    def fill(self, chosen, slots, rows, out, n_jobs):
        """out[slots] = K of the ``chosen`` rows with all of ``rows``."""
        work = float(chosen.size) * rows.size * self.operations()
        n_threads = effective_n_threads(n_jobs, work=work)
        with single_threaded_blas():
            kernel_rows(
                self.dot_kernel, self.data, chosen, slots, rows, self.width, out,
                n_threads=n_threads,
            )  # fmt: skip


class AnySource:
    """K between rows of any matrix, by whole blocks: CSR rows, and kernels without dot products."""

    dtype = np.dtype(np.float64)

    def __init__(self, X, kernel: Kernel):
        self.X, self.kernel = X, kernel

    def fill(self, chosen, slots, rows, out, n_jobs):
        out[slots] = self.kernel.matrix(self.X[chosen], self.X[rows], n_jobs)

    def block(self, rows, n_jobs):
        X = self.X[rows]
        return np.ascontiguousarray(self.kernel.matrix(X, X, n_jobs), dtype=np.float64)


SINGLE_FROM = 512
"""Problems of fewer rows are not worth single precision."""

SINGLE = 3e-8
"""Rounding of float32 kernel values, relative (root mean square)."""


def single_precision_will_do(X, kernel: Kernel, largest: float, n: int, tol: float) -> bool:
    """Whether float32 kernel values keep v = t - K β right to a tenth of tol.

    Their errors are independent: Σ β_j δ_j is about C √n δ, and δ grows with the squared norms that
    cancel in |x - y|².
    """
    if kernel.name != "rbf":
        return False
    scale = 1.0 + kernel.gamma * float(X.var(axis=0).sum())
    return largest * np.sqrt(n) * SINGLE * scale < 0.1 * tol


def make_source(X, kernel: Kernel, *, largest, n_problem, tol, cache_bytes, least, n_jobs):
    """The source for rows X; ``largest`` is the largest bound of β, ``least`` the fewest rows."""
    if by_dots(X, kernel):
        single = least > SINGLE_FROM
        single = single and single_precision_will_do(X, kernel, largest, n_problem, tol)
        return DenseSource(X, kernel, np.float32 if single else np.float64)
    source = AnySource(X, kernel)
    n = X.shape[0]
    if 8.0 * n * n <= cache_bytes:
        return DenseSource(source.block(np.arange(n), n_jobs), Kernel("precomputed"))
    return source
