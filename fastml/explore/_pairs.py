"""How two columns go together: five kinds of correlation, rows that lack either left out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from fastml._threads import effective_n_threads, single_threaded_blas
from fastml._validation import kernel_view
from fastml.explore._columns import TableColumn
from fastml.information import mutual_information
from fastml.kernels.explore.levels import ranked_products
from fastml.kernels.explore.pairs import centred_products, group_sums, joint_counts

KINDS = ("pearson", "spearman", "cramers_v", "correlation_ratio", "mutual_information")
ROWS_PER_BLOCK = 1 << 14


def on_threads(function, jobs, n_jobs, work: float) -> list:
    """``function(*job)`` of every job, in their order; numbers may overflow, to no number."""
    jobs = list(jobs)

    def quietly(job):
        with np.errstate(all="ignore"):
            return function(*job)

    threads = min(effective_n_threads(n_jobs, work=work), len(jobs))
    if threads < 2:
        return [quietly(job) for job in jobs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(quietly, jobs))


def correlations(columns: list[TableColumn], pairs, kinds, n_jobs) -> dict[str, NDArray]:
    """Kind → (columns × columns) matrix; NaN where the kind has no meaning, or was not asked for.

    ``correlation_ratio[i, j]`` is that of quantity i among the groups of j.
    """
    d, n = len(columns), columns[0].n_rows
    pairs = [p for p in pairs if not any(columns[k].is_identifier for k in p)]
    found = {kind: np.full((d, d), np.nan) for kind in kinds}
    ordered = [k for k, column in enumerate(columns) if column.has_order]
    of_order = [(i, j) for i, j in pairs if columns[i].has_order and columns[j].has_order]
    on_threads(_prepare, [(column, kinds) for column in columns], n_jobs, 32.0 * n * d)
    if "pearson" in found and of_order:
        found["pearson"] = _pearson(columns, ordered, of_order, n_jobs)
    if "spearman" in found and of_order:
        _fill(found["spearman"], of_order, _spearman(columns, of_order, n_jobs))
    if "cramers_v" in found or "mutual_information" in found:
        tables = on_threads(_joint, [(columns[i], columns[j]) for i, j in pairs], n_jobs,
                            8.0 * n * len(pairs))  # fmt: skip
        if "mutual_information" in found:
            _fill(found["mutual_information"], pairs, [information(t) for t in tables])
            for k, column in enumerate(columns):
                counts = np.bincount(column.groups[0], minlength=column.groups[1] + 1)[:-1]
                if counts.any() and not column.is_identifier:
                    share = counts / counts.sum()
                    found["mutual_information"][k, k] = float(entr(share).sum())
        if "cramers_v" in found:
            both = [(pair, cramers_v(table)) for pair, table in zip(pairs, tables)
                    if columns[pair[0]].is_group and columns[pair[1]].is_group]  # fmt: skip
            _fill(found["cramers_v"], [pair for pair, _ in both], [v for _, v in both])
            _diagonal(
                found["cramers_v"],
                columns,
                [k for k in range(d) if columns[k].is_group and not columns[k].is_identifier],
            )
    if "correlation_ratio" in found:
        _ratios(columns, pairs, found["correlation_ratio"], n_jobs)
    for kind in ("pearson", "spearman"):
        if kind in found:
            _diagonal(found[kind], columns, ordered)
    return found


def _prepare(column: TableColumn, kinds) -> None:
    """Make what pairs need of a column, once."""
    _ = column.groups, column.present
    if column.has_order:
        _ = column.shape, column.numbers_and_nan
        if "spearman" in kinds:
            _ = column.ranks, column.order


def _fill(matrix, pairs, values) -> None:
    for (i, j), value in zip(pairs, values):
        matrix[i, j] = matrix[j, i] = value


def _diagonal(matrix, columns, which) -> None:
    for k in which:
        matrix[k, k] = 1.0 if len(columns[k].levels) > 1 else np.nan


# ---------------------------------------------------------------------------- Pearson


def _pearson(columns, ordered, pairs, n_jobs) -> NDArray:
    """Σ zᵢ zⱼ over rows that have both, from products of blocks of standardised columns."""
    d, n = len(columns), columns[0].n_rows
    place = {k: p for p, k in enumerate(ordered)}
    wanted = sorted({place[j] for _, j in pairs} | {place[i] for i, _ in pairs})
    if len(pairs) < len(ordered):  # all with one
        counts = np.bincount([place[k] for pair in pairs for k in pair], minlength=len(ordered))
        wanted = [int(counts.argmax())]
    lacking = [p for p, k in enumerate(ordered) if not columns[k].complete]

    def block(first, last):
        Z = np.empty((len(ordered), last - first))
        for p, k in enumerate(ordered):
            shape = columns[k].shape
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                Z[p] = (columns[k].block(first, last) - shape["centre"]) / shape["population_std"]
        M = np.ones((len(ordered), last - first)) if lacking else None
        for p in lacking:
            there = Z[p] == Z[p]
            Z[p][~there] = 0.0
            M[p] = there
        if not lacking:
            return (Z @ Z[wanted].T,)
        have = M[lacking].T
        S = Z * Z
        return Z @ Z[wanted].T, Z @ have, S @ have, M @ have, Z.sum(axis=1), S.sum(axis=1)

    blocks = [(first, min(first + ROWS_PER_BLOCK, n)) for first in range(0, n, ROWS_PER_BLOCK)]
    with single_threaded_blas():
        parts = on_threads(block, blocks, n_jobs, 4.0 * n * len(ordered) * len(wanted))
    xy, *sums = (_sum(part) for part in zip(*parts))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = xy / n
        if lacking:
            r = _of_both(xy, sums, wanted, lacking, n)
    r = np.clip(r, -1.0, 1.0)
    found = np.full((d, d), np.nan)
    for i, j in pairs:
        a, b = place[i], place[j]
        a, b = (a, b) if b in wanted else (b, a)
        found[i, j] = found[j, i] = r[a, wanted.index(b)]
    return found


def _of_both(xy, sums, wanted, lacking, n) -> NDArray:
    """Correlations from sums over rows that have both."""
    z_have, zz_have, n_have, z, zz = sums
    d = len(z)

    def among(own, total):
        """[i, j]: the sum over column i where j is there too."""
        matrix = np.repeat(total[:, None], d, axis=1)
        matrix[:, lacking] = own
        return matrix

    size = np.full(d, float(n))
    size[lacking] = [n_have[p, q] for q, p in enumerate(lacking)]
    m = among(n_have, size)
    x, xx = among(z_have, z), among(zz_have, zz)
    y, yy = x.T[:, wanted], xx.T[:, wanted]
    m, x, xx = m[:, wanted], x[:, wanted], xx[:, wanted]
    r = (xy - x * y / m) / np.sqrt((xx - x * x / m) * (yy - y * y / m))
    return np.where(m > 1, r, np.nan)


def _sum(parts) -> NDArray:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


# ---------------------------------------------------------------------------- Spearman


def _spearman(columns, pairs, n_jobs) -> list[float]:
    """Correlations of ranks among the rows that have both."""
    n = columns[0].n_rows
    return on_threads(
        lambda i, j: rank_correlation(columns[i], columns[j]), pairs, n_jobs, 16.0 * n * len(pairs)
    )


def rank_correlation(first: TableColumn, second: TableColumn) -> float:
    """Spearman's."""
    if first.complete and second.complete:
        centre = 0.5 * (first.n_rows + 1.0)
        xx, yy, xy = centred_products(first.ranks, second.ranks, centre)
    else:
        if second.complete:
            first, second = second, first
        if first.complete:
            ranks, n = second.ranks, second.n_present
        else:
            found, n, _ = second.ranks_among(first.present)
            ranks = kernel_view(found)
        xx, yy, xy = ranked_products(first.order, first.starts, ranks, 0.5 * (n + 1.0))
    if not (xx > 0.0 and yy > 0.0):
        return float("nan")
    return float(np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0))


