"""Fitted estimators as plain values and arrays, and back; nothing of a file is ever executed.

Every value becomes JSON. Numbers, text, lists, None, True and False stand for themselves; all else
is an object of one key, which says what it is::

    {"array": 3}                          the array number 3 of the file
    {"objects": [...], "shape": [2]}      an array of Python objects
    {"number": 0.5, "dtype": "<f8"}       a NumPy scalar
    {"float": "nan"}                      a float that JSON has no word for
    {"tuple": [...]}, {"set": [...]}, {"frozenset": [...]}, {"dict": [[key, value], ...]}
    {"range": [0, 9, 1]}, {"slice": [0, null, null]}, {"bytes": "base64"}
    {"sparse": "csr_matrix", "parts": ..., "shape": [3, 4]}
    {"dtype": "<f8"}, {"type": "float64"} a dtype, NumPy's class of a scalar
    {"random": ...}                       the state of a RandomState
    {"spline": ...}                       knots, coefficients, degree, extrapolation of a BSpline
    {"object": "cluster.KMeans", "state": ...}
                                          an instance of a class of `known_class`
    {"record": "fastml.kernels.distances.metrics.Metric", "fields": [...]}
                                          a named tuple
    {"again": 7}                          the object number 7, met before
    {"bunch": [["name", value], ...]}     scikit-learn's dict with attributes
    {"function": "..."}                   one of `FUNCTIONS`
"""

from __future__ import annotations

import base64
import importlib
import inspect
import math
from typing import Any

import numpy as np

RECORDS = frozenset(
    {
        "fastml._engines.distances.metric.Metric",
        "fastml._engines.smoothing.smoother.Smoother",
        "fastml._engines.trees.stored.Counts",
        "fastml._engines.trees.tree.Tree",
        "fastml.cluster._kmeans._bisecting.Node",
        "fastml.cluster._prototypes._bfr.Summary",
        "fastml.ensemble._forest._absolute.MedianTrees",
        "fastml.ensemble._forest._out_of_bag.Bags",
        "fastml.ensemble._forest._quantiles.LeafTargets",
        "fastml.ensemble._forest._trees.Trees",
        "fastml.ensemble._gradient_boosting._loss.StageLoss",
        "fastml._engines.boosted.bins.BinMapper",
        "fastml.ensemble._hist_gradient_boosting._loss.Loss",
        "fastml.ensemble._hist_gradient_boosting._loss.QuantilesLoss",
        "fastml.impute._iterative.ImputerTriplet",
        "fastml.kernels.density.tiles.Tiles",
        "fastml.kernels.distances.metrics.Metric",
        "fastml.kernels.neighbors.balltree.BallTreeArrays",
        "fastml.kernels.neighbors.kdtree.KDTreeArrays",
        "fastml.naive_bayes._gaussian.ClassMoments",
        "fastml.naive_bayes._mixed._columns.GaussianColumn",
        "fastml.naive_bayes._mixed._columns.DensityColumn",
        "fastml.tree._multiway.MultiwayNodes",
        "fastml.neighbors._space_trees._trees.BallTree",
        "fastml.neighbors._space_trees._trees.KDTree",
    }
)
"""Classes beside estimators that a fitted model may hold."""

FUNCTIONS = frozenset(
    {
        "fastml.ensemble._hist_gradient_boosting._input._as_numbers",
        "fastml.feature_selection._mutual_information.mutual_info_classif",
        "fastml.feature_selection._mutual_information.mutual_info_regression",
        "fastml.feature_selection._scores.chi2",
        "fastml.feature_selection._scores.f_classif",
        "fastml.feature_selection._scores.f_regression",
        "fastml.feature_selection._scores.r_regression",
    }
)
"""Functions that a fitted model may hold."""

SPARSE = frozenset(
    f"{kind}_{form}" for kind in ("csr", "csc", "coo") for form in ("matrix", "array")
)


