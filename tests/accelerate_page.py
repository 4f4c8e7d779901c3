"""Write docs/accelerate.md from what is served: ``python tests/accelerate_page.py``."""

# ruff: noqa: E501 (a page)

from pathlib import Path

from fastml.accelerate import supported
from fastml.accelerate._names import FOR_ALL

PAGE = Path(__file__).parents[1] / "docs" / "accelerate.md"

HEAD = """# Code that imports scikit-learn, on fastml

| to switch on | |
|---|---|
| a script, a module | `python -m fastml.accelerate [--report] [--only NAMES] [--exclude NAMES] script.py ...`, `... -m module ...` |
| IPython, Jupyter | `%load_ext fastml.accelerate` |
| in code | `fastml.accelerate.install()`, `uninstall()`; `with fastml.accelerate.enabled(): ...` |
| a program that is not yours, with its child processes | `FASTML_ACCELERATE=1`, or names: `FASTML_ACCELERATE=cluster,Ridge`, all but some: `FASTML_ACCELERATE=-KMeans` (needs fastml installed from a wheel); the first line sets it for child processes, `install()` does not |

It does not matter whether scikit-learn was imported before. Methods of scikit-learn's classes are replaced in place, so
that `isinstance`, subclasses, `clone`, tags, diagrams, `set_output` and metadata routing are as without.

**What ran**: `fastml.accelerate.report()`, per class and method; `fastml.accelerate.ran(model)` for one model; the logger
`fastml.accelerate` at level DEBUG; `install(on_fallback="warn")` or `"raise"` where nothing may fall back unseen.

**Pickles and copies** hold scikit-learn's own fitted model and load where fastml is not installed. Loaded under
acceleration, the model is taken over by fastml at its first call; arrays inside its trees must not be written to after that.

**Random numbers** of forests, mini-batches and embeddings are drawn otherwise than in scikit-learn: with one
`random_state` results are reproducible, for any number of threads, and as good, but not the same draws.

**The first call** imports Numba and may compile: `python -m fastml warmup` does that ahead.

## When scikit-learn does it

For every class: """


def page() -> str:
    lines = [HEAD + "; ".join(FOR_ALL) + ".", "", "| class | scikit-learn also for |", "|---|---|"]
    entries = supported()
    for entry in entries:
        if entry.kind == "class" and entry.served:
            lines.append(
                f"| `{entry.name}` | {'; '.join(entry.conditions)} |".replace("|  |", "| |")
            )
    functions = [f"`{each.name}`" for each in entries if each.kind == "function" and each.served]
    lines += ["", "## Functions that are served", "", ", ".join(functions) + ".", ""]
    lines += ["## What both have and scikit-learn keeps", "", "| name | why |", "|---|---|"]
    lines += [f"| `{each.name}` | {each.conditions[0]} |" for each in entries if not each.served]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
