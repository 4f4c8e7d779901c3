"""What all metrics check: parameters, and arrays that are plainly right, without a second look.

scikit-learn's checks of 1,000 rows take longer than the metrics. Here a plain array passes by a few
comparisons; whatever they do not settle goes through scikit-learn's own checks, so that nothing is
accepted that these would refuse, and errors have their words.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from fastml._docs import documented
from fastml.metrics._entries import ENTRIES

ARRAYS: list = ["array-like"]
ARRAYS_OR_SPARSE: list = ["array-like", "sparse matrix"]
OPTIONAL_ARRAY: list = ["array-like", None]

_CONTAINERS = (np.ndarray, list, tuple)
_SIMPLE = (str, bool, NoneType)


def checked(**constraints) -> Callable:
    """scikit-learn's ``validate_params``; values that are plainly right cost a look-up.

    The docstring may name entries of `fastml.metrics._entries`.
    """

    def decorate(function):
        names = tuple(inspect.signature(function).parameters)
        takes_arrays = {name for name, allowed in constraints.items() if "array-like" in allowed}
        simple = {name: _simple_values(allowed) for name, allowed in constraints.items()}

        def check(name, value):
            if name not in constraints:
                return
            kind = type(value)
            if kind in _CONTAINERS and name in takes_arrays:
                return
            if kind in _SIMPLE and value in simple[name]:
                return
            _check_parameter(function.__qualname__, name, value, constraints[name])

        @functools.wraps(function)
        def call(*args, **kwargs):
            for name, value in zip(names, args):
                check(name, value)
            for name, value in kwargs.items():
                check(name, value)
            return function(*args, **kwargs)

        call._skl_parameter_constraints = constraints
        return documented(ENTRIES)(call)

    return decorate


def _simple_values(allowed) -> frozenset:
    """None, booleans and strings among the allowed values."""
    values: set = set()
    for each in allowed:
        if each is None:
            values.add(None)
        elif isinstance(each, str) and each == "boolean":
            values |= {True, False}
        elif isinstance(options := getattr(each, "options", None), set | frozenset):
            values |= {option for option in options if isinstance(option, str)}
    return frozenset(values)


def _check_parameter(caller: str, name: str, value: object, allowed) -> None:
    from sklearn import get_config

    if get_config()["skip_parameter_validation"]:
        return
    from fastml._sklearn import validate_parameter_constraints

    validate_parameter_constraints({name: allowed}, {name: value}, caller_name=caller)


# ---------------------------------------------------------------------------- arrays


def is_plain(*arrays: object) -> bool:
    """Whether all are plain NumPy arrays of one length, not empty, of one axis."""
    first = arrays[0]
    if type(first) not in (np.ndarray, np.memmap):
        return False
    shape = first.shape  # type: ignore[attr-defined]
    if len(shape) != 1 or not shape[0]:
        return False
    return all(
        type(array) in (np.ndarray, np.memmap) and array.shape == shape  # type: ignore[attr-defined]
        for array in arrays[1:]
    )


def all_finite(array: NDArray) -> bool:
    """Whether no number is NaN or infinite; False also where their sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum()))


def check_lengths(*arrays: object) -> None:
    """scikit-learn's check of equal lengths; None is no array."""
    lengths = {
        array.shape[0] if type(array) is np.ndarray and array.ndim else -1
        for array in arrays
        if array is not None
    }
    if len(lengths) == 1 and -1 not in lengths:
        return
    from sklearn.utils.validation import check_consistent_length

    check_consistent_length(*arrays)


def one_axis(y) -> NDArray:
    """An array of one axis; a single column becomes one."""
    if is_plain(y):
        return y
    from sklearn.utils.validation import column_or_1d

    return column_or_1d(y)


def finite_numbers(values, *, ensure_2d: bool = False) -> NDArray:
    """Numbers, none of them NaN or infinite."""
    plain = (
        type(values) is np.ndarray
        and values.dtype.char in "dfilq"
        and values.size > 0
        and (values.ndim == 2 or (values.ndim == 1 and not ensure_2d))
    )
    if plain and all_finite(values):
        return values
    from sklearn.utils.validation import check_array

    return check_array(values, ensure_2d=ensure_2d)


def is_indicator_matrix(y) -> bool:
    """Whether this is plainly a dense matrix of zeros and ones with two columns or more."""
    if type(y) is not np.ndarray or y.ndim != 2 or y.dtype.kind not in "ib":
        return False
    if y.shape[1] < 2 or not y.shape[0]:
        return False
    return y.dtype.kind == "b" or (y.min() >= 0 and y.max() <= 1)


def is_plain_weights(sample_weight: object, like: NDArray) -> bool:
    """Whether the weights are None, or a plain array of finite numbers, not all 0, for ``like``."""
    return sample_weight is None or (
        is_plain(like, sample_weight)
        and sample_weight.dtype.char in "dfilqbB"  # type: ignore[attr-defined]
        and all_finite(sample_weight)  # type: ignore[arg-type]
        and bool(sample_weight.any())  # type: ignore[attr-defined]
    )


def check_label_weights(sample_weight, like) -> NDArray:
    """Weights of labels: whole numbers stay whole."""
    from fastml._sklearn import check_sample_weight

    given = np.asarray(sample_weight)
    weights = check_sample_weight(sample_weight, like)
    return given if given.dtype.kind in "iub" and given.shape == weights.shape else weights


def mean(values: NDArray, weights: NDArray | None = None):
    """Mean over rows."""
    return values.mean(axis=0) if weights is None else np.average(values, axis=0, weights=weights)


def warn_undefined(message: str, stacklevel: int = 3) -> None:
    import warnings

    from sklearn.exceptions import UndefinedMetricWarning

    warnings.warn(message, UndefinedMetricWarning, stacklevel=stacklevel)
