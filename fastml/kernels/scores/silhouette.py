"""Sums of Euclidean distances to clusters, and nearest and farthest pairs: silhouette, Dunn index.

Rows come sorted by label, so a cluster is a range of rows, and a run of distances of one row goes
into one sum. Pairs are visited by tiles, a block of TILE_SIDE rows against another, and are never
stored.

`distance_sum_pairs` uses symmetry: each tile serves its rows and its columns. Blocks are paired as
in a round-robin tournament, so that in one round every block is in one pair: no two tasks write to
the same rows, and the order of the rounds fixes the order of the additions.
`silhouette_rows` visits every tile twice but needs memory for the rows at hand only.

In a tile, columns are the SIMD lanes: PANEL_LANES rows are transposed into a panel, two rows and
four features are worked off per pass. Distances of pairs that are close beside their norms come
from differences, so they keep their digits. Callers centre the rows and pad them with zeros to an
even number of features.
"""

import numpy as np

from fastml._jit import kernel, parallel_kernel, prange

TILE_SIDE = 512
PANEL_LANES = 128
CANCELLED = 1e-5
"""Below this share of |x|² + |y|² a squared distance is taken from differences instead."""


# ---------------------------------------------------------------------------- distances of a tile


@kernel
def _load_panel(X, start, stop, panel):
    """Write X[start + lane, f] to panel[f, lane], zero in the lanes beyond ``stop``."""
    n = stop - start
    for f in range(panel.shape[0]):
        for lane in range(n):
            panel[f, lane] = X[start + lane, f]
        for lane in range(n, PANEL_LANES):
            panel[f, lane] = 0.0


@kernel
def _row_squares(X, start, stop, out):
    """Write the squared norms of rows start..stop to ``out``; zero beyond."""
    for i in range(out.shape[0]):
        total = 0.0
        if start + i < stop:
            for f in range(X.shape[1]):
                total += X[start + i, f] * X[start + i, f]
        out[i] = total


@kernel(fast_math=True)
def _squares(a, b, panel, first, second):
    """Write the squared distances of rows a and b to the lanes of the panel to ``first`` and
    ``second``, from differences."""
    for j in range(PANEL_LANES):
        first[j] = 0.0
        second[j] = 0.0
    for f in range(0, panel.shape[0], 2):
        a0, a1, b0, b1 = a[f], a[f + 1], b[f], b[f + 1]
        for j in range(PANEL_LANES):
            y0, y1 = panel[f, j], panel[f + 1, j]
            s, t = a0 - y0, a1 - y1
            first[j] += s * s + t * t
            s, t = b0 - y0, b1 - y1
            second[j] += s * s + t * t


@kernel
def _two_rows(a, b, panel, rows):
    """Write the distances of rows a and b to the lanes of the panel to the lines of ``rows``."""
    _squares(a, b, panel, rows[0], rows[1])
    for r in range(2):
        for j in range(PANEL_LANES):
            rows[r, j] = np.sqrt(rows[r, j])


# ---------------------------------------------------------------------------- sums


@kernel(fast_math=True)
def _sum(row, first, last):
    """Return the sum of row[first:last]."""
    total = 0.0
    for j in range(first, last):
        total += row[j]
    return total


@kernel
def _add_runs(row, start, stop, labels, bounds, sums):
    """Add the distances to rows start..stop to ``sums`` of their labels, a run per cluster."""
    j = start
    while j < stop:
        label = labels[j]
        end = min(bounds[label + 1], stop)
        sums[label] += _sum(row, j - start, end - start)
        j = end


@kernel
def _add_lanes(row, columns):
    """Add ``row`` to ``columns``, lane by lane."""
    for j in range(PANEL_LANES):
        columns[j] += row[j]


@kernel
def _flush_columns(columns, start, stop, label, sums):
    """Add ``columns`` to ``sums`` of rows start..stop for one label, and clear them."""
    for j in range(start, stop):
        sums[j, label] += columns[j - start]
    for j in range(PANEL_LANES):
        columns[j] = 0.0


