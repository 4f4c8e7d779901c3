"""Leading eigenvectors of doubly centred squared distances."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from fastml._threads import effective_n_threads, single_threaded_blas

DENSE_UP_TO = 300
ROWS_PER_BLOCK = 512
EXTRA = 6
MOST_BLOCKS = 40
TOLERANCE = 1e-10  # of residuals, relative to the largest eigenvalue


def signed(vectors: NDArray) -> NDArray:
    """The vectors with signs such that the largest entry of each is positive."""
    largest = vectors[np.argmax(np.abs(vectors), axis=0), range(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def leading_of_squares(squares: NDArray, n_components: int, n_jobs=None):
    """The largest eigenvalues of ``-J squares J / 2``, J = I - 1/n, and their vectors."""
    n = len(squares)
    if n <= DENSE_UP_TO or 4 * (n_components + EXTRA) > n:
        centred = squares - squares.mean(axis=0)
        centred -= centred.mean(axis=1, keepdims=True)
        with single_threaded_blas():
            values, vectors = eigh(-0.5 * centred, subset_by_index=[n - n_components, n - 1])
        return values[::-1], signed(vectors[:, ::-1])
    starts = range(0, n, ROWS_PER_BLOCK)

    def product(V: NDArray) -> NDArray:
        V = V - V.mean(axis=0)
        out = np.empty_like(V)

        def block(start):
            np.matmul(
                squares[start : start + ROWS_PER_BLOCK], V, out=out[start : start + ROWS_PER_BLOCK]
            )

        if threads > 1:
            list(pool.map(block, starts))
        else:
            for start in starts:
                block(start)
        out *= -0.5
        return out - out.mean(axis=0)

    threads = effective_n_threads(n_jobs, float(n) * n)
    with single_threaded_blas(), ThreadPoolExecutor(threads) as pool:
        return _block_krylov(product, n, n_components)


def _block_krylov(product, n: int, n_components: int):
    """Rayleigh and Ritz on a Krylov space grown by blocks, restarted from its best vectors."""
    width = n_components + EXTRA
    block = np.linalg.qr(np.random.default_rng(0).normal(size=(n, width)))[0]
    for _ in range(MOST_BLOCKS):
        basis, images = [block], [product(block)]
        for _ in range(3):
            new = images[-1].copy()
            for _ in range(2):
                for old in basis:
                    new -= old @ (old.T @ new)
            basis.append(np.linalg.qr(new)[0])
            images.append(product(basis[-1]))
        Q, A = np.hstack(basis), np.hstack(images)
        small = Q.T @ A
        values, rotations = eigh(0.5 * (small + small.T))
        values, rotations = values[::-1][:width], rotations[:, ::-1][:, :width]
        block = Q @ rotations
        gaps = A @ rotations[:, :n_components] - block[:, :n_components] * values[:n_components]
        largest = max(abs(values[0]), np.finfo(float).tiny)
        if np.max(np.linalg.norm(gaps, axis=0)) <= TOLERANCE * largest:
            break
        block = np.linalg.qr(block)[0]
    return values[:n_components], signed(block[:, :n_components])
