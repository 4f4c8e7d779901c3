"""How many rows each class is to have."""

from __future__ import annotations

from numbers import Real

import numpy as np

OVER, UNDER, CLEAN = "over-sampling", "under-sampling", "clean-sampling"


def counts_of(y) -> dict:
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True))))


def imbalance_ratio(y):
    """Rows of the smallest class over rows of the largest.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    ratio : float

    Examples
    --------
    >>> from fastml.imbalance import imbalance_ratio
    >>> imbalance_ratio([0, 0, 0, 0, 1])
    0.25
    """
    counts = counts_of(np.ravel(y)).values()
    if not counts:
        raise ValueError("y has no rows")
    return min(counts) / max(counts)


def chosen_classes(name: str, counts: dict, kind: str) -> list:
    smallest, largest = min(counts, key=counts.get), max(counts, key=counts.get)  # type: ignore[arg-type]
    if name == "auto":
        name = "not majority" if kind == OVER else "not minority"
    if name == "majority" and kind == OVER:
        raise ValueError("'sampling_strategy'='majority' cannot be used with over-sampler.")
    if name == "minority" and kind != OVER:
        raise ValueError(
            "'sampling_strategy'='minority' cannot be used with under-sampler and clean-sampler."
        )
    return {
        "all": list(counts),
        "majority": [largest],
        "minority": [smallest],
        "not majority": [label for label in counts if label != largest],
        "not minority": [label for label in counts if label != smallest],
    }[name]


def check_strategy(strategy, y, kind: str) -> dict:
    """Class → rows to make (over-sampling), or to keep; sorted by class."""
    counts = counts_of(y)
    if len(counts) <= 1:
        raise ValueError(
            f"The target 'y' needs to have more than 1 class. Got {len(counts)} class instead"
        )
    if isinstance(strategy, str):
        found = _equal(chosen_classes(strategy, counts, kind), counts, kind)
    elif isinstance(strategy, list):
        _check_known(strategy, counts)
        found = _equal(strategy, counts, kind)
    elif isinstance(strategy, Real):
        found = _by_ratio(float(strategy), counts, kind)
    else:
        found = _by_dict(strategy(y) if callable(strategy) else strategy, counts, kind)
    return dict(sorted(found.items()))


def _equal(labels, counts: dict, kind: str) -> dict:
    if kind == OVER:
        return {label: max(counts.values()) - counts[label] for label in labels}
    return dict.fromkeys(labels, min(counts.values()))


def _check_known(labels, counts: dict) -> None:
    unknown = set(labels) - set(counts)
    if unknown:
        raise ValueError(f"The {unknown} target class is/are not present in the data.")


def _by_dict(wanted, counts: dict, kind: str) -> dict:
    _check_known(wanted, counts)
    if any(n < 0 for n in wanted.values()):
        raise ValueError(
            "The number of samples in a class cannot be negative.'sampling_strategy' contains some "
            f"negative value: {wanted}"
        )
    if kind == CLEAN:
        raise ValueError(
            "'sampling_strategy' as a dict for cleaning methods is not supported. Please give a "
            "list of the classes to be targeted by the sampling."
        )
    more = kind == OVER
    for label, n in wanted.items():
        if (n < counts[label]) if more else (n > counts[label]):
            raise ValueError(
                f"With {kind} methods, the number of samples in a class should be "
                f"{'greater' if more else 'less'} or equal to the original number of samples. "
                f"Originally, there is {counts[label]} samples and {n} samples are asked."
            )
    return {label: n - counts[label] if more else n for label, n in wanted.items()}


def _by_ratio(ratio: float, counts: dict, kind: str) -> dict:
    if len(counts) != 2:
        raise ValueError(
            '"sampling_strategy" can be a float only when the type of target is binary. For '
            "multi-class, use a dict."
        )
    if kind == CLEAN:
        raise ValueError("'clean-sampling' methods do let the user specify the sampling ratio.")
    small, large = min(counts.values()), max(counts.values())
    if kind == OVER:
        largest = max(counts, key=counts.get)  # type: ignore[arg-type]
        found = {k: int(large * ratio - n) for k, n in counts.items() if k != largest}
        if any(n <= 0 for n in found.values()):
            raise ValueError(
                "The specified ratio required to remove samples from the minority class while "
                "trying to generate new samples. Please increase the ratio."
            )
        return found
    smallest = min(counts, key=counts.get)  # type: ignore[arg-type]
    found = {k: int(small / ratio) for k in counts if k != smallest}
    if any(n > counts[k] for k, n in found.items()):
        raise ValueError(
            "The specified ratio required to generate new sample in the majority class while "
            "trying to remove samples. Please increase the ratio."
        )
    return found
