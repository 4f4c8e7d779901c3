"""Rows of strings → an aligned plain-text table or a Markdown one."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[str]


def plain(header: Row, rows: Sequence[Row], *, text_columns: int = 1) -> str:
    """Columns padded to one width; all but the first ``text_columns`` are aligned to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: Row) -> str:
        cells = [
            cell.ljust(width) if i < text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(header), rule, *map(line, rows)])


def markdown(header: Row, rows: Sequence[Row], *, text_columns: int = 1) -> str:
    """The same as a Markdown table."""
    rule = ["---" if i < text_columns else "--:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def seconds(value: float) -> str:
    """Three significant digits and a unit that suits them."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{_digits(value / scale)} {unit}"
    return f"{_digits(value / 1e-6)} µs"


def _digits(value: float) -> str:
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def number(value: float) -> str:
    """Four significant digits; small errors in powers of ten."""
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}" if abs(value) < 1e-3 else f"{value:.3e}"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
