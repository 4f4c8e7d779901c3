"""scikit-learn's functions, served where their check of parameters hands over.

A public function of scikit-learn is a check of parameters around the function proper, which it
keeps in a cell of its closure. That cell is set anew: the public object stays the same, wherever it
was imported to, stored or pickled by name, and the errors about parameters stay scikit-learn's.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from time import perf_counter
from types import CellType
from typing import Any

from sklearn import get_config

from fastml.accelerate import _report
from fastml.accelerate._estimators import _local, _short

PRIVATE = dict.fromkeys(
    ("linear_model.enet_path", "linear_model.lasso_path"),
    frozenset(("X_offset", "X_scale", "check_input", "sample_weight")),
)
"""Arguments that scikit-learn's classes hand over, and that its documentation does not name."""

_replaced: dict[int, tuple[CellType, Callable]] = {}


def cell_of(function: Callable) -> CellType | None:
    """The cell with the function proper, or None if it is not made in scikit-learn's way."""
    while function is not None:
        names = getattr(getattr(function, "__code__", None), "co_freevars", ())
        if "func" in names:
            cells: Any = function.__closure__
            return cells[names.index("func")]
        function = getattr(function, "__wrapped__", None)  # type: ignore[assignment]
    return None


def ours(path: str) -> Callable:
    """fastml's function, without its own check of parameters where that is scikit-learn's."""
    module, _, name = path.rpartition(".")
    function = getattr(importlib.import_module(f"fastml.{module}"), name)
    cell = cell_of(function)
    return function if cell is None else cell.cell_contents


def serve(path: str, function: Callable) -> bool:
    """Serve a function of scikit-learn; False if its cell is not found."""
    cell = cell_of(function)
    if cell is None:
        return False
    if id(cell) not in _replaced:
        original = cell.cell_contents
        _replaced[id(cell)] = cell, original
        cell.cell_contents = function_call(path, original)
    return True


def is_served(function: Callable) -> bool:
    return id(cell_of(function)) in _replaced


def function_call(path: str, original: Callable) -> Callable:
    name = path.rpartition(".")[2]
    found: list[Callable] = []
    private = PRIVATE.get(path, frozenset())

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _local.busy or _local.alone:  # a method of scikit-learn's hands over private arguments
            return original(*args, **kwargs)
        started = perf_counter()
        reason = "array_api_dispatch=True" if get_config()["array_api_dispatch"] else ""
        if not reason and not private.isdisjoint(kwargs):
            reason = "private arguments of scikit-learn's own classes"
        if not reason:
            try:
                if not found:
                    found.append(ours(path))
                result = found[0](*args, **kwargs)
            except Exception as error:
                reason = f"fastml raised {type(error).__name__}: {_short(error)}"
            else:
                _report.note(path, name, _report.OURS, perf_counter() - started)
                return result
        _report.tell(path, name, reason)
        started = perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            _report.note(path, name, _report.THEIRS, perf_counter() - started, reason)

    # What validates looks the signature up at every call.
    call.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return call


def stop() -> None:
    for cell, original in _replaced.values():
        cell.cell_contents = original
    _replaced.clear()
