"""Steps of long fits, as scikit-learn's callbacks see them (`sklearn.callback`).

An estimator with `CallbackSupport` takes callbacks by `set_callbacks`, its progress bar among them.
Without any, a fit pays nothing: `fit_steps` then gives an object whose methods do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Block = TypeVar("Block")


class CallbackSupport:
    """scikit-learn's mixin of that name, loaded when it is first used."""

    def set_callbacks(self, *callbacks):
        """Set the callbacks of later fits, such as scikit-learn's ``ProgressBar()``.

        Parameters
        ----------
        *callbacks : callback instances
            Of the protocol ``sklearn.callback.FitCallback``; none removes those there are. A fit
            that goes by iterations ends early where ``on_fit_task_end`` returns True.

        Returns
        -------
        self : object
        """
        from fastml._sklearn import CallbackSupportMixin

        return CallbackSupportMixin.set_callbacks(self, *callbacks)

    def _init_callback_context(self, **given):
        from fastml._sklearn import CallbackSupportMixin

        return CallbackSupportMixin._init_callback_context(self, **given)


class NoSteps:
    """What a fit without callbacks tells of itself: nothing."""

    told = False

    def begin(self, name: str = "iteration", n_steps: int | None = 0) -> NoSteps:
        return self

    def end(self, attributes: Callable[[], dict] | None = None) -> bool:
        return False


class TaskSteps:
    """A task of a fit and its subtasks, one after the other."""

    told = True

    def __init__(self, estimator, context, X, y):
        self.estimator, self.context = estimator, context
        self.given: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
        context.call_on_fit_task_begin(**self.given)

    def begin(self, name: str = "iteration", n_steps: int | None = 0) -> TaskSteps:
        """A subtask of at most ``n_steps`` subtasks of its own, None: not known."""
        context = self.context.subcontext(task_name=name, max_subtasks=n_steps)
        return TaskSteps(self.estimator, context, self.given["X"], self.given["y"])

    def end(self, attributes: Callable[[], dict] | None = None) -> bool:
        """Whether the steps beside this one are to end here.

        ``attributes`` makes the attributes that a copy of the estimator needs to predict.
        """
        return self.context.call_on_fit_task_end(**self.given, reconstruction_attributes=attributes)


_current: ContextVar[NoSteps | TaskSteps | None] = ContextVar("fastml_steps", default=None)


def current_steps() -> NoSteps | TaskSteps:
    """Those of the fit around this call that `telling` was given: for functions that fits call."""
    return _current.get() or NoSteps()


def told(name: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a loop that goes through all of them, each a step of `current_steps`."""
    steps = current_steps()
    for block in blocks:
        step = steps.begin(name)
        yield block
        step.end()


def ended(name: str, results: Iterable[Block]) -> Iterator[Block]:
    """Results that are made side by side, each a step of `current_steps` once it is there."""
    steps = current_steps()
    for result in results:
        steps.begin(name).end()
        yield result


@contextmanager
def telling(steps: NoSteps | TaskSteps) -> Iterator[None]:
    """Have `current_steps` return these inside the ``with`` block."""
    token = _current.set(steps)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def fit_steps(estimator, n_steps: int | None, X=None, y=None) -> Iterator[NoSteps | TaskSteps]:
    """The task of a whole fit of at most ``n_steps`` steps; to be opened inside ``fit``."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield NoSteps()
        return
    context = estimator._init_callback_context(max_subtasks=n_steps)
    steps = TaskSteps(estimator, context, X, y)
    yield steps
    steps.end()
