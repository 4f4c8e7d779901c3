"""Time fastml beside every installed peer, in one run, with a quality figure per row."""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path

from fastml._cases._case import FAMILIES, Case, cases, family_of
from fastml._cli import CommandError, chart, check_family, machine, report, timing
from fastml._cli.progress import Progress

ROUNDS = {"quick": 3, "full": 5}
BUDGET = {"quick": 5.0, "full": 60.0}
"""Seconds of one row after which no further round starts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--peers", metavar="A,B", help="only these, such as sklearn,faiss")
    parser.add_argument("--rows", metavar="TEXT", help="only work whose description holds TEXT")
    parser.add_argument("--all", action="store_true", help="also work that no peer does")
    parser.add_argument("--quick", action="store_true", help="small sizes, a few seconds per row")
    parser.add_argument("--json", type=Path, metavar="F", help="write the report to F")
    parser.add_argument("--figure", type=Path, metavar="F", help="save a bar chart to F (PNG)")
    parser.add_argument(
        "--from", type=Path, metavar="F", dest="source", help="measure nothing: read the report F"
    )
    for option, default, what in (
        ("--readme", "README.md", "ten rows"),
        ("--page", "docs/speed.md", "all rows"),
    ):
        parser.add_argument(
            option,
            type=Path,
            nargs="?",
            const=Path(default),
            metavar="F",
            help=f"put {what} between the markers in F ({default})",
        )


def run(options: argparse.Namespace) -> int:
    found = _read(options.source) if options.source is not None else measure(options)
    print(report.as_text(found))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.readme is not None:
        _write_section(options.readme, report.as_markdown(report.headlines(found)))
    if options.page is not None:
        _write_section(options.page, report.as_markdown(found))
    if options.figure is not None:
        try:
            chart.draw(found, options.figure)
        except ImportError:
            print("no figure: matplotlib is missing (pip install matplotlib)")
        else:
            print(f"figure: {options.figure.resolve()}")
    return 0


def measure(options: argparse.Namespace) -> report.Report:
    """Run the rows that the options choose."""
    size = "quick" if options.quick else "full"
    chosen = _choose(options, size)
    peers = _peers(options.peers)
    progress = Progress()
    rows = []
    for done, case in enumerate(chosen):
        progress(f"{family_of(case)}: {case.title(size)}", done, len(chosen))
        row = timing.compare(case, size=size, peers=peers, rounds=ROUNDS[size], budget=BUDGET[size])
        rows.append({"family": family_of(case), **row})
    progress.finish()
    return {
        "when": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "quick": options.quick,
        "machine": machine.hardware(),
        "versions": machine.versions(),
        "rows": rows,
    }


def _choose(options: argparse.Namespace, size: str) -> list[Case]:
    check_family(options.family)
    chosen = [
        case
        for case in cases(options.family)
        if (case.peers or options.all)
        and (options.rows or "").lower() in f"{case.id} {case.title(size)}".lower()
    ]
    if not chosen:
        raise CommandError(f"no work is described by {options.rows!r}")
    return chosen


def _peers(names: str | None) -> set[str] | None:
    if names is None:
        return None
    known = {name for case in cases() for name in case.libraries}
    chosen = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := chosen - known:
        allowed = ", ".join(sorted(known - {"fastml"}))
        raise CommandError(f"no peer {', '.join(sorted(unknown))}; there are {allowed}")
    return chosen


def _read(path: Path) -> report.Report:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} holds no report: {error}") from error


def _write_section(path: Path, section: str) -> None:
    try:
        path.write_text(report.replace_section(path.read_text(), section))
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from error