def place(value) -> str:
    """Module and name of a class or function."""
    return f"{value.__module__}.{value.__qualname__}"


def known_class(name: str) -> type:
    """The class of this name if a file may hold it: an estimator of fastml or scikit-learn, or one
    of `RECORDS`. ValueError otherwise."""
    module, _, short = name.rpartition(".")
    root = module.partition(".")[0]
    if root not in ("fastml", "sklearn") or not short.isidentifier():
        raise ValueError(f"the file names a class that is none of fastml or scikit-learn: {name!r}")
    try:
        found = getattr(importlib.import_module(module), short)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the file holds {name}, which is not installed here") from error
    from sklearn.base import BaseEstimator

    allowed = name in RECORDS or (inspect.isclass(found) and issubclass(found, BaseEstimator))
    if not allowed or place(found) != name:
        raise ValueError(f"a file may not hold {name}")
    return found


# ---------------------------------------------------------------------------- writing


class Writer:
    """Turns values into JSON; arrays are collected in ``arrays``."""

    def __init__(self):
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}  # id of an array → its number
        self._met: dict[int, int] = {}  # id of an object → its number
        self._alive: list = []  # so that no id is used twice

    def written(self, value, where: str) -> Any:
        """The value as JSON; ``where`` it was found is said if it cannot be written."""
        if value is None or (isinstance(value, bool | str) and type(value) in (bool, str)):
            return value
        if type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"number": self.written(value.item(), where), "dtype": value.dtype.str}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, type) and issubclass(value, np.generic | float | int | bool):
            return {"type": value.__name__}
        if type(value) is list:
            return [self.written(item, f"{where}[{i}]") for i, item in enumerate(value)]
        for kind in (tuple, set, frozenset):
            if type(value) is kind:
                items = value if kind is tuple else sorted(value, key=repr)
                return {kind.__name__: [self.written(item, where) for item in items]}
        if type(value) is dict:
            return {"dict": self._pairs(value, where)}
        if isinstance(value, range | slice):
            parts = [value.start, value.stop, value.step]
            return {type(value).__name__: [self.written(part, where) for part in parts]}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if isinstance(value, np.random.RandomState):
            return {"random": self.written(value.get_state(legacy=False), where)}
        return self._object(value, where)

    def _pairs(self, value: dict, where: str) -> list:
        return [
            [self.written(key, where), self.written(item, f"{where}.{key}")]
            for key, item in value.items()
        ]

    def _array(self, value: np.ndarray, where: str):
        if value.dtype.hasobject:
            items = [self.written(item, where) for item in value.ravel().tolist()]
            return {"objects": items, "shape": list(value.shape)}
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return {"array": self._numbers[id(value)]}

    def _object(self, value, where: str):
        import scipy.sparse as sp
        from scipy.interpolate import BSpline
        from sklearn.utils import Bunch

        if isinstance(value, BSpline):
            parts = [value.t, value.c, value.k, value.extrapolate]
            return {"spline": self.written(parts, where)}
        if sp.issparse(value):
            return self._sparse(value, where)
        if isinstance(value, Bunch):
            return {"bunch": self._pairs(value, where)}
        if inspect.isroutine(value) and place(value) in FUNCTIONS:
            return {"function": place(value)}
        name = place(type(value))
        if isinstance(value, tuple) and name in RECORDS:
            return {"record": name, "fields": [self.written(item, where) for item in value]}
        try:
            known_class(name)
        except ValueError:
            what = "a function" if inspect.isroutine(value) else f"a {name}"
            raise TypeError(
                f"{where} is {what}, which a file without code cannot hold; pickle can"
            ) from None
        if id(value) in self._met:
            return {"again": self._met[id(value)]}
        self._met[id(value)] = len(self._met)
        state = value.__getstate__()
        self._alive += [value, state]
        return {"object": name, "state": self.written(state, where)}

    def _sparse(self, value, where: str):
        kind = type(value).__name__
        if kind not in SPARSE:
            raise TypeError(f"{where} is a {kind}, which a file cannot hold")
        if value.format == "coo":
            parts = {"data": value.data, "row": value.row, "col": value.col}
        else:
            parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {"sparse": kind, "parts": self.written(parts, where), "shape": list(value.shape)}


