"""Progress on stderr: a bar that redraws itself on a terminal, one line per step elsewhere."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

WIDTH = 24


class Progress:
    """Call it as ``progress(what, done, total)`` before each step; `finish` clears the bar."""

    def __init__(self, stream: TextIO | None = None):
        self.stream = sys.stderr if stream is None else stream
        self.is_terminal = self.stream.isatty()

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.is_terminal:
            filled = WIDTH * done // max(total, 1)
            bar = "█" * filled + "░" * (WIDTH - filled)
            columns = shutil.get_terminal_size().columns
            self.stream.write("\r\x1b[K" + f"{bar} {done}/{total} {what}"[: columns - 1])
        else:
            self.stream.write(f"[{done + 1}/{total}] {what}\n")
        self.stream.flush()

    def finish(self) -> None:
        if self.is_terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
