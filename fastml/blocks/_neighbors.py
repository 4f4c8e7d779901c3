"""Nearest neighbours among rows in blocks: candidates of every block, merged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastml._engines.passes import RowBlock, refuse_nan
from fastml.blocks._blocks import Blocks
from fastml.blocks._run import Runner


def block_neighbors(block: RowBlock, Q: NDArray, n_neighbors: int, options: dict):
    """(distances, numbers) of the nearest rows of the block."""
    from fastml.neighbors import NearestNeighbors

    refuse_nan(block)
    k = min(n_neighbors, len(block.X))
    found = NearestNeighbors(n_neighbors=k, **options).fit(block.X).kneighbors(Q)
    return found[0], found[1] + block.first


def kneighbors(
    blocks: Blocks, Q, n_neighbors=5, executor=None, *, metric="minkowski", p=2,
    algorithm="auto", progress=False,
):  # fmt: skip
    """The nearest of all rows to each query: those of every block, merged.

    Parameters
    ----------
    blocks : Blocks
    Q : array-like of shape (n_queries, n_features)
    n_neighbors : int, default=5
    executor : ThreadsExecutor, default=None
    metric, p, algorithm
        As of `fastml.neighbors.NearestNeighbors`.
    progress : bool, default=False

    Returns
    -------
    distances : ndarray of shape (n_queries, n_neighbors)
    numbers : ndarray of shape (n_queries, n_neighbors)
        Of the rows, from 0; the lower of equals comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, kneighbors
    >>> blocks = Blocks.from_npy(np.arange(10.0)[:, None], block_rows=4)
    >>> kneighbors(blocks, [[3.9]], n_neighbors=2)[1]
    array([[4, 3]])
    """
    Q = np.ascontiguousarray(Q, dtype=blocks.dtype)
    if Q.ndim != 2 or Q.shape[1] != blocks.n_features:
        raise ValueError(f"queries must have {blocks.n_features} features, got shape {Q.shape}")
    if not 1 <= n_neighbors <= blocks.n_rows:
        raise ValueError(
            f"Expected 1 <= n_neighbors <= n_samples = {blocks.n_rows}, got {n_neighbors}"
        )
    options = {"metric": metric, "p": p, "algorithm": algorithm}
    state = (Q, int(n_neighbors), options)
    distances = np.empty((len(Q), 0), dtype=np.float64)
    numbers = np.empty((len(Q), 0), dtype=np.intp)
    for here in Runner(blocks, executor, progress).results(block_neighbors, state, "neighbours"):
        distances = np.concatenate([distances, here[0]], axis=1)
        numbers = np.concatenate([numbers, here[1]], axis=1)
        order = np.lexsort((numbers, distances), axis=1)[:, :n_neighbors]
        distances = np.take_along_axis(distances, order, axis=1)
        numbers = np.take_along_axis(numbers, order, axis=1)
    return distances, numbers
