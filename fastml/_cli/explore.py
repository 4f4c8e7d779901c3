"""Describe a table in a file: printed, or as one HTML page with plots."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from fastml._cli import CommandError

READERS = {
    ".csv": (("pandas", "read_csv"), ("polars", "read_csv"), ("pyarrow.csv", "read_csv")),
    ".parquet": (("pandas", "read_parquet"), ("polars", "read_parquet"),
                 ("pyarrow.parquet", "read_table")),
}  # fmt: skip
"""End of a file's name → functions that read it, the first that is installed is taken."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a table: .csv or .parquet")
    parser.add_argument("-o", "--output", type=Path, help="write the page here")
    parser.add_argument("-t", "--target", help="a column to compare the others with")


def run(options: argparse.Namespace) -> int:
    from fastml.explore import describe

    try:
        found = describe(_read(options.file), options.target)
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    if options.output is None:
        sys.stdout.write(f"{found}\n")
    else:
        found.to_html(options.output, title=options.file.name)
        print(f"wrote {options.output}")
    return 0


def _read(path: Path):
    if path.suffix not in READERS:
        raise CommandError(f"{path} is none of {', '.join(READERS)}")
    for module, name in READERS[path.suffix]:
        try:
            reader = getattr(importlib.import_module(module), name)
        except ImportError:
            continue
        return reader(path)
    raise CommandError("reading tables takes pandas, polars or pyarrow: none is installed")
