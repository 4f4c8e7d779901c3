"""How a target goes with one column, and with two: statistics and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from fastml.explore._columns import TableColumn
from fastml.explore._pairs import (
    chi_square,
    correlation_ratio,
    cramers_v,
    information,
    rank_correlation,
)

MOST_LEVELS = 2000
"""Columns of more levels are tested by their groups, the rarest as one."""

FEW_FOR_FISHER = 1000


def _exact_groups(column: TableColumn) -> tuple[NDArray, int]:
    if column.is_group and len(column.levels) <= MOST_LEVELS:
        return column.codes, len(column.levels)
    groups, n_groups = column.groups
    return groups, n_groups


def _row(test: str, statistic, p, df=None) -> dict[str, Any]:
    def plain(x):
        return float(x) if np.isfinite(x) else None

    found = {"test": test, "statistic": plain(statistic), "p": plain(p)}
    return found if df is None else {**found, "df": df}


def one_factor_tests(factor: TableColumn, target: TableColumn) -> dict[str, Any]:
    """What is measured and tested of the two, as their types say."""
    found: dict[str, Any] = {"factor": factor.name, "target": target.name}
    if factor.is_identifier or target.is_identifier:
        n = int((factor.present & target.present).sum())
        return found | {"n": n, "kind": "no groups", "effect": {}, "tests": []}
    if factor.is_group and target.is_group:
        return found | _groups_groups(factor, target)
    if factor.is_group != target.is_group:
        groups, quantity = (factor, target) if factor.is_group else (target, factor)
        return found | _groups_quantity(groups, quantity)
    return found | _quantities(factor, target)


def _quantities(a, b) -> dict[str, Any]:
    both = a.present & b.present
    n = int(both.sum())
    x, y = a.rows()[both], b.rows()[both]
    if n < 3:
        return {"n": n, "kind": "two quantities", "effect": {}, "tests": []}
    u, v = x - x.mean(), y - y.mean()
    uu, vv, uv = (u * u).sum(), (v * v).sum(), (u * v).sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.clip(uv / np.sqrt(uu * vv), -1.0, 1.0)
        slope = uv / uu
    rho = rank_correlation(a, b)
    tests = []
    for name, value in (("Pearson, t", r), ("Spearman, t", rho)):
        with np.errstate(divide="ignore", invalid="ignore"):
            t = value * np.sqrt(np.float64(n - 2) / ((1.0 - value) * (1.0 + value)))
        tests.append(_row(name, t, 2.0 * stdtr(n - 2, -abs(t)), n - 2))
    effect = {"pearson": r, "spearman": rho, "slope": slope,
              "intercept": y.mean() - slope * x.mean()}  # fmt: skip
    return {"n": n, "kind": "two quantities", "effect": _plain(effect), "tests": tests}


def _plain(effect) -> dict[str, Any]:
    return {name: float(x) if np.isfinite(x) else None for name, x in effect.items()}


def _groups_quantity(groups, quantity) -> dict[str, Any]:
    """Welch's t, analysis of variance, Mann-Whitney, Kruskal-Wallis."""
    codes, n_groups = _exact_groups(groups)
    both = groups.present & quantity.present
    codes = codes[both]
    x = quantity.rows()[both] - (quantity.shape["centre"] if quantity.n_present else 0.0)
    n = len(x)
    counts = np.bincount(codes, minlength=n_groups)
    sums = np.bincount(codes, weights=x, minlength=n_groups)
    squares = np.bincount(codes, weights=x * x, minlength=n_groups)
    eta = correlation_ratio(counts, sums, squares)
    kept = counts > 0
    k = int(kept.sum())
    tests = []
    if k > 1 and n > k:
        size, total = counts[kept].astype(np.float64), sums[kept]
        off = x - (sums / np.maximum(counts, 1))[codes]
        within = np.bincount(codes, weights=off * off, minlength=n_groups)[kept]
        between = (total**2 / size).sum() - total.sum() ** 2 / n
        with np.errstate(divide="ignore", invalid="ignore"):
            f = np.float64(between / (k - 1)) / (within.sum() / (n - k))
        if k == 2:
            tests.append(_welch(size, total / size, within))
        tests.append(_row("analysis of variance, F", f, fdtrc(k - 1, n - k, f), [k - 1, n - k]))
        ranks, _, ties = quantity.ranks_among(both)
        tests += _rank_tests(np.bincount(codes, weights=ranks[both], minlength=n_groups)[kept],
                             size, n, ties)  # fmt: skip
    return {"n": n, "kind": "groups and a quantity",
            "effect": _plain({"correlation_ratio": eta}), "tests": tests}  # fmt: skip


