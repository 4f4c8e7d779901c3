"""Compile kernels for a level of CPUs, into the package: a wheel built next carries them."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from fastml._cases._case import FAMILIES
from fastml._cli import CommandError
from fastml._cli.progress import Progress
from fastml._cli.table import seconds
from fastml._prebuilt.levels import LEVELS, Level, write


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--levels",
        metavar="A,B",
        default="x86-64-v3",
        help=f"of {', '.join(LEVELS)} (x86-64-v3)",
    )
    parser.add_argument(
        "--only", metavar="A,B", help="these families or estimators, such as svm,tree"
    )


def run(options: argparse.Namespace) -> int:
    from fastml._jit import IMPORTS, build
    from fastml._sources import read_imports

    failed = []
    for name in _chosen(options.levels):
        level, start = LEVELS[name], time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch:
            why = _compile(level, options.only, scratch)
            made = Path(scratch, build())
            folder = write(level, build(), made.glob("*.fml"), read_imports(made / IMPORTS))
        files = list(folder.glob("*.fml"))
        size = sum(path.stat().st_size for path in files) / 1e6
        took = seconds(time.perf_counter() - start)
        print(f"{name}: {len(files)} functions, {size:.1f} MB, in {took}, in {folder}")
        if why is not None:
            failed.append(f"{name}: {why}")
    if failed:
        raise CommandError("\n".join([*failed, "what the other steps compiled is kept"]))
    return 0


def _chosen(names: str) -> list[str]:
    chosen = [name.strip() for name in names.split(",")]
    for name in chosen:
        if name not in LEVELS:
            raise CommandError(f"no level {name!r}; there are {', '.join(LEVELS)}")
    return chosen


def _compile(level: Level, only: str | None, cache: str) -> str | None:
    """Warm up for ``level``, and for the demo, in as many processes as there are cores.

    Return which steps failed, and why, or None.
    """
    from fastml._threads import effective_n_threads
    from fastml._warmup import StepError, demo_steps, in_processes, steps

    environment = {**level.environment, "FASTML_CACHE_DIR": cache}
    progress = Progress()
    try:
        wanted = None if only is None else [name.strip() for name in only.split(",")]
        n_processes = effective_n_threads(None)
        chosen = steps(wanted)
        shown = [None] if wanted is None else [name for name in wanted if name in FAMILIES]
        chosen += [step for family in shown for step in demo_steps(family)]
        in_processes(chosen, n_processes, progress, folder=None, environment=environment)
    except StepError as error:
        return str(error)
    except ValueError as error:
        raise CommandError(f"{level.name}: {error}") from error
    finally:
        progress.finish()
    return None
