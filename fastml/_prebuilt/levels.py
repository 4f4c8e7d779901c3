"""Compiled kernels that come inside a platform wheel, so that the first call compiles nothing.

``python -m fastml prebuild`` fills folders ``<platform>/<level>/`` beside this file. A level is a
set of instructions that all CPUs of some age have; a host runs the highest level whose instructions
it knows. ``manifest.json`` in such a folder names the build (Python, Numba, LLVM, `fastml._jit`)
that the files belong to and the digest of each: another build, or a file that was changed, counts
as absent, and the kernel is compiled. It also says what the kernels' sources import, by their
digests, so that nobody need parse them (see `fastml._sources`).

Code of a level may be a little slower than native code: the user's own cache, which
``python -m fastml warmup`` fills, goes first; ``FASTML_NATIVE_IN_BACKGROUND=1`` fills it with what
is used, in a process beside (see `fastml._native`). ``FASTML_NO_PREBUILT=1`` turns all this off.
"""

from __future__ import annotations

import hashlib
import json
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
MANIFEST = "manifest.json"

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")


class Level(NamedTuple):
    """A target of compilation: what LLVM takes for the CPU, and the instructions that it may use.

    The name of the CPU decides the order of instructions as well: one that has just these.
    """

    name: str
    cpu: str
    needs: tuple[str, ...]

    @property
    def features(self) -> str:
        """The instructions as LLVM spells them."""
        return ",".join(f"+{name}" for name in self.needs)

    @property
    def environment(self) -> dict[str, str]:
        """The variables under which Numba compiles for this level."""
        return {"NUMBA_CPU_NAME": self.cpu, "NUMBA_CPU_FEATURES": self.features}


LEVELS = {
    level.name: level
    for level in (
        Level("x86-64-v4", "x86-64-v4", _V4),
        Level("x86-64-v3", "x86-64-v3", _V3),
        Level("x86-64-v2", "x86-64-v2", _V2),
    )
}
"""From the highest to the lowest."""


def levels_of(features: Mapping[str, bool]) -> list[Level]:
    """The levels that a CPU of these LLVM ``features`` can run, the highest first."""
    return [level for level in LEVELS.values() if all(features.get(name) for name in level.needs)]


def folder_of(level: Level) -> Path:
    """Where the files of a level are, for this kind of machine."""
    return FOLDER / sysconfig.get_platform() / level.name


class Shelf:
    """The files of one level that fit this build."""

    def __init__(self, level: Level, folder: Path, manifest: Mapping[str, Any]):
        self.level, self.folder = level, folder
        self.digests: dict[str, str] = dict(manifest["files"])
        self.imports: dict[str, list[str]] = dict(manifest["imports"])

    def read(self, name: str) -> bytes | None:
        """The contents of a file, or None if there is none or it is not as it was shipped."""
        if name not in self.digests:
            return None
        try:
            content = (self.folder / name).read_bytes()
        except OSError:
            return None
        return content if _digest(content) == self.digests[name] else None


def shelves(build: str, features: Mapping[str, bool]) -> tuple[Shelf, ...]:
    """What a CPU of these features can use of what is there for ``build``, highest level first."""
    found = []
    for level in levels_of(features):
        folder = folder_of(level)
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            if manifest["build"] == build:
                found.append(Shelf(level, folder, manifest))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def write(
    level: Level,
    build: str,
    files: Iterable[Path],
    imports: Mapping[str, list[str]],
    folder: Path | None = None,
) -> Path:
    """Put compiled functions of one build into the folder of a level; what was there goes."""
    folder = folder_of(level) if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    digests = {}
    for path in sorted(files):
        content = path.read_bytes()
        (folder / path.name).write_bytes(content)
        digests[path.name] = _digest(content)
    manifest = {"build": build, "files": digests, "imports": dict(imports)}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return folder


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
