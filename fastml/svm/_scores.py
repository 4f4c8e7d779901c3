"""Scores of classes → labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def class_of_largest(scores: NDArray, classes: NDArray) -> NDArray:
    """The class of the largest score; of two classes with one score, the second if it is > 0."""
    best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
    return classes[best.astype(np.intp)]
