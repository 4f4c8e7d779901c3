"""Forests and trees of fastml answer for replaced columns without predicting for every row anew."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastml._engines.trees.replaced import can_replace, replaced_sums

SAMPLE = 256
"""Rows by which to see how often columns decide."""

MOST_MOVED = 0.8
"""Share of leaves that change, beyond which walking anew from where a row leaves its way is no
gain."""


def knows_its_trees(estimator) -> bool:
    """Whether it is one of fastml's forests or trees, not a class that a user made from one, and
    without splits by categories."""
    if not type(estimator).__module__.startswith(("fastml.ensemble.", "fastml.tree.")):
        return False
    if not hasattr(estimator, "_parts_of_answer"):
        return False
    return can_replace(estimator._parts_of_answer()[0], estimator.n_features_in_)


def rarely_moves(estimator, X, columns, values) -> bool:
    """Whether few of the first rows reach another leaf with these values in the columns: if many
    do, predicting for all rows anew is faster than following each."""
    rows = np.array(estimator._rows(X)[:SAMPLE], dtype=np.float32)
    forest = estimator._parts_of_answer()[0]
    before = forest.apply(rows)
    rows[:, columns] = values
    return bool(np.mean(forest.apply(rows) != before) < MOST_MOVED)


def answering_models(estimator, X, other, source, groups: list) -> Iterator[list]:
    """For each group of columns, a model for each repeat: copies of the estimator that know what
    they answer for the rows, where row i has the group's columns of row ``source[r, i]`` of
    ``other`` (None: of X)."""
    forest, divisor, method = estimator._parts_of_answer()
    rows = estimator._rows(X)
    others = rows if other is None else other
    n_jobs = getattr(estimator, "n_jobs", None)
    for sums in replaced_sums(forest, rows, others, source, groups, n_jobs):
        sums /= divisor
        yield [_answering(estimator, method, repeat) for repeat in sums]


def _answering(estimator, method: str, answer: NDArray) -> Any:
    model = copy.copy(estimator)
    if method == "_values":
        answer = answer.reshape(len(answer), model.tree_.n_outputs, -1)
    setattr(model, method, _Known(answer))
    return model


class _Known:
    """A method that has its answer."""

    def __init__(self, answer: NDArray):
        self.answer = answer

    def __call__(self, X, check_input=True) -> NDArray:
        return self.answer
