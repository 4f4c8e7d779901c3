"""scikit-learn's classes, their methods replaced in place.

The class stays the same object with the same bases, so that ``isinstance``, subclasses, ``clone``,
tags, diagrams and every earlier import are as before. A method asks whether fastml can do the call;
else, or if fastml raises, the original runs.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from time import perf_counter
from types import CodeType
from typing import Any

import numpy as np
from sklearn import get_config

from fastml._sklearn import AvailableIfDescriptor
from fastml.accelerate import _report
from fastml.accelerate._names import CONDITIONS
from fastml.accelerate._slots import (
    HANDED_ON,
    KEPT,
    Slot,
    clear,
    drop,
    holds_objects,
    holds_ours,
    is_fitted,
    slot_of,
    slots,
)

FITS = ("fit", "fit_predict", "fit_transform", "partial_fit")
USES = (
    "aic", "apply", "bic", "decision_function", "decision_path", "inverse_transform", "kneighbors",
    "kneighbors_graph", "predict", "predict_joint_log_proba", "predict_log_proba", "predict_proba",
    "radius_neighbors", "radius_neighbors_graph", "sample", "score", "score_samples",
    "staged_decision_function", "staged_predict", "staged_predict_proba", "staged_score",
    "transform",
)  # fmt: skip
"""Methods that are replaced, where scikit-learn's class has them."""

GENERAL = ("sklearn.base", "sklearn.utils")
"""Modules whose mixins only call the class's own methods: not replaced."""

ALONE = ("ensemble.GradientBoosting", "ensemble.HistGradientBoosting", "ensemble.IsolationForest")
"""Classes that write into the trees inside them: where they run on scikit-learn, so do these."""

_CALLS_BESIDE = {"transform": ("get_feature_names_out",)}
"""Method → what scikit-learn's wrapper around it calls."""


_SCALARS = frozenset((bool, int, float, str, type(None)))


def remember(known: set[tuple], key: tuple) -> None:
    if len(known) > 1000:
        known.clear()
    known.add(key)


