"""How well an embedding keeps what was near, and embeddings laid over each other."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import Interval, StrOptions, num_samples, validate_params
from fastml._threads import single_threaded_blas
from fastml._validation import check_array
from fastml.metrics import pairwise_distances
from fastml.neighbors import VALID_METRICS, NearestNeighbors

PAIRS_AT_ONCE = 1 << 21
METRICS = {*VALID_METRICS["brute"], "precomputed"}


def _blocks(X, metric):
    """(first row, distances of a block of rows to all) without an n × n array."""
    n = num_samples(X)
    if metric == "precomputed":
        X = check_array(X, accept_sparse="csr")
    size = max(1, PAIRS_AT_ONCE // n)
    for start in range(0, n, size):
        if metric == "precomputed":
            block = np.array(X[start : start + size], dtype=np.float64)
        else:
            block = pairwise_distances(X[start : start + size], X, metric=metric)
            block = block.astype(np.float64, copy=False)
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf  # a row is not its own neighbour
        yield start, block


def _embedded_neighbours(X_embedded, n_neighbors):
    return NearestNeighbors(n_neighbors=n_neighbors).fit(X_embedded).kneighbors()[1]


def _checked_neighbours(X, n_neighbors):
    n = num_samples(X)
    if n_neighbors >= n / 2:
        raise ValueError(f"n_neighbors ({n_neighbors}) should be less than n_samples / 2 ({n / 2})")
    return n


def _array(X):
    return X if hasattr(X, "tocsr") else np.asarray(X)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "X_embedded": ["array-like", "sparse matrix"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(METRICS), callable],
    },
    prefer_skip_nested_validation=True,
)
def trustworthiness(X, X_embedded, *, n_neighbors=5, metric="euclidean"):
    """Whether what is near in the embedding was near before.

    ``T(k) = 1 - 2 / (n k (2n - 3k - 1)) Σ_i Σ_{j ∈ N_i} max(0, r(i, j) - k)``, N_i the k nearest
    neighbours of i in the embedding and r(i, j) the rank of j among the neighbours of i before.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        The rows, or their distances.
    X_embedded : {array-like, sparse matrix} of shape (n_samples, n_components)
        Their positions.
    n_neighbors : int, default=5
        k, less than half the number of rows.
    metric : str or callable, default="euclidean"
        Distance of the rows.

    Returns
    -------
    trustworthiness : float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import trustworthiness
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> trustworthiness(X, 2 * X, n_neighbors=3)
    1.0
    """
    n = _checked_neighbours(X, n_neighbors)
    near = _embedded_neighbours(X_embedded, n_neighbors)
    excess = 0
    for start, block in _blocks(_array(X), metric):
        mine = near[start : start + len(block)]
        lengths = np.take_along_axis(block, mine, axis=1)
        columns = np.arange(n)
        for k in range(n_neighbors):
            length, column = lengths[:, k : k + 1], mine[:, k : k + 1]
            closer = (block < length) | ((block == length) & (columns < column))
            excess += int(np.maximum(closer.sum(axis=1) + 1 - n_neighbors, 0).sum())
    return 1.0 - excess * (2.0 / (n * n_neighbors * (2.0 * n - 3.0 * n_neighbors - 1.0)))


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "X_embedded": ["array-like", "sparse matrix"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "metric": [StrOptions(METRICS), callable],
    },
    prefer_skip_nested_validation=True,
)
def neighborhood_preservation(X, X_embedded, *, n_neighbors=5, metric="euclidean"):
    """The share of the nearest neighbours of a row that are among its nearest in the embedding.

    ``1 / (n k) Σ_i |N_i ∩ M_i|`` for the k nearest neighbours N before and M in the embedding.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        The rows, or their distances.
    X_embedded : {array-like, sparse matrix} of shape (n_samples, n_components)
        Their positions.
    n_neighbors : int, default=5
        k, less than half the number of rows.
    metric : str or callable, default="euclidean"
        Distance of the rows.

    Returns
    -------
    share : float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import neighborhood_preservation
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> neighborhood_preservation(X, 2 * X, n_neighbors=3)
    1.0
    """
    n = _checked_neighbours(X, n_neighbors)
    near = _embedded_neighbours(X_embedded, n_neighbors)
    kept = 0
    for start, block in _blocks(_array(X), metric):
        before = np.argsort(block, axis=1, kind="stable")[:, :n_neighbors]
        mine = near[start : start + len(block)]
        kept += int((before[:, :, None] == mine[:, None, :]).sum())
    return kept / (n * n_neighbors)


class Procrustes(NamedTuple):
    """``y ≈ scale * rotation @ x + shift`` for rows x of X and y of Y."""

    rotation: NDArray
    scale: float
    shift: NDArray
    residual: float
    transformed: NDArray
    singular_values: NDArray


def procrustes(X, Y, *, scaling=False, translation=True):
    """The rotation or reflection, with shift and scale if asked for, that lays X over Y.

    ``min ‖s W Xᵀ + t - Yᵀ‖_F`` over orthogonal W: with the singular value decomposition
    ``Xᵀ Y = U S Vᵀ`` of centred data, ``W = V Uᵀ`` and ``s = Σ S / ‖X‖²``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_components)
        What is moved.
    Y : array-like of shape (n_samples, n_components)
        Where it is to lie.
    scaling : bool, default=False
        Whether X may be scaled.
    translation : bool, default=True
        Whether X may be shifted.

    Returns
    -------
    found : Procrustes
        With ``rotation``, ``scale``, ``shift``, ``residual`` (the norm that is left),
        ``transformed`` (X laid over Y) and ``singular_values``.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.manifold import procrustes
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> turned = X @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5.0
    >>> bool(procrustes(X, turned).residual < 1e-12)
    True
    """
    X, Y = (check_array(value, dtype=np.float64, order="C") for value in (X, Y))
    if X.shape != Y.shape:
        raise ValueError(f"X and Y must have one shape, got {X.shape} and {Y.shape}")
    from_here, to_there = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if translation:
        from_here, to_there = X.mean(axis=0), Y.mean(axis=0)
    A, B = X - from_here, Y - to_there
    with single_threaded_blas():
        U, values, Vt = np.linalg.svd(A.T @ B)
        rotation = Vt.T @ U.T
    size = float(np.sum(A * A))
    scale = float(values.sum() / size) if scaling and size > 0 else 1.0
    shift = to_there - scale * rotation @ from_here
    with single_threaded_blas():
        transformed = scale * X @ rotation.T + shift
    residual = float(np.linalg.norm(transformed - Y))
    return Procrustes(rotation, scale, shift, residual, transformed, values)
