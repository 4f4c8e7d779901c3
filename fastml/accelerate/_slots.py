"""The fastml model behind a model of scikit-learn.

A model that fastml fitted keeps what users may read, its public attributes, in its ``__dict__``, as
scikit-learn would have put them there. The fastml model stands in a table beside it, so that
copies, pickles and ``vars`` see nothing of it. The rest of scikit-learn's state (trees, private
arrays) is made by `fastml.convert.to_sklearn` when somebody asks: on reading an attribute, on
pickling, and where scikit-learn has to take over.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

import numpy as np

HANDED_ON = ("_sklearn_output_config", "_metadata_request")
"""Private attributes that are settings: the twin gets them too."""

KEPT = frozenset(
    (
        *HANDED_ON,
        "_callback_fit_ctx",
        "_parent_callback_ctx",
        "_skl_callbacks",
        "_skl_callbacks_to_teardown",
        "_sklearn_version",
    )
)
"""Private attributes that no fit has made."""

_table: dict[int, Slot] = {}


class _Converting:
    """One thread makes scikit-learn's attributes at a time; until then, others wait for them."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0  # conversions under way


_converting = _Converting()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_converting.begin)


def slot_of(model: Any) -> Slot | None:
    slot = _table.get(id(model))
    return slot if slot is not None and slot.model() is model else None


def slots() -> list[Slot]:
    return list(_table.values())


def drop(model: Any) -> None:
    _table.pop(id(model), None)


def clear() -> None:
    _table.clear()


def is_fitted(attributes: dict[str, Any], parameters: frozenset[str]) -> bool:
    return any(
        name.endswith("_") and not name.startswith("__") and name not in parameters
        for name in attributes
    )


def holds_ours(value: Any) -> bool:
    """Whether an attribute is, or begins with, an object of fastml."""
    if isinstance(value, np.ndarray):
        return value.dtype == object and value.size > 0 and holds_ours(value.flat[0])
    if isinstance(value, list):
        return len(value) > 0 and holds_ours(value[0])
    if isinstance(value, tuple):
        return any(map(holds_ours, value))
    if isinstance(value, dict):
        return any(map(holds_ours, value.values()))
    return type(value).__module__.partition(".")[0] == "fastml"


def holds_objects(value: Any) -> bool:
    """Whether an attribute is more than numbers, text and arrays of them: it has a state inside."""
    if isinstance(value, np.ndarray):
        return value.dtype == object and value.size > 0 and holds_objects(value.flat[0])
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and holds_objects(value[0])
    simple = (int, float, complex, str, bytes, np.generic, type(None), dict, type)
    return not (isinstance(value, simple) or hasattr(value, "tocsr") or callable(value))


class Slot:
    """What stands behind one model.

    Attributes
    ----------
    model : weak reference to the model of scikit-learn
    twin : the fastml model; None for a model that was loaded or copied and not yet asked
    given : public attributes as they were put into the model
    size : entries of the model's ``__dict__`` when that was last looked through
    """

    __slots__ = ("_rest", "given", "model", "parameters", "size", "twin", "why_not")

    def __init__(self, model: Any, twin: Any, given: dict[str, Any], parameters: frozenset[str]):
        key = id(model)

        def forget(reference: Any) -> None:
            kept = _table.get(key)
            if kept is not None and kept.model is reference:
                _table.pop(key, None)

        self.model = weakref.ref(model, forget)
        self.twin, self.given, self.parameters = twin, given, parameters
        self.size = len(model.__dict__)
        self.why_not = ""
        self._rest: dict[str, Any] | None = None
        _table[key] = self

    def rest(self) -> dict[str, Any]:
        """scikit-learn's attributes that the model was not given; raises `NotConvertible`."""
        if self._rest is None or _converting.depth:
            with _converting.lock:
                if self._rest is None:
                    self._rest = self._converted()
                return self._rest
        return self._rest

    def _converted(self) -> dict[str, Any]:
        if self.twin is None:
            return {}
        from fastml.convert import to_sklearn

        self._rest = {}  # for a twin that holds the model, which is then copied
        _converting.depth += 1
        try:
            state = vars(to_sklearn(self.twin))
        except BaseException:
            self._rest = None
            raise
        finally:
            _converting.depth -= 1
        return {
            name: value
            for name, value in state.items()
            if name not in self.parameters and name not in self.given and name not in KEPT
        }

    def nothing_more(self) -> None:
        """The model has all its attributes."""
        self._rest = {}

    def complete(self) -> None:
        """Give the model all attributes that it would have from scikit-learn."""
        attributes = self.model().__dict__
        for name, value in self.rest().items():
            attributes.setdefault(name, value)
        self.size = len(attributes)

    def unchanged(self, attributes: dict[str, Any], documented: frozenset[str]) -> bool:
        """Whether the model's attributes are those that it was given."""
        for name, value in self.given.items():
            if attributes.get(name) is not value:
                return False
        if len(attributes) != self.size:
            rest = self._rest or ()
            for name in attributes:
                if name in self.given or name in self.parameters or name in KEPT or name in rest:
                    continue
                if name in documented or name.startswith("_"):
                    return False
            self.size = len(attributes)
        return True
