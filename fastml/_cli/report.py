"""The report of ``fastml bench`` (a JSON object) as a plain table and as the README's section."""

from __future__ import annotations

from typing import Any

from fastml._cli.machine import DISTRIBUTIONS
from fastml._cli.table import markdown, number, plain, seconds

START, END = "<!-- bench:start -->", "<!-- bench:end -->"

Report = dict[str, Any]
"""``{"machine", "versions", "when", "quick", "rows": [{"family", "work", "yardstick", "results",
"missing", "id", "headline"}]}``; results are ``{library: {"first", "best", "median", "rounds",
"quality", "comparable"}}``."""


def as_text(report: Report) -> str:
    """One line per work and library, then what is missing."""
    rows = []
    for row in report["rows"]:
        ours = row["results"].get("fastml")
        for i, (library, result) in enumerate(row["results"].items()):
            rows.append(
                (
                    row["work"] if i == 0 else "",
                    library,
                    seconds(result["best"]),
                    seconds(result["median"]),
                    ratio(ours, result) if ours else "-",
                    seconds(result["first"]),
                    f"{number(result['quality'])} {row['yardstick']}",
                )
            )
    header = ("work", "library", "best", "median", "fastml / it", "first call", "quality")
    text = [plain(header, rows, text_columns=2)] if rows else []
    return "\n".join([*text, summary(report), *_missing(report)])


def summary(report: Report) -> str:
    """How often fastml is the fastest, counting only rows whose answers are as good."""
    faster, counted, differing = 0, 0, 0
    for row in report["rows"]:
        peer = fastest_peer(row)
        if peer is None or "fastml" not in row["results"]:
            continue
        if row["results"][peer]["comparable"]:
            counted += 1
            faster += row["results"]["fastml"]["best"] <= row["results"][peer]["best"]
        else:
            differing += 1
    note = f"; {differing} not counted: quality differs" if differing else ""
    return f"fastml is the fastest in {faster} of {counted} rows{note}"


def _missing(report: Report) -> list[str]:
    lines = []
    for row in report["rows"]:
        if "fastml" in row["missing"]:
            lines.append(f"not in this version of fastml: {row['work']}")
    for library in sorted({name for row in report["rows"] for name in row["missing"]}):
        if library != "fastml":
            lines.append(f"missing: {library} (pip install {DISTRIBUTIONS.get(library, library)})")
    return lines


def ratio(ours: dict[str, Any], theirs: dict[str, Any], mark: str = "") -> str:
    """fastml's time over the peer's; no figure to boast of where the answers are not as good."""
    shown = f"{ours['best'] / theirs['best']:.2f}"
    return f"{mark}{shown}{mark}" if theirs["comparable"] else f"({shown}) quality differs"


def headlines(report: Report) -> Report:
    """The report with the README's rows only."""
    return {**report, "rows": [row for row in report["rows"] if row["headline"]]}


def fastest_peer(row: dict[str, Any]) -> str | None:
    peers = [library for library in row["results"] if library != "fastml"]
    return min(peers, key=lambda library: row["results"][library]["best"], default=None)


def as_markdown(report: Report) -> str:
    """One line per work: fastml beside the fastest peer that was there."""
    rows = []
    for row in report["rows"]:
        peer = fastest_peer(row)
        if peer is None or "fastml" not in row["results"]:
            continue
        ours, theirs = row["results"]["fastml"], row["results"][peer]
        rows.append(
            (
                row["work"],
                seconds(ours["best"]),
                f"{seconds(theirs['best'])} ({peer})",
                ratio(ours, theirs, "**"),
                f"{number(ours['quality'])} / {number(theirs['quality'])} {row['yardstick']}",
            )
        )
    header = ("work", "fastml", "fastest peer", "fastml / peer", "quality: fastml / peer")
    machine, versions = report["machine"], report["versions"]
    measured = sorted({name for row in report["rows"] for name in row["results"]} | {"numba"})
    named = ", ".join(f"{name} {versions[name]}" for name in measured if name in versions)
    note = (
        f"Made by `python -m fastml bench` on {report['when']}: {machine['processor']}, "
        f"{machine['cores']}, {machine['system']}; Python {versions['python']}, {named}. "
        "Interleaved rounds, best of several, compilation excluded, every library on all cores."
    )
    return f"{markdown(header, rows)}\n\n{summary(report)}. {note}"


def replace_section(text: str, section: str) -> str:
    """``text`` with what is between the two markers replaced; ValueError if they are not there."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"the markers {START} and {END} were not found")
    return f"{before}{START}\n{section}\n{END}{after}"