def found_valid() -> None:
    """In the place of a twin's check of its parameters, once they are known to be valid."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.busy: set[int] = set()  # models inside one of scikit-learn's methods
        self.alone = 0  # > 0: nothing is served


_local = _Local()


class Served:
    """One class of scikit-learn and its counterpart."""

    def __init__(self, path: str, cls: type):
        self.path, self.cls = path, cls
        self.refused = ""
        self.converted = False
        self.on = True  # False from `stop` on: methods that somebody has kept are scikit-learn's
        self.replaced: dict[str, Any] = {}  # name → what the class itself had; None if inherited
        self.put: dict[str, Any] = {}  # name → what stands there now
        self._judged: dict[tuple[type, str], str] = {}
        self._valid: set[tuple] = set()  # parameters that scikit-learn has found valid
        self._proven: set[tuple] = set()  # those with which fastml has fitted too
        self.alone = path.startswith(ALONE)

    @cached_property
    def twin_class(self) -> type:
        module, _, name = self.path.rpartition(".")
        return getattr(importlib.import_module(f"fastml.{module}"), name)

    @cached_property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.cls._get_param_names())  # type: ignore[attr-defined]

    @cached_property
    def has_constraints(self) -> bool:
        return hasattr(self.cls, "_parameter_constraints")  # LabelEncoder has none to check

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        return tuple(self.parameters)

    @cached_property
    def documented(self) -> frozenset[str]:
        """scikit-learn's public attributes, as its docstring lists them."""
        _, _, section = (self.cls.__doc__ or "").partition("Attributes\n    ----------\n")
        section = re.split(r"\n    -{3,}\n", section)[0]
        return frozenset(re.findall(r"^    (\w+) ?:", section, re.MULTILINE))

    def new_twin(self, model: Any) -> Any:
        theirs = model.__dict__
        twin = self.twin_class(
            **{name: theirs[name] if name in theirs else getattr(model, name)
               for name in self.parameters}
        )  # fmt: skip
        for name in HANDED_ON:
            if name in theirs:
                twin.__dict__[name] = theirs[name]
        return twin

    def hand_settings(self, model: Any, twin: Any) -> None:
        """Parameters may have been set since the fit; so may the container of the output."""
        theirs, ours = model.__dict__, twin.__dict__
        for name in self.parameters:
            ours[name] = theirs[name] if name in theirs else getattr(model, name)
        for name in HANDED_ON:
            if name in theirs:
                ours[name] = theirs[name]
            else:
                ours.pop(name, None)  # another thread may have

    def check_parameters(self, model: Any) -> tuple | None:
        """Raise scikit-learn's error of a parameter: fastml may know values that it does not.

        Returns the parameters in a form that can be looked up, None if they are not plain values.
        """
        if not self.has_constraints:
            return None
        theirs = model.__dict__
        values = tuple([theirs.get(name) for name in self.ordered])
        types = tuple(map(type, values))  # 1, 1.0 and True are equal
        if not _SCALARS.issuperset(types):
            model._validate_params()
            return None
        key = values, types
        if key not in self._valid:
            model._validate_params()
            remember(self._valid, key)
        return key

    def why_not(self, model: Any, method: str) -> str:
        """Why a method cannot be served, whatever its arguments; empty if it can."""
        if self.refused:
            return self.refused
        cls = type(model)
        if cls is not self.cls:
            key = cls, method
            reason = self._judged.get(key)
            if reason is None:
                reason = self._judged[key] = self._why_not_subclass(cls, method)
            if reason:
                return reason
        if "_skl_callbacks" in model.__dict__:
            return "callbacks"
        if get_config()["array_api_dispatch"]:
            return "array_api_dispatch=True"
        return ""

    def _why_not_subclass(self, cls: type, method: str) -> str:
        own = set()
        for base in cls.__mro__[: cls.__mro__.index(self.cls)]:
            own |= {name for name in vars(base) if not name.startswith("__")}
        if nearest(cls) is not self:
            return "another class of the table comes first"
        for name in sorted(own - {method, "_parameter_constraints", "_doc_link_module"}):
            if hasattr(self.cls, name) and name in called_by(self.cls, method):
                return f"{cls.__name__} overrides {name}"
        return ""


_served: dict[type, Served] = {}


def nearest(cls: type) -> Served | None:
    for base in cls.__mro__:
        if base in _served:
            return _served[base]
    return None


@functools.cache
def called_by(cls: type, method: str) -> frozenset[str]:
    """Names of the class that its method, or what that calls, may use."""
    found: set[str] = set()
    todo = [method, *_CALLS_BESIDE.get(method, ())]
    found.update(todo[1:])
    while todo:
        name = todo.pop()
        for base in cls.__mro__:
            for used in names_in(vars(base).get(name)):
                if used not in found and hasattr(cls, used):
                    found.add(used)
                    todo.append(used)
    return frozenset(found - {method})


def names_in(member: Any) -> set[str]:
    """Names that the code of a method or property uses, with those of functions inside it."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, AvailableIfDescriptor):
        member = member.fn
    elif isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    code = getattr(inspect.unwrap(member), "__code__", None) if callable(member) else None
    found, todo = set(), [code] if code is not None else []
    while todo:
        code = todo.pop()
        found.update(code.co_names)
        todo += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


# ---------------------------------------------------------------------------- calls


def plainly(served: Served, original: Callable, model: Any, args: tuple, kwargs: dict) -> Any:
    """scikit-learn's method; what that calls of the same model is scikit-learn's too."""
    key = id(model)
    _local.busy.add(key)
    _local.alone += served.alone
    try:
        return original(model, *args, **kwargs)
    finally:
        _local.alone -= served.alone
        _local.busy.discard(key)


def fit_method(served: Served, name: str, original: Callable) -> Callable:
    """A method that fits."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _local.busy or _local.alone or not served.on:
            return original(self, *args, **kwargs)
        started = perf_counter()
        reason = served.why_not(self, name)
        if not reason:
            result, reason = _fit(served, name, self, args, kwargs)
            if not reason:
                _report.note(served.path, name, _report.OURS, perf_counter() - started)
                return result
        _report.tell(served.path, name, reason)
        slot = slot_of(self)
        if slot is not None:
            if slot.twin is not None:
                slot.complete()
            drop(self)
        started = perf_counter()
        try:
            return plainly(served, original, self, args, kwargs)
        finally:
            seconds = perf_counter() - started
            _report.note(served.path, name, _report.THEIRS, seconds, reason)

    return method


