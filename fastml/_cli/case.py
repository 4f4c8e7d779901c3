"""One row of the side-by-side table, and where the rows are declared."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

FAMILIES = (
    "boosting",
    "cluster",
    "density",
    "forests",
    "hierarchy",
    "linear_svm",
    "metrics",
    "mixture",
    "neighbors",
    "svm",
    "trees",
)
"""Each has a file ``cases_<family>.py`` with a tuple ``CASES``."""

Prepare = Callable[[Any], Callable[[], Any]]
"""Data → the call to be timed. Imports and everything else that is not the work happen here."""


@dataclass(frozen=True)
class Case:
    """The same work by several libraries.

    Attributes
    ----------
    work : str
        What is done; ``{name}`` stands for a size.
    full, quick : dict
        Sizes of the data.
    build : callable
        ``build(**sizes)`` makes the data.
    libraries : dict
        Library → `Prepare`. One that raises ImportError counts as not installed.
    quality : callable
        ``quality(data, result)``: how good the answer is, by a yardstick of its own.
    yardstick : str
        What ``quality`` returns.
    """

    work: str
    full: Mapping[str, int]
    quick: Mapping[str, int]
    build: Callable[..., Any]
    libraries: Mapping[str, Prepare]
    quality: Callable[[Any, Any], float]
    yardstick: str

    def sizes(self, quick: bool) -> Mapping[str, int]:
        return self.quick if quick else self.full

    def title(self, quick: bool) -> str:
        return self.work.format(**self.sizes(quick))


def find(module: str, name: str) -> Any:
    """``module.name``; ImportError if there is no such module or no such name in it."""
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError as missing:
        raise ImportError(f"{module} has no {name}") from missing


def cases(family: str) -> tuple[Case, ...]:
    """The rows of one family."""
    return importlib.import_module(f"fastml._cli.cases_{family}").CASES
