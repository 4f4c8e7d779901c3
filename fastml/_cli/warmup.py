"""Compile every kernel ahead of time, into the on-disk cache."""

from __future__ import annotations

import argparse
import time

from fastml._cli import CommandError
from fastml._cli.progress import Progress
from fastml._cli.table import seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="FAMILY", help="one family, such as cluster")


def run(options: argparse.Namespace) -> int:
    from fastml._jit import cache_folder
    from fastml._warmup import FAMILIES, warmup

    if options.only is not None and options.only not in FAMILIES:
        raise CommandError(f"no family {options.only!r}; there are {', '.join(sorted(FAMILIES))}")
    progress = Progress()
    start = time.perf_counter()
    n_compiled = warmup(options.only, progress)
    progress.finish()
    folder = cache_folder()
    kept = "in memory only: there is no cache folder" if folder is None else f"kept in {folder}"
    print(f"{n_compiled} kernels compiled in {seconds(time.perf_counter() - start)}, {kept}")
    return 0
