"""Checks between one fit and the next: trees that stay must fit the data that come."""

from __future__ import annotations

import numpy as np


def check_columns(of_trees: int, n_features: int) -> None:
    """Refuse rows of another width than the trees read: a fit that failed may have left trees of
    the one before."""
    if of_trees != n_features:
        raise ValueError(
            f"X has {n_features} features, but the trees were grown on {of_trees}: fit again"
        )


def check_same_outputs(before: int, now: int) -> None:
    """Refuse another number of outputs."""
    if before != now:
        raise ValueError(
            f"warm_start goes on with the trees there are, grown for {before} output(s): y has "
            f"{now} now"
        )


def check_same_classes(before, now) -> None:
    """Refuse other classes than the members know."""
    if not np.array_equal(before, now):
        raise ValueError(
            f"warm_start goes on with the trees there are, which know {len(before)} classes, "
            f"{list(before)}: y has {len(now)} now, {list(now)}"
        )


def check_same_rows(before: set[int], now: int) -> None:
    """Refuse another number of rows where members are asked about the rows they did not see."""
    if before - {now}:
        raise ValueError(
            "warm_start with out-of-bag estimates needs the rows that the trees there are were "
            f"grown on: those were {' and '.join(map(str, sorted(before)))} rows, X has {now} now"
        )
