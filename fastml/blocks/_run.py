"""Who does the work of a pass: threads of this process."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fastml._threads import effective_n_threads, single_threaded_blas, thread_limit
from fastml.blocks._blocks import Blocks


class BlockTask:
    """What is done with a block; can be sent to another process."""

    def __init__(self, blocks: Blocks, function: Callable, state: tuple):
        self.blocks, self.function, self.state = blocks, function, state

    def __call__(self, number: int) -> Any:
        # Sums of BLAS depend on its threads: one, whoever calls.
        with single_threaded_blas():
            return self.function(self._block(number), *self.state)

    def added(self, number: int, into: Any) -> Any:
        """The block added to a sum of others, None if it is the first."""
        with single_threaded_blas():
            return self.function(self._block(number), *self.state, into)

    def _block(self, number: int) -> Any:
        if getattr(self.function, "reads_if_needed", False):
            return UnreadBlock(self.blocks, number)
        return self.blocks.block(number)


class UnreadBlock:
    """A block that is read when its rows are asked for."""

    def __init__(self, blocks: Blocks, number: int):
        self.number, self.first = number, number * blocks.block_rows
        self._blocks = blocks

    def __getattr__(self, name: str) -> Any:
        if name not in ("X", "y", "weights"):
            raise AttributeError(name)
        vars(self).update(self._blocks.block(self.number)._asdict())
        return vars(self)[name]


class ThreadsExecutor:
    """Blocks on threads of this process: one thread a block, or all for the few there are.

    Parameters
    ----------
    n_jobs : int, default=None
        Threads; None means all cores. Results are the same to the bit for any number.

    Examples
    --------
    >>> import numpy as np
    >>> from fastml.blocks import Blocks, ThreadsExecutor, fit
    >>> from fastml.preprocessing import MaxAbsScaler
    >>> blocks = Blocks.from_npy(np.array([[1.0], [-4.0], [2.0]]))
    >>> fit(MaxAbsScaler(), blocks, executor=ThreadsExecutor(1)).scale_
    array([4.])
    """

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs
        self._pools: dict[tuple[int, int], ThreadPoolExecutor] = {}

    def _pool(self, threads: int) -> ThreadPoolExecutor:
        """Kept from pass to pass: its threads end with the executor. A fork has none of them."""
        key = os.getpid(), threads
        if key not in self._pools:
            self._pools = {key: ThreadPoolExecutor(threads, thread_name_prefix="fastml-blocks")}
        return self._pools[key]

    def __getstate__(self):
        return {"n_jobs": self.n_jobs, "_pools": {}}

    def run(self, task: BlockTask) -> Iterator[Any]:
        """What the task returns for every block, in their order."""
        n_blocks = task.blocks.n_blocks
        threads = effective_n_threads(self.n_jobs)
        if threads == 1 or n_blocks < 2 * threads:
            limit = contextvars.copy_context()
            for number in range(n_blocks):
                yield limit.run(_limited, task, number, threads)
            return
        pool = self._pool(threads)
        waiting: deque[Future] = deque()
        done = False
        try:
            for number in range(n_blocks):
                waiting.append(pool.submit(_limited, task, number, 1))
                if len(waiting) > 2 * threads:  # no more is read ahead
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            done = True
        finally:
            if not done:  # an error, Ctrl-C, or whoever reads has read enough
                pool.shutdown(wait=True, cancel_futures=True)
                self._pools = {}

    def run_sums(self, task: BlockTask) -> Iterator[Any]:
        """Sums of all blocks by `BlockTask.added`, one of each thread."""
        n_blocks = task.blocks.n_blocks
        threads = effective_n_threads(self.n_jobs)
        numbers = _Numbers(n_blocks)
        if threads == 1 or n_blocks < 2 * threads:
            yield contextvars.copy_context().run(_summed, task, numbers, threads)
            return
        pool = self._pool(threads)
        waiting = [pool.submit(_summed, task, numbers, 1) for _ in range(threads)]
        done = False
        try:
            for future in waiting:
                found = future.result()
                if found is not None:
                    yield found
            done = True
        finally:
            numbers.end()
            if not done:
                pool.shutdown(wait=True, cancel_futures=True)
                self._pools = {}


class _Numbers:
    """Numbers of blocks that threads take one by one."""

    def __init__(self, n_blocks: int):
        self.left, self.lock = deque(range(n_blocks)), threading.Lock()

    def take(self) -> int | None:
        with self.lock:
            return self.left.popleft() if self.left else None

    def end(self) -> None:
        with self.lock:
            self.left.clear()


def _limited(task: BlockTask, number: int, threads: int) -> Any:
    with thread_limit(threads):
        return task(number)


def _summed(task: BlockTask, numbers: _Numbers, threads: int) -> Any:
    found = None
    with thread_limit(threads):
        while (number := numbers.take()) is not None:
            found = task.added(number, found)
    return found


def kept_open(executor) -> contextlib.AbstractContextManager:
    """Workers of the executor, if it has some, stay for all passes made inside."""
    return executor if hasattr(executor, "__enter__") else contextlib.nullcontext()


class Runner:
    """Passes over the blocks of one call, counted."""

    def __init__(self, blocks: Blocks, executor=None, progress: bool = False):
        if not isinstance(blocks, Blocks):
            raise TypeError(f"blocks must be a fastml.blocks.Blocks, got {type(blocks).__name__}")
        if executor is None:
            executor = ThreadsExecutor()
        if not hasattr(executor, "run"):
            raise TypeError(f"executor must be one of fastml.blocks, got {executor!r}")
        self.blocks, self.executor, self.progress = blocks, executor, progress
        self.n_passes = 0

    def results(self, function: Callable, state: tuple, name: str) -> Iterator[Any]:
        self.n_passes += 1
        n, task = self.blocks.n_blocks, BlockTask(self.blocks, function, state)
        try:
            for done, found in enumerate(self.executor.run(task)):
                if self.progress:
                    _say(f"\rpass {self.n_passes} ({name}): {_bar(done + 1, n)} {done + 1}/{n}")
                yield found
        finally:
            if self.progress:
                _say("\n")

    def sums(self, function: Callable, state: tuple, name: str) -> Iterator[Any]:
        if not hasattr(self.executor, "run_sums"):  # then a sum is one of one block
            yield from self.results(function, (*state, None), name)
            return
        self.n_passes += 1
        n, task = self.blocks.n_blocks, BlockTask(self.blocks, function, state)
        if self.progress:
            _say(f"\rpass {self.n_passes} ({name}): {_bar(0, n)} 0/{n}")
        try:
            yield from self.executor.run_sums(task)
            if self.progress:
                _say(f"\rpass {self.n_passes} ({name}): {_bar(n, n)} {n}/{n}")
        finally:
            if self.progress:
                _say("\n")


def _bar(done: int, n: int) -> str:
    filled = 20 * done // n
    return "█" * filled + "·" * (20 - filled)


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
