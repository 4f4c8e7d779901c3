"""A = diag(√w)(X − 1 mean'), dense or sparse, without ever being made."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.rows import csr_rows
from fastml._engines.spectral.blocks import block_rows, chunks, on_threads
from fastml._threads import chunk_rows, effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.decomposition.sparse_block import (
    fold_parts,
    sparse_gram_block,
    sparse_times_block,
)
from fastml.kernels.decomposition.symmetric_block import (
    LINES,
    fold_triangle,
    triangle_times_block,
)

PARTS = 8
"""Chunks of a sparse or symmetric product with an accumulator of their own."""

PER_COLUMN = 8
"""Entries per column and chunk from which on a product with both X and X' is made in one pass."""


class SparseProducts:
    """X B, X' B and X' X B of a sparse X; sums are in an order that its entries alone decide."""

    def __init__(self, X, n_jobs=None):
        self.shape, self.n_jobs = X.shape, n_jobs
        self._X = X.astype(np.float64, copy=False)
        self._parts: NDArray | None = None

    @cached_property
    def _by_row(self):
        return csr_rows(self._X.tocsr())

    @cached_property
    def _by_column(self):
        return csr_rows(self._X.tocsc())

    def _product(self, rows, n_rows: int, B: NDArray) -> NDArray:
        out = np.empty((n_rows, B.shape[1]))
        if n_rows == 0:
            return out
        work = len(rows.data) * B.shape[1]
        step = chunk_rows(n_rows, work / n_rows)
        sparse_times_block(
            rows, kernel_view(B, dtype=np.float64), step, out,
            n_threads=effective_n_threads(self.n_jobs, work),
        )  # fmt: skip
        return out

    def times(self, B: NDArray) -> NDArray:
        return self._product(self._by_row, self.shape[0], B)

    def transposed_times(self, B: NDArray) -> NDArray:
        return self._product(self._by_column, self.shape[1], B)

    def parts(self, n_columns: int) -> int:
        """Into how many chunks `gram_times` would cut the entries; below two it does not pay."""
        return min(PARTS, int(self._X.nnz) // (PER_COLUMN * max(n_columns, 1)))

    def gram_times(self, B, by_column: bool, ones, weights, offset) -> tuple[NDArray, NDArray]:
        """R' W (R B − ones offset') and ones' W (…), where R is X, or X' with ``by_column``."""
        rows = self._by_column if by_column else self._by_row
        (n_columns, width), n_rows = B.shape, len(rows.indptr) - 1
        n_parts = self.parts(n_columns)
        shape = (n_parts, n_columns, width)
        if self._parts is None or self._parts.shape != shape:
            self._parts = np.empty(shape)  # kept: fresh memory costs as much as the products
        # Chunks of as many entries, rows counted like entries.
        ends = np.asarray(rows.indptr, dtype=np.int64) + np.arange(n_rows + 1)
        bounds = np.searchsorted(ends, np.linspace(0.0, float(ends[-1]), n_parts + 1)[1:-1])
        bounds = np.concatenate(([0], bounds, [n_rows])).astype(np.intp)
        sums, lines = np.empty((n_parts, width)), np.empty((n_parts, width))
        sparse_gram_block(
            rows, kernel_view(ones), kernel_view(weights), kernel_view(B), kernel_view(offset),
            kernel_view(bounds), lines, sums, self._parts,
            n_threads=effective_n_threads(self.n_jobs, 2.0 * len(rows.data) * width),
        )  # fmt: skip
        out = np.empty((n_columns, width))
        fold_parts(
            kernel_view(self._parts), chunk_rows(n_columns, float(n_parts * width)), out,
            n_threads=effective_n_threads(self.n_jobs, float(self._parts.size)),
        )  # fmt: skip
        return out, sums.sum(axis=0)


class CentredRows:
    """A and its products with a few vectors; ``mean`` None leaves rows where they are."""

    def __init__(self, X, mean: NDArray | None, weights: NDArray | None = None, n_jobs=None):
        self.X, self.n_jobs = X, n_jobs
        self.shape = X.shape
        self.mean = mean
        self.root = None if weights is None else np.sqrt(weights, dtype=np.float64)
        self.sparse = SparseProducts(X, n_jobs) if sp.issparse(X) else None
        self._step = block_rows(X.shape[1])

    def rows(self, block: slice) -> NDArray:
        """Rows of A, dense and float64; a view of X if nothing has to be done."""
        part = self.X[block]
        part = part.toarray() if sp.issparse(part) else part
        if self.mean is not None:
            part = part - self.mean
        part = np.ascontiguousarray(part, dtype=np.float64)  # products round by the order in memory
        return part if self.root is None else part * self.root[block, None]

    def _map(self, work, columns: int, passes: int = 1) -> list:
        n, d = self.shape
        return on_threads(work, chunks(n, self._step), float(passes * n) * d * columns, self.n_jobs)

    def product(self, V: NDArray) -> NDArray:
        """A V."""
        if self.sparse is not None:
            found = self.sparse.times(V)
            if self.mean is not None:
                found -= self.mean @ V
            return found if self.root is None else found * self.root[:, None]
        out = np.empty((self.shape[0], V.shape[1]))

        def of_chunk(starts):
            for first in starts:
                rows = slice(first, first + self._step)
                np.matmul(self.rows(rows), V, out=out[rows])

        self._map(of_chunk, V.shape[1])
        return out

    def transposed(self, P: NDArray) -> NDArray:
        """A' P."""
        if self.sparse is not None:
            P = P if self.root is None else P * self.root[:, None]
            found = self.sparse.transposed_times(P)
            return found if self.mean is None else found - np.outer(self.mean, P.sum(axis=0))

        def of_chunk(starts):
            total = np.zeros((self.shape[1], P.shape[1]))
            for first in starts:
                rows = slice(first, first + self._step)
                total += self.rows(rows).T @ P[rows]
            return total

        return sum_in_order(self._map(of_chunk, P.shape[1]))

    def gram_product(self, V: NDArray) -> NDArray:
        """A' A V, in one pass over the rows."""
        if self.sparse is not None:
            n, d = self.shape
            if self.sparse.parts(d) < 2:
                return self.transposed(self.product(V))
            weights = np.ones(n) if self.root is None else np.square(self.root)
            offset = np.zeros(V.shape[1]) if self.mean is None else self.mean @ V
            found, sums = self.sparse.gram_times(V, False, np.ones(n), weights, offset)
            return found if self.mean is None else found - np.outer(self.mean, sums)

        def of_chunk(starts):
            total = np.zeros(V.shape)
            for first in starts:
                part = self.rows(slice(first, first + self._step))
                total += part.T @ (part @ V)
            return total

        return sum_in_order(self._map(of_chunk, V.shape[1], 2))

    def outer_product(self, P: NDArray) -> NDArray:
        """A A' P."""
        n, d = self.shape
        if self.sparse is None or self.sparse.parts(n) < 2:
            return self.product(self.transposed(P))
        P = P if self.root is None else P * self.root[:, None]
        mean = np.zeros(d) if self.mean is None else self.mean
        found, sums = self.sparse.gram_times(P, True, mean, np.ones(d), P.sum(axis=0))
        found -= sums
        return found if self.root is None else found * self.root[:, None]

    def smaller_gram(self) -> NDArray:
        """A'A or A A', whichever is smaller."""
        n, d = self.shape
        if d <= n:
            return self.gram_product(np.eye(d))
        if self.sparse is not None:
            return self.outer_product(np.eye(n))
        A = self.rows(slice(None))
        return A @ A.T

    def dense(self) -> NDArray:
        """A itself."""
        found = self.rows(slice(None))
        return found.copy() if found is self.X or np.shares_memory(found, self.X) else found


def symmetric_product(K: NDArray, V: NDArray, n_jobs=None) -> NDArray:
    """K V for a few vectors V; of K only the upper triangle is read, and once."""
    n, width = V.shape
    n_groups = -(-width // LINES)
    groups = np.zeros((n_groups, n, LINES))
    for q in range(n_groups):
        here = V[:, q * LINES : (q + 1) * LINES]
        groups[q, :, : here.shape[1]] = here
    bounds = _equal_parts(-(-n // LINES))
    out = np.empty((len(bounds) - 1, *groups.shape))
    triangle_times_block(
        kernel_view(K), groups, bounds, out,
        n_threads=effective_n_threads(n_jobs, float(n) * groups.size),
    )  # fmt: skip
    fold_triangle(
        bounds, chunk_rows(n, float(out.size) / n), out,
        n_threads=effective_n_threads(n_jobs, float(out.size)),
    )  # fmt: skip
    return np.concatenate(list(out[0]), axis=1)[:, :width]


def _equal_parts(n_strips: int) -> NDArray:
    """Bounds of at most `PARTS` parts of an upper triangle that have about as many entries."""
    shares = np.linspace(0.0, 1.0, min(PARTS, max(n_strips, 1)) + 1)
    return np.round((1.0 - np.sqrt(1.0 - shares)) * n_strips).astype(np.intp)


def sum_in_order(parts: list[NDArray]) -> NDArray:
    found = parts[0]
    for part in parts[1:]:
        found += part
    return found


def projected(X, components: NDArray, mean: NDArray | None, scale=None, n_jobs=None) -> NDArray:
    """(X − mean) components' / scale, of the type of X, block by block."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    directions = components.astype(np.float64, copy=False).T
    if scale is not None:
        directions = directions / scale
    offset = None if mean is None else mean.astype(np.float64, copy=False) @ directions
    if sp.issparse(X):
        out = _sparse_product(X, directions, n_jobs)
        if offset is not None:
            out -= offset
        return out.astype(dtype, copy=False)
    directions = np.ascontiguousarray(directions, dtype=dtype)
    offset = None if offset is None else offset.astype(dtype)
    out = np.empty((X.shape[0], directions.shape[1]), dtype=dtype)
    step = block_rows(X.shape[1])

    def of_chunk(starts):
        for first in starts:
            rows = slice(first, first + step)
            here = out[rows]
            np.matmul(np.ascontiguousarray(X[rows]), directions, out=here)
            if offset is not None:
                here -= offset

    on_threads(of_chunk, chunks(X.shape[0], step), 1.0 * X.shape[0] * directions.size, n_jobs)
    return out


def _sparse_product(X, directions: NDArray, n_jobs) -> NDArray:
    """X times dense columns, from its rows alone."""
    rows = csr_rows(X.tocsr().astype(np.float64, copy=False))
    out = np.empty((X.shape[0], directions.shape[1]))
    work = len(rows.data) * directions.shape[1]
    sparse_times_block(
        rows, kernel_view(directions, dtype=np.float64),
        chunk_rows(X.shape[0], work / max(X.shape[0], 1)), out,
        n_threads=effective_n_threads(n_jobs, work),
    )  # fmt: skip
    return out