def _fit(served: Served, name: str, model: Any, args: tuple, kwargs: dict) -> tuple[Any, str]:
    """The result, or why there is none."""
    X = args[0] if args else kwargs.get("X")
    for condition in CONDITIONS.get(served.path, ()):
        if condition.test(model, X):
            return None, condition.text
    if not hasattr(served.twin_class, name):
        return None, "fastml's class has no such method"
    attributes = model.__dict__
    for each in attributes:
        if each[:1] == "_" and each not in KEPT and hasattr(served.cls, each):
            return None, f"{each} is replaced in the model"
    slot = slot_of(model)
    twin = None
    if (name == "partial_fit" or attributes.get("warm_start")) and is_fitted(
        attributes, served.parameters
    ):
        reason = _ready(served, slot, model)
        if reason:
            return None, reason
        twin = slot.twin  # type: ignore[union-attr]
        served.hand_settings(model, twin)
    key = None
    if not get_config()["skip_parameter_validation"]:
        key = served.check_parameters(model)
    try:
        if twin is None:
            twin = served.new_twin(model)
        if key in served._proven:
            twin.__dict__["_validate_params"] = found_valid
            try:
                result = getattr(twin, name)(*args, **kwargs)
            finally:
                del twin.__dict__["_validate_params"]
        else:
            result = getattr(twin, name)(*args, **kwargs)
            if key is not None:
                remember(served._proven, key)
        if not served.converted:
            from fastml.convert import to_sklearn

            to_sklearn(twin)
            served.converted = True
    except Exception as error:
        if type(error).__name__ == "NotConvertible":
            served.refused = f"scikit-learn has no model of this kind: {error}"
        return None, f"fastml raised {type(error).__name__}: {_short(error)}"
    _adopt(served, model, twin)
    return (model if result is twin else result), ""


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return lines[0][:120]


def _adopt(served: Served, model: Any, twin: Any) -> None:
    """Give the model its twin's attributes in the place of those of an earlier fit."""
    attributes = model.__dict__
    again = is_fitted(attributes, served.parameters)
    if again:
        exact = type(model) is served.cls
        for name in list(attributes):
            if name in served.parameters or name in KEPT:
                continue
            if name in served.documented or (exact and name.startswith("_")):
                del attributes[name]
    given = {
        name: value
        for name, value in twin.__dict__.items()
        if name in served.documented and not holds_ours(value)
    }
    attributes.update(given)
    slot = Slot(model, twin, given, served.parameters)
    if again and not exact:
        attributes.update(slot.rest())
        slot.size = len(attributes)
    if not served.on:  # switched off during the fit
        slot.complete()
        drop(model)


def _ready(served: Served, slot: Slot | None, model: Any) -> str:
    """Why the slot's twin cannot be used; empty if it can. A changed model goes to scikit-learn."""
    if slot is None:
        return "the model was not fitted by fastml"
    if slot.why_not:
        return slot.why_not
    if slot.twin is None:
        slot.why_not = _take_over(served, slot, model)
        return slot.why_not
    if not slot.unchanged(model.__dict__, served.documented):
        slot.complete()
        slot.twin, slot.why_not = None, "fitted attributes were changed"
        slot.nothing_more()
    return slot.why_not