@kernel(fast_math=True)
def _expanded_squares(a, b, panel, squares, square_a, square_b, first, second):
    """`_squares` as |x|² + |y|² - 2 x·y, written to ``first`` and ``second``: half the work, but
    close pairs lose digits."""
    begin = panel.shape[0] % 4  # two features first where fours do not fit
    if begin == 2:
        a0, a1, b0, b1 = 2.0 * a[0], 2.0 * a[1], 2.0 * b[0], 2.0 * b[1]
        for j in range(PANEL_LANES):
            y0, y1 = panel[0, j], panel[1, j]
            first[j] = (square_a + squares[j]) - (a0 * y0 + a1 * y1)
            second[j] = (square_b + squares[j]) - (b0 * y0 + b1 * y1)
    else:
        for j in range(PANEL_LANES):
            first[j] = square_a + squares[j]
            second[j] = square_b + squares[j]
    for f in range(begin, panel.shape[0], 4):
        a0, a1, a2, a3 = 2.0 * a[f], 2.0 * a[f + 1], 2.0 * a[f + 2], 2.0 * a[f + 3]
        b0, b1, b2, b3 = 2.0 * b[f], 2.0 * b[f + 1], 2.0 * b[f + 2], 2.0 * b[f + 3]
        for j in range(PANEL_LANES):
            y0, y1, y2, y3 = panel[f, j], panel[f + 1, j], panel[f + 2, j], panel[f + 3, j]
            first[j] -= (a0 * y0 + a1 * y1) + (a2 * y2 + a3 * y3)
            second[j] -= (b0 * y0 + b1 * y1) + (b2 * y2 + b3 * y3)


@kernel(fast_math=True)
def _doubtful(row, squares, square):
    """Return whether any squared distance is so small beside |x|² + |y|² that digits are lost."""
    doubtful = 0
    for j in range(PANEL_LANES):
        doubtful += 0 if row[j] >= CANCELLED * (square + squares[j]) else 1
    return doubtful > 0


@kernel(fast_math=True)
def _add_roots(first, second, columns):
    """Add the roots of two rows to ``columns``, lane by lane; return the sum of each row."""
    total_first = 0.0
    total_second = 0.0
    for j in range(PANEL_LANES):
        one = np.sqrt(first[j])
        other = np.sqrt(second[j])
        total_first += one
        total_second += other
        columns[j] += one + other
    return total_first, total_second


@kernel
def _fused_sums(a, b, square_a, square_b, panel, squares, rows, columns):
    """Add the distances of two rows to a whole panel to ``columns``; return the sum of each row.

    ``rows`` is scratch.
    """
    _expanded_squares(a, b, panel, squares, square_a, square_b, rows[0], rows[1])
    if _doubtful(rows[0], squares, square_a) or _doubtful(rows[1], squares, square_b):
        _squares(a, b, panel, rows[0], rows[1])
    return _add_roots(rows[0], rows[1], columns)


@kernel
def _tile_sums(X, i0, i1, j0, j1, labels, bounds, mirrored, row_sums, sums):
    """Add the distances of rows i0..i1 to rows j0..j1 to ``row_sums[i - i0]`` and, if mirrored, to
    ``sums[j]`` as well."""
    panel = np.empty((X.shape[1], PANEL_LANES))
    rows = np.zeros((2, PANEL_LANES))
    columns = np.zeros(PANEL_LANES)
    squares = np.empty(PANEL_LANES)
    own_squares = np.empty(i1 - i0)
    _row_squares(X, i0, i1, own_squares)
    for start in range(j0, j1, PANEL_LANES):
        stop = min(start + PANEL_LANES, j1)
        _load_panel(X, start, stop, panel)
        _row_squares(X, start, stop, squares)
        label = labels[i0]
        target = labels[start]
        one_cluster = stop - start == PANEL_LANES and labels[stop - 1] == target
        for i in range(i0, i1, 2):
            k = min(i + 1, i1 - 1)
            if one_cluster and k > i and labels[k] == label:
                first, second = _fused_sums(
                    X[i],
                    X[k],
                    own_squares[i - i0],
                    own_squares[k - i0],
                    panel,
                    squares,
                    rows,
                    columns,
                )
                row_sums[i - i0, target] += first
                row_sums[k - i0, target] += second
                continue
            _two_rows(X[i], X[k], panel, rows)
            for r in range(min(2, i1 - i)):
                _add_runs(rows[r], start, stop, labels, bounds, row_sums[i + r - i0])
                if labels[i + r] != label:
                    if mirrored:
                        _flush_columns(columns, start, stop, label, sums)
                    label = labels[i + r]
                _add_lanes(rows[r], columns)
        if mirrored:
            _flush_columns(columns, start, stop, label, sums)


@kernel
def opponents(round_number, task, n_blocks):
    """Return the two blocks of a task in a round: Kirkman's circle for an even number of players.

    Round 0 pairs every block with itself.
    """
    if round_number == 0:
        return task, task
    n = n_blocks + n_blocks % 2
    turn = round_number - 1
    if task == 0:
        a, b = n - 1, turn
    else:
        a, b = (turn + task) % (n - 1), (turn - task) % (n - 1)
    return min(a, b), max(a, b)


