"""Eigenvectors of the smallest eigenvalues of large symmetric matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, dia_array, issparse

from fastml._engines.spectral.lanczos import Pairs, leading_eigenpairs
from fastml._engines.spectral.operators import SparseProducts, symmetric_product
from fastml._threads import single_threaded_blas

DENSE_UP_TO = 300
MANY_PER_ROW = 40
"""Entries per row from which Lanczos without a factorisation is worth a try: on a swiss roll and on
digits it was 3 to 10 times slower than with one at 12 entries, 4 to 18 times faster at 200."""

MOST_PRODUCTS = 400
"""Vectors after which the try is given up: the eigenvalues lie too close together."""

WIDTH = 2
"""Vectors side by side where each costs a solution."""

TOLERANCE = 1e-12
SHIFT = 1e-5
"""Of the largest entry of the diagonal; a Laplacian has an eigenvalue 0, which has no inverse."""


def symmetric_inverse(matrix) -> Callable[[NDArray], NDArray]:
    """``b ↦ matrix⁻¹ b`` for a sparse, symmetric, positive (semi-)definite matrix.

    Rows and columns are ordered alike and no pivots are looked for, as the matrix allows it; half
    the time and entries of an LU decomposition that knows nothing of it. RuntimeError where a
    pivot is 0.
    """
    from scipy.sparse.linalg import splu

    factors = splu(
        csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )  # fmt: skip
    return factors.solve


def smallest_of_laplacian(matrix, k: int, n_jobs=None) -> NDArray:
    """Eigenvectors, in columns, of the k smallest eigenvalues of a Laplacian, ascending.

    Its rows are cheap to multiply if there are many entries in each, and the eigenvalues wanted are
    then well apart, so that Lanczos on ``-matrix`` finds them; else it is applied to the inverse.
    """
    n = matrix.shape[0]
    sparse = issparse(matrix)
    entries = matrix.data if sparse else matrix
    if n <= max(DENSE_UP_TO, 4 * k) or _above_zero(matrix):
        return _dense(matrix.toarray() if sparse else matrix, k)
    if not sparse or len(entries) > MANY_PER_ROW * n:
        found = _by_products(matrix, k, n_jobs)
        if found.converged:
            return found.vectors
    shift = SHIFT * float(matrix.diagonal().max())
    if not sparse:
        return _by_cholesky(matrix, k, shift)
    moved = csc_array(matrix + dia_array((np.full((1, n), shift), [0]), shape=(n, n)))
    start = np.random.RandomState(0).uniform(-1.0, 1.0, size=(n, WIDTH))
    return leading_eigenpairs(symmetric_inverse(moved), n, k, start=start).vectors


def _above_zero(matrix) -> bool:
    """Whether entries beside the diagonal are positive, so that eigenvalues may be negative."""
    if issparse(matrix):
        beside = matrix.tocoo()
        return bool((beside.data[beside.row != beside.col] > 0).any())
    return bool(np.count_nonzero(matrix > 0) > np.count_nonzero(matrix.diagonal() > 0))


def _dense(matrix: NDArray, k: int) -> NDArray:
    from scipy.linalg import eigh

    with single_threaded_blas():
        return eigh(matrix, subset_by_index=[0, k - 1])[1]


def _by_products(matrix, k: int, n_jobs) -> Pairs:
    sparse = SparseProducts(matrix, n_jobs) if issparse(matrix) else None

    def product(V: NDArray) -> NDArray:
        times = symmetric_product(matrix, V, n_jobs) if sparse is None else sparse.times(V)
        return np.negative(times, out=times)

    n = matrix.shape[0]
    return leading_eigenpairs(product, n, k, tol=TOLERANCE, most_products=MOST_PRODUCTS)


def _by_cholesky(matrix: NDArray, k: int, shift: float) -> NDArray:
    from scipy.linalg import cho_factor, cho_solve

    moved = matrix.copy()
    moved.flat[:: len(matrix) + 1] += shift
    with single_threaded_blas():
        factor = cho_factor(moved, overwrite_a=True, check_finite=False)

    def solve(V: NDArray) -> NDArray:
        return cho_solve(factor, V, check_finite=False)

    return leading_eigenpairs(solve, len(matrix), k).vectors