def _welch(size, means, within) -> dict[str, Any]:
    with np.errstate(divide="ignore", invalid="ignore"):
        each = within / (size - 1) / size
        t = (means[0] - means[1]) / np.sqrt(each.sum())
        df = each.sum() ** 2 / (each**2 / (size - 1)).sum()
    return _row("Welch's t", t, 2.0 * stdtr(df, -abs(t)), float(df) if np.isfinite(df) else None)


def _rank_tests(rank_sums, size, n, ties) -> list[dict[str, Any]]:
    k = len(size)
    spread = 1.0 - ties / (float(n) ** 3 - n)
    if not spread > 0.0:
        return []
    h = (12.0 / (n * (n + 1.0)) * (rank_sums**2 / size).sum() - 3.0 * (n + 1.0)) / spread
    found = [_row("Kruskal-Wallis, H", h, chdtrc(k - 1, max(h, 0.0)), k - 1)]
    if k == 2:
        u = rank_sums[0] - 0.5 * size[0] * (size[0] + 1.0)
        middle = 0.5 * size[0] * size[1]
        deviation = np.sqrt(size[0] * size[1] / 12.0 * (n + 1.0) * spread)
        z = (max(u, 2.0 * middle - u) - middle - 0.5) / deviation
        found.append(_row("Mann-Whitney, U", u, min(1.0, 2.0 * ndtr(-z))))
    return found


def _groups_groups(a, b) -> dict[str, Any]:
    """χ², likelihood ratio and, for four cells of few rows, Fisher's exact test."""
    (first, n_first), (second, n_second) = _exact_groups(a), _exact_groups(b)
    if n_first * n_second > MOST_LEVELS**2 // 4:
        (first, n_first), (second, n_second) = a.groups, b.groups
    both = a.present & b.present
    cells = first[both].astype(np.int64) * n_second + second[both]
    table = np.bincount(cells, minlength=n_first * n_second).reshape(n_first, n_second)
    chi2, freedom, full = chi_square(table)
    n = int(table.sum())
    found = {"cramers_v": cramers_v(table), "mutual_information": information(table)}
    tests = []
    if freedom > 0:
        g = 2.0 * n * found["mutual_information"]
        tests.append(_row("χ²", chi2, chdtrc(freedom, chi2), freedom))
        tests.append(_row("likelihood ratio, G", g, chdtrc(freedom, g), freedom))
        if full.shape == (2, 2) and n <= FEW_FOR_FISHER:
            from scipy.stats import fisher_exact

            odds, p = fisher_exact(full)
            tests.append(_row("Fisher's exact, odds ratio", odds, p))
    return {"n": n, "kind": "two groups", "effect": _plain(found), "tests": tests}


# ---------------------------------------------------------------------------- two factors


def two_factor_tests(a: TableColumn, b: TableColumn, target: TableColumn, bins: int):
    """Analysis of variance by two factors, or conditional likelihood ratios; means by cell."""
    (first, n_first), (second, n_second) = _few_groups(a, bins), _few_groups(b, bins)
    both = a.present & b.present & target.present
    cells = first[both].astype(np.int64) * n_second + second[both]
    n_cells = n_first * n_second
    counts = np.bincount(cells, minlength=n_cells)
    found: dict[str, Any] = {
        "factors": [a.name, b.name], "target": target.name, "n": int(both.sum()),
        "levels": [_names(a, bins), _names(b, bins)],
        "counts": counts.reshape(n_first, n_second).tolist(),
    }  # fmt: skip
    if target.is_group and target.type != "binary":
        classes, n_classes = _exact_groups(target)
        classes = classes[both]
        joint = np.bincount(cells * n_classes + classes, minlength=n_cells * n_classes)
        joint = joint.reshape(n_first, n_second, n_classes)
        found["means"] = None
        found["rows"] = _conditional(a.name, b.name, joint)
        return found
    centre = target.shape["centre"] if target.n_present else 0.0
    y = target.rows()[both] - centre
    sums = np.bincount(cells, weights=y, minlength=n_cells).reshape(n_first, n_second)
    counts = counts.reshape(n_first, n_second)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts + centre
    found["means"] = [[float(x) if np.isfinite(x) else None for x in line] for line in means]
    if target.type == "binary":
        classes = np.bincount(cells * 2 + (y + centre > target.numbers[0]), minlength=2 * n_cells)
        found["rows"] = _conditional(a.name, b.name, classes.reshape(n_first, n_second, 2))
        return found
    found["rows"] = _two_way(a.name, b.name, counts, sums, (y * y).sum())
    return found


