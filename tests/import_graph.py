"""What imports what in fastml, imports inside functions included; run it to see the list."""

import ast
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

from source_tree import ROOT, SOURCES, imports, tree_of

Graph = dict[str, set[str]]

DEPTH = {"_engines": 3, "kernels": 3}
"""How much of a module's name tells its house, where that is not ``fastml.<package>``."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(sources: Mapping[str, ast.Module]) -> Graph:
    """Module → modules that it imports, at import or in a function, by statement or by name.

    A module that imports ``a.b.c`` from outside of ``a`` also runs ``a/__init__.py`` and ``a.b``. A
    string that is a module's full name counts as an import of it: so do tables of lazy imports.
    """
    graph = {}
    for module, tree in sources.items():
        named = [name for _, name in imports(tree)]
        named += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value
        ]
        graph[module] = {
            imported
            for name in named
            for imported in _imported(name, sources)
            if not f"{module}.".startswith(f"{imported}.")
        }
    return graph


def _imported(name: str, modules: Iterable[str]):
    """The module that holds ``name``, and the packages that it is in."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    while "." in name:
        yield name
        name = name.rpartition(".")[0]


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in graph:
        if node not in number:
            visit(node)
    return found


def house_of(module: str) -> str:
    """The package, engine or room that a module belongs to."""
    parts = module.split(".")
    return ".".join(parts[: DEPTH.get(parts[1], 2)] if len(parts) > 1 else parts)


def graph_of_houses(graph: Graph) -> Graph:
    """The graph of packages, engines and rooms."""
    houses: Graph = {}
    for module, others in graph.items():
        own = house_of(module)
        houses.setdefault(own, set()).update(map(house_of, others))
        houses[own].discard(own)
    return houses


@functools.cache
def fastml_graph() -> Graph:
    return import_graph({module_name(path): tree_of(path) for path in SOURCES})


def listing() -> str:
    """Every engine and public package, and what it imports but for what all of them do."""
    lines = []
    for house, others in sorted(graph_of_houses(fastml_graph()).items()):
        name = house.removeprefix("fastml.")
        if name.startswith(("_engines.", *"abcdefghijklmnopqrstuvwxyz")) and not _is_kernel(name):
            below = sorted(other.removeprefix("fastml.") for other in others)
            shown = [other for other in below if other not in SHARED and not _is_kernel(other)]
            lines.append(f"{name} → {', '.join(shown) or '·'}")
    return "\n".join(lines)


def _is_kernel(name: str) -> bool:
    return name.split(".")[0] in ("kernels", "fastml")


SHARED = ("_docs", "_engines", "_jit", "_progress", "_sklearn", "_threads", "_validation")

if __name__ == "__main__":
    print(listing())  # noqa: T201
