"""User input → the few layouts that kernels accept, with errors that name the parameter.

scikit-learn's own checks do the general part (`validate_data`, `check_array`); this file adds what
kernels need on top: one memory layout, two float types, read-only views.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def check_weights(sample_weight: ArrayLike | None, X: NDArray, *, dtype=None) -> NDArray:
    """Sample weights as a float array of ``len(X)``: finite, non-negative, not all zero."""
    from sklearn.utils.validation import _check_sample_weight

    weights = _check_sample_weight(sample_weight, X, dtype=dtype, ensure_non_negative=True)
    if weights.shape[0] and not weights.any():
        raise ValueError("sample_weight must hold at least one positive weight, got only zeros")
    return weights


def check_choice(name: str, value: object, allowed: Iterable) -> None:
    """Raise a ValueError that lists what ``name`` may be unless ``value`` is one of them."""
    allowed = list(allowed)
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
