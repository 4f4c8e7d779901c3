"""What a case is: data, an estimator or function, what is timed, peers, how good it must be.

At import time a family loads nothing but the standard library and NumPy.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

SIZES = ("tiny", "quick", "full")
DOUBLE, SINGLE = ("float64",), ("float32",)
BOTH, SINGLE_FIRST = ("float64", "float32"), ("float32", "float64")

FAMILIES = tuple(
    sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem[0] != "_")
)

Call = Callable[[], Any]
Peers = Mapping[str, "Mapping[str, Any] | Callable[[Any], Call]"]
SKLEARN: Peers = {"sklearn": {}}
ON_ALL_CORES: Peers = {"sklearn": {"n_jobs": -1}}
Step = Callable[[Callable[..., Any], SimpleNamespace], Call]
"""``step(make, data)`` does what is not to be timed and returns what is; ``make()`` is the
estimator, or the function's result."""


class Data(str):
    """In a case's parameters: the attribute of that name of the data, or the size."""


def sizes(**values: Any) -> dict[str, dict[str, int]]:
    """``n=(300, 30_000, 300_000)`` for tiny, quick and full; one number stands for all three."""
    return {
        size: {name: v[i] if isinstance(v, tuple) else v for name, v in values.items()}
        for i, size in enumerate(SIZES)
    }


@dataclass(frozen=True)
class Quality:
    """How good an answer is, and what is as good as another library's."""

    name: str
    judge: Callable[[Any, Any], float]  # (data, answer)
    better: Literal["same", "less", "more", "error"] = "same"  # an error: whatever the other's
    tolerance: float = 1e-3  # relative to the other's value or `scale`; of an error, absolute
    tiny: float | None = None  # the tolerance on tiny data, where chance decides more
    scale: float = 0.0
    peers: Mapping[str, float] = field(default_factory=dict)  # tolerances of those asked for less
    reference: Callable[[Any], float] | None = None  # of data: every library must be as good

    def as_good(self, value: float, other: float, size: str, library: str = "fastml") -> bool:
        """Whether the library's ``value`` is no worse than the ``other``."""
        tolerance = self.tiny if size == "tiny" and self.tiny is not None else self.tolerance
        tolerance = self.peers.get(library, tolerance)
        if self.better == "error":
            return value <= tolerance
        slack = tolerance * max(abs(other), self.scale)
        low = self.better == "less" or value >= other - slack
        high = self.better == "more" or value <= other + slack
        return bool(low and high)