def _take_over(served: Served, slot: Slot, model: Any) -> str:
    """Make the twin of a model that was loaded or copied; why that cannot be."""
    attributes = model.__dict__
    if not is_fitted(attributes, served.parameters):
        return "the model is not fitted"
    plain = model
    if type(model) is not served.cls:
        plain = object.__new__(served.cls)
        plain.__dict__.update(attributes)
    try:
        from fastml.convert import from_sklearn

        twin = from_sklearn(plain)
    except Exception as error:
        return f"fastml cannot take over the fitted model: {_short(error)}"
    slot.given = {
        name: value
        for name, value in attributes.items()
        if name not in served.parameters and name not in KEPT
    }
    slot.twin, slot.size = twin, len(attributes)
    slot.nothing_more()
    return ""


def use_method(served: Served, name: str, original: Callable) -> Callable:
    """A method of a fitted model."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _local.busy or _local.alone or not served.on:
            return original(self, *args, **kwargs)
        started = perf_counter()
        slot = slot_of(self)
        reason = served.why_not(self, name) or _ready(served, slot, self)
        if not reason:
            twin = slot.twin  # type: ignore[union-attr]
            served.hand_settings(self, twin)
            try:
                result = getattr(twin, name)(*args, **kwargs)
            except Exception as error:
                reason = f"fastml raised {type(error).__name__}: {_short(error)}"
            else:
                _report.note(served.path, name, _report.OURS, perf_counter() - started)
                return self if result is twin else result
        _report.tell(served.path, name, reason)
        started = perf_counter()
        try:
            return plainly(served, original, _stand_in(slot, self), args, kwargs)
        finally:
            seconds = perf_counter() - started
            _report.note(served.path, name, _report.THEIRS, seconds, reason)

    return method


def _stand_in(slot: Slot | None, model: Any) -> Any:
    """The model with all attributes of scikit-learn's, for methods that change none."""
    if slot is None or slot.twin is None or not slot.rest():
        return model
    stand_in = object.__new__(type(model))
    stand_in.__dict__.update(slot.rest())
    stand_in.__dict__.update(model.__dict__)
    return stand_in


def use_property(served: Served, name: str, original: property) -> property:
    """A property that is computed from a fitted model."""

    def fget(self: Any) -> Any:
        slot = slot_of(self)
        if slot is None or slot.twin is None or id(self) in _local.busy or _local.alone:
            return original.fget(self)  # type: ignore[misc]
        if served.why_not(self, name) or _ready(served, slot, self):
            return original.fget(self)  # type: ignore[misc]
        try:
            return getattr(slot.twin, name)
        except Exception:
            return original.fget(_stand_in(slot, self))  # type: ignore[misc]

    return property(fget, original.fset, original.fdel, original.__doc__)


# ---------------------------------------------------------------------------- what is not a call

_NEVER = ("__", "_repr_", "_ipython_", "feature_names_in_", "n_features_in_")


def missing_attribute(self: Any, name: str) -> Any:
    """``__getattr__``: an attribute that scikit-learn's model has is made now."""
    slot = slot_of(self)
    if slot is None or slot.twin is None or name.startswith(_NEVER) or hasattr(type(self), name):
        return object.__getattribute__(self, name)  # raises what there is to raise
    try:
        rest = slot.rest()
    except Exception as error:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from error
    if name not in rest:
        return object.__getattribute__(self, name)
    slot.complete()
    value = rest[name]
    if isinstance(value, np.ndarray) or (holds_objects(value) and not name.startswith("_")):
        # What is inside may be written to from here on, and fastml would not see it.
        slot.twin, slot.why_not = None, f"{name} was handed out, and may have been changed"
        slot.nothing_more()
    return value


