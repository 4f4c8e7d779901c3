"""Work on blocks of rows, on threads, with one thread of BLAS each.

How rows are cut depends on the shape alone, and partial results are put together in order, so that
nothing depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastml._threads import effective_n_threads, single_threaded_blas

VALUES_AT_ONCE = 1 << 18
"""Values of a block: 2 MB of float64, which stay in the cache between two uses."""

MOST_CHUNKS = 16
"""Chunks with an accumulator of their own."""

SMALL = 1 << 22
"""Multiply-adds below which one thread and the caller's BLAS do."""


def block_rows(n_columns: int) -> int:
    return max(64, VALUES_AT_ONCE // max(n_columns, 1))


def chunks(n_rows: int, step: int) -> list[range]:
    """Starts of blocks of ``step`` rows, in at most `MOST_CHUNKS` ranges."""
    n_blocks = max(1, -(-n_rows // step))
    per_chunk = -(-n_blocks // MOST_CHUNKS)
    return [
        range(first * step, min((first + per_chunk) * step, n_rows), step)
        for first in range(0, n_blocks, per_chunk)
    ]


def on_threads(work: Callable[[Any], Any], tasks: Iterable, operations: float, n_jobs=None) -> list:
    """``[work(task) for task in tasks]``; NumPy releases the GIL in its products."""
    tasks = list(tasks)
    if operations < SMALL:
        effective_n_threads(n_jobs, 0.0)  # refuses a bad n_jobs
        return [work(task) for task in tasks]
    threads = min(effective_n_threads(n_jobs, operations), len(tasks))
    with single_threaded_blas():
        if threads <= 1:
            return [work(task) for task in tasks]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, tasks))
