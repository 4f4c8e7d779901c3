"""A description as one HTML page: no scripts, nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from fastml.explore import _svg
from fastml.explore._text import HEAD, per_cent, row, short

STYLE = """
:root{--ink:#22262b;--soft:#6a727c;--line:#e3e6ea;--page:#f6f7f9;--card:#fff;--deep:#3b6fb6;
  --warm:#d9752f}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
  font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;margin:0 0 4px}
h2{font-size:19px;margin:38px 0 12px}
h3{font-size:15px;margin:0 0 2px}
.sub{color:var(--soft);margin:0 0 18px}
.facts{display:flex;flex-wrap:wrap;gap:12px}
.facts div{background:var(--card);border:1px solid var(--line);border-radius:10px;
  padding:10px 18px}
.facts b{display:block;font-size:20px;font-weight:600}
.facts span{color:var(--soft);font-size:13px}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:16px}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;
  overflow:hidden}
h3{overflow-wrap:anywhere}
.wide{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;
  overflow-x:auto;margin-bottom:16px}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(520px,1fr));gap:16px}
.pictures .wide{margin:0}
.tag{display:inline-block;font-size:12px;padding:0 8px;border-radius:9px;background:#e8eef7;
  color:#2d568e;margin-left:6px;font-weight:500}
.note{color:#a4531c;font-size:13px;margin:2px 0}
table{border-collapse:collapse;font-size:13.5px;width:100%}
th{text-align:left;color:var(--soft);font-weight:500;border-bottom:1px solid var(--line);
  padding:5px 10px 5px 0;white-space:nowrap}
td{padding:4px 10px 4px 0;border-bottom:1px solid #f0f2f4;font-variant-numeric:tabular-nums}
td.n,th.n{text-align:right}
dl{columns:2;column-gap:22px;font-size:13px;margin:8px 0 0}
dl div{display:flex;justify-content:space-between;gap:8px;white-space:nowrap;break-inside:avoid}
dt{color:var(--soft)}
dd{margin:0;text-align:right;font-variant-numeric:tabular-nums}
svg.plot{display:block;width:100%;height:auto;margin:6px 0;font:10.5px system-ui,sans-serif;
  fill:#565d66}
svg .grid{stroke:#eceff2}
svg .axis{stroke:#b6bcc4}
svg .end{text-anchor:end}
svg .mid{text-anchor:middle}
svg .bar{fill:#8fb0d9}
svg .bar.pale{fill:#cfd5dc}
svg .density{fill:none;stroke:var(--warm);stroke-width:1.8}
svg .range{stroke:#d5d9de;fill:none;stroke-dasharray:3 3}
svg .whisker{stroke:#7488a3;fill:none}
svg .boxbody{fill:#c6d7ec;stroke:#7c9cc4}
svg .median{stroke:var(--warm);stroke-width:2;fill:none}
svg .dot{fill:var(--deep);fill-opacity:.35}
svg .outlier{fill:#b5514f;fill-opacity:.6}
svg .regression{stroke:var(--warm);stroke-width:2;fill:none}
svg .light{fill:#fff}
svg .dark{fill:#3a4048}
@media print{body{background:#fff}.card,.wide{break-inside:avoid}}
"""

TITLES = {
    "pearson": "Pearson's r: straight lines",
    "spearman": "Spearman's ρ: any rising or falling",
    "cramers_v": "Cramér's V: groups and groups",
    "correlation_ratio": "Correlation ratio η: quantities (rows) among groups (columns)",
    "mutual_information": "Mutual information in nats: anything",
}

MOST_BOXES, MOST_CLASSES = 8, 3
MOST_IN_PICTURE = 40


def page(found, title: str) -> str:
    """The whole page."""
    sections = [
        _facts(found),
        '<section id="overview"><h2>Columns</h2>'
        f'<div class="wide">{overview(found)}</div></section>',
        _section("columns", "Each column", [_card(column) for column in found.columns]),
        _map(found),
        _correlations(found),
        _target(found),
        _two_factors(found),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>{escape(title)}</h1>{''.join(sections)}</main></body></html>\n"
    )


def _section(id: str, title: str, cards: list[str]) -> str:
    if not cards:
        return ""
    return (
        f'<section id="{id}"><h2>{escape(title)}</h2><div class="cards">{"".join(cards)}</div>'
        "</section>"
    )


def _facts(found) -> str:
    cells = found.n_rows * len(found.columns)
    missing = sum(column["missing"] for column in found.columns)
    kinds: dict[str, int] = {}
    for column in found.columns:
        kinds[column["type"]] = kinds.get(column["type"], 0) + 1
    items = [
        (f"{found.n_rows:,}", "rows"),
        (f"{len(found.columns):,}", "columns"),
        (per_cent(missing / cells) if missing else "none", "missing"),
        *((str(count), name) for name, count in kinds.items()),
    ]
    target = f", target <b>{escape(found.target)}</b>" if found.target else ""
    boxes = "".join(
        f"<div><b>{value}</b><span>{escape(name)}</span></div>" for value, name in items
    )
    return (
        f'<p class="sub">Quantiles by the method “{escape(found.facts.method)}”{target}</p>'
        f'<section id="facts"><div class="facts">{boxes}</div></section>'
    )


def _html_table(head, rows, left=1) -> str:
    def line(cells, tag):
        return "".join(
            f"<{tag}{'' if k < left else ' class=n'}>{escape(cell)}</{tag}>"
            for k, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{line(cells, 'td')}</tr>" for cells in rows)
    return f"<table><thead><tr>{line(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def overview(found) -> str:
    """The table of columns."""
    return _html_table(HEAD, [row(column) for column in found.columns], left=2)


# ---------------------------------------------------------------------------- columns


def _card(column: dict[str, Any]) -> str:
    name = column["name"]
    parts = [f'<h3>{escape(name)}<span class="tag">{column["type"]}</span></h3>']
    parts += [f'<p class="note">{escape(note)}</p>' for note in column["notes"]]
    grouped = column["type"] in ("binary", "nominal", "ordinal")
    if column["count"] and grouped:
        parts.append(_svg.bars(_bar_items(column), label=f"most frequent values of {name}"))
    elif column["count"]:
        times = column["type"] == "datetime"
        drawn = column["histogram"]
        parts.append(
            _svg.histogram(drawn["edges"], drawn["counts"], column["density"],
                           label=f"histogram of {name}", times=times)
        )  # fmt: skip
        if not times:
            low, high = column["whiskers"]
            if None not in (low, high, *column["quartiles"]):
                parts.append(
                    _svg.box(low, column["quartiles"], high, column["min"], column["max"],
                             label=f"box plot of {name}")
                )  # fmt: skip
    parts.append(_details(column, grouped))
    return f'<article class="card" data-column="{escape(name)}">{"".join(parts)}</article>'


def _bar_items(column) -> list[tuple[str, int, float]]:
    n = column["count"] + column["missing"] + column["infinite"]
    items = [(str(item["value"]), item["count"], item["share"]) for item in column["top"]]
    others = column["count"] - sum(count for _, count, _ in items)
    if others > 0:
        items.append(("others", others, others / n))
    if column["missing"]:
        items.append(("missing", column["missing"], column["missing_share"]))
    return items


def _details(column, grouped) -> str:
    pairs = [
        ("missing", per_cent(column["missing_share"])),
        ("distinct", f"{column['distinct']:,}"),
    ]
    if grouped:
        if column["entropy"] is not None:
            pairs.append(("entropy", short(column["entropy"])))
    else:
        names = ("mean", "std", "std_days", "min", "max", "skewness", "kurtosis")
        pairs += [
            (name.replace("_", ", "), _moment(column[name]))
            for name in names if column.get(name) is not None
        ]  # fmt: skip
        if column.get("normality"):
            pairs.append(("normal, p", short(column["normality"]["p"])))
    if column.get("quantiles") and column["count"]:
        for share, value in column["quantiles"].items():
            pairs.append((f"{100 * float(share):g} %", _moment(value)))
    if column.get("outliers") and not grouped:
        for rule, bounds in column["outliers"].items():
            pairs.append((f"out: {rule.replace('_', ' ')}", per_cent(bounds["share"])))
    inside = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in pairs)
    return f"<dl>{inside}</dl>"


def _moment(value) -> str:
    """Days of times, few digits of numbers."""
    return value[:10] if isinstance(value, str) and value[4:5] == "-" else short(value)


def _map(found) -> str:
    places = found._sample["places"]
    if not places:
        return ""
    rows = found._sample["numbers"]
    plot = _svg.scatter(rows[places[0]], rows[places[1]], label="places")
    heading = f"<h3>{escape(places[1])} above {escape(places[0])}</h3>"
    return _section("places", "Places", [f'<article class="card">{heading}{plot}</article>'])


# ---------------------------------------------------------------------------- pairs


def _correlations(found) -> str:
    pictures = []
    for kind, matrix in found.correlations.items():
        there = np.isfinite(matrix)
        off = there & ~np.eye(len(matrix), dtype=bool)
        rows = np.flatnonzero(off.any(axis=1))[:MOST_IN_PICTURE]
        columns = np.flatnonzero(off.any(axis=0))[:MOST_IN_PICTURE]
        if not len(rows):
            continue
        shown = matrix[np.ix_(rows, columns)].copy()
        scale = 1.0
        if kind == "mutual_information":
            shown[rows[:, None] == columns[None, :]] = np.nan
            scale = float(np.nanmax(shown)) or 1.0
        names = found.names
        picture = _svg.matrix(
            shown, [names[i] for i in rows], [names[j] for j in columns], label=TITLES[kind],
            diverging=kind in ("pearson", "spearman"), scale=scale,
        )  # fmt: skip
        pictures.append(
            f'<div class="wide" data-kind="{kind}"><h3>{TITLES[kind]}</h3>{picture}</div>'
        )
    if not pictures:
        return ""
    return (
        '<section id="correlations"><h2>Correlations</h2>'
        f'<div class="pictures">{"".join(pictures)}</div></section>'
    )


def _target(found) -> str:
    if found.target is None:
        return ""
    lines = []
    for result in found.tests:
        for test in result["tests"]:
            effect = ", ".join(
                f"{k.replace('_', ' ')} {short(v)}"
                for k, v in result["effect"].items() if v is not None and k not in LINE
            )  # fmt: skip
            first = test is result["tests"][0]
            freedom = test.get("df")
            freedom = (
                ", ".join(map(short, freedom)) if isinstance(freedom, list) else short(freedom)
            )
            lines.append([result["factor"] if first else "", effect if first else "", test["test"],
                          short(test["statistic"]), freedom, short(test["p"])])  # fmt: skip
    table = _html_table(["column", "measure", "test", "statistic", "df", "p"], lines, left=3)
    cards = [_beside(found, result) for result in found.tests]
    return (
        f'<section id="target"><h2>Beside the target {escape(found.target)}</h2>'
        f'<div class="cards">{"".join(cards)}</div><h2>Tests</h2>'
        f'<div class="wide" id="tests">{table}</div></section>'
    )


LINE = ("slope", "intercept")


def _beside(found, result) -> str:
    """A column and the target, drawn as their types say."""
    x, y = found[result["factor"]], found[found.target]
    numbers, codes = found._sample["numbers"], found._sample["codes"]
    names = found._sample["labels"]
    label = f"{y['name']} by {x['name']}"
    plot = ""
    if not result["n"]:
        plot = '<p class="note">no row has both</p>'
    elif result["kind"] == "two quantities":
        line = (result["effect"].get("slope"), result["effect"].get("intercept"))
        plot = _svg.scatter(numbers[x["name"]], numbers[y["name"]], label=label, line=line,
                            times=x["type"] == "datetime")  # fmt: skip
    elif result["kind"] == "groups and a quantity":
        groups, quantity = (x, y) if x["name"] in codes else (y, x)
        plot = _boxes(codes[groups["name"]], numbers[quantity["name"]], groups,
                      names[groups["name"]], label)  # fmt: skip
    elif result["kind"] == "two groups":
        plot = _stacked(codes, names, x, y, label)
    return (
        f'<article class="card" data-beside="{escape(x["name"])}"><h3>{escape(x["name"])}</h3>'
        f"{plot}</article>"
    )


def _often(codes, column, most) -> list[int]:
    """Levels that occur most, in order of size if there is one."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    best = [int(k) for k in np.argsort(-counts, kind="stable")[:most] if counts[k] > 0]
    return best if column["type"] == "nominal" else sorted(best)


def _boxes(codes, quantity, column, names, label) -> str:
    there = np.isfinite(quantity)
    groups = [
        (names[k], quantity[there & (codes == k)]) for k in _often(codes[there], column, MOST_BOXES)
    ]
    return _svg.boxes(groups, label=label) if groups else ""


def _stacked(codes, names, x, y, label) -> str:
    first, second = codes[x["name"]], codes[y["name"]]
    both = (first >= 0) & (second >= 0)
    first, second = first[both], second[both]
    classes = _often(second, y, MOST_CLASSES)
    items = []
    for k in _often(first, x, MOST_BOXES):
        inside = second[first == k]
        shares = [float(np.mean(inside == c)) for c in classes]
        items.append((names[x["name"]][k], [*shares, max(1.0 - sum(shares), 0.0)]))
    shown = [*(names[y["name"]][c] for c in classes), "others"]
    return _svg.stacked(items, shown, label=label) if items else ""


def _two_factors(found) -> str:
    cards = []
    for result in found.two_factors:
        a, b = result["factors"]
        keys = [k for k in ("what", "sum_of_squares", "df", "statistic", "p")
                if any(k in line for line in result["rows"])]  # fmt: skip
        table = _html_table(
            [key.replace("_", " ") for key in keys],
            [[short(line.get(key)) for key in keys] for line in result["rows"]],
        )
        picture = ""
        if result["means"] is not None and len(result["levels"][1]) <= MOST_IN_PICTURE:
            means = np.array(
                [[np.nan if v is None else v for v in line] for line in result["means"]]
            ).reshape(len(result["levels"][0]), len(result["levels"][1]))
            if np.isfinite(means).any():
                low, high = np.nanmin(means), np.nanmax(means)
                texts = [[short(float(v), 3) for v in line] for line in means]
                picture = _svg.matrix(
                    (means - low) / (high - low or 1.0), *result["levels"],
                    label=f"means of {result['target']} by {a} and {b}", texts=texts,
                )  # fmt: skip
        cards.append(
            f'<div class="wide"><h3>{escape(a)} (rows) and {escape(b)}</h3>{picture}{table}</div>'
        )
    if not cards:
        return ""
    return (
        '<section id="two-factors"><h2>Two columns and the target: means and tests</h2>'
        f'<div class="pictures">{"".join(cards)}</div></section>'
    )
