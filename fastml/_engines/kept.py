"""What a process keeps of a block between two passes of one fit.

A pass may be done by another process than the last one, so nothing depends on what is kept: a
function that does not find it makes it again from the block and from what the pass sends along.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

STALE = 900.0
"""Seconds after which what nobody asked for is dropped: its fit ended in another process."""

_lock = threading.Lock()
_kept: dict[tuple[str, int], tuple[float, Any]] = {}


def taken(fit: str, number: int) -> Any:
    """What is kept of the block, which is then kept no more; None if nothing is."""
    with _lock:
        found = _kept.pop((fit, number), None)
    return None if found is None else found[1]


def keep(fit: str, number: int, what: Any) -> None:
    now = time.monotonic()
    with _lock:
        for key in [key for key, (then, _) in _kept.items() if now - then > STALE]:
            del _kept[key]
        _kept[fit, number] = now, what


def forget(fit: str) -> None:
    """Drop all of a fit."""
    with _lock:
        for key in [key for key in _kept if key[0] == fit]:
            del _kept[key]


def is_much(n_bytes: float) -> bool:
    """Whether so many bytes had better lie in a file, as they may not fit into memory."""
    return n_bytes > _memory() / 4


def _memory() -> float:
    """Bytes of memory that this process may have."""
    found = float(2**33)
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found = float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            limit = resource.getrlimit(kind)[0]
            if limit != resource.RLIM_INFINITY:
                found = min(found, float(limit))
    except ImportError:
        pass
    return found


def space(shape: tuple[int, ...], dtype, in_file: bool) -> NDArray:
    """An array of zeros; ``in_file``: of a file without a name, which ends with the array."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not in_file or not n_bytes:
        return np.zeros(shape, dtype)
    folder = os.environ.get("FASTML_BLOCKS_DIR")
    if folder is not None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):  # a full disk is an error here, not a signal later
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        else:
            file.truncate(n_bytes)
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=shape))