# ---------------------------------------------------------------------------- groups


def _joint(first: TableColumn, second: TableColumn) -> NDArray:
    """Rows by group of both columns, those that lack either left out."""
    (a, n_a), (b, n_b) = first.groups, second.groups
    counts = np.zeros((n_a + 1, n_b + 1), dtype=np.int64)
    joint_counts(a, b, counts)
    return counts[:-1, :-1]


def information(table: NDArray) -> float:
    """Mutual information of a table of counts, in nats; NaN of no rows."""
    return float(mutual_information(table, normalise=True)) if table.any() else float("nan")


def chi_square(table: NDArray) -> tuple[float, int, NDArray]:
    """(χ², degrees of freedom, the table without empty rows and columns)."""
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    if not table.size:
        return float("nan"), 0, table
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    chi2 = float(((table - expected) ** 2 / expected).sum())
    return chi2, (table.shape[0] - 1) * (table.shape[1] - 1), table


def cramers_v(table: NDArray) -> float:
    """√(χ² / (n min(r − 1, c − 1)))."""
    chi2, freedom, table = chi_square(table)
    if freedom < 1:
        return float("nan")
    return float(np.sqrt(min(chi2 / (table.sum() * (min(table.shape) - 1)), 1.0)))


def _ratios(columns, pairs, matrix, n_jobs) -> None:
    """√(squares between groups / all squares), written to [quantity, groups]."""
    jobs = []
    for i, j in pairs:
        if columns[i].is_group != columns[j].is_group:
            quantity, groups = (j, i) if columns[i].is_group else (i, j)
            jobs.append((quantity, groups))
    rows = {i: kernel_view(columns[i].rows()) for i in {quantity for quantity, _ in jobs}}

    def one(i, j):
        groups, n_groups = columns[j].groups
        counts = np.zeros(n_groups + 1, dtype=np.int64)
        sums, squares = np.zeros((2, n_groups + 1))
        centre = columns[i].shape["centre"]
        group_sums(groups, rows[i], centre, counts, sums, squares)
        return correlation_ratio(counts[:-1], sums[:-1], squares[:-1])

    found = on_threads(one, jobs, n_jobs, 8.0 * columns[0].n_rows * len(jobs))
    for (i, j), value in zip(jobs, found):
        matrix[i, j] = value


def correlation_ratio(counts, sums, squares) -> float:
    """η of values by group, from their number, sum and sum of squares about any centre."""
    n, total = counts.sum(), sums.sum()
    if n == 0:
        return float("nan")
    used = counts > 0
    between = (sums[used] ** 2 / counts[used]).sum() - total * total / n
    overall = squares.sum() - total * total / n
    if not overall > 1e-15 * squares.sum():
        return float("nan")
    return float(np.sqrt(np.clip(between / overall, 0.0, 1.0)))
