"""Sparse rows as kernels take them: one struct, one index type."""

from typing import NamedTuple

import numpy as np

COLUMN = np.uint32
"""Type of column numbers. Unsigned: Numba then leaves out its test for negative indices."""

POSITION = np.int64
"""Type of positions among the stored values, of which there may be more than 2³¹."""


class Csr(NamedTuple):
    """Row i holds ``data[p]`` in column ``indices[p]`` for p from ``indptr[i]`` to ``indptr[i+1]``.

    `fastml._engines.rows.csr_rows` makes it: every index is within the matrix.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
