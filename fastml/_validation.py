"""User input → the few layouts that kernels accept, with errors that name the parameter.

scikit-learn's own checks do the general part (`validate_data`, `check_array`); this file adds what
kernels need on top: one memory layout, two float types, read-only views.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Value = TypeVar("Value")

FLOATS = (np.float64, np.float32)
"""What `validate_data(dtype=FLOATS)` should keep; everything else becomes float64."""


def kernel_view(array: NDArray, dtype=None) -> NDArray:
    """``array`` as a C-contiguous read-only view, copied only if it is laid out otherwise.

    A read-only view is one type to Numba whatever the source was (memmap, pandas, polars, a slice),
    so no further variant is compiled, and a kernel that tried to write into user data would not
    compile.
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def check_indices(X) -> None:
    """Raise a ValueError if a sparse matrix has positions or indices outside of it.

    SciPy does not check them, and reads and writes by them, as kernels do.
    """
    if X.format in ("csr", "csc", "bsr"):
        n_lines, n_across = X.shape if X.format != "csc" else X.shape[::-1]
        if X.format == "bsr":
            n_lines, n_across = n_lines // X.blocksize[0], n_across // X.blocksize[1]
        indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
        if (
            indptr.shape[0] != n_lines + 1
            or indptr[0] != 0
            or indptr[-1] > min(indices.shape[0], X.data.shape[0])
            or (indptr[1:] < indptr[:-1]).any()
        ):
            raise ValueError("sparse X is damaged: its indptr does not ascend from 0 to its size")
        pairs = [(indices[: indptr[-1]], n_across, "row" if X.format == "csc" else "column")]
    elif X.format == "coo":
        pairs = [(X.row, X.shape[0], "row"), (X.col, X.shape[1], "column")]
    else:
        return
    for indices, size, what in pairs:
        if indices.shape[0] and not (indices.min() >= 0 and indices.max() < size):
            wrong = indices.min() if indices.min() < 0 else indices.max()
            raise ValueError(
                f"sparse X is damaged: it has {size} {what}s, and a value in {what} {wrong}"
            )


def validate_data(estimator, /, X="no_validation", *arguments, **checks):
    """scikit-learn's, after `check_indices`; plain arrays that need nothing are let through."""
    if (found := _plain_data(estimator, X, *arguments, **checks)) is not None:
        return found
    from sklearn.utils.validation import validate_data as validate

    _check_if_sparse(X)
    return validate(estimator, X, *arguments, **checks)


def _plain_data(
    estimator, X, y="no_validation", *, reset=True, dtype="numeric", order=None,
    ensure_all_finite=True, ensure_min_samples=1, accept_sparse=False, accept_large_sparse=True,
    y_numeric=False, multi_output=False, **others,
):  # fmt: skip
    """What scikit-learn's `validate_data` returns, in a tenth of its time; None: ask it.

    For arrays of finite numbers in the type and order wanted, without names of columns, and one y
    of finite numbers: small data are fitted in less time than scikit-learn takes to look at them.
    """
    if others or type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOATS:
        return None
    named = isinstance(dtype, str)
    if not (dtype in ("numeric", "int") if named else _is_among(X.dtype, dtype)):
        return None
    if not (order is None or (order == "C" and X.flags.c_contiguous)):
        return None
    n_samples, n_features = X.shape
    if n_samples < max(ensure_min_samples, 1) or n_features < 1 or ensure_all_finite is not True:
        return None
    known = vars(estimator)
    if "feature_names_in_" in known or hasattr(type(estimator), "feature_names_in_"):
        return None
    if not reset and known.get("n_features_in_") != n_features:
        return None
    no_y = isinstance(y, str) and y == "no_validation"
    if not no_y and (
        type(y) is not np.ndarray
        or y.shape != (n_samples,)
        or y.dtype.kind not in "biuf"
        or not y.dtype.isnative
    ):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(X, axis=None)
        total = total if no_y or y.dtype.kind != "f" else total + np.add.reduce(y)
    if not np.isfinite(total):
        return None
    if reset:
        estimator.n_features_in_ = n_features
    if named and dtype == "int":
        X = X.astype(int)
    return X if no_y else (X, y)


def _is_among(dtype, wanted) -> bool:
    if wanted is None:
        return True
    return dtype in wanted if isinstance(wanted, list | tuple) else dtype == wanted


