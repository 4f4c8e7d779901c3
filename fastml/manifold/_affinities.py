"""Affinities of t-SNE: neighbours, conditional and joint probabilities; and perplexity itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fastml._engines.rows import csr_rows
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import check_array, kernel_view
from fastml.kernels.manifold.affinities import gaussian_affinities
from fastml.kernels.numeric.csr import Csr

MOST_BITS = 50
"""Binary exponent of distances beyond which their squares are near the ends of float32."""


def single_squares(distances: NDArray) -> tuple[NDArray, NDArray]:
    """Squares as float32, and by what the distances of each row were multiplied for them to fit.

    That is 1 unless they would overflow or vanish, else a power of two: affinities do not change.
    """
    _, exponents = np.frexp(distances.max(axis=1, keepdims=True, initial=0.0))
    factors = np.ldexp(1.0, np.where(np.abs(exponents) > MOST_BITS, -exponents, 0))
    distances = distances * factors
    return np.square(distances, out=distances).astype(np.float32), factors[:, 0]


def conditional(squares: NDArray, perplexity: float, n_jobs=None) -> tuple[NDArray, NDArray]:
    """p_j|i from squared distances to the neighbours of each row, and β_i."""
    n, k = squares.shape
    out, betas = np.empty((n, k)), np.empty(n)
    work = 60.0 * k
    gaussian_affinities(
        kernel_view(squares, np.float64), np.log(perplexity), chunk_rows(n, work), out, betas,
        n_threads=effective_n_threads(n_jobs, work * n),
    )  # fmt: skip
    return out, betas


def joint(near: NDArray, affinities: NDArray) -> Csr:
    """p_ij = (p_j|i + p_i|j) / Σ as float32, for numbers of neighbours and p_j|i."""
    n, k = near.shape
    indptr = np.arange(0, n * k + 1, k, dtype=np.int64 if n * k >= 2**31 else np.int32)
    total = affinities.sum()
    halves = (affinities / (2.0 * total)).astype(np.float32).ravel()
    one_way = csr_array((halves, near.ravel().astype(indptr.dtype), indptr), shape=(n, n))
    both = one_way + one_way.T.tocsr()
    both.sort_indices()
    return csr_rows(both)


def all_others(distances: NDArray) -> tuple[NDArray, NDArray]:
    """Of a square matrix, the entries beside the diagonal and their columns, row by row."""
    n = distances.shape[0]
    columns = np.broadcast_to(np.arange(n, dtype=np.int32), (n, n))
    beside = ~np.eye(n, dtype=bool)
    return distances[beside].reshape(n, n - 1), columns[beside].reshape(n, n - 1)


def perplexity(p, *, axis=-1):
    """Perplexity of distributions: the number of equally likely outcomes of the same entropy.

    ``exp(H) = exp(-Σ p log p)``, or ``2^H`` with the entropy in bits, which is the same.

    Parameters
    ----------
    p : array-like
        Probabilities, non-negative; they are divided by their sum.
    axis : int, default=-1
        Along which they sum to one.

    Returns
    -------
    perplexity : float or ndarray
        Without the axis.

    Examples
    --------
    >>> from fastml.manifold import perplexity
    >>> round(float(perplexity([0.25, 0.25, 0.25, 0.25, 0.0])), 9)
    4.0
    """
    p = check_array(p, ensure_2d=False, allow_nd=True, dtype=np.float64)
    if (p < 0).any():
        raise ValueError("p must be non-negative")
    totals = p.sum(axis=axis, keepdims=True)
    if (totals <= 0).any():
        raise ValueError("p must hold a positive probability in every distribution")
    p = p / totals
    logs = np.log(np.where(p > 0, p, 1.0))
    return np.exp(-(p * logs).sum(axis=axis))
