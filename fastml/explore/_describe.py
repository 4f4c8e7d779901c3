"""`describe`, `one_factor` and `two_factor`: checks, and what is asked of whom."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real

import numpy as np

from fastml.explore._columns import TableColumn, coded_column, mark_places
from fastml.explore._description import Description, FactorTests, TableFacts
from fastml.explore._factors import one_factor_tests, two_factor_tests
from fastml.explore._pairs import KINDS, correlations, on_threads
from fastml.explore._summary import METHODS, summary
from fastml.explore._tables import raw_column, read_table

MOST_PAIRED = 60
"""With more columns, correlations are taken with the target only, unless ``pairs=True``."""

MOST_DRAWN = 1000
"""Rows of a scatter plot."""

TESTED_TOGETHER = 3
"""Columns that tell most of the target, taken two at a time."""


def describe(
    table, target=None, *, types=None, quantiles=(0.05, 0.25, 0.5, 0.75, 0.95), method="linear",
    top=10, correlation=KINDS, pairs=None, n_jobs=None,
):  # fmt: skip
    """Say what is in a table: every column, pairs of columns, and how they go with a target.

    Columns are binary, numeric, nominal, ordinal, datetime or geographic. Infinite values are
    counted and left out. Correlations are of the rows that have both values: Pearson's and
    Spearman's of columns that have an order, Cramér's V of groups, the correlation ratio η of a
    quantity among groups, and mutual information (nats) of any two:

    V² = χ² / (n · min(r − 1, c − 1)),  η² = Σ n_g (mean_g − mean)² / Σ (x − mean)²

    There a quantity goes into at most 16 bins of equal counts, and the rarest of more than 254
    levels are one. Nominal columns of which every value is different are left out.

    Parameters
    ----------
    table : DataFrame, Table, mapping or array-like of shape (n_samples, n_features)
        Of pandas, polars, Arrow or NumPy; a mapping of names to columns.
    target : str, int or array-like of shape (n_samples,), default=None
        A column by name or number, or values beside the table.
    types : dict, default=None
        Types of columns by name, where the guess is not right; a list of levels makes a column
        ordinal, in that order.
    quantiles : sequence of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        Shares of rows.
    method : str, default="linear"
        Which definition of quantiles, by the names of `numpy.quantile`.
    top : int, default=10
        How many of the most frequent values are listed.
    correlation : sequence of str, default=all five
        Of ``"pearson"``, ``"spearman"``, ``"cramers_v"``, ``"correlation_ratio"`` and
        ``"mutual_information"``.
    pairs : bool, default=None
        Whether all pairs of columns are correlated, or each with the target only; None: all pairs
        of up to 60 columns.
    n_jobs : int, default=None
        Threads; None means all cores.

    Returns
    -------
    description : object
        Prints as a table; ``columns``, ``correlations``, ``tests`` and ``two_factors`` are plain
        data; ``to_dict()`` has all of them, ``to_html(file)`` writes one page with plots.

    Examples
    --------
    >>> from fastml.explore import describe
    >>> found = describe({"size": [1.5, 2.5, 4.0, 9.5], "kind": ["a", "b", "b", None]})
    >>> found
    4 rows, 2 columns, 1 value missing
    <BLANKLINE>
    column  type     missing  distinct   mean    std  min  median  max  outliers  most frequent
    size    numeric        0         4  4.375  3.568  1.5    3.25  9.5         0
    kind    binary      25 %         2                                                   b 50 %
    >>> found.columns[1]["missing_share"]
    0.25
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    shares = _check_shares(quantiles)
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise ValueError(f"top must be a whole number of at least 1, got {top!r}")
    kinds = (correlation,) if isinstance(correlation, str) else tuple(correlation)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"correlation must be among {KINDS}, got {unknown[0]!r}")
    columns, k, n = _columns(table, target, types, n_jobs)
    places = mark_places(columns) if types is None else _given_places(columns, types)
    summaries = on_threads(
        lambda column: summary(column, shares, method, int(top)),
        [(column,) for column in columns], n_jobs, 64.0 * n * len(columns),
    )  # fmt: skip
    everyone = pairs if pairs is not None else len(columns) <= MOST_PAIRED
    if everyone:
        chosen = list(combinations(range(len(columns)), 2))
    else:
        chosen = (
            [] if k is None else [(min(k, j), max(k, j)) for j in range(len(columns)) if j != k]
        )
    found = correlations(columns, chosen, kinds, n_jobs) if chosen else {}
    tests, two = [], []
    if k is not None:
        factors = [(column, columns[k]) for column in columns if column is not columns[k]]
        _ = columns[k].order, columns[k].present, columns[k].rows()  # not by two threads
        tests = on_threads(one_factor_tests, factors, n_jobs, 16.0 * n * len(factors))
        two = _together(columns, k, found)
    facts = TableFacts(n, method, [float(share) for share in shares], bool(everyone))
    return Description(
        facts, summaries, found, None if k is None else columns[k].name, tests, two,
        _sample(columns, k, places),
    )  # fmt: skip


