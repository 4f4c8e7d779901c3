"""Checked targets and predictions, and what is summed over their residuals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._sklearn import StrOptions
from fastml._threads import effective_n_threads
from fastml._validation import kernel_view
from fastml.kernels.scores.residuals import (
    N_ABSOLUTE,
    N_MEAN_RESIDUAL,
    N_MEAN_TRUE,
    N_RESIDUAL_SUMS,
    N_SPREAD_RESIDUAL,
    N_SPREAD_TRUE,
    N_SQUARE,
    RESIDUAL_ROWS,
    merge_residual_sums,
    residual_sums,
)
from fastml.metrics._checks import (
    ARRAYS,
    OPTIONAL_ARRAY,
    all_finite,
    is_plain,
    is_plain_weights,
    mean,
)

TARGETS: dict = {"y_true": ARRAYS, "y_pred": ARRAYS, "sample_weight": OPTIONAL_ARRAY}
AVERAGES: dict = {"multioutput": [StrOptions({"raw_values", "uniform_average"}), "array-like"]}
ALL_AVERAGES: dict = {
    "multioutput": [
        StrOptions({"raw_values", "uniform_average", "variance_weighted"}),
        "array-like",
    ]
}
_ALLOWED = ("raw_values", "uniform_average", "variance_weighted")
_ROWS_PER_OPERATION = 16
"""For the number of threads: one core reads as fast as memory gives, so a second pays late."""


class Targets(NamedTuple):
    """Targets and predictions: of one axis for one output, of two for more; all finite."""

    y_true: NDArray
    y_pred: NDArray
    weights: NDArray | None
    multioutput: object

    @property
    def n_outputs(self) -> int:
        return 1 if self.y_true.ndim == 1 else self.y_true.shape[1]

    def average(self, values):
        """One number for all outputs, or an array of one per output, as ``multioutput`` says."""
        values = np.atleast_1d(values)
        if isinstance(self.multioutput, str):
            if self.multioutput == "raw_values":
                return values.astype(self.y_true.dtype, copy=False)
            return float(values.mean())
        return float(np.average(values, weights=self.multioutput))

    def mean(self, losses):
        """The average over outputs of the weighted mean over rows."""
        return self.average(mean(losses, self.weights))


def check_targets(y_true, y_pred, sample_weight=None, multioutput="uniform_average") -> Targets:
    """Targets and predictions of one float type, of one shape, finite."""
    dtype = _float_dtype(y_true, y_pred, sample_weight)
    if _is_plain_regression(y_true, y_pred, sample_weight, multioutput):
        y_true, y_pred = y_true.astype(dtype, copy=False), y_pred.astype(dtype, copy=False)
        weights = None if sample_weight is None else sample_weight.astype(dtype, copy=False)
        return Targets(y_true, y_pred, weights, multioutput)
    return _checked_slowly(y_true, y_pred, sample_weight, multioutput, dtype)


def _is_plain_regression(y_true, y_pred, sample_weight, multioutput) -> bool:
    return (
        is_plain(y_true, y_pred)
        and y_true.dtype.char in "dfilqbBhH"
        and y_pred.dtype.char in "dfilqbBhH"
        and (multioutput is None or (isinstance(multioutput, str) and multioutput in _ALLOWED))
        and is_plain_weights(sample_weight, y_true)
        and all_finite(y_true)
        and all_finite(y_pred)
    )


def _float_dtype(*arrays):
    """The float type that holds all float arrays among these; float64 if there is none."""
    dtypes = [getattr(array, "dtype", None) for array in arrays]
    floats = [each for each in dtypes if isinstance(each, np.dtype) and each.kind == "f"]
    return np.result_type(*floats) if floats else np.dtype(np.float64)


def _checked_slowly(y_true, y_pred, sample_weight, multioutput, dtype) -> Targets:
    from sklearn.utils.validation import check_array, check_consistent_length

    from fastml._sklearn import check_sample_weight

    check_consistent_length(y_true, y_pred, sample_weight)
    y_true = check_array(y_true, ensure_2d=False, dtype=dtype)
    y_pred = check_array(y_pred, ensure_2d=False, dtype=dtype)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, y_true, dtype=dtype)
    n_outputs = _n_outputs(y_true)
    if n_outputs != _n_outputs(y_pred):
        raise ValueError(
            f"y_true and y_pred have different number of output ({n_outputs}!={_n_outputs(y_pred)})"
        )
    multioutput = _check_multioutput(multioutput, n_outputs)
    if n_outputs == 1:
        y_true, y_pred = y_true.reshape(-1), y_pred.reshape(-1)
    return Targets(y_true, y_pred, sample_weight, multioutput)


def _n_outputs(y: NDArray) -> int:
    return 1 if y.ndim == 1 else y.shape[1]


def _check_multioutput(multioutput, n_outputs: int):
    from sklearn.utils.validation import check_array

    if multioutput is None:
        return None
    if isinstance(multioutput, str):
        if multioutput not in _ALLOWED:
            raise ValueError(
                f"Allowed 'multioutput' string values are {_ALLOWED}. "
                f"You provided multioutput={multioutput!r}"
            )
        return multioutput
    multioutput = check_array(multioutput, ensure_2d=False)
    if n_outputs == 1:
        raise ValueError("Custom weights are useful only in multi-output cases.")
    if n_outputs != multioutput.shape[0]:
        raise ValueError(
            f"There must be equally many custom weights ({multioutput.shape[0]}) as outputs "
            f"({n_outputs})."
        )
    return multioutput


def refuse_several_outputs(targets: Targets, name: str) -> None:
    if targets.n_outputs > 1:
        raise ValueError(f"Multioutput not supported in {name}")


# ---------------------------------------------------------------------------- moments


class PairMoments(NamedTuple):
    """Weighted means over rows, of one output or of each; d = y_true - y_pred."""

    absolute: NDArray | float  # |d|
    square: NDArray | float  # d²
    residual: NDArray | float  # d
    residual_variance: NDArray | float
    true: NDArray | float  # y_true
    true_variance: NDArray | float


def moments(
    y_true, y_pred, sample_weight=None, multioutput="uniform_average"
) -> tuple[Targets, PairMoments]:
    """The checked targets and their moments; plain arrays of floats are read but once."""
    plain = (
        sample_weight is None
        and is_plain(y_true, y_pred)
        and y_true.dtype == y_pred.dtype
        and y_true.dtype.char in "df"
        and isinstance(multioutput, str)
        and multioutput in _ALLOWED
    )
    if plain:
        found = _moments_by_kernel(y_true, y_pred)
        # An infinite or missing number anywhere shows in both; so does overflow: look again.
        if np.isfinite(found.residual) and np.isfinite(found.true):
            return Targets(y_true, y_pred, None, multioutput), found
    targets = check_targets(y_true, y_pred, sample_weight, multioutput)
    return targets, moments_of(targets)


def _moments_by_kernel(y_true, y_pred) -> PairMoments:
    n = y_true.shape[0]
    partials = np.empty((-(-n // RESIDUAL_ROWS), N_RESIDUAL_SUMS))
    threads = effective_n_threads(None, n / _ROWS_PER_OPERATION)
    residual_sums(kernel_view(y_true), kernel_view(y_pred), partials, n_threads=threads)
    if partials.shape[0] == 1:
        out = partials[0]
    else:
        out = np.empty(N_RESIDUAL_SUMS)
        merge_residual_sums(partials, n, out)
    return PairMoments(
        out[N_ABSOLUTE] / n,
        out[N_SQUARE] / n,
        out[N_MEAN_RESIDUAL],
        out[N_SPREAD_RESIDUAL] / n,
        out[N_MEAN_TRUE],
        out[N_SPREAD_TRUE] / n,
    )


def moments_of(targets: Targets) -> PairMoments:
    """The same by NumPy, for weights and several outputs."""
    y_true, weights = targets.y_true, targets.weights
    residuals = y_true - targets.y_pred
    residual, true = mean(residuals, weights), mean(y_true, weights)
    return PairMoments(
        mean(np.abs(residuals), weights),
        mean(residuals**2, weights),
        residual,
        mean((residuals - residual) ** 2, weights),
        true,
        mean((y_true - true) ** 2, weights),
    )