# ---------------------------------------------------------------------------- reading


class Reader:
    """Turns what `Writer` made back into values."""

    def __init__(self, arrays: list[np.ndarray]):
        self.arrays = arrays
        self._met: list = []

    def read(self, value) -> Any:
        if isinstance(value, list):
            return [self.read(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = next(iter(value), None)
        reader = getattr(self, f"read_{kind}", None)
        if reader is None:
            raise ValueError(f"the file has a value of an unknown kind: {kind!r}")
        return reader(value)

    def read_array(self, value):
        return self.arrays[value["array"]]

    def read_objects(self, value):
        out = np.empty(len(value["objects"]), dtype=object)
        out[:] = [self.read(item) for item in value["objects"]]
        return out.reshape(value["shape"])

    def read_number(self, value):
        return np.dtype(value["dtype"]).type(self.read(value["number"]))

    def read_float(self, value):
        return float(value["float"])

    def read_tuple(self, value):
        return tuple(self.read(value["tuple"]))

    def read_set(self, value):
        return set(self.read(value["set"]))

    def read_frozenset(self, value):
        return frozenset(self.read(value["frozenset"]))

    def read_dict(self, value):
        return {self.read(key): self.read(item) for key, item in value["dict"]}

    def read_bunch(self, value):
        from sklearn.utils import Bunch

        return Bunch(**{self.read(key): self.read(item) for key, item in value["bunch"]})

    def read_range(self, value):
        return range(*self.read(value["range"]))

    def read_slice(self, value):
        return slice(*self.read(value["slice"]))

    def read_bytes(self, value):
        return base64.b64decode(value["bytes"])

    def read_dtype(self, value):
        return np.dtype(value["dtype"])

    def read_type(self, value):
        plain = {"float": float, "int": int, "bool": bool}
        return plain.get(value["type"]) or np.dtype(value["type"]).type

    def read_random(self, value):
        random_state = np.random.RandomState()
        random_state.set_state(self.read(value["random"]))
        return random_state

    def read_spline(self, value):
        from scipy.interpolate import BSpline

        knots, coefficients, degree, extrapolate = self.read(value["spline"])
        return BSpline(knots, coefficients, degree, extrapolate=extrapolate)

    def read_sparse(self, value):
        import scipy.sparse as sp

        kind, parts = value["sparse"], self.read(value["parts"])
        if kind not in SPARSE:
            raise ValueError(f"the file holds a sparse matrix of an unknown kind: {kind!r}")
        if kind.startswith("coo"):
            arrays = parts["data"], (parts["row"], parts["col"])
        else:
            arrays = parts["data"], parts["indices"], parts["indptr"]
        found = getattr(sp, kind)(arrays, shape=tuple(value["shape"]), copy=False)
        if not kind.startswith("coo"):
            found.check_format(full_check=True)
        return found

    def read_function(self, value):
        if value["function"] not in FUNCTIONS:
            raise ValueError(f"a file may not hold the function {value['function']!r}")
        module, _, name = value["function"].rpartition(".")
        return getattr(importlib.import_module(module), name)

    def read_record(self, value):
        cls = known_class(value["record"])
        return cls(*self.read(value["fields"]))

    def read_object(self, value):
        cls = known_class(value["object"])
        made = cls.__new__(cls)
        self._met.append(made)
        _set_state(made, self.read(value["state"]))
        return made

    def read_again(self, value):
        return self._met[value["again"]]


def _set_state(made, state) -> None:
    """As pickle does: by the class's own method, or its attributes and slots."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    elif isinstance(state, tuple):
        for part in state:
            for name, item in (part or {}).items():
                object.__setattr__(made, name, item)
    elif state is not None:
        made.__dict__.update(state)
