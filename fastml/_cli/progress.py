"""Progress on stderr: a bar that redraws itself on a terminal, one line per step elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 24
ENOUGH = 0.05
"""The share of the work after which the time left can be estimated."""


class Progress:
    """Call it as ``progress(what, done, total)`` before each step; `finish` clears the bar."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.perf_counter
    ):
        self.stream = sys.stderr if stream is None else stream
        self.is_terminal = self.stream.isatty()
        self.clock = clock
        self.first: tuple[float, int] | None = None  # when, and how many were done before

    def __call__(self, what: str, done: int, total: int) -> None:
        left = self._left(done, total)
        if self.is_terminal:
            filled = WIDTH * done // max(total, 1)
            bar = "█" * filled + "░" * (WIDTH - filled)
            columns = shutil.get_terminal_size().columns
            self.stream.write("\r\x1b[K" + f"{bar} {done}/{total}{left} {what}"[: columns - 1])
        else:
            self.stream.write(f"[{done + 1}/{total}{left}] {what}\n")
        self.stream.flush()

    def _left(self, done: int, total: int) -> str:
        """The time that the rest takes, if its steps are like those so far."""
        now = self.clock()
        if self.first is None:
            self.first = now, done
        start, before = self.first
        if done - before < max(ENOUGH * (total - before), 2):
            return ""
        rest = (now - start) * (total - done) / (done - before)
        return f", {rest / 60:.0f} min left" if rest >= 90 else f", {rest:.0f} s left"

    def finish(self) -> None:
        if self.is_terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
