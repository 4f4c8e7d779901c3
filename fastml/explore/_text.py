"""Plain data as text: numbers in few digits, lines of tables."""

from __future__ import annotations

from typing import Any


def short(value, digits: int = 4) -> str:
    """A number in few digits, anything else as text."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = str(value)
        return text if len(text) <= 24 else text[:23] + "…"
    if isinstance(value, int) and abs(value) < 10**7:
        return str(value)
    return f"{value:.{digits}g}"


def per_cent(share: float) -> str:
    if share == 0.0:
        return "0"
    return f"{100.0 * share:.3g} %" if share >= 0.001 else "< 0.1 %"


def text_table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Columns side by side, the ``left`` first and the last without numbers to the left."""
    lines = [head, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if k < left else text.rjust(width)
            for k, (text, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )


HEAD = ["column", "type", "missing", "distinct", "mean", "std", "min", "median", "max", "outliers",
        "most frequent"]  # fmt: skip


def row(column: dict[str, Any]) -> list[str]:
    """A line of the table of columns."""
    quartiles = column.get("quartiles") or [None] * 3
    outliers = column.get("outliers") or {}
    first = column["top"][0] if column["top"] else None
    often = first is not None and (first["count"] > 1 or column["count"] == 1)
    shown = column["type"] not in ("numeric", "geographic", "datetime")
    numeric = column["type"] not in ("binary", "nominal")
    cells = (
        [column.get("mean"), column.get("std"), column.get("min"), quartiles[1], column.get("max")]
        if numeric else [None] * 5
    )  # fmt: skip
    cells = [x[:16].replace("T", " ") if isinstance(x, str) else x for x in cells]
    return [
        column["name"], column["type"], per_cent(column["missing_share"]),
        short(column["distinct"]), *(short(x) for x in cells),
        short(outliers["box_plot"]["count"]) if outliers and numeric else "",
        f"{short(first['value'])} {per_cent(first['share'])}" if first and often and shown else "",
    ]  # fmt: skip


def cell(value) -> str:
    return ", ".join(map(short, value)) if isinstance(value, list) else short(value)