def one_factor(table, factor, target, *, types=None):
    """Test whether a target goes with one column.

    A quantity and groups: Welch's t and Mann-Whitney's U (two groups), analysis of variance,
    Kruskal-Wallis. Two quantities: Pearson's and Spearman's correlation. Groups twice: χ², the
    likelihood ratio and Fisher's exact test (four cells, at most 1,000 rows).

    Parameters
    ----------
    table : DataFrame, Table, mapping or array-like of shape (n_samples, n_features)
        Of pandas, polars, Arrow or NumPy; a mapping of names to columns.
    factor : str or int
        A column by name or number.
    target : str, int or array-like of shape (n_samples,)
        A column by name or number, or values beside the table.
    types : dict, default=None
        Types of columns by name, as in `describe`.

    Returns
    -------
    analysis : object
        Prints as a table; ``to_dict()`` has ``effect`` and ``tests``.

    Examples
    --------
    >>> from fastml.explore import one_factor
    >>> table = {"group": ["a", "a", "a", "b", "b", "b"], "y": [1.0, 2.0, 3.0, 7.0, 8.0, 9.5]}
    >>> one_factor(table, "group", "y")
    y by group: 6 rows, correlation_ratio 0.9576
    <BLANKLINE>
    test                     statistic     df         p
    Welch's t                   -6.645  3.806  0.003169
    analysis of variance, F      44.16   1, 4  0.002662
    Kruskal-Wallis, H            3.857      1   0.04953
    Mann-Whitney, U                  0          0.08086
    """
    columns, k, _ = _columns(table, target, types, None, only=[factor])
    place = _find(factor, [column.name for column in columns], "factor")
    return FactorTests(on_threads(one_factor_tests, [(columns[place], columns[k])], 1, 0.0)[0])


def two_factor(table, factors, target, *, types=None, bins=4):
    """Test whether a target goes with two columns, and with their combination.

    A quantity: two-way analysis of variance, sums of squares of type II. Classes: likelihood ratios
    G = 2 n I(target; a ∣ b) of each factor where the other is known, and of both.

    Parameters
    ----------
    table : DataFrame, Table, mapping or array-like of shape (n_samples, n_features)
        Of pandas, polars, Arrow or NumPy; a mapping of names to columns.
    factors : pair of str or int
        Columns by name or number.
    target : str, int or array-like of shape (n_samples,)
        A column by name or number, or values beside the table.
    types : dict, default=None
        Types of columns by name, as in `describe`.
    bins : int, default=4
        Into how many bins of equal counts a factor goes that is a quantity.

    Returns
    -------
    analysis : object
        Prints as a table; ``to_dict()`` has ``rows``, and ``means`` and ``counts`` by cell.

    Examples
    --------
    >>> from fastml.explore import two_factor
    >>> table = {"a": list("xxxxyyyy"), "b": list("uuvvuuvv"),
    ...          "y": [1.0, 1.5, 2.0, 2.5, 5.0, 5.5, 9.0, 9.5]}
    >>> two_factor(table, ["a", "b"], "y")
    y by a and b: 8 rows
    <BLANKLINE>
    what   sum_of_squares    share  statistic  df          p
    a                60.5   0.7756        484   1  2.526e-05
    b                12.5   0.1603        100   1   0.000562
    a × b             4.5  0.05769         36   1   0.003883
    rest              0.5  0.00641              4
    """
    if isinstance(factors, str) or len(factors) != 2:
        raise ValueError(f"factors must be two columns, got {factors!r}")
    if not isinstance(bins, Integral) or not 2 <= int(bins) <= 64:
        raise ValueError(f"bins must be a whole number from 2 to 64, got {bins!r}")
    columns, k, _ = _columns(table, target, types, None, only=list(factors))
    names = [column.name for column in columns]
    a, b = (columns[_find(factor, names, "factors")] for factor in factors)
    return FactorTests(on_threads(two_factor_tests, [(a, b, columns[k], int(bins))], 1, 0.0)[0])


