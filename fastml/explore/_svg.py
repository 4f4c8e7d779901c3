"""Plots as SVG text: histogram with density, box, bars, scatter with a line, matrix, curves."""

from __future__ import annotations

from html import escape

import numpy as np

WIDTH, HEIGHT = 340.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 10.0, 26.0
PALETTE = ("#3b6fb6", "#e0803c", "#4c9f70", "#b5514f", "#7d63ab", "#8a6d4f", "#c877ad", "#6f7680")


def number(x: float) -> str:
    """Short text of a number on an axis."""
    if x == 0:
        return "0"
    if 1e3 <= abs(x) < 1e7:
        return f"{x:,.0f}"
    if abs(x) >= 1e7 or abs(x) < 1e-3:
        return f"{x:.2g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{x:.4g}"


def _ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between the ends."""
    span = high - low
    if not (np.isfinite(span) and span > 0):
        return [low]
    step = 10.0 ** np.floor(np.log10(span / most))
    for factor in (1, 2, 5, 10):
        if span / (step * factor) <= most:
            step *= factor
            break
    first = np.ceil(low / step - 1e-9)
    return [float(k * step) for k in np.arange(first, np.floor(high / step + 1e-9) + 1)]


class Plot:
    """Marks in the coordinates of the data, inside one frame."""

    def __init__(self, xs, ys, *, kind: str, label: str, width=WIDTH, height=HEIGHT, times=False):
        self.x, self.y = _widened(*xs), _widened(*ys)
        self.width, self.height, self.kind, self.label = width, height, kind, label
        self.times = times
        self.marks: list[str] = []

    def px(self, x):
        low, high = self.x
        return LEFT + (np.asarray(x, dtype=np.float64) - low) / (high - low) * (
            self.width - LEFT - RIGHT
        )

    def py(self, y):
        low, high = self.y
        return (
            self.height
            - BOTTOM
            - (np.asarray(y, dtype=np.float64) - low) / (high - low) * (self.height - TOP - BOTTOM)
        )

    def rectangle(self, x0, x1, y0, y1, style: str, tip: str = "") -> None:
        a, b = float(self.px(x0)), float(self.px(x1))
        c, d = float(self.py(y1)), float(self.py(y0))
        inside = f"<title>{escape(tip)}</title>" if tip else ""
        self.marks.append(
            f'<rect x="{a:.1f}" y="{c:.1f}" width="{max(b - a, 0.5):.1f}" '
            f'height="{max(d - c, 0):.1f}" class="{style}">{inside}</rect>'
        )

    def path(self, x, y, style: str, closed_at=None) -> None:
        points = [f"{a:.1f},{b:.1f}" for a, b in zip(self.px(x), self.py(y))]
        if closed_at is not None and points:
            base = float(self.py(closed_at))
            start, end = points[0].partition(",")[0], points[-1].partition(",")[0]
            points = [f"{start},{base:.1f}", *points, f"{end},{base:.1f}"]
        self.marks.append(f'<polyline points="{" ".join(points)}" class="{style}"/>')

    def dots(self, x, y, style: str = "dot") -> None:
        inside = "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2"/>' for a, b in zip(self.px(x), self.py(y))
        )
        self.marks.append(f'<g class="{style}">{inside}</g>')

    def axes(self, *, x=True, y=True) -> None:
        bottom, right = self.height - BOTTOM, self.width - RIGHT
        if y:
            for tick in _ticks(*self.y, 4):
                at = float(self.py(tick))
                self.marks.insert(
                    0,
                    f'<line x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>'
                    f'<text x="{LEFT - 5}" y="{at + 3.5:.1f}" class="end">{number(tick)}</text>',
                )
        if x:
            marks = _time_ticks(*self.x) if self.times else [
                (tick, number(tick)) for tick in _ticks(*self.x)]  # fmt: skip
            for tick, text in marks:
                at = float(self.px(tick))
                self.marks.append(
                    f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}" '
                    f'class="axis"/><text x="{at:.1f}" y="{bottom + 16}" class="mid">{text}</text>'
                )
        self.marks.append(
            f'<line x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" class="axis"/>'
        )

    def svg(self) -> str:
        return (
            f'<svg class="plot {self.kind}" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'role="img" aria-label="{escape(self.label)}">{"".join(self.marks)}</svg>'
        )


def _widened(low, high) -> tuple[float, float]:
    low, high = float(low), float(high)
    if not (np.isfinite(low) and np.isfinite(high) and np.isfinite(high - low)):
        return 0.0, 1.0
    if not high > low:
        half = max(abs(low) * 1e-6, 0.5)
        return low - half, high + half
    return low, high


def _time_ticks(low: float, high: float) -> list[tuple[float, str]]:
    times = np.linspace(low, high, 6)[1:-1]
    days = (high - low) / 86400.0
    unit, cut = ("D", 10) if days < 700 else ("M", 7)
    if days < 3:
        unit, cut = "m", 16
    found: list[tuple[float, str]] = []
    for second in times[:: 2 if unit != "M" else 1]:
        moment = np.datetime64(round(float(second)), "s").astype(f"datetime64[{unit}]")
        at = float(moment.astype("datetime64[s]").astype(np.int64))
        text = str(moment)[:cut].replace("T", " ")
        if low <= at <= high and (not found or found[-1][1] != text):
            found.append((at, text[5:] if unit == "m" else text))
    return found


# ---------------------------------------------------------------------------- plots


def histogram(edges, counts, density, *, label: str, times=False) -> str:
    """Bars, and the density over them where there is one."""
    edges, counts = np.asarray(edges), np.asarray(counts, dtype=np.float64)
    n = counts.sum()
    width = np.diff(edges)
    heights = counts
    highest = heights.max()
    curve = None
    if density is not None and n > 0:
        curve = np.asarray(density["y"]) * n * width[0]
        highest = max(highest, curve.max())
    plot = Plot((edges[0], edges[-1]), (0, highest * 1.05), kind="histogram", label=label,
                times=times)  # fmt: skip
    for k, height in enumerate(heights):
        if height:
            tip = f"{number(edges[k])} … {number(edges[k + 1])}: {int(counts[k]):,}"
            plot.rectangle(edges[k], edges[k + 1], 0, height, "bar", "" if times else tip)
    if curve is not None:
        x = np.asarray(density["x"])
        inside = (x >= edges[0]) & (x <= edges[-1])
        plot.path(x[inside], curve[inside], "density")
    plot.axes()
    return plot.svg()


def box(low, quartiles, high, least, most, *, label: str) -> str:
    """Quartiles, whiskers, and the range beyond them."""
    plot = Plot((least, most), (0, 1), kind="box", label=label, height=64.0)
    plot.path([least, most], [0.5, 0.5], "range")
    plot.path([low, high], [0.5, 0.5], "whisker")
    for end in (low, high):
        plot.path([end, end], [0.25, 0.75], "whisker")
    plot.rectangle(quartiles[0], quartiles[2], 0.1, 0.9, "boxbody")
    plot.path([quartiles[1], quartiles[1]], [0.1, 0.9], "median")
    if least < low:
        plot.dots([least], [0.5], "outlier")
    if most > high:
        plot.dots([most], [0.5], "outlier")
    plot.axes(y=False)
    return plot.svg()


def boxes(groups: list[tuple[str, np.ndarray]], *, label: str) -> str:
    """One upright box per group of values."""
    values = np.concatenate([v for _, v in groups])
    plot = Plot((0, len(groups)), (values.min(), values.max()), kind="boxes", label=label)
    for k, (name, v) in enumerate(groups):
        q1, q2, q3 = np.quantile(v, [0.25, 0.5, 0.75])
        inside = v[(v >= q1 - 1.5 * (q3 - q1)) & (v <= q3 + 1.5 * (q3 - q1))]
        plot.path([k + 0.5, k + 0.5], [inside.min(), inside.max()], "whisker")
        plot.rectangle(k + 0.2, k + 0.8, q1, q3, "boxbody", f"{name}: median {number(q2)}")
        plot.path([k + 0.2, k + 0.8], [q2, q2], "median")
        beyond = v[(v < inside.min()) | (v > inside.max())][:40]
        plot.dots(np.full(len(beyond), k + 0.5), beyond, "outlier")
        at, text = float(plot.px(k + 0.5)), _clip(name, 42 // len(groups))
        plot.marks.append(
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 16}" class="mid">{text}</text>'
        )
    plot.axes(x=False)
    return plot.svg()


def _clip(text, most: int) -> str:
    most = max(most, 3)
    text = str(text)
    return escape(text if len(text) <= most else text[: most - 1] + "…")


def bars(items: list[tuple[str, int, float]], *, label: str) -> str:
    """Lying bars of counts with their shares; the last may be the others, or the missing."""
    line = 19.0
    height = line * len(items) + 8
    most = max((count for _, count, _ in items), default=1) or 1
    names, room = 112.0, WIDTH - 112.0 - 62.0
    marks = []
    for k, (name, count, share) in enumerate(items):
        y = 4 + k * line
        style = "bar pale" if name in ("missing", "others") and k >= len(items) - 2 else "bar"
        marks.append(
            f'<text x="{names - 6}" y="{y + 13:.1f}" class="end">{_clip(name, 18)}</text>'
            f'<rect x="{names}" y="{y + 3:.1f}" height="13" '
            f'width="{max(room * count / most, 1):.1f}" class="{style}">'
            f"<title>{escape(str(name))}: {count:,}</title></rect>"
            f'<text x="{names + room * count / most + 5:.1f}" y="{y + 13:.1f}">'
            f"{100 * share:.3g} %</text>"
        )
    return (
        f'<svg class="plot bars" viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(marks)}</svg>'
    )


def stacked(items: list[tuple[str, list[float]]], classes: list[str], *, label: str) -> str:
    """Lying bars of shares of classes, one per group."""
    line, names = 19.0, 112.0
    room, height = WIDTH - names - 12.0, line * len(items) + 24
    marks = []
    for k, (name, shares) in enumerate(items):
        y, x = 4 + k * line, names
        marks.append(f'<text x="{names - 6}" y="{y + 13:.1f}" class="end">{_clip(name, 18)}</text>')
        for c, share in enumerate(shares):
            marks.append(
                f'<rect x="{x:.1f}" y="{y + 3:.1f}" height="13" width="{room * share:.1f}" '
                f'fill="{PALETTE[c % len(PALETTE)]}"><title>{escape(str(name))}, '
                f"{escape(str(classes[c]))}: {100 * share:.3g} %</title></rect>"
            )
            x += room * share
    x = names
    rest = any(shares[-1] > 1e-9 for _, shares in items)
    for c, name in enumerate(classes if rest else classes[:-1]):
        marks.append(
            f'<circle cx="{x + 4:.1f}" cy="{height - 10:.1f}" r="4" '
            f'fill="{PALETTE[c % len(PALETTE)]}"/>'
            f'<text x="{x + 12:.1f}" y="{height - 6:.1f}">{_clip(name, 8)}</text>'
        )
        x += 66
    return (
        f'<svg class="plot stacked" viewBox="0 0 {WIDTH:g} {height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(marks)}</svg>'
    )


def scatter(x, y, *, label: str, line=None, times=False) -> str:
    """Points, and the line of a regression."""
    there = np.isfinite(x) & np.isfinite(y)
    x, y = x[there], y[there]
    ends = ((x.min(), x.max()), (y.min(), y.max())) if len(x) else ((0, 1), (0, 1))
    plot = Plot(*(_padded(*end) for end in ends), kind="scatter", label=label, times=times)
    plot.dots(x, y)
    if line is not None and None not in line:
        low, high = plot.x
        xs = np.linspace(low, high, 50)
        ys = line[0] * xs + line[1]
        kept = (ys >= plot.y[0]) & (ys <= plot.y[1])
        plot.path(xs[kept], ys[kept], "regression")
    plot.axes()
    return plot.svg()


def _padded(low, high):
    more = 0.03 * (high - low)
    return low - more, high + more


def colour(value: float, diverging: bool) -> str:
    """White at 0, deep at ±1."""
    strength = min(abs(value), 1.0)
    deep = (178, 60, 50) if diverging and value < 0 else (38, 89, 158)
    mixed = [round(255 + (c - 255) * strength) for c in deep]
    return f"rgb({mixed[0]},{mixed[1]},{mixed[2]})"


def matrix(values, rows, columns, *, label: str, diverging=False, scale=1.0, texts=None) -> str:
    """A picture of a matrix, a number in every cell where there is room."""
    values = np.asarray(values, dtype=np.float64)
    cell = 40.0 if len(columns) <= 14 else max(12.0, 560.0 / len(columns))
    left, top = 118.0, 84.0
    width, height = left + cell * len(columns) + 10, top + cell * len(rows) + 6
    marks = []
    for j, name in enumerate(columns):
        x = left + (j + 0.5) * cell
        marks.append(
            f'<text x="{x:.1f}" y="{top - 6}" transform="rotate(-45 {x:.1f} {top - 6})">'
            f"{_clip(name, 16)}</text>"
        )
    for i, name in enumerate(rows):
        y = top + i * cell
        marks.append(
            f'<text x="{left - 6}" y="{y + cell / 2 + 4:.1f}" class="end">{_clip(name, 18)}</text>'
        )
        for j, other in enumerate(columns):
            value = values[i, j]
            if not np.isfinite(value):
                continue
            x = left + j * cell
            strength = value / scale if scale > 0 else 0.0
            text = texts[i][j] if texts is not None else f"{value:.2f}".replace("-0.00", "0.00")
            marks.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{cell - 1:.1f}" height="{cell - 1:.1f}" '
                f'rx="2" fill="{colour(strength, diverging)}"><title>{escape(str(name))} · '
                f"{escape(str(other))}: {value:.4g}</title></rect>"
            )
            if cell >= 30:
                style = "mid light" if abs(strength) > 0.55 else "mid dark"
                marks.append(
                    f'<text x="{x + cell / 2:.1f}" y="{y + cell / 2 + 3.5:.1f}" class="{style}">'
                    f"{text}</text>"
                )
    return (
        f'<svg class="plot matrix" style="max-width:{width:.0f}px" viewBox="0 0 {width:.0f} '
        f'{height:.0f}" role="img" aria-label="{escape(label)}">{"".join(marks)}</svg>'
    )
