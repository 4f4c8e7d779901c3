"""What ran: calls and seconds per class or function, method, library and reason."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterable
from typing import NamedTuple

LOGGER = logging.getLogger("fastml.accelerate")
OURS, THEIRS = "fastml", "scikit-learn"


class Row(NamedTuple):
    """One line of the report."""

    name: str
    method: str
    ran: str
    calls: int
    seconds: float
    reason: str


class Report(list):
    """A list of `Row`; shown or as text, a table."""

    def __init__(self, rows: Iterable[Row]):
        super().__init__(rows)

    def __str__(self) -> str:
        lines = [("name", "method", "ran", "calls", "seconds", "why not fastml")]
        lines += [(r.name, r.method, r.ran, str(r.calls), f"{r.seconds:.4g}", r.reason)
                  for r in self]  # fmt: skip
        widths = [max(len(line[column]) for line in lines) for column in range(5)]
        return "\n".join(
            "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[5]]).rstrip()
            for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{name}</th>" for name in Row._fields)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in self
        )
        return f"<table><tr>{head}</tr>{body}</table>"


class FallbackWarning(UserWarning):
    """scikit-learn ran, and why: `install(on_fallback="warn")`."""


class FallbackError(RuntimeError):
    """scikit-learn would have run, and why: `install(on_fallback="raise")`."""


_counts: dict[tuple[str, str, str, str], list[float]] = {}
_lock = threading.Lock()
on_fallback = "silent"


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def note(name: str, method: str, ran: str, seconds: float, reason: str = "") -> None:
    """Count a call."""
    key = name, method, ran, reason
    with _lock:
        entry = _counts.get(key)
        if entry is None:
            entry = _counts[key] = [0, 0.0]
        entry[0] += 1
        entry[1] += seconds


def tell(name: str, method: str, reason: str) -> None:
    """Say that scikit-learn runs, as loudly as was asked for; a `FallbackError` stops the call."""
    LOGGER.debug("%s.%s runs on scikit-learn: %s", name, method, reason)
    if on_fallback == "silent":
        return
    text = f"{name}.{method} is not served by fastml: {reason}"
    if on_fallback == "raise":
        raise FallbackError(text)
    warnings.warn(text, FallbackWarning, stacklevel=4)


def report(*, clear: bool = False) -> Report:
    """What ran since the start of the process, or since the report was last cleared.

    Parameters
    ----------
    clear : bool, default=False
        Begin to count anew.

    Returns
    -------
    report : list of Row
        ``(name, method, ran, calls, seconds, reason)``, the longest first; ``ran`` is ``"fastml"``
        or ``"scikit-learn"``, ``reason`` says why not fastml. Printed, it is a table. Seconds of a
        call include those of the calls inside it.
    """
    with _lock:
        rows = [
            Row(name, method, ran, int(calls), seconds, reason)
            for (name, method, ran, reason), (calls, seconds) in _counts.items()
        ]
        if clear:
            _counts.clear()
    return Report(sorted(rows, key=lambda row: (-row.seconds, row[:3])))
