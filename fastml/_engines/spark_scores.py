"""What models say of rows of Spark's DataFrames, as the columns that Spark takes.

This runs on workers and imports nothing of Spark.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastml._engines.spark_jobs import matrix_of

MODELS_KEPT = 4
"""Models that a worker keeps for its next tasks."""

_kept: dict[str, Any] = {}


class ScoreColumn(NamedTuple):
    """A column to make: what of the model it holds, and its type for Spark.

    ``what`` is a name of `ModelAnswers` or a method of the model; ``kind`` one of "double", "long",
    "boolean", "string", "vector".
    """

    name: str
    what: str
    kind: str


class Scoring(NamedTuple):
    """How rows are scored; ``key`` names the model among those that a worker keeps."""

    key: str
    features: list[str]
    columns: list[ScoreColumn]
    thresholds: list[float] | None


class ModelAnswers:
    """What a model says of some rows; each thing is computed once."""

    def __init__(self, model: Any, X: NDArray, thresholds: list[float] | None = None):
        self.model, self.X, self.thresholds = model, X, thresholds
        self.found: dict[str, NDArray] = {}

    def get(self, what: str) -> NDArray:
        if what not in self.found:
            own = {"prediction": self._prediction, "raw": self._raw, "projected": self._projected}
            make = own.get(what)
            self.found[what] = np.asarray(
                getattr(self.model, what)(self.X) if make is None else make()
            )
        return self.found[what]

    def _prediction(self) -> NDArray:
        """`predict`; of classes with thresholds t, the one of the greatest p / t."""
        if self.thresholds is None and "predict_proba" not in self.found:
            return self.model.predict(self.X)
        shares = self.get("predict_proba")
        if self.thresholds is not None:
            limits = np.asarray(self.thresholds)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.where(limits == 0.0, np.inf, shares / limits)
        return self.model.classes_[np.argmax(shares, axis=1)]

    def _raw(self) -> NDArray:
        """A number for every class: margins, joint log-densities, or votes of trees."""
        if hasattr(self.model, "decision_function"):
            margins = np.asarray(self.model.decision_function(self.X))
            return np.column_stack([-margins, margins]) if margins.ndim == 1 else margins
        if hasattr(self.model, "predict_joint_log_proba"):
            return self.model.predict_joint_log_proba(self.X)
        return self.get("predict_proba") * self.model.n_estimators

    def _projected(self) -> NDArray:
        """`transform` of a PCA without taking off the mean, as Spark has it."""
        return self.get("transform") + self.model.mean_ @ self.model.components_.T


def score_structs(structs: Iterator, packed: bytes, scoring: Scoring) -> Iterator:
    """A struct of the wanted columns for every struct of the features."""
    import pyarrow as pa

    model = model_of(scoring.key, packed)
    for array in structs:
        batch = pa.RecordBatch.from_struct_array(array)
        made = [as_arrow(np.empty((0, 1)), column.kind) for column in scoring.columns]
        if batch.num_rows:
            X = matrix_of(batch, scoring.features, np.float64)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                answers = ModelAnswers(model, X, scoring.thresholds)
                # Probabilities first: labels are then read off them.
                for what in sorted({c.what for c in scoring.columns}, key="prediction".__eq__):
                    answers.get(what)
            made = [as_arrow(answers.get(c.what), c.kind) for c in scoring.columns]
        yield pa.StructArray.from_arrays(made, names=[c.name for c in scoring.columns])


def model_of(key: str, packed: bytes) -> Any:
    """The model, unpacked once in the life of a worker."""
    if key not in _kept:
        while len(_kept) >= MODELS_KEPT:
            _kept.pop(next(iter(_kept)))
        _kept[key] = pickle.loads(packed)
    return _kept[key]


def kind_of(values: NDArray) -> str:
    """The type of Spark's column for such values."""
    if values.ndim == 2:
        return "vector"
    if values.ndim != 1:
        raise ValueError(f"a column takes one number or one vector a row, got {values.shape[1:]}")
    kinds = {"b": "boolean", "i": "long", "u": "long", "f": "double"}
    return kinds.get(values.dtype.kind, "string")


def as_arrow(values: Any, kind: str) -> Any:
    import pyarrow as pa

    if kind == "vector":
        return _vectors(np.asarray(values, dtype=np.float64))
    if kind == "string":
        return pa.array([str(value) for value in values], pa.string())
    types = {"double": np.float64, "long": np.int64, "boolean": np.bool_}
    return pa.array(np.asarray(values, dtype=types[kind]).ravel())


def _vectors(rows: NDArray) -> Any:
    """Dense vectors as Spark's VectorUDT has them."""
    import pyarrow as pa

    n, width = rows.shape
    offsets = np.arange(n + 1, dtype=np.int32) * np.int32(width)
    values = pa.ListArray.from_arrays(offsets, np.ascontiguousarray(rows).ravel())
    whole = pa.nulls(n, pa.int32()), pa.nulls(n, pa.list_(pa.int32()))
    return pa.StructArray.from_arrays(
        [pa.array(np.ones(n, dtype=np.int8)), *whole, values],
        names=["type", "size", "indices", "values"],
    )
