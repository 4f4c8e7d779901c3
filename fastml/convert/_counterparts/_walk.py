"""A fitted estimator, with all that it is made of, as those of the other library."""

from __future__ import annotations

import copy
import importlib
import inspect
import warnings
from typing import Any

import numpy as np

from fastml.convert._counterparts._rules import Rule
from fastml.convert._counterparts._table import RULES
from fastml.convert._errors import NotConvertible

PLAIN = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    np.generic,
    np.dtype,
    type,
    range,
    slice,
)
LIBRARIES = {"fastml": "fastml", "sklearn": "scikit-learn"}
HARMLESS = ("n_jobs", "keep_summary")
"""Parameters of fastml alone that change no number."""
READ_BY_PREDICT = {"covariance_type", "kernel", "metric", "weights"}
"""Parameters that predictions go by: the other library must know their values."""


class Converter:
    """One conversion; what is met twice is made once.

    Parameters
    ----------
    source, target : {'fastml', 'sklearn'}
        From which library, to which.
    """

    def __init__(self, source: str, target: str):
        self.source, self.target = source, target
        self.n_converted = 0
        self._made: dict[int, Any] = {}
        self._alive: list = []  # so that no id is used twice

    # ------------------------------------------------------------------ estimators

    def estimator(self, model, where: str):
        """The estimator of the other library; one of neither keeps its class."""
        if id(model) in self._made:
            return self._made[id(model)]
        path = public_path(type(model), self.source)
        other = None if path is None else public_class(self.target, path)
        if path is not None and other is None and self.target == "sklearn":
            raise NotConvertible(f"{where}: scikit-learn has no {path}")
        if path is None or other is None:
            return self._copied(model, where)
        return self._converted(model, other, RULES.get(path, Rule()), where)

    def _converted(self, model, cls: type, rule: Rule, where: str):
        own, theirs = parameters_of(type(model)), parameters_of(cls)
        self._refuse_parameters(model, cls, own, theirs, rule, where)
        given = {
            name: self.value(getattr(model, name), f"{where}.{name}")
            for name in theirs
            if name in own
        }
        made = made_without_fit(cls, given)
        self._remember(model, made)
        left_out = {*own, *theirs, *(rule.ours if self.target == "sklearn" else rule.theirs)}
        for name, value in vars(model).items():
            if name not in left_out and is_writable(cls, name):
                setattr(made, name, self.value(value, f"{where}.{name}"))
        finish = rule.forth if self.target == "sklearn" else rule.back
        if finish is not None and is_fitted(model):
            finish(self, model, made)
        self.n_converted += 1
        return made

    def _refuse_parameters(self, model, cls: Any, own, theirs, rule: Rule, where: str) -> None:
        """Parameters, and values of them, that the other does not have, and predictions go by."""
        from fastml._sklearn import validate_parameter_constraints

        for name in READ_BY_PREDICT & theirs.keys() & own.keys():
            known = {name: cls._parameter_constraints[name]}
            try:
                validate_parameter_constraints(known, {name: getattr(model, name)}, cls.__name__)
            except ValueError as error:
                raise NotConvertible(f"{where}: {LIBRARIES[self.target]} says: {error}") from None
        for name in own.keys() - theirs.keys():
            value = getattr(model, name)
            if name in HARMLESS or name in rule.learning or _same(value, own[name].default):
                continue
            library = LIBRARIES[self.target]
            raise NotConvertible(
                f"{where}: {library} has no parameter {name}, which is {value!r} here"
            )

    def _copied(self, model, where: str):
        """An estimator of another library, or one of ours that has no public name: the same class,
        with its parts converted."""
        if self.target == "sklearn" and any(
            c.__module__.startswith("fastml.") for c in type(model).__mro__
        ):
            raise NotConvertible(
                f"{where}: {type(model).__qualname__} is a subclass of fastml's; scikit-learn "
                "has no such class"
            )
        made: Any = object.__new__(type(model))
        self._remember(model, made)
        before = self.n_converted
        state = {name: self.value(value, f"{where}.{name}") for name, value in vars(model).items()}
        if self.n_converted == before:
            made = copy.deepcopy(model)
            self._remember(model, made)
        else:
            vars(made).update(state)
        return made

    def replace(self, value, made) -> None:
        """From here on, ``value`` becomes ``made``."""
        self._remember(value, made)
        self.n_converted += 1

    def _remember(self, value, made):
        self._made[id(value)] = made
        self._alive.append(value)

    # ------------------------------------------------------------------ values

    def value(self, value, where: str) -> Any:
        """A copy, with estimators and functions of the other library in it."""
        if isinstance(value, PLAIN):
            return value
        if id(value) in self._made:
            return self._made[id(value)]
        if hasattr(value, "get_params") and not isinstance(value, type):
            return self._member(value, where)
        made = self._container(value, where)
        self._remember(value, made)
        return made

    def _member(self, value, where: str):
        """A part of a model; what fastml does not have stays scikit-learn's."""
        try:
            return self.estimator(value, where)
        except NotConvertible:
            if self.target == "sklearn":
                raise
            return copy.deepcopy(value)

    def _container(self, value, where: str):
        if isinstance(value, np.ndarray):
            if not value.dtype.hasobject:
                return value.copy()
            made = np.empty_like(value)
            made.ravel()[:] = [self.value(item, where) for item in value.ravel()]
            return made
        if isinstance(value, dict):
            items = {key: self.value(item, f"{where}.{key}") for key, item in value.items()}
            return items if type(value) is dict else type(value)(**items)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            if _root(type(value)) == self.source == "fastml":
                self._refuse(value, where)
            return type(value)(*(self.value(item, where) for item in value))
        if type(value) in (list, tuple, set, frozenset):
            return type(value)(self.value(item, where) for item in value)
        if inspect.isroutine(value):
            return self._function(value, where)
        if _root(type(value)) == "fastml" and self.target == "sklearn":
            self._refuse(value, where)
        return copy.deepcopy(value)

    def _function(self, value, where: str):
        path = public_path(value, self.source)
        other = None if path is None else public_class(self.target, path)
        if other is not None:
            return other
        if (getattr(value, "__module__", None) or "").startswith(
            "fastml."
        ) and self.target == "sklearn":
            self._refuse(value, where)
        return value

    def _refuse(self, value, where: str):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        raise NotConvertible(f"{where} is fastml's {name}, which scikit-learn does not have")


