"""Checks of the pairs of arrays that distance functions take."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fastml._validation import check_array


def check_pairwise_arrays(
    X: Any,
    Y: Any,
    *,
    precomputed: bool = False,
    dtype: Any = "infer_float",
    accept_sparse: Any = "csr",
    ensure_all_finite: Any = True,
    ensure_2d: bool = True,
    copy: bool = False,
) -> tuple[Any, Any]:
    """Check X and Y and bring them to one float type; Y is X itself if it was None or X.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples, n_features)
    precomputed : bool, default=False
        Whether X holds distances to the rows of Y.
    dtype : str, type, list of types or None, default="infer_float"
        "infer_float": float32 if both are float32, else float64. None: as they are.
    accept_sparse, ensure_all_finite, ensure_2d, copy
        As in `sklearn.utils.check_array`.

    Returns
    -------
    safe_X, safe_Y : {ndarray, sparse matrix}

    Examples
    --------
    >>> from fastml.metrics.pairwise import check_pairwise_arrays
    >>> X, Y = check_pairwise_arrays([[1, 2]], None)
    >>> X is Y, X.dtype
    (True, dtype('float64'))
    """
    same = Y is None or Y is X
    X = _as_array(X)
    Y = X if same else _as_array(Y)
    if isinstance(dtype, str) and dtype == "infer_float":
        dtype = np.float32 if X.dtype == Y.dtype == np.float32 else np.float64
    checks = {
        "accept_sparse": accept_sparse,
        "dtype": dtype,
        "copy": copy,
        "ensure_all_finite": ensure_all_finite,
        "ensure_2d": ensure_2d,
        "estimator": "check_pairwise_arrays",
    }
    X = check_array(X, **checks)
    Y = X if same else check_array(Y, **checks)
    if precomputed:
        if X.shape[1] != Y.shape[0]:
            raise ValueError(
                "Precomputed metric requires shape (n_queries, n_indexed). "
                f"Got ({X.shape[0]}, {X.shape[1]}) for {Y.shape[0]} indexed."
            )
    elif ensure_2d and X.shape[1] != Y.shape[1]:
        raise ValueError(
            "Incompatible dimension for X and Y matrices: "
            f"X.shape[1] == {X.shape[1]} while Y.shape[1] == {Y.shape[1]}"
        )
    return X, Y


def _as_array(X):
    """Something with a dtype; data frames pass, since check_array treats them itself."""
    return X if issparse(X) or isinstance(X, np.ndarray) else np.asarray(X)


def check_paired_arrays(X: Any, Y: Any) -> tuple[Any, Any]:
    """`check_pairwise_arrays` for two arrays of one shape.

    Parameters
    ----------
    X, Y : {array-like, sparse matrix} of shape (n_samples, n_features)

    Returns
    -------
    safe_X, safe_Y : {ndarray, sparse matrix}

    Examples
    --------
    >>> from fastml.metrics.pairwise import check_paired_arrays
    >>> X, Y = check_paired_arrays([[1, 2]], [[3, 4]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    if X.shape != Y.shape:
        raise ValueError(
            f"X and Y should be of same shape. They were respectively {X.shape!r} "
            f"and {Y.shape!r} long."
        )
    return X, Y


def check_norms(norms: Any, name: str, data: Any) -> np.ndarray | None:
    """Squared norms of the rows as given by the user: one per row, in any orientation."""
    if norms is None:
        return None
    norms = check_array(norms, ensure_2d=False, input_name=f"{name}_norm_squared")
    n = data.shape[0]
    if norms.shape not in ((n,), (n, 1), (1, n)):
        raise ValueError(
            f"Incompatible dimensions for {name} of shape {data.shape} and "
            f"{name}_norm_squared of shape {norms.shape}."
        )
    # Squares in float32 are too inexact to be used: they are computed again.
    return None if norms.dtype == np.float32 else norms.reshape(-1).astype(np.float64)


def check_out(out: Any, shape: tuple[int, int], inputs: tuple[Any, ...]) -> None:
    """Raise unless ``out`` can take a matrix of this shape from a kernel."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"out must have shape {shape}, got {out.shape}")
    if out.dtype not in (np.float32, np.float64):
        raise ValueError(f"out must be float32 or float64, got {out.dtype}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be C-contiguous and writeable")
    if any(isinstance(each, np.ndarray) and np.may_share_memory(out, each) for each in inputs):
        raise ValueError("out must not share memory with X or Y")