@kernel
def _pair_task(round_number, task, X, labels, bounds, sums):
    """`distance_sum_pairs` for one task."""
    n_rows = X.shape[0]
    n_blocks = (n_rows + TILE_SIDE - 1) // TILE_SIDE
    a, b = opponents(round_number, task, n_blocks)
    if b >= n_blocks:  # an odd number of blocks: no partner this round
        return
    i0 = a * TILE_SIDE
    i1 = min(i0 + TILE_SIDE, n_rows)
    j0 = b * TILE_SIDE
    j1 = min(j0 + TILE_SIDE, n_rows)
    _tile_sums(X, i0, i1, j0, j1, labels, bounds, a != b, sums[i0:i1], sums)


@parallel_kernel
def distance_sum_pairs(round_number, n_tasks, X, labels, bounds, sums):
    """One round: add distances of row i to rows of cluster c to ``sums[i, c]``.

    Rows are sorted by label; ``bounds[c]`` is the first row of cluster c.
    """
    for task in prange(n_tasks):
        _pair_task(round_number, np.intp(task), X, labels, bounds, sums)


@kernel
def _inside_and_nearest(sums, label, bounds):
    """Return a row's mean distance inside its own cluster and to the nearest other one."""
    nearest = np.inf
    for c in range(sums.shape[0]):
        if c != label:
            mean = sums[c] / (bounds[c + 1] - bounds[c])
            if mean < nearest or mean != mean:
                nearest = mean
    return sums[label] / (bounds[label + 1] - bounds[label] - 1), nearest


@kernel
def _coefficient(inside, nearest, size):
    """Return (b - a) / max(a, b); 0 for a cluster of one row and where a = b = 0."""
    larger = inside if inside > nearest else nearest
    if size == 1 or larger == 0.0:
        return 0.0
    return (nearest - inside) / larger


@kernel
def coefficients(sums, labels, bounds, out):
    """Write the silhouette coefficients of the rows whose sums are given to ``out``."""
    for i in range(sums.shape[0]):
        label = labels[i]
        inside, nearest = _inside_and_nearest(sums[i], label, bounds)
        out[i] = _coefficient(inside, nearest, bounds[label + 1] - bounds[label])


@kernel
def _row_task(block, X, labels, bounds, out):
    """`silhouette_rows` for one block."""
    i0 = block * TILE_SIDE
    i1 = min(i0 + TILE_SIDE, X.shape[0])
    sums = np.zeros((i1 - i0, bounds.shape[0] - 1))
    for j0 in range(0, X.shape[0], TILE_SIDE):
        j1 = min(j0 + TILE_SIDE, X.shape[0])
        _tile_sums(X, i0, i1, j0, j1, labels, bounds, False, sums, sums)
    coefficients(sums, labels[i0:i1], bounds, out[i0:i1])


@parallel_kernel
def silhouette_rows(first, last, X, labels, bounds, out):
    """Write the silhouette coefficients of the rows of blocks first..last to ``out``."""
    for c in prange(last - first):
        _row_task(first + np.intp(c), X, labels, bounds, out)


@kernel
def sums_of_runs(distances, bounds, sums):
    """Write the sums of ``distances[i]`` over the columns of cluster c to ``sums[i, c]``."""
    for i in range(distances.shape[0]):
        for c in range(sums.shape[1]):
            sums[i, c] = _sum(distances[i], bounds[c], bounds[c + 1])


# ---------------------------------------------------------------------------- extremes


@kernel
def _tile_extremes(X, i0, i1, j0, j1, labels, found):
    """Lower found[0] to the least distance between clusters, raise found[1] to the largest inside.

    Over the tile of rows i0..i1 and j0..j1.
    """
    panel = np.empty((X.shape[1], PANEL_LANES))
    rows = np.zeros((2, PANEL_LANES))
    for start in range(j0, j1, PANEL_LANES):
        stop = min(start + PANEL_LANES, j1)
        _load_panel(X, start, stop, panel)
        for i in range(i0, i1, 2):
            _two_rows(X[i], X[min(i + 1, i1 - 1)], panel, rows)
            for r in range(min(2, i1 - i)):
                label = labels[i + r]
                for j in range(start, stop):
                    distance = rows[r, j - start]
                    if labels[j] == label:
                        if distance > found[1]:
                            found[1] = distance
                    elif distance < found[0]:
                        found[0] = distance


@kernel
def _extremes_task(block, X, labels, found):
    """`extremes` for one block."""
    i0 = block * TILE_SIDE
    i1 = min(i0 + TILE_SIDE, X.shape[0])
    for j0 in range(i0, X.shape[0], TILE_SIDE):
        j1 = min(j0 + TILE_SIDE, X.shape[0])
        _tile_extremes(X, i0, i1, j0, j1, labels, found[block])


@parallel_kernel
def extremes(first, last, X, labels, found):
    """Write (least distance between clusters, largest inside one) to ``found[block]``.

    Between the block's rows and all that follow, for blocks first..last; ``found`` must hold
    (inf, 0) before.
    """
    for c in prange(last - first):
        _extremes_task(first + np.intp(c), X, labels, found)
