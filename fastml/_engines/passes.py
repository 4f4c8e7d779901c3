"""Passes over blocks of rows: what an estimator that learns from blocks is given.

An estimator that can has a method ``_fit_blocks(passes)``. A pass hands every block to a function
of some module (so that it can be sent to another process), with what the blocks before have
taught so far; what comes back is merged in the order of the blocks. So the result depends neither
on who does the work nor on how many do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class RowBlock(NamedTuple):
    """Some rows that follow each other; ``first`` is the number of the first of them."""

    number: int
    first: int
    X: NDArray
    y: NDArray | None
    weights: NDArray | None


def reads_if_needed(function: Callable) -> Callable:
    """Of a function that mostly knows the block already: its rows are read where it asks for them,
    which it does by the names of `RowBlock` only."""
    function.reads_if_needed = True  # type: ignore[attr-defined]
    return function


class RowCounts(NamedTuple):
    """What is known of all rows before they are read."""

    n_rows: int
    n_features: int
    n_blocks: int
    dtype: np.dtype
    has_target: bool
    has_weights: bool


class RunsTasks(Protocol):
    """Whoever does the work: yields what ``function(block, *state)`` returned, block by block."""

    def results(self, function: Callable, state: tuple, name: str) -> Iterator[Any]: ...

    def sums(self, function: Callable, state: tuple, name: str) -> Iterator[Any]:
        """The same for a function that adds the block to what others gave: a sum a share."""
        ...


class Passes:
    """The rows of one fit, and passes over them."""

    def __init__(self, counts: RowCounts, runner: RunsTasks):
        self.counts, self.runner = counts, runner
        self.n_rows, self.n_features, self.n_blocks = counts[:3]
        self.dtype, self.has_target, self.has_weights = counts[3:]
        self.bins: str | None = None  # a folder that keeps bins
        self.rows_name = ""  # of these rows and no others, where bins are kept
        self._classes: NDArray | None = None
        self._weight: float | None = None

    def results(self, function: Callable, *state, name: str = "pass") -> Iterator[Any]:
        """``function(block, *state)`` of every block, in their order."""
        return self.runner.results(function, state, name)

    def reduced(self, function: Callable, merge: Callable, *state, name: str = "pass") -> Any:
        """These, merged from the first to the last."""
        found: Any = None
        for here in self.results(function, *state, name=name):
            found = here if found is None else merge(found, here)
        return found

    def summed(self, function: Callable, merge: Callable, *state, name: str = "pass") -> Any:
        """Statistics whose sums are exact (integers), so that any blocks may be added in any order.

        ``function(block, *state, into)`` adds the block to ``into``, which it may write to and is
        None of the first; whoever works through several blocks sends back one sum.
        """
        found: Any = None
        for here in self.sums(function, *state, name=name):
            found = here if found is None else merge(found, here)
        return found

    def sums(self, function: Callable, *state, name: str = "pass") -> Iterator[Any]:
        """What `summed` would merge, one of each share of the blocks."""
        return self.runner.sums(function, state, name)

    def in_order(self, name: str = "rows") -> Iterator[RowBlock]:
        """The blocks themselves, for what learns from one after the other; all are finite."""
        return self.results(finite_block, name=name)

    def need_target(self) -> None:
        if not self.has_target:
            raise ValueError("these blocks have no target: name it when they are made")

    def classes(self) -> NDArray:
        """The labels of all rows, sorted; one pass over the targets."""
        if self._classes is None:
            self.need_target()
            self._classes = self.reduced(block_classes, _both, name="classes")
        return self._classes

    def total_weight(self) -> float:
        """Of all rows."""
        if not self.has_weights:
            return float(self.n_rows)
        if self._weight is None:
            self._weight = float(sum(self.results(block_weight, name="weights")))
        return self._weight

    def check_finite(self) -> None:
        """Raise scikit-learn's error if there is NaN or infinity in X."""
        for _ in self.results(block_is_finite, name="check"):
            pass

    def rows_at(self, positions: NDArray) -> tuple[NDArray, NDArray | None, NDArray | None]:
        """(X, y, weights) of some rows, whose ascending numbers are given."""
        parts = [p for p in self.results(rows_of_block, positions, name="sample") if len(p[0])]
        X, y, weights = zip(*parts)
        return (
            np.concatenate(X),
            np.concatenate(y) if self.has_target else None,
            np.concatenate(weights) if self.has_weights else None,
        )

    def some_rows(self, n_wanted: int) -> tuple[NDArray, NDArray | None, NDArray | None]:
        """About so many, at equal distances."""
        return self.rows_at(np.arange(0, self.n_rows, max(1, self.n_rows // n_wanted)))


def block_classes(block: RowBlock) -> NDArray:
    from fastml._engines.labels import classes_and_codes

    assert block.y is not None
    if block.y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {block.y.shape} instead.")
    return classes_and_codes(np.asarray(block.y))[0]


def _both(a: NDArray, b: NDArray) -> NDArray:
    return np.union1d(a, b)


def block_weight(block: RowBlock) -> float:
    assert block.weights is not None
    return float(np.sum(block.weights, dtype=np.float64))


def block_is_finite(block: RowBlock) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(np.add.reduce(block.X, axis=None)):
            refuse_nan(block)


def finite_block(block: RowBlock) -> RowBlock:
    """The block, if it has neither NaN nor infinity."""
    block_is_finite(block)
    return block


def refuse_nan(block: RowBlock) -> None:
    """Raise scikit-learn's error, with the place, if the block has NaN or infinity."""
    X = block.X
    if np.isfinite(X).all():
        return
    row, column = np.argwhere(~np.isfinite(X))[0]
    what = "NaN" if np.isnan(X[row, column]) else "infinity or a value too large"
    raise ValueError(
        f"Input X contains {what}: block {block.number}, row {block.first + row}, column {column}"
    )


def rows_of_block(block: RowBlock, positions: NDArray):
    """(X, y, weights) of those of the numbered rows that are here."""
    here = positions[np.searchsorted(positions, block.first) :]
    here = here[: np.searchsorted(here, block.first + len(block.X))] - block.first
    parts = (block.X, block.y, block.weights)
    return tuple(None if part is None else np.asarray(part[here]) for part in parts)


def codes_of(block: RowBlock, classes: NDArray) -> NDArray:
    """Positions of the block's labels among the sorted classes."""
    assert block.y is not None
    return codes_among(classes, block.y)


def codes_among(classes: NDArray, y: NDArray) -> NDArray:
    """The same of labels, each of which is one of the classes; of two, by one comparison."""
    if len(classes) == 2:
        return np.equal(y, classes[1]).astype(np.intp)
    return np.searchsorted(classes, y).astype(np.intp, copy=False)
