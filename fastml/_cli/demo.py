"""Train and score one estimator of every family beside scikit-learn's, and save a figure."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from fastml._cases._case import FAMILIES, Case, cases, find
from fastml._cli import CommandError, check_family, timing
from fastml._cli.progress import Progress
from fastml._cli.table import number, plain, seconds

ROUNDS = 2
COLUMNS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("fastml-demo.png"),
        metavar="PATH",
        help="where to save the figure (./fastml-demo.png)",
    )


def run(options: argparse.Namespace) -> int:
    check_family(options.family)
    folder = options.output.resolve().parent
    if not folder.is_dir():
        raise CommandError(f"--output: there is no folder {folder}")
    start = time.perf_counter()
    shown = [case for case in cases(options.family) if case.draw is not None]
    ahead = _compile_ahead(options.family)
    progress = Progress()
    rows = []
    for done, case in enumerate(shown):
        progress(case.title("quick"), done, len(shown) + 1)
        rows.append(_compare(case))
        progress.finish()
        print(_result(rows[-1]), flush=True)
    progress("figure", len(shown), len(shown) + 1)
    figure = _save_figure(shown, options.output)
    progress.finish()
    print("\n" + _table(rows))
    print(_compilation(rows, ahead))
    print(figure)
    print(f"done in {seconds(time.perf_counter() - start)}")
    return 0


def _compile_ahead(family: str | None) -> int:
    """Compile what the cases need, on all cores; how many functions that were."""
    from fastml._jit import cache_folder, jit_enabled, prebuilt_shelves
    from fastml._threads import effective_n_threads
    from fastml._warmup import StepError, demo_steps, in_processes

    n_processes = effective_n_threads(None)
    if n_processes == 1 or cache_folder() is None or not jit_enabled() or prebuilt_shelves():
        return 0  # the first calls compile, or find what they need
    progress = Progress()
    try:
        return in_processes(list(demo_steps(family)), n_processes, progress, folder=cache_folder())
    except StepError as error:  # the first call will tell
        return error.n_compiled
    finally:
        progress.finish()


def _result(row: dict[str, Any]) -> str:
    """What is known as soon as a case is done."""
    ours, theirs = row["results"]["fastml"], row["results"]["sklearn"]
    times = f"{seconds(ours['best'])}, scikit-learn {seconds(theirs['best'])}"
    return f"{row['work']}: {times}"


def _compare(case: Case) -> dict[str, Any]:
    from fastml._jit import statistics

    before = statistics.compiled
    row = timing.compare(case, size="quick", peers={"sklearn"}, rounds=ROUNDS, budget=1.0, least=1)
    return {**row, "compiled": statistics.compiled - before}


def _table(rows: list[dict[str, Any]]) -> str:
    header = ("work", "fastml", "sklearn", "faster", "fastml's score", "sklearn's score", "of")
    lines = []
    for row in rows:
        ours, theirs = row["results"]["fastml"], row["results"]["sklearn"]
        ratio = f"{theirs['best'] / ours['best']:.1f}×"
        lines.append(
            (
                row["work"],
                seconds(ours["best"]),
                seconds(theirs["best"]),
                ratio if theirs["comparable"] else f"({ratio}) quality differs",
                number(ours["quality"]),
                number(theirs["quality"]),
                row["yardstick"],
            )
        )
    return plain(header, lines)


def _compilation(rows: list[dict[str, Any]], ahead: int) -> str:
    """The first calls, which the table leaves out."""
    lines = ["\nfirst call in this process (compiling or loading kernels), not in the times above:"]
    if ahead:
        lines.insert(0, f"\n{ahead} functions were compiled ahead, on all cores")
    for row in rows:
        ours = row["results"]["fastml"]
        extra = seconds(max(ours["first"] - ours["best"], 0.0))
        lines.append(f"  {row['work']}: + {extra}, {row['compiled']} functions compiled")
    if ahead or any(row["compiled"] for row in rows):
        lines.append("  the next process loads them; `python -m fastml warmup` compiles all")
    return "\n".join(lines)


def _save_figure(shown: list[Case], path: Path) -> str:
    """One panel per case; what to tell the user."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "no figure: matplotlib is missing (pip install matplotlib)"
    n_columns = min(COLUMNS, len(shown))
    n_rows = -(-len(shown) // n_columns)
    figure = Figure(figsize=(5 * n_columns, 4.2 * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, case in zip(figure.subplots(n_rows, n_columns, squeeze=False).flat, shown):
        assert case.draw is not None
        case.draw(axes, find(f"fastml.{case.path}"))
        axes.set_xticks([])
        axes.set_yticks([])
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise CommandError(f"--output: {error}") from error
    return f"figure: {path.resolve()}"
