"""The report of ``fastml bench`` as a bar chart: how many times fastml's time each peer takes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fastml._cli.report import Report


def draw(report: Report, path: Path) -> None:
    """Save it; needs matplotlib. Bars to the right of 1 are peers slower than fastml."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    from fastml._cases._panels import COLOURS

    rows = [row for row in report["rows"] if "fastml" in row["results"] and len(row["results"]) > 1]
    peers = sorted({name for row in rows for name in row["results"]} - {"fastml"})
    colours = {peer: COLOURS[i % len(COLOURS)] for i, peer in enumerate(peers)}
    n_bars = sum(len(row["results"]) for row in rows)
    figure = Figure(figsize=(11, 1.4 + 0.25 * n_bars), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()

    position, ticks = 0.0, []
    for row in rows:
        ours = row["results"]["fastml"]["best"]
        first = position
        for peer in (name for name in peers if name in row["results"]):
            ratio = row["results"][peer]["best"] / ours
            fair = row["results"][peer]["comparable"]
            bar = axes.barh(position, ratio - 1, left=1, height=0.85, color=colours[peer])
            bar[0].set_alpha(1.0 if fair else 0.3)
            side: Literal["left", "right"] = "left" if ratio >= 1 else "right"
            text = f" {ratio:.2g}× " if fair else f" ({ratio:.2g}×) quality differs "
            axes.annotate(text, (ratio, position), va="center", fontsize=8, ha=side)
            position += 1
        ticks.append((first + position - 1) / 2)
        position += 0.7
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}×")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.12)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(ticks, [row["work"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("time ÷ fastml's time (log scale; right of 1: fastml is faster)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    handles = [axes.barh([0], [0], color=colour, label=peer) for peer, colour in colours.items()]
    if handles:
        figure.legend(
            handles=handles, loc="outside upper right", ncols=min(len(handles), 6), frameon=False
        )
    figure.savefig(path, dpi=120)
