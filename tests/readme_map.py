"""The README's map "What is there"; `python tests/readme_map.py` writes it.

Names are all those of the public ``__all__``, losses and penalties included; the rooms of kernels
are those that the file of a name reaches by imports within its package and its engines.
"""

from pathlib import Path

import specimens
from import_graph import fastml_graph

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- map:start -->", "<!-- map:end -->"


def rooms_of(module: str, graph=None) -> frozenset[str]:
    """Rooms of kernels that a module reaches; ``numeric``, which nearly all do, is left out."""
    graph = fastml_graph() if graph is None else graph
    package = ".".join(module.split(".")[:2])
    inside = (f"{package}.", "fastml._engines.", "fastml.kernels.")
    seen, waiting = set(), [module]
    while waiting:
        new = {other for other in graph.get(waiting.pop(), ()) if other.startswith(inside)} - seen
        seen |= new
        waiting += new
    found = {name.split(".")[2] for name in seen if name.startswith("fastml.kernels.")}
    return frozenset(found - {"numeric"})


def rows() -> list[tuple[str, str, str]]:
    """(names, where, rooms): one per folder; single files of a package share one by their rooms."""
    names: dict[tuple[str, frozenset], list[str]] = {}
    folders: dict[str, frozenset] = {}
    for path, value in specimens.public_objects_once().items():
        package, *_, name = path.split(".")
        home = value.__module__.split(".")
        rooms = rooms_of(value.__module__)
        where = f"fastml/{package}"
        if home[1] == package and len(home) > 3:
            where = "/".join(home[:3])
            rooms = folders[where] = folders.get(where, frozenset()) | rooms
        names.setdefault((where, frozenset() if where in folders else rooms), []).append(name)
    return [
        (
            ", ".join(f"`{name}`" for name in sorted(found, key=lambda n: (n.islower(), n))),
            f"`{where}`",
            ", ".join(f"`{room}`" for room in sorted(folders.get(where, rooms))),
        )
        for (where, rooms), found in sorted(names.items(), key=lambda row: (row[0][0], row[1]))
    ]


def table() -> str:
    lines = [("names", "where", "kernels"), ("---", "---", "---"), *rows()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def section(text: str) -> str:
    """What stands between the markers."""
    return text.partition(START)[2].partition(END)[0].strip()


if __name__ == "__main__":
    page = README.read_text()
    before, after = page.partition(START)[0], page.partition(END)[2]
    README.write_text(f"{before}{START}\n{table()}\n{END}{after}")
