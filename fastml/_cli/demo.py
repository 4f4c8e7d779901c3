"""Train and score one estimator of every family beside scikit-learn's, and save a figure."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastml._cli import CommandError
from fastml._cli.progress import Progress
from fastml._cli.table import number, plain, seconds

if TYPE_CHECKING:
    from fastml._cli.demo_entries import Entry

ROUNDS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("fastml-demo.png"),
        metavar="PATH",
        help="where to save the figure (./fastml-demo.png)",
    )


def run(options: argparse.Namespace) -> int:
    from fastml._cli.demo_entries import ENTRIES

    folder = options.output.resolve().parent
    if not folder.is_dir():
        raise CommandError(f"--output: there is no folder {folder}")
    start = time.perf_counter()
    entries = [entry for entry in ENTRIES if entry.find("fastml") is not None]
    progress = Progress()
    rows = []
    for done, entry in enumerate(entries):
        progress(entry.work, done, len(entries) + 1)
        rows.append(_compare(entry))
    progress("figure", len(entries), len(entries) + 1)
    figure = _save_figure(entries, options.output)
    progress.finish()
    print(_table(rows))
    print(_compilation(rows))
    print(figure)
    print(f"done in {seconds(time.perf_counter() - start)}")
    return 0


def _compare(entry: Entry) -> dict[str, Any]:
    """fastml's first call apart, then both libraries in turn, best of `ROUNDS`."""
    from fastml._jit import statistics

    data = entry.data()
    ours, theirs = entry.find("fastml"), entry.find("sklearn")
    compiled = statistics.compiled
    first, answer = _timed(entry, ours, data)
    compiled = statistics.compiled - compiled
    _, peer_answer = _timed(entry, theirs, data)
    times = [(_timed(entry, ours, data)[0], _timed(entry, theirs, data)[0]) for _ in range(ROUNDS)]
    return {
        "work": entry.work,
        "yardstick": entry.yardstick,
        "first": first,
        "compiled": compiled,
        "seconds": min(ours for ours, _ in times),
        "score": entry.score(data, answer),
        "peer_seconds": min(theirs for _, theirs in times),
        "peer_score": entry.score(data, peer_answer),
    }


def _timed(entry: Entry, estimator: Any, data: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = entry.run(estimator, data)
    return time.perf_counter() - start, answer


def _table(rows: list[dict[str, Any]]) -> str:
    header = ("work", "fastml", "sklearn", "faster", "fastml's score", "sklearn's score", "of")
    return plain(
        header,
        [
            (
                row["work"],
                seconds(row["seconds"]),
                seconds(row["peer_seconds"]),
                f"{row['peer_seconds'] / row['seconds']:.1f}×",
                number(row["score"]),
                number(row["peer_score"]),
                row["yardstick"],
            )
            for row in rows
        ],
    )


def _compilation(rows: list[dict[str, Any]]) -> str:
    """The first calls, which the table leaves out."""
    lines = ["\nfirst call in this process (compiling or loading kernels), not in the times above:"]
    for row in rows:
        extra = seconds(max(row["first"] - row["seconds"], 0.0))
        lines.append(f"  {row['work']}: + {extra}, {row['compiled']} functions compiled")
    if any(row["compiled"] for row in rows):
        lines.append("  the next process loads them; `python -m fastml warmup` compiles all")
    return "\n".join(lines)


def _save_figure(entries: list[Entry], path: Path) -> str:
    """Draw every entry that has a panel; what to tell the user."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "no figure: matplotlib is missing (pip install matplotlib)"
    drawn = [entry for entry in entries if entry.draw is not None]
    if not drawn:
        return "no figure: nothing to draw yet"
    figure = Figure(figsize=(5 * len(drawn), 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, entry in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn):
        assert entry.draw is not None
        entry.draw(axes, entry.find("fastml"))
        axes.set_xticks([])
        axes.set_yticks([])
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise CommandError(f"--output: {error}") from error
    return f"figure: {path.resolve()}"
