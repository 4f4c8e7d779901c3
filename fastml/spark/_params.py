"""Parameters of pyspark.ml, declared from a table."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np
from pyspark.ml.param import Param, Params, TypeConverters

from fastml.spark._tables import Table

COLUMNS = {
    "featuresCol": ("features", "a column of vectors or arrays, or names of several columns"),
    "inputCol": ("features", "a column of vectors or arrays, or names of several columns"),
    "labelCol": ("label", "column of the target"),
    "predictionCol": ("prediction", "column to make; '' for none"),
    "probabilityCol": ("probability", "column of the classes' probabilities to make; '' for none"),
    "rawPredictionCol": ("rawPrediction", "column of a number a class to make; '' for none"),
    "outputCol": (None, "column of vectors to make"),
    "weightCol": (None, "column of the rows' weights"),
}

RUN_ON = {
    "auto": "the driver if the rows are few (32 MB), else Spark's workers",
    "driver": "threads of the driver",
    "spark": "Spark's workers",
}


def _column_or_columns(value: Any) -> str | list[str]:
    return TypeConverters.toString(value) if isinstance(value, str) else _strings(value)


def _strings(value: Any) -> list[str]:
    return TypeConverters.toListString(value)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


CONVERTERS = {
    bool: TypeConverters.toBoolean,
    int: TypeConverters.toInt,
    float: TypeConverters.toFloat,
    str: TypeConverters.toString,
}


def _converter(name: str, default: Any):
    if name in ("featuresCol", "inputCol"):
        return _column_or_columns
    if name.endswith("Col"):
        return TypeConverters.toString
    if name == "thresholds":
        return TypeConverters.toListFloat
    if name == "featureSubsetStrategy":
        return str
    if name == "initMode":  # a word, or centres to begin with
        return _plain
    return CONVERTERS.get(type(default), _plain)


class TabledParams(Params):
    """Parameters of a table by pyspark's names; fastml's names are understood too."""

    table: ClassVar[Table]
    _defaults: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, table: Table | None = None, **more: Any):
        super().__init_subclass__(**more)
        if table is None:
            return
        cls.table = table
        texts = {name: COLUMNS[name] for name in table.columns}
        for name, row in table.names.items():
            texts[name] = (row.default, f"as in pyspark.ml; fastml's {row.ours}" if row.ours
                           else "as in pyspark.ml")  # fmt: skip
        for name in table.other_names():
            texts[name] = (None, f"as in fastml.{table.classes[0]}")
        texts["runOn"] = ("auto", f"who makes the passes over the rows: {RUN_ON}")
        cls._defaults = {name: default for name, (default, _) in texts.items()}
        for name, (default, text) in texts.items():
            own: Param = Param(Params._dummy(), name, text, _converter(name, default))
            setattr(cls, name, own)
            capital = name[0].upper() + name[1:]
            setattr(cls, f"get{capital}", _getter(name))
            setattr(cls, f"set{capital}", _setter(name))

    def __init__(self, **given: Any):
        super().__init__()
        known = {n: value for n, value in self._defaults.items() if value is not None}
        if "outputCol" in self.table.columns:
            known["outputCol"] = f"{self.uid}__output"
        self._setDefault(**known)
        self.setParams(**given)

    def setParams(self, **given: Any):
        """Set parameters, by pyspark's or fastml's names."""
        named = {self.table.renamed(name): value for name, value in given.items()}
        unknown = [name for name in named if name not in self._defaults]
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; those it has: "
                f"{', '.join(sorted(self._defaults))}"
            )
        if len(named) < len(given):
            raise TypeError(f"a parameter is given by two names: {sorted(given)}")
        return self._set(**named)

    def _value(self, name: str) -> Any:
        """What was set, else the default, else None."""
        return self.getOrDefault(name) if self.isDefined(name) else None

    def _column(self, name: str) -> Any:
        """The name of a column, or None if there is to be none."""
        return (self._value(name) or None) if name in self.table.columns else None

    def _features(self) -> str | list[str]:
        found = self._column("featuresCol") or self._column("inputCol")
        if found is None:
            raise ValueError("there is no column for the features")
        return found

    def _given_to_local(self) -> dict[str, Any]:
        """fastml's parameters with their values."""
        found = {}
        for name, row in self.table.names.items():
            value = self._value(name)
            if isinstance(row.values, dict):
                value = _translated(name, value, row.values)
            elif callable(row.values):
                value = row.values(value)
            if row.ours is not None:
                found[row.ours] = value
        return found

    def _given_by_our_names(self) -> dict[str, Any]:
        """Parameters that pyspark does not have, where they were set."""
        return {n: self.getOrDefault(n) for n in self.table.other_names() if self.isSet(n)}


def _translated(name: str, value: Any, values: dict) -> Any:
    """fastml's word for pyspark's; its own words, and arrays, are as they are."""
    if not isinstance(value, str | float):
        return value
    if value in values:
        return values[value]
    if value in values.values():
        return value
    allowed = ", ".join(repr(known) for known in values)
    raise ValueError(f"{name} must be one of {allowed} here, got {value!r}")


def _getter(name: str):
    def get(self):
        """The value of the parameter, or None."""
        return self._value(name)

    return get


def _setter(name: str):
    def set_value(self, value):
        """Set the parameter."""
        return self._set(**{name: value})

    return set_value


def signature_of(defaults: dict[str, Any]) -> inspect.Signature:
    """What ``help`` shows."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()]
    )
