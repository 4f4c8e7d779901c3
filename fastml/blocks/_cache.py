"""The folder where blocks of other formats are kept, and its size."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

DEFAULT_LIMIT = 64 << 30
"""Bytes of all kept blocks together, unless `FASTML_BLOCKS_LIMIT` says otherwise."""

DESCRIPTION = "rows.json"


def root_folder() -> Path:
    """``FASTML_BLOCKS_DIR``, else a folder of the user's among the temporary files."""
    if chosen := os.environ.get("FASTML_BLOCKS_DIR"):
        return Path(chosen)
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return Path(tempfile.gettempdir()) / f"fastml-blocks-{owner}"


def size_limit() -> int:
    return int(os.environ.get("FASTML_BLOCKS_LIMIT", DEFAULT_LIMIT))


def size_of(folder: Path) -> int:
    total = 0
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


def make_room(root: Path, own: Path, needed: int, limit: int) -> bool:
    """Remove data sets that nobody uses, the least recently used first, until there is room.

    False: there is none, and nothing was removed in vain but what was the oldest.
    """
    if needed > limit:
        return False
    others = [p for p in root.iterdir() if p.is_dir() and p != own] if root.is_dir() else []
    sizes = {folder: size_of(folder) for folder in others}
    total = sum(sizes.values())
    for folder in sorted(others, key=_last_use):
        if total + needed <= limit:
            break
        if not in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)
            total -= sizes[folder]
    return total + needed <= limit and needed <= _free_bytes(root) + size_of_if_there(own)


def size_of_if_there(folder: Path) -> int:
    return size_of(folder) if folder.is_dir() else 0


def _free_bytes(root: Path) -> int:
    while not root.exists():
        root = root.parent
    return shutil.disk_usage(root).free


def _last_use(folder: Path) -> float:
    with contextlib.suppress(OSError):
        return (folder / DESCRIPTION).stat().st_mtime
    return 0.0


def begin_use(folder: Path, description: dict) -> None:
    """Make the folder and note that this process uses it."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.parent.stat()
    if hasattr(os, "getuid") and status.st_uid not in (os.getuid(), 0):
        raise PermissionError(
            f"{folder.parent} belongs to another user: choose a folder of your own by "
            "FASTML_BLOCKS_DIR"
        )
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / f"{os.getpid()}.user").touch()
    (folder / DESCRIPTION).write_text(json.dumps(description))


def in_use(folder: Path) -> bool:
    """Whether a process that lives has noted that it uses the folder."""
    return any(_lives(int(path.stem)) for path in folder.glob("*.user") if path.stem.isdigit())


def _lives(process: int) -> bool:
    if os.name == "nt":  # os.kill would end it
        return process == os.getpid()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
