"""An ensemble is a sequence of its members; work on them side by side."""

from __future__ import annotations

from sklearn.utils.parallel import Parallel, delayed

from fastml._threads import effective_n_threads, single_threaded_blas, thread_limit


class MembersMixin:
    """``len(model)``, ``model[i]`` and iteration, over ``estimators_``."""

    def __len__(self):
        """Number of members."""
        return len(self.estimators_)

    def __getitem__(self, index):
        """A member, or a slice of them."""
        return self.estimators_[index]

    def __iter__(self):
        """The members in the order of their making."""
        return iter(self.estimators_)


def on_threads(function, tasks, n_jobs, verbose=0):
    """``function(*task)`` of every task, in order, on Python threads; a worker uses one core.

    BLAS too is held to one thread, so that results do not depend on ``n_jobs``.
    """
    tasks = list(tasks)
    n_threads = min(effective_n_threads(n_jobs), len(tasks))
    if n_threads == 1:
        for task in tasks:
            yield _on_one_core(function, task)
        return
    run = Parallel(n_threads, backend="threading", return_as="generator", verbose=verbose)
    yield from run(delayed(_on_one_core)(function, task) for task in tasks)


def _on_one_core(function, task):
    with single_threaded_blas(), thread_limit(1):
        return function(*task)
