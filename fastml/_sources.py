"""What `fastml._jit` must know of the kernels' source files: digests, imports and drivers.

A compiled kernel depends on its own file and on every kernel file that this one reaches by imports.
They are read and hashed as kernels are imported: that takes milliseconds. Which files a file
imports is read off its syntax tree, which takes ten times as long; so the answer is kept, by the
digest of the file, beside the compiled kernels (see `known` and `to_keep`), and a second process
parses nothing.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

KERNELS = Path(__file__).parent / "kernels"

known: Callable[[], Mapping[str, list[str]]] = dict
"""Returns the imports that were found earlier: digest of a file → `imported_names`."""

found: dict[str, list[str]] = {}
"""The imports that were found in this process."""


class Source:
    """A source file as it was when first asked for."""

    def __init__(self, path: Path):
        self.path = path
        self.content = path.read_bytes()
        self.digest = hashlib.sha256(self.content).hexdigest()
        name = path.relative_to(KERNELS) if path.is_relative_to(KERNELS) else path.name
        self.mark = f"{name} {self.digest} ".encode()

    @functools.cached_property
    def imported(self) -> list[Path]:
        """The kernel files that it imports."""
        names = _known_imports().get(self.digest)
        if names is None:
            names = found[self.digest] = imported_names(self.content, self.path)
        return [file for name in names for file in files_of(name, self.path)]


source = functools.cache(Source)


@functools.cache
def _known_imports() -> Mapping[str, list[str]]:
    return known()


@functools.cache
def digest(path: Path) -> str:
    """Hash of a kernel file and of all kernel files that it imports, directly or not."""
    reached, to_read = {}, [path]
    while to_read:
        path = to_read.pop()
        if path not in reached:
            reached[path] = source(path)
            to_read += reached[path].imported
    return hashlib.sha256(b"".join(reached[path].mark for path in sorted(reached))).hexdigest()


def imported_names(content: bytes | str, path: Path) -> list[str]:
    """Names below ``fastml.kernels`` in the import statements of a file, wherever they stand."""
    names: list[str] = []
    for node in _statements(ast.parse(content, str(path))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ImportError(f"{path}, line {node.lineno}: kernels import by full name")
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    below = (name.split(".", 2)[2:] for name in names if f"{name}.".startswith("fastml.kernels."))
    return list(dict.fromkeys("".join(rest) for rest in below))


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements below ``tree``; no expression holds one."""
    to_visit = [tree]
    while to_visit:
        node = to_visit.pop(0)
        yield node
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            to_visit += getattr(node, field, ())


def files_of(name: str, importer: Path) -> list[Path]:
    """The file of ``fastml.kernels.<name>``, whose last part may be a name inside the file.

    Whoever imports a folder may use any file below it: then all of them are returned.
    """
    folder = KERNELS
    for part in name.split(".") if name else ():
        if (file := folder / f"{part}.py").exists():
            return [file]
        folder = folder / part
    if folder.is_dir():
        return sorted(folder.rglob("*.py"))
    wanted = f"fastml.kernels.{name}"
    raise FileNotFoundError(f"no kernel file for {wanted!r}, which {importer} imports")


# ---------------------------------------------------------------------------- kept imports


def read_imports(file: Path) -> dict[str, list[str]]:
    """What `to_keep` made; a file that is not there, or is not that, holds nothing."""
    try:
        kept = json.loads(file.read_text())
        return {str(key): [str(name) for name in names] for key, names in kept.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def to_keep(file: Path) -> str | None:
    """What is to be written to ``file`` so that nobody parses again what was parsed here."""
    kept = read_imports(file)
    return None if found.keys() <= kept.keys() else json.dumps({**kept, **found})


# ---------------------------------------------------------------------------- drivers


def driver(func) -> ast.FunctionDef | None:
    """The syntax tree of a decorated function, as its file was when it was imported.

    Only its own lines are parsed: up to the next one, inside no bracket and no string, that stands
    at the left edge. A cut in the wrong place is not valid Python, and all of the file is parsed.
    """
    if func.__closure__ is not None:
        return None
    path, first = Path(func.__code__.co_filename), func.__code__.co_firstlineno - 1
    lines = source(path).content.splitlines(keepends=True)
    start = first
    while start < len(lines) and not lines[start].startswith(b"def "):
        start += 1
    end = start + 1
    while end < len(lines) and lines[end][:1] in b" \t\r\n\f#)":
        end += 1
    try:
        tree = ast.parse(b"".join(lines[first:end]).decode(), str(path))
        ast.increment_lineno(tree, first)
    except (SyntaxError, UnicodeDecodeError):
        tree = ast.parse(b"".join(lines), str(path))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            place = node.name, node.decorator_list[0].lineno
            if place == (func.__name__, first + 1):
                return node
    return None