# ---------------------------------------------------------------------------- classes by name


def public_path(value, library: str) -> str | None:
    """``cluster.KMeans`` for a public class or function of the library; None for any other."""
    module = getattr(value, "__module__", None) or ""
    root, _, rest = module.partition(".")
    home = rest.partition(".")[0]
    name = getattr(value, "__name__", "")
    if root != library or not home or home.startswith("_"):
        return None
    public = importlib.import_module(f"{library}.{home}")
    if library == "fastml" and getattr(public, name, None) is not value:
        return None
    if library == "sklearn" and not hasattr(public, name):
        return None
    return f"{home}.{name}"


def public_class(library: str, path: str):
    """What the library has under this path, or None."""
    home, _, name = path.rpartition(".")
    if path == "impute.IterativeImputer":
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (else it hides)
    try:
        module = importlib.import_module(f"{library}.{home}")
    except ImportError:
        return None
    return getattr(module, name, None)


def parameters_of(cls: Any) -> dict[str, inspect.Parameter]:
    """Parameters of the constructor, by name."""
    init: Any = getattr(cls.__init__, "deprecated_original", cls.__init__)
    if init is object.__init__:
        return {}
    found = inspect.signature(init).parameters
    return {
        name: parameter
        for name, parameter in found.items()
        if name != "self"
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }


def made_without_fit(cls: Any, parameters: dict):
    """An instance with these parameters; its constructor does nothing but keep them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that scikit-learn deprecates
        made: Any = object.__new__(cls)
        cls.__init__(made, **parameters)
    for name, value in parameters.items():
        setattr(made, name, value)
    return made


def is_writable(cls: type, name: str) -> bool:
    """Whether instances can have an attribute of this name: a property may be in the way."""
    found = inspect.getattr_static(cls, name, None)
    return not isinstance(found, property) or found.fset is not None


def is_fitted(model) -> bool:
    """Whether there is anything beside parameters; a rule of conversion reads that."""
    own = parameters_of(type(model))
    return any(name.endswith("_") and name not in own for name in vars(model))


def _root(value) -> str:
    """The library that a class or function is of."""
    return (getattr(value, "__module__", None) or "").partition(".")[0]


def _same(value, default) -> bool:
    try:
        return value is default or bool(value == default)
    except ValueError:  # arrays
        return False
