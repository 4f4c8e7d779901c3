"""Orthogonal matching pursuit: columns one by one, the one that pulls hardest first.

After each choice the weights of all chosen columns are those of least squares. Pulls follow from
the Gram matrix's rows of the chosen columns, one product with X a choice.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from fastml._engines.linear.design import CentredDesign
from fastml._engines.linear.least_angle import DEPENDENT, ChosenColumns, KnownGram

ENDED_EARLY = (
    "Orthogonal matching pursuit ended prematurely due to linear dependence in the dictionary. The "
    "requested precision might not have been met."
)


def pursue(
    design: CentredDesign | KnownGram, b: NDArray | None, most: int, tol: float | None,
    keep_path=False, *, gram: NDArray | None = None, cross: NDArray | None = None, square=np.nan,
):  # fmt: skip
    """(weights, number of columns, [weights after each choice]).

    Ends after ``most`` choices or, with ``tol``, when the squared residual is at most that. Instead
    of ``b``, ``gram``, ``cross`` = A'b and, for ``tol``, ``square`` = b'b do.
    """
    if cross is None:
        assert isinstance(design, CentredDesign)
        assert b is not None
        cross, square = design.transposed(b), float(b @ b)
    columns = ChosenColumns(design, gram)
    pull, weights, path = cross, np.empty(0), []
    limit = most if tol is None else design.n_features
    if tol is not None and square <= tol:
        limit = 0
    while len(columns.active) < limit:
        j = int(np.abs(pull).argmax())
        if j in columns.active or pull[j] ** 2 < np.finfo(np.float64).tiny * max(1.0, square):
            warnings.warn(ENDED_EARLY, RuntimeWarning, stacklevel=4)
            break
        if columns.add(j, 0.0) < DEPENDENT:
            warnings.warn(ENDED_EARLY, RuntimeWarning, stacklevel=4)
            break
        weights = columns.solve(cross[columns.active])
        pull = cross - columns.fitted_pull(weights)
        if keep_path:
            path.append(_spread(weights, columns.active, design.n_features))
        if tol is not None and square - weights @ cross[columns.active] <= tol:
            break
    return _spread(weights, columns.active, design.n_features), len(columns.active), path


def _spread(weights, active, d) -> NDArray:
    coef = np.zeros(d)
    coef[active] = weights
    return coef
