"""Leading eigenvectors of doubly centred squared distances."""

from __future__ import annotations

from numpy.typing import NDArray
from scipy.linalg import eigh

from fastml._engines.spectral.lanczos import leading_eigenpairs
from fastml._engines.spectral.operators import symmetric_product
from fastml._engines.spectral.signs import flipped
from fastml._threads import single_threaded_blas

DENSE_UP_TO = 300
TOLERANCE = 1e-10  # of residuals, relative to the largest eigenvalue


def leading_of_squares(squares: NDArray, n_components: int, n_jobs=None):
    """The largest eigenvalues of ``-J squares J / 2``, J = I - 1/n, and their vectors."""
    n = len(squares)
    if n <= max(DENSE_UP_TO, 4 * n_components):
        centred = squares - squares.mean(axis=0)
        centred -= centred.mean(axis=1, keepdims=True)
        with single_threaded_blas():
            values, vectors = eigh(-0.5 * centred, subset_by_index=[n - n_components, n - 1])
        return values[::-1], flipped(vectors.T[::-1]).T

    def product(V: NDArray) -> NDArray:
        out = symmetric_product(squares, V - V.mean(axis=0), n_jobs)
        out *= -0.5
        return out - out.mean(axis=0)

    found = leading_eigenpairs(product, n, n_components, tol=TOLERANCE)
    return found.values, flipped(found.vectors.T).T