def _few_groups(column, bins):
    if column.is_group and len(column.levels) <= 64:
        return column.codes, len(column.levels)
    groups, n_groups = column.binned(bins)
    return groups, n_groups


def _names(column, bins) -> list[str]:
    if column.is_group and len(column.levels) <= 64:
        return [str(column.label(k)) for k in range(len(column.levels))]
    table, n_groups = column.group_table(bins)
    if column.is_group:
        named = [str(column.label(k)) for k in column.by_count[: n_groups - 1]]
        return [*named, "others"]
    found = []
    for group in range(n_groups):
        inside = np.flatnonzero(table == group)
        low, high = column.label(int(inside[0])), column.label(int(inside[-1]))
        found.append(f"{short(low)} … {short(high)}" if low != high else short(low))
    return found


def short(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _two_way(a, b, counts, sums, squares) -> list[dict[str, Any]]:
    """Sums of squares of type II: each factor beside the other, then what only pairs explain."""
    n = int(counts.sum())
    if n == 0:
        return []
    start = sums.sum() ** 2 / n

    def left_by(size, total):
        used = size > 0
        return squares - (total[used] ** 2 / size[used]).sum()

    only_a = left_by(counts.sum(axis=1), sums.sum(axis=1))
    only_b = left_by(counts.sum(axis=0), sums.sum(axis=0))
    left = left_by(counts, sums)
    gram = np.block(
        [[np.diag(counts.sum(axis=1)), counts], [counts.T, np.diag(counts.sum(axis=0))]]
    )
    moment = np.concatenate([sums.sum(axis=1), sums.sum(axis=0)])
    fitted, _, rank, _ = np.linalg.lstsq(gram.astype(np.float64), moment, rcond=1e-12)
    added = squares - fitted @ moment
    n_cells = int((counts > 0).sum())
    used_a, used_b = int(counts.any(axis=1).sum()), int(counts.any(axis=0).sum())
    parts = [
        (a, only_b - added, rank - used_b),
        (b, only_a - added, rank - used_a),
        (f"{a} × {b}", added - left, n_cells - rank),
    ]
    freedom = n - n_cells
    rows = []
    for name, square, df in parts:
        square = max(float(square), 0.0)
        row = {"what": name, "sum_of_squares": square, "df": int(df), "statistic": None, "p": None,
               "share": float(square / (squares - start)) if squares > start else None}  # fmt: skip
        if df > 0 and freedom > 0 and left > 0.0:
            f = square / df / (left / freedom)
            row |= {"statistic": float(f), "p": float(fdtrc(df, freedom, f))}
        rows.append(row)
    share = float(left / (squares - start)) if squares > start else None
    rows.append({"what": "rest", "sum_of_squares": max(float(left), 0.0), "df": freedom,
                 "statistic": None, "p": None, "share": share})  # fmt: skip
    return rows


def _conditional(a, b, joint) -> list[dict[str, Any]]:
    """2 n times the information of the target and one factor, the other known, and of both."""

    def known(table):
        """Over the first axis: what is known."""
        g, df = 0.0, 0
        for layer in table:
            layer = layer[layer.any(axis=1)][:, layer.any(axis=0)]
            if layer.size:
                g += 2.0 * layer.sum() * information(layer)
                df += (layer.shape[0] - 1) * (layer.shape[1] - 1)
        return g, df

    flat = joint.reshape(-1, joint.shape[2])
    parts = [
        (f"{a}, {b} known", known(joint.transpose(1, 0, 2))),
        (f"{b}, {a} known", known(joint)),
        (f"{a} and {b}", known(flat[None])),
    ]
    return [
        {"what": name, "df": df, "statistic": float(g),
         "p": float(chdtrc(df, g)) if df > 0 else None}
        for name, (g, df) in parts
    ]  # fmt: skip
