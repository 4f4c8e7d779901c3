"""How many threads to use, and how to cut work into chunks.

The number of threads is the smallest of: ``n_jobs``, the limit set by `set_num_threads` or
`thread_limit`, Numba's mask, the CPU affinity, the container's CPU quota, one inside a joblib
thread worker, and what the amount of work is worth. Chunks depend on the size of the problem only:
that is what makes results independent of the number of threads.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPERATIONS_PER_THREAD = 1 << 18
"""A further thread must have this many multiply-adds to do (about 0.1 ms) to be worth its start."""

_default_limit: int | None = None
_context_limit: contextvars.ContextVar[int | None] = contextvars.ContextVar(
    "fastml_thread_limit", default=None
)


def set_num_threads(n: int | None) -> None:
    """Limit every later call in this process to ``n`` threads; None lifts the limit.

    Examples
    --------
    >>> import fastml
    >>> fastml.set_num_threads(2)
    >>> fastml.set_num_threads(None)
    """
    global _default_limit
    _default_limit = None if n is None else _check_count(n)


@contextlib.contextmanager
def thread_limit(n: int) -> Iterator[None]:
    """Limit the calls made inside the ``with`` block, in this Python thread, to ``n`` threads.

    Examples
    --------
    >>> import fastml
    >>> with fastml.thread_limit(1):
    ...     pass
    """
    token = _context_limit.set(_check_count(n))
    try:
        yield
    finally:
        _context_limit.reset(token)


Result = TypeVar("Result")


def interruptible(
    function: Callable[..., Result], *arguments, stop: NDArray | None = None, **options
) -> Result:
    """``function(*arguments, **options)`` on a thread of its own, so that Ctrl-C is seen meanwhile.

    For long calls that release the GIL. ``stop`` is an array that the function watches: Ctrl-C
    writes 1 to it and waits for the function. Without it (LAPACK) the call runs to its end unseen.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, **options)
    outcome: list = []

    def work():
        try:
            outcome.append((function(*arguments, **options), None))
        except BaseException as error:
            outcome.append((None, error))

    worker = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(0.1)
    except BaseException:
        if stop is not None:
            stop[0] = 1
            worker.join()
        raise
    found, error = outcome[0]
    if error is not None:
        raise error
    return found


def _check_count(n: int) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"the number of threads must be an int, got {n!r}")
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, got {n}")
    return int(n)


def effective_n_threads(n_jobs: int | None, work: float | None = None) -> int:
    """Threads to use for ``n_jobs`` on ``work`` multiply-adds (None: enough for all).

    ``None`` and ``-1`` mean all cores that this process may use, ``-2`` all but one, and so on.
    """
    if work is not None and work < 2 * OPERATIONS_PER_THREAD:
        _check_n_jobs(n_jobs)
        return 1
    available = min(limits().values())
    wanted = _check_n_jobs(n_jobs)
    if wanted is None:
        threads = available
    elif wanted < 0:
        threads = max(1, available + 1 + wanted)
    else:
        threads = min(wanted, available)
    if work is not None:
        threads = min(threads, max(1, int(work // OPERATIONS_PER_THREAD)))
    return threads


def _check_n_jobs(n_jobs: int | None) -> int | None:
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__"):
        raise TypeError(f"n_jobs must be an int or None, got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use 1 for serial or -1 for all cores")
    return int(n_jobs)


def limits() -> dict[str, int]:
    """Every limit that applies now, by name; the smallest decides (shown by ``fastml info``)."""
    from fastml._jit import numba_thread_mask

    found = {"Numba's thread mask": numba_thread_mask()}
    if hasattr(os, "sched_getaffinity"):
        found["CPU affinity"] = len(os.sched_getaffinity(0))
    else:
        found["cores"] = os.cpu_count() or 1
    if (quota := cgroup_quota()) is not None:
        found["container CPU quota"] = quota
    if _default_limit is not None:
        found["fastml.set_num_threads"] = _default_limit
    if (limit := _context_limit.get()) is not None:
        found["fastml.thread_limit"] = limit
    if _in_joblib_thread():
        found["joblib thread worker"] = 1
    return found


@functools.cache
def cgroup_quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")):
    """CPUs that the container may use, rounded up, or None without a quota (cgroup v2, then v1)."""
    folders = [root]
    with contextlib.suppress(OSError):
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                folders.append(root / path.lstrip("/"))
            elif "cpu" in controllers.split(","):
                folders += [root / "cpu", root / "cpu" / path.lstrip("/")]
    quotas = []
    for folder in folders:
        with contextlib.suppress(OSError, ValueError):
            quota, period = (folder / "cpu.max").read_text().split()
            if quota != "max":
                quotas.append(int(quota) / int(period))
        with contextlib.suppress(OSError, ValueError):
            allowed = int((folder / "cpu.cfs_quota_us").read_text())
            if allowed > 0:
                quotas.append(allowed / int((folder / "cpu.cfs_period_us").read_text()))
    return max(1, -int(-min(quotas) // 1)) if quotas else None


def _in_joblib_thread() -> bool:
    """Whether this is a worker of joblib's threading backend: its siblings have the other cores.

    Process workers need no rule of ours: joblib sets NUMBA_NUM_THREADS in their environment.
    """
    if threading.current_thread() is threading.main_thread():
        return False
    from joblib.parallel import get_active_backend

    return bool(getattr(get_active_backend()[0], "nesting_level", 0))


def chunk_rows(n_rows: int, operations_per_row: float, *, at_least: int = 1) -> int:
    """Rows per chunk: about 2^18 multiply-adds each, at least 1 chunk and at most 1024 of them.

    A function of the problem's size alone, never of the number of threads.
    """
    rows = int(OPERATIONS_PER_THREAD // max(operations_per_row, 1.0))
    return max(1, at_least, rows, -(-n_rows // 1024))


class _BlasHold:
    """Counts the users of one-threaded BLAS: the first sets the limit, the last lifts it.

    threadpoolctl's own contexts restore what they found; two Python threads that overlap could
    leave BLAS at one thread for good.
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.users = 0
        self.limiter = None

    def forget(self):
        self.__init__()


_blas = _BlasHold()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.forget)


@functools.cache
def _blas_controller():
    import numpy as np  # noqa: F401  (its BLAS and SciPy's must be loaded to be found)
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread: around kernels that call it per tile, serial twins included.

    GEMM on one thread gives the same bits however many of our threads call it.
    """
    with _blas.lock:
        if _blas.users == 0:
            _take_blas_over()
            _blas.limiter = _blas_controller().limit(limits=1)
        _blas.users += 1
    try:
        yield
    finally:
        with _blas.lock:
            _blas.users -= 1
            if _blas.users == 0:
                _take_blas_over()  # from the thread that was the first user
                _blas.limiter.restore_original_limits()
                _blas.limiter = None
                _take_blas_over()


def _take_blas_over() -> None:
    """Let any thread set the limit: threadpoolctl 3.8 ignores all but the first that did so."""
    for library in _blas_controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
