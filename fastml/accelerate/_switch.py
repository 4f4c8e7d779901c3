"""On and off: which names are served, and what happens as scikit-learn's modules are imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import inspect
import os
import sys
import threading
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from fastml.accelerate import _report
from fastml.accelerate._names import CLASSES, FUNCTIONS, NOT_SERVED, TRIGGERS, names

VARIABLE = "FASTML_ACCELERATE"
MODES = ("silent", "warn", "raise")

_lock = threading.RLock()
_wanted: frozenset[str] | None = None  # None: off


def _new_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def _listed(words: Iterable[str] | str | None, argument: str) -> set[str]:
    """Names of the table that match: ``cluster``, ``KMeans``, ``cluster.KMeans``."""
    known = names()
    found: set[str] = set()
    for word in (words.split(",") if isinstance(words, str) else words) or ():
        word = word.strip().removeprefix("sklearn.")
        matched = [name for name in known if f".{word}." in f".{name}."]
        if not matched:
            raise ValueError(f"{argument}: fastml and scikit-learn have no {word!r} in common")
        found.update(matched)
    return found


def install(
    *,
    only: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
    on_fallback: str = "silent",
) -> None:
    """Serve scikit-learn's classes and functions by fastml, from now on, in this process.

    Parameters
    ----------
    only : names, default=None
        What to serve: classes, functions or modules (``"KMeans"``, ``"cluster"``,
        ``"metrics.roc_auc_score"``), a list or separated by commas. All by default.
    exclude : names, default=None
        What not to serve.
    on_fallback : {"silent", "warn", "raise"}, default="silent"
        What to do where scikit-learn has to run: nothing, a `FallbackWarning`, or a `FallbackError`
        in the place of the call. The logger ``fastml.accelerate`` is told in any case, at level
        DEBUG.

    Notes
    -----
    Called again, it changes the lists. It does not matter whether scikit-learn was imported before.
    Models that were fitted before stay scikit-learn's.

    Examples
    --------
    >>> import fastml.accelerate
    >>> from sklearn.cluster import KMeans
    >>> with fastml.accelerate.enabled(only="KMeans"):
    ...     model = KMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    ...     fastml.accelerate.ran(model)
    'fastml'
    >>> type(model)
    <class 'sklearn.cluster._kmeans.KMeans'>
    """
    global _wanted
    if on_fallback not in MODES:
        raise ValueError(f"on_fallback must be one of {MODES}, got {on_fallback!r}")
    chosen = _listed(only, "only") if only is not None else set(names())
    chosen = chosen - _listed(exclude, "exclude") - set(NOT_SERVED)
    with _lock:
        if _wanted is not None and _wanted - chosen:
            uninstall()
        _wanted = frozenset(chosen)
        _report.on_fallback = on_fallback
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        for trigger, module in TRIGGERS.items():
            loaded = sys.modules.get(trigger)
            if loaded is not None and not _in_import(loaded):
                serve_module(module)


def uninstall() -> None:
    """Undo `install`: scikit-learn is as it was, and fitted models go on as scikit-learn's."""
    global _wanted
    with _lock:
        _wanted = None
        _report.on_fallback = "silent"
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        for name in ("_functions", "_estimators"):
            part = sys.modules.get(f"fastml.accelerate.{name}")
            if part is not None:
                part.stop()


class enabled:
    """`install` for the length of a ``with`` block; the arguments are those of `install`.

    Inside, acceleration that was on before is replaced; it comes back afterwards.
    """

    def __init__(self, **settings: Any):
        self._settings = settings

    def __enter__(self) -> enabled:
        self._before = (_wanted, _report.on_fallback)
        install(**self._settings)
        return self

    def __exit__(self, *_: object) -> None:
        wanted, on_fallback = self._before
        if wanted is None:
            uninstall()
        else:
            install(only=sorted(wanted), on_fallback=on_fallback)


def is_on() -> bool:
    return _wanted is not None


def install_from_environment() -> None:
    """`install` as FASTML_ACCELERATE says: ``1``, or names; one after a minus is not served."""
    words = [word.strip() for word in os.environ.get(VARIABLE, "").split(",")]
    exclude = [word[1:] for word in words if word.startswith("-")]
    only = [word for word in words if word and not word.startswith("-")]
    switch = only[0].lower() if len(only) == 1 else ""
    if switch in ("0", "no", "off", "false") or not (only or exclude):
        return
    everything = not only or switch in ("1", "yes", "on", "true")
    install(only=None if everything else only, exclude=exclude)


def as_variable(only: str | None, exclude: str | None) -> str:
    """The value of FASTML_ACCELERATE with which child processes serve the same names."""
    words = (only or "1").split(",")
    words += [f"-{word.strip()}" for word in (exclude or "").split(",") if word.strip()]
    return ",".join(words)


# ---------------------------------------------------------------------------- modules


def _in_import(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def serve_module(below: str) -> None:
    """Serve what a module of scikit-learn that was imported has, as far as it is wanted."""
    from fastml.accelerate import _estimators, _functions

    with _lock:
        home = vars(sys.modules[f"sklearn.{below}"])
        for name in CLASSES.get(below, ()):
            cls, path = home.get(name), f"{below}.{name}"
            if path in (_wanted or ()) and inspect.isclass(cls) and not _estimators.is_served(cls):
                _estimators.serve(path, cls)
        for name in FUNCTIONS.get(below, ()):
            function, path = home.get(name), f"{below}.{name}"
            if path in (_wanted or ()) and function is not None:
                _functions.serve(path, function)


class _Loader(importlib.abc.Loader):
    """The loader of a module; afterwards the module's names are served."""

    def __init__(self, loader: Any, below: str):
        self._loader, self._below = loader, below

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        spec = module.__spec__
        if spec is not None and spec.loader is self:  # as without
            spec.loader = module.__loader__ = self._loader
        if is_on():
            serve_module(self._below)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder:
    """Finds the modules of the table as Python does, with a loader of ours around theirs."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        below = TRIGGERS.get(name)
        if below is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, below)
        return spec


_FINDER = _Finder()
