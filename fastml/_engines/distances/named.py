"""A metric's name and parameters → its distance matrix."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import DataConversionWarning

from fastml._engines.distances import matrix as _matrix
from fastml._engines.distances.checks import check_norms, check_out, check_pairwise_arrays
from fastml._engines.distances.names import COUNTING, METRICS, metric_code
from fastml._validation import kernel_view
from fastml.kernels.distances import metrics

SPARSE = frozenset({"euclidean", "l2", "sqeuclidean", "manhattan", "cityblock", "l1", "cosine"})
"""Metrics that take sparse matrices; "jaccard" does too, with a check of its own."""

BOOLEAN = frozenset(
    name
    for name, code in METRICS.items()
    if metrics.FIRST_BOOLEAN_METRIC <= code <= metrics.LAST_BOOLEAN_METRIC
)
CONVERT_SILENTLY = frozenset({"matching"})

PARAMETERS: dict[str, tuple[str, ...]] = {
    "euclidean": ("squared", "X_norm_squared", "Y_norm_squared"),
    "l2": ("squared", "X_norm_squared", "Y_norm_squared"),
    "nan_euclidean": ("squared", "missing_values", "copy"),
    "minkowski": ("p", "w"),
    "seuclidean": ("V",),
    "mahalanobis": ("VI",),
    "sqeuclidean": ("w",),
    "chebyshev": ("w",),
    "braycurtis": ("w",),
    "hamming": ("w",),
    "jaccard": ("w",),
}
"""Keyword parameters by metric; what is not named here takes none."""


def check_parameters(metric: str, parameters: dict[str, Any]) -> None:
    allowed = PARAMETERS.get(metric, ())
    if unknown := sorted(set(parameters) - set(allowed)):
        takes = f"takes {', '.join(allowed)}" if allowed else "takes no parameters"
        raise TypeError(f"unexpected parameter {unknown[0]!r}: metric {metric!r} {takes}")


def check_power(p: Any) -> float:
    if not isinstance(p, Real) or not float(p) > 0.0:
        raise ValueError(f"p must be a number > 0 for the minkowski metric, got {p!r}")
    return float(p)


def check_coordinate_weights(name: str, weights: Any, n_features: int) -> np.ndarray:
    weights = np.asarray(weights, dtype=np.float64).reshape(-1)
    if weights.size != n_features:
        raise ValueError(f"{name} must hold {n_features} values (features), got {weights.size}")
    if not (weights >= 0).all():
        raise ValueError(f"{name} must hold non-negative values only")
    return weights


def derived_parameters(X, Y, metric, parameters: dict[str, Any]) -> dict[str, Any]:
    """V of seuclidean and VI of mahalanobis, from X if that is all the data there is."""
    name = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric) if isinstance(metric, str) else None
    if name is None or name in parameters:
        return {}
    if X is not Y:
        raise ValueError(
            f"The '{name}' parameter is required for the {metric} metric when Y is passed."
        )
    X = np.asarray(X)
    if metric == "seuclidean":
        return {"V": np.var(X, axis=0, ddof=1, dtype=np.float64)}
    return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X.T, dtype=np.float64))).T}


def named_matrix(
    metric: str, X, Y, *, n_jobs=None, out=None, ensure_all_finite=True, **parameters
) -> np.ndarray:
    """The matrix of a named metric; checks X, Y and the parameters."""
    check_parameters(metric, parameters)
    if metric in COUNTING:
        found = named_matrix(
            "hamming", X, Y, n_jobs=n_jobs, out=out, ensure_all_finite=ensure_all_finite
        )
        if metric == "l0":
            found *= np.shape(X)[1]
            return np.rint(found, out=found)
        return np.sign(found, out=found)
    if metric == "jaccard" and holds_sets(X) and (Y is None or holds_sets(Y)):
        return matrix_of_sets(X, Y, n_jobs=n_jobs, out=out, **parameters)
    if metric in BOOLEAN:
        return boolean_matrix(metric, X, Y, n_jobs=n_jobs, out=out, **parameters)
    if metric == "hamming":
        X, Y = codes_for_hamming(X, Y)
    if _matrix.any_sparse(X, Y) and metric not in SPARSE:
        raise TypeError(f"metric {metric!r} does not support sparse matrices; {sorted(SPARSE)} do.")
    if metric == "hamming" and X.dtype == bool and not parameters:
        X, Y = check_pairwise_arrays(X, Y, dtype=bool)
        out = checked_out(out, X, Y)
        return _matrix.bit_matrix(metrics.MATCHING, X, Y, n_jobs=n_jobs, out=out)
    X, Y = check_pairwise_arrays(X, Y, ensure_all_finite=ensure_all_finite)
    out = checked_out(out, X, Y)
    parameters |= derived_parameters(X, Y, metric, parameters)
    return checked_matrix(metric, X, Y, n_jobs=n_jobs, out=out, **parameters)


def checked_out(out, X, Y):
    if out is not None:
        check_out(out, (X.shape[0], Y.shape[0]), (X, Y))
    return out


def checked_matrix(metric: str, X, Y, *, n_jobs=None, out=None, **parameters) -> np.ndarray:
    code = METRICS[metric]
    common = {"n_jobs": n_jobs, "out": out}
    sparse = _matrix.any_sparse(X, Y)
    if code == metrics.EUCLIDEAN:
        common["x_squares"] = check_norms(parameters.get("X_norm_squared"), "X", X)
        common["y_squares"] = check_norms(parameters.get("Y_norm_squared"), "Y", Y)
        squared = bool(parameters.get("squared", False))
        if not sparse:
            return _matrix.euclidean_matrix(X, Y, squared=squared, **common)
        code = metrics.SQEUCLIDEAN if squared else code
    if sparse:
        if parameters.get("w") is not None:
            raise TypeError(f"metric {metric!r} does not take weights w with sparse matrices")
        matrix = _matrix.sparse_matrix(code, X, Y, **common)
        if code == metrics.COSINE and Y is X:
            np.fill_diagonal(matrix, 0.0)
        return matrix
    if code == metrics.COSINE:
        return _matrix.cosine_matrix(code, X, Y, **common)
    if code == metrics.CORRELATION:
        return _matrix.correlation_matrix(X, Y, **common)
    if code == metrics.MAHALANOBIS:
        return mahalanobis_matrix(X, Y, parameters["VI"], **common)
    if code == metrics.WEIGHTED_JACCARD and not (X.min() >= 0 and Y.min() >= 0):
        raise ValueError("weighted_jaccard needs non-negative values")
    if code == metrics.HAVERSINE and X.shape[1] != 2:
        raise ValueError(
            f"Haversine distance only valid in 2 dimensions (latitude, longitude), got {X.shape[1]}"
        )
    code, X, Y, p, v = sums_of_gaps(code, X, Y, **parameters)
    if code == metrics.SQEUCLIDEAN:
        return _matrix.euclidean_matrix(X, Y, squared=True, **common)
    if code == metrics.EUCLIDEAN:
        return _matrix.euclidean_matrix(X, Y, **common)
    if code <= metrics.QUARTIC:
        return _matrix.gap_matrix(code, X, Y, **common)
    return _matrix.row_matrix(code, X, Y, p=p, v=v, **common)


def sums_of_gaps(code, X, Y, *, p=2.0, w=None, V=None):
    """(code, X, Y, p, v) for metrics with a power, weights or variances; others pass through."""
    if code == metrics.POWER:
        p = check_power(p)
    if w is not None:
        w = check_coordinate_weights("w", w, X.shape[1])
    if V is not None:
        V = check_coordinate_weights("V", V, X.shape[1])
        with np.errstate(divide="ignore"):
            return code, X, Y, 2.0, kernel_view((1.0 / V)[None])
    if w is None:
        return metric_code(code, p), X, Y, p, _matrix.EMPTY
    if code == metrics.POWER and p != np.inf:
        return metric_code(code, p, weighted=True), X, Y, p, kernel_view(w[None])
    if code == metrics.HAMMING:
        return metrics.WEIGHTED_HAMMING, X, Y, p, kernel_view(w[None])
    # The others are as if the columns were scaled (or, for the largest gap, left out).
    if code in (metrics.CHEBYSHEV, metrics.POWER):
        code, scaled = metrics.CHEBYSHEV, [each[:, w > 0] for each in (X, Y)]
        if not (w > 0).any():
            raise ValueError("w must hold at least one positive weight")
    else:
        factors = (np.sqrt(w) if code == metrics.SQEUCLIDEAN else w).astype(X.dtype)
        scaled = [each * factors for each in (X, Y)]
    return code, scaled[0], scaled[0] if Y is X else scaled[1], p, _matrix.EMPTY


def mahalanobis_matrix(X, Y, VI, *, n_jobs=None, out=None) -> np.ndarray:
    """sqrt((x - y)' VI (x - y)): with VI = L L', the Euclidean distance of the rows of X L."""
    VI = np.asarray(VI, dtype=np.float64)
    if VI.shape != (X.shape[1], X.shape[1]):
        raise ValueError(f"VI must have shape {(X.shape[1], X.shape[1])}, got {VI.shape}")
    try:
        factor = np.linalg.cholesky((VI + VI.T) / 2)
    except np.linalg.LinAlgError:
        v = kernel_view(VI)
        return _matrix.row_matrix(metrics.MAHALANOBIS, X, Y, v=v, n_jobs=n_jobs, out=out)
    out = _matrix.new_matrix(X, Y, out)
    centre = X.mean(axis=0, dtype=np.float64)
    left = (X - centre) @ factor
    right = left if Y is X else (Y - centre) @ factor
    return _matrix.euclidean_matrix(left, right, n_jobs=n_jobs, out=out)


def boolean_matrix(metric, X, Y, *, n_jobs=None, out=None, w=None) -> np.ndarray:
    X = X if issparse(X) else np.asarray(X)
    Y = X if Y is None or Y is X else (Y if issparse(Y) else np.asarray(Y))
    for given in (X, Y):
        if given.dtype.kind in "USc":
            what = "complex numbers" if given.dtype.kind == "c" else "text"
            raise ValueError(f"metric {metric!r} takes real numbers or booleans, got {what}")
    if metric not in CONVERT_SILENTLY and not (X.dtype == bool and Y.dtype == bool):
        warnings.warn(
            f"Data was converted to boolean for metric {metric}",
            DataConversionWarning,
            stacklevel=3,
        )
    if _matrix.any_sparse(X, Y):
        if metric != "jaccard" or w is not None:
            raise TypeError(f"metric {metric!r} with these parameters does not support sparse data")
        X, Y = check_pairwise_arrays(X, Y)
        out = checked_out(out, X, Y)
        return _matrix.sparse_matrix(metrics.JACCARD, X, Y, n_jobs=n_jobs, out=out)
    X, Y = check_pairwise_arrays(X, Y, dtype=bool)
    out = checked_out(out, X, Y)
    if w is None:
        return _matrix.bit_matrix(METRICS[metric], X, Y, n_jobs=n_jobs, out=out)
    weights = check_coordinate_weights("w", w, X.shape[1])
    left = X * weights
    right = left if Y is X else Y * weights
    return _matrix.row_matrix(metrics.WEIGHTED_JACCARD, left, right, n_jobs=n_jobs, out=out)


def holds_sets(X) -> bool:
    """Whether X is a list or an array of sets."""
    if issparse(X) or not hasattr(X, "__len__") or not len(X) or getattr(X, "ndim", 1) != 1:
        return False
    return all(isinstance(each, set | frozenset) for each in X)


def matrix_of_sets(X, Y, *, n_jobs=None, out=None, w=None) -> np.ndarray:
    """1 - |A ∩ B| / |A ∪ B| of all pairs of sets; 0 for two empty ones."""
    if w is not None:
        raise TypeError("metric 'jaccard' of sets does not take weights w")
    left = list(X)
    right = left if Y is None or Y is X else list(Y)
    places: dict = {}
    for members in itertools.chain(left, () if right is left else right):
        for member in members:
            places.setdefault(member, len(places))

    def rows_of(sets):
        indptr = np.cumsum([0, *map(len, sets)])
        columns = np.array([places[member] for members in sets for member in members], dtype=int)
        shape = (len(sets), max(1, len(places)))
        return csr_array((np.ones(indptr[-1]), columns, indptr), shape=shape)

    rows = rows_of(left)
    others = rows if right is left else rows_of(right)
    out = checked_out(out, rows, others)
    return _matrix.sparse_matrix(metrics.JACCARD, rows, others, n_jobs=n_jobs, out=out)


def codes_for_hamming(X, Y):
    """Strings, other objects and long integers become numbers: equal values, equal numbers.

    Equal is what Python calls equal: 1 and 1.0 are, 1 and "1" are not, NaN equals nothing.
    """
    if issparse(X) or issparse(Y):
        return X, Y
    X = np.asarray(X)
    Y = X if Y is None or Y is X else np.asarray(Y)
    if X.dtype == bool and Y.dtype == bool:
        return X, Y
    if not any(_needs_codes(each) for each in (X, Y)):
        return (X.astype(np.float64), X if Y is X else Y) if X.dtype == bool else (X, Y)
    check_pairwise_arrays(X, Y, dtype=None, ensure_all_finite=False)
    parts = [X] if Y is X else [X, Y]
    if X.dtype.kind == Y.dtype.kind != "O":
        values = np.concatenate([part.ravel() for part in parts])
        codes = np.unique(values, return_inverse=True)[1].ravel().astype(np.float64)
    else:
        codes = _codes_of_objects([value for part in parts for value in part.ravel().tolist()])
    left = codes[: X.size].reshape(X.shape)
    return left, left if Y is X else codes[X.size :].reshape(Y.shape)


EXACT_INTEGERS = 2**53
"""Up to here float64 tells whole numbers apart."""


def _needs_codes(X) -> bool:
    if X.dtype.kind in "OUS":
        return True
    long = X.dtype.kind in "iu" and X.dtype.itemsize == 8 and X.size > 0
    return bool(long and (X.max() > EXACT_INTEGERS or X.min() < -EXACT_INTEGERS))


def _codes_of_objects(values: list) -> np.ndarray:
    numbers: dict = {}
    codes = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            missing = bool(value != value)
        except TypeError:  # pandas.NA
            missing = True
        try:
            codes[i] = -1.0 - i if missing else numbers.setdefault(value, len(numbers))
        except TypeError as error:
            raise TypeError(
                f"metric 'hamming' needs hashable values, got {type(value).__name__}"
            ) from error
    return codes


# ---------------------------------------------------------------------------- functions as metrics


def is_compiled(metric) -> bool:
    """Whether it is a function under Numba's ``njit``."""
    return hasattr(metric, "py_func") and hasattr(metric, "nopython_signatures")


def callable_matrix(
    metric: Callable, X, Y, *, n_jobs=None, out=None, ensure_all_finite=True, **parameters
) -> np.ndarray:
    """``metric(x, y)`` of all pairs of rows; half of them if Y is X."""
    X, Y = check_pairwise_arrays(
        X, Y, dtype=None, ensure_all_finite=ensure_all_finite, ensure_2d=False
    )
    out = checked_out(out, X, Y)
    if is_compiled(metric) and not parameters and _numeric_rows(X) and _numeric_rows(Y):
        return compiled_matrix(metric, X, Y, n_jobs=n_jobs, out=out)
    if out is None:
        dtype = np.float32 if X.dtype == Y.dtype == np.float32 else np.float64
        out = np.empty((X.shape[0], Y.shape[0]), dtype=dtype)
    rows_x = [_row(X, i) for i in range(X.shape[0])]
    rows_y = rows_x if Y is X else [_row(Y, j) for j in range(Y.shape[0])]
    if Y is not X:
        for i, j in itertools.product(range(len(rows_x)), range(len(rows_y))):
            out[i, j] = metric(rows_x[i], rows_y[j], **parameters)
        return out
    for i, j in itertools.combinations_with_replacement(range(len(rows_x)), 2):
        out[i, j] = out[j, i] = metric(rows_x[i], rows_x[j], **parameters)
    return out


def _numeric_rows(X) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"


def _row(X, i):
    return X[[i], :] if issparse(X) else X[i]


def compiled_matrix(metric, X, Y, *, n_jobs=None, out=None) -> np.ndarray:
    from fastml.kernels.distances.user_metric import call_metric

    floats = np.float32 if X.dtype == Y.dtype == np.float32 else np.float64
    left = np.require(X, floats, ["C", "W"])  # a metric may be compiled for writeable arrays only
    right = left if Y is X else np.require(Y, floats, ["C", "W"])
    out = _matrix.new_matrix(left, right, out)
    operations = 16.0 + 4.0 * X.shape[1]
    _matrix._launch_tiles(call_metric, (metric, left, right), out, X is Y, operations, n_jobs)
    return out