@dataclass(frozen=True)
class Case:
    """One piece of work: data, what is timed on them, beside whom, and how good it must be."""

    id: str
    path: str  # of the estimator or function below fastml
    work: str  # what is done; {n} stands for a size

    data: Callable[..., SimpleNamespace]
    """Takes sizes; a named function, since asv's versions read its source. ``X`` and, if there,
    ``y`` are learned from, ``Q`` or else ``X`` predicted for. The step "call" takes the attributes
    that ``arguments`` names, by default ``X``."""

    sizes: Mapping[str, Mapping[str, int]]
    quality: Quality
    params: Mapping[str, Any] = field(default_factory=dict)  # see `Data`

    step: str | Step = "fit"
    """What is timed: "fit", a method of the fitted estimator, "fit+method", "call", or a `Step`."""

    also: tuple[str, ...] = ()  # methods of the fitted estimator that asv times too

    peers: Peers = field(default_factory=dict)
    """Library → further parameters of the object at the same path, or a function of the data that
    returns the call. One that raises ImportError counts as not installed."""

    variants: tuple[Mapping[str, Any], ...] = ()
    """Further parameters, of which every path through the kernels should be one: for warm-up and
    for the tests that try every estimator."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """What those two set besides; a function makes the value."""

    dtypes: tuple[str, ...] = DOUBLE  # of the matrices: warm-up and asv take all, others the first
    draw: Callable[[Any, Any], None] | None = None  # the family's panel of the demo: (axes, object)
    headline: bool = False  # one of the README's rows

    @property
    def libraries(self) -> tuple[str, ...]:
        return ("fastml", *self.peers)

    @property
    def step_name(self) -> str:
        return self.step.__name__ if callable(self.step) else self.step.replace("+", "_")

    def title(self, size: str) -> str:
        return self.work.format(**self.sizes[size])

    def build(self, size: str, dtype: str | None = None) -> SimpleNamespace:
        """The data, with the sizes among its attributes and its matrices of one type."""
        values = self.sizes[size]
        accepted = inspect.signature(self.data).parameters
        data = self.data(**{name: v for name, v in values.items() if name in accepted})
        chosen = dtype or self.dtypes[0]
        for name, value in vars(data).items():
            if getattr(value, "ndim", 0) == 2 and value.dtype.kind == "f":
                setattr(data, name, value.astype(chosen, copy=False))
        return SimpleNamespace(**{**values, **vars(data)})

    def prepare(self, library: str, data: SimpleNamespace) -> Call:
        """The call that does the library's work; ImportError if it is not installed."""
        more = {"fastml": {}, **self.peers}[library]
        if callable(more):
            return more(data)
        made = {k: getattr(data, v) if isinstance(v, Data) else v for k, v in self.params.items()}
        make = functools.partial(find(f"{library}.{self.path}"), **made, **more)
        return self.step(make, data) if callable(self.step) else _begin(self.step, make, data)

    def version(self, size: str) -> str:
        """A hash of what is measured, for asv: another work is another history."""
        what = [self.path, self.step_name, repr(self.sizes[size]), repr(self.params)]
        functions = [self.data, *([self.step] if callable(self.step) else [])]
        text = "\n".join([*what, *_sources(functions)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def find(path: str) -> Any:
    """The object at a dotted path; ImportError if there is no such module, or no such name."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError as missing:
        raise ImportError(f"{module} has no {name}") from missing


def rows_to_learn(data: SimpleNamespace) -> tuple:
    return (data.X, data.y) if hasattr(data, "y") else (data.X,)


def _begin(step: str, make: Callable[..., Any], data: SimpleNamespace) -> Call:
    if step == "call":
        given = [getattr(data, name) for name in getattr(data, "arguments", ("X",))]
        return lambda: make(*given)
    learned, new = rows_to_learn(data), getattr(data, "Q", data.X)
    if step == "fit":
        return lambda: make().fit(*learned)
    if step.startswith("fit+"):
        return lambda: getattr(make().fit(*learned), step[4:])(new)
    model = make().fit(*learned)
    return lambda: getattr(model, step)(new)


def _sources(functions: Iterable[Any]) -> Iterator[str]:
    """Source of the functions and of those of this package that they call."""
    waiting, seen = list(functions), []
    while waiting:
        function = waiting.pop(0)
        if isinstance(function, functools.partial):
            yield repr((function.args, sorted(function.keywords.items())))
            function = function.func
        if function in seen or not inspect.isfunction(function):
            continue
        seen.append(function)
        yield inspect.getsource(function)
        named = [function.__globals__.get(name) for name in function.__code__.co_names]
        waiting += [f for f in named if getattr(f, "__module__", "").startswith("fastml._cases.")]


def cases(family: str | None = None) -> tuple[Case, ...]:
    """The cases of a family, or all."""
    chosen = FAMILIES if family is None else (family,)
    return tuple(case for name in chosen for case in _module(name).CASES)


def odd_branches(family: str) -> Iterator[tuple[str, Call]]:
    """Calls for branches that no case reaches: (what, call)."""
    yield from getattr(_module(family), "odd_branches", tuple)()


def family_of(case: Case) -> str:
    return case.path.partition(".")[0]


def _module(family: str) -> Any:
    return importlib.import_module(f"fastml._cases.{family}")


# ---------------------------------------------------------------------------- every estimator

SETTINGS = {"n_clusters": 3, "random_state": 0, "radius": 3.0}
"""Set wherever an estimator has the parameter, by warm-up and by the tests of every estimator."""

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "transform",
    "kneighbors",
    "radius_neighbors",
    "score",
)


def variants(family: str | None = None) -> dict[str, list[Mapping[str, Any]]]:
    """Path → parameter sets to try it with; the first is the plain one."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases(family):
        found.setdefault(case.path, [{}]).extend(case.variants)
    return found


def trial(cls: type, **parameters: Any) -> Any:
    """An estimator to try on a few rows."""
    accepted = inspect.signature(cls).parameters
    general = {name: value for name, value in SETTINGS.items() if name in accepted}
    mine = [case for case in cases() if case.path.rpartition(".")[2] == cls.__name__]
    special = {name: value for case in mine for name, value in case.settings.items()}
    special = {name: value() if callable(value) else value for name, value in special.items()}
    return cls(**{**general, **special, **parameters})
