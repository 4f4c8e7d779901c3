"""Scores on the leading principal components, as a start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import issparse


def principal_start(X, n_components: int) -> NDArray:
    """Scores of the rows on the leading components; of each, the largest weight is positive."""
    n, d = X.shape
    if n_components > min(n, d):
        raise ValueError(
            f"n_components={n_components} must be between 0 and min(n_samples, n_features)="
            f"{min(n, d)} with init='pca'"
        )
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    if not issparse(X):
        X -= mean
        mean = np.zeros(d)
    if d <= n:
        products = X.T @ X
        products = products.toarray() if issparse(products) else products
        products -= n * np.outer(mean, mean)
        axes = _leading(products, n_components)
    else:
        products = X @ X.T
        products = products.toarray() if issparse(products) else products
        cross = np.asarray(X @ mean).ravel()
        products += (mean @ mean) - cross[:, None] - cross[None, :]
        scores = _leading(products, n_components)
        axes = X.T @ scores - np.outer(mean, scores.sum(axis=0))
        norms = np.linalg.norm(axes, axis=0)
        axes /= np.where(norms > 0, norms, 1.0)
    signs = np.sign(axes[np.argmax(np.abs(axes), axis=0), range(n_components)])
    axes = axes * np.where(signs == 0, 1.0, signs)
    return np.asarray(X @ axes) - mean @ axes


def _leading(products: NDArray, n_components: int) -> NDArray:
    """Eigenvectors of the largest eigenvalues, the largest first."""
    n = len(products)
    _, vectors = eigh(products, subset_by_index=[n - n_components, n - 1])
    return vectors[:, ::-1]
