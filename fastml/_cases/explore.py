"""Describing a table of mixed columns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from fastml._cases._case import Case, Quality, find, sizes


def mixed_table(n):
    """Twenty columns: numbers with and without gaps, counts, text, flags, times."""
    rng = np.random.default_rng(0)
    X = {}
    for j in range(10):
        X[f"number {j}"] = (j + 1) * rng.normal(size=n)
        if j % 3 == 0:
            X[f"number {j}"][rng.random(n) < 0.03] = np.nan
    for j in range(3):
        X[f"count {j}"] = rng.poisson(4 + 20 * j, n)
    for j, levels in enumerate((3, 7, 12, 50, 500)):
        names = np.array([f"level {k}" for k in range(levels)], dtype=object)
        X[f"text {j}"] = names[rng.integers(0, levels, n)]
    X["flag"] = rng.random(n) < 0.3
    X["time"] = np.datetime64("2020-01-01") + rng.integers(0, 10**8, n).astype("timedelta64[s]")
    return SimpleNamespace(X=X)


def table_of(data):
    """A pandas table if that is installed, a dictionary of columns otherwise."""
    try:
        return find("pandas.DataFrame")(data.X)
    except ImportError:
        return data.X


def call(make, data):
    table = table_of(data)
    return lambda: make(table)


def by_hand(data):
    """What one writes with pandas: describe, value_counts of every column, corr."""
    frame = find("pandas.DataFrame")(data.X)

    def look():
        counts = {name: frame[name].value_counts() for name in frame}
        return frame.describe(include="all"), counts, frame.corr(numeric_only=True)

    return look


def _figures(data, answer) -> float:
    """Means, deviations, quartiles, most frequent counts and correlations, weighed together."""
    numbers = [name for name in data.X if name.startswith(("number", "count"))]
    if isinstance(answer, tuple):
        table, counts, r = answer
        shown = table[numbers].loc[["mean", "std", "min", "25%", "50%", "75%", "max"]].to_numpy()
        top = [int(counts[name].iloc[0]) for name in data.X]
        r = r.loc[numbers, numbers].to_numpy()
    else:
        found = [answer[name] for name in numbers]
        shown = np.array(
            [[c["mean"], c["std"], c["min"], *c["quartiles"], c["max"]] for c in found]
        )
        top = [answer[name]["top"][0]["count"] for name in data.X]
        places = [answer.names.index(name) for name in numbers]
        r = answer.correlations["pearson"][np.ix_(places, places)]
    return float(np.abs(shown).sum() + np.sum(top) + np.abs(r).sum())


CASES = (
    Case(
        "describe", "explore.describe", "describe, {n:,} × 20 mixed columns", mixed_table,
        sizes(n=(300, 50_000, 1_000_000)), Quality("figures", _figures, "same", 1e-9), step=call,
        peers={"pandas": by_hand},
    ),
)  # fmt: skip
