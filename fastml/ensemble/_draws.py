"""Which rows and columns a member of an ensemble learns from."""

from __future__ import annotations

from numbers import Integral
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

MOST_DRAWN = 2**31 - 1
"""Rows that are drawn at most, unless there are more: one row may be drawn as often as that."""


def n_rows_drawn(max_samples, n: int, weights: NDArray | None, stacklevel: int = 3) -> int:
    """``max_samples`` as a number of rows; a share counts weights, as in scikit-learn.

    A share of huge weights may be more rows than counters of draws hold: refused.
    """
    if max_samples is None:
        return n
    if isinstance(max_samples, Integral):
        return int(max_samples)
    total, what = n, f"the number of samples is {n} "
    if weights is not None:
        total = weights.sum()
        what = f"the total sum of sample weights is {total} "
    drawn = max(int(max_samples * total), 1)
    if drawn > max(n, MOST_DRAWN):
        raise ValueError(
            f"{max_samples=} when {what}means {max_samples * total:.3g} rows, more than 2^31 - 1: "
            "scale the weights down, or pass max_samples as a whole number."
        )
    if drawn < max(10, n ** (1 / 3)):
        warn(
            f"Using the fractional value {max_samples=} when {what}"
            f"results in a low number ({drawn}) of bootstrap samples. "
            "We recommend passing `max_samples` as an integer instead.",
            stacklevel=stacklevel + 1,
        )
    return drawn


def check_distinct(n_drawn: int, n: int) -> None:
    """Refuse to draw more rows than there are without replacement."""
    if n_drawn > n:
        raise ValueError(
            f"Effective max_samples={n_drawn} must be <= n_samples={n} to be able to sample "
            "without replacement."
        )


def chances(weights: NDArray | None) -> NDArray | None:
    """Weights as probabilities."""
    return None if weights is None else weights / np.sum(weights)


def distinct_rows(generator, n: int, n_drawn: int, p: NDArray | None) -> NDArray:
    """Rows without replacement, by the chances ``p``."""
    if p is None:
        return sample_without_replacement(n, n_drawn, random_state=generator)
    return generator.choice(n, n_drawn, replace=False, p=p)


def columns_of_tree(seed: int, d: int, n_drawn: int) -> NDArray:
    """The columns that a tree may split by, in order; a stream of their own, beside the rows'."""
    generator = np.random.RandomState([int(seed), 1])
    return np.sort(sample_without_replacement(d, n_drawn, random_state=generator))
