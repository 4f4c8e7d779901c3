"""Compile kernels ahead of time, on all cores, into the on-disk cache.

Interrupted, it goes on where it was when it is called again.
"""

from __future__ import annotations

import argparse
import time

from fastml._cases._case import FAMILIES
from fastml._cli import CommandError
from fastml._cli.progress import Progress
from fastml._cli.table import seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument(
        "--only", metavar="A,B", help="families, estimators or functions, such as cluster.KMeans"
    )
    parser.add_argument("--dtype", metavar="TYPE", help="float64 or float32 (both)")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (one for each core)")


def run(options: argparse.Namespace) -> int:
    from fastml import _warmup
    from fastml._jit import cache_folder

    names = ",".join(filter(None, (options.family, options.only)))
    only = [name.strip() for name in names.split(",")] if names else None
    progress = Progress()
    start = time.perf_counter()
    try:
        n_compiled = _warmup.warmup(only, progress, dtype=options.dtype, n_jobs=options.jobs)
    except (_warmup.StepError, ValueError) as error:
        raise CommandError(str(error)) from error
    finally:
        progress.finish()
    folder = cache_folder()
    kept = "in memory only: there is no cache folder" if folder is None else f"kept in {folder}"
    print(f"{n_compiled} kernels compiled in {seconds(time.perf_counter() - start)}, {kept}")
    return 0
