"""Mean and scatter of rows: `scatter_of` a block · `merge` · `covariance` of all.

The same three steps serve files and partitions of a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fastml._engines.spectral.blocks import block_rows, chunks, on_threads

CANCELS = 1e4
"""Square of a mean over the variance beyond which products are taken about the means."""

CANCELS_SINGLE = 10.0
"""The same where products are made in float32."""

BLOCK_OF_SCATTER = 4096
"""Rows of a block whose products are summed by BLAS alone; of float32, a quarter."""


class Scatter(NamedTuple):
    """Of rows seen so far: their weight, mean and Σ w (x − mean)(x − mean)' (or its diagonal)."""

    total: float
    mean: NDArray
    products: NDArray


def merge(a: Scatter, b: Scatter) -> Scatter:
    """Of the rows of both."""
    total = a.total + b.total
    if not total > 0.0:
        return a
    step = b.mean - a.mean
    products = a.products + b.products
    share = a.total * (b.total / total)
    products += share * (np.outer(step, step) if products.ndim == 2 else step * step)
    return Scatter(total, a.mean + (b.total / total) * step, products)


def covariance(scatter: Scatter, ddof: float = 1.0) -> NDArray:
    """Products over the weight less ``ddof``."""
    return scatter.products / (scatter.total - ddof)


class _Sums(NamedTuple):
    total: float
    x: NDArray
    xx: NDArray


def scatter_of(X, weights=None, *, precise: bool = True, n_jobs=None) -> Scatter:
    """Of all rows, dense or sparse, in float64; no copy of X is made.

    Products are taken about zero, and again about the means where these outweigh the deviations.
    Without ``precise``, products of float32 are made in float32, and only their sums in float64.
    """
    if sp.issparse(X):
        return _sparse_scatter(X, weights)
    precise = precise or X.dtype != np.float32
    sums = _sums(X, weights, None, precise, n_jobs)
    mean = sums.x / sums.total
    squares = np.einsum("jj->j", sums.xx)
    limit = 1.0 - 1.0 / (CANCELS if precise else CANCELS_SINGLE)
    if (sums.total * mean * mean > limit * squares)[squares > 0.0].any():
        shift = mean
        sums = _sums(X, weights, shift, True, n_jobs)
        mean = shift + sums.x / sums.total
    xx = sums.xx
    xx -= np.outer(sums.x, sums.x / sums.total)
    return Scatter(sums.total, mean, xx)


def _sums(X, weights, shift, precise, n_jobs) -> _Sums:
    n, d = X.shape
    step = BLOCK_OF_SCATTER if precise else BLOCK_OF_SCATTER // 4
    dtype = np.float64 if precise else X.dtype

    def of_chunk(starts):
        total, x, xx = 0.0, np.zeros(d), np.zeros((d, d))
        for first in starts:
            rows = slice(first, first + step)
            part = X[rows]
            if shift is not None:
                part = part - shift
            part = np.ascontiguousarray(part, dtype=dtype)  # sums round by the order in memory
            if weights is None:
                total += len(part)
                x += np.ones(len(part), dtype) @ part
            else:
                root = np.sqrt(weights[rows], dtype=np.float64)
                total += float(weights[rows].sum(dtype=np.float64))
                part = part * root.astype(dtype)[:, None]
                x += root @ part
            xx += part.T @ part
        return _Sums(total, x, xx)

    parts = on_threads(of_chunk, chunks(n, step), float(n) * d * (d + 1), n_jobs)
    found = parts[0]
    for part in parts[1:]:
        np.add(found.xx, part.xx, out=found.xx)
        found = _Sums(found.total + part.total, found.x + part.x, found.xx)
    return found


def _sparse_scatter(X, weights) -> Scatter:
    X = X.astype(np.float64, copy=False)
    u = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    weighted = X if weights is None else sp.diags_array(u, format="csr") @ X
    gram = X.T @ weighted
    gram = gram.toarray() if sp.issparse(gram) else np.asarray(gram)
    total, x = float(u.sum()), np.asarray(X.T @ u).ravel()
    gram = np.array(gram, dtype=np.float64)
    gram -= np.outer(x, x / total)
    return Scatter(total, x / total, gram)


def spread_of(X, weights=None, *, n_jobs=None) -> Scatter:
    """As `scatter_of`, with the sums of squares of every column instead of all products."""
    n, d = X.shape
    if sp.issparse(X):
        return _sparse_spread(X, weights)

    step = block_rows(d)

    def of_chunk(starts):
        found = Scatter(0.0, np.zeros(d), np.zeros(d))
        for first in starts:
            part = np.ascontiguousarray(X[first : first + step], dtype=np.float64)
            if weights is None:
                total = float(len(part))
                mean = np.ones(len(part)) @ part / total
                off = part - mean
                squares = np.einsum("ij,ij->j", off, off)
            else:
                w = weights[first : first + step]
                total = float(w.sum(dtype=np.float64))
                mean = (w @ part) / total if total > 0.0 else np.zeros(d)
                off = part - mean
                squares = np.einsum("i,ij,ij->j", w, off, off)
            found = merge(found, Scatter(total, mean, squares))
        return found

    parts = on_threads(of_chunk, chunks(n, step), 4.0 * n * d, n_jobs)
    found = parts[0]
    for part in parts[1:]:
        found = merge(found, part)
    return found


def _sparse_spread(X, weights) -> Scatter:
    X = X.astype(np.float64, copy=False)
    n = X.shape[0]
    u = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(u.sum())
    mean = np.asarray(X.T @ u).ravel() / total
    by_column = X.tocsc()
    columns = np.repeat(np.arange(X.shape[1]), np.diff(by_column.indptr))
    own = u[by_column.indices]
    off = by_column.data - mean[columns]
    squares = np.bincount(columns, weights=own * off * off, minlength=X.shape[1])
    stored = np.bincount(columns, weights=own, minlength=X.shape[1])
    return Scatter(total, mean, squares + np.maximum(total - stored, 0.0) * mean * mean)