def check_is_fitted(estimator, *arguments, **options) -> None:
    """scikit-learn's, which first makes the tags of the estimator: they cost more than a look."""
    if not (arguments or options or hasattr(type(estimator), "__sklearn_is_fitted__")):
        for name in vars(estimator):
            if name[-1:] == "_" and name[:2] != "__":
                return
    from sklearn.utils.validation import check_is_fitted as check

    check(estimator, *arguments, **options)


def check_array(array, *arguments, **checks):
    """scikit-learn's, after `check_indices`."""
    from sklearn.utils.validation import check_array as check

    _check_if_sparse(array)
    return check(array, *arguments, **checks)


def check_X_y(X, y, **checks):
    """scikit-learn's, after `check_indices`."""
    from sklearn.utils.validation import check_X_y as check

    _check_if_sparse(X)
    return check(X, y, **checks)


def refuse_text(X) -> None:
    """Refuse arrays of text, as scikit-learn's ``dtype="numeric"`` does."""
    if isinstance(X, list | tuple | np.ndarray) and np.asarray(X).dtype.kind in "USV":
        raise ValueError(
            "dtype='numeric' is not compatible with arrays of bytes/strings. Convert your data to "
            "numeric values explicitly instead."
        )


def _check_if_sparse(X) -> None:
    from scipy.sparse import issparse

    if issparse(X) and X.ndim == 2:
        check_indices(X)


def check_sample_weight(sample_weight: ArrayLike | None, X: NDArray, **checks) -> NDArray:
    """scikit-learn's; weights whose sum overflows are refused too."""
    from fastml._sklearn import check_sample_weight as check

    weights = check(sample_weight, X, **checks)
    if weights.shape[0] > 1 and not np.isfinite(weights.sum(dtype=np.float64)):
        raise ValueError("sample_weight is so large that its sum is infinite: scale it down")
    return weights


def check_weights(sample_weight: ArrayLike | None, X: NDArray, *, dtype=None) -> NDArray:
    """Sample weights as a float array of ``len(X)``: finite, non-negative, not all zero."""
    return check_sample_weight(sample_weight, X, dtype=dtype, ensure_non_negative=True)


MOST_DOUBLINGS = 32
"""Powers of two that the largest weight may be away from 1 before all are scaled."""


def relative_weights(
    sample_weight: ArrayLike | None, X: NDArray, *, dtype=None
) -> tuple[NDArray, float]:
    """(weights as of `check_weights`, unit), where only their ratios count.

    If the largest is far from 1, all are divided by a power of two, the unit, so that sums and
    products neither overflow nor vanish; sums of weights are multiplied by it. Otherwise it is 1.
    """
    from fastml._sklearn import check_sample_weight as check

    return scaled_weights(check(sample_weight, X, dtype=dtype, ensure_non_negative=True))


def scaled_weights(weights: NDArray) -> tuple[NDArray, float]:
    """(weights, unit) as of `relative_weights`, of checked weights."""
    largest = max(weights.max(initial=0.0), -weights.min(initial=0.0))
    exponent = int(np.frexp(largest)[1]) - 1
    if abs(exponent) <= MOST_DOUBLINGS:
        return weights, 1.0
    return np.ldexp(weights, -exponent), float(np.ldexp(1.0, exponent))


def check_fitted(estimator: object, name: str, value: object, shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless a fitted array still has the shape by which kernels read it.

    Users may set attributes, and pickled state may have been changed.
    """
    found = getattr(value, "shape", None)
    if found != shape:
        raise ValueError(
            f"{name} of {type(estimator).__name__} was altered: it must be an array of shape "
            f"{shape}, got {type(value).__name__ if found is None else found}"
        )


def check_choice(name: str, value: object, allowed: Iterable) -> None:
    """Raise a ValueError that lists what ``name`` may be unless ``value`` is one of them."""
    allowed = list(allowed)
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")


def lookup(table: Mapping[str, Value], name: object, parameter: str) -> Value:
    """``table[name]``, or a ValueError that names the parameter and what it may be."""
    if isinstance(name, str) and name in table:
        return table[name]
    allowed = ", ".join(repr(key) for key in sorted(table))
    raise ValueError(f"unknown {parameter} {name!r}; it must be one of {allowed}")
