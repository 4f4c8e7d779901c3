"""Native code in the background: what a wheel brought is compiled for this very CPU meanwhile.

With ``FASTML_NATIVE_IN_BACKGROUND=1`` the first kernel that comes out of the wheel starts a process
of the lowest priority; the names and types of kernels are written to it as they are loaded, and it
compiles them into the user's cache, where the next process finds them. It ends when it has no more
to do and the process that it serves has ended.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_helper: subprocess.Popen | None = None


def ask(name: str, signature: Any) -> None:
    """Have the kernel ``name`` compiled for the types ``signature``, by another process."""
    global _helper
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, pickle.PickleError):
        line = base64.b64encode(pickle.dumps((name, signature)))
        if _helper is None:
            _helper = _start()
        assert _helper.stdin is not None
        _helper.stdin.write(line + b"\n")
        _helper.stdin.flush()


def _start() -> subprocess.Popen:
    root = str(Path(__file__).parents[1])
    program = f"import sys; sys.path.insert(0, {root!r}); import fastml._jit as j; j.serve()"
    quiet = {"FASTML_QUIET": "1", "FASTML_NO_PREBUILT": "1", "FASTML_NATIVE_IN_BACKGROUND": ""}
    helper = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, **quiet},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
    )
    atexit.register(_let_go, helper)
    return helper


def _let_go(helper: subprocess.Popen) -> None:
    """No more is asked for; it goes on alone."""
    assert helper.stdin is not None
    with contextlib.suppress(OSError):
        helper.stdin.close()
    helper.returncode = 0


def asked() -> Iterator[tuple[str, Any]]:
    """In the other process: what is asked for, until the asking process has ended."""
    if hasattr(os, "nice"):
        os.nice(19)
    for line in sys.stdin.buffer:
        yield pickle.loads(base64.b64decode(line))
