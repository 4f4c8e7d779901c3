"""Singular values and right singular vectors of rows, by whichever way suits their shape.

Every solver returns `Factors` with vectors in rows, their signs by one rule.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.spectral.blocks import chunks, on_threads
from fastml._engines.spectral.lanczos import leading_eigenpairs
from fastml._engines.spectral.operators import CentredRows, symmetric_product
from fastml._engines.spectral.signs import flipped
from fastml._threads import single_threaded_blas

LOST = 1e-8
"""Eigenvalue of a covariance over the largest below which it has too few digits left."""

DIRECT = 1 << 20
"""Values of A up to which its singular values are found from A itself."""

FEW = 300
"""Rows of a symmetric matrix up to which all its eigenvectors cost less than a few of them."""

GRAM_SIDE = 1_000
"""Smaller side of A up to which the products of its rows or columns are made."""


class Factors(NamedTuple):
    """Singular values, descending, and right vectors in rows."""

    singular: NDArray
    rows: NDArray
    exact: bool = True  # whether the solver reached its tolerance
    steps: int = 1  # most of any vector


def calm_blas(n: int):
    """One thread of BLAS for n × n matrices that are small.

    Others would wait for more work on the cores that come next.
    """
    return single_threaded_blas() if n <= FEW else contextlib.nullcontext()


def eigenvectors(C: NDArray, k: int | None = None, random_state=0) -> tuple[NDArray, NDArray]:
    """The largest k (or all) eigenvalues of a symmetric matrix, descending; vectors in rows."""
    with calm_blas(len(C)):
        return _eigenvectors(C, k, random_state)


def _eigenvectors(C: NDArray, k: int | None, random_state) -> tuple[NDArray, NDArray]:
    d = len(C)
    if k is not None and d > FEW and 16 * k < d:
        found = leading_eigenpairs(
            lambda V: symmetric_product(C, V), d, k, tol=1e-13, random_state=random_state,
            most_products=d // 2 + 4 * k,
        )  # fmt: skip
        if found.converged:
            return found.values, np.ascontiguousarray(found.vectors.T)
    if k is not None and 0 < 4 * k < d:
        values, vectors = largest(C, k)
    else:
        values, vectors = np.linalg.eigh(C)
    count = d if k is None else k
    return values[::-1][:count], np.ascontiguousarray(vectors[:, ::-1][:, :count].T)


def largest(C: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """The largest k eigenvalues and their vectors as `eigh` has them: ascending, in columns.

    Where many are equal, LAPACK's search by index may find none at all: then all are computed.
    """
    from scipy.linalg import eigh

    d = len(C)
    values, vectors = eigh(C, subset_by_index=(d - k, d - 1))
    if len(values) < k:
        values, vectors = np.linalg.eigh(C)
    return values[-k:], vectors[:, -k:]


def by_covariance(products: NDArray, k: int | None = None) -> Factors:
    """From A'A."""
    values, rows = eigenvectors(products, k)
    return Factors(np.sqrt(np.maximum(values, 0.0)), flipped(rows))


def by_singular_values(A: CentredRows) -> Factors:
    """All, from A itself: tall ones are reduced to a triangle by QR of blocks first."""
    n, d = A.shape
    if n * d <= DIRECT or n < 2 * d:
        matrix = A.dense()
    else:
        matrix = triangle(A)
    _, singular, rows = _svd(matrix)
    return Factors(singular, flipped(rows))


def _svd(matrix: NDArray):
    from scipy.linalg import LinAlgError, svd

    try:
        return svd(matrix, full_matrices=False, check_finite=False)
    except LinAlgError:  # divide and conquer did not end
        return svd(matrix, full_matrices=False, check_finite=False, lapack_driver="gesvd")


def triangle(A: CentredRows) -> NDArray:
    """R with R'R = A'A, without squaring A: QR of blocks, then of their triangles in order."""
    n, d = A.shape
    step = max(2048, 4 * d)

    def of_chunk(starts):
        found = None
        for first in starts:
            part = A.rows(slice(first, first + step))
            part = part if found is None else np.vstack([found, part])
            found = np.linalg.qr(part, mode="r")
        return found

    parts = on_threads(of_chunk, chunks(n, step), 2.0 * n * d * d, A.n_jobs)
    found = parts[0]
    for part in parts[1:]:
        found = np.linalg.qr(np.vstack([found, part]), mode="r")
    return found