# ---------------------------------------------------------------------------- pieces


def _check_shares(quantiles):
    shares = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if shares.ndim != 1 or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise ValueError(f"quantiles must be numbers from 0 to 1, got {quantiles!r}")
    return shares


def _find(which, names, parameter: str) -> int:
    if isinstance(which, str):
        if which in names:
            return names.index(which)
        raise ValueError(
            f"{parameter} {which!r} is no column of the table: {', '.join(names[:20])}"
        )
    if isinstance(which, Integral) and not isinstance(which, bool):
        if str(which) in names:
            return names.index(str(which))
        place = int(which)
        if -len(names) <= place < len(names):
            return place % len(names)
    raise ValueError(f"{parameter} must be the name or number of a column, got {which!r}")


def _columns(table, target, types, n_jobs, only=None):
    """(columns, place of the target, rows); with ``only``, others than those stay unread."""
    names, natives, n = read_table(table)
    k = None
    if target is not None:
        if isinstance(target, str | Real):
            k = _find(target, names, "target")
        else:
            name = str(getattr(target, "name", None) or "target")
            while name in names:
                name += "'"
            values = target if hasattr(target, "dtype") or hasattr(target, "type") else (
                np.asarray(target, dtype=object))  # fmt: skip
            if len(values) != n:
                raise ValueError(
                    f"target must have {n} values, as table has rows, got {len(values)}"
                )
            names, natives, k = [*names, name], [*natives, values], len(names)
    wanted = {} if types is None else dict(types)
    if unknown := set(map(str, wanted)) - set(names):
        raise ValueError(f"types names no column of the table: {sorted(unknown)[0]!r}")
    wanted = {str(name): value for name, value in wanted.items()}
    if only is not None:
        kept = sorted({_find(which, names, "factor") for which in only} | {k})
        names = [names[p] for p in kept]
        natives, k = [natives[p] for p in kept], kept.index(k)
    raws = [raw_column(native) for native in natives]  # hashing has threads of its own
    columns: list[TableColumn] = on_threads(
        lambda name, raw: coded_column(name, raw, wanted.get(name)),
        zip(names, raws), n_jobs, 64.0 * n * len(names),
    )  # fmt: skip
    return columns, k, n


def _given_places(columns, types):
    """As `mark_places`, but a type that was given stays."""
    before = [column.type for column in columns]
    found = mark_places(columns)
    for column, kind in zip(columns, before):
        if column.name in types:
            column.type = kind
    return found


def _together(columns, k, found) -> list[dict]:
    """Two factors at a time, of those that tell most of the target."""
    information = found.get("mutual_information")
    if information is None:
        return []
    strength = np.nan_to_num(information[k], nan=-1.0)
    strength[k] = -1.0
    best = [int(j) for j in np.argsort(-strength, kind="stable") if strength[j] >= 0.0]
    jobs = [
        (columns[i], columns[j], columns[k], 4) for i, j in combinations(best[:TESTED_TOGETHER], 2)
    ]
    return on_threads(two_factor_tests, jobs, 1, 0.0)


def _sample(columns, k, places) -> dict:
    """Rows at equal steps, for plots of two columns: numbers, or codes and what they stand for."""
    n = columns[0].n_rows
    rows = np.unique(np.linspace(0, n - 1, min(n, MOST_DRAWN)).astype(np.intp))
    numbers, codes, labels = {}, {}, {}
    for j, column in enumerate(columns):
        if (places is not None and j in places) or (k is not None and column.is_quantity):
            numbers[column.name] = column.numbers_and_nan[column.codes[rows]]
        elif k is not None:
            own = column.codes[rows].astype(np.int64)
            codes[column.name] = np.where(own < len(column.levels), own, -1)
            used = np.unique(own[own < len(column.levels)]).tolist()
            labels[column.name] = {level: str(column.label(level)) for level in used}
    where = None if places is None else [columns[p].name for p in places]
    return {"numbers": numbers, "codes": codes, "labels": labels, "places": where}