def diagram_method(original: Callable) -> Callable:
    """The fitted attributes in a diagram: looked at, not handed out."""

    @functools.wraps(original)
    def _get_fitted_attr_html(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(_stand_in(slot_of(self), self), *args, **kwargs)

    return _get_fitted_attr_html


def state_method(original: Callable) -> Callable:
    @functools.wraps(original)
    def __getstate__(self: Any) -> Any:
        state = original(self)
        slot = slot_of(self)
        if slot is not None and slot.twin is not None and isinstance(state, dict):
            for name, value in slot.rest().items():
                state.setdefault(name, value)
        return state

    return __getstate__


def set_state_method(served: Served, original: Callable) -> Callable:
    @functools.wraps(original)
    def __setstate__(self: Any, state: Any) -> None:
        original(self, state)
        if is_fitted(self.__dict__, served.parameters):
            Slot(self, None, {}, served.parameters)

    return __setstate__


# ---------------------------------------------------------------------------- in and out


def serve(path: str, cls: type) -> Served:
    """Replace the methods of a class of scikit-learn."""
    served = _served[cls] = Served(path, cls)
    for name in (*FITS, *USES):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is None or owner.__module__.startswith(GENERAL):
            continue
        member = original_of(owner, name)
        make = fit_method if name in FITS else use_method
        if isinstance(member, AvailableIfDescriptor):
            inner = make(served, name, member.fn)
            check = check_of_twin(served, member.check)
            replace(served, name, AvailableIfDescriptor(inner, check, member.attribute_name))
        elif inspect.isfunction(member):
            replace(served, name, make(served, name, member))
    importances = "feature_importances_"
    if isinstance(inspect.getattr_static(cls, importances, None), property):
        own = use_property(served, importances, original_of(cls, importances))
        replace(served, importances, own)
    diagram = "_get_fitted_attr_html"
    if hasattr(cls, diagram):
        replace(served, diagram, diagram_method(original_of(cls, diagram)))
    replace(served, "__getattr__", missing_attribute)
    get, put = (original_of(cls, name) for name in ("__getstate__", "__setstate__"))
    replace(served, "__getstate__", state_method(get))
    replace(served, "__setstate__", set_state_method(served, put))
    return served


def check_of_twin(served: Served, check: Callable) -> Callable:
    """Whether a method is there, asked of fastml's model: scikit-learn's parts need not be made."""

    def is_there(self: Any) -> Any:
        slot = slot_of(self)
        if slot is not None and slot.twin is not None:
            served.hand_settings(self, slot.twin)
            try:
                return check(slot.twin)
            except AttributeError as error:
                if error.obj is not slot.twin:  # a part of it has no such method
                    raise
        return check(self)

    return is_there


def original_of(cls: type, name: str) -> Any:
    """The member of a class as it is without acceleration."""
    for base in cls.__mro__:
        served = _served.get(base)
        own: Mapping[str, Any] = vars(base)
        if served is not None and name in served.replaced:
            own = served.replaced
        if own.get(name) is not None:
            return own[name]
    raise AttributeError(name)


def replace(served: Served, name: str, new: Any) -> None:
    served.replaced[name], served.put[name] = vars(served.cls).get(name), new
    setattr(served.cls, name, new)


def is_served(cls: type) -> bool:
    return cls in _served


def stop() -> None:
    """Give all classes their own methods back; models keep what scikit-learn needs of them."""
    problems = []
    for slot in slots():
        if slot.twin is not None and slot.model() is not None:
            try:
                slot.complete()
            except Exception as error:
                problems.append(f"{type(slot.model()).__name__}: {error}")
    for served in _served.values():
        served.on = False
        for name, old in served.replaced.items():
            if vars(served.cls).get(name) is not served.put[name]:
                continue  # replaced by somebody else since, or put back
            if old is None:
                delattr(served.cls, name)
            else:
                setattr(served.cls, name, old)
    _served.clear()
    called_by.cache_clear()
    clear()
    if problems:
        raise RuntimeError(f"models that only fastml can use: {'; '.join(problems)}")


def ran(model: Any) -> str:
    """``"fastml"`` if a fastml model stands behind the model, else ``"scikit-learn"``."""
    slot = slot_of(model)
    if slot is not None and slot.twin is None:  # loaded or copied: as the next call would
        served = nearest(type(model))
        if served is not None:
            _ready(served, slot, model)
    return _report.OURS if slot is not None and slot.twin is not None else _report.THEIRS