def leading(
    A: CentredRows, k: int, *, tol=0.0, start=None, random_state=0, most_products=None, share=False
) -> Factors:
    """The k largest by block Lanczos on the smaller side of A.

    ``start`` has vectors of that side in columns.
    """
    n, d = A.shape
    if min(n, d) <= GRAM_SIDE and most_products is None:
        _, rows = eigenvectors(A.smaller_gram(), k, random_state)
        return _finished(A, rows.T, True)
    apply = A.gram_product if d <= n else A.outer_product
    found = leading_eigenpairs(
        apply, min(n, d), k, tol=tol, start=start, random_state=random_state,
        most_products=most_products, share=share,
    )  # fmt: skip
    if d <= n and len(found.values) and found.values[-1] > LOST * found.values[0]:
        rows = flipped(np.ascontiguousarray(found.vectors.T))
        return Factors(np.sqrt(found.values), rows, found.converged)
    return _finished(A, found.vectors, found.converged)


def _finished(A: CentredRows, vectors: NDArray, exact: bool) -> Factors:
    """The best singular vectors in the span of some of the smaller side: one or two products."""
    n, d = A.shape
    if d <= n:
        singular, right = _of_tall(A.product(vectors))
        return Factors(singular, flipped(right @ vectors.T), exact)
    left, R = np.linalg.qr(A.transposed(vectors))  # A'U = left R: rows of V are in its span
    if not exact:  # the best in that span, along which rows are not correlated
        singular, right = _of_tall(A.product(left))
        return Factors(singular, flipped(right @ left.T), exact)
    u, singular, _ = _svd(R)
    return Factors(singular, flipped((left @ u).T), exact)


def _of_tall(P: NDArray):
    """Singular values and right vectors of a tall matrix of few columns."""
    R: Any = np.linalg.qr(P, mode="r") if len(P) > P.shape[1] else P
    _, singular, right = _svd(R)
    return singular, right


def randomised(
    A: CentredRows, k: int, *, n_oversamples=10, n_iter: int | str = "auto", random_state=None
) -> Factors:
    """From products of A'A with random vectors, k + n_oversamples times max(2, 1.5 + 0.3 n_iter).

    All products are kept (a block Krylov space), and a third of the vectors is a block, so that
    polynomials of a higher degree are in it than powers: variances came out larger than after
    ``n_iter`` power iterations with k + n_oversamples vectors on every spectrum tried.
    """
    n, d = A.shape
    small = min(n, d)
    if n_iter == "auto":
        n_iter = 7 if k < 0.1 * small else 4
    size = min(k + n_oversamples, small)
    if small <= 4 * size:
        found = by_singular_values(A)
        return Factors(found.singular[:k], found.rows[:k])
    start = random_state.normal(size=(small, -(-size // 3)))
    most = int(size * max(2.0, 1.5 + 0.3 * int(n_iter)))
    return leading(A, k, start=start, random_state=random_state, tol=1e-12, most_products=most)


def by_power(C: NDArray, k: int, *, tol=0.0, most=10_000, random_state=None) -> Factors:
    """One after the other: v ← C v / \\|C v\\| until v stays, then C ← C − λ v v'."""
    C = np.array(C)
    d = len(C)
    limit = tol or 1e-10
    values, rows = np.zeros(k), np.zeros((k, d))
    exact, steps = True, 1
    scale = max(np.abs(np.einsum("jj->j", C)).max(initial=0.0), np.finfo(np.float64).tiny)
    for j in range(k):
        v = random_state.normal(size=d)
        v -= rows[:j].T @ (rows[:j] @ v)
        v /= np.linalg.norm(v)
        for step in range(most):
            steps = max(steps, step + 1)
            new = C @ v
            new -= rows[:j].T @ (rows[:j] @ new)
            length = np.linalg.norm(new)
            if length <= 1e-14 * scale:  # nothing varies in what is left
                break
            new /= length
            moved = np.linalg.norm(new - v)
            v = new
            if moved <= limit:
                break
        else:
            exact = False
        values[j] = max(float(v @ (C @ v)), 0.0)
        rows[j] = v
        C -= values[j] * np.outer(v, v)
    if not exact:
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"power iterations did not converge in {most} steps: neighbouring variances are nearly "
            "equal; increase tol or take another svd_solver",
            ConvergenceWarning,
            stacklevel=6,
        )
    order = np.argsort(-values, kind="stable")
    return Factors(np.sqrt(values[order]), flipped(rows[order]), exact, steps)
