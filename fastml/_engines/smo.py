"""The dual problem of all support vector machines, and its solution (see `kernels.svm.smo`).

A problem whose kernel matrix fits into the cache is solved at once, with kernel rows as they are
needed. A larger one by rounds: take the variables that violate the optimality conditions most,
solve the small problem between them, and correct v = t - K β of all rows by kernel rows of those
that changed, kept in a cache of bounded size. If that takes long, working sets grow to hold all
support vectors: what is left out is shrunk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastml._engines.gram.sources import DenseSource
from fastml._threads import effective_n_threads, single_threaded_blas
from fastml.kernels.svm.rows import PRECOMPUTED, DotKernel, NormedRows, take_columns, weighted_rows
from fastml.kernels.svm.smo import (
    FAR,
    LazyRows,
    SmoProblems,
    SmoResults,
    lazy_rows,
    smo_steps,
    solve_problems,
    start_v,
)

WHOLE = 8192
SMALL = 2560
"""Up to so many rows a problem is solved at once; above SMALL if its matrix fits the cache."""

WORKING_SET = 1024
KEPT = 0.75
"""Share of a working set that stays for the next round."""

INNER = 0.15
"""A small problem is solved to this share of the gap that the round began with."""

VARIABLES_PER_CALL = 400_000_000
"""Variables looked at between returns to Python: about a second, so that Ctrl-C works."""

MOST_STEPS = 10_000_000
"""Where max_iter=-1 gives up (LIBSVM's limit, for kernels that are not positive semidefinite)."""

MOST_FREE = 1024
"""Up to so many free variables `leap` solves for them at once."""

COLUMNS = 2048
BATCH = 512
"""Kernel rows computed and used at once."""

EARLY = 16
"""Rounds before working sets grow to hold all support vectors."""

ROW_AT_A_TIME = 2.0, 1 / 16
"""A kernel row made alone takes the time of so many made together: this, and that per column."""


@dataclass
class Dual:
    """min ½ β'K β - target'β, lower <= β <= upper, Σ β as at the start.

    Variables number one or two per row; segments meet at ``split``, and with ``grouped`` the sum is
    kept within each of them.
    """

    rows: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    beta: np.ndarray
    split: int
    grouped: bool = False

    @property
    def doubled(self) -> bool:
        return self.target.size > self.rows.size


@dataclass
class Solution:
    """β, v = target - K β, steps taken, whether the gap came below tol, and the gap."""

    beta: np.ndarray
    v: np.ndarray
    steps: int
    converged: bool
    gap: float


def steps_per_call(n_variables: int) -> int:
    return max(1000, VARIABLES_PER_CALL // max(1, n_variables))


def step_limit(max_iter: int, n_variables: int) -> int:
    return max_iter if max_iter >= 0 else max(MOST_STEPS, 100 * n_variables)


def patience(n_variables: int) -> int:
    """Steps after which the free variables are solved for by `leap`: SMO alone crawls."""
    return max(100_000, 20 * n_variables)


def solve(source, duals, *, tol, max_iter, cache_bytes, n_jobs, report=None) -> list[Solution]:
    """Solve problems over one ``source`` of kernel values; ``report(steps, gap)`` is
    called, and may end one by returning True."""
    whole = min(WHOLE, max(SMALL, int(np.sqrt(cache_bytes / source.dtype.itemsize))))
    dense = isinstance(source, DenseSource)
    most = whole if len(duals) > 1 else min(whole, SMALL)
    small = [dual for dual in duals if dense and dual.rows.size <= most]
    solutions = {}
    if small:
        found = _solve_small(source, small, tol, max_iter, cache_bytes, n_jobs, report)
        solutions = {id(dual): solution for dual, solution in zip(small, found)}
    for dual in duals:
        if id(dual) not in solutions:
            limit = step_limit(max_iter, dual.target.size)
            at_once = _solve_dense if dense else _solve_whole
            solver = at_once if dual.rows.size <= whole else _solve_by_rounds
            solutions[id(dual)] = solver(source, dual, tol, limit, cache_bytes, n_jobs, report)
    return [solutions[id(dual)] for dual in duals]


def _solve_small(source, duals, tol, max_iter, cache_bytes, n_jobs, report) -> list[Solution]:
    """Many small problems, each serial on a matrix of its own, side by side."""
    sizes = np.array([dual.rows.size for dual in duals])
    starts = np.concatenate([[0], np.cumsum([dual.target.size for dual in duals])])

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(dual, name) for dual in duals])

    problems = SmoProblems(
        chosen=joined("rows"),
        row_starts=np.concatenate([[0], np.cumsum(sizes)]),
        starts=starts,
        splits=np.array([dual.split for dual in duals]),
        grouped=duals[0].grouped,
        target=joined("target"),
        lower=joined("lower"),
        upper=joined("upper"),
    )
    beta, v = joined("beta"), np.empty(starts[-1])
    steps, gaps = np.zeros(sizes.size, dtype=np.intp), np.zeros(sizes.size)
    results = SmoResults(beta, v, steps, gaps)
    largest = int(sizes.max())
    bytes_each = source.dtype.itemsize * largest**2
    count = int(min(sizes.size, 64, max(1, min(cache_bytes, 2**27) // bytes_each)))
    matrices = np.empty((count, largest**2), dtype=source.dtype)
    solutions = []
    for begin in range(0, sizes.size, count):
        end = min(begin + count, sizes.size)
        values = float((sizes[begin:end] ** 2).sum())
        n_threads = effective_n_threads(n_jobs, work=values * source.operations() / 2)
        allowed = steps_per_call(int(starts[end] - starts[begin]))
        allowed = min(allowed, patience(int(sizes[begin:end].max())))
        if max_iter >= 0:
            allowed = min(allowed, max_iter)
        with single_threaded_blas():
            solve_problems(
                begin, end, matrices, source.dot_kernel, source.data, problems, results, tol,
                allowed, n_threads=n_threads if end - begin > 1 else 1,
            )  # fmt: skip
        for p in range(begin, end):
            own = slice(starts[p], starts[p + 1])
            done, gap = int(steps[p]), float(gaps[p])
            found = Solution(beta[own], v[own], done, gap < tol, gap)
            limit = step_limit(max_iter, duals[p].target.size)
            if not found.converged and done < limit:
                n = sizes[p]
                K = matrices[p - begin, : n * n].reshape(n, n)
                source.fill(duals[p].rows, np.arange(n), duals[p].rows, K, n_jobs)
                found = steps_on_matrix(
                    K, duals[p], beta[own], v[own], tol, limit - done, report, steps_before=done
                )
                found.steps += done
            elif report is not None:
                report(done, gap)
            solutions.append(found)
    return solutions


def _solve_whole(source, dual, tol, limit, cache_bytes, n_jobs, report) -> Solution:
    K = source.block(dual.rows, n_jobs)
    v = dual.target.copy()
    beta = dual.beta.copy()
    if beta.any():
        v -= _per_variable(K @ _per_row(beta, dual), dual)
    return steps_on_matrix(K, dual, beta, v, tol, limit, report)


def _solve_dense(source, dual, tol, limit, cache_bytes, n_jobs, report) -> Solution:
    """One problem whose rows of K are computed as they are needed."""
    n = dual.rows.size
    K, diagonal = np.empty((n, n), dtype=source.dtype), np.empty(n)
    beta, v = dual.beta.copy(), np.empty(dual.target.size)
    with single_threaded_blas():
        chosen = np.ascontiguousarray(dual.rows)
        rows = lazy_rows(source.dot_kernel, source.data, chosen, K, diagonal)
        start_v(K, rows, dual.target, beta, dual.doubled, v)
        return steps_on_matrix(K, dual, beta, v, tol, limit, report, rows, diagonal)


def steps_on_matrix(
    K, dual, beta, v, tol, limit, report=None, rows=None, diagonal=None, steps_before=0
) -> Solution:
    """SMO on the matrix K; changes β and v. Where it takes long, with leaps in between."""
    if rows is None:
        rows, diagonal = all_ready(K), K.diagonal().astype(np.float64)
    gains = np.empty(v.size)
    bounds = (dual.lower, dual.upper, dual.split, dual.grouped)
    steps = 0
    while True:
        if steps >= patience(v.size) or steps_before:
            leap(K, dual, beta, v)
        allowed = min(steps_per_call(v.size), limit - steps, patience(v.size))
        done, gap = smo_steps(K, rows, diagonal, *bounds, beta, v, gains, tol, allowed)
        steps += done
        ended = report is not None and report(steps, gap)
        if ended or not gap >= tol or steps >= limit:
            return Solution(beta, v, steps, gap < tol, gap)


def leap(K, dual, beta, v) -> None:
    """Move the free variables to where they are optimal together, or to the first bound.

    Newton's step within the planes of constant sums; along directions that K does not curve, or
    curves downwards, as far as the bounds allow. One at a bound is free no longer, and the rest go
    on. Changes β and v; the objective only falls.
    """
    n = dual.rows.size
    row_of = np.arange(beta.size) % n
    group = (np.arange(beta.size) >= dual.split) & dual.grouped
    for _ in range(beta.size):
        free = np.flatnonzero((beta > dual.lower) & (beta < dual.upper))
        if not 2 <= free.size <= MOST_FREE:
            return
        members = np.stack([group[free] == side for side in (False, True)]).astype(np.float64)
        members = members[members.any(axis=1)]
        means = members.T @ (members / members.sum(axis=1, keepdims=True))
        inside = np.eye(free.size) - means
        H = np.asarray(K[np.ix_(row_of[free], row_of[free])], dtype=np.float64)
        values, vectors = np.linalg.eigh(inside @ H @ inside)
        slopes = vectors.T @ (inside @ v[free])
        curved = values > 1e-11 * max(values[-1], 0.0)
        # Of eigenvalues that are 0 but for rounding, the slopes are rounding as well.
        steep = ~curved & (np.abs(slopes) > 1e-9 * (1.0 + np.abs(v[free]).max()))
        if steep.any():
            direction = inside @ (vectors[:, steep] @ slopes[steep])
            most = np.inf
        else:
            direction = inside @ (vectors[:, curved] @ (slopes[curved] / values[curved]))
            most = 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(direction > 0, dual.upper[free], dual.lower[free])
            room = (bound - beta[free]) / direction
        room[direction == 0.0] = np.inf
        first = int(np.argmin(room))
        length = min(most, room[first])
        if not np.isfinite(length):
            return
        before = beta[free]
        beta[free] = np.clip(beta[free] + length * direction, dual.lower[free], dual.upper[free])
        if length == room[first]:
            beta[free[first]] = bound[first]
        change = np.bincount(row_of[free], weights=beta[free] - before, minlength=n)
        changed = np.flatnonzero(change)
        v -= _per_variable(change[changed] @ K[changed], dual)
        if length == most:
            return


def all_ready(K) -> LazyRows:
    """For a matrix of which all rows are there."""
    nothing = np.empty(0, dtype=K.dtype)
    dot_kernel = DotKernel(PRECOMPUTED, K.dtype.type(0.0), 0.0, 0)
    ready = np.ones(K.shape[0], dtype=bool)
    return LazyRows(ready, dot_kernel, NormedRows(nothing[:, None], nothing), nothing)


def _per_row(values, dual):
    """Sum of the variables of each row."""
    n = dual.rows.size
    return values[:n] + values[n:] if dual.doubled else values


def _per_variable(values, dual):
    return np.tile(values, 2) if dual.doubled else values


# ---------------------------------------------------------------------------- rounds


class RowCache:
    """Kernel rows in a fixed number of slots; the row not used for longest makes room."""

    def __init__(self, source, rows, cache_bytes, at_least, n_jobs):
        n = rows.size
        slots = min(n, max(at_least, int(cache_bytes // (n * source.dtype.itemsize))))
        self.source, self.rows, self.n_jobs = source, rows, n_jobs
        self.values = np.empty((slots, n), dtype=source.dtype)
        self.slot_of = np.full(n, -1)
        self.owner = np.full(slots, -1)
        self.last_use = np.full(slots, -1)
        self.round = 0
        self.room = np.empty(0, dtype=source.dtype)

    def slots(self, wanted):
        """Slots of the rows ``wanted``, computed if they are not there."""
        self.round += 1
        found = self.slot_of[wanted]
        self.last_use[found[found >= 0]] = self.round
        missing = wanted[found < 0]
        if missing.size:
            free = np.argsort(self.last_use, kind="stable")[: missing.size]
            evicted = self.owner[free]
            self.slot_of[evicted[evicted >= 0]] = -1
            self.owner[free] = missing
            self.slot_of[missing] = free
            self.last_use[free] = self.round
            self.source.fill(self.rows[missing], free, self.rows, self.values, self.n_jobs)
        return self.slot_of[wanted]

    def matrix(self, size, most):
        """Room for K of a working set of at most ``most``: new memory is as slow as its values."""
        if self.room.size < size * size:
            self.room = np.empty(0, dtype=self.source.dtype)  # before there is a larger one
            self.room = np.empty(max(size**2, min(2 * size**2, most**2)), self.source.dtype)
        return self.room[: size * size].reshape(size, size)

    def block(self, chosen, most):
        """K of the chosen rows with each other: from the cache, or computed but not kept.

        Single precision is computed faster than its columns are gathered from long rows.
        """
        block = self.matrix(chosen.size, most)
        slots = self.slot_of[chosen]
        gather = (slots >= 0) & (self.source.dtype == np.float64)
        there, missing = np.flatnonzero(gather), np.flatnonzero(~gather)
        n_threads = effective_n_threads(self.n_jobs, work=float(there.size) * chosen.size)
        take_columns(self.values, slots[there], chosen, there, block, n_threads=n_threads)
        if missing.size:
            own = self.rows[chosen]
            self.source.fill(own[missing], missing, own, block, self.n_jobs)
        return block


def _solve_by_rounds(source, dual, tol, limit, cache_bytes, n_jobs, report) -> Solution:
    n, m = dual.rows.size, dual.target.size
    most = int(np.sqrt(cache_bytes / source.dtype.itemsize / 2))
    most = min(n, max(WORKING_SET, most))
    cache = RowCache(source, dual.rows, cache_bytes, BATCH, n_jobs)
    beta, v = dual.beta.copy(), dual.target.copy()
    _correct(v, cache, np.flatnonzero(_per_row(beta, dual)), _per_row(beta, dual), n_jobs)
    steps, working, rounds = 0, np.empty(0, dtype=np.intp), 0
    looked_at = n  # kernel rows of a working set that its solution needs, by the round before
    while True:
        rising = np.where(beta < dual.upper, v, -FAR)
        sinking = np.where(beta > dual.lower, v, FAR)
        gap = _gap(rising, sinking, dual)
        ended = report is not None and report(steps, gap)
        if ended or gap < tol or steps >= limit:
            return Solution(beta, v, steps, gap < tol, gap)
        working = _choose(rising, sinking, beta, working, most if rounds >= EARLY else 0, dual)
        rounds += 1
        variables = np.concatenate([working, working + n]) if m > n else working
        split = working.size if m > n else int(np.searchsorted(working, dual.split))
        small = Dual(
            working,
            v[variables],
            dual.lower[variables],
            dual.upper[variables],
            beta[variables],
            split,
            dual.grouped,
        )
        aim = max(0.5 * tol, INNER * gap)
        most_steps = limit - steps
        if _pays_alone(source, looked_at, working.size):
            most_steps = min(most_steps, patience(variables.size))  # leaps need the whole matrix
            K = cache.matrix(working.size, most)
            found = _solve_lazily(source, dual.rows[working], small, K, aim, most_steps)
        else:
            K = cache.block(working, most)
            found = steps_on_matrix(K, small, small.beta.copy(), small.target, aim, most_steps)
        steps += found.steps
        beta[variables] = found.beta
        change = np.zeros(n)
        change[working] = _per_row(found.beta - small.beta, small)
        changed = np.flatnonzero(change)
        if not changed.size:
            return Solution(beta, v, steps, False, gap)
        looked_at = changed.size if found.steps < patience(variables.size) else n
        _correct(v, cache, changed, change, n_jobs)


def _pays_alone(source, looked_at, size) -> bool:
    """Whether to make the kernel rows of a working set one by one, as they are needed.

    By sizes only: rows made alone and together differ in their last bits.
    """
    if not isinstance(source, DenseSource) or source.dot_kernel.form == PRECOMPUTED:
        return False
    alone, per_column = ROW_AT_A_TIME
    return looked_at * (alone + per_column * source.data.X.shape[1]) < size


def _solve_lazily(source, rows, small, K, tol, limit) -> Solution:
    """The problem between a working set, with kernel rows in K as they are needed."""
    diagonal = np.empty(rows.size)
    with single_threaded_blas():
        lazy = lazy_rows(source.dot_kernel, source.data, rows, K, diagonal)
        beta, v = small.beta.copy(), small.target
        return steps_on_matrix(K, small, beta, v, tol, limit, None, lazy, diagonal)


def _correct(v, cache, changed, change, n_jobs):
    """v -= K' change, by batches of kernel rows."""
    n = change.size
    correction = np.empty(n)
    known = cache.slot_of[changed] >= 0  # those first, before others take their slots
    changed = np.concatenate([changed[known], changed[~known]])
    for start in range(0, changed.size, BATCH):
        batch = changed[start : start + BATCH]
        slots = cache.slots(batch)
        n_threads = effective_n_threads(n_jobs, work=float(slots.size) * n)
        weighted_rows(cache.values, slots, change[batch], COLUMNS, correction, n_threads=n_threads)
        v[:n] -= correction
        if v.size > n:
            v[n:] -= correction


def _gap(rising, sinking, dual) -> float:
    if not dual.grouped:
        return float(rising.max() - sinking.min())
    parts = (slice(0, dual.split), slice(dual.split, None))
    return float(max(rising[p].max() - sinking[p].min() for p in parts))


def _choose(rising, sinking, beta, previous, most, dual):
    """The next working set, as sorted row positions: free variables, other support vectors if
    ``most`` rows have room for them, and the worst violators."""
    n = dual.rows.size
    free = (beta > dual.lower) & (beta < dual.upper)
    used = beta != 0.0
    if dual.doubled:
        free = free[:n] | free[n:]
        used = used[:n] | used[n:]
    size = min(WORKING_SET, n)
    rank = np.full(n, 3)
    rank[previous] = 2
    if most:
        size = min(most, max(size, np.count_nonzero(used) * 4 // 3))
        rank[used] = 1
        rank[free] = 0
    else:
        rank[previous[used[previous]]] = 1
        rank[previous[free[previous]]] = 0
    kept = np.argsort(rank, kind="stable")[: int(KEPT * size)]
    taken = np.zeros(n, dtype=bool)
    taken[kept[rank[kept] < 3]] = True
    n_kept = np.count_nonzero(taken)
    hidden = _per_variable(taken, dual)
    rising = np.where(hidden, -FAR, rising)
    sinking = np.where(hidden, FAR, sinking)
    parts = [slice(0, dual.split), slice(dual.split, None)] if dual.grouped else [slice(None)]
    share = max(1, (size - n_kept) // (2 * len(parts)))
    for part in parts:
        start = part.start or 0
        for score in (-rising[part], sinking[part]):
            count = min(share, score.size)
            best = np.argpartition(score, count - 1)[:count]
            best = best[score[best] < FAR]
            taken[(best + start) % n] = True
    return np.flatnonzero(taken)
